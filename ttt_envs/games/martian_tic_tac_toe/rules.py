"""The rules of Martian Tic-Tac-Toe, and nothing else.

A square board and pyramids of three sizes. Action 3*cell + (size-1) puts a pyramid of that size from the mover's stash
into a cell, numbered row-major: into an empty one, or in the place of the pyramid that stands there. Source of the
rules: Chris Goodwin, "Martian Tic-Tac-Toe", Looney Pyramid Games Wiki.

A position that occurs too often is a draw, so a state must know its past. A cell once taken is never empty again, so
that no position from before the last placement can come back; the moves since then are kept in a log of what they
replaced, and are taken back one by one in order to count. This takes a byte or two a ply, and is skipped after every
placement. The log has room for a game of the usual length, `usual_plies`, whatever `max_plies` is: machine code is
compiled for each size of it. In a longer game it forgets its oldest moves.
"""

# mypy: disable-error-code="no-untyped-def"

from functools import cache

import numpy as np

from ttt_envs.core import rng
from ttt_envs.core.jit import allocates_nothing, kernel
from ttt_envs.core.lines import has_row
from ttt_envs.core.loops import refuse
from ttt_envs.core.state import between, option, state_dtype
from ttt_envs.core.words import nth, set_size, where_equal, write_set

EMPTY = 0
NONE = -1
SMALL, SIZES = 1, 3

#: The most that the option repetition_limit can be.
MOST_OCCURRENCES = 9

#: The most that the option max_plies can be.
MOST_PLIES = 65535

# What a piece may be put in the place of, as sets of sizes, bit s - 1 for size s: [same_size_swap, see `relation`].
# Into an empty cell goes a small one; for the mover's own piece a smaller one, or one a size larger; for an opponent's,
# one a size larger.
_ALLOWED = np.array([[0b001, 0b010, 0b101, 0b011, 0b010, 0b100, 0], [0b001, 0b011, 0b111, 0b111, 0b010, 0b100, 0]])

#: The most players of a game.
MOST_PLAYERS = 4


def _by_piece() -> np.ndarray:
    """The same by the piece itself, with no division on the way: int64 [rule, player, piece].

    The rules are those of `same_size_swap`, and that of a player's first turn, which takes an empty cell.
    """
    sizes, owners = np.arange(SIZES * MOST_PLAYERS) % SIZES + 1, np.arange(SIZES * MOST_PLAYERS) // SIZES
    related = np.insert(sizes + SIZES * (owners != np.arange(MOST_PLAYERS)[:, None]), 0, 0, axis=1)
    return np.stack([*_ALLOWED[:, related], np.where(related == 0, _ALLOWED[0, 0], 0)])


_ALLOWED_ON = _by_piece()
_FIRST_TURN = np.int64(2)

# The actions of so many cells are looked at together, as a set.
_TOGETHER = 16


def usual_plies(size: int) -> int:
    """The default of the option max_plies, and the most moves that are remembered."""
    return 300 if size == 3 else 25 * size * size


@cache
def state_dtype_for(size: int, players: int, remembers: bool) -> np.dtype:
    """The dtype of states; `remembers`: repetitions are counted, and so there is a log."""
    cells, remembered = size * size, usual_plies(size) if remembers else 1
    entries = cells * (SIZES * players + 1) * players
    return state_dtype(
        players=players,
        fields=[
            (
                "piece",
                np.int8,
                (cells,),
                between(EMPTY, SIZES * players),
            ),  # in each cell: EMPTY, or SIZES * player + size, sizes from 1 to 3
            ("stash", np.int8, (players, SIZES), between(0, "pieces")),  # pieces of each size that a player has left
            (
                "occurred",
                np.int8,
                between(1, MOST_OCCURRENCES),
            ),  # times that this board with this player to move has occurred, now included
            ("logged", np.int32, between(0, remembered)),  # moves in the log
            (
                "log",  # see `entry`
                np.uint8 if entries <= 256 else np.uint16,
                (remembered,),
                between(0, entries - 1),
            ),
            ("size", np.int8, option(size, size)),  # option of that name
            ("line", np.int8, option(3, 5)),  # pieces in a row that win
            ("pieces", np.int8, option(3, 5)),  # of each size, that each player starts with
            ("repetition_limit", np.int8, option(0, MOST_OCCURRENCES)),  # option of that name; 0 for none
            ("max_plies", np.int32, option(players, MOST_PLIES)),  # option of that name
            ("same_size_swap", np.bool_, option(0, 1)),  # option of that name
        ],
        shown=[("last_action", np.int16, between(NONE, SIZES * cells - 1))],  # of the newest move, or NONE
    )


