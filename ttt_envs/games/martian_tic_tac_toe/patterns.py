"""Patterns of Martian Tic-Tac-Toe, for n-tuple networks.

The patterns of each position, as seen by the player who has just moved, to whom all opponents' pieces are alike:

- on boards of 3x3 and 4x4 the pieces in each rectangle of two by three cells, lying or standing: on larger ones these
  would be the most of a megabyte of weights;
- the pieces on each line that wins;
- the pieces of each size in their own stash and an opponent's: 1 pattern for each opponent, in the order of turns;
- on the board of 3x3 the pieces in all cells but a corner and one next to it. These have the highest numbers, so that
    older weights still fit.

Places that the symmetries of the square turn into each other share their patterns, and so do the ways to read a place
that they turn into itself.
"""

# mypy: disable-error-code="no-untyped-def"

from functools import cache, partial

import numpy as np

from ttt_envs.core.compile.jit import allocates_nothing, kernel
from ttt_envs.core.lines import lines
from ttt_envs.core.symmetry import Patterns, dihedral
from ttt_envs.games.martian_tic_tac_toe.rules import (
    EMPTY,
    SIZES,
    SIZES_FOR,
    USUAL,
    owner_of,
    row_length,
    size_of,
)

_BOARDS = range(3, 9)
# The contents of a cell, see `relation`.
_CONTENTS = 2 * SIZES + 1
_MOST_CELLS = 6
# The largest board with patterns of rectangles, and the one with patterns of seven cells.
_WITH_RECTANGLES, _WITH_SEVENS = 4, 3


