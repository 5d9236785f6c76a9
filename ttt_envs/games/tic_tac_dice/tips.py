"""Tips for the picture of the Tic-Tac-Dice family: the status of its cards."""

from itertools import product
from typing import Any

from ttt_envs.core.presentation import Box
from ttt_envs.games.tic_tac_dice.drawing import card_box
from ttt_envs.games.tic_tac_dice.rules import EMPTY
from ttt_envs.games.tic_tac_dice.text import MARKS, action_names

_DIE = range(1, 7)


def tips(state: Any, viewer: int | None = None) -> list[tuple[Box, str]]:
    """Return for each card its owner, or how many of 36 rolls allow a player to claim it; see `Faces.tips`."""
    size, shown = int(state["size"]), []
    for cell, name in enumerate(action_names(size)):
        rank, owner = int(state["rank"][cell]), int(state["owner"][cell])
        rolls = sum(rank in (one, two, one + two) for one, two in product(_DIE, _DIE))
        what = f"claimed by {MARKS[owner]}" if owner != EMPTY else f"free. {rolls} of 36 rolls allow it"
        shown.append((card_box(cell, size), f"Card {name}, rank {rank}, {what}."))
    return shown
