"""Draw Operation Tic-Tac-Toe as SVG: the rooms and their pieces, the last turn, and both players' specialists."""

from collections.abc import Iterable
from typing import Any

import numpy as np

from ttt_envs.core.lines import lines
from ttt_envs.core.presentation import Box
from ttt_envs.drawing.frame import (
    FOOT,
    GRID,
    INK,
    INNER,
    LABEL,
    MARGIN,
    MARK_COLOURS,
    NOTE,
    OPEN,
    PANEL,
    PAPER,
    SIGN,
    SOFT,
    TOP,
    WIDTH,
    Caption,
    button,
    chip,
    disc,
    framed,
    line,
    picture,
    rect,
    struck,
    turn_chips,
)
from ttt_envs.drawing.lettering import text, width_of
from ttt_envs.drawing.theme import COLOURS, lit
from ttt_envs.games.operation_tic_tac_toe import rules
from ttt_envs.games.operation_tic_tac_toe.manual import ENDINGS
from ttt_envs.games.operation_tic_tac_toe.rules import (
    ABILITY,
    EMPTY,
    IN_HAND,
    KIND_NAMES,
    NOBODY,
    NONE,
    OFFERED,
    PAIRS,
    PICK,
    ROLE,
    ROOMS,
    SPECIALIST_PAIRS,
    SPECIALISTS,
    SPY,
    TURN,
    USED,
    kind_of,
    owner_of,
)
from ttt_envs.games.operation_tic_tac_toe.text import (
    ACTIONS,
    MARKS,
    ROOM_NAMES,
    SPECIALIST_NAMES,
    head,
    is_round_over,
    last_placer,
    last_turn,
)

ROOM, WALL = 98, 6
HOUSE = 3 * ROOM + 4 * WALL
LEFT = (WIDTH - HOUSE) / 2
BELOW = TOP + HOUSE + 8  # the count of idle turns, and buttons
BANDS = BELOW + 54  # both players' specialists
BAND_HEAD, TILE_HEIGHT = 36, 38
TILE_WIDTH = INNER / 4
BUTTON_WIDTH, BUTTON_HEIGHT = 122, 40

DARK = COLOURS["dark"][0]

# SVG of the white sign of each kind; all coordinates are within 24 units of the middle of its disc or card.
_STROKE = f'fill="none" stroke="{SIGN}" stroke-width="3" stroke-linecap="round" stroke-linejoin="round"'
_FILL = f'fill="{SIGN}"'
_SIGNS = (
    # A hat over a turned-up collar.
    f'<path d="M-15 -3 H15 V1 H-15 Z M-9 -4 L-7 -14 Q0 -17 7 -14 L9 -4 Z" {_FILL}/>'
    f'<path d="M-8 3 A8 8 0 0 0 8 3 Z M-13 17 L-9 9 L0 14 L9 9 L13 17 Z" {_FILL}/>',
    # Cross-hairs.
    '<path d="M0 -17 V-5 M0 5 V17 M-17 0 H-5 M5 0 H17 M-10 0 A10 10 0 0 0 10 0 A10 10 0 0 0 -10 0 M0 0 H0.1" '
    f"{_STROKE}/>",
    # A throwing star.
    f'<path d="M0 -17 L4.5 -4.5 L17 0 L4.5 4.5 L0 17 L-4.5 4.5 L-17 0 L-4.5 -4.5 Z" {_FILL} transform="rotate(20)"/>',
    # A dagger, point down.
    f'<path d="M-4 -3 H4 L3 10 L0 18 L-3 10 Z M-10 -7 H10 V-3 H-10 Z M-2.5 -17 H2.5 V-7 H-2.5 Z" {_FILL}/>',
    # A letter.
    f'<path d="M-15 -10 H15 V10 H-15 Z M-15 -10 L0 3 L15 -10" {_STROKE}/>',
    # A mole that looks out of its hill.
    f'<path d="M-18 15 Q-11 4 -8 4 Q-9 -15 0 -15 Q9 -15 8 4 Q11 4 18 15 Z" {_FILL}/>'
    '<path d="M-5.1 -7a1.7 1.7 0 0 1 3.4 0a1.7 1.7 0 0 1-3.4 0zm6.8 0a1.7 1.7 0 0 1 3.4 0a1.7 1.7 0 0 1-3.4 0z'
    'm-4.9 5.5a3.2 2.2 0 0 1 6.4 0a3.2 2.2 0 0 1-6.4 0zM-9 5H9V7H-9z" fill="{colour}"/>',
    # A crate that is pushed on.
    f'<path d="M3 -9 H17 V9 H3 Z" {_FILL}/><path d="M-17 0 H-3 M-9 -6 L-3 0 L-9 6" {_STROKE}/>',
    # A hook on a rope.
    f'<circle cy="-13" r="3.5" {_STROKE}/><path d="M0 -9 V13 M-11 3 Q-11 14 0 14 Q11 14 11 3 M-15 6 L-11 1 L-7 6" '
    f'{_STROKE}/><path d="M15 6 L11 1 L7 6" {_STROKE}/>',
    # A screen with a prompt.
    f'<path d="M-14 -13 H14 V8 H-14 Z M-18 14 H18 M-8 -7 L-3 -2.5 L-8 2 M0 3 H7" {_STROKE}/>',
)


