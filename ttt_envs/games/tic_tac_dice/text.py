"""Format and parse positions and actions of the Tic-Tac-Dice family as text."""

import re
from typing import Any

import numpy as np

from ttt_envs.core.lines import has_row, where
from ttt_envs.core.lines import lines as rows_of
from ttt_envs.games.tic_tac_dice.rules import (
    CARDS_OF_A_RANK,
    COUNT_POINTS,
    EMPTY,
    MOST_DRAWN_ROUNDS,
    NONE,
    RANKS,
    ROW_POINTS,
    claimable,
    markers,
    step,
)

MARKS = " XO"

#: See `Faces.text_styles`: markers behind their cards, the player to move, and cards that can be claimed.
STYLES = (
    (r"(?<=\d)X\b|(?m:^)X\b", "bold red"),
    (r"(?<=\d)O\b|(?m:^)O(?= claims)", "bold cyan"),
    (r"\d+\*", "bold yellow"),
)

#: Names of the ways in which a round can end, in the order of `rules.ENDS`.
ENDS = ("", "row of X", "row of O", "more of X", "more of O", "drawn")

_CELL = re.compile(r"([A-Y])\s*(\d{1,3})([XO*]?)")


def action_names(size: int) -> tuple[str, ...]:
    """Return one letter per cell, row by row."""
    return tuple(chr(ord("A") + cell) for cell in range(size * size))


def format_state(state: Any, viewer: int | None = None) -> str:
    """Return a position as text: turn and dice, or the result; per cell its letter, card, marker, and `*` if legal.

    In a match, the points and the end of the previous round follow, then the last claim of this round. The text is the
    same for every viewer. `parse_state` reads it, unless the state comes from `finished_round`.
    """
    size = int(state["size"])
    ended = state["done"] or is_round_over(state)
    if state["done"]:
        lines = [f"over: {result(state)}"]
    elif ended:
        lines = [f"round over: {round_result(state)}"]
    else:
        again = ", then rolls again" if state["dice"][0] == state["dice"][1] else ""
        lines = [f"{'XO'[int(state['to_move'])]} claims by dice {state['dice'][0]} {state['dice'][1]}{again}"]
    names = action_names(size)
    cells = []
    for cell in range(size * size):
        open_here = not ended and claimable(state) >> cell & 1
        mark = "*" if open_here else MARKS[state["owner"][cell]]
        cells.append(f"{names[cell]} {state['rank'][cell]}{mark}")
    lines += ["   ".join(cells[size * row : size * row + size]).rstrip() for row in range(size)]
    facts = [f"ply {state['ply']}"]
    if state["target"]:
        facts.insert(0, f"points X {state['points'][0]} O {state['points'][1]} of {state['target']}")
    if state["drawn"]:
        facts.append(f"drawn rounds {state['drawn']}")
    if state["last"]:
        # After `finished_round`, the text's first line describes the last round.
        facts.append(f"{'round before' if ended else 'last round'}: {ENDS[state['last']]}")
    lines.append(", ".join(facts))
    if state["last_claim"] != NONE:
        lines.append(f"last claim: {MARKS[state['owner'][state['last_claim']]]} {names[state['last_claim']]}")
    return "\n".join(lines)


def is_round_over(state: Any) -> bool:
    """Return whether `finished_round` made this state: it has no dice, but the game is not over."""
    return not state["done"] and not state["dice"].any()


def finished_round(before: Any, actions: np.ndarray, after: Any) -> np.ndarray | None:
    """Return the cards at the end of a round inside a match, before the next deal: structured (1,), for display only.

    `before` and `after` are the records before and after a step with `actions`, int (players,). Returns None if this
    step did not end a round, or ended the whole game.
    """
    if after["done"] or not before["target"]:
        return None
    shown = np.array([before])
    state = shown[0]
    state["target"] = 0  # a copy as a single round, which this step can end
    step(state, np.ascontiguousarray(actions, np.int64))
    if not state["done"]:
        return None
    state["done"], state["rewards"] = False, 0
    for name in ("target", "points", "drawn", "ply"):
        state[name] = after[name]
    return shown


def aside(before: Any, actions: np.ndarray, after: Any) -> str:
    """Return the roll of a claim, and whether the player rolls again or a player found no card; see `Faces.aside`."""
    one, two = map(int, before["dice"])
    said = f"rolled {one} and {two}"
    if after["done"] or not (after["owner"] != EMPTY).any():
        return said
    again, mover = one == two, int(before["to_move"])
    if again:
        said += ", so rolls again"
    if (int(after["to_move"]) == mover) != again:
        said += f"; then {MARKS[1 + (mover if again else 1 - mover)]} found no card"
    return said


