"""The board of Martian Tic-Tac-Toe as SVG: pyramids seen from above, and beside the board what each stash holds."""

from typing import Any

from ttt_envs.games.martian_tic_tac_toe.rules import EMPTY, NONE, SIZES, owner_of, size_of
from ttt_envs.games.martian_tic_tac_toe.text import result, winning_rows

CELL, MARGIN, STASH, HEAD = 76, 24, 26, 66
COLOURS = ("#c8402f", "#2467b0", "#d9a400", "#3a8f4d")
EDGES = ("#7c2116", "#123f73", "#8a6600", "#1d5a2b")
NAMES = ("red", "blue", "yellow", "green")
PAPER, BOARD, INK, FAINT, WHITE, GOLD = "#fbfaf6", "#e7dfd0", "#3b3a36", "#b9b3a6", "#ffffff", "#ffc400"

# Half a side of each size, in a cell and in a stash.
_HALF = (0, 13, 21, 31)
_SMALL_SCALE = 0.36


def draw(state: Any, viewer: int | None = None) -> str:
    """SVG text, the same for every viewer.

    A pyramid has as many pips as its size, the one played last stands on white, the winning row is struck through. A
    bar shows whose turn it is, or who has won.
    """
    size, players, pieces = int(state["size"]), len(state["stash"]), int(state["pieces"])
    side = size * CELL
    beside = MARGIN + SIZES * STASH
    width, height = 2 * MARGIN + side + beside, HEAD + MARGIN + max(side, players * (pieces * STASH + 20) - 20)
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{width}" height="{height}" viewBox="0 0 {width} {height}">',
        f'<rect width="{width}" height="{height}" fill="{PAPER}"/>',
        f'<rect x="{MARGIN}" y="{HEAD}" width="{side}" height="{side}" rx="6" fill="{BOARD}"/>',
        _head(state, width),
    ]
    if state["last_action"] != NONE:
        x, y = _centre(int(state["last_action"]) // SIZES, size)
        parts.append(
            f'<rect x="{x - CELL / 2 + 1:g}" y="{y - CELL / 2 + 1:g}" width="{CELL - 2}" height="{CELL - 2}" '
            f'rx="6" fill="{WHITE}"/>'
        )
    for k in range(1, size):
        at = k * CELL
        for x1, y1, x2, y2 in (
            (MARGIN + at, HEAD, MARGIN + at, HEAD + side),
            (MARGIN, HEAD + at, MARGIN + side, HEAD + at),
        ):
            parts.append(f'<line x1="{x1}" y1="{y1}" x2="{x2}" y2="{y2}" stroke="{FAINT}" stroke-width="2"/>')
    for k in range(size):
        middle = (k + 0.5) * CELL
        parts.append(_text(chr(ord("a") + k), MARGIN + middle, HEAD - 6))
        parts.append(_text(str(k + 1), MARGIN - 11, HEAD + middle + 5))
    for cell, piece in enumerate(state["piece"]):
        if piece != EMPTY:
            parts.append(_pyramid(int(owner_of(piece)), int(size_of(piece)), *_centre(cell, size), 1))
    for row in winning_rows(state):
        (left, top), (right, bottom) = _centre(row[0], size), _centre(row[-1], size)
        parts.append(
            f'<line x1="{left:g}" y1="{top:g}" x2="{right:g}" y2="{bottom:g}" stroke="{GOLD}" stroke-width="9" '
            'stroke-linecap="round" opacity="0.85"/>'
        )
    for player in range(players):
        first = HEAD + player * (pieces * STASH + 20)
        for kind in range(SIZES):
            for k in range(pieces):
                x = 2 * MARGIN + side + (kind + 0.5) * STASH
                y = first + (k + 0.5) * STASH
                if k < state["stash"][player, kind]:
                    parts.append(_pyramid(player, kind + 1, x, y, _SMALL_SCALE))
                else:
                    parts.append(f'<circle cx="{x:g}" cy="{y:g}" r="2.5" fill="{FAINT}"/>')
    return "".join(parts) + "</svg>"


def _centre(cell: int, size: int) -> tuple[float, float]:
    """The middle of a cell."""
    return MARGIN + (cell % size + 0.5) * CELL, HEAD + (cell // size + 0.5) * CELL


def _head(state: Any, width: int) -> str:
    """The bar and the caption: whose turn it is, or who has won; a draw has no colour."""
    winners = [player for player, reward in enumerate(state["rewards"]) if reward > 0]
    if not state["done"]:
        words, colours = f"{NAMES[int(state['to_move'])]} to move", [int(state["to_move"])]
    elif winners:
        names = " and ".join(NAMES[player] for player in winners)
        forfeit = "" if winning_rows(state) else " by forfeit"
        words, colours = f"{names} {'wins' if len(winners) == 1 else 'win'}{forfeit}", winners
    else:
        words, colours = result(state), []
    part = width / max(len(colours), 1)
    bars = "".join(
        f'<rect x="{k * part:g}" width="{part:g}" height="8" fill="{COLOURS[player]}"/>'
        for k, player in enumerate(colours)
    )
    return bars + (
        f'<text x="{MARGIN}" y="38" font-family="FreeSans, sans-serif" font-weight="bold" font-size="20" '
        f'fill="{INK}">{words}</text>'
    )


def _pyramid(player: int, size: int, x: float, y: float, scale: float) -> str:
    """A square base, its four edges up to the tip, and pips on the tip."""
    half, edge = _HALF[size] * scale, EDGES[player]
    parts = [
        f'<rect x="{x - half:g}" y="{y - half:g}" width="{2 * half:g}" height="{2 * half:g}" '
        f'fill="{COLOURS[player]}" stroke="{edge}" stroke-width="{max(3 * scale, 1):g}"/>'
    ]
    for down in (1, -1):
        parts.append(
            f'<line x1="{x - half:g}" y1="{y - down * half:g}" x2="{x + half:g}" y2="{y + down * half:g}" '
            f'stroke="{edge}" stroke-width="{max(2 * scale, 0.7):g}"/>'
        )
    for k in range(size):
        across = (k - (size - 1) / 2) * 10 * scale
        parts.append(f'<circle cx="{x + across:g}" cy="{y:g}" r="{4 * scale:g}" fill="{WHITE}"/>')
    return "".join(parts)


def _text(words: str, x: float, y: float) -> str:
    return (
        f'<text x="{x:g}" y="{y:g}" font-family="FreeSans, sans-serif" font-weight="bold" font-size="13" '
        f'text-anchor="middle" fill="{INK}">{words}</text>'
    )
