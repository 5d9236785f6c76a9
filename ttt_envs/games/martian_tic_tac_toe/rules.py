"""The rules of Martian Tic-Tac-Toe, and nothing else.

A square board and pyramids of three sizes. Action 3*cell + (size-1) puts a pyramid of this size from the player's stash
in a cell, where it replaces a pyramid if there is one. Cells are numbered row-major. Source of the rules: Chris
Goodwin, "Martian Tic-Tac-Toe", Looney Pyramid Games Wiki.

A position that occurs too often is a draw, so a state must know its past. An occupied cell is never empty again, so
only positions since the last placement in an empty cell can occur again. A log keeps the pieces that the moves since
then have replaced; to count occurrences, these moves are taken back one by one. The log needs one or two bytes per ply,
and a placement in an empty cell clears it. The log has room for `usual_plies` moves, whatever `max_plies` is, because
kernels must be compiled again for a log of another size. In a longer game, the log forgets its oldest moves.
"""

# mypy: disable-error-code="no-untyped-def"

from functools import cache

import numpy as np

from ttt_envs.core import rng
from ttt_envs.core.compile.bits import where_equal, write_set
from ttt_envs.core.compile.jit import allocates_nothing, inlined, kernel
from ttt_envs.core.lines import has_row
from ttt_envs.core.loops import refuse
from ttt_envs.core.state import between, option, state_dtype

EMPTY = 0
NONE = -1
SMALL, SIZES = 1, 3

#: The largest value of the option repetition_limit.
MOST_OCCURRENCES = 9

#: The largest value of the option max_plies.
MOST_PLIES = 65535

#: The largest number of players.
MOST_PLAYERS = 4

# The rules for putting a piece: without and with the option same_size_swap, and on a player's first turn.
USUAL, SAME_SIZE_TOO, FIRST_TURN = np.arange(3)


def _sizes_for(rule: int, player: int, piece: int) -> int:
    """Return the set of sizes that may replace a piece: bit s - 1 stands for size s."""
    size, owner = (piece - 1) % SIZES + 1, (piece - 1) // SIZES
    if piece == EMPTY:  # place a small piece
        sizes = {SMALL}
    elif rule == FIRST_TURN:
        sizes = set()
    elif owner == player:  # swap: up to one size larger or any size smaller
        sizes = {*range(SMALL, size), size + 1} | ({size} if rule == SAME_SIZE_TOO else set())
    else:  # capture: exactly one size larger
        sizes = {size + 1}
    return sum(1 << each - 1 for each in sizes if each <= SIZES)


#: `_sizes_for` as a table, int64 [rule, player, piece], which makes searches twice as fast.
SIZES_FOR = np.vectorize(_sizes_for)(*np.ogrid[:3, :MOST_PLAYERS, : SIZES * MOST_PLAYERS + 1])

# Number of cells whose actions are written together as one set.
_TOGETHER = 16


def row_length(size: int) -> int:
    """Return the number of pieces in a row that wins, which is also each player's number of pieces of each size."""
    return min(size, 5)


def usual_plies(size: int) -> int:
    """Return the default of the option max_plies, which is also the largest number of moves in the log."""
    return 300 if size == 3 else 25 * size * size