def ending(state: Any) -> str:
    """Return the reason why a finished game or round ended; see `Faces.ending`."""
    size = int(state["size"])
    rows = [f"a row of {len(row)} {where(row, size)}" for row in winning_rows(state)]
    how = " and ".join(rows) or _how(state)
    if not state["done"]:
        return f"{round_result(state).partition(', ')[0]}: {how}"
    if state["target"] and state["rewards"].any() and how:
        more, fewer = sorted(map(int, state["points"]), reverse=True)
        return f"{more} points to {fewer}, the last by {how}"
    return how or (
        "the other side made no legal choice" if state["rewards"].any() else result(state).removeprefix("draw, ")
    )


def winning_rows(state: Any) -> list[list[int]]:
    """Return the cells of each row on the board that wins a round."""
    size, owner = int(state["size"]), state["owner"]
    rows = rows_of(size, size, int(state["win_length"]))
    return [row.tolist() for row in rows if owner[row[0]] != EMPTY and (owner[row] == owner[row[0]]).all()]


def result(state: Any) -> str:
    """Return a finished game's result: `X wins, row A E I`, `O wins, 5 markers to 4` or `draw, 8 markers each`."""
    if not state["rewards"].any():
        return f"draw, {MOST_DRAWN_ROUNDS} rounds without points" if state["target"] else f"draw, {_how(state)}"
    winner = "XO"[int(np.argmax(state["rewards"]))]
    how = _how(state)
    return f"{winner} wins, {how}" if how else f"{winner} wins by forfeit"


def round_result(state: Any) -> str:
    """Return the result of a round inside a match, such as `2 points for X, row A E I`."""
    rows = winning_rows(state)
    if rows:
        return f"{ROW_POINTS} points for {MARKS[state['owner'][rows[0][0]]]}, {_how(state)}"
    x, o = _markers(state)
    return f"no points, {_how(state)}" if x == o else f"{COUNT_POINTS} point for {'X' if x > o else 'O'}, {_how(state)}"


def _how(state: Any) -> str:
    """Return why the cards on the table end the round, such as `row A E I`; "" if they do not end it."""
    rows = winning_rows(state)
    if rows:
        names = action_names(int(state["size"]))
        cells = " and ".join(" ".join(names[cell] for cell in row) for row in rows)
        return f"row{'s' if len(rows) > 1 else ''} {cells}"
    if (state["owner"] == EMPTY).any():
        return ""
    more, fewer = sorted(_markers(state), reverse=True)
    return f"{more} markers each" if more == fewer else f"{more} markers to {fewer}"


def _markers(state: Any) -> tuple[int, int]:
    return int((state["owner"] == 1).sum()), int((state["owner"] == 2).sum())


def check_ranks(ranks: Any, size: int) -> np.ndarray:
    """Return a layout as int8 (size*size,); raise ValueError, with the reason, if the deck cannot deal it."""
    try:
        array = np.asarray(ranks)
    except ValueError:  # rows of different lengths
        array = np.zeros(0)
    if array.dtype.kind not in "iu" or array.shape not in ((size * size,), (size, size)):
        raise ValueError(f"a layout is {size * size} whole numbers, row by row, not {ranks!r}")
    array = array.ravel()
    for rank in array:
        if not 1 <= rank <= RANKS:
            raise ValueError(f"a card's rank is from 1 to {RANKS}, not {rank}")
    counts = np.bincount(array, minlength=RANKS + 1)
    if counts.max() > CARDS_OF_A_RANK:
        raise ValueError(
            f"the deck has {CARDS_OF_A_RANK} cards of a rank, but this layout has {counts.max()} of rank "
            f"{counts.argmax()}"
        )
    return array.astype(np.int8)