def draw(state: Any, viewer: int | None = None) -> str:
    """Return the picture as SVG text, the same for every viewer, except that the viewer's present choices are yellow.

    Without a viewer, everything that a player can place, choose or use now is yellow. The room of the last placement
    has a frame; predicted rooms have cross-hairs.
    """
    open_now = _lit(state, viewer)
    if is_pick(state):
        parts = [_candidate(state, specialist, open_now) for specialist in range(SPECIALISTS)]
    else:
        ground = Box(LEFT, TOP, HOUSE, HOUSE)
        parts = [rect(ground, GRID, corner=4), *(_room(state, room, open_now) for room in range(ROOMS))]
        parts += [_last_turn(state), _rows(state)]
    parts += [_idle(state), *(button(box, name) for name, box in _buttons(state) if name in open_now)]
    parts += [_band(state, player, open_now) for player in (0, 1)]
    return picture(_caption(state), BANDS + 2 * _band_height(state) + FOOT, parts)


# --- what can be clicked ---


def spots(state: Any, viewer: int | None = None) -> dict[str, Box]:
    """Return the clickable spots: rooms, such as "room E", or specialists on offer; the Placer's specialists; buttons.

    See `Faces.spots`.
    """
    if is_pick(state):
        boxes = {f"choose {name}": room_box(k) for k, name in enumerate(SPECIALIST_NAMES)}
    else:
        boxes = {f"room {name}": room_box(room) for room, name in enumerate(ROOM_NAMES)}
    if _is_turn(state):
        placer = int(state["placer"])
        for specialist in np.flatnonzero(state["standing"][placer] == IN_HAND):
            boxes[f"specialist {SPECIALIST_NAMES[specialist]}"] = tile(state, placer, int(specialist))
    return boxes | dict(_buttons(state))


def clicks(state: Any, action: int) -> tuple[str, ...]:
    """Return the spots to click for an action: a room, two rooms, a specialist and a room, one or two offers, or a
    button.

    See `Faces.clicks`.
    """
    if action < rules.PREDICT:
        kind, room = divmod(int(action), ROOMS)
        place = f"room {ROOM_NAMES[room]}"
        return (place,) if kind == SPY else (f"specialist {KIND_NAMES[kind]}", place)
    if rules.CHOOSE <= action < rules.PASS:
        pair = SPECIALIST_PAIRS[action - rules.CHOOSE_TWO] if action >= rules.CHOOSE_TWO else [action - rules.CHOOSE]
        return tuple(f"choose {SPECIALIST_NAMES[specialist]}" for specialist in pair)
    if action >= rules.NO_ABILITY:
        return (ACTIONS[action],)
    return tuple(f"room {ROOM_NAMES[room]}" for room in _rooms_of(state, int(action)))


def _rooms_of(state: Any, action: int) -> list[int]:
    if action >= rules.PUSH:
        return [int(rules.NEXT[state["pending"], action - rules.PUSH])]
    if action >= rules.GRAPPLE:
        return [action - rules.GRAPPLE]
    if action >= rules.SWAP:
        return PAIRS[action - rules.SWAP].tolist()
    if action >= rules.MOVE:
        return [action - rules.MOVE]
    if action >= rules.REMOVE:
        return [action - rules.REMOVE]
    if action >= rules.PREDICT_TWO:
        return PAIRS[action - rules.PREDICT_TWO].tolist()
    return [action - rules.PREDICT]


