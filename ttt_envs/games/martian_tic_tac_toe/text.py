"""Format and parse positions and actions of Martian Tic-Tac-Toe as text."""

import re
from typing import Any

import numpy as np

from ttt_envs.core.lines import lines as rows_of
from ttt_envs.core.lines import where
from ttt_envs.games.martian_tic_tac_toe.rules import (
    EMPTY,
    FIRST_TURN,
    NONE,
    SIZES,
    SIZES_FOR,
    can_move,
    entry,
    has_line,
    is_repeated,
    occurrences,
    owner_of,
    read_entry,
    size_of,
    stashes_of,
    win,
)

#: Red, blue, yellow, green.
COLOURS = "RBYG"

#: The names of the sizes 1, 2 and 3.
SIZE_NAMES = ("small", "medium", "large")

#: See `Faces.text_styles`.
STYLES = tuple(
    (rf"\b{colour}\d?\b", style)
    for colour, style in zip(COLOURS, ("bold red", "bold bright_blue", "bold yellow", "bold green"), strict=True)
)


def cell_names(size: int) -> list[str]:
    """Return the names of cells: letters for columns from the left, numbers for rows from the top: a1, b1, ..."""
    return [f"{chr(ord('a') + cell % size)}{cell // size + 1}" for cell in range(size * size)]


def action_names(size: int) -> tuple[str, ...]:
    """Return names such as `b2=3`: put a large piece on b2."""
    return tuple(f"{cell}={piece}" for cell in cell_names(size) for piece in range(1, SIZES + 1))


def spoken_names(size: int) -> tuple[str, ...]:
    """Return names such as `large to b2`."""
    return tuple(f"{piece} to {cell}" for cell in cell_names(size) for piece in SIZE_NAMES)


def piece_name(piece: int) -> str:
    """Return `R2` for red's medium piece, `.` for an empty cell."""
    return "." if piece == EMPTY else f"{COLOURS[owner_of(piece)]}{size_of(piece)}"


def format_state(state: Any, viewer: int | None = None) -> str:
    """Return a position as text: turn or result, board, stashes, number of plies, moves that count for repetitions, and
    the last move. A move that counts for repetitions is written with the piece it replaced: `R b2 from B1` means that
    red took blue's small piece on b2. The text is the same for every viewer. `parse_state` reads it.
    """
    size, names = int(state["size"]), cell_names(int(state["size"]))
    mover = COLOURS[int(state["to_move"])]
    if not state["done"]:
        lines = [f"{mover} to move"]
    else:
        # If there is no winner, the text also says who would be next to move.
        lines = [f"over: {result(state)}" + ("" if state["rewards"].any() else f", {mover} to move")]
    lines.append("  " + "".join(f"{chr(ord('a') + column):>3}" for column in range(size)))
    for row in range(size):
        pieces = "".join(f"{piece_name(int(p)):>3}" for p in state["piece"][size * row : size * row + size])
        lines.append(f"{row + 1:>2}{pieces}")
    stashes = (f"{COLOURS[k]} {' '.join(str(n) for n in stash)}" for k, stash in enumerate(state["stash"]))
    lines.append(f"stashes: {', '.join(stashes)} (small, medium, large)")
    lines.append(f"ply {state['ply']}, occurred {state['occurred']}")
    if state["logged"]:
        moves = (read_entry(state, k) for k in range(state["logged"]))
        log = (f"{COLOURS[mover]} {names[where]} from {piece_name(was)}" for mover, was, where in moves)
        lines.append(f"since the last placement: {', '.join(log)}")
    if state["last_action"] != NONE:
        lines.append(f"last move: {last_move(state)}")
    return "\n".join(lines)


def result(state: Any) -> str:
    """Return the result of a finished game: `R wins with R2 on a1 b1 c1`, `R wins by forfeit`, `draw by repetition`."""
    winners = [COLOURS[player] for player in np.flatnonzero(state["rewards"] > 0)]
    if winners:
        names = cell_names(int(state["size"]))
        rows = [
            f"{piece_name(int(state['piece'][row[0]]))} on {' '.join(names[c] for c in row)}"
            for row in winning_rows(state)
        ]
        how = f"with {' and '.join(rows)}" if rows else "by forfeit"
        return f"{' and '.join(winners)} {'wins' if len(winners) == 1 else 'win'} {how}"
    if is_repeated(state):
        return "draw by repetition"
    return f"draw after {state['ply']} plies" if state["ply"] >= state["max_plies"] else "draw as nobody can move"


