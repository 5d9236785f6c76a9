"""What an n-tuple network for Martian Tic-Tac-Toe begins with, against moves that are counted one by one."""

import itertools

import numpy as np
import pytest
from slow_martian_tic_tac_toe import SlowMartianTicTacToe

import ttt_envs

EMPTY, MINE, THEIRS = "empty", "mine", "theirs"
# What a cell may hold, in the order of the numbers that patterns are made of.
CELLS = [(EMPTY, 0), (MINE, 1), (MINE, 2), (MINE, 3), (THEIRS, 1), (THEIRS, 2), (THEIRS, 3)]


def after(cell):
    """What a cell can hold after a move of mine onto it, by the slow rules."""
    whose, size = cell
    slow = SlowMartianTicTacToe()
    slow.start({} if whose == EMPTY else {0: (int(whose == THEIRS), size)}, 0, ply=2)
    return [(MINE, action + 1) for action in slow.moves_of(0) if action < 3]


def moves(cell, wanted):
    """The fewest moves of mine until the cell holds what is wanted; None if it never does."""
    reached = [cell]
    for count in range(5):
        if wanted in reached:
            return count
        reached = [following for before in reached for following in after(before)]
    return None


def nearness(line):
    """0.6 to the power of the fewest moves that complete the line with pieces of one size; 0 if none do."""
    found = [0.0]
    for size in (1, 2, 3):
        counts = [moves(cell, (MINE, size)) for cell in line]
        if None not in counts:
            found.append(0.6 ** sum(counts))
    return max(found)


def seen_by_them(line):
    return [(EMPTY if whose == EMPTY else MINE if whose == THEIRS else THEIRS, size) for whose, size in line]


@pytest.mark.parametrize("size", [3, 5])
def test_a_line_is_worth_more_the_fewer_moves_complete_it(size):
    patterns = ttt_envs.load("martian_tic_tac_toe", size=size).patterns
    weights = patterns.prior()
    assert (weights.shape, weights.dtype) == ((patterns.size,), np.float32)
    lines = list(itertools.product(CELLS, repeat=size))
    some = range(0, len(lines), 1 if size == 3 else 31)
    expected = [0.3 * (nearness(lines[k]) - 0.2 * nearness(seen_by_them(lines[k]))) for k in some]
    # The tables of lines stand before those of stashes and of seven cells; symmetric lines share one.
    tables, others = {3: (3, 4**6 + 7**7), 5: (4, 6**6)}[size]
    assert not weights[-others:].any()
    for table in weights[:-others][-tables * len(lines) :].reshape(tables, -1):
        assert table[list(some)] == pytest.approx(np.array(expected), abs=1e-7)