def is_pick(state: Any) -> bool:
    """Return whether the specialists on offer are drawn instead of the rooms, which are still empty."""
    return bool(state["phase"] == PICK and not state["done"])


def _is_turn(state: Any) -> bool:
    return bool(state["phase"] == TURN and not state["done"] and not is_round_over(state))


def _buttons(state: Any) -> list[tuple[str, Box]]:
    """Return the names and places of the buttons, for actions without a room or a specialist."""
    actions = []
    if state["phase"] == ROLE:
        actions = [rules.PLACE_FIRST, rules.PREDICT_FIRST]
    elif state["phase"] == ABILITY:
        actions = [rules.NO_ABILITY] if rules.OPTIONAL[kind_of(state["board"][state["pending"]])] else []
    elif _is_turn(state):
        if state["allow_pass"] or not any(rules.placements(state, state["placer"])):
            actions.append(rules.PASS)
        if state["draw_offers"]:
            actions.append(rules.OFFER_DRAW)
    left = WIDTH - MARGIN - len(actions) * (BUTTON_WIDTH + 8) + 8
    return [
        (ACTIONS[action], Box(left + k * (BUTTON_WIDTH + 8), BELOW, BUTTON_WIDTH, BUTTON_HEIGHT))
        for k, action in enumerate(() if state["done"] else actions)
    ]


# --- the caption ---


def _last_round(state: Any) -> str:
    if state["ended"] in (rules.LINE_OF_X, rules.LINE_OF_O):
        return f"{MARKS[state['ended'] - rules.LINE_OF_X]} won the last round"
    return f"the last round was drawn: {ENDINGS[state['ended']]}"


def _caption(state: Any) -> Caption:
    words, title = head(state), "Operation Tic-Tac-Toe"
    fact = f"round {int(state['round'])}, {int(state['rounds_to_win'])} to win" if state["is_match"] else ""
    last = last_turn(state) if (state["last"] != NONE).all() else ""
    before = _last_round(state) if state["ended"] else ""
    if state["done"] or is_round_over(state):
        winners = np.flatnonzero(state["rewards"] > 0).tolist()
        if not state["done"]:
            winners = [k for k in (0, 1) if state["ended"] == rules.LINE_OF_X + k]
        headline, _, note = words.removeprefix("over: ").partition(", ")
        if headline.endswith(" by forfeit"):
            headline, note = headline.removesuffix(" by forfeit"), "by forfeit"
        elif state["done"] and state["ended"]:
            note = ENDINGS[state["ended"]]
        chips = turn_chips([k + 1 for k in winners])
        return Caption(title, headline, note=note, fact=fact, last=last, **chips)
    if state["phase"] == ROLE:
        note = before or "the other one predicts first"
    elif state["phase"] == PICK:
        note = before or "those with their mark are offered to them"
    elif state["phase"] == ABILITY:
        piece = int(state["board"][state["pending"]])
        note = f"the {KIND_NAMES[kind_of(piece)]} stands there: a yellow room"
        note += ", or no ability" if rules.OPTIONAL[kind_of(piece)] else ""
        if rules.SWAP <= rules.ABILITY_ACTION[kind_of(piece)] < rules.GRAPPLE:
            note = "the mole stands there: two rooms to be swapped"
    else:
        placer, other = MARKS[state["placer"]], MARKS[1 - state["placer"]]
        guess = "two rooms" if state["hacker_on"][1 - state["placer"]] else "any room"
        note = f"{placer}: a room, or specialist and room; {other}: {guess}"
    movers = [int(state["to_move"])] if state["phase"] in (ROLE, ABILITY) else [0, 1]
    if state["phase"] == TURN:
        movers = [int(state["placer"]), 1 - int(state["placer"])]
    return Caption(title, words, note=note, fact=fact, last=last, **turn_chips([k + 1 for k in movers]))


# --- the house ---


def _centre(room: int) -> tuple[float, float]:
    row, column = divmod(int(room), 3)
    return LEFT + WALL + (ROOM + WALL) * column + ROOM / 2, TOP + WALL + (ROOM + WALL) * row + ROOM / 2


