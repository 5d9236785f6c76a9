"""Draw the board of Martian Tic-Tac-Toe as SVG: pyramids from the side, and the stashes below the board."""

from typing import Any

import numpy as np

from ttt_envs.core.presentation import Box
from ttt_envs.drawing.frame import (
    BLACK,
    FOOT,
    GRID,
    INK,
    INNER,
    LABEL,
    LIGHT,
    MARGIN,
    NOTE,
    OPEN,
    PANEL,
    SOFT,
    TOP,
    WIDTH,
    Caption,
    emblem,
    framed,
    line,
    picture,
    rect,
    struck,
    token_place,
)
from ttt_envs.drawing.lettering import text
from ttt_envs.drawing.theme import COLOURS, lit
from ttt_envs.games.martian_tic_tac_toe.rules import (
    EMPTY,
    NONE,
    SIZES,
    owner_of,
    size_of,
    sizes_for,
)
from ttt_envs.games.martian_tic_tac_toe.text import SIZE_NAMES, cell_names, result, spoken_names, winning_rows

#: The colours of each player: both faces of a pyramid, and its pips.
NAMES = ("red", "blue", "yellow", "green")
LEFT_FACES = tuple(COLOURS[name][0] for name in NAMES)
RIGHT_FACES = tuple(COLOURS[f"{name}_shade"][0] for name in NAMES)
PIPS = (LIGHT, LIGHT, BLACK, LIGHT)

LETTERS, NUMBERS = 22, 22  # room for the names of columns and rows
STASH_HEAD, STASH_ROW = 34, 50
_NAME_WIDTH = 112

# Height and half the width of a pyramid of each size, as shares of a cell.
_HEIGHTS, _HALVES = (0.36, 0.56, 0.78), (0.16, 0.25, 0.34)
_BASE = 0.9  # height of a pyramid's foot, as a share of the cell from the top
_SPOT_WIDTH = (INNER - _NAME_WIDTH) / SIZES

# In smaller cells, text would be illegible in a picture of 300 pixels.
_LEAST_FOR_TEXT = 66


def draw(state: Any, viewer: int | None = None) -> str:
    """Return SVG text, the same for every viewer.

    The number of pips of a pyramid is its size, and their shape shows its player. Cells with a legal move are yellow
    and show the legal sizes. The last move has a frame, and a stroke goes through the winning row.
    """
    size, players = int(state["size"]), len(state["stash"])
    names, side = cell_names(size), _side(size)
    left, top = _corner(size)
    parts = []
    for k in range(size):
        middle = (k + 0.5) * side
        parts.append(text(names[k][0], left + middle, top - 10, LABEL, SOFT, "middle"))
        parts.append(text(names[size * k][1:], left - 13, top + middle + 5, LABEL, SOFT, "middle"))
    parts.append(rect(Box(left, top, size * side, size * side), PANEL))
    parts += [_cell(state, cell) for cell in range(size * size)]
    for k in range(1, size):
        at = k * side
        parts.append(line(left + at, top + 3, left + at, top + size * side - 3, GRID, 2))
        parts.append(line(left + 3, top + at, left + size * side - 3, top + at, GRID, 2))
    if state["last_action"] != NONE:
        cell = int(state["last_action"]) // SIZES
        box = cell_box(cell, size)
        frame = framed(Box(box.x + 6, box.y + 6, box.width - 12, box.height - 12))  # inside the yellow area
        parts.append(lit(frame) if _fitting(state, cell) else frame)
    for row in winning_rows(state):
        first, last = cell_box(row[0], size), cell_box(row[-1], size)
        x, y = side / 2, (_BASE - 0.5 * _HEIGHTS[size_of(state["piece"][row[0]]) - 1]) * side
        parts.append(struck(first.x + x, first.y + y, last.x + x, last.y + y))
    parts.append(_stashes(state))
    height = _stash_top(size) + STASH_HEAD + players * STASH_ROW + 6 + FOOT
    return picture(_caption(state), height, parts)


def spots(state: Any, viewer: int | None = None) -> dict[str, Box]:
    """Return the clickable spots: cells, such as "cell b2", and sizes in the mover's stash; see `Faces.spots`."""
    size = int(state["size"])
    boxes = {f"cell {name}": cell_box(cell, size) for cell, name in enumerate(cell_names(size))}
    if not state["done"]:
        for kind, name in enumerate(SIZE_NAMES):
            boxes[f"stash {name}"] = stash_box(state, int(state["to_move"]), kind)
    return boxes


def clicks(state: Any, action: int) -> tuple[str, ...]:
    """Return the spots to click for an action: a size in the stash, then a cell; see `Faces.clicks`."""
    cell, kind = divmod(int(action), SIZES)
    return f"stash {SIZE_NAMES[kind]}", f"cell {cell_names(int(state['size']))[cell]}"


