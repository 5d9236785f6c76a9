"""State records: one NumPy structured dtype a game, a common header and the game's own fields."""

from collections.abc import Sequence
from typing import Any

import numpy as np

#: Value of `to_move` while several players may act at once; their masks tell who does.
SIMULTANEOUS = -1


def state_dtype(players: int, fields: Sequence[tuple[Any, ...]], shown: Sequence[tuple[Any, ...]] = ()) -> np.dtype:
    """The dtype of a game's states.

    Header: `to_move` int8 (acting player or SIMULTANEOUS), `ply` int32 (steps so far), `done` bool, `rewards`
    float32 (players,) (zero until the end), `rng` uint64 (the generator), `script` uint64 (what is to be drawn instead
    of it; 0 but while `core.chance` enumerates). `fields` are the game's own. Rule options are fields too, so that a
    state is complete by itself: copying a record clones a game, and its bytes are its hash and its file.

    `shown` are fields for texts and pictures alone, such as the last action: no rule and no observation reads them.
    They stand before the rest, so that a search can leave them out when it recognises a position: `position_start`.
    """
    start = np.dtype([("rng", np.uint64), ("script", np.uint64), *shown], align=True)
    end = max(offset + kind.itemsize for kind, offset, *_ in (start.fields or {}).values())
    header: list[tuple[Any, ...]] = [
        ("rng", np.uint64),
        ("script", np.uint64),
        *shown,
        *([("padding_shown", np.uint8, (start.itemsize - end,))] if start.itemsize > end else []),
        ("rewards", np.float32, (players,)),
        ("ply", np.int32),
        ("to_move", np.int8),
        ("done", np.bool_),
    ]
    return _without_holes(np.dtype(header + list(fields), align=True))


def position_start(dtype: np.dtype) -> int:
    """The offset of the position in a record, in bytes, a multiple of 8: after the generator and what is only shown."""
    assert dtype.fields is not None
    return int(dtype.fields["rewards"][1])


def read_only(array: np.ndarray) -> np.ndarray:
    """The same array, for others to read."""
    seen = array.view()
    seen.setflags(write=False)
    return seen


def _without_holes(aligned: np.dtype) -> np.dtype:
    """The same layout with its holes as fields: NumPy copies no holes, and equal states would differ in bytes."""
    assert aligned.fields is not None
    fields: list[tuple[Any, ...]] = []
    end = 0
    for name, (kind, offset, *_) in aligned.fields.items():
        if offset > end:
            fields.append((f"padding_{end}", np.uint8, (offset - end,)))
        fields.append((name, kind.base, kind.shape))
        end = offset + kind.itemsize
    if aligned.itemsize > end:
        fields.append((f"padding_{end}", np.uint8, (aligned.itemsize - end,)))
    return np.dtype(fields, align=True)
