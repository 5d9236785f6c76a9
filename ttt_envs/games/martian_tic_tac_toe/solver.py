"""Best play of Martian Tic-Tac-Toe on the 3x3 board with two players: all positions, by retrograde analysis.

A position is seen by the player to move: each cell is empty (0), holds his piece (1 to 3) or the opponent's (4 to 6), and
the nine digits are a number below 7**9. From the positions in which the opponent has just made a line, moves are taken
back: a position is won that has a move to a lost one, and lost when all its moves are known to lead to won ones. Going
through them in the order of the distance to the end gives the shortest win and the longest loss; what is left when
nothing new is found is drawn by endless play. (Bellman, "On the application of dynamic programming to the determination
of optimal play in chess and checkers", PNAS 53, 1965; Thompson, "Retrograde analysis of certain endgames", ICCA Journal
9(3), 1986.)

    python -m ttt_envs.games.martian_tic_tac_toe.solver

builds the table, a byte for each position that is the least of its eight mirror images, and keeps it in the user's
cache folder, or in that of TTT_ENVS_CACHE. An oracle builds it when it is first needed, and builds a damaged one anew.
"""

# mypy: disable-error-code="no-untyped-def"

import argparse
import hashlib
import json
import os
import sys
import warnings
from collections.abc import Callable, Sequence
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from platformdirs import user_cache_path

from ttt_envs.core.files import write_whole
from ttt_envs.core.jit import kernel
from ttt_envs.core.lines import lines_through
from ttt_envs.core.symmetry import dihedral
from ttt_envs.games.martian_tic_tac_toe import rules
from ttt_envs.games.martian_tic_tac_toe.rules import EMPTY, SIZES

CELLS, DIGITS, PIECES = 9, 7, 3
BOARDS = DIGITS**CELLS

#: In a table: drawn by endless play, or no position at all; else 1 + the plies to the end.
DRAWN = 0

_POWERS = DIGITS ** np.arange(CELLS, dtype=np.int64)
_THROUGH = lines_through(3, 3, 3)
_TURNS = np.array(list(dihedral(3).values()))

# --- positions as digits ---


@kernel
def digits_of(board, digits):
    """The digits of a board's number; out int64 (9,)."""
    for cell in range(CELLS):
        digits[cell] = board % DIGITS
        board //= DIGITS


@kernel
def swapped(digit):
    """The digit as the other player sees it."""
    if digit == EMPTY:
        return digit
    return digit + SIZES if digit <= SIZES else digit - SIZES


@kernel
def line_of(digits, first):
    """Whether three equal digits from `first` to `first`+2 are in a row: first 1 for the mover's, 4 for the other's."""
    for cell in (0, 4, 8):  # every line goes through one of these
        if first <= digits[cell] < first + SIZES:
            for k in range(_THROUGH.shape[1]):
                if digits[_THROUGH[cell, k, 0]] == digits[cell] and digits[_THROUGH[cell, k, 1]] == digits[cell]:
                    return True
    return False


@kernel
def count_digits(digits, counts):
    """How often each digit occurs; out int64 (7,). Gives whether the stashes have so many pieces."""
    counts[:] = 0
    for cell in range(CELLS):
        counts[digits[cell]] += 1
    for digit in range(1, DIGITS):
        if counts[digit] > PIECES:
            return False
    return True


@kernel
def is_move(digits, counts, cell, size, same_size_swap):
    """Whether the mover may put a piece of that size into the cell: the rules once more, on digits."""
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
    """Fills digits and counts. 0: no position that can arise; 1: one to move in; 2: the mover has lost.

    With one piece on the board it is the opponent's small one, since everybody places first.
    """
    digits_of(board, digits)
    if not count_digits(digits, counts) or line_of(digits, 1):
        return 0
    if counts[EMPTY] == CELLS - 1 and counts[SIZES + 1] == 0:
        return 0
    return 2 if line_of(digits, SIZES + 1) else 1


# --- the analysis ---


@kernel
def prepare(start, stop, same_size_swap, moves, values):
    """Count the legal moves of each board from start to stop-1; out uint8 (7**9,) twice. Lost ones get value 1."""
    digits, counts = np.empty(CELLS, np.int64), np.empty(DIGITS, np.int64)
    for board in range(start, stop):
        kind = kind_of(board, digits, counts)
        moves[board], values[board] = 0, DRAWN
        if kind == 2:
            values[board] = 1
        elif kind == 1:
            for cell in range(CELLS):
                for size in range(1, SIZES + 1):
                    moves[board] += is_move(digits, counts, cell, size, same_size_swap)


