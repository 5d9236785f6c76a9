"""All positions of a round, solved by backward induction.

A turn is a matrix game, see `matrix`. An ability is used once and a specialist never returns, so that what the players
hold only becomes less, and while it stays the same, the board fills up. Only one thing leaves everything as it was: a
spy that is blocked, or a pass. But these add an idle turn, so positions are also solved backward by idle turns: from
the limit, where the round is drawn, down to 0.

How much of a value is bluffing is worked out in the same way: one player then does not mix. They choose one action in
each position, and the other knows which.
"""

# mypy: disable-error-code="no-untyped-def"

from typing import NamedTuple

import numpy as np

from ttt_envs.core.compile.jit import kernel
from ttt_envs.core.state import SIMULTANEOUS
from ttt_envs.games.operation_tic_tac_toe import rules
from ttt_envs.games.operation_tic_tac_toe.rules import NOWHERE, TURN
from ttt_envs.games.operation_tic_tac_toe.solver.matrix import ROOMS, solve
from ttt_envs.games.operation_tic_tac_toe.solver.positions import (
    height,
    lesser_standings,
    make_book,
    position_of,
    put_board,
    put_positions,
    put_standing,
    standing_of,
)
from ttt_envs.games.operation_tic_tac_toe.solver.reach import levels, reachable
from ttt_envs.games.operation_tic_tac_toe.solver.turns import DRAWN, ENDLESS, LOST, WON, fill_turn, make_turn


class Solution(NamedTuple):
    """The values of positions, for several worths of a draw at once.

    Attributes:
        values: float64 (positions + 3, draws), for the Placer, with no idle turns yet; nan where not solved. The last
            rows are what the end of a round is worth to the next Placer: see DRAWN, WON and LOST.
        draws: float64 (draws,), the worth of a drawn round to the Placer. They are mirrored: draws[-1 - d] is
            -draws[d], so that values[..., -1 - d] is what the next Placer makes of it.
    """

    values: np.ndarray
    draws: np.ndarray


def make_solution(positions: int, draws: np.ndarray) -> Solution:
    """Return a Solution in which nothing is solved yet; `draws` are mirrored."""
    values = np.full((positions + 3, len(draws)), np.nan)
    values[DRAWN], values[WON], values[LOST] = draws, -1, 1
    return Solution(values, np.array(draws, np.float64))


@kernel
def solve_open(room, free, blocked, limits, places):
    """Return the value for the Placer, as that of `matrix.solve`, if one player does not mix, and the other knows it:
    the Placer if `places`, else the Predictor."""
    if places:
        return np.minimum(free, blocked).max()
    least, most = limits
    value = free.max() if least == 0 else np.inf
    for first in range(ROOMS):
        for second in range(first + 1 if most == 2 else first, ROOMS if most == 2 else first + 1):
            best = -np.inf
            for a in range(room.shape[0]):
                best = max(best, blocked[a] if room[a] in (first, second) else free[a])
            value = min(value, best)
    return value


@kernel
def count_down(turns, counts, d, limits, left):
    """Return values of two positions that are one, but for the Placer, from the draw after the last idle turn on.

    Args:
        turns: two Turns.
        counts: the number of placements of each.
        d: which worth of a draw it has to the first Placer; the last but d to the other.
        limits: the limits of each for `matrix.solve`.
        left: the draw's worth to the first Placer, how many idle turns there are before it, and whether one of the
            players does not mix: the first Placer if d is 0, else the other.

    Returns the values for the first Placer and for the other. Set `blocked` of the Turns, and `free` of a pass, for a
    number of idle turns left.
    """
    draw, idle_turns, open_hand = left
    one = part_of(turns[0], counts[0], d)
    two = part_of(turns[1], counts[1], turns[1].free.shape[0] - 1 - d)
    x, y = draw, -draw
    for _ in range(idle_turns):
        wait_for(-y, one)
        wait_for(-x, two)
        if open_hand:
            new_x = solve_open(one[0], one[2], one[3], limits[0], d == 0)
            new_y = solve_open(two[0], two[2], two[3], limits[1], d != 0)
        else:
            new_x, new_y = solve(one[0], one[2], one[3], limits[0])[0], solve(two[0], two[2], two[3], limits[1])[0]
        if new_x == x and new_y == y:
            break
        x, y = new_x, new_y
    return x, y


@kernel
def part_of(turn, n, d):
    """Return the first n placements of a Turn, with one worth of a draw: room, waits, free, blocked."""
    return turn.room[:n], turn.waits[:n], turn.free[d, :n], turn.blocked[d, :n]


@kernel
def wait_for(worth, part):
    """Put in what it is worth to the Placer if nothing but the idle turns changes; `part` as of `part_of`."""
    room, waits, free, blocked = part
    for a in range(room.shape[0]):
        if waits[a]:
            blocked[a] = worth
            if room[a] == NOWHERE:
                free[a] = worth


