"""The board of Super Tic-Tac-Toe as SVG."""

from typing import Any

from ttt_envs.games.super_tic_tac_toe.rules import ANYWHERE, EMPTY, NONE, playable
from ttt_envs.games.super_tic_tac_toe.text import result, winning_rows

CELL, GAP, MARGIN, HEAD = 40, 16, 22, 44
BOARD = 3 * CELL
SIDE = 2 * MARGIN + 3 * BOARD + 2 * GAP
COLOURS = ("", "#c8402f", "#2467b0")
PAPER, INK, OPEN, SHUT, GOLD = "#fbfaf6", "#3b3a36", "#fff3c4", "#f1efe8", "#e0a100"


def draw(state: Any, viewer: int | None = None) -> str:
    """SVG text, the same for every viewer.

    Boards that the next mark may be put into are yellow, the last mark is framed, a stroke goes through the row of
    boards that has won.
    """
    height = SIDE + HEAD
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{SIDE}" height="{height}" viewBox="0 0 {SIDE} {height}">',
        f'<rect width="{SIDE}" height="{height}" fill="{PAPER}"/>',
        _head(state),
    ]
    for board in range(9):
        left, top = _corner(board)
        open_here = not state["done"] and (
            state["target"] == board or (state["target"] == ANYWHERE and playable(state, board))
        )
        fill = OPEN if open_here else SHUT
        parts.append(f'<rect x="{left}" y="{top}" width="{BOARD}" height="{BOARD}" rx="6" fill="{fill}"/>')
        for k in (1, 2):
            across, down = left + k * CELL, top + k * CELL
            parts.append(_line(across, top + 4, across, top + BOARD - 4, INK, 1.2))
            parts.append(_line(left + 4, down, left + BOARD - 4, down, INK, 1.2))
        for cell in range(9):
            mark = int(state["cells"][board, cell])
            x, y = left + (cell % 3) * CELL, top + (cell // 3) * CELL
            if 9 * board + cell == state["last_action"] != NONE:
                parts.append(
                    f'<rect x="{x + 2.5:g}" y="{y + 2.5:g}" width="{CELL - 5}" height="{CELL - 5}" rx="4" '
                    f'fill="#ffffff" stroke="{COLOURS[mark]}" stroke-width="3"/>'
                )
            if mark != EMPTY:
                parts.append(_mark(mark, x + CELL / 2, y + CELL / 2, CELL * 0.28, 5))
        owner = int(state["owner"][board])
        if owner != EMPTY:
            parts.append(f'<g opacity="0.42">{_mark(owner, left + BOARD / 2, top + BOARD / 2, BOARD * 0.42, 17)}</g>')
    for k in (1, 2):
        at = MARGIN + k * BOARD + (k - 0.5) * GAP
        parts.append(_line(at, HEAD + MARGIN, at, height - MARGIN, INK, 4))
        parts.append(_line(MARGIN, HEAD + at, SIDE - MARGIN, HEAD + at, INK, 4))
    if state["done"]:
        for row in winning_rows(state):
            (x1, y1), (x2, y2) = _corner(row[0]), _corner(row[-1])
            middle = BOARD / 2
            stroke = _line(x1 + middle, y1 + middle, x2 + middle, y2 + middle, GOLD, 10)
            parts.append(f'<g opacity="0.85">{stroke}</g>')
    return "".join(parts) + "</svg>"


def _corner(board: int) -> tuple[int, int]:
    """Left and top of a small board."""
    return MARGIN + (board % 3) * (BOARD + GAP), HEAD + MARGIN + (board // 3) * (BOARD + GAP)


def _head(state: Any) -> str:
    """The caption: the player to move, or who has won and how."""
    if not state["done"]:
        words, mark = "to move", int(state["to_move"]) + 1
    elif state["rewards"].any():
        words, mark = result(state)[2:], int(state["rewards"].argmax()) + 1
    else:
        words, mark = "draw", EMPTY
    bar = f'<rect width="{SIDE}" height="7" fill="{COLOURS[mark]}"/>' if mark else ""
    sign = _mark(mark, MARGIN + 14, 38, 11, 5) if mark else ""
    return (
        bar
        + sign
        + (
            f'<text x="{MARGIN + 36 if mark else MARGIN}" y="46" font-family="FreeSans, sans-serif" font-weight="bold" '
            f'font-size="22" fill="{INK}">{words}</text>'
        )
    )


def _line(x1: float, y1: float, x2: float, y2: float, colour: str, width: float) -> str:
    return (
        f'<line x1="{x1:g}" y1="{y1:g}" x2="{x2:g}" y2="{y2:g}" stroke="{colour}" stroke-width="{width:g}" '
        'stroke-linecap="round"/>'
    )


def _mark(mark: int, x: float, y: float, radius: float, width: float) -> str:
    colour = COLOURS[mark]
    if mark == 1:
        return _line(x - radius, y - radius, x + radius, y + radius, colour, width) + _line(
            x - radius, y + radius, x + radius, y - radius, colour, width
        )
    return (
        f'<circle cx="{x:g}" cy="{y:g}" r="{radius * 1.08:g}" fill="none" stroke="{colour}" stroke-width="{width:g}"/>'
    )