@cache
def state_dtype_for(size: int, players: int, remembers: bool) -> np.dtype:
    """Return the dtype of states; `remembers`: whether repetitions are counted, which requires a log."""
    cells, remembered = size * size, usual_plies(size) if remembers else 1
    entries = cells * (SIZES * players + 1) * players
    return state_dtype(
        players=players,
        fields=[
            # Each cell: EMPTY, or SIZES * player + size, with sizes from 1 to 3.
            ("piece", np.int8, (cells,), between(EMPTY, SIZES * players)),
            ("stash", np.int8, (players, SIZES), between(0, "pieces")),  # pieces of each size that a player has left
            # Number of occurrences of this board with this player to move, including now.
            ("occurred", np.int8, between(1, MOST_OCCURRENCES)),
            ("logged", np.int32, between(0, remembered)),  # moves in the log
            ("log", np.uint8 if entries <= 256 else np.uint16, (remembered,), between(0, entries - 1)),  # see `entry`
            ("size", np.int8, option(size, size)),  # option of that name
            ("line", np.int8, option(3, 5)),  # pieces in a row that win: the size, at most 5
            ("pieces", np.int8, option(3, 5)),  # each player's pieces of each size, as many as `line`
            ("repetition_limit", np.int8, option(0, MOST_OCCURRENCES)),  # option of that name; 0 for none
            ("max_plies", np.int32, option(players, MOST_PLIES)),  # option of that name
            ("same_size_swap", np.bool_, option(0, 1)),  # option of that name
        ],
        shown=[("last_action", np.int16, between(NONE, SIZES * cells - 1))],  # the last move, or NONE
    )


@kernel
def reset(state, seed):
    """Begin with an empty board and full stashes."""
    rng.start(state, seed)
    state["last_action"] = NONE
    state["stash"][:] = state["pieces"]
    state["occurred"] = 1


@kernel
@allocates_nothing
def legal_mask(state, player, out):
    """Write the legal actions: each cell with each size that the player may put in it."""
    cells = state["piece"].shape[0]
    for first in range(0, cells, _TOGETHER):
        moves, beyond = np.int64(0), min(first + _TOGETHER, cells)
        if player == state["to_move"]:
            for cell in range(first, beyond):
                moves |= sizes_for(state, player, cell) << SIZES * (cell - first)
        write_set(moves, SIZES * (beyond - first), out, SIZES * first)


@kernel
@inlined
def sizes_for(state, player, cell):
    """Return the set of sizes that the player could put in the cell if it were the player's turn."""
    rule = rule_for(state["ply"], state["stash"].shape[0], state["same_size_swap"])
    in_stash = np.int64(0)
    for size in range(SIZES):
        in_stash |= np.int64(state["stash"][player, size] > 0) << size
    return in_stash & SIZES_FOR[rule, player, np.uint8(state["piece"][cell])]  # unsigned indices are faster


@kernel
def rule_for(ply, players, same_size_swap):
    """Return FIRST_TURN in the players' first turns, in which nobody passes; then the option's rule."""
    return FIRST_TURN if ply < players else np.int64(same_size_swap)


@kernel
@allocates_nothing
def step(state, actions):
    """Put a piece, return a replaced piece to its stash, and settle a win, a draw, or who moves next."""
    player = np.int64(state["to_move"])
    cell, size = actions[player] // SIZES, actions[player] % SIZES + 1
    if not 0 <= cell < state["piece"].shape[0] or sizes_for(state, player, cell) >> (size - 1) & 1 == 0:
        refuse(state)
        return
    replaced = state["piece"][cell]
    state["last_action"] = actions[player]
    if replaced != EMPTY:  # back to its owner's stash
        state["stash"][owner_of(replaced), size_of(replaced) - 1] += 1
    state["stash"][player, size - 1] -= 1
    state["piece"][cell] = SIZES * player + size
    if completes_line(state, cell):
        win(state, player)
    else:
        next_player(state)
    remember(state, cell, replaced, player)
    if is_repeated(state) or state["ply"] + 1 >= state["max_plies"]:
        state["done"] = True


@kernel
def completes_line(state, cell):
    """Return whether the piece just put in `cell` completes a line, which needs all its player's pieces of its size."""
    return has_line(state["piece"], state["piece"][cell], state["size"], state["line"])


@kernel
@inlined
def has_line(pieces, piece, size, line):
    """Return whether `line` cells in a row contain `piece`, the same size of the same player; pieces: int8 (cells,)."""
    return has_row(where_equal(pieces, piece), size, line)


