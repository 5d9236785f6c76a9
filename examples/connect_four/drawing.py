"""The board of Connect Four as SVG."""

from typing import Any

from .rules import COLUMNS, ROWS

CELL, MARGIN = 60, 14
WIDTH, HEIGHT = 2 * MARGIN + COLUMNS * CELL, 2 * MARGIN + ROWS * CELL
COLOURS = ("#fbfaf6", "#c8402f", "#e8b93a")  # a hole, X's disc, O's disc


def draw(state: Any, viewer: int | None = None) -> str:
    """SVG text, the same for every viewer. A bar has the colour of the player to move, or of the winner."""
    player = int(state["rewards"].argmax() if state["done"] else state["to_move"])
    bar = COLOURS[0 if state["done"] and not state["rewards"].any() else player + 1]
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{WIDTH}" height="{HEIGHT}" viewBox="0 0 {WIDTH} {HEIGHT}">',
        f'<rect width="{WIDTH}" height="{HEIGHT}" fill="#2467b0"/><rect width="{WIDTH}" height="7" fill="{bar}"/>',
    ]
    for row in range(ROWS):
        for column in range(COLUMNS):
            x, y = MARGIN + (column + 0.5) * CELL, MARGIN + (row + 0.5) * CELL
            parts.append(f'<circle cx="{x:g}" cy="{y:g}" r="24" fill="{COLOURS[state["cells"][row, column]]}"/>')
    return "".join(parts) + "</svg>"