def ending(state: Any) -> str:
    """Return the reason why a finished game ended; see `Faces.ending`."""
    rows = [f"{len(row)} pyramids of one size {where(row, int(state['size']))}" for row in winning_rows(state)]
    if rows or state["rewards"].any():
        return " and ".join(rows) or "the other side made no legal choice"
    return {"draw by repetition": "the same position again", "draw as nobody can move": "nobody can move"}.get(
        result(state), f"{state['ply']} moves were made"
    )


def winning_rows(state: Any) -> list[list[int]]:
    """Return the cells of each winning row."""
    size, pieces = int(state["size"]), state["piece"]
    rows = rows_of(size, size, int(state["line"]))
    alone = [np.where(np.isin(np.arange(size * size), row), pieces, np.int8(EMPTY)) for row in rows]
    return [row.tolist() for row, board in zip(rows, alone, strict=True) if _lines(state, board)]


def _lines(state: Any, pieces: np.ndarray) -> list[int]:
    """Return the players with a line on a board with these pieces."""
    kinds = np.unique(pieces[pieces != EMPTY]).tolist()
    return sorted({owner_of(kind) for kind in kinds if has_line(pieces, kind, state["size"], state["line"])})


def last_move(state: Any) -> str:
    """Return the last move with its player, such as `R b2=3`."""
    cell = int(state["last_action"]) // SIZES
    name = action_names(int(state["size"]))[state["last_action"]]
    return f"{COLOURS[owner_of(int(state['piece'][cell]))]} {name}"


def parse_state(text: str, prototype: np.ndarray) -> np.ndarray:
    """Return the position, structured (1,), from a text of `format_state`. Options come from `prototype`.

    The text may lack the last move, and how the game ended. Raises ValueError, which names the wrong part.
    """
    lines = [line.strip() for line in text.strip().splitlines() if line.strip()] or [""]
    states = prototype.copy()
    state = states[0]
    last = lines.pop().removeprefix("last move:").strip() if lines[-1].startswith("last move:") else None
    size, players = int(state["size"]), len(state["stash"])
    names, colours = cell_names(size), COLOURS[:players]
    rows = [line.split()[1:] for line in lines[2 : 2 + size] if line.split()[0].isdecimal()]
    if len(rows) != size or any(len(row) != size for row in rows):
        raise ValueError(f"a position needs {size} numbered rows of {size} cells, each like '.' or 'R2'")
    state["piece"] = [_piece(word, colours) for row in rows for word in row]
    (left,) = stashes_of(states["piece"], players, int(state["pieces"]))
    for player, kind in np.argwhere(left < 0):
        raise ValueError(f"{COLOURS[player]} has only {state['pieces']} pieces of size {kind + 1}")
    state["stash"] = left
    rest = lines[2 + size :]
    if rest and rest[0].startswith("stashes:"):
        given = re.findall(r"\d+", rest[0])
        if given != [str(n) for n in state["stash"].ravel()]:
            raise ValueError(f"the stashes must be what is not on the board: {state['stash'].tolist()}")
        rest = rest[1:]
    facts = re.fullmatch(r"ply (\d{1,6}), occurred (\d)", rest[0] if rest else "")
    if not facts:
        raise ValueError(f"a line like 'ply 4, occurred 1' must follow the board, not {rest[0] if rest else ''!r}")
    state["ply"], state["occurred"] = int(facts[1]), int(facts[2])
    _read_log(state, rest[1:], names, colours)
    _read_turn(state, lines[0], colours)
    state["last_action"] = NONE if last is None else _last_action(state, last)
    return states


def _piece(word: str, colours: str) -> int:
    if word == ".":
        return EMPTY
    if len(word) == 2 and word[0] in colours and word[1] in "123":
        return SIZES * colours.index(word[0]) + int(word[1])
    raise ValueError(f"a cell is '.', or a colour of {', '.join(colours)} and a size from 1 to 3, not {word!r}")


