"""The house of Operation Tic-Tac-Toe as SVG: the rooms and who is in them, both players' specialists, the last turn."""

from typing import Any

import numpy as np

from ttt_envs.core.lines import lines
from ttt_envs.games.operation_tic_tac_toe import rules
from ttt_envs.games.operation_tic_tac_toe.rules import (
    ABILITY,
    EMPTY,
    IN_HAND,
    KIND_NAMES,
    NOBODY,
    NONE,
    OFFERED,
    PAIRS,
    ROLE,
    ROOMS,
    SPECIALISTS,
    SPY,
    TURN,
    UNUSED,
    USED,
    kind_of,
    owner_of,
)
from ttt_envs.games.operation_tic_tac_toe.text import (
    ENDS,
    MARKS,
    ROOM_NAMES,
    head,
    is_round_over,
    last_placer,
    last_turn,
)

ROOM, WALL, PANEL, MARGIN, HEAD, ROOF, FOOT = 106, 8, 138, 14, 54, 40, 88
HOUSE = 3 * ROOM + 4 * WALL
WIDTH, HEIGHT = 2 * PANEL + HOUSE + 4 * MARGIN, HEAD + ROOF + HOUSE + FOOT
LEFT, TOP = PANEL + 2 * MARGIN, HEAD + ROOF

COLOURS = ("#c8402f", "#2467b0")
NIGHT, STONE, TILES, FLOOR, LIT, CARD = "#1f2733", "#6b6257", "#8a4b3c", "#efe7d6", "#ffe48a", "#2b3545"
INK, FAINT, WHITE, GOLD, DARK = "#2c2b28", "#8d96a3", "#ffffff", "#ffd257", "#566377"

# Each kind's sign in white, on a disc or card that reaches 24 to each side.
_STROKE = f'fill="none" stroke="{WHITE}" stroke-width="3" stroke-linecap="round" stroke-linejoin="round"'
_FILL = f'fill="{WHITE}"'
_SIGNS = (
    # A hat over a turned-up collar.
    f'<path d="M-15 -3 H15 V1 H-15 Z M-9 -4 L-7 -14 Q0 -17 7 -14 L9 -4 Z" {_FILL}/>'
    f'<path d="M-8 3 A8 8 0 0 0 8 3 Z M-13 17 L-9 9 L0 14 L9 9 L13 17 Z" {_FILL}/>',
    # Cross-hairs.
    f'<circle r="10" {_STROKE}/><path d="M0 -17 V-5 M0 5 V17 M-17 0 H-5 M5 0 H17" {_STROKE}/><circle r="2" {_FILL}/>',
    # A throwing star.
    f'<path d="M0 -17 L4.5 -4.5 L17 0 L4.5 4.5 L0 17 L-4.5 4.5 L-17 0 L-4.5 -4.5 Z" {_FILL} transform="rotate(20)"/>',
    # A dagger, point down.
    f'<path d="M-4 -3 H4 L3 10 L0 18 L-3 10 Z M-10 -7 H10 V-3 H-10 Z M-2.5 -17 H2.5 V-7 H-2.5 Z" {_FILL}/>',
    # A letter.
    f'<path d="M-15 -10 H15 V10 H-15 Z M-15 -10 L0 3 L15 -10" {_STROKE}/>',
    # A mole that looks out of its hill.
    f'<path d="M-18 15 Q-11 4 -8 4 Q-9 -15 0 -15 Q9 -15 8 4 Q11 4 18 15 Z" {_FILL}/>'
    '<g fill="{colour}"><circle cx="-3.4" cy="-7" r="1.7"/><circle cx="3.4" cy="-7" r="1.7"/>'
    '<ellipse cy="-1.5" rx="3.2" ry="2.2"/><path d="M-9 5 H9 V7 H-9 Z"/></g>',
    # A crate that is pushed on.
    f'<path d="M3 -9 H17 V9 H3 Z" {_FILL}/><path d="M-17 0 H-3 M-9 -6 L-3 0 L-9 6" {_STROKE}/>',
    # A hook on a rope.
    f'<circle cy="-13" r="3.5" {_STROKE}/><path d="M0 -9 V13 M-11 3 Q-11 14 0 14 Q11 14 11 3 M-15 6 L-11 1 L-7 6" '
    f'{_STROKE}/><path d="M15 6 L11 1 L7 6" {_STROKE}/>',
    # A screen with a prompt.
    f'<path d="M-14 -13 H14 V8 H-14 Z M-18 14 H18 M-8 -7 L-3 -2.5 L-8 2 M0 3 H7" {_STROKE}/>',
)


