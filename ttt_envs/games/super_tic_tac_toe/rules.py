"""The rules of Super Tic-Tac-Toe, and nothing else.

Nine small boards of nine cells, numbered row-major. Action 9*b + c puts the mover's mark into cell c of board b and
sends the opponent to board c. Source of the rules: Julia Robinson Mathematics Festival, Game of the Week.
"""

# mypy: disable-error-code="no-untyped-def"

import numpy as np

from ttt_envs.core import rng
from ttt_envs.core.jit import allocates_nothing, kernel
from ttt_envs.core.lines import lines_through
from ttt_envs.core.loops import refuse
from ttt_envs.core.state import between, option, state_dtype

EMPTY = 0
ANYWHERE = -1
NONE = -1
CENTER = 4

# 16 marks cannot win: that takes three lines of three, so nine marks of one player, the 17th ply at the earliest.
MOST_OPENING_PLIES = 16

STATE = state_dtype(
    players=2,
    fields=[
        ("cells", np.int8, (9, 9), between(EMPTY, 2)),  # [small board, cell]: EMPTY or player + 1
        ("owner", np.int8, (9,), between(EMPTY, 2)),  # of each small board: EMPTY or player + 1
        ("filled", np.int8, (9,), between(0, 9)),  # marks in each small board
        ("target", np.int8, between(ANYWHERE, 8)),  # board that must be played in, or ANYWHERE
        ("closed", np.bool_, option(0, 1)),  # option won_boards="closed"
        ("center_first", np.bool_, option(0, 1)),  # option first_move="center_board"
        ("random_opening_plies", np.int8, option(0, MOST_OPENING_PLIES)),  # option of that name
    ],
    shown=[("last_action", np.int8, between(NONE, 80))],  # the newest mark's, or NONE
)

THROUGH = lines_through(3, 3, 3)


@kernel
def reset(state, seed):
    """The empty board, or one after some random plies."""
    rng.start(state, seed)
    state["last_action"] = NONE
    state["target"] = CENTER if state["center_first"] else ANYWHERE
    legal = np.empty(81, np.bool_)
    actions = np.empty(2, np.int64)
    for _ in range(state["random_opening_plies"]):
        legal_mask(state, np.int64(state["to_move"]), legal)
        actions[:] = rng.pick(state, legal)
        step(state, actions)
        state["ply"] += 1


@kernel
@allocates_nothing
def legal_mask(state, player, out):
    """Empty cells of the board that the last move points to; if it is not playable, of all playable boards."""
    out[:] = False
    if player != state["to_move"]:
        return
    for board in range(9):
        if is_target(state, board):
            for cell in range(9):
                out[9 * board + cell] = state["cells"][board, cell] == EMPTY


@kernel
@allocates_nothing
def is_legal(state, player, action):
    """Whether the player may put a mark into this cell now."""
    if player != state["to_move"] or state["done"] or not 0 <= action < 81:
        return False
    return is_target(state, action // 9) and state["cells"][action // 9, action % 9] == EMPTY


@kernel
@allocates_nothing
def random_action(state, x):
    """The action that `x` chooses among the legal ones, each equally likely."""
    board = np.int64(state["target"])
    if board == ANYWHERE:
        board, skip = nth_free(state, rng.scale(x, free_cells(state)))
    else:
        skip = rng.scale(x, 9 - state["filled"][board])
    for cell in range(9):
        skip -= state["cells"][board, cell] == EMPTY
        if skip < 0:
            return 9 * board + cell
    return -1


@kernel
@allocates_nothing
def free_cells(state):
    """The number of cells in which a mark may be put at all."""
    free = 0
    for board in range(9):
        free += (9 - state["filled"][board]) * playable(state, board)
    return free


@kernel
@allocates_nothing
def nth_free(state, skip):
    """The small board that holds the free cell after `skip` others, and how many of its own come before it."""
    for board in range(9):
        here = (9 - state["filled"][board]) * playable(state, board)
        if skip < here:
            return board, skip
        skip -= here
    return 0, skip


@kernel
def is_target(state, board):
    """Whether the next mark may be put into this small board."""
    return state["target"] == board or (state["target"] == ANYWHERE and playable(state, board))


@kernel
@allocates_nothing
def step(state, actions):
    """Put a mark, see who owns the board and who has won, and send the opponent to a board."""
    player = np.int64(state["to_move"])
    if not is_legal(state, player, actions[player]):
        refuse(state)
        return
    board, cell = actions[player] // 9, actions[player] % 9
    state["last_action"] = actions[player]
    state["cells"][board, cell] = player + 1
    state["filled"][board] += 1
    state["to_move"] = 1 - player
    if state["owner"][board] == EMPTY and completes_line(state["cells"][board], cell):
        state["owner"][board] = player + 1
        if completes_line(state["owner"], board):
            state["done"] = True
            state["rewards"][player] = 1
            state["rewards"][1 - player] = -1
    sent = playable(state, cell)
    state["done"] = state["done"] or not (sent or any_playable(state))
    state["target"] = cell if sent and not state["done"] else ANYWHERE


@kernel
def playable(state, board):
    """Whether a mark may be put into this small board at all."""
    return state["filled"][board] < 9 and not (state["closed"] and state["owner"][board] != EMPTY)


@kernel
def any_playable(state):
    """Whether a mark may be put anywhere."""
    for board in range(9):
        if playable(state, board):
            return True
    return False


@kernel
def completes_line(cells, cell):
    """Whether the mark in `cell` is part of three equal marks in a row, among nine cells."""
    for line in range(THROUGH.shape[1]):
        if cells[THROUGH[cell, line, 0]] == cells[cell] and cells[THROUGH[cell, line, 1]] == cells[cell]:
            return True
    return False


@kernel
def resample(state, player, seed):
    """Nothing is hidden, and chance is over once the opening is played."""
    rng.start(state, seed)
