"""The Tic-Tac Match table as SVG: the board in the middle, the hands around it, the pile, and the cards played."""

from typing import Any

from ttt_envs.games.tic_tac_match.rules import CELLS, NONE, NOTHING, completes_line, count, flip_of, read_board
from ttt_envs.games.tic_tac_match.text import CELL_NAMES, headline, last_play, short_names

WIDTH, HEIGHT, MARGIN = 920, 640, 16
CARD_WIDTH, CARD_HEIGHT, GAP = 78, 104, 8
BOARD_LEFT, BOARD_TOP = (WIDTH - 3 * CARD_WIDTH - 2 * GAP) // 2, (HEIGHT - 3 * CARD_HEIGHT - 2 * GAP) // 2
LEFT_SIDE, RIGHT_SIDE, SIDE_TOP = 118, 636, 160

#: Colours of the symbol cards, in the order of `text.COLOURS`.
COLOURS = ("#cf3b30", "#2b62b8", "#d9a514", "#2f8f4e")
CLOTH, CARD, BACK, BACK_EDGE, ID_CARD = "#27323f", "#fbfaf6", "#51617a", "#dfe5ee", "#6d3fa0"
INK, FAINT, WHITE, TURN, LAST = "#2c2b28", "#8c897f", "#ffffff", "#ffd54a", "#4fc3f7"

_HAND_ROOM = 330  # a hand gets no wider than this; its cards overlap


def draw(state: Any, viewer: int | None = None) -> str:
    """SVG text. A viewer sits below and sees no other hand; None sees all from behind seat 0.

    Cards of a line have a yellow frame, the card played last a light blue one.
    """
    players = len(state["identity"])
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{WIDTH}" height="{HEIGHT}" viewBox="0 0 {WIDTH} {HEIGHT}">',
        f'<rect width="{WIDTH}" height="{HEIGHT}" fill="{CLOTH}"/>',
    ]
    for k in range(players):
        player = ((viewer or 0) + k) % players
        side = k if players == 4 else 2 * k  # below, left, above, right: clockwise
        parts.append(_seat(state, player, side, open_hand=viewer in (None, player)))
    parts += [_cell(state, cell) for cell in range(CELLS)]
    parts.append(_pile(state))
    parts.append(_heap(state, "discards", state["discard"], LEFT_SIDE, SIDE_TOP + 128))
    for row, words in enumerate(headline(state).removeprefix("over: ").split(", ")):
        parts.append(_text(words, RIGHT_SIDE, SIDE_TOP + 18 + 24 * row, 17, TURN, "start"))
    if state["last_action"] != NONE:
        parts.append(_text(f"last: seat {last_play(state)}", RIGHT_SIDE, SIDE_TOP + 96, 14, LAST, "start"))
    parts.append(_heap(state, "covered", state["covered"], RIGHT_SIDE, SIDE_TOP + 128))
    return "".join(parts) + "</svg>"


def _seat(state: Any, player: int, side: int, open_hand: bool) -> str:
    """A player's ID card and their hand, at one side of the table: below, left, above or right."""
    kinds = [kind for kind, n in enumerate(state["hand"][player]) for _ in range(n)]
    if side % 2 == 0:
        top = float(HEIGHT - MARGIN - CARD_HEIGHT if side == 0 else MARGIN)
        step = min(float(CARD_WIDTH + GAP), (_HAND_ROOM - CARD_WIDTH) / max(len(kinds) - 1, 1))
        left = WIDTH / 2 - (CARD_WIDTH + step * (len(kinds) - 1)) / 2
        places = [(left + step * k, top) for k in range(len(kinds))]
        identity = (left - 70, top + 26)
    else:
        left = MARGIN if side == 1 else WIDTH - MARGIN - CARD_WIDTH
        step = min(64.0, (HEIGHT - 230 - CARD_HEIGHT) / max(len(kinds) - 1, 1))
        places = [(left, 150 + step * k) for k in range(len(kinds))]
        identity = (left + CARD_WIDTH / 2 - 26, 78)
    parts = [_identity(state, player, *identity)]
    for kind, (x, y) in zip(kinds, places, strict=True):
        parts.append(_card(state, kind, x, y) if open_hand else _back(x, y))
    return "".join(parts)


