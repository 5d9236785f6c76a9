"""Best play of Martian Tic-Tac-Toe on the 3x3 board with two players: all positions, by retrograde analysis.

A position is seen by the player to move: a cell is empty (0), holds a piece of his (1 to 3) or of the opponent's (4 to
6), and the nine digits are a number below 7**9. From the positions in which the opponent has just made a line, moves
are taken back: a position is won that has a move to a lost one, and lost when all its moves are known to lead to won
ones. Going through them in the order of the distance to the end gives the shortest win and the longest loss; what is
left when nothing new is found is drawn by endless play. (Bellman, "On the application of dynamic programming to the
determination of optimal play in chess and checkers", PNAS 53, 1965; Thompson, "Retrograde analysis of certain
endgames", ICCA Journal 9(3), 1986.)

    python -m ttt_envs.games.martian_tic_tac_toe.solver

builds the table, a byte for each position that is the least of its eight mirror images, and keeps it in the user's
cache folder, or in that of TTT_ENVS_CACHE. An oracle builds it when it is first needed, and builds a damaged one anew.

Without the draw by repetition, the best response to a policy that is known is found too, by value iteration with as
many sweeps as there are plies (Bellman, "A Markovian decision process", Journal of Mathematics and Mechanics 6, 1957):
see `RespondingOracle`.
"""

# mypy: disable-error-code="no-untyped-def"

import argparse
import hashlib
import json
import os
import sys
import warnings
from collections.abc import Callable, Iterator, Sequence
from functools import cache
from pathlib import Path
from typing import NamedTuple

import numpy as np
from platformdirs import user_cache_path

from ttt_envs.core.files import write_whole
from ttt_envs.core.jit import kernel
from ttt_envs.core.lines import lines_through
from ttt_envs.core.symmetry import dihedral
from ttt_envs.games.martian_tic_tac_toe import rules
from ttt_envs.games.martian_tic_tac_toe.drawing import draw
from ttt_envs.games.martian_tic_tac_toe.rules import EMPTY, SIZES
from ttt_envs.games.martian_tic_tac_toe.text import cell_names

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


@kernel
def reach(flags, queue, first, same_size_swap):
    """Mark all positions that can arise, a million at a time; flags bool (7**9,), queue int32 (7**9,) hold those found.

    Goes on from queue[first], and gives where to go on and the number found.
    """
    digits, counts = np.empty(CELLS, np.int64), np.empty(DIGITS, np.int64)
    if first == 0:
        queue[0], flags[0] = 0, True
    end = np.int64(flags.sum())
    last = min(first + 1000000, flags.shape[0])
    while first < min(last, end):
        board = np.int64(queue[first])
        first += 1
        if kind_of(board, digits, counts) == 2:
            continue
        seen = np.int64(0)
        for cell in range(CELLS):
            seen += swapped(digits[cell]) * _POWERS[cell]
        for cell in range(CELLS):
            for size in range(1, SIZES + 1):
                if is_move(digits, counts, cell, size, same_size_swap):
                    after = seen + (size + SIZES - swapped(digits[cell])) * _POWERS[cell]
                    if not flags[after]:
                        flags[after] = True
                        queue[end] = after
                        end += 1
    return first, end