def parse_state(text: str, prototype: np.ndarray) -> np.ndarray:
    """Return the position, structured (1,), from a text of `format_state`. Options come from `prototype`.

    The text may lack the last claim, and how the game ended. Raises ValueError, which names the wrong part.
    """
    lines = [line.strip() for line in text.strip().splitlines() if line.strip()] or [""]
    claim = lines.pop().removeprefix("last claim:").strip() if lines[-1].startswith("last claim:") else None
    states = prototype.copy()
    state = states[0]
    size, target = int(state["size"]), int(state["target"])
    names = action_names(size)
    cells = _CELL.findall(" ".join(lines[1:-1]))
    if tuple(letter for letter, _, _ in cells) != names or _CELL.sub("", " ".join(lines[1:-1])).strip():
        raise ValueError(f"a position needs {size} rows of {size} cells, {names[0]} to {names[-1]}, each like 'A 5X'")
    state["rank"] = check_ranks([int(rank) for _, rank, _ in cells], size)
    state["owner"] = [0 if mark == "*" else MARKS.index(mark or " ") for _, _, mark in cells]

    state["last_claim"] = NONE if claim is None else _last_claim(state, claim)
    facts = _facts(lines[-1], target)
    state["ply"] = facts["ply"]
    points = facts.get("X", 0), facts.get("O", 0)
    if max(points) > target + ROW_POINTS - 1:
        raise ValueError(f"{target} points win the match, so nobody gets to {max(points)}")
    state["points"] = points
    state["drawn"], state["last"] = facts.get("drawn", 0), facts.get("last", 0)

    if lines[0].startswith("over:"):
        rows = [player for player in (0, 1) if has_row(markers(state, player + 1), size, state["win_length"])]
        reward = _reward(state, rows)
        if reward is None:
            raise ValueError("the first line says that it is over, but the board or the points do not")
        state["done"] = True
        state["rewards"] = reward, 0 - reward  # a draw pays 0, and not -0
        whole = f"over: {result(state)}"
        if lines[0] not in (whole, whole.split(", ")[0]):
            raise ValueError(f"the first line must be {whole!r}, as the board and the points have it")
        return states
    turn = re.fullmatch(r"([XO]) claims by dice ([1-6]) ([1-6])(, then rolls again)?", lines[0])
    if not turn:
        raise ValueError(f"the first line must be like 'X claims by dice 2 5' or 'over: X wins', not {lines[0]!r}")
    low, high = sorted((int(turn[2]), int(turn[3])))
    if (low == high) != bool(turn[4]):
        raise ValueError("'then rolls again' stands after doubles, and only there")
    state["to_move"], state["dice"] = "XO".index(turn[1]), (low, high)
    return states


def _facts(line: str, target: int) -> dict[str, int]:
    wanted = f"points X 0 O 0 of {target}, ply 0" if target else "ply 0"
    form = r"ply (?P<ply>\d{1,6})(?:, drawn rounds (?P<drawn>\d{1,2}))?"
    form += f"(?:, (?:last round|round before): (?P<last>{'|'.join(ENDS[1:])}))?"
    if target:
        form = rf"points X (?P<X>\d{{1,3}}) O (?P<O>\d{{1,3}}) of {target}, {form}"
    read = re.fullmatch(form, line)
    if not read:
        raise ValueError(f"the last line must be like {wanted!r}, not {line!r}")
    return {name: ENDS.index(word) if name == "last" else int(word) for name, word in read.groupdict().items() if word}


def _reward(state: Any, rows: list[int]) -> float | None:
    """Return X's reward in a position that the text calls finished; None if it cannot be finished."""
    x, o = ((state["owner"] == mark).sum() for mark in (1, 2))
    if len(rows) == 1:
        ahead, points = 1 - 2 * rows[0], ROW_POINTS
    elif not rows and (state["owner"] != EMPTY).all():
        ahead, points = np.sign(x - o), COUNT_POINTS
    else:
        return None
    if not state["target"]:
        return float(ahead * points / ROW_POINTS)
    if ahead == 0:
        return 0.0 if state["drawn"] == MOST_DRAWN_ROUNDS and state["points"].max() < state["target"] else None
    if state["drawn"] == MOST_DRAWN_ROUNDS:
        return None
    winner = 0 if ahead > 0 else 1
    reached, other = state["points"][winner], state["points"][1 - winner]
    if not (other < state["target"] <= reached < state["target"] + points and reached >= points):
        return None
    return float(ahead)


def _last_claim(state: Any, words: str) -> int:
    mark, _, name = words.partition(" ")
    names = action_names(int(state["size"]))
    if mark not in ("X", "O") or name not in names:
        raise ValueError(f"the last claim must be like 'X {names[0]}', not {words!r}")
    cell = names.index(name)
    if MARKS[state["owner"][cell]] != mark:
        raise ValueError(f"{words!r} was not the last claim: {mark} has no marker there")
    return cell
