"""The board of Connect Four as SVG."""

from typing import Any

CELL, MARGIN = 60, 14
COLOURS = ("#fbfaf6", "#c8402f", "#e8b93a")  # a hole, X's disc, O's disc


def draw(state: Any, viewer: int | None = None) -> str:
    """SVG text, the same for every viewer. A bar has the colour of the player to move, or of the winner."""
    player = int(state["rewards"].argmax() if state["done"] else state["to_move"])
    bar = COLOURS[0 if state["done"] and not state["rewards"].any() else player + 1]
    rows, columns = state["cells"].shape
    width, height = 2 * MARGIN + columns * CELL, 2 * MARGIN + rows * CELL
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{width}" height="{height}" viewBox="0 0 {width} {height}">',
        f'<rect width="{width}" height="{height}" fill="#2467b0"/><rect width="{width}" height="7" fill="{bar}"/>',
    ]
    for row in range(rows):
        for column in range(columns):
            x, y = MARGIN + (column + 0.5) * CELL, MARGIN + (row + 0.5) * CELL
            parts.append(f'<circle cx="{x:g}" cy="{y:g}" r="24" fill="{COLOURS[state["cells"][row, column]]}"/>')
    return "".join(parts) + "</svg>"