@kernel
def reset(state, seed):
    """The empty board."""
    rng.start(state, seed)
    state["last_action"] = NONE
    state["stash"][:] = state["pieces"]
    state["occurred"] = 1


@kernel
@allocates_nothing
def legal_mask(state, player, out):
    """The legal moves with the pieces in the mover's stash."""
    for first in range(0, state["piece"].shape[0], _TOGETHER):
        cells = min(state["piece"].shape[0] - first, _TOGETHER)
        moves = moves_into(state, player, first) if player == state["to_move"] else np.int64(0)
        write_set(moves, SIZES * cells, out, SIZES * first)


@kernel
@allocates_nothing
def is_legal(state, player, action):
    """Whether the player may put a pyramid of this size into this cell now."""
    if player != state["to_move"] or state["done"] or not 0 <= action < SIZES * state["piece"].shape[0]:
        return False
    cell, size = action // SIZES, action % SIZES + 1
    return (sizes_in_stash(state, player) & sizes_allowed(state, player, cell)) >> (size - 1) & 1 == 1


@kernel
@allocates_nothing
def random_action(state, player, x):
    """The action that `x` chooses among the legal ones, each equally likely."""
    free = np.int64(0)
    for first in range(0, state["piece"].shape[0], _TOGETHER):
        free += np.int64(set_size(moves_into(state, player, first)))
    skip = rng.scale(x, free)
    for first in range(0, state["piece"].shape[0], _TOGETHER):
        moves = moves_into(state, player, first)
        here = np.int64(set_size(moves))
        if skip < here:
            return SIZES * first + nth(moves, skip)
        skip -= here
    return -1


@kernel
def moves_into(state, player, first):
    """The legal actions of the player to move in the _TOGETHER cells from `first` on, as a set; the first is bit 0."""
    moves, in_hand, rule = np.int64(0), sizes_in_stash(state, player), rule_of(state)
    for cell in range(first, min(first + _TOGETHER, state["piece"].shape[0])):
        piece = np.uint8(state["piece"][cell])  # a signed index is looked at for a negative one
        moves |= (in_hand & _ALLOWED_ON[rule, player, piece]) << SIZES * (cell - first)
    return moves


@kernel
def sizes_in_stash(state, player):
    """The sizes of which the player has a piece left, as a set: bit s - 1 stands for size s."""
    sizes = np.int64(0)
    for size in range(SIZES):
        sizes |= np.int64(state["stash"][player, size] > 0) << size
    return sizes


@kernel
def sizes_allowed(state, player, cell):
    """The sizes that the player may put into the cell if it is their turn and they have them, as such a set."""
    return _ALLOWED_ON[rule_of(state), player, state["piece"][cell]]


@kernel
def rule_of(state):
    """The rule of _ALLOWED_ON that says what the player to move may replace."""
    return _FIRST_TURN if is_first_turn(state) else np.int64(state["same_size_swap"])


@kernel
def relation(piece, player):
    """0 for an empty cell, 1 to 3 for a piece of the player's, by its size, 4 to 6 for an opponent's."""
    return 0 if piece == EMPTY else size_of(piece) + SIZES * (owner_of(piece) != player)


@kernel
def is_first_turn(state):
    """Whether the player to move has not moved yet. There is room for everybody, so nobody's first turn is passed."""
    return state["ply"] < state["stash"].shape[0]