def _identity(state: Any, player: int, left: float, top: float) -> str:
    """An ID card, framed if it is this player's turn, and their seat."""
    plays = not state["done"] and state["to_move"] == player
    won = state["rewards"][player] > 0
    edge = TURN if plays or won else WHITE
    seat = _text(f"seat {player}", left + 26, top - 8, 14, edge)
    card = (
        f'<rect x="{left:g}" y="{top:g}" width="52" height="52" rx="9" fill="{ID_CARD}" stroke="{edge}" '
        f'stroke-width="{4 if plays or won else 1.5}"/>'
    )
    return seat + card + _symbol(int(state["identity"][player]), left + 26, top + 26, 14, WHITE)


def _cell(state: Any, cell: int) -> str:
    left = BOARD_LEFT + (cell % 3) * (CARD_WIDTH + GAP)
    top = BOARD_TOP + (cell // 3) * (CARD_HEIGHT + GAP)
    kind = int(state["top"][cell])
    if kind == NOTHING:
        return (
            f'<rect x="{left}" y="{top}" width="{CARD_WIDTH}" height="{CARD_HEIGHT}" rx="8" fill="none" '
            f'stroke="{BACK}" stroke-width="2" stroke-dasharray="7 6"/>'
        ) + _text(CELL_NAMES[cell], left + CARD_WIDTH / 2, top + CARD_HEIGHT / 2 + 8, 22, BACK)
    parts = _card(state, kind, left, top)
    parts += _text(CELL_NAMES[cell], left + CARD_WIDTH - 13, top + CARD_HEIGHT - 9, 13, FAINT)
    in_line = completes_line(read_board(state), kind, cell)
    if in_line or state["last_action"] == CELLS * kind + cell:
        parts += (
            f'<rect x="{left}" y="{top}" width="{CARD_WIDTH}" height="{CARD_HEIGHT}" rx="8" fill="none" '
            f'stroke="{TURN if in_line else LAST}" stroke-width="6"/>'
        )
    return parts


def _pile(state: Any) -> str:
    cards = int(count(state["pile"]))
    stack = "".join(_back(LEFT_SIDE + 4 * k, SIDE_TOP - 3 * k) for k in range(min(cards, 3)))
    return stack + _text(f"pile {cards}", LEFT_SIDE + CARD_WIDTH + 22, SIDE_TOP + 60, 17, WHITE, "start")


def _heap(state: Any, name: str, cards: Any, left: float, top: float) -> str:
    """The number of cards of each kind in a heap, as small cards in two columns."""
    kinds = [kind for kind in range(len(cards)) if cards[kind]]
    parts = [_text(f"{name} {count(cards)}", left, top, 17, WHITE, "start")]
    for k, kind in enumerate(kinds):
        x, y = left + 82 * (k % 2), top + 12 + 36 * (k // 2)
        parts.append(
            f'<g transform="translate({x:g} {y:g}) scale(0.3)">{_card(state, kind, 0, 0)}</g>'
            + _text(f"{cards[kind]}", x + 32, y + 22, 17, WHITE, "start")
        )
    return "".join(parts)


def _card(state: Any, kind: int, left: float, top: float) -> str:
    """The face of a card."""
    flip, middle, centre = flip_of(state), left + CARD_WIDTH / 2, top + CARD_HEIGHT / 2
    parts = (
        f'<rect x="{left:g}" y="{top:g}" width="{CARD_WIDTH}" height="{CARD_HEIGHT}" rx="8" fill="{CARD}" '
        f'stroke="{INK}" stroke-width="1"/>'
    )
    if kind < flip:
        colour = COLOURS[kind // 2]
        # The corner says it too, for eyes to which two of the colours look alike.
        parts += _text(short_names(flip // 2)[kind], left + 16, top + 20, 15, colour)
        return parts + _symbol(kind % 2, middle, centre + 4, 23, colour)
    draw_icon = (_flip_icon, _wipe_out_icon, _double_play_icon)[kind - flip]
    name = ("FLIP", "WIPE-OUT", "DOUBLE PLAY")[kind - flip]
    parts += draw_icon(middle, centre - 6)
    words = name.split()
    for row, word in enumerate(words):
        parts += _text(word, middle, top + CARD_HEIGHT - 11 - 13 * (len(words) - 1 - row), 13, ID_CARD)
    return parts


def _back(left: float, top: float) -> str:
    return (
        f'<rect x="{left:g}" y="{top:g}" width="{CARD_WIDTH}" height="{CARD_HEIGHT}" rx="8" fill="{BACK}" '
        f'stroke="{BACK_EDGE}" stroke-width="2"/>'
        f'<rect x="{left + 8:g}" y="{top + 8:g}" width="{CARD_WIDTH - 16}" height="{CARD_HEIGHT - 16}" rx="5" '
        f'fill="none" stroke="{BACK_EDGE}" stroke-width="1.5"/>'
        + _symbol(0, left + 30, top + 44, 8, BACK_EDGE)
        + _symbol(1, left + 48, top + 62, 8, BACK_EDGE)
    )


def _flip_icon(x: float, y: float) -> str:
    """An ID card's two sides, and the way from one to the other."""
    line = f'fill="none" stroke="{ID_CARD}" stroke-width="4" stroke-linecap="round"'
    return (
        _symbol(0, x - 15, y, 9, ID_CARD)
        + _symbol(1, x + 15, y, 9, ID_CARD)
        + f'<path d="M{x - 15:g} {y - 18:g} q15 -14 28 -2 m0 -9 v10 h-10" {line}/>'
        + f'<path d="M{x + 15:g} {y + 18:g} q-15 14 -28 2 m0 9 v-10 h10" {line}/>'
    )


def _wipe_out_icon(x: float, y: float) -> str:
    """A hand of cards, crossed out."""
    fan = "".join(
        f'<rect x="{x - 10:g}" y="{y - 20:g}" width="20" height="30" rx="3" fill="{WHITE}" stroke="{ID_CARD}" '
        f'stroke-width="2.5" transform="rotate({tilt} {x:g} {y + 22:g})"/>'
        for tilt in (-32, 0, 32)
    )
    return fan + (
        f'<line x1="{x - 26:g}" y1="{y + 16:g}" x2="{x + 26:g}" y2="{y - 24:g}" stroke="{COLOURS[0]}" '
        f'stroke-width="6" stroke-linecap="round"/>'
    )


def _double_play_icon(x: float, y: float) -> str:
    """Two cards, one on the other."""
    return "".join(
        f'<rect x="{x - 12 + shift:g}" y="{y - 26 + shift * 0.7:g}" width="25" height="35" rx="3" fill="{WHITE}" '
        f'stroke="{ID_CARD}" stroke-width="3"/>'
        for shift in (-10, 9)
    ) + _text("+2", x + 10, y + 3, 16, ID_CARD)


def _symbol(symbol: int, x: float, y: float, radius: float, colour: str) -> str:
    """A cross for 0, a ring for 1."""
    width = radius * 0.52
    if symbol == 1:
        return f'<circle cx="{x:g}" cy="{y:g}" r="{radius:g}" fill="none" stroke="{colour}" stroke-width="{width:g}"/>'
    return "".join(
        f'<line x1="{x - radius:g}" y1="{y - tilt * radius:g}" x2="{x + radius:g}" y2="{y + tilt * radius:g}" '
        f'stroke="{colour}" stroke-width="{width:g}" stroke-linecap="round"/>'
        for tilt in (-1, 1)
    )


def _text(words: str, x: float, y: float, size: float, colour: str, anchor: str = "middle") -> str:
    return (
        f'<text x="{x:g}" y="{y:g}" font-family="FreeSans, sans-serif" font-weight="bold" font-size="{size:g}" '
        f'text-anchor="{anchor}" fill="{colour}">{words}</text>'
    )
