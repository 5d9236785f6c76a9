"""The observation features of Connect Four: 85 of them, 0 or 1, from the observer's side."""

import numpy as np

from ttt_envs.dev import Block, allocates_nothing, kernel

from .rules import COLUMNS, ROWS

CELLS = ROWS * COLUMNS
_GRID = np.arange(CELLS).reshape(1, ROWS, COLUMNS)

BLOCKS = (
    Block("own discs", (ROWS, COLUMNS), "my disc in [row, column]", _GRID),
    Block("opponent's discs", (ROWS, COLUMNS), "the opponent's disc in [row, column]", _GRID),
    Block("to move", (1,), "it is my turn"),
)


@kernel
@allocates_nothing
def observe(state, player, out):
    """Fill `out` int8 (85,) with the BLOCKS in their order."""
    for row in range(ROWS):
        for column in range(COLUMNS):
            disc = state["cells"][row, column]
            out[COLUMNS * row + column] = disc == player + 1
            out[CELLS + COLUMNS * row + column] = disc == 2 - player
    out[2 * CELLS] = state["to_move"] == player
