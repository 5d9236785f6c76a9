"""Format and parse positions and actions of Super Tic-Tac-Toe as text; convert the sets of a state to arrays."""

from typing import Any

import numpy as np

from ttt_envs.core.lines import lines, where
from ttt_envs.games.super_tic_tac_toe.rules import ALL, ANYWHERE, CENTER, HAS_LINE, MEMBERS, NONE

EMPTY = 0
MARKS = ".XO"

_BITS = 1 << np.arange(9)

#: See `Faces.text_styles`.
STYLES = ((r"\bX\b", "bold red"), (r"\bO\b", "bold cyan"))

ACTION_NAMES = tuple(f"{board}/{cell}" for board in range(9) for cell in range(9))

#: Names of the nine places of a square, row by row; `SPOKEN_NAMES` uses them, see `Faces.spoken_action_names`.
PLACES = (
    *("top left", "top middle", "top right"),
    *("middle left", "centre", "middle right"),
    *("bottom left", "bottom middle", "bottom right"),
)
SPOKEN_NAMES = tuple(f"{cell} of the {board} board" for board in PLACES for cell in PLACES)


def cells_of(states: Any) -> np.ndarray:
    """Return int8 (..., small board, cell): EMPTY or the player's number + 1; of states (...,) or a single record."""
    held = MEMBERS[states["marks"]].astype(np.int8)
    return np.maximum(held[..., 0, :, :], 2 * held[..., 1, :, :])


def owners_of(states: Any) -> np.ndarray:
    """Return the boards' owners in states (...,) or a record: int8 (..., 9), EMPTY or the player's number + 1."""
    held = MEMBERS[states["owned"]].astype(np.int8)
    return np.maximum(held[..., 0, :], 2 * held[..., 1, :])


def set_of(members: np.ndarray) -> np.ndarray:
    """Return the sets, int64 (...), whose members are true in bool (..., 9); for sets, see `rules`."""
    return np.asarray(members @ _BITS)


def playable_of(states: Any) -> np.ndarray:
    """Return int64 (...): the small boards that are not full and, if won boards are closed, not owned."""
    owned = states["owned"][..., 0] | states["owned"][..., 1]
    full = set_of(states["marks"][..., 0, :] | states["marks"][..., 1, :] == ALL)
    return np.asarray(ALL & ~(full | np.where(states["closed"], owned, 0)))


def put(states: Any, cells: np.ndarray, owners: np.ndarray) -> None:
    """Write marks and owners, as `cells_of` and `owners_of` return them, and the playable small boards."""
    for player in range(2):
        states["marks"][..., player, :] = set_of(cells == player + 1)
        states["owned"][..., player] = set_of(owners == player + 1)
    states["playable"] = playable_of(states)


