"""The observation features of Connect Four, 0 or 1, from the observer's side: 85 of them with 6 rows and 7 columns."""

import numpy as np

from ttt_envs.dev import Block, allocates_nothing, kernel


def blocks(rows: int, columns: int) -> tuple[Block, ...]:
    """Return the blocks of an observation."""
    grid = np.arange(rows * columns).reshape(1, rows, columns)
    return (
        Block("own discs", (rows, columns), "my disc in [row, column]", grid),
        Block("opponent's discs", (rows, columns), "the opponent's disc in [row, column]", grid),
        Block("to move", (1,), "it is my turn"),
    )


@kernel
@allocates_nothing
def observe(state, player, out):
    """Fill `out`, int8 (features,), with the blocks in their order."""
    rows, columns = state["cells"].shape
    for row in range(rows):
        for column in range(columns):
            disc = state["cells"][row, column]
            out[columns * row + column] = disc == player + 1
            out[columns * (rows + row) + column] = disc == 2 - player
    out[2 * rows * columns] = state["to_move"] == player