@kernel
def win(state, player):
    """End the game: the player gets 1, and the others share -1."""
    state["done"] = True
    players = state["stash"].shape[0]
    for each in range(players):
        state["rewards"][each] = 1 if each == player else -1 / (players - 1)


@kernel
def next_player(state):
    """Give the turn to the next player with a legal move; if no player has one, end the game as a draw."""
    mover, players = np.int64(state["to_move"]), state["stash"].shape[0]
    for k in range(1, players + 1):
        player = (mover + k) % players
        # `ply` is not increased yet, so after the last first turn `can_move` still looks for an empty cell. There is
        # one.
        if can_move(state, player):
            state["to_move"] = player
            return
    state["done"] = True


@kernel
def can_move(state, player):
    """Return whether the player would have a legal move if it were the player's turn."""
    for cell in range(state["piece"].shape[0]):
        if sizes_for(state, player, cell) != 0:
            return True
    return False


@kernel
def remember(state, cell, replaced, player):
    """Add the move of `player` to the log, and count the occurrences of the position."""
    state["occurred"] = 1
    if state["repetition_limit"] == 0:
        return
    if replaced == EMPTY:
        for k in range(state["logged"]):
            state["log"][k] = 0
        state["logged"] = 0
        return
    if state["logged"] == state["log"].shape[0]:
        forget_oldest(state)
    state["log"][state["logged"]] = entry(state, cell, replaced, player)
    state["logged"] += 1
    state["occurred"] = occurrences(state)


@kernel
def is_repeated(state):
    """Return whether the number of occurrences of the position makes the game a draw."""
    return 0 < state["repetition_limit"] <= state["occurred"]


@kernel
def forget_oldest(state):
    """Remove the oldest move, so that the log has room for a move at its end."""
    state["logged"] -= 1
    for k in range(state["logged"]):
        state["log"][k] = state["log"][k + 1]


@kernel
def occurrences(state):
    """Return how often this board with this player to move has occurred in the log, including now.

    The result is at most MOST_OCCURRENCES, after which no game continues.
    """
    times = 1
    differ = np.uint64(0)  # bit c: with the moves from k on taken back, cell c differs from now
    for k in range(state["logged"] - 1, -1, -1):
        mover, was, where = read_entry(state, k)
        differs = np.uint64(was != state["piece"][where])
        differ = differ & ~(np.uint64(1) << np.uint64(where)) | differs << np.uint64(where)
        times += differ == 0 and mover == state["to_move"]
    return min(times, MOST_OCCURRENCES)


@kernel
def entry(state, cell, replaced, player):
    """Return a move as a number: the player, the cell, and its former contents."""
    players = state["stash"].shape[0]
    return (np.int64(cell) * (SIZES * players + 1) + replaced) * players + player


@kernel
def read_entry(state, k):
    """Return three facts of the k-th move in the log: the player, the replaced piece, and the cell."""
    players = state["stash"].shape[0]
    rest = np.int64(state["log"][k])
    return rest % players, rest // players % (SIZES * players + 1), rest // (players * (SIZES * players + 1))


def stashes_of(pieces: np.ndarray, players: int, each: int) -> np.ndarray:
    """Return the stashes, (n, players, SIZES): of `each` pieces of each size, those that are not on the board.

    `pieces`: the boards, (n, cells). A replaced piece returns to its owner's stash.
    """
    kinds = np.arange(1, SIZES * players + 1)
    return (each - (pieces[:, :, None] == kinds).sum(axis=1)).reshape(len(pieces), players, SIZES)


@kernel
def owner_of(piece):
    """Return the player who owns the piece."""
    return (piece - 1) // SIZES


@kernel
def size_of(piece):
    """Return the size of the piece, 1 to 3."""
    return (piece - 1) % SIZES + 1


@kernel
def resample(state, player, seed):
    """Change nothing: there is no hidden information and no chance."""
    rng.start(state, seed)
