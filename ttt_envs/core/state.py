"""State records: one NumPy structured dtype a game, a common header and the game's own fields."""

from collections.abc import Sequence
from typing import Any

import numpy as np

#: Value of `to_move` while several players may act at once; their masks tell who does.
SIMULTANEOUS = -1


def state_dtype(players: int, fields: Sequence[tuple[Any, ...]]) -> np.dtype:
    """The dtype of a game's states.

    Header: `to_move` int8 (acting player or SIMULTANEOUS), `ply` int32 (steps so far), `done` bool, `rewards`
    float32 (players,) (zero until the end), `rng` uint64. `fields` are the game's own. Rule options are fields too,
    so that a state is complete by itself: copying a record clones a game, and its bytes are its hash and its file.
    """
    header: list[tuple[Any, ...]] = [
        ("rng", np.uint64),
        ("rewards", np.float32, (players,)),
        ("ply", np.int32),
        ("to_move", np.int8),
        ("done", np.bool_),
    ]
    return np.dtype(header + list(fields), align=True)
