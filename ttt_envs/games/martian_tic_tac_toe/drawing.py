"""The board of Martian Tic-Tac-Toe as SVG: pyramids seen from above, and beside the board what each stash holds."""

from typing import Any

from ttt_envs.games.martian_tic_tac_toe.rules import EMPTY, SIZES, owner_of, size_of

CELL, MARGIN, STASH = 76, 24, 26
COLOURS = ("#c8402f", "#2467b0", "#d9a400", "#3a8f4d")
EDGES = ("#7c2116", "#123f73", "#8a6600", "#1d5a2b")
PAPER, BOARD, INK, FAINT, WHITE = "#fbfaf6", "#e7dfd0", "#3b3a36", "#b9b3a6", "#ffffff"

# Half a side of each size, in a cell and in a stash.
_HALF = (0, 13, 21, 31)
_SMALL_SCALE = 0.36


def draw(state: Any, viewer: int | None = None) -> str:
    """SVG text, the same for every viewer. A pyramid has as many pips as its size; a bar shows whose turn it is."""
    size, players, pieces = int(state["size"]), len(state["stash"]), int(state["pieces"])
    side = size * CELL
    beside = MARGIN + SIZES * STASH
    width, height = 2 * MARGIN + side + beside, 2 * MARGIN + max(side, players * (pieces * STASH + 20) - 20)
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{width}" height="{height}" viewBox="0 0 {width} {height}">',
        f'<rect width="{width}" height="{height}" fill="{PAPER}"/>',
        f'<rect x="{MARGIN}" y="{MARGIN}" width="{side}" height="{side}" rx="6" fill="{BOARD}"/>',
    ]
    if not state["done"] or state["rewards"].any():
        parts.append(f'<rect width="{width}" height="8" fill="{COLOURS[int(state["to_move"])]}"/>')
    for k in range(1, size):
        at = MARGIN + k * CELL
        for x1, y1, x2, y2 in ((at, MARGIN, at, MARGIN + side), (MARGIN, at, MARGIN + side, at)):
            parts.append(f'<line x1="{x1}" y1="{y1}" x2="{x2}" y2="{y2}" stroke="{FAINT}" stroke-width="2"/>')
    for k in range(size):
        middle = MARGIN + (k + 0.5) * CELL
        parts.append(_text(chr(ord("a") + k), middle, MARGIN - 6))
        parts.append(_text(str(k + 1), MARGIN - 11, middle + 5))
    for cell, piece in enumerate(state["piece"]):
        if piece != EMPTY:
            x, y = MARGIN + (cell % size + 0.5) * CELL, MARGIN + (cell // size + 0.5) * CELL
            parts.append(_pyramid(int(owner_of(piece)), int(size_of(piece)), x, y, 1))
    for player in range(players):
        top = MARGIN + player * (pieces * STASH + 20)
        for kind in range(SIZES):
            for k in range(pieces):
                x = 2 * MARGIN + side + (kind + 0.5) * STASH
                y = top + (k + 0.5) * STASH
                if k < state["stash"][player, kind]:
                    parts.append(_pyramid(player, kind + 1, x, y, _SMALL_SCALE))
                else:
                    parts.append(f'<circle cx="{x:g}" cy="{y:g}" r="2.5" fill="{FAINT}"/>')
    return "".join(parts) + "</svg>"


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
