"""Draw the Tic-Tac Match table as SVG: the board in the middle, the hands around it, and the heaps below.

A sign in the corner of a symbol card also shows its colour, for people who cannot tell two of the colours apart.
"""

from typing import Any, NamedTuple

import numpy as np

from ttt_envs.core.presentation import Box
from ttt_envs.drawing.frame import (
    BLACK,
    FOOT,
    HEADLINE,
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
    mark,
    picture,
    rect,
    struck,
    turn_chips,
)
from ttt_envs.drawing.lettering import text
from ttt_envs.drawing.theme import COLOURS, lit
from ttt_envs.games.tic_tac_match.rules import CELLS, NONE, NOTHING, flip_of, legal_mask, num_actions
from ttt_envs.games.tic_tac_match.text import CELL_NAMES, SYMBOLS, headline, kind_names, last_play, winning_rows

CARD_WIDTH, CARD_HEIGHT, GAP, SPACE = 76, 86, 9, 16
HAND_TOP = TOP + 2
BOARD_LEFT, BOARD_TOP = (WIDTH - 3 * CARD_WIDTH - 2 * GAP) / 2, HAND_TOP + CARD_HEIGHT + SPACE
OWN_TOP = BOARD_TOP + 3 * CARD_HEIGHT + 2 * GAP + SPACE
HEAPS_TOP = OWN_TOP + CARD_HEIGHT + SPACE
HEAP = 56
HEIGHT = HEAPS_TOP + 2 * HEAP + FOOT

CARD, BACK, VIOLET = (COLOURS[name][0] for name in ("card", "back", "violet"))

#: The colours of a symbol card and of its symbol, in the order of `text.COLOURS`.
GROUNDS = tuple(COLOURS[name][0] for name in ("red", "blue", "yellow", "green"))
SIGNS = (LIGHT, LIGHT, BLACK, LIGHT)

# The size of a card for which its shapes are drawn before scaling, and the least width of a card that shows its name.
_WIDTH, _HEIGHT, _NAMED = 76, 86, 70

_NAMES = (("flip",), ("wipe-out",), ("double", "play"))

# Sizes of ID cards, and of the smaller cards of the hands next to the board.
_ID, _SMALL_WIDTH, _SMALL_HEIGHT = 52, 56, 63


class _Seat(NamedTuple):
    """A player's part of the table: the kinds of their cards, the places of the cards, and the ID card."""

    kinds: list[int]
    places: list[Box]
    identity: Box


def draw(state: Any, viewer: int | None = None) -> str:
    """Return SVG text. The viewer's seat is at the bottom, and other hands are hidden. Without a viewer, all hands are
    shown and seat 0 is at the bottom.

    If the hand is shown, cards that can be played, and their cells, have a yellow edge. The card that was played last
    has a frame, and a stroke goes through a winning line.
    """
    playable, cells = _choices(state, viewer)
    parts = [_seat(state, player, viewer, playable) for player in range(len(state["identity"]))]
    parts += [_cell(state, cell, cell in cells) for cell in range(CELLS)]
    for row in winning_rows(state):
        first, last = cell_box(row[0]), cell_box(row[-1])
        x, y = CARD_WIDTH / 2, CARD_HEIGHT / 2
        parts.append(struck(first.x + x, first.y + y, last.x + x, last.y + y))
    parts.append(_heap("discards", state["discard"], HEAPS_TOP))
    parts.append(_heap("covered", state["covered"], HEAPS_TOP + HEAP))
    return picture(_caption(state, viewer), HEIGHT, parts)


