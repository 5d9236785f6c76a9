"""The Tic-Tac-Dice table as SVG: the layout of cards, the markers on them, the dice, and the points of a match."""

from typing import Any

from ttt_envs.games.tic_tac_dice.rules import EMPTY, NONE, allowed_ranks, doubles, is_claimable
from ttt_envs.games.tic_tac_dice.text import ENDS, is_round_over, result, round_result, winning_rows

CARD_WIDTH, CARD_HEIGHT, GAP, MARGIN, HEAD = 88, 112, 12, 20, 92
COLOURS = ("", "#c8402f", "#2467b0")
CLOTH, CARD, OPEN, INK, FAINT, WHITE = "#2e5d4b", "#fbfaf6", "#ffe48a", "#2c2b28", "#8c897f", "#ffffff"
GOLD = "#ffc400"

# Where the pips of a die lie, in thirds of half its side; a number's pips.
_PLACES = {"a": (-1, -1), "b": (1, -1), "c": (-1, 0), "d": (0, 0), "e": (1, 0), "f": (-1, 1), "g": (1, 1)}
_PIPS = ("", "d", "ag", "adg", "abfg", "abdfg", "abcefg")

# As many points as can be shown one by one.
_MOST_COUNTERS = 9


def draw(state: Any, viewer: int | None = None) -> str:
    """SVG text, the same for every viewer.

    Cards that can be claimed are yellow. They and the card claimed last are framed in the claimer's colour. A stroke
    goes through the row that has won the round.
    """
    size = int(state["size"])
    width = 2 * MARGIN + size * CARD_WIDTH + (size - 1) * GAP
    height = HEAD + MARGIN + size * CARD_HEIGHT + (size - 1) * GAP
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{width}" height="{height}" viewBox="0 0 {width} {height}">',
        f'<rect width="{width}" height="{height}" fill="{CLOTH}"/>',
    ]
    ended = state["done"] or is_round_over(state)
    parts.append(_result(state) if ended else _turn(state))
    if state["last"] and not ended:
        parts.append(_text(f"last round: {ENDS[state['last']]}", MARGIN, 84, 13, WHITE, "start"))
    if state["target"]:
        parts += [_points(state, player, width - MARGIN, 28 + 36 * player) for player in (0, 1)]
    for cell in range(size * size):
        parts.append(_card(state, cell, *_corner(cell, size), ended))
    for row in winning_rows(state):
        (x1, y1), (x2, y2) = _corner(row[0], size), _corner(row[-1], size)
        x, y = CARD_WIDTH / 2, CARD_HEIGHT / 2 + 4
        parts.append(
            f'<line x1="{x1 + x:g}" y1="{y1 + y:g}" x2="{x2 + x:g}" y2="{y2 + y:g}" stroke="{GOLD}" stroke-width="11" '
            'stroke-linecap="round" opacity="0.85"/>'
        )
    return "".join(parts) + "</svg>"