def draw(state: Any, viewer: int | None = None) -> str:
    """SVG text, the same for every viewer. The room of the last placement is lit, predicted rooms have cross-hairs."""
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{WIDTH}" height="{HEIGHT}" viewBox="0 0 {WIDTH} {HEIGHT}">',
        f'<rect width="{WIDTH}" height="{HEIGHT}" fill="{NIGHT}"/>',
        _title(state),
        _house(),
    ]
    lit = _lit(state)
    parts += [_room(state, room, lit[room]) for room in range(ROOMS)]
    parts += [_last_turn(state), _rows(state), _panel(state, 0), _panel(state, 1), _foot(state)]
    return "".join(parts) + "</svg>"


def _title(state: Any) -> str:
    """The title: the decision to be made, or how the game has ended."""
    words = head(state)
    if state["done"] or is_round_over(state):
        words = words.removeprefix("over: ").split(",")[0]
    return _text(words[0].upper() + words[1:], WIDTH / 2, 35, 22, WHITE)


def _house() -> str:
    edge, right = LEFT - 9, LEFT + HOUSE + 9
    roof = f"{edge},{TOP} {LEFT + 34},{TOP - ROOF + 4} {LEFT + HOUSE - 34},{TOP - ROOF + 4} {right},{TOP}"
    return (
        f'<polygon points="{roof}" fill="{TILES}"/>'
        f'<rect x="{LEFT}" y="{TOP}" width="{HOUSE}" height="{HOUSE}" fill="{STONE}"/>'
    )


def _centre(room: int) -> tuple[float, float]:
    row, column = divmod(int(room), 3)
    return LEFT + WALL + (ROOM + WALL) * column + ROOM / 2, TOP + WALL + (ROOM + WALL) * row + ROOM / 2


def _lit(state: Any) -> list[str]:
    """Each room's colour: that of the player who placed into it in the last turn, or ""; at most one room has one."""
    found = [""] * ROOMS
    for player, action in enumerate(state["last"]):
        if rules.PLACE <= action < rules.PREDICT:
            found[action % ROOMS] = COLOURS[player]
    return found


def _room(state: Any, room: int, lit: str) -> str:
    x, y = _centre(room)
    edge = f' stroke="{lit}" stroke-width="5"' if lit else ""
    floor = LIT if lit or room == state["pending"] else FLOOR
    parts = [
        f'<rect x="{x - ROOM / 2:g}" y="{y - ROOM / 2:g}" width="{ROOM}" height="{ROOM}" rx="3" fill="{floor}"{edge}/>',
        _text(ROOM_NAMES[room], x - ROOM / 2 + 14, y - ROOM / 2 + 20, 16, INK),
    ]
    piece = int(state["board"][room])
    if piece != EMPTY:
        parts.append(_piece(int(owner_of(piece)), int(kind_of(piece)), x, y + 4, 1.35))
    return "".join(parts)


def _piece(player: int, kind: int, x: float, y: float, scale: float, fill: str = "") -> str:
    """A spy on a disc, a specialist on a card with a golden edge."""
    colour = fill or COLOURS[player]
    if kind == SPY:
        ground = f'<circle r="24" fill="{colour}"/>'
    else:
        ground = (
            f'<rect x="-24" y="-24" width="48" height="48" rx="9" fill="{colour}" stroke="{GOLD}" stroke-width="3"/>'
        )
    sign = _SIGNS[kind].replace("{colour}", colour)
    return f'<g transform="translate({x:g} {y:g}) scale({scale:g})">{ground}{sign}</g>'


# --- the last turn ---


