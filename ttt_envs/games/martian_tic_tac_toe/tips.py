"""Tips for the picture of Martian Tic-Tac-Toe: the possible moves of its pyramids."""

from itertools import compress
from typing import Any

import numpy as np

from ttt_envs.core.presentation import Box
from ttt_envs.games.martian_tic_tac_toe.drawing import NAMES, cell_box, stash_box
from ttt_envs.games.martian_tic_tac_toe.rules import EMPTY, SIZES, SIZES_FOR, owner_of, size_of
from ttt_envs.games.martian_tic_tac_toe.text import SIZE_NAMES


def tips(state: Any, viewer: int | None = None) -> list[tuple[Box, str]]:
    """Return where pyramids in the stashes may go, and what may replace those on the board; see `Faces.tips`."""
    shown, board = [], int(state["size"])
    # may_put[piece, size - 1]: whether player 0 may put this size on the piece; the same holds for other players.
    may_put = SIZES_FOR[int(state["same_size_swap"]), 0, :, None] >> np.arange(SIZES) & 1
    own, theirs = may_put[1 : SIZES + 1], may_put[SIZES + 1 : 2 * SIZES + 1]
    for cell, piece in enumerate(state["piece"]):
        if piece != EMPTY:
            kind = int(size_of(piece)) - 1
            whose = f"{NAMES[int(owner_of(piece))].capitalize()}'s {SIZE_NAMES[kind]} pyramid."
            captors = f"An opponent's {_names(theirs[kind])} pyramid" if theirs[kind].any() else "Nobody"
            shown.append((cell_box(cell, board), f"{whose} {captors} captures it."))
    for player, stash in enumerate(state["stash"]):
        for kind, left in enumerate(stash):
            what = f"{NAMES[player].capitalize()}'s {SIZE_NAMES[kind]} pyramids, {left} left"
            ways = ["into an empty cell"] if may_put[EMPTY, kind] else []
            for there, whose in (
                (own, "a {} one of the same colour"),
                (theirs, "an opponent's {} one, which it captures"),
            ):
                if there[:, kind].any():
                    ways.append(f"in the place of {whose.format(_names(there[:, kind]))}")
            shown.append((stash_box(state, player, kind), f"{what}: {', or '.join(ways)}."))
    return shown


def _names(sizes: Any) -> str:
    return " or ".join(compress(SIZE_NAMES, sizes))
