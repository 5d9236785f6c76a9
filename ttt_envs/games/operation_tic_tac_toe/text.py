"""Format and parse positions and actions of Operation Tic-Tac-Toe as text."""

import re
from typing import Any

import numpy as np

from ttt_envs.core.options import unknown
from ttt_envs.core.state import SIMULTANEOUS
from ttt_envs.games.operation_tic_tac_toe import rules
from ttt_envs.games.operation_tic_tac_toe.rules import (
    ABILITY,
    EMPTY,
    IN_HAND,
    KIND_NAMES,
    KINDS,
    NOBODY,
    NONE,
    OFFERED,
    PAIRS,
    PICK,
    ROLE,
    ROOMS,
    SPECIALIST_PAIRS,
    SPY,
    TURN,
    UNUSED,
    USED,
    kind_of,
    owner_of,
)

MARKS = "XO"
ROOM_NAMES = "ABCDEFGHI"
SPECIALIST_NAMES = KIND_NAMES[1:]

#: See `Faces.text_styles`.
STYLES = ((r"\b[Xx]\b", "bold red"), (r"\b[Oo]\b", "bold cyan"))

#: A player's specialists in a single round: none, one or two.
Hand = str | tuple[str, str] | None


#: Names of the ways in which a round can end, in the order of `rules.ENDS`.
ENDS = ("", "line of X", "line of O", "both lines", "no room", "idle", "agreed")

_CELL = re.compile(r"([A-I])\s+(\.|[a-zA-Z:]+)")
_STANDINGS = {"in hand": IN_HAND, "offered": OFFERED, "unused": UNUSED}


def action_names() -> tuple[str, ...]:
    """Return one name per action, in the order of the constants in `rules`."""
    pairs = [(ROOM_NAMES[a], ROOM_NAMES[b]) for a, b in PAIRS]
    return (
        *(f"{kind} to {room}" for kind in KIND_NAMES for room in ROOM_NAMES),
        *(f"predict {room}" for room in ROOM_NAMES),
        *(f"predict {a}+{b}" for a, b in pairs),
        *(f"remove {room}" for room in ROOM_NAMES),
        *(f"move to {room}" for room in ROOM_NAMES),
        *(f"swap {a} {b}" for a, b in pairs),
        *(f"grapple {room}" for room in ROOM_NAMES),
        *(f"push {direction}" for direction in rules.DIRECTIONS),
        "no ability",
        "place first",
        "predict first",
        *(f"choose {name}" for name in SPECIALIST_NAMES),
        *(f"choose {SPECIALIST_NAMES[a]} and {SPECIALIST_NAMES[b]}" for a, b in SPECIALIST_PAIRS),
        "pass",
        "offer draw",
    )


ACTIONS = action_names()

#: Action names in which a room alone means a spy: the rule text says "Not stating which you use is a spy by default".
SHORT_ACTIONS = (*ROOM_NAMES, *ACTIONS[len(ROOM_NAMES) :])
_NUMBERS = {name: action for action, name in enumerate(ACTIONS)}


def piece_name(piece: int) -> str:
    """Return `x` and `o` for spies, `X:mole` for X's mole, `.` for an empty room."""
    if piece == EMPTY:
        return "."
    mark, kind = MARKS[owner_of(piece)], kind_of(piece)
    return mark.lower() if kind == SPY else f"{mark}:{KIND_NAMES[kind]}"


def format_state(state: Any, viewer: int | None = None) -> str:
    """Return a position as text: decision, rooms, both players' specialists, counts, last turn and round.

    Specialists that are not listed are used up. The text is the same for every viewer. `parse_state` reads it, unless
    the state comes from `finished_round`.
    """
    cells = [f"{ROOM_NAMES[room]} {piece_name(int(state['board'][room])):<12}" for room in range(ROOMS)]
    lines = [head(state)]
    lines += ["".join(cells[row : row + 3]).rstrip() for row in (0, 3, 6)]
    lines += [f"{MARKS[player]}: {_specialists(state, player)}" for player in (0, 1)]
    lines.append(_facts(state))
    if (state["last"] != NONE).all():
        lines.append(f"last turn: {last_turn(state)}")
    if state["ended"] and not is_round_over(state):
        lines.append(f"last round: {ENDS[state['ended']]}")
    return "\n".join(lines)


def is_round_over(state: Any) -> bool:
    """Return whether `finished_round` made this state: it is in phase TURN, but no player acts and the game goes on."""
    return bool(not state["done"] and state["phase"] == TURN and state["to_move"] != SIMULTANEOUS)


def is_forfeit(state: Any) -> bool:
    """Return whether the game was ended from outside the rules, while a player still had to choose."""
    return bool(state["done"] and (state["phase"] != TURN or state["to_move"] == SIMULTANEOUS))


