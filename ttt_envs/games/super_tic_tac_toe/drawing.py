"""The board of Super Tic-Tac-Toe as SVG. Marks are shapes, not letters, so that no font is needed."""

from typing import Any

from ttt_envs.games.super_tic_tac_toe.rules import ANYWHERE, EMPTY, playable

CELL, GAP, MARGIN = 40, 16, 22
BOARD = 3 * CELL
SIDE = 2 * MARGIN + 3 * BOARD + 2 * GAP
COLOURS = ("", "#c8402f", "#2467b0")
PAPER, INK, OPEN, SHUT = "#fbfaf6", "#3b3a36", "#fff3c4", "#f1efe8"


def draw(state: Any, viewer: int | None = None) -> str:
    """SVG text, the same for every viewer. Boards that the next mark may be put into are yellow."""
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{SIDE}" height="{SIDE}" viewBox="0 0 {SIDE} {SIDE}">',
        f'<rect width="{SIDE}" height="{SIDE}" fill="{PAPER}"/>',
    ]
    if not state["done"]:
        # A bar in the colour of the player to move.
        parts.append(f'<rect width="{SIDE}" height="7" fill="{COLOURS[int(state["to_move"]) + 1]}"/>')
    for board in range(9):
        left = MARGIN + (board % 3) * (BOARD + GAP)
        top = MARGIN + (board // 3) * (BOARD + GAP)
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
            if mark != EMPTY:
                x = left + (cell % 3 + 0.5) * CELL
                y = top + (cell // 3 + 0.5) * CELL
                parts.append(_mark(mark, x, y, CELL * 0.28, 5))
        owner = int(state["owner"][board])
        if owner != EMPTY:
            parts.append(f'<g opacity="0.42">{_mark(owner, left + BOARD / 2, top + BOARD / 2, BOARD * 0.42, 17)}</g>')
    for k in (1, 2):
        at = MARGIN + k * BOARD + (k - 0.5) * GAP
        parts.append(_line(at, MARGIN, at, SIDE - MARGIN, INK, 4))
        parts.append(_line(MARGIN, at, SIDE - MARGIN, at, INK, 4))
    return "".join(parts) + "</svg>"


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