def format_state(state: Any, viewer: int | None = None) -> str:
    """Return a position as text: the player to move and where, or the result; 81 cells; nine owners; the last move.

    The text is the same for every viewer. `parse_state` reads it.
    """
    if state["done"]:
        lines = [f"over: {result(state)}"]
    else:
        where = "anywhere" if state["target"] == ANYWHERE else f"in board {int(state['target'])}"
        lines = [f"{'XO'[int(state['to_move'])]} to move {where}"]
    cells, owners = cells_of(state), owners_of(state)
    for row in range(9):
        if row in (3, 6):
            lines.append("------+-------+------")
        boards = [3 * (row // 3) + k for k in range(3)]
        lines.append(" | ".join(" ".join(MARKS[cells[b, 3 * (row % 3) + c]] for c in range(3)) for b in boards))
    lines.append("boards: " + " ".join("".join(MARKS[owners[3 * r + c]] for c in range(3)) for r in range(3)))
    if state["last_action"] != NONE:
        lines.append(f"last move: {last_mover(state)} {ACTION_NAMES[state['last_action']]}")
    return "\n".join(lines)


def result(state: Any) -> str:
    """Return the result of a finished game: `X wins with boards 0 4 8`, `X wins by forfeit` or `draw`."""
    if not state["rewards"].any():
        return "draw"
    rows = [" ".join(map(str, row)) for row in winning_rows(state)]
    how = f"with boards {' and '.join(rows)}" if rows else "by forfeit"
    return f"{'XO'[int(np.argmax(state['rewards']))]} wins {how}"


def ending(state: Any) -> str:
    """Return the reason why a finished game ended; see `Faces.ending`."""
    if not state["rewards"].any():
        return "no cell is left"
    rows = [f"three boards {where(row, 3)}" for row in winning_rows(state)]
    return " and ".join(rows) or "the other side made no legal choice"


def winning_rows(state: Any) -> list[list[int]]:
    """Return the rows of three boards that belong to the winner of a finished game."""
    owned = owners_of(state) == int(np.argmax(state["rewards"])) + 1
    return [row.tolist() for row in lines(3, 3, 3) if owned[row].all()] if state["rewards"].any() else []


def last_mover(state: Any) -> str:
    """Return the mark of the player who made the last move."""
    return MARKS[cells_of(state).ravel()[state["last_action"]]]


def parse_state(text: str, prototype: np.ndarray) -> np.ndarray:
    """Return the position, structured (1,), from a text of `format_state`. Options come from `prototype`.

    The text may lack the last move, and how the winner has won. Raises ValueError, which names the wrong part.
    """
    lines = [line.strip() for line in text.strip().splitlines()] or [""]
    last_move = lines.pop() if lines[-1].startswith("last move:") else ""
    rows = [line.replace("|", " ").split() for line in lines[1:-1] if not line.startswith("--")]
    owners = "".join(lines[-1].removeprefix("boards:").split())
    if len(rows) != 9 or any(len(row) != 9 for row in rows) or any(m not in MARKS for row in rows for m in row):
        raise ValueError("a position needs nine rows of nine marks, each one of '.', 'X', 'O'")
    if not lines[-1].startswith("boards:") or len(owners) != 9 or any(m not in MARKS for m in owners):
        raise ValueError(f"the last line must be like 'boards: X.. .O. ...', not {lines[-1]!r}")

    states = prototype.copy()
    state, cells = states[0], np.zeros((9, 9), np.int8)
    for row in range(9):
        for column in range(9):
            mark = MARKS.index(rows[row][column])
            cells[3 * (row // 3) + column // 3, 3 * (row % 3) + column % 3] = mark
    put(states, cells, np.array([MARKS.index(m) for m in owners]))
    x, o = int((cells == 1).sum()), int((cells == 2).sum())
    if x - o not in (0, 1):
        raise ValueError(f"X moves first, so X has as many marks as O or one more, not {x} against {o}")
    for board in range(9):
        owner = MARKS.index(owners[board])
        have = [mark for mark in (1, 2) if HAS_LINE[state["marks"][mark - 1, board]]]
        if (owner == EMPTY and have) or (owner != EMPTY and owner not in have):
            raise ValueError(
                f"board {board} cannot belong to {MARKS[owner]!r}: lines in it: {[MARKS[m] for m in have] or 'none'}"
            )
    state["ply"] = x + o
    state["to_move"] = x - o
    _read_head(state, lines[0])
    state["last_action"] = _last_action(state, last_move) if last_move else NONE
    return states


def _read_head(state: Any, line: str) -> None:
    words, mover = line.split(), int(state["to_move"])
    winners = [player for player in (0, 1) if HAS_LINE[state["owned"][player]]]
    if words[:1] == ["over:"]:
        state["done"], state["target"] = True, ANYWHERE
        if words[1:] == ["draw"] and not winners and not state["playable"]:
            return
        if winners:
            state["rewards"][winners[0]], state["rewards"][1 - winners[0]] = 1, -1
            if line in (f"over: {'XO'[winners[0]]} wins", f"over: {result(state)}"):
                return
        raise ValueError(f"the first line must be 'over: draw' or 'over: X wins' and fit the board, not {line!r}")
    if winners:
        raise ValueError(f"{'XO'[winners[0]]} owns three boards in a row, so the first line must say that it is over")
    if words[:3] == ["XO"[mover], "to", "move"] and words[3:] == ["anywhere"]:
        state["target"] = ANYWHERE
        return
    if words[:5] == ["XO"[mover], "to", "move", "in", "board"] and words[5:] in [[str(b)] for b in range(9)]:
        state["target"] = int(words[5])
        if not MEMBERS[state["playable"], int(words[5])]:
            raise ValueError(f"nobody can be sent to board {words[5]}: it is full or closed")
        return
    raise ValueError(
        f"the first line must be '{'XO'[mover]} to move in board {CENTER}' (0 to 8) or "
        f"'{'XO'[mover]} to move anywhere', not {line!r}"
    )


def _last_action(state: Any, line: str) -> int:
    mark, _, name = line.removeprefix("last move:").strip().partition(" ")
    if name not in ACTION_NAMES or mark != "OX"[state["to_move"]]:
        raise ValueError(f"the last move must be like '{'OX'[state['to_move']]} 4/4', not {line!r}")
    action = ACTION_NAMES.index(name)
    if MARKS[cells_of(state).ravel()[action]] != mark:
        raise ValueError(f"{mark} cannot have moved in {name}: the mark there is another one")
    sent = action % 9 if MEMBERS[state["playable"], action % 9] else ANYWHERE
    if not state["done"] and state["target"] != sent:
        raise ValueError(f"{name} sends to another place than the first line says")
    return action