def finished_round(before: Any, actions: np.ndarray, after: Any) -> np.ndarray | None:
    """Return the rooms at the end of a round inside a match, before they are cleared: structured (1,), for display.

    `before` and `after` are the records before and after a step with `actions`, int (players,). Returns None if this
    step did not end a round, or ended the whole game.
    """
    if after["done"] or not before["is_match"]:
        return None
    shown = np.array([before])
    state = shown[0]
    state["is_match"] = False  # a copy as a single round, which this step can end
    rules.step(state, np.ascontiguousarray(actions, np.int64))
    if not state["done"]:
        return None
    state["done"], state["rewards"], state["is_match"] = False, 0, True
    for name in ("wins", "ply"):
        state[name] = after[name]
    return shown


def head(state: Any) -> str:
    """Return the first line: the present decision, or how the game ended."""
    placer, mover = MARKS[state["placer"]], MARKS[state["to_move"]]
    if state["done"]:
        rewards = state["rewards"]
        result = f"{MARKS[int(rewards.argmax())]} wins" if rewards.any() else "draw"
        return f"over: {result} by forfeit" if is_forfeit(state) else f"over: {result}, {placer} placed last"
    if is_round_over(state):
        return f"round over: {ENDS[state['ended']]}, {placer} placed last"
    if state["phase"] == ROLE:
        return f"{mover} decides who places first"
    if state["phase"] == PICK:
        return f"both choose {'two specialists' if rules.is_overtime(state) else 'a specialist'}"
    if state["phase"] == ABILITY:
        return f"{placer} decides on the ability in {ROOM_NAMES[state['pending']]}"
    return f"{placer} places, {MARKS[1 - state['placer']]} predicts"


def _specialists(state: Any, player: int) -> str:
    parts = []
    for word, standing in _STANDINGS.items():
        names = [SPECIALIST_NAMES[k] for k in np.flatnonzero(state["standing"][player] == standing)]
        if names:
            parts.append(f"{word} {', '.join(names)}")
    if state["hacker_on"][player]:
        parts.append("hacker on")
    return "; ".join(parts) or "-"


def _facts(state: Any) -> str:
    first = MARKS[state["first"]] if state["first"] != NOBODY else "nobody"
    facts = f"first {first}, idle {state['idle']} of {state['max_idle_turns']}, ply {state['ply']}"
    if not state["is_match"]:
        return facts
    x, o = state["wins"]
    return f"round {state['round']}, wins X {x} O {o} of {state['rounds_to_win']}, {facts}"


def last_placer(state: Any) -> int:
    """Return the Placer of the last turn. Once the next turn has begun, the field `placer` has the other player."""
    swapped = state["phase"] == TURN and state["to_move"] == SIMULTANEOUS
    return int(1 - state["placer"] if swapped else state["placer"]) % 2


def last_turn(state: Any) -> str:
    """Return the last turn as text: its two actions, the Placer's first, and the decision on an ability, if any."""
    placer = last_placer(state)
    words = ", ".join(f"{MARKS[player]} {ACTIONS[state['last'][player]]}" for player in (placer, 1 - placer))
    return words if state["last_ability"] == NONE else f"{words}, then {ACTIONS[state['last_ability']]}"


# --- reading ---


def parse_state(text: str, prototype: np.ndarray) -> np.ndarray:
    """Return the position, structured (1,), from a text of `format_state`. Options come from `prototype`.

    The last turn may be missing, and in an unfinished single round also the last round. Raises ValueError, which names
    the wrong part.
    """
    lines = [line.strip() for line in text.strip().splitlines() if line.strip()]
    states = prototype.copy()
    state = states[0]
    state["round"] = 1
    rules.clear_table(state)
    if len(lines) < 7:
        raise ValueError("a position needs a line on what is decided, 3 on the rooms, 2 on specialists, 1 of counts")
    _read_rooms(state, " ".join(lines[1:4]))
    for player in (0, 1):
        _read_specialists(state, player, lines[4 + player])
    _read_facts(state, lines[6])
    rest: dict[str, str] = {}
    for line in lines[7:]:
        word, _, words = line.partition(": ")
        if word not in ("last turn", "last round") or word in rest:
            raise ValueError(f"after the counts only 'last turn: ...' and 'last round: ...' may stand, not {line!r}")
        rest[word] = words
    if "last round" in rest:
        if rest["last round"] not in ENDS[1:]:
            raise ValueError(f"the last round was one of {', '.join(ENDS[1:])}, not {rest['last round']!r}")
        state["ended"] = ENDS.index(rest["last round"])
    _read_head(state, lines[0])
    if "last turn" in rest:
        _read_last_turn(state, rest["last turn"])
    return states


def _read_rooms(state: Any, words: str) -> None:
    rooms = _CELL.findall(words)
    if "".join(room for room, _ in rooms) != ROOM_NAMES or _CELL.sub("", words).strip():
        raise ValueError("a position needs 3 lines of 3 rooms, A to I, each like 'A .', 'B x' or 'C O:sniper'")
    for room, (name, word) in enumerate(rooms):
        mark, colon, kind = word.partition(":")
        if word in (".", "x", "o"):
            state["board"][room] = EMPTY if word == "." else 1 + KINDS * "xo".index(word) + SPY
        elif colon and mark in ("X", "O"):
            piece = 1 + KINDS * MARKS.index(mark) + _kind(kind)
            if piece in state["board"]:
                raise ValueError(f"{mark} has only one {kind}")
            state["board"][room] = piece
        else:
            raise ValueError(f"in room {name} stands '.', 'x', 'o', or such as 'X:sniper', not {word!r}")