@kernel
@allocates_nothing
def step(state, actions):
    """Put a piece and give back the one in its place; see who has won or moves next, and whether it is a draw."""
    player = np.int64(state["to_move"])
    if not is_legal(state, player, actions[player]):
        refuse(state)
        return
    cell, size = actions[player] // SIZES, actions[player] % SIZES + 1
    replaced = state["piece"][cell]
    state["last_action"] = actions[player]
    if replaced != EMPTY:
        state["stash"][owner_of(replaced), size_of(replaced) - 1] += 1
    state["stash"][player, size - 1] -= 1
    state["piece"][cell] = SIZES * player + size
    if completes_line(state, cell):
        remember(state, cell, replaced, player)
        players = state["stash"].shape[0]
        state["done"] = True
        for each in range(players):
            state["rewards"][each] = 1 if each == player else -1 / (players - 1)
        return
    state["ply"] += 1  # whose first turn it is depends on it
    next_player(state)
    state["ply"] -= 1
    remember(state, cell, replaced, player)
    limit = state["repetition_limit"]
    if (limit > 0 and state["occurred"] >= limit) or state["ply"] + 1 >= state["max_plies"]:
        state["done"] = True


@kernel
def next_player(state):
    """The next player who has a legal move; the game is over if nobody has one."""
    player, players = np.int64(state["to_move"]), state["stash"].shape[0]
    for _ in range(players):
        player = (player + 1) % players
        if can_move(state, player):
            state["to_move"] = player
            return
    state["done"] = True


@kernel
def can_move(state, player):
    """Whether the player, if it were their turn, would have a legal move."""
    for first in range(0, state["piece"].shape[0], _TOGETHER):
        if moves_into(state, player, first) != 0:
            return True
    return False


@kernel
def completes_line(state, cell):
    """Whether the piece just put into `cell` is one of `line` equal ones in a row.

    There are no more of them, so that none is a row without it.
    """
    return has_row(where_equal(state["piece"], state["piece"][cell]), state["size"], state["line"])


@kernel
def remember(state, cell, replaced, player):
    """Log the move of `player`, and count how often the position has occurred."""
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
    if has_stood(state, cell):  # else nothing like this has occurred
        state["occurred"] = occurrences(state)


@kernel
def forget_oldest(state):
    """Make room for a move at the end of the log."""
    state["logged"] -= 1
    for k in range(state["logged"]):
        state["log"][k] = state["log"][k + 1]


@kernel
def occurrences(state):
    """The number of times that this board with this player to move has occurred, by the log; now included.

    It is MOST_OCCURRENCES at most: no game goes on after so many.
    """
    times = 1
    differ = np.uint64(0)  # bit c: cell c, with some moves taken back, is not what it is now
    for k in range(state["logged"] - 1, -1, -1):
        mover, was, where = read_entry(state, k)
        bit = np.uint64(1) << np.uint64(where)
        differ = differ | bit if was != state["piece"][where] else differ & ~bit
        times += differ == 0 and mover == state["to_move"]
    return min(times, MOST_OCCURRENCES)


@kernel
def has_stood(state, cell):
    """Whether the piece that stands in the cell has stood there before, by the log."""
    lowest = entry(state, cell, state["piece"][cell], 0)  # whoever replaced it
    found, players = False, state["stash"].shape[0]
    for k in range(state["logged"]):
        found |= 0 <= np.int64(state["log"][k]) - lowest < players
    return found


@kernel
def entry(state, cell, replaced, player):
    """A move as a number: who made it, where, and what stood there before."""
    players = state["stash"].shape[0]
    return (np.int64(cell) * (SIZES * players + 1) + replaced) * players + player


@kernel
def read_entry(state, k):
    """Player, replaced piece and cell of the k-th move in the log."""
    players = state["stash"].shape[0]
    rest = np.int64(state["log"][k])
    return rest % players, rest // players % (SIZES * players + 1), rest // (players * (SIZES * players + 1))


@kernel
def owner_of(piece):
    """The player whose piece it is."""
    return (piece - 1) // SIZES


@kernel
def size_of(piece):
    """The size of the piece, 1 to 3."""
    return (piece - 1) % SIZES + 1


@kernel
def resample(state, player, seed):
    """Nothing is hidden, and nothing is left to chance."""
    rng.start(state, seed)
