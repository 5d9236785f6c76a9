"""Positions and actions of Connect Four as text, both ways."""

from typing import Any

import numpy as np

from .rules import EMPTY, connects

DISCS = ".XO"


def action_names(columns: int) -> tuple[str, ...]:
    """Return the letters of the columns."""
    return tuple("abcdefgh"[:columns])


def format_state(state: Any, viewer: int | None = None) -> str:
    """Return a position as text, the same for every viewer: turn or result, rows from the top, column letters."""
    if not state["done"]:
        first = f"{'XO'[state['to_move']]} to move"
    elif state["rewards"].any():
        first = f"{'XO'[int(state['rewards'].argmax())]} wins"
    else:
        first = "draw"
    rows = [" ".join(DISCS[disc] for disc in row) for row in state["cells"]]
    return "\n".join([first, *rows, " ".join(action_names(state["cells"].shape[1]))])


def parse_state(text: str, prototype: np.ndarray) -> np.ndarray:
    """Return the position of a text made by `format_state`: structured (1,). ValueError if it is none."""
    states = prototype.copy()
    state = states[0]
    height, width = state["cells"].shape
    lines = text.strip().splitlines()
    rows = [line.split() for line in lines[1 : height + 1]]
    if len(rows) != height or any(len(row) != width or not set(row) <= set(DISCS) for row in rows):
        raise ValueError(f"a position needs a first line and {height} rows of {width} of '.', 'X' and 'O'")
    state["cells"] = [[DISCS.index(disc) for disc in row] for row in rows]
    filled = state["cells"] != EMPTY
    discs = [int((state["cells"] == player + 1).sum()) for player in (0, 1)]
    if (filled[:-1] & ~filled[1:]).any() or discs[0] - discs[1] not in (0, 1):
        raise ValueError("a disc has nothing below it, or the players do not have as many discs as turns")
    state["ply"] = sum(discs)
    state["to_move"] = discs[0] - discs[1]
    lines_of = [int(state["cells"][cell]) for cell in zip(*np.nonzero(filled), strict=True) if connects(state, *cell)]
    if lines_of:
        winner = lines_of[0] - 1
        state["rewards"] = [1 - 2 * winner, 2 * winner - 1]
    state["done"] = bool(lines_of) or filled.all()
    if format_state(state).splitlines()[0] != lines[0].strip():
        raise ValueError(f"the first line must be {format_state(state).splitlines()[0]!r}, not {lines[0].strip()!r}")
    return states