def _corner(cell: int, size: int) -> tuple[int, int]:
    """Left and top of a card."""
    return MARGIN + (cell % size) * (CARD_WIDTH + GAP), HEAD + (cell // size) * (CARD_HEIGHT + GAP)


def _result(state: Any) -> str:
    """The caption: who has won the game, or this round of a match, and how."""
    words = result(state) if state["done"] else round_result(state)
    what, _, how = words.partition(", ")
    below = _text(how, MARGIN, 84, 13, WHITE, "start")
    if not state["done"]:
        return _text("round over", MARGIN, 40, 22, WHITE, "start") + _text(what, MARGIN, 66, 17, WHITE, "start") + below
    if not state["rewards"].any():
        return _text(what, MARGIN, 56, 28, WHITE, "start") + below
    mark = int(state["rewards"].argmax()) + 1
    size = 28 if how else 19  # a forfeit takes more words
    return _chip(mark, MARGIN + 20, 44, 20) + _text(what[2:], MARGIN + 50, 54, size, WHITE, "start") + below


def _turn(state: Any) -> str:
    """The dice and their owner: the claimer's mark, then both dice, and a plus sign after doubles."""
    mark = int(state["to_move"]) + 1
    parts = [_chip(mark, MARGIN + 20, 46, 20)]
    for k, number in enumerate(state["dice"]):
        parts.append(_die(int(number), MARGIN + 54 + 52 * k, 25, 42, mark))
    if doubles(state):
        parts.append(_text("+", MARGIN + 166, 56, 30, OPEN))
    return "".join(parts)


def _die(number: int, left: float, top: float, side: float, mark: int) -> str:
    pips = "".join(
        f'<circle cx="{left + side / 2 + side * 0.27 * x:g}" cy="{top + side / 2 + side * 0.27 * y:g}" '
        f'r="{side * 0.1:g}" fill="{INK}"/>'
        for x, y in (_PLACES[place] for place in _PIPS[number])
    )
    return (
        f'<rect x="{left:g}" y="{top:g}" width="{side:g}" height="{side:g}" rx="8" fill="{WHITE}" '
        f'stroke="{COLOURS[mark]}" stroke-width="3"/>{pips}'
    )


def _points(state: Any, player: int, right: float, middle: float) -> str:
    """A player's points: counters, filled for those that they have, or numbers if they are too many."""
    points, target, mark = int(state["points"][player]), int(state["target"]), player + 1
    if target > _MOST_COUNTERS:
        return _chip(mark, right - 88, middle, 11) + _text(f"{points}/{target}", right - 38, middle + 8, 22, WHITE)
    parts = [_chip(mark, right - 13 * target - 16, middle, 11)]
    for k in range(target):
        fill = COLOURS[mark] if k < points else "none"
        x = right - 13 * (target - k) + 8
        parts.append(f'<circle cx="{x}" cy="{middle}" r="5" fill="{fill}" stroke="{WHITE}" stroke-width="1.5"/>')
    return "".join(parts)


def _card(state: Any, cell: int, left: float, top: float, ended: bool) -> str:
    rank, owner = int(state["rank"][cell]), int(state["owner"][cell])
    fill, edge, thick = CARD, FAINT, 1.0
    if cell == state["last_claim"] != NONE:
        edge, thick = COLOURS[owner], 5.0
    elif not ended and is_claimable(state, cell, allowed_ranks(state)):
        fill, edge, thick = OPEN, COLOURS[int(state["to_move"]) + 1], 5.0
    parts = [
        f'<rect x="{left}" y="{top}" width="{CARD_WIDTH}" height="{CARD_HEIGHT}" rx="9" fill="{fill}" '
        f'stroke="{edge}" stroke-width="{thick:g}"/>',
        _text(chr(ord("A") + cell), left + CARD_WIDTH - 15, top + CARD_HEIGHT - 11, 15, FAINT),
    ]
    if owner == EMPTY:
        parts.append(_text(str(rank), left + CARD_WIDTH / 2, top + CARD_HEIGHT / 2 + 20, 56, INK))
    else:
        parts.append(_text(str(rank), left + 16, top + 28, 25, INK))
        parts.append(_chip(owner, left + CARD_WIDTH / 2, top + CARD_HEIGHT / 2 + 4, 29))
    return "".join(parts)


def _chip(mark: int, x: float, y: float, radius: float) -> str:
    """A player's marker: a disc in their colour with a cross or a ring on it."""
    parts = f'<circle cx="{x:g}" cy="{y:g}" r="{radius:g}" fill="{COLOURS[mark]}"/>'
    inner, line = radius * 0.45, f'stroke="{WHITE}" stroke-width="{radius * 0.24:g}"'
    if mark == 1:
        for tilt in (-1, 1):
            parts += (
                f'<line x1="{x - inner:g}" y1="{y - tilt * inner:g}" x2="{x + inner:g}" y2="{y + tilt * inner:g}" '
                f'{line} stroke-linecap="round"/>'
            )
        return parts
    return parts + f'<circle cx="{x:g}" cy="{y:g}" r="{inner:g}" fill="none" {line}/>'


def _text(words: str, x: float, y: float, size: float, colour: str, anchor: str = "middle") -> str:
    return (
        f'<text x="{x:g}" y="{y:g}" font-family="FreeSans, sans-serif" font-weight="bold" font-size="{size:g}" '
        f'text-anchor="{anchor}" fill="{colour}">{words}</text>'
    )