def _last_turn(state: Any) -> str:
    """Cross-hairs on predicted rooms, the ghost of a blocked piece, and arrows for pieces that moved afterwards."""
    if (state["last"] == NONE).any():
        return ""
    placer = last_placer(state)
    placement, prediction = int(state["last"][placer]), int(state["last"][1 - placer])
    kind, room = divmod(placement, ROOMS)
    parts = []
    expected = int(rules.PREDICTED[prediction])
    if placement < rules.PREDICT:
        x, y = _centre(room)
        if expected >> room & 1:
            parts.append(f'<g opacity="0.45">{_piece(placer, kind, x, y + 4, 1.35)}</g>')
            parts.append(_stamp("blocked", x, y + 4, COLOURS[1 - placer]))
        parts.append(_way(state, room))
    for each in range(ROOMS):
        if expected >> each & 1:
            parts.append(_cross_hairs(each, COLOURS[1 - placer]))
    return "".join(parts)


def _cross_hairs(room: int, colour: str) -> str:
    x, y = _centre(room)
    x, y = x + ROOM / 2 - 19, y - ROOM / 2 + 19
    return (
        f'<g fill="none" stroke="{colour}" stroke-width="3"><circle cx="{x:g}" cy="{y:g}" r="9" fill="{WHITE}"/>'
        f'<path d="M{x - 14:g} {y:g} h9 M{x + 5:g} {y:g} h9 M{x:g} {y - 14:g} v9 M{x:g} {y + 5:g} v9"/></g>'
    )


def _stamp(words: str, x: float, y: float, colour: str) -> str:
    return (
        f'<g transform="translate({x:g} {y:g}) rotate(-14)"><rect x="-42" y="-13" width="84" height="26" rx="4" '
        f'fill="{WHITE}" stroke="{colour}" stroke-width="3"/>{_text(words, 0, 6, 17, colour)}</g>'
    )


def _way(state: Any, room: int) -> str:
    """Arrows for what the ability of the piece placed in the room has done."""
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
    cross = f"M{x - 20:g} {y - 16:g} l40 40 m0 -40 l-40 40"
    return _arrow(room, target) + f'<path d="{cross}" stroke="{INK}" stroke-width="7" stroke-linecap="round"/>'


def _arrow(start: int, end: int) -> str:
    """An arrow from room to room; two opposite ones lie side by side."""
    (x1, y1), (x2, y2) = _centre(start), _centre(end)
    along = np.array([x2 - x1, y2 - y1]) / np.hypot(x2 - x1, y2 - y1)
    across = np.array([-along[1], along[0]])
    tail = np.array([x1, y1]) + 36 * along + 9 * across
    tip = np.array([x2, y2]) - 36 * along + 9 * across
    neck = tip - 15 * along
    corners = " ".join(f"{p[0]:.1f},{p[1]:.1f}" for p in (tip, neck + 9 * across, neck - 9 * across))
    return (
        f'<path d="M{tail[0]:.1f} {tail[1]:.1f} L{neck[0]:.1f} {neck[1]:.1f}" stroke="{INK}" stroke-width="6" '
        f'stroke-linecap="round"/><polygon points="{corners}" fill="{INK}"/>'
    )


def _rows(state: Any) -> str:
    """A stroke through each row of three, once the game or this round is over."""
    if not (state["done"] or is_round_over(state)):
        return ""
    parts = []
    owners = np.where(state["board"] == EMPTY, NOBODY, owner_of(state["board"].astype(np.int64)))
    for line in lines(3, 3, 3):
        if owners[line[0]] != NOBODY and (owners[line] == owners[line[0]]).all():
            (x1, y1), (x2, y2) = _centre(line[0]), _centre(line[2])
            parts.append(
                f'<line x1="{x1:g}" y1="{y1 + 4:g}" x2="{x2:g}" y2="{y2 + 4:g}" stroke="{GOLD}" stroke-width="9" '
                f'stroke-linecap="round" opacity="0.8"/>'
            )
    return "".join(parts)


# --- beside and below the house ---


