"""Tips for the picture of Martian Tic-Tac-Toe: what its pyramids can do."""

from typing import Any

from ttt_envs.core.presentation import Box
from ttt_envs.games.martian_tic_tac_toe.drawing import NAMES, cell_box, stash_box
from ttt_envs.games.martian_tic_tac_toe.rules import EMPTY, owner_of, size_of
from ttt_envs.games.martian_tic_tac_toe.text import SIZE_NAMES

# By size: where a pyramid may go, and what happens to one on the board.
_PUT = (
    "into an empty cell, or in the place of a larger one of the same colour",
    "in the place of a small or large one of the same colour, or of an opponent's small one, which it captures",
    "in the place of a medium one of the same colour, or of an opponent's medium one, which it captures",
)
_FATE = ("An opponent's medium pyramid captures it.", "An opponent's large pyramid captures it.", "Nobody captures it.")


def tips(state: Any, viewer: int | None = None) -> list[tuple[Box, str]]:
    """Return where pyramids in the stashes may go, and what may happen to those on the board; see `Faces.tips`."""
    shown, board = [], int(state["size"])
    alike = ", or of one of its own size and colour" if state["same_size_swap"] else ""
    for cell, piece in enumerate(state["piece"]):
        if piece != EMPTY:
            kind = int(size_of(piece)) - 1
            whose = f"{NAMES[int(owner_of(piece))].capitalize()}'s {SIZE_NAMES[kind]} pyramid."
            shown.append((cell_box(cell, board), f"{whose} {_FATE[kind]}"))
    for player, stash in enumerate(state["stash"]):
        for kind, left in enumerate(stash):
            what = f"{NAMES[player].capitalize()}'s {SIZE_NAMES[kind]} pyramids, {left} left"
            shown.append((stash_box(state, player, kind), f"{what}: {_PUT[kind]}{alike}."))
    return shown