def _read_log(state: Any, lines: list[str], names: list[str], colours: str) -> None:
    if not lines:
        return
    head, _, moves = lines[0].partition(":")
    if head != "since the last placement" or len(lines) > 1:
        raise ValueError(f"after the count of plies only 'since the last placement: ...' may stand, not {lines[0]!r}")
    words = [move.strip() for move in moves.split(",")]
    if len(words) > len(state["log"]) or not state["repetition_limit"]:
        raise ValueError(f"no game with these options remembers {len(words)} moves")
    for k, word in enumerate(words):
        read = re.fullmatch(r"(\w) (\w\d) from (\w\d)", word)
        if not read or read[1] not in colours or read[2] not in names:
            raise ValueError(f"a move since the last placement is like 'R b2 from B1', not {word!r}")
        state["log"][k] = entry(state, names.index(read[2]), _piece(read[3], colours), colours.index(read[1]))
    state["logged"] = len(words)


def _read_turn(state: Any, line: str, colours: str) -> None:
    on_board = int((state["piece"] != EMPTY).sum())
    least = on_board + int(state["logged"])
    if not least <= state["ply"] <= state["max_plies"]:
        raise ValueError(f"the pieces and the moves after them take from {least} to {state['max_plies']} plies")
    _check_first_turns(state, len(colours))
    how = r"(?P<how> (?:by|with|after|as) [^,]+)?"
    form = rf"(?P<over>over: (?P<draw>draw{how}, )?)?(?P<who>\w) (?P<what>to move|wins)(?P<with> with .+)?"
    read = re.fullmatch(form, line)
    if not read or read["who"] not in colours or (read["what"] == "wins") != bool(read["over"] and not read["draw"]):
        raise ValueError(
            f"the first line must be like 'R to move', 'over: R wins' or 'over: draw, R to move': {line!r}"
        )
    who = state["to_move"] = colours.index(read["who"])
    times = occurrences(state) if state["repetition_limit"] else 1
    if state["occurred"] != times:
        raise ValueError(f"by the moves since the last placement the position has occurred {times} times")
    if times > max(state["repetition_limit"], 1):
        raise ValueError(f"the game was over before the position occurred {times} times")
    lines = _lines(state, state["piece"])
    if read["what"] == "wins":
        if lines != [who]:
            raise ValueError(f"{read['who']} must have a line, and nobody else")
        win(state, who)
        _check_result(state, read["with"] and f"{read['who']} wins{read['with']}")
        return
    if lines:
        raise ValueError(f"{COLOURS[lines[0]]} has a line, so the first line must say that it is over")
    stuck = not any(can_move(state, player) for player in range(len(colours)))
    if (is_repeated(state) or state["ply"] == state["max_plies"] or stuck) != bool(read["over"]):
        raise ValueError("whether it is over must fit the count of plies and of occurrences")
    if not stuck and not can_move(state, who):
        raise ValueError(f"{read['who']} has no legal move, so it is another player's turn")
    if read["with"]:
        raise ValueError(f"a player to move has no line: {line!r}")
    state["done"] = bool(read["over"])
    _check_result(state, read["how"] and f"draw{read['how']}")


def _check_result(state: Any, given: str | None) -> None:
    if given and given != result(state):
        raise ValueError(f"the first line must say 'over: {result(state)}', as the board has it, not {given!r}")


def _last_action(state: Any, words: str) -> int:
    """Return the action of the last move; the piece must be there, and match the former contents."""
    player, _, name = words.partition(" ")
    names = action_names(int(state["size"]))
    if name not in names:
        raise ValueError(f"the last move must be like 'R {names[0]}', not {words!r}")
    action = names.index(name)
    piece = int(state["piece"][action // SIZES])
    if piece == EMPTY or piece_name(piece) != f"{player}{action % SIZES + 1}":
        raise ValueError(f"{words!r} was not the last move: there stands {piece_name(piece)!r}")
    if state["logged"] and read_entry(state, int(state["logged"]) - 1)[2] != action // SIZES:
        raise ValueError(f"{words!r} was not the last move: another one is remembered")
    return action


def _check_first_turns(state: Any, players: int) -> None:
    first = min(int(state["ply"]), players)
    pieces = sorted(state["piece"][state["piece"] != EMPTY].tolist())
    if len(pieces) < first:
        raise ValueError(
            f"each player's first turn places a piece, so after ply {first} there are {first} on the board"
        )
    for player, piece in enumerate(pieces if state["ply"] <= players else ()):
        sizes = SIZES_FOR[FIRST_TURN, player, EMPTY]
        if owner_of(piece) != player or not sizes >> size_of(piece) - 1 & 1:
            raise ValueError(f"after {first} plies {COLOURS[player]} has one piece on the board, as it is first placed")