def _kind(name: str) -> int:
    if name not in SPECIALIST_NAMES:
        raise ValueError(unknown("specialist", name, SPECIALIST_NAMES))
    return KIND_NAMES.index(name)


def _read_specialists(state: Any, player: int, line: str) -> None:
    mark, _, words = line.partition(": ")
    if mark != MARKS[player]:
        raise ValueError(f"the line of {MARKS[player]}'s specialists must begin with '{MARKS[player]}: ', not {line!r}")
    state["standing"][player] = USED
    for part in words.split("; ") if words != "-" else ():
        if part == "hacker on":
            state["hacker_on"][player] = 1
            continue
        word = next((word for word in _STANDINGS if part.startswith(f"{word} ")), None)
        if word is None:
            raise ValueError(f"specialists are 'in hand', 'offered' or 'unused', or the 'hacker on', not {part!r}")
        for kind in (_kind(name) for name in part.removeprefix(f"{word} ").split(", ")):
            if state["standing"][player, kind - 1] != USED:
                raise ValueError(f"{mark} has only one {KIND_NAMES[kind]}")
            state["standing"][player, kind - 1] = _STANDINGS[word]


def _read_facts(state: Any, line: str) -> None:
    wanted = f"first X, idle 0 of {state['max_idle_turns']}, ply 0"
    form = r"first (?P<first>X|O|nobody), idle (?P<idle>\d{1,2}) of "
    form += rf"{state['max_idle_turns']}, ply (?P<ply>\d{{1,6}})"
    if state["is_match"]:
        wanted = f"round 1, wins X 0 O 0 of {state['rounds_to_win']}, {wanted}"
        counts = r"round (?P<round>\d{1,2}), wins X (?P<X>\d{1,2}) O (?P<O>\d{1,2})"
        form = rf"{counts} of {state['rounds_to_win']}, {form}"
    read = re.fullmatch(form, line)
    if not read:
        raise ValueError(f"the line of counts must be like {wanted!r}, not {line!r}")
    state["first"] = NOBODY if read["first"] == "nobody" else MARKS.index(read["first"])
    state["idle"], state["ply"] = int(read["idle"]), int(read["ply"])
    if state["is_match"]:
        state["round"], state["wins"] = int(read["round"]), (int(read["X"]), int(read["O"]))


def _read_head(state: Any, line: str) -> None:
    over = re.fullmatch(r"over: (X wins|O wins|draw), ([XO]) placed last", line)
    role = re.fullmatch(r"([XO]) decides who places first", line)
    pick = re.fullmatch(r"both choose (a specialist|two specialists)", line)
    turn = re.fullmatch(r"([XO]) places, ([XO]) predicts", line)
    ability = re.fullmatch(r"([XO]) decides on the ability in ([A-I])", line)
    state["phase"], state["placer"] = TURN, NOBODY
    if over:
        state["done"], state["placer"] = True, MARKS.index(over[2])
        if over[1] != "draw":
            winner = MARKS.index(over[1][0])
            state["rewards"][winner], state["rewards"][1 - winner] = 1, -1
    elif role:
        state["phase"], state["to_move"] = ROLE, MARKS.index(role[1])
    elif pick:
        state["phase"], state["to_move"], state["placer"] = PICK, SIMULTANEOUS, state["first"]
    elif turn and turn[1] != turn[2]:
        state["to_move"], state["placer"] = SIMULTANEOUS, MARKS.index(turn[1])
    elif ability:
        state["phase"], state["pending"] = ABILITY, ROOM_NAMES.index(ability[2])
        state["to_move"] = state["placer"] = MARKS.index(ability[1])
    else:
        raise ValueError(
            "the first line must be like 'X places, O predicts', 'X decides on the ability in E', 'X decides who "
            f"places first', 'both choose a specialist' or 'over: X wins, X placed last', not {line!r}"
        )


def _read_last_turn(state: Any, words: str) -> None:
    if state["phase"] in (ROLE, PICK):
        raise ValueError("before the first turn of a round there is no last turn")
    placer = last_placer(state)
    read = re.fullmatch(rf"{MARKS[placer]} ([^,]+), {MARKS[1 - placer]} ([^,]+?)(?:, then ([^,]+))?", words)
    if not read or not all(name in _NUMBERS for name in read.groups() if name):
        raise ValueError(
            f"the last turn must be like '{MARKS[placer]} spy to E, {MARKS[1 - placer]} predict A', "
            f"or end like ', then remove B': {words!r}"
        )
    state["last"][placer], state["last"][1 - placer] = _NUMBERS[read[1]], _NUMBERS[read[2]]
    if read[3]:
        state["last_ability"] = _NUMBERS[read[3]]