@kernel
def solve_both(states, numbers, known, turns, idle):
    """Solve a position with either Placer.

    Args:
        states: structured (2,), in the form of `fill_turn`, with player k to place in states[k].
        numbers: the numbers of the two positions, each as its Placer sees it.
        known: the lookup of a Book, and a Solution with all that can follow.
        turns: two Turns.
        idle: the number of idle turns that make a draw, and whether one player does not mix; see `Rounds`.
    """
    lookup, solution = known
    counts = (
        fill_turn(states, 0, (lookup, solution.values), turns[0]),
        fill_turn(states, 1, (lookup, solution.values), turns[1]),
    )
    limits = prediction_limits(states[0]), prediction_limits(states[1])
    draws = solution.draws.shape[0]
    for d in range(draws):
        x, y = count_down(turns, counts, d, limits, (solution.draws[d], idle[0], idle[1]))
        solution.values[numbers[0], d], solution.values[numbers[1], draws - 1 - d] = x, y


@kernel
def solve_boards(states, book, solution, turns, idle):
    """Solve, as `solve_both`, all boards with the standings in `states`; lesser standings are already solved."""
    own = book.standing[standing_of(states[0], 0)]
    other = book.standing[standing_of(states[0], 1)]
    for board in range(book.code.shape[0]):
        first = book.first[own, other, book.group[board]] + board
        if first < 0 or book.over[board]:
            continue
        put_board(states, 0, book.code[board])
        second = position_of(states[1], 1, book.lookup)
        # With equal standings both may be one board; or the other one's, which is solved already.
        if second >= 0 and (own != other or second >= first):
            solve_both(states, (first, second), (book.lookup, solution), turns, idle)


@kernel
def solve_positions(states, positions, book, solution, turns, idle):
    """Solve, as `solve_both`, positions int64 (n, 3), from `locate` for player 0, in an order that allows it."""
    for k in range(positions.shape[0]):
        put_positions(states, positions[k : k + 1], book)
        numbers = position_of(states[0], 0, book.lookup), position_of(states[1], 1, book.lookup)
        solve_both(states, numbers, (book.lookup, solution), turns, idle)


@kernel
def prediction_limits(state):
    """Return the least and the greatest number of rooms that the Predictor predicts, for `matrix.solve`."""
    most = 2 if state["hacker_on"][1 - state["placer"]] else 1
    return (0 if state["allow_pass"] else most), most


class Rounds:
    """Rounds solved as far as they have been asked for."""

    def __init__(
        self,
        hands: tuple[int, ...],
        idle_turns: int,
        may_pass: bool,
        draws: np.ndarray,
        most: int | None = None,
        *,
        open_hand: bool = False,
    ) -> None:
        """`hands` and `most` as for `make_book`; `idle_turns` make a draw, worth `draws`, see Solution.

        `open_hand`, with two draws: one player does not mix. In the first of the values it is the Placer, in the second
        the Predictor.
        """
        self.book = make_book(hands, most)
        self.idle_turns, self.open_hand = idle_turns, open_hand
        self.may_pass = may_pass
        self.solution = make_solution(self.book.positions, draws)
        self._solved: set[tuple[int, int]] = set()
        self._turns = make_turn(len(draws)), make_turn(len(draws))
        self._states = self.posed(np.zeros(2, rules.STATE))
        self._states["phase"], self._states["to_move"], self._states["pending"] = TURN, SIMULTANEOUS, NOWHERE
        self._states["placer"] = 0, 1

    def has(self, own: int, other: int) -> bool:
        """Return whether such rounds may begin."""
        numbers = self.book.standing[[own, other]]
        return bool((numbers >= 0).all() and self.book.first[numbers[0], numbers[1], 0] + self.book.board[0] >= 0)

    def ensure(self, own: int, other: int) -> None:
        """Solve all positions with these standings, and with what may become of them."""
        wanted = [(a, b) for a in lesser_standings(own) for b in lesser_standings(other)]
        for pair in sorted(wanted, key=lambda pair: height(pair[0]) + height(pair[1])):
            if pair in self._solved:
                continue
            for player, standing in enumerate(pair):
                put_standing(self._states, player, standing)
            solve_boards(self._states, self.book, self.solution, self._turns, (self.idle_turns, self.open_hand))
            self._solved |= {pair, pair[::-1]}

    def ensure_after(self, states: np.ndarray) -> None:
        """Solve only what may follow from some states of the book, in phase TURN or ABILITY, and they themselves."""
        seen = ~np.isnan(self.solution.values[: self.book.positions, 0])
        queue = reachable(self._states, self.posed(states), seen, self.book)
        for level in levels(queue, self.book):
            solve_positions(
                self._states, level, self.book, self.solution, self._turns, (self.idle_turns, self.open_hand)
            )

    def start_values(self, own: int, other: int) -> np.ndarray:
        """Return values of a round for the player who places first, with these standings: float64 (draws,)."""
        numbers = self.book.standing[[own, other]]
        values = self.solution.values[self.book.first[numbers[0], numbers[1], 0] + self.book.board[0]]
        return np.asarray(values)

    def posed(self, states: np.ndarray) -> np.ndarray:
        """Return copies of states in the form that the kernels want: a single round without an end by idleness."""
        states = states.copy()
        states["is_match"], states["done"], states["draw_offers"] = False, False, False
        states["idle"], states["max_idle_turns"], states["allow_pass"] = 0, ENDLESS, self.may_pass
        return states
