"""Best responses to a policy in games without a draw by repetition: value iteration with one sweep per ply.

(Bellman, "A Markovian decision process", Journal of Mathematics and Mechanics 6, 1957.)
"""

# mypy: disable-error-code="no-untyped-def"

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np

from ttt_envs.core.compile.jit import kernel
from ttt_envs.core.oracle import Policy, Progress
from ttt_envs.games.martian_tic_tac_toe.rules import SIZES, has_line
from ttt_envs.games.martian_tic_tac_toe.solver.positions import (
    BOARDS,
    CELLS,
    DIGITS,
    PIECES,
    POWERS,
    SEEN,
    count_digits,
    digits_of,
    put_boards,
    sizes_into,
    swap_sides,
)
from ttt_envs.games.martian_tic_tac_toe.solver.tables import bits_set

#: Number of positions with a decision that can arise, from the view of the player to move.
POSITIONS = 31_186_686

#: The largest error of the values of best responses.
PRECISION = 1e-6

# A position with at least this value (or at most its negative) is not computed again. A value of 1 - d means a win
# within the remaining plies with a probability of at least 1 - d; with more remaining plies, the value is therefore at
# least 1 - 2 * d. With d = PRECISION / 4, this error is at most half of PRECISION; the other half is for ending the
# sweeps early.
_SETTLED = 1 - PRECISION / 4

# The most states in one query of a policy, and about how many positions are queried again at later plies.
_ASKED, _ASKED_AGAIN = 1 << 17, 512

# Probabilities that differ by less are equal up to rounding.
_ROUNDING = 1e-6

_ACTIONS = np.arange(SIZES * CELLS)

