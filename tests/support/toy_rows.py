"""Tic-tac-toe on a square board with any number in a row, as its author would write it: the solver's test game.

`misere`: a row loses. `again`: after a mark a coin is tossed, and with one chance in `again` the same player goes on.
"""

from functools import cache

import numpy as np

from ttt_envs.dev import (
    Block,
    Extras,
    Faces,
    Game,
    Kernels,
    Symmetry,
    allocates_nothing,
    between,
    kernel,
    option,
    refuse,
    rng,
    rotate_header,
    solved_oracle,
    state_dtype,
    whole,
)

DIRECTIONS = np.array([(0, 1), (1, 0), (1, 1), (1, -1)])


@cache
def dtype_for(size):
    return state_dtype(
        players=2,
        fields=[
            ("cells", np.int8, (size, size), between(0, 2)),
            ("line", np.int8, option(3, 6)),
            ("misere", np.bool_, option(0, 1)),
            ("again", np.int8, option(0, 100)),
        ],
    )


@kernel
def reset(state, seed):
    rng.start(state, seed)


@kernel
@allocates_nothing
def legal_mask(state, player, out):
    size = state["cells"].shape[0]
    for cell in range(size * size):
        out[cell] = player == state["to_move"] and state["cells"][cell // size, cell % size] == 0


@kernel
def step(state, actions):
    player, size = np.int64(state["to_move"]), state["cells"].shape[0]
    cell = actions[player]
    if not 0 <= cell < size * size or state["cells"][cell // size, cell % size] != 0:
        refuse(state)
        return
    state["cells"][cell // size, cell % size] = player + 1
    if has_row(state, cell // size, cell % size):
        state["done"] = True
        winner = 1 - player if state["misere"] else player
        state["rewards"][winner], state["rewards"][1 - winner] = 1, -1
    elif state["cells"].all():
        state["done"] = True
    elif state["again"] == 0 or rng.below(state, state["again"]) > 0:
        state["to_move"] = 1 - player


@kernel
def has_row(state, row, column):
    for k in range(len(DIRECTIONS)):
        down, right = DIRECTIONS[k, 0], DIRECTIONS[k, 1]
        if 1 + run(state, (row, column), (down, right)) + run(state, (row, column), (-down, -right)) >= state["line"]:
            return True
    return False


@kernel
def run(state, start, direction):
    row, column = start
    size, colour, length = state["cells"].shape[0], state["cells"][row, column], 0
    row, column = row + direction[0], column + direction[1]
    while 0 <= row < size and 0 <= column < size and state["cells"][row, column] == colour:
        length += 1
        row, column = row + direction[0], column + direction[1]
    return length


@kernel
@allocates_nothing
def observe(state, player, out):
    size = state["cells"].shape[0]
    for cell in range(size * size):
        mark = state["cells"][cell // size, cell % size]
        out[cell] = mark == player + 1
        out[size * size + cell] = mark == 2 - player
    out[2 * size * size] = state["to_move"] == player


@kernel
def resample(state, player, seed):
    rng.start(state, seed)


def symmetries(size):
    board = np.arange(size * size).reshape(size, size)
    found = []
    for turns in range(4):
        for mirrored in (False, True):
            images = np.rot90(board[:, ::-1] if mirrored else board, turns).ravel()

            def turned(states, images=images):
                new = states.copy()
                new["cells"] = states["cells"].reshape(len(states), -1)[:, images].reshape(states["cells"].shape)
                return new

            features = np.concatenate([images, size * size + images, [2 * size * size]])
            found.append(Symmetry(f"{turns} turns{' of the mirror image' * mirrored}", images, features, turned))
    return tuple(found)


def rotate_players(states):
    new = rotate_header(states)
    new["cells"] = np.array([0, 2, 1])[states["cells"]]
    return new


def format_state(state, viewer=None):
    rows = [" ".join(".XO"[mark] for mark in row) for row in state["cells"]]
    result = ("X wins", "O wins")[int(state["rewards"].argmax())] if state["rewards"].any() else "draw"
    return "\n".join([result if state["done"] else f"{'XO'[state['to_move']]} to move", *rows])


def make(*, size: int = 3, line: int | None = None, misere: bool = False, again: int = 0) -> Game:
    prototype = np.zeros(1, dtype_for(whole("size", size, 3, 6)))
    line = whole("line", size if line is None else line, 3, size)
    prototype["line"], prototype["misere"], prototype["again"] = line, misere, again
    cells = size * size
    options = {"size": size, "line": line, "misere": misere, "again": again}
    return Game(
        id="toy_rows",
        title="Rows",
        options=options,
        factory=make,
        prototype=prototype,
        action_names=tuple(f"{'abcdef'[cell % size]}{cell // size + 1}" for cell in range(cells)),
        observation_layout=(Block("own", (cells,), ""), Block("theirs", (cells,), ""), Block("to move", (1,), "")),
        simultaneous=False,
        chance="play" if again else "none",
        hidden_information=False,
        max_plies=cells,
        teams=((0,), (1,)),
        rotate_players=rotate_players,
        kernels=Kernels(reset, legal_mask, step, observe, resample),
        faces=Faces(format_state=format_state, read_state=NotImplemented, draw=NotImplemented, action_format="a cell"),
        extras=Extras(symmetries=lambda: symmetries(size), oracle=lambda: solved_oracle(make(**options))),
    )
