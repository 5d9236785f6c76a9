"""Explanations of the boards on the picture of Super Tic-Tac-Toe."""

from typing import Any

from ttt_envs.core.presentation import Box
from ttt_envs.games.super_tic_tac_toe.drawing import BOARD, NAME, corner
from ttt_envs.games.super_tic_tac_toe.text import EMPTY, MARKS, cells_of, owners_of


def tips(state: Any, viewer: int | None = None) -> list[tuple[Box, str]]:
    """Return the owner of each small board, and the moves that lead to it; see `Faces.tips`."""
    found = []
    cells, owners = cells_of(state), owners_of(state)
    for board in range(9):
        (left, top), owner = corner(board), int(owners[board])
        full = bool((cells[board] != EMPTY).all())
        whose = f"{MARKS[owner]} owns it" if owner != EMPTY else "full, and nobody's" if full else "nobody's yet"
        sends = f"A move in cell {board} of any board sends the opponent here."
        if full or (owner != EMPTY and state["closed"]):
            sends = f"A move in cell {board} of any board lets the opponent choose the board."
        found.append((Box(left, top - NAME, BOARD, BOARD + NAME), f"Board {board}, {whose}. {sends}"))
    return found
