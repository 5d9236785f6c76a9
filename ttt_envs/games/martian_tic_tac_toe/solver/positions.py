"""Positions of the 3x3 game of two players as numbers below 7**9, seen by the player to move.

A cell is empty (0), holds a piece of the player to move (1 to 3) or of the opponent (4 to 6).
"""

# mypy: disable-error-code="no-untyped-def"

from functools import cache

import numpy as np

from ttt_envs.core.compile.jit import kernel
from ttt_envs.core.lines import lines_through
from ttt_envs.core.symmetry import dihedral
from ttt_envs.games.martian_tic_tac_toe.rules import EMPTY, SIZES

CELLS, DIGITS, PIECES = 9, 7, 3
BOARDS = DIGITS**CELLS
POWERS = DIGITS ** np.arange(CELLS, dtype=np.int64)
_THROUGH = lines_through(3, 3, 3)
SYMMETRIES = np.array(list(dihedral(3).values()))


def check_solved(size: int, players: int) -> None:
    """Raise NotImplementedError for games whose positions are not numbered here."""
    if (size, players) != (3, 2):
        raise NotImplementedError(
            f"no oracle for size={size} and players={players}: optimal play is known for size=3 and players=2"
        )


@kernel
def digits_of(board, digits):
    """The digits of a board's number; out int64 (9,)."""
    for cell in range(CELLS):
        digits[cell] = board % DIGITS
        board //= DIGITS


@kernel
def swapped(digit):
    """Return the digit as the other player sees it."""
    if digit == EMPTY:
        return digit
    return digit + SIZES if digit <= SIZES else digit - SIZES


@kernel
def line_of(digits, first):
    """Return whether equal digits `first` to `first`+2 are in a row: first 1 for the mover's, 4 for the other's."""
    for cell in (0, 4, 8):  # every line goes through one of these
        if first <= digits[cell] < first + SIZES:
            for k in range(_THROUGH.shape[1]):
                if digits[_THROUGH[cell, k, 0]] == digits[cell] and digits[_THROUGH[cell, k, 1]] == digits[cell]:
                    return True
    return False


@kernel
def count_digits(digits, counts):
    """Count how often each digit occurs; out int64 (7,). Return whether the stashes have enough pieces."""
    counts[:] = 0
    for cell in range(CELLS):
        counts[digits[cell]] += 1
    for digit in range(1, DIGITS):
        if counts[digit] > PIECES:
            return False
    return True


@kernel
def is_move(digits, counts, cell, size, same_size_swap):
    """Return whether the mover may put a piece of that size into the cell: the rules once more, on digits."""
    if counts[size] == PIECES:
        return False
    digit = digits[cell]
    if digit == EMPTY:
        return size == 1
    if counts[EMPTY] == CELLS - 1:
        return False  # one piece on the board: the second player's first turn
    if digit <= SIZES:
        return size <= digit + 1 and (size != digit or same_size_swap)
    return size == digit - SIZES + 1


@kernel
def kind_of(board, digits, counts):
    """Fill digits and counts. 0: no position that can arise; 1: one to move in; 2: the mover has lost.

    A single piece on the board is the opponent's small one, since a first turn places.
    """
    digits_of(board, digits)
    if not count_digits(digits, counts) or line_of(digits, 1):
        return 0
    if counts[EMPTY] == CELLS - 1 and counts[SIZES + 1] == 0:
        return 0
    return 2 if line_of(digits, SIZES + 1) else 1


@kernel
def least_image(digits, weights):
    """Return the least number of a board's eight mirror images; weights int64 (8, 9), see `weights_of_images`."""
    least = np.int64(BOARDS)
    for symmetry in range(8):
        number = np.int64(0)
        for cell in range(CELLS):
            number += digits[cell] * weights[symmetry, cell]
        if number < least:
            least = number
    return least


@cache
def weights_of_images() -> np.ndarray:
    """Return the amount that a digit in each cell adds to the number of each mirror image: int64 (8, 9)."""
    return POWERS[np.argsort(SYMMETRIES, axis=1)]
