"""Draw the board of Super Tic-Tac-Toe as SVG."""

from typing import Any

from ttt_envs.core.presentation import Box
from ttt_envs.drawing.frame import (
    DEEP_TINTS,
    FOOT,
    GRID,
    INK,
    LABEL,
    MARGIN,
    MARK_COLOURS,
    OPEN,
    PANEL,
    SOFT,
    TINTS,
    TOP,
    Caption,
    chip,
    framed,
    line,
    mark,
    picture,
    rect,
    struck,
    turn_chips,
)
from ttt_envs.drawing.lettering import text
from ttt_envs.drawing.theme import lit
from ttt_envs.games.super_tic_tac_toe.rules import ANYWHERE, MEMBERS, NONE, targets
from ttt_envs.games.super_tic_tac_toe.text import (
    ACTION_NAMES,
    EMPTY,
    cells_of,
    last_mover,
    owners_of,
    result,
    winning_rows,
)

CELL, GAP, NAME = 46, 17, 23
BOARD = 3 * CELL
HEIGHT = TOP + 3 * (NAME + BOARD) + 2 * 6 + 10 + FOOT


def draw(state: Any, viewer: int | None = None) -> str:
    """Return SVG text, the same for every viewer.

    Cells that are legal for the next mark are yellow and numbered. An owned board has its owner's colour, with the
    owner's mark drawn large behind its cells and small above it. The last mark has a frame.
    """
    parts = [_board(state, board) for board in range(9)]
    if state["done"]:
        for row in winning_rows(state):
            (x1, y1), (x2, y2) = corner(row[0]), corner(row[-1])
            parts.append(struck(x1 + BOARD / 2, y1 + BOARD / 2, x2 + BOARD / 2, y2 + BOARD / 2))
    return picture(_caption(state), HEIGHT, parts)


def spots(state: Any, viewer: int | None = None) -> dict[str, Box]:
    """Return the clickable area of each of the 81 cells by its name, such as "cell 4/4"; see `Faces.spots`."""
    return {f"cell {name}": _cell(action) for action, name in enumerate(ACTION_NAMES)}


def clicks(state: Any, action: int) -> tuple[str, ...]:
    """Return the spot to click for an action, a cell; see `Faces.clicks`."""
    return (f"cell {ACTION_NAMES[action]}",)


def _caption(state: Any) -> Caption:
    last = f"{last_mover(state)} in {ACTION_NAMES[state['last_action']]}" if state["last_action"] != NONE else ""
    title = "Super Tic-Tac-Toe"
    if not state["done"]:
        kind = int(state["to_move"]) + 1
        where = "any yellow cell" if state["target"] == ANYWHERE else f"a yellow cell of board {int(state['target'])}"
        headline = f"{'XO'[kind - 1]} to move"
        return Caption(title, headline, note=f"into {where}", last=last, **turn_chips([kind]))
    if not state["rewards"].any():
        return Caption(title, "draw", note="no move is left", last=last)
    winner = int(state["rewards"].argmax())
    how = result(state).removeprefix(f"{'XO'[winner]} wins ")
    return Caption(title, f"{'XO'[winner]} wins", note=how, last=last, **turn_chips([winner + 1]))


def corner(board: int) -> tuple[float, float]:
    """Return the left and the top coordinate of a small board."""
    return MARGIN + (board % 3) * (BOARD + GAP), TOP + NAME + (board // 3) * (BOARD + NAME + 6)


def _cell(action: int) -> Box:
    (left, top), cell = corner(action // 9), action % 9
    return Box(left + (cell % 3) * CELL, top + (cell // 3) * CELL, CELL, CELL)


def _board(state: Any, board: int) -> str:
    left, top = corner(board)
    cells, owner = cells_of(state)[board], int(owners_of(state)[board])
    open_here = bool(not state["done"] and MEMBERS[targets(state), board])
    parts = [text(str(board), left + 4, top - 8, LABEL, INK if open_here or owner else SOFT)]
    parts.append(rect(Box(left, top, BOARD, BOARD), TINTS[owner] if owner else PANEL))
    if owner != EMPTY:
        middle = left + BOARD / 2, top + BOARD / 2
        parts.append(mark(owner, *middle, BOARD * 0.36, 24, DEEP_TINTS[owner]))
        parts.append(chip(owner, left + 26, top - 13, 8))
    for action in range(9 * board, 9 * board + 9):
        box, kind = _cell(action), int(cells[action % 9])
        x, y = box.x + CELL / 2, box.y + CELL / 2
        if kind != EMPTY:
            parts.append(mark(kind, x, y, CELL * 0.25, 6))
        elif open_here:
            parts.append(rect(Box(box.x + 2, box.y + 2, CELL - 4, CELL - 4), OPEN))
            parts.append(lit(text(str(action % 9), x, y + 6, NAME - 5, INK, "middle")))
    for k in (1, 2):
        across, down = left + k * CELL, top + k * CELL
        parts.append(line(across, top + 4, across, top + BOARD - 4, GRID, 1.5))
        parts.append(line(left + 4, down, left + BOARD - 4, down, GRID, 1.5))
    if owner != EMPTY:
        parts.append(rect(Box(left, top, BOARD, BOARD), "none", MARK_COLOURS[owner], 3))
    if open_here:
        parts.append(rect(Box(left - 4, top - 4, BOARD + 8, BOARD + 8), "none", INK, 4, 9))
    if state["last_action"] != NONE and state["last_action"] // 9 == board:
        box = _cell(int(state["last_action"]))
        parts.append(framed(Box(box.x + 2, box.y + 2, CELL - 4, CELL - 4)))
    return "".join(parts)