def _caption(state: Any) -> Caption:
    last = ""
    if state["last_action"] != NONE:
        action = int(state["last_action"])
        owner = int(owner_of(state["piece"][action // SIZES]))
        last = f"{NAMES[owner]} {spoken_names(int(state['size']))[action]}"
    winners = [player for player, reward in enumerate(state["rewards"]) if reward > 0]
    if not state["done"]:
        shown, headline = [int(state["to_move"])], f"{NAMES[int(state['to_move'])]} to move"
        note = "the numbers in a cell are the sizes that fit there"
    elif winners:
        shown = winners
        names = " and ".join(NAMES[player] for player in winners)
        headline, note = f"{names} {'wins' if len(winners) == 1 else 'win'}", "by forfeit"
        rows = winning_rows(state)
        if rows:
            kind = SIZE_NAMES[int(size_of(state["piece"][rows[0][0]])) - 1]
            cells = " and ".join(" ".join(cell_names(int(state["size"]))[cell] for cell in row) for row in rows)
            note = f"with {kind} pyramids on {cells}"
    else:
        shown, headline, note = [], "draw", result(state).removeprefix("draw ")
    tokens = []
    for k, player in enumerate(shown):
        x, y, radius = token_place(k)
        tokens.append(_pyramid(player, SIZES, x, y + radius - 1, 2.6 * radius))
    return Caption(
        "Martian Tic-Tac-Toe",
        headline,
        colours=[LEFT_FACES[player] for player in shown],
        tokens=tokens,
        note=note,
        fact=f"move {int(state['ply'])} of at most {int(state['max_plies'])}" if state["max_plies"] else "",
        last=last,
    )


# --- the board ---


def _side(size: int) -> float:
    return min(112.0, (INNER - NUMBERS) / size)


def _corner(size: int) -> tuple[float, float]:
    return max((WIDTH - size * _side(size)) / 2, MARGIN + NUMBERS), TOP + LETTERS


def cell_box(cell: int, size: int) -> Box:
    (left, top), side = _corner(size), _side(size)
    return Box(left + cell % size * side, top + cell // size * side, side, side)


def _cell(state: Any, cell: int) -> str:
    """Draw the piece in a cell and the sizes that may be put there now."""
    box, piece, parts = cell_box(cell, int(state["size"])), int(state["piece"][cell]), []
    sizes = _fitting(state, cell)
    if sizes:
        parts.append(rect(Box(box.x + 4, box.y + 4, box.width - 8, box.height - 8), OPEN))
        if box.width >= _LEAST_FOR_TEXT:
            words = " ".join(str(kind) for kind in range(1, SIZES + 1) if sizes >> (kind - 1) & 1)
            parts.append(text(words, box.x + 11, box.y + 23, LABEL, INK))
    if piece != EMPTY:
        x, low = box.x + box.width / 2, box.y + _BASE * box.height
        parts.append(_pyramid(int(owner_of(piece)), int(size_of(piece)), x, low, box.width))
    return lit("".join(parts)) if sizes else "".join(parts)


def _fitting(state: Any, cell: int) -> int:
    """Return the sizes that the player to move may put in a cell, as a bit mask; 0 after the end of the game."""
    if state["done"]:
        return 0
    return int(sizes_for(state, int(state["to_move"]), cell))


def _pyramid(player: int, size: int, x: float, low: float, cell: float) -> str:
    """Draw a pyramid with two faces and pips; (x, low) is the middle of its base."""
    height, half = _HEIGHTS[size - 1] * cell, _HALVES[size - 1] * cell
    ridge, edge = x + 0.35 * half, max(0.045 * cell, 2)
    tip, left, right = f"{x:g} {low - height:g}", f"{x - half:g} {low - 0.07 * cell:g}", f"{x + half:g}"
    foot, back = f"{ridge:.5g} {low:g}", f"{right} {low - 0.07 * cell:g}"
    parts = [
        f'<path d="M{tip}L{left}L{foot}L{back}z" fill="none" stroke="{INK}" stroke-width="{edge:.3g}" '
        'stroke-linejoin="round"/>',
        f'<path d="M{tip}L{left}L{foot}z" fill="{LEFT_FACES[player]}"/>',
        f'<path d="M{tip}L{foot}L{back}z" fill="{RIGHT_FACES[player]}"/>',
    ]
    for k in range(size):
        across = (k - (size - 1) / 2) * 0.13 * cell - 0.3 * half
        parts.append(emblem(player, x + across, low - 0.12 * cell, 0.045 * cell, PIPS[player]))
    return "".join(parts)


# --- the stashes ---


def _stash_top(size: int) -> float:
    return _corner(size)[1] + size * _side(size) + 10


def stash_box(state: Any, player: int, kind: int) -> Box:
    top = _stash_top(int(state["size"])) + STASH_HEAD + player * STASH_ROW
    return Box(MARGIN + _NAME_WIDTH + kind * _SPOT_WIDTH, top + 2, _SPOT_WIDTH - 4, STASH_ROW - 4)


def _stashes(state: Any) -> str:
    top = _stash_top(int(state["size"]))
    parts = [text("still in the stash:", MARGIN, top + 22, LABEL, SOFT)]
    for kind, name in enumerate(SIZE_NAMES):
        middle = MARGIN + _NAME_WIDTH + (kind + 0.5) * _SPOT_WIDTH - 2
        parts.append(text(f"{kind + 1} {name}", middle, top + 22, LABEL, SOFT, "middle"))
    mover = NONE if state["done"] else int(state["to_move"])
    usable = int(np.bitwise_or.reduce([_fitting(state, cell) for cell in range(len(state["piece"]))]))
    for player in range(len(state["stash"])):
        for kind in range(SIZES):
            box = stash_box(state, player, kind)
            chosen = player == mover and usable >> kind & 1
            parts.append(rect(box, OPEN if chosen else PANEL))
            piece = _pyramid(player, kind + 1, box.x + 0.29 * box.width, box.y + box.height - 5, 48)
            number = f"× {int(state['stash'][player, kind])}"
            piece += text(number, box.x + 0.5 * box.width, box.y + 30, NOTE + 2, INK)
            parts.append(lit(piece) if chosen else piece)
        words, y = NAMES[player], stash_box(state, player, 0).y + 30
        parts.append(text(words, MARGIN, y, NOTE + 2, INK if player == mover else SOFT))
    return "".join(parts)