def _places(size: int) -> list[list[int]]:
    """Return the cells of a lying rectangle in each place, if these count, and of each line, in reading order."""
    rectangles = [
        [(row + k // 3) * size + column + k % 3 for k in range(6)]
        for row in range(size - 1)
        for column in range(size - 2)
        if size <= _WITH_RECTANGLES
    ]
    return rectangles + [[int(cell) for cell in line] for line in lines(size, size, row_length(size))]


@cache
def _table(size: int) -> tuple[np.ndarray, np.ndarray, int]:
    """Return how the places of a board are read.

    Returns:
        Cells int8 (places, 2, 6), two ways to read each place, -1 behind the last cell, and at the beginning of a
        second way that there is not; the number that each place's patterns begin with, int64 (places,); the number
        behind the last.
    """
    ways_of: dict[frozenset[int], tuple[int, list[list[int]]]] = {}
    begin = 0
    for place in _places(size):
        if frozenset(place) in ways_of:
            continue
        for permutation in dihedral(size).values():
            turned = [int(permutation[cell]) for cell in place]
            ways = ways_of.setdefault(frozenset(turned), (begin, []))[1]
            if turned not in ways:
                ways.append(turned)
        begin += _CONTENTS ** len(place)
    cells = np.full((len(ways_of), 2, _MOST_CELLS), -1, np.int8)
    for k, (_, ways) in enumerate(ways_of.values()):
        for j, way in enumerate(ways):
            cells[k, j, : len(way)] = way
    return cells, np.array([first for first, _ in ways_of.values()]), begin


# The patterns of all boards in one table, so that one kernel finds them.
_CELLS = np.full((len(_BOARDS), max(len(_table(size)[0]) for size in _BOARDS), 2, _MOST_CELLS), -1, np.int8)
_BEGINS = np.zeros((len(_BOARDS), _CELLS.shape[1] + 1), np.int64)
for _board, _size in enumerate(_BOARDS):
    _cells, _begins, _end = _table(_size)
    _CELLS[_board, : len(_cells)], _BEGINS[_board, : len(_cells)], _BEGINS[_board, len(_cells)] = _cells, _begins, _end
_PLACES = np.array([len(_table(size)[0]) for size in _BOARDS])
_SEVENS = np.array([turn[2:] for turn in dihedral(_WITH_SEVENS).values()], np.int8)


@kernel
def relation(piece, player):
    """0 for an empty cell, 1 to 3 for a piece of the player's, by its size, 4 to 6 for an opponent's."""
    return 0 if piece == EMPTY else size_of(piece) + SIZES * (owner_of(piece) != player)


@kernel
def _seen(state, player, cells):
    """Return the number of what is in these cells, up to the first that is negative."""
    number = np.int64(0)
    for cell in cells:
        if cell < 0:
            break
        number = _CONTENTS * number + np.int64(relation(state["piece"][cell], player))
    return number


@kernel
@allocates_nothing
def find(state, player, out):
    """See `core.symmetry.Patterns`."""
    board, players = np.int64(state["size"]) - 3, state["stash"].shape[0]
    places = _PLACES[board]
    for k in range(places):
        number = _seen(state, player, _CELLS[board, k, 0])
        if _CELLS[board, k, 1, 0] >= 0:
            number = min(number, _seen(state, player, _CELLS[board, k, 1]))
        out[k] = _BEGINS[board, k] + number
    begin, counts = _BEGINS[board, places], np.int64(state["pieces"]) + 1
    for later in range(1, players):
        number = np.int64(0)
        for whose in (player, (player + later) % players):
            for size in range(SIZES):
                number = number * counts + min(np.int64(state["stash"][whose, size]), counts - 1)
        out[places + later - 1] = begin + number
        begin += counts ** (2 * SIZES)
    for k in range(places + players - 1, out.shape[0]):
        out[k] = begin + _seen(state, player, _SEVENS[k - places - players + 1])


def patterns_for(size: int, pieces: int, players: int) -> Patterns:
    """Return the patterns for a board's size, a number of pieces of each size, and a number of players."""
    cells, _, end = _table(size)
    number, count = end + (players - 1) * (pieces + 1) ** (2 * SIZES), len(cells) + players - 1
    if size != _WITH_SEVENS:
        return Patterns(number, count, find, partial(prior, size, number))
    larger, more = number + _CONTENTS ** _SEVENS.shape[1], count + len(_SEVENS)
    return Patterns(larger, more, find, partial(prior, size, larger))


# Chosen by play against `greedy` on 5x5 with three players, one ply deep.
_NEAR, _SHARE_OF_A_PLY, _SHARE_OF_THEIRS = 0.3, 0.6, 0.2


def prior(size: int, number: int) -> np.ndarray:
    """Return initial weights, float32 (number,): a line is worth more the fewer moves complete it, if no one resists.

    An opponent's lines count against the player; patterns other than lines get the weight 0. With one ply of
    search, these weights suffice to complete lines.
    """
    weights = np.zeros(number, np.float32)
    cells, begins, _ = _table(size)
    length = row_length(size)
    contents = np.indices((_CONTENTS,) * length).reshape(length, -1)  # column n: the pattern with number n
    # Seen by the others, what is whose is exchanged.
    exchanged = np.where(contents == 0, 0, (contents + SIZES - 1) % (2 * SIZES) + 1)
    worth = [(_SHARE_OF_A_PLY ** _MOVES[:, seen].sum(axis=1)).max(axis=0) for seen in (contents, exchanged)]
    for place, begin in zip(cells, begins, strict=True):
        if (place[0] >= 0).sum() == length:
            weights[begin : begin + len(worth[0])] = _NEAR * (worth[0] - _SHARE_OF_THEIRS * worth[1])
    return weights


# Whether player 0 may put each size in the place of each of the contents, which are pieces for the rules too.
_MAY_PUT = (SIZES_FOR[USUAL, 0, :_CONTENTS, None] >> np.arange(SIZES) & 1).astype(np.bool_)
# The fewest moves that turn the contents of a cell into the player's piece of a size: [size - 1, contents].
_MOVES = np.where(np.arange(1, SIZES + 1)[:, None] == np.arange(_CONTENTS), 0, np.inf)
for _ in range(SIZES):  # a shortest way passes no size twice
    _MOVES = np.minimum(_MOVES, np.where(_MAY_PUT, 1 + _MOVES[:, None, 1 : SIZES + 1], np.inf).min(axis=2))