def _panel(state: Any, player: int) -> str:
    """A player's mark, their part in this turn, their wins, and their specialists."""
    left = MARGIN if player == 0 else WIDTH - MARGIN - PANEL
    middle, colour = left + PANEL / 2, COLOURS[player]
    parts = [
        f'<rect x="{left}" y="{HEAD}" width="{PANEL}" height="{HOUSE + ROOF}" rx="10" fill="{CARD}"/>',
        f'<rect x="{left}" y="{HEAD}" width="{PANEL}" height="38" rx="10" fill="{colour}"/>',
        _text(MARKS[player], left + 20, HEAD + 28, 25, WHITE),
        _text(_part(state, player), middle + 14, HEAD + 26, 17, WHITE),
    ]
    top = HEAD + 38
    if state["is_match"]:
        parts.append(_wins(int(state["wins"][player]), int(state["rounds_to_win"]), middle, top + 20))
        top += 34
    for specialist in range(SPECIALISTS):
        x = left + PANEL * (0.27 if specialist % 2 == 0 else 0.73)
        y = top + 34 + 74 * (specialist // 2)
        parts.append(_card(state, player, specialist, (x, y)))
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
        return "predicts 2" if state["hacker_on"][player] else "predicts"
    return "chooses"


def _wins(won: int, target: int, middle: float, y: float) -> str:
    if target > 7:
        return _text(f"{won} of {target}", middle, y + 6, 17, WHITE)
    parts = []
    for k in range(target):
        x = middle + (k - (target - 1) / 2) * 17
        fill = GOLD if k < won else "none"
        parts.append(f'<circle cx="{x:g}" cy="{y:g}" r="6" fill="{fill}" stroke="{WHITE}" stroke-width="1.5"/>')
    return "".join(parts)


def _card(state: Any, player: int, specialist: int, at: tuple[float, float]) -> str:
    """A specialist: bright in hand, framed if offered, dark if unused, faint if used up; golden for a hacker on."""
    (x, y), standing = at, int(state["standing"][player, specialist])
    on = specialist == rules.HACKER - 1 and state["hacker_on"][player]
    fill = COLOURS[player] if on or standing in (IN_HAND, OFFERED) else DARK
    name = _text(KIND_NAMES[specialist + 1], x, y + 37, 12, WHITE if on or standing != USED else FAINT)
    picture = _piece(player, specialist + 1, x, y, 0.92 if standing == IN_HAND else 0.78, fill)
    if on:
        return f'<circle cx="{x:g}" cy="{y:g}" r="26" fill="{GOLD}"/>{picture}{name}'
    if standing == OFFERED:
        frame = f'<rect x="{x - 25:g}" y="{y - 25:g}" width="50" height="50" rx="10" fill="none" stroke="{WHITE}"/>'
        return frame + picture + name
    opacity = {IN_HAND: 1, UNUSED: 0.75, USED: 0.3}[standing]
    return f'<g opacity="{opacity}">{picture}</g>{name}'


def _foot(state: Any) -> str:
    """The number of turns that changed nothing, the last turn as text, the round and how the one before ended."""
    top, most, idle = TOP + HOUSE + 16, int(state["max_idle_turns"]), int(state["idle"])
    parts = []
    width = HOUSE / most
    for k in range(most):
        fill = GOLD if k < idle else DARK
        parts.append(
            f'<rect x="{LEFT + k * width + width * 0.12:.2f}" y="{top}" width="{width * 0.76:.2f}" height="9" rx="2" '
            f'fill="{fill}"/>'
        )
    words = [f"idle turns {idle} of {most}"]
    if state["is_match"]:
        words.insert(0, f"round {state['round']}")
    if state["ended"] and not is_round_over(state):
        words.append(f"last round: {ENDS[state['ended']]}")
    if (state["last"] != NONE).all():
        parts.append(_text(last_turn(state), WIDTH / 2, top + 34, 17, WHITE))
    return "".join(parts) + _text(", ".join(words), WIDTH / 2, top + 58, 15, FAINT)


def _text(words: str, x: float, y: float, size: float, colour: str) -> str:
    return (
        f'<text x="{x:g}" y="{y:g}" font-family="FreeSans, sans-serif" font-weight="bold" font-size="{size:g}" '
        f'text-anchor="middle" fill="{colour}">{words}</text>'
    )