def room_box(room: int) -> Box:
    x, y = _centre(room)
    return Box(x - ROOM / 2, y - ROOM / 2, ROOM, ROOM)


def _lit(state: Any, viewer: int | None) -> set[str]:
    """Return the spots that the viewer (without one: the Placer, or any acting player) can choose now."""
    if state["done"] or is_round_over(state):
        return set()
    legal, open_now = np.zeros(rules.NUM_ACTIONS, np.bool_), set()
    for player in [viewer] if viewer is not None else [int(state["placer"])] if _is_turn(state) else [0, 1]:
        rules.legal_mask(state, player, legal)
        open_now |= {name for action in np.flatnonzero(legal) for name in clicks(state, int(action))}
    return open_now


def _room(state: Any, room: int, open_now: set[str]) -> str:
    (x, y), box, piece = _centre(room), room_box(room), int(state["board"][room])
    parts = [
        rect(box, OPEN if f"room {ROOM_NAMES[room]}" in open_now else PANEL, corner=3),
        text(ROOM_NAMES[room], box.x + 8, box.y + 22, NOTE, INK),
    ]
    if piece != EMPTY:
        parts.append(_piece(int(owner_of(piece)), int(kind_of(piece)), x, y + 6, 1.35))
    placed = [int(action) % ROOMS for action in state["last"] if rules.PLACE <= action < rules.PREDICT]
    if room in placed or room == state["pending"]:
        parts.append(framed(box, 3, 5))
    return "".join([parts[0], *map(lit, parts[1:])] if f"room {ROOM_NAMES[room]}" in open_now else parts)


def _piece(player: int, kind: int, x: float, y: float, scale: float, fill: str = "") -> str:
    """Return SVG of a piece: a square for X, a disc for O; a specialist has a dark edge."""
    colour = fill or MARK_COLOURS[player + 1]
    edge = f' stroke="{INK}" stroke-width="3"' if kind != SPY else ""
    ground = f'<circle r="25" fill="{colour}"{edge}/>'
    if player == 0:
        ground = f'<rect x="-23.5" y="-23.5" width="47" height="47" rx="7" fill="{colour}"{edge}/>'
    return f'<g transform="translate({x:g} {y:g})scale({scale:g})">{ground}{_sign(kind, SIGN, colour)}</g>'


def _sign(kind: int, colour: str, ground: str) -> str:
    return _SIGNS[kind].replace(SIGN, colour).replace("{colour}", ground)


def _candidate(state: Any, specialist: int, open_now: set[str]) -> str:
    """Return SVG of a specialist on offer, with the marks of the players who may choose it."""
    (x, y), box = _centre(specialist), room_box(specialist)
    who = [player for player in (0, 1) if rules.is_overtime(state) or state["standing"][player, specialist] == OFFERED]
    parts = [
        rect(box, OPEN if f"choose {SPECIALIST_NAMES[specialist]}" in open_now else PANEL, corner=6),
        _piece(0, specialist + 1, x, y - 4, 0.95, DARK),
        text(SPECIALIST_NAMES[specialist], x, y + ROOM / 2 - 8, NOTE, INK, "middle"),
    ]
    for player in who:
        parts.append(chip(player + 1, box.x + 15 if player == 0 else box.x + ROOM - 15, box.y + 15, 11))
    return "".join([parts[0], *map(lit, parts[1:])] if f"choose {SPECIALIST_NAMES[specialist]}" in open_now else parts)


# --- the last turn ---


def _last_turn(state: Any) -> str:
    """Return SVG of the last turn: cross-hairs on predicted rooms, the word "blocked", arrows of the ability."""
    if (state["last"] == NONE).any():
        return ""
    placer = last_placer(state)
    placement, prediction = int(state["last"][placer]), int(state["last"][1 - placer])
    room, parts = placement % ROOMS, []
    expected = int(rules.PREDICTED[prediction])
    if placement < rules.PREDICT:
        x, y = _centre(room)
        if expected >> room & 1:
            parts.append(_stamp("blocked", x, y + 14, MARK_COLOURS[2 - placer]))
        parts.append(_way(state, room))
    for each in range(ROOMS):
        if expected >> each & 1:
            parts.append(_cross_hairs(each, MARK_COLOURS[2 - placer]))
    return "".join(parts)


