"""Patterns of Martian Tic-Tac-Toe, for n-tuple networks.

The patterns of a position, from the view of the player who has just moved, which does not distinguish opponents:

- on boards of 3x3 and 4x4, the pieces in each rectangle of two by three cells, horizontal or vertical; on larger boards
  these would need most of a megabyte of weights;
- the pieces on each winning line;
- the numbers of pieces of each size in the player's stash and in an opponent's stash: 1 pattern per opponent, in the
  order of turns;
- on the 3x3 board, the pieces in all cells except a corner and a cell next to it. These patterns have the highest
  numbers.

Rectangles and lines are called places. Places that are symmetric images of each other share their patterns. If a
symmetry maps a place to itself, its cells can be read in two orders, which also share the patterns.
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
# Number of different contents of a cell, see `relation`.
_CONTENTS = 2 * SIZES + 1
_MOST_CELLS = 6
# Size of the largest board with patterns of rectangles, and of the board with patterns of seven cells.
_WITH_RECTANGLES, _WITH_SEVENS = 4, 3


def _places(size: int) -> list[list[int]]:
    """Return the cells of each place in reading order: horizontal rectangles, if the board uses them, and lines."""
    rectangles = [
        [(row + k // 3) * size + column + k % 3 for k in range(6)]
        for row in range(size - 1)
        for column in range(size - 2)
        if size <= _WITH_RECTANGLES
    ]
    return rectangles + [[int(cell) for cell in line] for line in lines(size, size, row_length(size))]


@cache
def _table(size: int) -> tuple[np.ndarray, np.ndarray, int]:
    """Return the orders in which the cells of a board's places are read, and the numbers of their patterns.

    Returns:
        Three values: cells, int8 (places, 2, 6), one or two orders of the cells of each place, with -1 after the last
            cell and in place of a missing second order; the first pattern number of each place, int64 (places,); and
            the number of patterns.
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


# The patterns of all boards in one table, so that a single kernel suffices.
_CELLS = np.full((len(_BOARDS), max(len(_table(size)[0]) for size in _BOARDS), 2, _MOST_CELLS), -1, np.int8)
_BEGINS = np.zeros((len(_BOARDS), _CELLS.shape[1] + 1), np.int64)
for _board, _size in enumerate(_BOARDS):
    _cells, _begins, _end = _table(_size)
    _CELLS[_board, : len(_cells)], _BEGINS[_board, : len(_cells)], _BEGINS[_board, len(_cells)] = _cells, _begins, _end
_PLACES = np.array([len(_table(size)[0]) for size in _BOARDS])
_SEVENS = np.array([turn[2:] for turn in dihedral(_WITH_SEVENS).values()], np.int8)


@kernel
def relation(piece, player):
    """Return 0 for an empty cell, the size for a piece of the player, and 3 + size for a piece of an opponent."""
    return 0 if piece == EMPTY else size_of(piece) + SIZES * (owner_of(piece) != player)


@kernel
def _seen(state, player, cells):
    """Return the contents of `cells`, up to the first negative one, as a number in base _CONTENTS; see `relation`."""
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
    """Return the patterns for a board of this size, `pieces` pieces of each size per player, and this many players."""
    cells, _, end = _table(size)
    number, count = end + (players - 1) * (pieces + 1) ** (2 * SIZES), len(cells) + players - 1
    if size != _WITH_SEVENS:
        return Patterns(number, count, find, partial(prior, size, number))
    larger, more = number + _CONTENTS ** _SEVENS.shape[1], count + len(_SEVENS)
    return Patterns(larger, more, find, partial(prior, size, larger))


# Chosen by games against `greedy` on 5x5 with three players and one ply of search.
_NEAR, _SHARE_OF_A_PLY, _SHARE_OF_THEIRS = 0.3, 0.6, 0.2


def prior(size: int, number: int) -> np.ndarray:
    """Return initial weights, float32 (number,): the fewer moves of the player would complete a line if the opponents
    did nothing, the larger the weight of the line's pattern. An opponent's lines have negative weights, and other
    patterns have weight 0. With one ply of search, these weights suffice to complete lines.
    """
    weights = np.zeros(number, np.float32)
    cells, begins, _ = _table(size)
    length = row_length(size)
    contents = np.indices((_CONTENTS,) * length).reshape(length, -1)  # column n: the pattern with number n
    # For the lines of an opponent, exchange the pieces of the player and of opponents.
    exchanged = np.where(contents == 0, 0, (contents + SIZES - 1) % (2 * SIZES) + 1)
    worth = [(_SHARE_OF_A_PLY ** _MOVES[:, seen].sum(axis=1)).max(axis=0) for seen in (contents, exchanged)]
    for place, begin in zip(cells, begins, strict=True):
        if (place[0] >= 0).sum() == length:
            weights[begin : begin + len(worth[0])] = _NEAR * (worth[0] - _SHARE_OF_THEIRS * worth[1])
    return weights


# _MAY_PUT[contents, size - 1]: whether the player may put a piece of this size there. Contents 1 to 6 are also the
# pieces of players 0 and 1 in `rules`.
_MAY_PUT = (SIZES_FOR[USUAL, 0, :_CONTENTS, None] >> np.arange(SIZES) & 1).astype(np.bool_)
# _MOVES[size - 1, contents]: the smallest number of moves that replace the contents by the player's piece of this size.
_MOVES = np.where(np.arange(1, SIZES + 1)[:, None] == np.arange(_CONTENTS), 0, np.inf)
for _ in range(SIZES):  # the fewest moves put no size twice
    _MOVES = np.minimum(_MOVES, np.where(_MAY_PUT, 1 + _MOVES[:, None, 1 : SIZES + 1], np.inf).min(axis=2))