def spots(state: Any, viewer: int | None = None) -> dict[str, Box]:
    """Return the clickable spots: cells, such as "cell E"; the mover's cards, if visible; and the other seats.

    Equal cards share one spot, such as "hand red X"; see `Faces.spots`.
    """
    boxes = {f"cell {name}": cell_box(cell) for cell, name in enumerate(CELL_NAMES)}
    mover = int(state["to_move"])
    if state["done"] or viewer not in (None, mover):
        return boxes
    names = kind_names(flip_of(state) // 2)
    for player in range(len(state["identity"])):
        seat = places(state, player, viewer)
        if player != mover:
            boxes[f"seat {player}"] = seat.identity
            continue
        for k, (kind, box) in enumerate(zip(seat.kinds, seat.places, strict=True)):
            if k + 1 < len(seat.places):  # only the part that the next card does not overlap
                after = seat.places[k + 1]
                width = min(after.x - box.x, box.width) if after.x > box.x else box.width
                height = min(after.y - box.y, box.height) if after.y > box.y else box.height
                box = Box(box.x, box.y, width, height)
            name = f"hand {names[kind]}"
            first = boxes.get(name, box)
            boxes[name] = Box(first.x, first.y, box.x + box.width - first.x, box.y + box.height - first.y)
    return boxes


def clicks(state: Any, action: int) -> tuple[str, ...]:
    """Return the spots to click for an action: a card in the hand, then a cell, or a seat for a Wipe-Out."""
    flip, players = flip_of(state), len(state["identity"])
    names = [f"hand {name}" for name in kind_names(flip // 2)]
    if action < CELLS * flip:
        return names[action // CELLS], f"cell {CELL_NAMES[action % CELLS]}"
    if action == CELLS * flip:
        return (names[flip],)
    if action < CELLS * flip + players:
        return names[flip + 1], f"seat {(int(state['to_move']) + int(action) - CELLS * flip) % players}"
    return (names[flip + 2],)


def _choices(state: Any, viewer: int | None) -> tuple[set[int], set[int]]:
    """Return the cards that can be played now and their cells; nothing if the viewer does not see the hand."""
    mover, flip, players = int(state["to_move"]), int(flip_of(state)), len(state["identity"])
    if state["done"] or viewer not in (None, mover):
        return set(), set()
    legal = np.zeros(num_actions(players, flip // 2), np.bool_)
    legal_mask(state, mover, legal)
    actions = np.flatnonzero(legal)
    symbols = actions[actions < CELLS * flip]
    playable = {int(action) // CELLS for action in symbols}
    playable |= {flip + (action > CELLS * flip) + (action == len(legal) - 1) for action in actions[len(symbols) :]}
    return playable, {int(action) % CELLS for action in symbols}


def _caption(state: Any, viewer: int | None) -> Caption:
    names = kind_names(flip_of(state) // 2)
    played = state["last_action"] != NONE
    mine = not state["done"] and viewer == state["to_move"]
    seen = "" if mine or viewer is None else f"seen by seat {viewer}, "
    fact = f"{seen}{state['pile'].sum()} cards in the pile"
    last = f"seat {last_play(state)}" if played else ""
    if not state["done"]:
        mover = int(state["to_move"])
        kind = int(state["identity"][mover]) + 1
        note = f"three {SYMBOLS[kind - 1]} of one colour in a row win"
        if state["pending"]:
            note = headline(state).partition(", ")[2]
        return Caption(
            "Tic-Tac Match",
            f"you (seat {mover}) are {SYMBOLS[kind - 1]}" if mine else f"seat {mover} plays for {SYMBOLS[kind - 1]}",
            note=note,
            fact=fact,
            last=last,
            **turn_chips([kind]),
        )
    winners = np.flatnonzero(state["rewards"] > 0)
    if not len(winners):
        return Caption("Tic-Tac Match", "draw", note=headline(state).partition(", ")[2], fact=fact, last=last)
    kind = int(state["identity"][winners[0]]) + 1
    seats = f"seat{'s' if len(winners) > 1 else ''} {' and '.join(map(str, winners))}"
    rows, how = winning_rows(state), "by forfeit"
    if rows:
        cells = " and ".join(" ".join(CELL_NAMES[cell] for cell in row) for row in rows)
        how = f"three {names[state['top'][rows[0][0]]]} on {cells}"
    return Caption(
        "Tic-Tac Match", f"{SYMBOLS[kind - 1]} wins: {seats}", note=how, fact=fact, last=last, **turn_chips([kind])
    )


# --- the hands ---


def places(state: Any, player: int, viewer: int | None) -> _Seat:
    """Return where a player's cards lie: the viewer's at the bottom, the others' clockwise from there."""
    players = len(state["identity"])
    turn = (player - (viewer or 0)) % players
    side = turn if players == 4 else 2 * turn
    kinds = [kind for kind, n in enumerate(state["hand"][player]) for _ in range(n)]
    gaps = max(len(kinds) - 1, 1)
    if side % 2 == 0:
        top, left = OWN_TOP if side == 0 else HAND_TOP, MARGIN + _ID + 28
        step = min(CARD_WIDTH + GAP, (WIDTH - MARGIN - 4 - left - CARD_WIDTH) / gaps)
        places = [Box(left + step * k, top, CARD_WIDTH, CARD_HEIGHT) for k in range(len(kinds))]
        return _Seat(kinds, places, Box(MARGIN + 4, top + 28, _ID, _ID))
    left = MARGIN + 12 if side == 1 else WIDTH - MARGIN - 12 - _SMALL_WIDTH
    first, low = BOARD_TOP + 80, OWN_TOP - SPACE - _SMALL_HEIGHT
    step = min(42.0, (low - first) / gaps)
    places = [Box(left, first + step * k, _SMALL_WIDTH, _SMALL_HEIGHT) for k in range(len(kinds))]
    return _Seat(kinds, places, Box(left + 2, BOARD_TOP + 22, _ID, _ID))


def _seat(state: Any, player: int, viewer: int | None, playable: set[int]) -> str:
    seat, plays = places(state, player, viewer), not state["done"] and state["to_move"] == player
    box = seat.identity
    name = f"seat {player}"
    middle = box.x + box.width / 2
    parts = [text(name, middle, box.y - 9, LABEL, INK if plays else SOFT, "middle")]
    if not plays and flip_of(state) + 1 in playable:  # a hand that can be wiped out
        parts.append(_edged(box))
    parts.append(rect(box, VIOLET, corner=9))
    parts.append(mark(int(state["identity"][player]) + 1, middle, box.y + box.height / 2, 14, 7, LIGHT))
    for kind, place in zip(seat.kinds, seat.places, strict=True):
        if viewer not in (None, player):
            parts.append(_back(place))
            continue
        if plays and kind in playable:
            parts.append(_edged(place))
        parts.append(_face(kind, flip_of(state), place))
    return "".join(parts)


def _edged(box: Box) -> str:
    return rect(Box(box.x - 5, box.y - 5, box.width + 10, box.height + 10), OPEN, INK, 1.5, 11)


# --- the board and the heaps ---


def cell_box(cell: int) -> Box:
    left = BOARD_LEFT + (cell % 3) * (CARD_WIDTH + GAP)
    return Box(left, BOARD_TOP + (cell // 3) * (CARD_HEIGHT + GAP), CARD_WIDTH, CARD_HEIGHT)


def _cell(state: Any, cell: int, open_here: bool) -> str:
    box, kind, name = cell_box(cell), int(state["top"][cell]), CELL_NAMES[cell]
    last = state["last_action"]
    played_here = NONE < last < CELLS * flip_of(state) and last % CELLS == cell
    if kind == NOTHING:
        middle = box.x + box.width / 2
        low = box.y + box.height / 2 + 9
        if open_here:
            return rect(box, OPEN) + lit(text(name, middle, low, HEADLINE, INK, "middle"))
        return rect(box, PANEL) + text(name, middle, low, HEADLINE, SOFT, "middle")
    around = Box(box.x - 5, box.y - 5, box.width + 10, box.height + 10)
    parts = [_edged(box)] if open_here else []
    frame = framed(around, 11, 4) if played_here else ""
    parts.append(lit(frame) if open_here else frame)
    parts.append(_face(kind, flip_of(state), box))
    parts.append(text(name, box.x + box.width - 7, box.y + box.height - 7, LABEL, _sign_on(kind), "end"))
    return "".join(parts)


def _heap(name: str, heap: Any, top: float) -> str:
    """Draw a heap as a row of small cards, with the number of cards of each kind."""
    kinds = [kind for kind in range(len(heap)) if heap[kind]]
    parts = [text(f"{name}: {heap.sum() or 'none'}", MARGIN, top + 14, LABEL, SOFT)]
    step = min(INNER / max(len(kinds), 1), 56.0)
    for k, kind in enumerate(kinds):
        box = Box(MARGIN + step * k, top + 20, 23, 26)
        parts.append(_face(kind, len(heap) - 3, box))
        parts.append(text(str(heap[kind]), box.x + box.width + 3, box.y + 19, NOTE, INK))
    return "".join(parts)


# --- cards ---


def _sign_on(kind: int) -> str:
    return SIGNS[kind // 2]


def _face(kind: int, flip: int, box: Box) -> str:
    scale = min(box.width / _WIDTH, box.height / _HEIGHT)
    ground = GROUNDS[kind // 2] if kind < flip else CARD
    card = rect(box, ground, INK, 1.2, 8 * scale)
    if kind < flip:
        x, y = box.x + box.width / 2, box.y + box.height / 2
        symbol = mark(kind % 2 + 1, x, y, 17 * scale, 9 * scale, _sign_on(kind))
        corner = emblem(kind // 2, box.x + 12 * scale, box.y + 13 * scale, 7 * scale, _sign_on(kind))
        return card + symbol + corner
    named, words = box.width >= _NAMED, _NAMES[kind - flip]
    x, y = box.x + box.width / 2, box.y + (0.5, 0.4, 0.33)[len(words) if named else 0] * box.height
    parts = [card, (_flip_icon, _wipe_out_icon, _double_play_icon)[kind - flip](x, y, scale)]
    if named:
        low = box.y + box.height - 9
        for row, word in enumerate(words):
            at = low - 14 * (len(words) - 1 - row)
            parts.append(text(word, x, at, LABEL, VIOLET, "middle", room=box.width - 6))
    return "".join(parts)


def _back(box: Box) -> str:
    inner = Box(box.x + 6, box.y + 6, box.width - 12, box.height - 12)
    x, y, r = box.x + box.width / 2, box.y + box.height / 2, 0.13 * box.width
    return (
        rect(box, BACK, INK, 1.2, 8)
        + rect(inner, "none", LIGHT, 1.5, 5)
        + mark(1, x - r, y - r, 0.8 * r, 0.5 * r, LIGHT)
        + mark(2, x + r, y + r, 0.8 * r, 0.5 * r, LIGHT)
    )


def _stroke(width: float) -> str:
    return f'fill="none" stroke="{VIOLET}" stroke-width="{width:.3g}" stroke-linecap="round" stroke-linejoin="round"'


def _flip_icon(x: float, y: float, scale: float) -> str:
    return (
        f'<path transform="translate({x:g} {y:g})scale({scale:.4g})" {_stroke(5)} '
        'd="M-17 -4A18 18 0 0 1 15 -9M15 -19V-8H4M17 4A18 18 0 0 1 -15 9M-15 19V8H-4"/>'
    )


def _wipe_out_icon(x: float, y: float, scale: float) -> str:
    fan = "".join(
        f'<rect x="-10" y="-20" width="20" height="30" rx="3" fill="{CARD}" stroke="{VIOLET}" stroke-width="3" '
        f'transform="rotate({tilt} 0 22)"/>'
        for tilt in (-32, 0, 32)
    )
    return (
        f'<g transform="translate({x:g} {y + 2 * scale:g})scale({scale:.4g})">{fan}'
        f'<path d="M-26 15L26 -23" {_stroke(6)}/></g>'
    )


def _double_play_icon(x: float, y: float, scale: float) -> str:
    pair = "".join(
        f'<rect x="{-13 + shift}" y="{-19 + 0.5 * shift:g}" width="25" height="34" rx="3" fill="{CARD}" '
        f'stroke="{VIOLET}" stroke-width="3.5"/>'
        for shift in (-9, 9)
    )
    return (
        f'<g transform="translate({x:g} {y + 2 * scale:g})scale({scale:.4g})">{pair}'
        f'<path d="M3 3H16M9.5 -3.5V9.5" {_stroke(4)}/></g>'
    )