def _cross_hairs(room: int, colour: str) -> str:
    box = room_box(room)
    x, y = box.x + ROOM - 19, box.y + 19
    return disc(x, y, 15, PAPER) + (
        f'<path d="M{x - 13:g} {y:g}h8m10 0h8M{x:g} {y - 13:g}v8m0 10v8M{x - 8:g} {y:g}a8 8 0 0 0 16 0a8 8 0 0 0-16 0" '
        f'fill="none" stroke="{colour}" stroke-width="3"/>'
    )


def _stamp(words: str, x: float, y: float, colour: str) -> str:
    half = width_of(words, NOTE) / 2 + 8
    return rect(Box(x - half, y - 14, 2 * half, 28), PAPER, colour, 3) + text(words, x, y + 6, NOTE, colour, "middle")


def _way(state: Any, room: int) -> str:
    """Return SVG arrows for what the ability of the piece that was placed in the room has done."""
    action = int(state["last_ability"])
    if action in (NONE, rules.NO_ABILITY):
        return ""
    if action >= rules.PUSH:
        return _arrow(room, int(rules.NEXT[room, action - rules.PUSH]))
    if action >= rules.GRAPPLE:
        return _arrow(room, action - rules.GRAPPLE) + _arrow(action - rules.GRAPPLE, room)
    if action >= rules.SWAP:
        a, b = PAIRS[action - rules.SWAP]
        return _arrow(a, b) + _arrow(b, a)
    if action >= rules.MOVE:
        return _arrow(room, action - rules.MOVE)
    target = action - rules.REMOVE
    x, y = _centre(target)
    removed = f"M{x - 20:g} {y - 14:g}l40 40m0-40l-40 40"
    return _arrow(room, target) + _edged(removed, 7)


def _arrow(start: int, end: int) -> str:
    (x1, y1), (x2, y2) = _centre(start), _centre(end)
    along = np.array([x2 - x1, y2 - y1]) / np.hypot(x2 - x1, y2 - y1)
    across = np.array([-along[1], along[0]])
    tail = np.array([x1, y1]) + 34 * along + 9 * across
    tip = np.array([x2, y2]) - 34 * along + 9 * across
    neck = tip - 15 * along
    corners = [f"{p[0]:.1f} {p[1]:.1f}" for p in (tip, neck + 7 * across, neck - 7 * across)]
    shaft = f"M{tail[0]:.1f} {tail[1]:.1f}L{neck[0]:.1f} {neck[1]:.1f}"
    return _edged(f"{shaft}M{corners[0]}L{corners[1]}L{corners[2]}z", 6)


def _edged(way: str, width: float) -> str:
    """Return SVG of a path as a dark stroke with a light edge."""
    ends = 'stroke-linecap="round" stroke-linejoin="round"'
    return (
        f'<path d="{way}" fill="none" stroke="{PAPER}" stroke-width="{width + 6:g}" {ends}/>'
        f'<path d="{way}" fill="{INK}" stroke="{INK}" stroke-width="{width:g}" {ends}/>'
    )


def _rows(state: Any) -> str:
    """Return SVG strokes through each row of three; "" until the game or the round is over."""
    if not (state["done"] or is_round_over(state)):
        return ""
    parts = []
    owners = np.where(state["board"] == EMPTY, NOBODY, owner_of(state["board"].astype(np.int64)))
    for row in lines(3, 3, 3):
        if owners[row[0]] != NOBODY and (owners[row] == owners[row[0]]).all():
            (x1, y1), (x2, y2) = _centre(row[0]), _centre(row[2])
            parts.append(struck(x1, y1 + 6, x2, y2 + 6))
    return "".join(parts)


# --- below the house ---


def _idle(state: Any) -> str:
    most, idle, width = int(state["max_idle_turns"]), int(state["idle"]), 180
    words = f"idle turns: {idle} of {most}"
    parts = [text(words, MARGIN, BELOW + 15, LABEL, INK), rect(Box(MARGIN, BELOW + 24, width, 12), PANEL, SOFT, 1.5, 3)]
    if idle:
        parts.append(rect(Box(MARGIN, BELOW + 24, width * idle / most, 12), INK, corner=3))
    return "".join(parts)


