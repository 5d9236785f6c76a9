"""Positions of the 3x3 game of two players as numbers below 7**9, from the view of the player to move.

Each cell is a digit in base 7: 0 if empty, 1 to 3 for a piece of the player to move and 4 to 6 for a piece of the
opponent, as in the rules with the player to move as player 0. During the first turns, the number of pieces on the board
is the number of plies played, so the digits tell whether it is a first turn.
"""

# mypy: disable-error-code="no-untyped-def"

from functools import cache

import numpy as np

from ttt_envs.core.compile.jit import kernel
from ttt_envs.core.symmetry import dihedral
from ttt_envs.games.martian_tic_tac_toe.rules import (
    EMPTY,
    SIZES,
    SIZES_FOR,
    has_line,
    row_length,
    rule_for,
    stashes_of,
)

CELLS, DIGITS, PIECES = 9, 7, row_length(3)
BOARDS = DIGITS**CELLS
POWERS = DIGITS ** np.arange(CELLS, dtype=np.int64)
SYMMETRIES = np.array(list(dihedral(3).values()))

#: SEEN[player, piece], int8: the digit of a piece in the player's view. SEEN[player, digit] is conversely the piece.
SEEN = np.array([range(DIGITS), [EMPTY, *range(SIZES + 1, DIGITS), *range(1, SIZES + 1)]], np.int8)


def check_solved(size: int, players: int) -> None:
    """Raise NotImplementedError for games other than the 3x3 game of two players."""
    if (size, players) != (3, 2):
        raise NotImplementedError(
            f"no oracle for size={size} and players={players}: optimal play is known for size=3 and players=2"
        )


@kernel
def digits_of(board, digits):
    """Write the digits of a board's number to `digits`, int8 (9,)."""
    for cell in range(CELLS):
        digits[cell] = board % DIGITS
        board //= DIGITS


@kernel
def swap_sides(digits, swapped):
    """Write to `swapped` the digits from the other player's view; return the number that they form."""
    board = np.int64(0)
    for cell in range(CELLS):
        swapped[cell] = SEEN[1, digits[cell]]
        board += swapped[cell] * POWERS[cell]
    return board


@kernel
def has_lost(digits):
    """Return whether the opponent has a line."""
    for piece in range(SIZES + 1, DIGITS):
        if has_line(digits, piece, PIECES, PIECES):
            return True
    return False


@kernel
def count_digits(digits, counts):
    """Write to `counts`, int64 (7,), how often each digit occurs."""
    counts[:] = 0
    for cell in range(CELLS):
        counts[digits[cell]] += 1


@kernel
def may_put(size, digit, left, rule):
    """Return whether the player to move, who has `left` pieces of this size, may put one on a cell with this digit."""
    return left > 0 and SIZES_FOR[rule, 0, digit] >> (size - 1) & 1 != 0


@kernel
def sizes_into(digits, counts, cell, same_size_swap):
    """Return the set of sizes that the player to move may put in the cell: bit s - 1 stands for size s."""
    sizes, rule = np.int64(0), rule_for(CELLS - counts[EMPTY], 2, same_size_swap)
    for size in range(1, SIZES + 1):
        sizes |= np.int64(may_put(size, digits[cell], PIECES - counts[size], rule)) << (size - 1)
    return sizes


@kernel
def least_image(digits, weights):
    """Return the smallest of the numbers of a board's eight symmetric images; weights: see `weights_of_images`."""
    least = np.int64(BOARDS)
    for symmetry in range(8):
        number = np.int64(0)
        for cell in range(CELLS):
            number += digits[cell] * weights[symmetry, cell]
        if number < least:
            least = number
    return least


def put_boards(states: np.ndarray, digits: np.ndarray, player: int | np.ndarray) -> None:
    """Write boards and stashes to states; digits: (n, 9), in the view of `player`, which is an int or int (n, 1)."""
    states["piece"] = SEEN[player, digits]
    states["stash"] = stashes_of(states["piece"], 2, PIECES)


@cache
def weights_of_images() -> np.ndarray:
    """Return the weight of each cell's digit in the number of each symmetric image: int64 (8, 9)."""
    return POWERS[np.argsort(SYMMETRIES, axis=1)]
