"""The rules of Connect Four, and nothing else. Action c drops a disc into column c; four in a row win."""

from functools import cache

import numpy as np

from ttt_envs.dev import allocates_nothing, between, kernel, option, refuse, rng, state_dtype

EMPTY = 0

DIRECTIONS = np.array([(0, 1), (1, 0), (1, 1), (1, -1)])


@cache
def state_dtype_for(rows: int, columns: int) -> np.dtype:
    """Return the dtype of states on a board of that size."""
    return state_dtype(
        players=2,
        fields=[
            ("cells", np.int8, (rows, columns), between(EMPTY, 2)),  # EMPTY or player + 1; row 0 is the top
            ("line", np.int8, option(3, 5)),  # option of that name
        ],
    )


@kernel
def reset(state, seed):
    """The empty board."""
    rng.start(state, seed)


@kernel
@allocates_nothing
def legal_mask(state, player, out):
    """The columns that are not full."""
    for column in range(state["cells"].shape[1]):
        out[column] = player == state["to_move"] and has_room(state, column)


@kernel
def has_room(state, column):
    """Return whether this is a column in which a disc can be dropped."""
    return 0 <= column < state["cells"].shape[1] and state["cells"][0, column] == EMPTY


@kernel
def step(state, actions):
    """Drop a disc, and see whether it wins or fills the board."""
    player = state["to_move"]
    column = actions[player]
    if not has_room(state, column):
        refuse(state)
        return
    row = state["cells"].shape[0] - 1
    while state["cells"][row, column] != EMPTY:
        row -= 1
    state["cells"][row, column] = player + 1
    state["to_move"] = 1 - player
    if connects(state, row, column):
        state["done"] = True
        state["rewards"][player] = 1
        state["rewards"][1 - player] = -1
    elif state["cells"][0].all():  # no column has room
        state["done"] = True


@kernel
def connects(state, row, column):
    """Return whether the disc there is one of `line` discs of its colour in a row."""
    for k in range(len(DIRECTIONS)):
        down, right = DIRECTIONS[k, 0], DIRECTIONS[k, 1]
        if 1 + run(state, (row, column), (down, right)) + run(state, (row, column), (-down, -right)) >= state["line"]:
            return True
    return False


@kernel
def run(state, start, direction):
    """Return the number of discs of the same colour that follow the one at `start` in a direction."""
    row, column = start
    rows, columns = state["cells"].shape
    colour, length = state["cells"][row, column], 0
    row, column = row + direction[0], column + direction[1]
    while 0 <= row < rows and 0 <= column < columns and state["cells"][row, column] == colour:
        length += 1
        row, column = row + direction[0], column + direction[1]
    return length


@kernel
def resample(state, player, seed):
    """Replace the generator, which must not be the true one: nothing is hidden and nothing is drawn."""
    rng.start(state, seed)