def shown_specialists(state: Any, player: int) -> dict[int, bool]:
    """Return the specialists to list, each with whether it is in a room: all in a match, else the player's own."""
    on_board = {int(kind_of(piece)) - 1 for piece in state["board"] if piece and owner_of(piece) == player}
    found: Iterable[int] = range(SPECIALISTS)
    if not state["is_match"]:
        found = [k for k in found if state["standing"][player, k] != USED or k in on_board]
    return {k: k in on_board for k in found}


def tile(state: Any, player: int, specialist: int) -> Box:
    """Return the place of a specialist's card; in a single round, the cards stand in the line of the player's mark."""
    top = BANDS + player * _band_height(state)
    if state["is_match"]:
        row, column = divmod(specialist, 4)
        top += BAND_HEAD + row * TILE_HEIGHT
    else:
        column, top = 3 - list(shown_specialists(state, player)).index(specialist), top + 8
    return Box(MARGIN + column * TILE_WIDTH, top, TILE_WIDTH - 4, TILE_HEIGHT - 4)


def _band_height(state: Any) -> float:
    return BAND_HEAD + 8 + 2 * TILE_HEIGHT if state["is_match"] else BAND_HEAD + 14


def _band(state: Any, player: int, open_now: set[str]) -> str:
    """Return SVG of a player's mark, role in this turn, wins and specialists."""
    y = BANDS + player * _band_height(state) + (24 if state["is_match"] else 30)
    parts = [
        line(
            MARGIN,
            BANDS + player * _band_height(state) + 2,
            WIDTH - MARGIN,
            BANDS + player * _band_height(state) + 2,
            GRID,
            1.5,
        ),
        chip(player + 1, MARGIN + 12, y - 6, 12),
        text(f"{MARKS[player]} {_part(state, player)}", MARGIN + 32, y, NOTE, INK),
    ]
    if state["is_match"]:
        wins = int(state["wins"][player])
        words = f"{wins} {'win' if wins == 1 else 'wins'}, {int(state['rounds_to_win'])} needed"
        parts.append(text(words, WIDTH - MARGIN, y, NOTE, INK, "end"))
    for specialist, on_board in shown_specialists(state, player).items():
        parts.append(_specialist(state, player, specialist, on_board, open_now))
    return "".join(parts)


def _part(state: Any, player: int) -> str:
    if state["done"]:
        return "wins" if state["rewards"][player] > 0 else "loses" if state["rewards"].any() else "draws"
    if is_round_over(state):
        winner = state["ended"] - rules.LINE_OF_X
        return "draws" if winner not in (0, 1) else "wins" if winner == player else "loses"
    if state["phase"] == ROLE:
        return "decides" if state["to_move"] == player else "waits"
    if state["phase"] in (TURN, ABILITY):
        if state["placer"] == player:
            return "places"
        return "predicts two rooms" if state["hacker_on"][player] else "predicts"
    return "chooses"


def _specialist(state: Any, player: int, specialist: int, on_board: bool, open_now: set[str]) -> str:
    """Return SVG of a specialist: in the player's colour if in hand or offered, dark if unused, struck out if used up.

    It is yellow if it can be placed now, and has a frame while it is in a room.
    """
    box, standing = tile(state, player, specialist), int(state["standing"][player, specialist])
    x, y, name = box.x + 19, box.y + box.height / 2, KIND_NAMES[specialist + 1]
    own = standing in (IN_HAND, OFFERED) or on_board
    chosen = player == state["placer"] and f"specialist {SPECIALIST_NAMES[specialist]}" in open_now
    parts = [rect(box, OPEN if chosen else PANEL, *((INK, 2) if on_board else ()))]
    if standing == USED and not on_board:
        sign = _sign(specialist + 1, SOFT, PANEL)
        parts.append(f'<g transform="translate({x:g} {y:g})scale(0.6)">{sign}</g>')
    else:
        parts.append(_piece(player, specialist + 1, x, y, 0.54, "" if own else DARK))
    if specialist == rules.HACKER - 1 and state["hacker_on"][player]:
        name = "hacker on"
    used = standing == USED and not on_board
    left, room = box.x + 38, box.width - 42
    parts.append(text(name, left, y + 5, LABEL, SOFT if used else INK, room=room))
    if used:
        parts.append(line(left - 2, y, left + min(width_of(name, LABEL), room) + 2, y, SOFT, 2))
    return "".join([parts[0], *map(lit, parts[1:])] if chosen else parts)