# _PLACED[action]: what the action's piece adds to a board's number, if it is the responder's. _OF_BIT[bit % 37]: the
# action of a bit of `moves`; powers of two below 2**36 differ modulo 37.
_PLACED = (1 + _ACTIONS % SIZES) * POWERS[_ACTIONS // SIZES]
_OF_BIT = np.zeros(37, np.int64)
_OF_BIT[(1 << _ACTIONS) % 37] = _ACTIONS


class PositionGroup(NamedTuple):
    """A group of positions that can arise against a policy.

    Attributes:
        depth: number of plies from a start to the earliest occurrence.
        boards: int32 (n,), always from the responder's view.
        moves: int32 (n,): bit a is set if action a can be played.
        chances: float64, the probabilities of these actions, position by position; empty if the responder is to move.
    """

    depth: int
    boards: np.ndarray
    moves: np.ndarray
    chances: np.ndarray


@kernel
def legal_moves(boards, mine, same_size_swap, moves):
    """Write `moves`, see `PositionGroup`; `mine`: whether the responder is to move."""
    digits, counts = np.empty(CELLS, np.int8), np.empty(DIGITS, np.int64)
    for i in range(boards.shape[0]):
        digits_of(np.int64(boards[i]), digits)
        if not mine:
            swap_sides(digits, digits)
        count_digits(digits, counts)
        moves[i] = 0
        for cell in range(CELLS):
            moves[i] |= sizes_into(digits, counts, cell, same_size_swap) << SIZES * cell


class Reached(NamedTuple):
    """Reached positions with the same player to move: seen (bool), values (float64) and queue (int32), each (7**9,)."""

    seen: np.ndarray
    values: np.ndarray
    queue: np.ndarray


@kernel
def spread(boards, moves, mine, reached, end):
    """Find the positions after these moves, except those already in reached.seen. Unfinished positions are appended to
    reached.queue at `end`; return its new end. For positions with a line, reached.values become 1 for the responder's
    line and -1 for the other player's.
    """
    seen, values, queue = reached
    digits = np.empty(CELLS, np.int8)
    first = 1 if mine else SIZES + 1
    for i in range(boards.shape[0]):
        digits_of(np.int64(boards[i]), digits)
        for cell in range(CELLS):
            old = digits[cell]
            for size in range(SIZES):
                if not moves[i] >> (SIZES * cell + size) & 1:
                    continue
                digits[cell] = first + size
                after = boards[i] + (digits[cell] - old) * POWERS[cell]
                if not seen[after]:
                    seen[after] = True
                    if has_line(digits, digits[cell], PIECES, PIECES):
                        values[after] = 1 if mine else -1
                    else:
                        queue[end] = after
                        end += 1
            digits[cell] = old
    return end


@kernel
def respond(boards, moves, settled, after, values):
    """Write to `values` the values of positions with the responder to move, from those after the moves in `after`; both
    are float64 (7**9,). Values of at least `settled`, or at most -settled, do not change. Return the largest change,
    and the number of unsettled values.
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
    """Do the same as `respond` for positions with the other player to move; chances: see `PositionGroup`."""
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
            placed = _PLACED[action] + SIZES * POWERS[action // SIZES]
            mean += chances[at] * after[board - filled[action // SIZES] + placed]
            at += 1
        change = max(change, abs(mean - values[board]))
        values[board] = mean
        going += abs(mean) < settled
    return change, going


@kernel
def split(board, filled):
    """Write to `filled`, int64 (9,), what each cell adds to a board's number."""
    for cell in range(CELLS):
        digit = board % DIGITS
        filled[cell] = digit * POWERS[cell]
        board //= DIGITS


class Response:
    """A best response of one player to the other player's known policy, in games that continue from given states.

    Every unfinished position that can arise has a legal move, so the players alternate, and the value of a position
    with k remaining plies follows from its successors' values with k - 1. Two arrays, one per player to move, hold the
    values and are computed in turn. The largest change that two more remaining plies make to a value never grows from
    sweep to sweep, so it bounds what all further plies can change, and the sweeps can end early.

    Attributes:
        parts: groups of all positions that can arise before `max_plies`, in the order of depth.
        heeded_at: the first ply at which the policy was found to play a known position differently; None if it never
            did.
    """

    def __init__(
        self, starts: np.ndarray, policy: Policy, player: int, progress: Progress = lambda share: None
    ) -> None:
        """Find all positions that can arise, and query the policy once in each of them, at the earliest possible ply.

        Args:
            starts: structured (n,), without a limit of repetitions, with the same player to move and the same ply.
            policy: returns float (k, 27) for states, structured (k,), and players, int64 (k,).
            player: the responder.
            progress: called with the finished share.

        Raises ValueError for other starts, or a policy that does not return distributions over the legal moves.
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
        self._boards = SEEN[player, starts["piece"]] @ POWERS
        self._values = np.zeros(BOARDS), np.zeros(BOARDS)  # with the other player, and with the responder to move
        self.parts = list(self._explore(progress))
        self.heeded_at = self._heeded_at()

    def _mine_at(self, depth: int) -> bool:
        return self._mine ^ bool(depth % 2)

    def _explore(self, progress: Progress) -> Iterator[PositionGroup]:
        swap = bool(self._start["same_size_swap"][0])
        seen = np.zeros(BOARDS, np.bool_), np.zeros(BOARDS, np.bool_)
        queue, done = np.empty(BOARDS, np.int32), 0
        arising = np.unique(self._boards).astype(np.int32)
        seen[self._mine][arising] = True
        for depth in range(self._plies):
            mine, end = self._mine_at(depth), 0
            for boards in np.split(arising, range(_ASKED, len(arising), _ASKED)):
                moves, chances = np.empty(len(boards), np.int32), np.empty(0)
                legal_moves(boards, mine, swap, moves)
                if not moves.all():
                    raise ValueError("starts must be states that can arise: in some a player would have no move")
                if not mine:
                    moves, chances = self._asked(boards, moves, depth)
                end = spread(boards, moves, mine, Reached(seen[not mine], self._values[not mine], queue), end)
                yield PositionGroup(depth, boards, moves, chances)
                done += len(boards)
                progress(min(done / (2 * POSITIONS), 1.0))
            # Sorted, so that neighbours in the arrays are used together.
            arising = np.sort(queue[:end])
            if not end:
                break

    def _asked(self, boards: np.ndarray, moves: np.ndarray, depth: int) -> tuple[np.ndarray, np.ndarray]:
        """Return the policy's moves and their chances, see `PositionGroup`."""
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
        """Return the states with these boards and the other player to move: structured (n,)."""
        states = np.repeat(self._start, len(boards))
        put_boards(states, boards[:, None] // POWERS % DIGITS, self.player)
        states["to_move"], states["occurred"] = 1 - self.player, 1
        states["ply"] += depth
        return states

    def _heeded_at(self) -> int | None:
        """Compute the attribute `heeded_at`. The last ply is not tried, because only lines matter in it."""
        asked = [part for part in self.parts if not self._mine_at(part.depth)]
        total = sum(len(part.boards) for part in asked)
        step = max(total // _ASKED_AGAIN, 1)
        some, before = [], 0
        for part in asked:
            # At least one per part, because shallow parts have few positions.
            some.append(self._states(part.boards[min(-before % step, len(part.boards) - 1) :: step], part.depth))
            before += len(part.boards)
        # Positions of the first turns cannot occur at later plies.
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

    def values(self, progress: Progress = lambda share: None) -> np.ndarray:
        """Return the responder's expected reward from each start, float64 (n,). The error is below PRECISION. A policy
        that depends on the ply is taken to play always as at the earliest ply.
        """
        return self._swept(self._plies, 0.0, progress)

    def bounds(self, progress: Progress = lambda share: None) -> tuple[np.ndarray, np.ndarray]:
        """Return the smallest and the largest possible `values`, for any play of the policy from ply `heeded_at` on."""
        if self.heeded_at is None:
            exact = self.values(progress)
            return exact, exact
        plies = self.heeded_at - int(self._start["ply"][0])
        least = self._swept(plies, -1.0, lambda share: progress(share / 2))
        return least, self._swept(plies, 1.0, lambda share: progress((1 + share) / 2))

    def _swept(self, plies: int, left: float, progress: Progress = lambda share: None) -> np.ndarray:
        """Return the values of the starts if games end after `plies` plies, unfinished ones with the value `left`."""
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
                # Positions of later parts cannot have k plies left.
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
            progress(k / plies)
            # The first sweep has no values with two plies fewer to compare with.
            steady = k >= 2 and change * (plies - k + 1) / 2 <= PRECISION / 2
            if steady or (np.abs(of_starts[self._boards]) >= settled).all():
                progress(1.0)
                break
        return of_starts[self._boards]
