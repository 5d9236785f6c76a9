"""The rules of Super Tic-Tac-Toe, and nothing else.

Nine small boards of nine cells, numbered row-major. Action 9*b + c puts the player's mark in cell c of board b and
sends the opponent to board c. Source of the rules: Julia Robinson Mathematics Festival, Game of the Week.

A set of cells, or of small boards, is a number whose bit k is set if k is in it; `text.py` converts sets to arrays.
"""

# mypy: disable-error-code="no-untyped-def"

import numpy as np

from ttt_envs.core import rng
from ttt_envs.core.compile.bits import set_size, write_set
from ttt_envs.core.compile.jit import allocates_nothing, kernel
from ttt_envs.core.lines import lines
from ttt_envs.core.loops import refuse
from ttt_envs.core.state import between, option, state_dtype

ANYWHERE = -1
NONE = -1
CENTER = 4
ALL = 0b111_111_111

# 16 marks cannot win: a win takes three lines of three, so nine marks of one player, at the 17th ply at the earliest.
MOST_OPENING_PLIES = 16

STATE = state_dtype(
    players=2,
    fields=[
        ("marks", np.int16, (2, 9), between(0, ALL)),  # [player, small board]: the cells that hold their mark
        ("owned", np.int16, (2,), between(0, ALL)),  # the small boards that each player owns
        ("playable", np.int16, between(0, ALL)),  # the small boards that a mark may be put into at all
        ("target", np.int8, between(ANYWHERE, 8)),  # board that must be played in, or ANYWHERE
        ("closed", np.bool_, option(0, 1)),  # option won_boards="closed"
        ("center_first", np.bool_, option(0, 1)),  # option first_move="center_board"
        ("random_opening_plies", np.int8, option(0, MOST_OPENING_PLIES)),  # option of that name
    ],
    shown=[("last_action", np.int8, between(NONE, 80))],  # the action of the last move, or NONE
)

#: MEMBERS[set, k]: whether k is in the set, bool (512, 9).
MEMBERS: np.ndarray = (np.arange(512)[:, None] >> np.arange(9) & 1).astype(np.bool_)

#: HAS_LINE[set]: whether three members of the set are in a row, bool (512,).
HAS_LINE: np.ndarray = np.any(np.all(MEMBERS[:, lines(3, 3, 3)], axis=2), axis=1)

_NTH = np.argsort(~MEMBERS, axis=1, kind="stable").astype(np.int8)  # [set, n]: its n-th member, from the 0th on


@kernel
@allocates_nothing
def reset(state, seed):
    """Begin with an empty board and X, player 0, to move; or with the board after some random plies."""
    rng.start(state, seed)
    state["last_action"] = NONE
    state["playable"] = ALL
    state["target"] = CENTER if state["center_first"] else ANYWHERE
    for _ in range(state["random_opening_plies"]):
        put(state, nth_action(state, rng.below(state, number_of_actions(state))))
        state["ply"] += 1


@kernel
@allocates_nothing
def legal_mask(state, player, out):
    """Write the legal actions: the empty cells of the target board, or of all boards if it is not playable."""
    boards = targets(state) if player == state["to_move"] else np.int64(0)
    for board in range(9):
        write_set(open_cells(state, boards, board), 9, out, 9 * board)


@kernel
def open_cells(state, boards, board):
    """Return the legal cells of a small board: its empty ones, or none if it is not in the set `boards`."""
    return empty(state, board) * (boards >> board & 1)


@kernel
def targets(state):
    """Return the boards that are legal for the next mark: the last move's target, or all playable boards."""
    return np.int64(state["playable"]) if state["target"] == ANYWHERE else np.int64(1) << np.int64(state["target"])


@kernel
def empty(state, board):
    """Return the empty cells of a small board."""
    return ALL & ~(np.int64(state["marks"][0, board]) | np.int64(state["marks"][1, board]))


@kernel
@allocates_nothing
def step(state, actions):
    """Put a mark, settle who owns the board and who has won, and send the opponent to a board."""
    player = np.int64(state["to_move"])
    if is_legal(state, player, actions[player]):
        put(state, actions[player])
    else:
        refuse(state)


@kernel
def put(state, action):
    """Play a legal action: place the mark, then settle the board's owner, the end of the game and the next target."""
    player, board, cell = np.int64(state["to_move"]), action // 9, action % 9
    state["last_action"] = action
    state["marks"][player, board] |= 1 << cell
    state["to_move"] = 1 - player
    if HAS_LINE[state["marks"][player, board]] and not is_owned(state, board):
        state["owned"][player] |= 1 << board
        if HAS_LINE[state["owned"][player]]:
            state["done"] = True
            state["rewards"][player] = 1
            state["rewards"][1 - player] = -1
    # A full board is not playable; with closed boards, neither is an owned one.
    if empty(state, board) == 0 or (state["closed"] and is_owned(state, board)):
        state["playable"] &= ~(1 << board)
    # The cell gives the next board. Its empty cells are tested because `playable` can contain a full board in a state
    # that was set from outside.
    sent = state["playable"] >> cell & 1 != 0 and empty(state, cell) != 0
    state["target"] = cell if sent and not state["done"] else ANYWHERE
    # Without a legal action, the game is a draw.
    state["done"] = state["done"] or (not sent and number_of_actions(state) == 0)


@kernel
def is_owned(state, board):
    """Return whether this small board is owned."""
    return ((state["owned"][0] | state["owned"][1]) >> board & 1) != 0


@kernel
@allocates_nothing
def is_legal(state, player, action):
    """Return `mask[action]` of `legal_mask` without computing the whole mask: searches are 1.7 times as fast."""
    if player != state["to_move"] or state["done"] or not 0 <= action < 81:
        return False
    return open_cells(state, targets(state), action // 9) >> action % 9 & 1 != 0


@kernel
@allocates_nothing
def random_action(state, player, x):
    """Return `rng.choose(mask, x)` without computing the legal mask: searches are twice as fast."""
    return nth_action(state, rng.scale(x, number_of_actions(state)))


@kernel
def number_of_actions(state):
    """Return the number of legal actions."""
    if state["target"] != ANYWHERE:
        return np.int64(set_size(empty(state, state["target"])))
    number = np.int64(0)
    for board in range(9):
        number += np.int64(set_size(open_cells(state, targets(state), board)))
    return number


@kernel
def nth_action(state, skip):
    """Return the legal action that follows `skip` smaller ones, as `rng.entry(mask, skip)` does for the legal mask."""
    boards, board = targets(state), np.int64(max(state["target"], 0))
    here = np.int64(set_size(open_cells(state, boards, board)))
    while skip >= here and board < 8:
        skip -= here
        board += 1
        here = np.int64(set_size(open_cells(state, boards, board)))
    return 9 * board + np.int64(_NTH[empty(state, board), skip])


@kernel
def resample(state, player, seed):
    """Change nothing: no information is hidden, and only the opening is random."""
    rng.start(state, seed)
