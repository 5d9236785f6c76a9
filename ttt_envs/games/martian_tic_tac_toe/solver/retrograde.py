"""The value of every position of the 3x3 game, by retrograde analysis.

Moves are taken back from the positions in which the opponent has just made a line. A position is won if it has a move
to a lost position, and lost if all its moves lead to won positions. Positions are visited in the order of their
distance to the end, which gives the shortest win and the longest loss. The remaining positions are drawn by endless
play. (Bellman, "On the application of dynamic programming to the determination of optimal play in chess and checkers",
PNAS 53, 1965; Thompson, "Retrograde analysis of certain endgames", ICCA Journal 9(3), 1986.)
"""

# mypy: disable-error-code="no-untyped-def"

import numpy as np

from ttt_envs.core.compile.bits import set_size
from ttt_envs.core.compile.jit import kernel
from ttt_envs.core.oracle import StageProgress
from ttt_envs.games.martian_tic_tac_toe.rules import EMPTY, SIZES, rule_for
from ttt_envs.games.martian_tic_tac_toe.solver.positions import (
    BOARDS,
    CELLS,
    DIGITS,
    PIECES,
    POWERS,
    count_digits,
    digits_of,
    has_lost,
    may_put,
    sizes_into,
    swap_sides,
)

#: Value for a draw by endless play and for impossible positions; other values are 1 + the plies to the end.
DRAWN = 0


@kernel
def prepare(boards, same_size_swap, moves, values):
    """Write each board's number of legal moves to `moves`, or value 1 to `values` if it is lost: uint8 (7**9,)."""
    digits, counts = np.empty(CELLS, np.int8), np.empty(DIGITS, np.int64)
    for board in boards:
        digits_of(board, digits)
        if has_lost(digits):
            values[board] = 1
            continue
        count_digits(digits, counts)
        for cell in range(CELLS):
            moves[board] += set_size(np.uint64(sizes_into(digits, counts, cell, same_size_swap)))


@kernel
def retract(queue, first, last, same_size_swap, moves, values):
    """Take back the moves that lead to the boards queue[first:last], which have the same distance from the end.

    Newly solved boards are appended to the queue. Args: queue: int32 (7**9,), boards in the order of distance; `moves`:
    each board's number of legal moves that are not yet known to lose. Return the queue's new length.
    """
    end = last
    digits, counts = np.empty(CELLS, np.int8), np.empty(DIGITS, np.int64)
    for k in range(first, last):
        board = np.int64(queue[k])
        digits_of(board, digits)
        lost = values[board] % 2 == 1
        seen = swap_sides(digits, digits)  # in the view of the player who made the move
        count_digits(digits, counts)
        for cell in range(CELLS):
            size = np.int64(digits[cell])
            if not 1 <= size <= SIZES:
                continue
            for old in range(DIGITS):
                before = seen + (old - size) * POWERS[cell]
                left = PIECES - counts[size] + (old != size)
                rule = rule_for(CELLS - counts[EMPTY] - (old == EMPTY), 2, same_size_swap)
                if not may_put(size, old, left, rule) or values[before] != DRAWN or moves[before] == 0:
                    continue
                moves[before] -= 1
                if lost or moves[before] == 0:
                    values[before] = values[board] + 1
                    queue[end] = before
                    end += 1
    return end


@kernel
def collect_lost(values, queue):
    """Write all boards of value 1 to the queue; return their number."""
    end = 0
    for board in range(values.shape[0]):
        if values[board] == 1:
            queue[end] = board
            end += 1
    return end


@kernel
def reach(flags, queue, first, same_size_swap):
    """Mark the positions that can arise in `flags`, bool (7**9,), and append them to `queue`, int32 (7**9,). Each call
    follows the moves of up to a million positions, from queue[first] on. Return the index at which to continue, and the
    number of marked positions.
    """
    digits, swapped, counts = np.empty(CELLS, np.int8), np.empty(CELLS, np.int8), np.empty(DIGITS, np.int64)
    if first == 0:
        queue[0], flags[0] = 0, True
    end = np.int64(flags.sum())
    last = min(first + 1000000, flags.shape[0])
    while first < min(last, end):
        board = np.int64(queue[first])
        first += 1
        digits_of(board, digits)
        if has_lost(digits):
            continue
        count_digits(digits, counts)
        seen = swap_sides(digits, swapped)
        for cell in range(CELLS):
            sizes = sizes_into(digits, counts, cell, same_size_swap)
            for size in range(1, SIZES + 1):
                if sizes >> (size - 1) & 1:
                    after = seen + (size + SIZES - swapped[cell]) * POWERS[cell]
                    if not flags[after]:
                        flags[after] = True
                        queue[end] = after
                        end += 1
    return first, end


def analyse(same_size_swap: bool, progress: StageProgress) -> tuple[np.ndarray, np.ndarray]:
    """Solve all positions that can arise. `progress` is called with the stage and its finished share. Returns values,
    uint8 (7**9,), see DRAWN, and bool (7**9,), whether a board can arise in a game that is not over.
    """
    queue, arises = np.empty(BOARDS, np.int32), np.zeros(BOARDS, np.bool_)
    first, end = 0, 1
    while first < end:
        first, end = reach(arises, queue, first, same_size_swap)
        progress("finding positions", first / end)
    moves, values = np.zeros(BOARDS, np.uint8), np.full(BOARDS, DRAWN, np.uint8)
    part = BOARDS // 49
    for start in range(0, BOARDS, part):
        prepare(start + np.flatnonzero(arises[start : start + part]), same_size_swap, moves, values)
        progress("counting moves", (start + part) / BOARDS)
    first, last = 0, collect_lost(values, queue)
    while first < last:
        first, last = last, retract(queue, first, last, same_size_swap, moves, values)
        progress("going back from the end", last / end)
    # The moves of a lost board have been counted down to 0, but its value above 1 shows that it had some.
    return values, arises & ((moves > 0) | (values > 1))
