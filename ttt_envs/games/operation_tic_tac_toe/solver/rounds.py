"""All positions of a round, solved by backward induction.

A turn is a matrix game, see `matrix`. A used specialist never returns, so the players' standings only shrink, and while
they stay the same the board fills up. Only a blocked spy and a pass change neither standings nor board. They add an
idle turn, so each position is also solved backward over idle turns: from the limit, at which the round is drawn, down
to 0.

The same method also computes the value for a player who does not mix, to show how much bluffing is worth. This player
chooses a single action in each position, and the other player knows it.
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
    """The values of positions, for several values of a draw at once.

    Attributes:
        values: float64 (positions + 3, draws), the Placer's value of each position with no idle turns so far; nan where
            not solved. The last three rows, DRAWN, WON and LOST, are a finished round's values to the player who would
            place next.
        draws: float64 (draws,), for each column of `values`, the value of a drawn round to the Placer. It is symmetric:
            draws[-1 - d] is -draws[d], so the next Placer's values for column d are in column -1 - d.
    """

    values: np.ndarray
    draws: np.ndarray


def make_solution(positions: int, draws: np.ndarray) -> Solution:
    """Return a Solution in which nothing is solved yet; `draws` must be symmetric."""
    values = np.full((positions + 3, len(draws)), np.nan)
    values[DRAWN], values[WON], values[LOST] = draws, -1, 1
    return Solution(values, np.array(draws, np.float64))


@kernel
def solve_open(room, free, blocked, limits, places):
    """Return the Placer's value if one player, the Placer if `places`, chooses an action that the other one knows."""
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
    """Solve one board with either Placer, backward over idle turns from the draw after the last one.

    Args:
        turns: two Turns.
        counts: the number of placements in each Turn.
        d: index of the draw's value to the first Placer; the other player has index -1 - d.
        limits: the limits for `matrix.solve` in each Turn.
        left: the draw's value to the first Placer; the number of idle turns before the draw; and whether one player
            does not mix: the first Placer if d is 0, otherwise the other player.

    Returns two values: each player's own value if this player places now. Also writes to the Turns the payoffs of
    placements that change only the number of idle turns.
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
    """Return room, waits, free and blocked of the first n placements of a Turn, for the d-th value of a draw."""
    return turn.room[:n], turn.waits[:n], turn.free[d, :n], turn.blocked[d, :n]


@kernel
def wait_for(worth, part):
    """Set the payoffs of placements that change only the number of idle turns to `worth`; see `part_of` for `part`."""
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
        states: structured (2,), the position as `turns.fill_turn` requires it; player k places in states[k].
        numbers: the numbers of the two positions, each in its Placer's view.
        known: the lookup of a Book, and a Solution in which all successors are solved; the results are written to it.
        turns: two Turns, scratch memory.
        idle: the number of idle turns after which the round is drawn, and whether one player does not mix; see
            `Rounds`.
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
    """Call `solve_both` for all boards with the standings in `states`; standings that can follow must be solved."""
    own = book.standing[standing_of(states[0], 0)]
    other = book.standing[standing_of(states[0], 1)]
    for board in range(book.code.shape[0]):
        first = book.first[own, other, book.group[board]] + board
        if first < 0 or book.over[board]:
            continue
        put_board(states, 0, book.code[board])
        second = position_of(states[1], 1, book.lookup)
        # With equal standings, exchanging the players leads to a board of this same loop: solve each such pair once.
        if second >= 0 and (own != other or second >= first):
            solve_both(states, (first, second), (book.lookup, solution), turns, idle)


@kernel
def solve_positions(states, positions, book, solution, turns, idle):
    """Call `solve_both` for positions, int64 (n, 3) as in the queue of `reach.reach`; successors must come first."""
    for k in range(positions.shape[0]):
        put_positions(states, positions[k : k + 1], book)
        numbers = position_of(states[0], 0, book.lookup), position_of(states[1], 1, book.lookup)
        solve_both(states, numbers, (book.lookup, solution), turns, idle)


@kernel
def prediction_limits(state):
    """Return the smallest and the largest number of rooms that the Predictor can predict, for `matrix.solve`."""
    most = 2 if state["hacker_on"][1 - state["placer"]] else 1
    return (0 if state["allow_pass"] else most), most


class Rounds:
    """Solves rounds when they are requested."""

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
        """`hands` and `most` are arguments of `make_book`, `draws` of `make_solution`. A round is drawn after
        `idle_turns` idle turns. If `open_hand`, which needs two values in `draws`, one player does not mix: in column 0
        of the solution the Placer, in column 1 the Predictor.
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
        """Return whether rounds can begin with these standings."""
        numbers = self.book.standing[[own, other]]
        return bool((numbers >= 0).all() and self.book.first[numbers[0], numbers[1], 0] + self.book.board[0] >= 0)

    def ensure(self, own: int, other: int) -> None:
        """Solve all positions with these standings or with standings that can follow them."""
        wanted = [(a, b) for a in lesser_standings(own) for b in lesser_standings(other)]
        for pair in sorted(wanted, key=lambda pair: height(pair[0]) + height(pair[1])):
            if pair in self._solved:
                continue
            for player, standing in enumerate(pair):
                put_standing(self._states, player, standing)
            solve_boards(self._states, self.book, self.solution, self._turns, (self.idle_turns, self.open_hand))
            self._solved |= {pair, pair[::-1]}

    def ensure_after(self, states: np.ndarray) -> None:
        """Solve these states, in phase TURN or ABILITY and in the book, and all positions that can follow them."""
        seen = ~np.isnan(self.solution.values[: self.book.positions, 0])
        queue = reachable(self._states, self.posed(states), seen, self.book)
        for level in levels(queue, self.book):
            solve_positions(
                self._states, level, self.book, self.solution, self._turns, (self.idle_turns, self.open_hand)
            )

    def start_values(self, own: int, other: int) -> np.ndarray:
        """Return the values of a round with these standings for the player who places first: float64 (draws,)."""
        numbers = self.book.standing[[own, other]]
        values = self.solution.values[self.book.first[numbers[0], numbers[1], 0] + self.book.board[0]]
        return np.asarray(values)

    def posed(self, states: np.ndarray) -> np.ndarray:
        """Return copies of states as `fill_turn` requires: single rounds without idle turns, their limit ENDLESS."""
        states = states.copy()
        states["is_match"], states["done"], states["draw_offers"] = False, False, False
        states["idle"], states["max_idle_turns"], states["allow_pass"] = 0, ENDLESS, self.may_pass
        return states