def analyse(same_size_swap: bool, tell: Callable[[str, float], None]) -> tuple[np.ndarray, np.ndarray]:
    """Work out all positions that can arise.

    `tell` hears what is being done and which share of it is. Returns uint8 (7**9,), see DRAWN, and bool (7**9,):
    whether the board can arise and there is something to decide.
    """
    queue, arises = np.empty(BOARDS, np.int32), np.zeros(BOARDS, np.bool_)
    first, end = 0, 1
    while first < end:
        first, end = reach(arises, queue, first, same_size_swap)
        tell("finding positions", first / end)
    moves, values = np.empty(BOARDS, np.uint8), np.empty(BOARDS, np.uint8)
    parts = 49
    for part in range(parts):
        prepare(BOARDS // parts * part, BOARDS // parts * (part + 1), same_size_swap, moves, values)
        tell("counting moves", (part + 1) / parts)
    moves[~arises] = 0
    values[~arises] = DRAWN
    total = int(arises.sum())
    first, last = 0, collect_lost(values, queue)
    while first < last:
        first, last = last, retract(queue, first, last, same_size_swap, moves, values)
        tell("going back from the end", last / total)
    # Those that are known to be lost have run out of moves in the count.
    return values, arises & ((moves > 0) | (values > 1))


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
    least = np.int64(BOARDS)
    for turn in range(8):
        number = np.int64(0)
        for cell in range(CELLS):
            number += digits[cell] * weights[turn, cell]
        if number < least:
            least = number
    return least


@cache
def _weights() -> np.ndarray:
    """What a digit in each cell adds to the number of each mirror image: int64 (8, 9)."""
    return _POWERS[np.argsort(_TURNS, axis=1)]


@kernel
def compress(values, live, weights, present, out):
    """Mark the boards of a table in `present`, uint64, zero before; and write their values. Gives their number."""
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
    total = np.int64(0)
    for byte in range(8):
        total += np.int64((word >> np.uint64(8 * byte)) & np.uint64(0xFF))
    return total


@kernel
def count_before(present, before):
    """How many bits are set in the words before each."""
    total = np.int64(0)
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


@kernel
def find_in_state(state, digits, weights, table):
    """`find` for a state's board, seen by the player to move; digits int64 (9,) is room to work."""
    for cell in range(CELLS):
        digits[cell] = digit_of(state["piece"][cell], state["to_move"])
    return find(digits, weights, table)


@kernel
def digit_of(piece, player):
    """A piece as `player` sees it."""
    if piece == EMPTY:
        return np.int64(EMPTY)
    return np.int64(rules.size_of(piece)) + (0 if rules.owner_of(piece) == player else SIZES)


@kernel
def judge(state, digits, weights, table):
    """What is known of a state that goes on: (plies to the end, value for the player to move, whether it is exact).

    A won or lost position that cannot be brought to its end within `max_plies` is worth a draw: who loses can hold out
    so long, and who wins need not lose. It is not exact if the way to the end might meet a position that has occurred
    before and would be a draw by repetition. Plies are -1 for a draw by endless play, and -2 where nothing is known.
    """
    found = find_in_state(state, digits, weights, table)
    if found < 0:
        return -2, 0, False
    if found == DRAWN:
        return -1, 0, True
    plies = found - 1
    wins = plies % 2 == 1
    if state["ply"] + plies > state["max_plies"]:
        return plies, 0, True
    return plies, 1 if wins else -1, not in_danger(state, plies, weights, table)


@kernel
def in_danger(state, plies, weights, table):
    """Whether an earlier position, once more and it is a draw, is on some way of the winner to the end.

    The plies to the end go down with every move of the winner's. So it must be nearer to the end, and won by the same
    player.
    """
    limit, logged = state["repetition_limit"], state["logged"]
    if limit == 0 or logged < limit - 1:
        return False
    pieces = state["piece"].copy()
    boards = np.empty(logged, np.int64)
    movers = np.empty(logged, np.int64)
    digits = np.empty(CELLS, np.int64)
    for k in range(logged - 1, -1, -1):
        mover, was, where = rules.read_entry(state, k)
        pieces[where] = was
        number = np.int64(0)
        for cell in range(CELLS):
            number += digit_of(pieces[cell], mover) * _POWERS[cell]
        boards[k], movers[k] = number, mover
    winner = state["to_move"] if plies % 2 == 1 else 1 - state["to_move"]
    for k in range(logged):
        times = 0
        for other in range(logged):
            times += boards[other] == boards[k] and movers[other] == movers[k]
        if times >= limit - 1:
            digits_of(boards[k], digits)
            found = find(digits, weights, table)
            won_by = movers[k] if found % 2 == 0 else 1 - movers[k]
            if found > DRAWN and found - 1 < plies and won_by == winner:
                return True
    return False


@kernel
def judge_rows(states, weights, table, plies, values):
    """`judge` for each state: plies int64 (n,), values float64 (n,) for the player to move, nan where not exact.

    Of a finished game it is what was paid.
    """
    digits = np.empty(CELLS, np.int64)
    for i in range(states.shape[0]):
        if states[i]["done"]:
            plies[i], values[i] = 0, states[i]["rewards"][states[i]["to_move"]]
        else:
            plies[i], value, exact = judge(states[i], digits, weights, table)
            values[i] = value if exact else np.nan


@kernel
def actions_rows(states, weights, table, plies, values):
    """The same after each action, for the player to move now: int64 (n, 27) and float64 (n, 27), nan where illegal."""
    digits = np.empty(CELLS, np.int64)
    trial = np.empty(1, states.dtype)
    actions = np.empty(2, np.int64)
    legal = np.empty(SIZES * CELLS, np.bool_)
    for i in range(states.shape[0]):
        plies[i] = -2
        values[i] = np.nan
        if states[i]["done"]:
            continue
        player = states[i]["to_move"]
        rules.legal_mask(states[i], player, legal)
        for action in range(SIZES * CELLS):
            if legal[action]:
                trial[0] = states[i]
                actions[:] = action
                rules.step(trial[0], actions)
                trial[0]["ply"] += 1
                if trial[0]["done"]:
                    plies[i, action] = 0 if trial[0]["rewards"][player] > 0 else -1
                    values[i, action] = trial[0]["rewards"][player]
                else:
                    plies[i, action], value, exact = judge(trial[0], digits, weights, table)
                    values[i, action] = -value if exact else np.nan


# --- best responses ---

#: Positions that can arise and in which there is something to decide, seen by the player to move.
POSITIONS = 31_186_686

#: Values of best responses are as exact as that.
PRECISION = 1e-6

# Who wins with at least this value wins so often within the plies left, whatever comes after them: with more plies left
# the value is at least 1 minus twice what is missing here. A quarter of PRECISION leaves half of it to the other end.
_SETTLED = 1 - PRECISION / 4

# Positions that a policy is asked about at a time, and those in which it is asked again at other plies.
_ASKED, _ASKED_AGAIN = 1 << 17, 512

# Probabilities that differ by less are the same but for rounding.
_ROUNDING = 1e-6

_ACTIONS = np.arange(SIZES * CELLS)

# What an action's piece adds to a board's number, if it is the responder's; and the action of a bit: the powers of two
# below 2**36 differ modulo 37.
_PLACED = (1 + _ACTIONS % SIZES) * _POWERS[_ACTIONS // SIZES]
_OF_BIT = np.zeros(37, np.int64)
_OF_BIT[(1 << _ACTIONS) % 37] = _ACTIONS

Policy = Callable[[np.ndarray, np.ndarray], np.ndarray]
Tell = Callable[[float], None]


class Part(NamedTuple):
    """Some of the positions that can arise against a policy.

    Attributes:
        depth: plies from the starts after which they arise first.
        boards: int32 (n,), seen by the responder, whoever is to move.
        moves: int32 (n,): bit a is set if action a can be played.
        chances: float64, of these actions, position by position; of length 0 where the responder is to move.
    """

    depth: int
    boards: np.ndarray
    moves: np.ndarray
    chances: np.ndarray


@kernel
def legal_moves(boards, mine, same_size_swap, moves):
    """Fill moves, see `Part`; `mine`: whether the responder is to move."""
    digits, counts = np.empty(CELLS, np.int64), np.empty(DIGITS, np.int64)
    for i in range(boards.shape[0]):
        digits_of(np.int64(boards[i]), digits)
        if not mine:
            for cell in range(CELLS):
                digits[cell] = swapped(digits[cell])
        count_digits(digits, counts)
        moves[i] = 0
        for action in range(SIZES * CELLS):
            if is_move(digits, counts, action // SIZES, action % SIZES + 1, same_size_swap):
                moves[i] |= 1 << action


@kernel
def spread(boards, moves, mine, seen, values, queue, end):
    """Find the positions after all moves that are not in seen, bool (7**9,).

    Those in which the game goes on are added to queue, int32, of which `end` are filled; gives the new end. Of those
    with a line the values are set, float64 (7**9,): 1 for the responder's, -1 for the other's.
    """
    digits = np.empty(CELLS, np.int64)
    first = 1 if mine else SIZES + 1
    for i in range(boards.shape[0]):
        digits_of(np.int64(boards[i]), digits)
        for cell in range(CELLS):
            old = digits[cell]
            for size in range(SIZES):
                if not moves[i] >> (SIZES * cell + size) & 1:
                    continue
                digits[cell] = first + size
                after = boards[i] + (digits[cell] - old) * _POWERS[cell]
                if not seen[after]:
                    seen[after] = True
                    if line_of(digits, first):
                        values[after] = 1 if mine else -1
                    else:
                        queue[end] = after
                        end += 1
            digits[cell] = old
    return end


@kernel
def respond(boards, moves, settled, after, values):
    """Values where the responder is to move, from those after his moves: float64 (7**9,) both.

    Those that are at least `settled`, or at most -settled, are left as they are. Gives by how much one has changed at
    most, and how many are not settled.
    """
    change, going, filled = 0.0, 0, np.empty(CELLS, np.int64)
    for i in range(boards.shape[0]):
        board, left, best = np.int64(boards[i]), np.int64(moves[i]), -np.inf
        if abs(values[board]) >= settled:
            continue
        split(board, filled)
        while left:
            bit = left & -left
            left ^= bit
            action = _OF_BIT[bit % 37]
            best = max(best, after[board - filled[action // SIZES] + _PLACED[action]])
        change = max(change, abs(best - values[board]))
        values[board] = best
        going += abs(best) < settled
    return change, going


@kernel
def follow(boards, moves, chances, settled, after, values):
    """As `respond`, where the other is to move, with chances as in `Part`."""
    change, going, filled, at = 0.0, 0, np.empty(CELLS, np.int64), np.int64(0)
    for i in range(boards.shape[0]):
        board, left, mean = np.int64(boards[i]), np.int64(moves[i]), 0.0
        if abs(values[board]) >= settled:
            at += bits_set(np.uint64(left))
            continue
        split(board, filled)
        while left:
            bit = left & -left
            left ^= bit
            action = _OF_BIT[bit % 37]
            placed = _PLACED[action] + SIZES * _POWERS[action // SIZES]
            mean += chances[at] * after[board - filled[action // SIZES] + placed]
            at += 1
        change = max(change, abs(mean - values[board]))
        values[board] = mean
        going += abs(mean) < settled
    return change, going


@kernel
def split(board, filled):
    """What each cell adds to a board's number; out int64 (9,)."""
    for cell in range(CELLS):
        digit = board % DIGITS
        filled[cell] = digit * _POWERS[cell]
        board //= DIGITS


class Response:
    """A player who plays best against a policy that he knows, in games that go on from given states.

    No position that can arise is without a move, so that the players take turns, and the value of a position with so
    many plies left is found from those of its successors with one ply less. Two arrays hold them, one for each player
    to move, and are filled in turn. A value with two plies more left changes at most as much as any did before: this
    tells when the plies left can be left out.

    Attributes:
        parts: all that can arise before `max_plies`, in the order of depth.
        heeded_at: the first ply at which the policy was seen to do something else than before in the same position;
            None if it was not.
    """

    def __init__(self, starts: np.ndarray, policy: Policy, player: int, tell: Tell = lambda share: None) -> None:
        """Find what can arise, and ask the policy about it: each position once, at the first ply at which it can arise.

        Args:
            starts: structured (n,), with no limit of repetitions, all with the same player to move and the same ply.
            policy: gives float (k, 27) for states structured (k,) and players int64 (k,).
            player: who plays best.
            tell: hears what share is done.

        Raises ValueError in words for other starts, or a policy that gives no distributions over the legal moves.
        """
        if player not in (0, 1):
            raise ValueError(f"player must be 0 or 1, not {player!r}")
        if len({(int(ply), int(mover)) for ply, mover in zip(starts["ply"], starts["to_move"], strict=True)}) != 1:
            raise ValueError("starts must be one state or more, all with the same ply and the same player to move")
        if starts["done"].any() or starts["repetition_limit"].any():
            raise ValueError("starts must be states in which the game goes on, with repetition_limit=none")
        self.player = player
        self._policy, self._start = policy, starts[:1].copy()
        self._mine = bool(starts["to_move"][0] == player)
        self._plies = int(starts["max_plies"][0] - starts["ply"][0])
        pieces = starts["piece"].astype(np.int64)
        digits = np.where(pieces == EMPTY, EMPTY, (pieces - 1) % SIZES + 1)
        digits[(pieces != EMPTY) & ((pieces - 1) // SIZES != player)] += SIZES
        self._boards = digits @ _POWERS
        self._values = np.zeros(BOARDS), np.zeros(BOARDS)  # with the other, with the responder to move
        self.parts = list(self._explore(tell))
        self.heeded_at = self._heeded_at()

    def _mine_at(self, depth: int) -> bool:
        return self._mine ^ bool(depth % 2)

    def _explore(self, tell: Tell) -> Iterator[Part]:
        swap = bool(self._start["same_size_swap"][0])
        seen = np.zeros(BOARDS, np.bool_), np.zeros(BOARDS, np.bool_)
        queue, done = np.empty(BOARDS, np.int32), 0
        found = np.unique(self._boards).astype(np.int32)
        seen[self._mine][found] = True
        for depth in range(self._plies):
            mine, end = self._mine_at(depth), 0
            for boards in np.split(found, range(_ASKED, len(found), _ASKED)):
                moves, chances = np.empty(len(boards), np.int32), np.empty(0)
                legal_moves(boards, mine, swap, moves)
                if not moves.all():
                    raise ValueError("starts must be states that can arise: in some a player would have no move")
                if not mine:
                    moves, chances = self._asked(boards, moves, depth)
                end = spread(boards, moves, mine, seen[not mine], self._values[not mine], queue, end)
                yield Part(depth, boards, moves, chances)
                done += len(boards)
                tell(min(done / (2 * POSITIONS), 1.0))
            # In their order, so that what is near in the arrays is used together.
            found = np.sort(queue[:end])
            if not end:
                break

    def _asked(self, boards: np.ndarray, moves: np.ndarray, depth: int) -> tuple[np.ndarray, np.ndarray]:
        """The moves that the policy makes, and their chances: see `Part`."""
        policies = self._ask(self._states(boards, depth))
        legal = (moves[:, None] >> _ACTIONS & 1).astype(np.bool_)
        wrong = ~((policies >= 0) & (legal | (policies == 0))).all(axis=1)
        wrong |= ~(np.abs(policies.sum(axis=1) - 1) < _ROUNDING)
        if wrong.any():
            raise ValueError(
                f"a policy must give a distribution over the legal actions, not {policies[wrong][0].tolist()}, where "
                f"legal are {np.flatnonzero(legal[wrong][0]).tolist()}"
            )
        policies /= policies.sum(axis=1, keepdims=True)
        played = policies > 0
        return (played @ (1 << _ACTIONS)).astype(np.int32), policies[played]

    def _ask(self, states: np.ndarray) -> np.ndarray:
        policies = np.array(self._policy(states, np.full(len(states), 1 - self.player)), np.float64)
        wanted = len(states), SIZES * CELLS
        if policies.shape != wanted:
            raise ValueError(f"a policy for {len(states)} states must have shape {wanted}, not {policies.shape}")
        return policies

    def _states(self, boards: np.ndarray, depth: int) -> np.ndarray:
        """The states with these boards in which the other is to move: structured (n,)."""
        states = np.repeat(self._start, len(boards))
        digits = boards[:, None] // _POWERS % DIGITS
        owner = np.where(digits <= SIZES, self.player, 1 - self.player)
        states["piece"] = np.where(digits == EMPTY, EMPTY, SIZES * owner + (digits - 1) % SIZES + 1)
        for size in range(1, SIZES + 1):
            states["stash"][:, self.player, size - 1] = PIECES - (digits == size).sum(axis=1)
            states["stash"][:, 1 - self.player, size - 1] = PIECES - (digits == SIZES + size).sum(axis=1)
        states["to_move"], states["occurred"] = 1 - self.player, 1
        states["ply"] += depth
        return states

    def _heeded_at(self) -> int | None:
        """See the class. The last ply is left out: at it nothing but a line counts."""
        asked = [part for part in self.parts if not self._mine_at(part.depth)]
        total = sum(len(part.boards) for part in asked)
        step = max(total // _ASKED_AGAIN, 1)
        some, before = [], 0
        for part in asked:
            # Each part has one at least: the shallow ones have few positions.
            some.append(self._states(part.boards[min(-before % step, len(part.boards) - 1) :: step], part.depth))
            before += len(part.boards)
        # First turns cannot come later.
        states = np.concatenate([self._start[:0], *some])
        states = states[states["ply"] >= 2]
        if not len(states):
            return None
        usual, last = self._ask(states), int(states["max_plies"][0]) - 1
        now = states.copy()
        for ply in range(int(states["ply"].min()) + 2, last, 2):
            later = ply > states["ply"]
            now["ply"] = ply
            if not np.allclose(self._ask(now[later]), usual[later], rtol=0, atol=_ROUNDING):
                return ply
        return None

    def values(self, tell: Tell = lambda share: None) -> np.ndarray:
        """float64 (n,): what the player gets from each start.

        The error is below PRECISION. A policy that heeds the ply is taken to do in each position always what it does
        when the position can first arise.
        """
        return self._swept(self._plies, 0.0, tell)

    def bounds(self, tell: Tell = lambda share: None) -> tuple[np.ndarray, np.ndarray]:
        """What `values` would be at least and at most, whatever the policy does from ply `heeded_at` on."""
        if self.heeded_at is None:
            found = self.values(tell)
            return found, found
        plies = self.heeded_at - int(self._start["ply"][0])
        least = self._swept(plies, -1.0, lambda share: tell(share / 2))
        return least, self._swept(plies, 1.0, lambda share: tell((1 + share) / 2))

    def _swept(self, plies: int, left: float, tell: Tell = lambda share: None) -> np.ndarray:
        """Values of the starts in games of so many plies, after which they are worth `left`."""
        parts = [part for part in self.parts if part.depth <= plies]
        for part in parts:
            self._values[self._mine_at(part.depth)][part.boards] = left
        settled = _SETTLED if left == 0 else np.inf
        of_starts = self._values[self._mine]
        reached = self._mine
        for k in range(1, plies + 1):
            reached, change = self._mine_at(plies - k), 0.0
            after, values = self._values[not reached], self._values[reached]
            going = []
            for part in parts:
                # Those that arise later are never asked for with k plies left.
                if part.depth > plies - k:
                    break
                if self._mine_at(part.depth) == reached:
                    if reached:
                        most, unsettled = respond(part.boards, part.moves, settled, after, values)
                    else:
                        most, unsettled = follow(part.boards, part.moves, part.chances, settled, after, values)
                    change = max(change, most)
                    if not unsettled:
                        continue
                going.append(part)
            parts = going
            tell(k / plies)
            # At first there is no value with two plies less to compare with.
            steady = k >= 2 and change * (plies - k + 1) / 2 <= PRECISION / 2
            if steady or (np.abs(of_starts[self._boards]) >= settled).all():
                tell(1.0)
                break
        return of_starts[self._boards]


class MartianOracle:
    """Best play of the 3x3 game of two players: the shortest win, the longest loss.

    See `ttt_envs.core.game.Oracle` for shapes. It covers what can arise; not covered are positions won or lost by the
    table, if the way to the end could meet a position that has occurred so often that once more would be a draw.
    """

    def __init__(self, same_size_swap: bool = False) -> None:
        """Reads the table, or builds it, after saying so on stderr."""
        self.same_size_swap = same_size_swap
        self._table = load_table(same_size_swap)

    def covers(self, states: np.ndarray) -> np.ndarray:
        """Bool (n,)."""
        return ~np.isnan(self._judge(states)[1])

    def plies_to_end(self, states: np.ndarray) -> np.ndarray:
        """int64 (n,): odd if the player to move wins, even if he loses; -1 for a draw, -2 where nothing is known.

        Without regard to the limits of plies and of repetitions.
        """
        return self._judge(states)[0]

    def value(self, states: np.ndarray, player: int | np.ndarray) -> np.ndarray:
        """float64 (n,): expected reward of `player` under best play by both; nan where not covered."""
        values = self._judge(states)[1]
        return np.where(states["to_move"] == player, values, 0 - values)

    def action_values(self, states: np.ndarray, player: int | np.ndarray) -> np.ndarray:
        """float64 (n, 27): the same after each action; nan where it is illegal or leads to what is not covered."""
        values = self._actions(states)[1]
        return np.where((states["to_move"] == player)[:, None], values, 0 - values)

    def policy(self, states: np.ndarray, player: int | np.ndarray) -> np.ndarray:
        """float64 (n, 27): all best actions alike; a row of zeros where not covered or `player` is not to move."""
        now, value = self._judge(states)
        after, worth = self._actions(states)
        # What the table says, also where a limit makes a draw of it: one side goes on trying, and the other resisting.
        best = np.where((now >= 0)[:, None], after == now[:, None] - 1, after == -1)
        # Where a limit cuts all of that off, any action of the best value.
        cut = ~best.any(axis=1)
        best[cut] = worth[cut] == value[cut, None]
        best &= (~np.isnan(value) & ~states["done"] & (states["to_move"] == player))[:, None]
        return best / np.maximum(best.sum(axis=1, keepdims=True), 1)

    def _judge(self, states: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        states = self._checked(states)
        plies, values = np.empty(len(states), np.int64), np.empty(len(states))
        judge_rows(states, _weights(), self._table, plies, values)
        return plies, values

    def _actions(self, states: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        states = self._checked(states)
        shape = len(states), SIZES * CELLS
        plies, values = np.empty(shape, np.int64), np.empty(shape)
        actions_rows(states, _weights(), self._table, plies, values)
        return plies, values

    def _checked(self, states: np.ndarray) -> np.ndarray:
        if states.dtype.names is None or "stash" not in states.dtype.names or states["stash"].shape[1:] != (2, SIZES):
            raise ValueError("this oracle answers states of the game with two players")
        wrong = (states["size"] != 3) | (states["same_size_swap"] != self.same_size_swap)
        if wrong.any():
            raise ValueError(f"this oracle answers states of size=3 and same_size_swap={self.same_size_swap}")
        return np.ascontiguousarray(states)


class RespondingOracle(MartianOracle):
    """Best play of the 3x3 game of two players, and without the draw by repetition best responses to any policy."""

    def __init__(self, same_size_swap: bool = False, max_plies: int = 300, repetition_limit: int | None = None) -> None:
        """The options of the game."""
        super().__init__(same_size_swap)
        self._start = np.zeros(1, rules.state_dtype_for(3, 2, 1))
        self._start["size"] = self._start["line"] = self._start["pieces"] = self._start["stash"] = PIECES
        self._start["same_size_swap"], self._start["max_plies"] = same_size_swap, max_plies
        self._start["repetition_limit"], self._start["occurred"] = repetition_limit or 0, 1

    def best_response(self, policy: Policy, player: int, tell: Tell = lambda share: None) -> float:
        """Expected reward of `player`, if he plays best against a policy that he knows: up to PRECISION.

        The policy is asked once in each position that can arise against it, at the first ply at which it can. Whether
        it heeds the ply is tried on a sample of the positions. If it does, the figure is for a policy that does in each
        position always what this one does there first, and a UserWarning says so, with bounds on what a best response
        wins against the policy as it is. Takes up to 4 GB, and minutes.

        Args:
            policy: gives float (k, 27) for states structured (k,) and players int64 (k,).
            player: who plays best; the other one follows the policy.
            tell: hears what share is done.

        Raises ValueError in words for a game with the draw by repetition, or a policy that gives no distributions over
        the legal moves.
        """
        if self._start["repetition_limit"][0]:
            raise ValueError(
                "best responses are known with repetition_limit=none alone: with the draw by repetition a position has "
                "too many pasts"
            )
        response = Response(self._start, policy, player, lambda share: tell(share / 2))
        if response.heeded_at is not None:
            least, most = response.bounds()
            warnings.warn(
                f"the policy heeds how many plies were played: from ply {response.heeded_at} on it does something else "
                "in some positions. The best response is to a policy that does in each position always what this one "
                f"does when it can first arise. Whatever it does from that ply on, a best response as player_{player} "
                f"wins from {least[0]:.4f} to {most[0]:.4f}",
                stacklevel=2,
            )
        return float(response.values(lambda share: tell((1 + share) / 2))[0])


def oracle_for(
    size: int, players: int, same_size_swap: bool, max_plies: int, repetition_limit: int | None
) -> RespondingOracle:
    """Best play with the options of a game; NotImplementedError in words where there is none."""
    if (size, players) != (3, 2):
        raise NotImplementedError(
            f"no oracle for size={size} and players={players}: best play is known for size=3 and players=2"
        )
    return _oracle(same_size_swap, max_plies, repetition_limit)


@cache
def _oracle(same_size_swap: bool, max_plies: int, repetition_limit: int | None) -> RespondingOracle:
    return RespondingOracle(same_size_swap, max_plies, repetition_limit)


# --- the file ---

#: Changes with the form or the contents of a table.
VERSION = 1

_MAGIC = b"ttt-envs martian_tic_tac_toe table\n"
_HEAD = 512


class BadTable(ValueError):
    """A file that is no table of this version, or is damaged."""


def table_path(same_size_swap: bool) -> Path:
    """Where the table of these rules is kept."""
    folder = os.environ.get("TTT_ENVS_CACHE")
    name = f"martian_tic_tac_toe{'-same_size_swap' if same_size_swap else ''}.table"
    return (Path(folder) if folder else user_cache_path("ttt_envs")) / name


def write_table(path: Path, table: Table, same_size_swap: bool) -> None:
    """Write a table, whole or not at all; OSError if that cannot be."""
    body = b"".join(part.tobytes() for part in table)
    facts = {
        "version": VERSION,
        "same_size_swap": same_size_swap,
        "positions": len(table.values),
        "sha256": hashlib.sha256(body).hexdigest(),
    }
    write_whole(path, (_MAGIC + json.dumps(facts).encode()).ljust(_HEAD, b"\n") + body)


def read_table(path: Path, same_size_swap: bool) -> Table:
    """The table of a file, mapped into memory. FileNotFoundError, or BadTable in words."""
    with path.open("rb") as file:
        head = file.read(_HEAD)
    if not head.startswith(_MAGIC):
        raise BadTable(f"{path} is no table of this game")
    try:
        facts = json.loads(head[len(_MAGIC) :])
        version, swap, positions, digest = (facts[k] for k in ("version", "same_size_swap", "positions", "sha256"))
    except (ValueError, KeyError, TypeError) as error:
        raise BadTable(f"{path} is damaged: its head cannot be read ({error})") from None
    if version != VERSION or swap is not same_size_swap:
        raise BadTable(f"{path} is a table of version {version} with same_size_swap={swap}, not of {VERSION}")
    if not isinstance(positions, int):
        raise BadTable(f"{path} is damaged: its head says that it has {positions!r} positions")
    size = _WORDS * 12 + positions
    if path.stat().st_size != _HEAD + size:
        raise BadTable(f"{path} is damaged: it must have {_HEAD + size} bytes, not {path.stat().st_size}")
    body = np.asarray(np.memmap(path, np.uint8, "r", _HEAD))
    if hashlib.sha256(body.data).hexdigest() != digest:
        raise BadTable(f"{path} is damaged: its checksum is wrong")
    return Table(
        body[: 8 * _WORDS].view(np.uint64), body[8 * _WORDS : 12 * _WORDS].view(np.uint32), body[12 * _WORDS :]
    )


def build_table(same_size_swap: bool, tell: Callable[[str, float], None] = lambda what, share: None) -> Table:
    """Work out the table: half a minute and half a GB."""
    values, live = analyse(same_size_swap, tell)
    present, before, out = np.zeros(_WORDS, np.uint64), np.empty(_WORDS, np.uint32), np.empty(BOARDS, np.uint8)
    positions = compress(values, live, _weights(), present, out)
    count_before(present, before)
    return Table(present, before, out[:positions].copy())


def load_table(same_size_swap: bool) -> Table:
    """The table from the cache folder; if it is not there or damaged, it is built, and written there if possible."""
    path = table_path(same_size_swap)
    why = "it is needed for the first time"
    try:
        return read_table(path, same_size_swap)
    except FileNotFoundError:
        pass
    except (OSError, BadTable) as error:
        why = str(error)
    return make_table(path, same_size_swap, why)


def make_table(path: Path, same_size_swap: bool, why: str) -> Table:
    """Build a table with progress on stderr, and write it; a folder that cannot be written is said, and no error."""
    from rich.console import Console
    from rich.progress import Progress

    console = Console(stderr=True, force_jupyter=False)
    console.print(f"Building the table of best play, once: {why}", soft_wrap=True, highlight=False, markup=False)
    with Progress(console=console, transient=True) as progress:
        task = progress.add_task("", total=1.0)
        table = build_table(
            same_size_swap, lambda what, share: progress.update(task, description=what, completed=share)
        )
    try:
        write_table(path, table, same_size_swap)
        table = read_table(path, same_size_swap)
        said = f"It is kept in {path}"
    except (OSError, BadTable) as error:
        said = f"It cannot be kept as {path}, and is used from memory ({error}). TTT_ENVS_CACHE chooses another folder."
    console.print(said, soft_wrap=True, highlight=False, markup=False)
    return table


# --- the command ---


def main(arguments: Sequence[str] | None = None) -> int:
    """Command line; returns the exit status."""
    parser = argparse.ArgumentParser(
        prog="python -m ttt_envs.games.martian_tic_tac_toe.solver",
        description="Build the table of best play of the 3x3 game, and say what is in it.",
    )
    parser.add_argument("--same-size-swap", action="store_true", help="with the option same_size_swap=True")
    parser.add_argument("--picture", type=Path, help="write a drawn position with few pieces to this file, as SVG")
    given = parser.parse_args(arguments)
    path = table_path(given.same_size_swap)
    try:
        table = make_table(path, given.same_size_swap, f"for {path}")
    except KeyboardInterrupt:
        print("interrupted: nothing was written", file=sys.stderr)
        return 130
    print("\n".join(facts(table)))
    if given.picture is not None:
        try:
            write_whole(given.picture, drawn_picture(table) + "\n")
        except OSError as error:
            print(f"error: the picture cannot be written: {error}", file=sys.stderr)
            return 2
        print(f"wrote {given.picture}")
    return 0


def facts(table: Table) -> Iterator[str]:
    """Lines about the openings, and about how many positions are won, lost and drawn."""
    digits = np.zeros(CELLS, np.int64)
    for cell, name in enumerate(cell_names(3)):
        digits[:] = EMPTY
        digits[cell] = SIZES + 1
        value = find(digits, _weights(), table)
        result = "drawn" if value == DRAWN else f"{'lost' if value % 2 == 0 else 'won'} in {value} plies"
        yield f"opening on {name}: {result}"
    counts = np.zeros(3, np.int64)
    count_all(table, _weights(), counts)
    won, lost, drawn = counts
    yield f"{won:,} positions won by the player to move, {lost:,} lost, {drawn:,} drawn"
    plies = table.values.astype(np.int64) - 1
    yield f"the longest win takes {plies[plies % 2 == 1].max()} plies, the longest loss {plies[plies % 2 == 0].max()}"


@kernel
def count_all(table, weights, counts):
    """Won, lost and drawn positions: int64 (3,). Each is counted as often as it has different mirror images."""
    digits, images = np.empty(CELLS, np.int64), np.empty(8, np.int64)
    at = 0
    for word in range(table.present.shape[0]):
        for bit in range(64):
            if not (table.present[word] >> np.uint64(bit)) & np.uint64(1):
                continue
            digits_of(64 * word + bit, digits)
            different = 0
            for turn in range(8):
                images[turn] = 0
                for cell in range(CELLS):
                    images[turn] += digits[cell] * weights[turn, cell]
                new = True
                for other in range(turn):
                    new = new and images[other] != images[turn]
                different += new
            value = np.int64(table.values[at])
            counts[2 if value == DRAWN else value % 2] += different
            at += 1


@kernel
def emptiest_drawn(table, digits):
    """The first of the drawn positions with the fewest pieces; out int64 (9,)."""
    trial, counts, most, at = np.empty(CELLS, np.int64), np.empty(DIGITS, np.int64), -1, 0
    for word in range(table.present.shape[0]):
        for bit in range(64):
            if (table.present[word] >> np.uint64(bit)) & np.uint64(1):
                if table.values[at] == DRAWN:
                    digits_of(64 * word + bit, trial)
                    count_digits(trial, counts)
                    if counts[EMPTY] > most:
                        most = counts[EMPTY]
                        digits[:] = trial
                at += 1


def drawn_picture(table: Table) -> str:
    """SVG of the position of `emptiest_drawn`, red to move."""
    digits = np.empty(CELLS, np.int64)
    emptiest_drawn(table, digits)
    state = np.zeros(1, rules.state_dtype_for(3, 2, 1))
    state["size"], state["pieces"], state["piece"] = 3, PIECES, digits  # the mover's are player 0's
    for digit in range(1, DIGITS):
        state["stash"][0, (digit - 1) // SIZES, (digit - 1) % SIZES] = PIECES - (digits == digit).sum()
    return draw(state[0])


if __name__ == "__main__":
    sys.exit(main())