@kernel
def retract(queue, first, last, same_size_swap, moves, values):
    """Take back the move that led to each of queue[first:last], all at one distance from the end.

    What is thereby found out is added to the queue. Args: queue int32 (7**9,), boards in the order of distance; `moves`
    counts those that are not known to lose. Gives the queue's new length.
    """
    end = last
    digits, counts = np.empty(CELLS, np.int64), np.empty(DIGITS, np.int64)
    for k in range(first, last):
        board = np.int64(queue[k])
        digits_of(board, digits)
        count_digits(digits, counts)
        lost = values[board] % 2 == 1
        seen = np.int64(0)  # by the player who made the move
        for cell in range(CELLS):
            seen += swapped(digits[cell]) * _POWERS[cell]
        for cell in range(CELLS):
            size = digits[cell] - SIZES
            if size < 1:
                continue
            for old in range(DIGITS):
                if old == EMPTY:
                    legal = size == 1
                elif old <= SIZES:
                    legal = size <= old + 1
                    if size == old:
                        legal = same_size_swap and counts[digits[cell]] < PIECES
                else:
                    legal = size == old - SIZES + 1
                before = seen + (old - size) * _POWERS[cell]
                if not legal or values[before] != DRAWN or moves[before] == 0:
                    continue
                if old != EMPTY and counts[EMPTY] == CELLS - 1:
                    continue  # a first turn only places
                moves[before] -= 1
                if lost or moves[before] == 0:
                    values[before] = values[board] + 1
                    queue[end] = before
                    end += 1
    return end


@kernel
def collect_lost(values, queue):
    """Put all boards of value 1 into the queue; gives their number."""
    end = 0
    for board in range(values.shape[0]):
        if values[board] == 1:
            queue[end] = board
            end += 1
    return end


def analyse(same_size_swap: bool, tell: Callable[[str, float], None]) -> tuple[np.ndarray, np.ndarray]:
    """Work out all positions.

    `tell` hears what is being done and which share of it is. Returns uint8 (7**9,) twice: values, and whether the board
    is a position in which there is something to decide.
    """
    moves, values = np.empty(BOARDS, np.uint8), np.empty(BOARDS, np.uint8)
    parts = 49
    for part in range(parts):
        prepare(BOARDS // parts * part, BOARDS // parts * (part + 1), same_size_swap, moves, values)
        tell("counting moves", (part + 1) / parts)
    live = moves > 0
    queue = np.empty(BOARDS, np.int32)
    first, last = 0, collect_lost(values, queue)
    while first < last:
        first, last = last, retract(queue, first, last, same_size_swap, moves, values)
        tell(f"going back from the end: {values[queue[last - 1]] - 1} plies", last / BOARDS)
    return values, live


# --- the table ---


class Table(NamedTuple):
    """Values of the positions that are the least of their eight mirror images.

    Attributes:
        present: uint64 (words,), bit b of word w: board 64*w + b is in the table.
        before: uint32 (words,), how many are in the words before this one.
        values: uint8 (positions,), in the order of boards: DRAWN, or 1 + the plies to the end.
    """

    present: np.ndarray
    before: np.ndarray
    values: np.ndarray


_WORDS = -(-BOARDS // 64)


@kernel
def least_image(digits, weights):
    """The least number among the eight mirror images of a board; weights int64 (8, 9), see `_weights`."""
    least = BOARDS
    for turn in range(8):
        number = np.int64(0)
        for cell in range(CELLS):
            number += digits[cell] * weights[turn, cell]
        least = min(least, number)
    return least


@cache
def _weights() -> np.ndarray:
    """What a digit in each cell adds to the number of each mirror image: int64 (8, 9)."""
    return _POWERS[np.argsort(_TURNS, axis=1)]


@kernel
def compress(values, live, weights, present, out):
    """Mark the boards of a table in `present`, uint64, zero before; and write their values. Gives how many there are."""
    digits, end = np.empty(CELLS, np.int64), 0
    for board in range(live.shape[0]):
        if live[board]:
            digits_of(board, digits)
            if least_image(digits, weights) == board:
                present[board // 64] |= np.uint64(1) << np.uint64(board % 64)
                out[end] = values[board]
                end += 1
    return end


@kernel
def bits_set(word):
    """How many bits of a uint64 are set."""
    word = word - ((word >> np.uint64(1)) & np.uint64(0x5555555555555555))
    word = (word & np.uint64(0x3333333333333333)) + ((word >> np.uint64(2)) & np.uint64(0x3333333333333333))
    word = (word + (word >> np.uint64(4))) & np.uint64(0x0F0F0F0F0F0F0F0F)
    total = 0
    for byte in range(8):
        total += np.int64((word >> np.uint64(8 * byte)) & np.uint64(0xFF))
    return total


@kernel
def count_before(present, before):
    """How many bits are set in the words before each."""
    total = 0
    for word in range(present.shape[0]):
        before[word] = total
        total += bits_set(present[word])


@kernel
def find(digits, weights, table):
    """The value of a position in a table; -1 if it is not there."""
    board = least_image(digits, weights)
    word, bit = table.present[board // 64], np.uint64(board % 64)
    if not (word >> bit) & np.uint64(1):
        return -1
    below = word & ((np.uint64(1) << bit) - np.uint64(1))
    return np.int64(table.values[table.before[board // 64] + bits_set(below)])
