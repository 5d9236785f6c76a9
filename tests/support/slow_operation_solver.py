"""Optimal play of Operation Tic-Tac-Toe, worked out slowly and in the plainest way, from the slow rules.

A position is a tuple, what a Predictor may name is listed set by set, and every turn is a matrix of numbers, whose
value a linear program finds.
"""

from collections.abc import Callable
from itertools import combinations

import numpy as np
from scipy.optimize import linprog
from slow_operation_tic_tac_toe import (
    Position,
    place_name,
    placed,
    placements,
    predict_name,
    predictions,
    resolve,
)


def matrix_game(payoffs: np.ndarray) -> tuple[float, np.ndarray, np.ndarray]:
    """The value of a zero-sum game for the player of the rows, his optimal mix, and that of the columns.

    By a linear program (HiGHS): the largest v that a mix of the rows gets from every column. Nothing of this need be
    believed: the two mixes guarantee the same to both, which is checked.
    """
    rows, columns = payoffs.shape
    found = linprog(
        np.append(np.zeros(rows), -1.0),
        # HiGHS takes numbers below 1e-9 for zero, so that payoffs are moved away from there.
        A_ub=np.column_stack([-(payoffs + 3).T, np.ones(columns)]),
        b_ub=np.zeros(columns),
        A_eq=np.append(np.ones(rows), 0.0)[None],
        b_eq=[1.0],
        method="highs-ds",
        options={"primal_feasibility_tolerance": 1e-10, "dual_feasibility_tolerance": 1e-10, "presolve": False},
    )
    assert found.status == 0, (payoffs, found.message)
    mine, his = np.maximum(found.x[:-1], 0), np.maximum(-found.ineqlin.marginals, 0)
    mine, his = mine / mine.sum(), his / his.sum()
    low, high = (mine @ payoffs).min(), (payoffs @ his).max()
    assert high - low < 1e-9, (payoffs, low, high)
    return float(low + high) / 2, mine, his


class SlowSolver:
    """The positions that have been asked for; values for the Placer, a drawn round being 0."""

    def __init__(self, max_idle_turns: int, allow_pass: bool = False) -> None:
        self.max_idle_turns = max_idle_turns
        self.allow_pass = allow_pass
        self.known: dict[Position, float] = {}

    def value(self, position: Position) -> float:
        if position not in self.known:
            self.known[position] = matrix_game(self.payoffs(position))[0]
        return self.known[position]

    def choices(self, position: Position) -> tuple[list[tuple[str, int] | None], list[frozenset[int]]]:
        """What the Placer may place, None for a pass, and what the Predictor may name, nothing for a pass."""
        rows: list[tuple[str, int] | None] = list(placements(position))
        columns = list(predictions(position))
        if self.allow_pass or not rows:
            rows.append(None)
        if self.allow_pass:
            columns.append(frozenset())
        return rows, columns

    def payoffs(self, position: Position) -> np.ndarray:
        """What each choice of the Placer's gets against each prediction."""
        rows, columns = self.choices(position)
        return np.array([[self.outcome(position, row, column) for column in columns] for row in rows])

    def outcome(self, position: Position, placement: tuple[str, int] | None, prediction: frozenset[int]) -> float:
        """What the Placer gets; the best of what his ability allows."""
        after = resolve(position, placement, prediction, self.max_idle_turns)
        return max(self.ends(each, position.placer) for each in after.values())

    def ends(self, position: Position, player: int) -> float:
        """What a position after a turn is worth to the player who has placed."""
        if position.ended is None:
            return -self.value(position)
        return 0.0 if position.winner is None else 1.0 if position.winner == player else -1.0


#: (position, player, names of what he may do) -> their probabilities. While he decides on an ability, the position is
#: the one with the piece in place.
NamedPolicy = Callable[[Position, int, list[str]], np.ndarray]


class SlowResponder:
    """What a player gets who plays his best against a policy, in the positions that have been asked for."""

    def __init__(self, max_idle_turns: int, player: int, policy: NamedPolicy) -> None:
        self.max_idle_turns = max_idle_turns
        self.player = player
        self.policy = policy
        self.known: dict[Position, float] = {}

    def value(self, position: Position) -> float:
        if position not in self.known:
            rows, columns, other = placements(position) or [None], predictions(position), 1 - self.player
            payoffs = np.array([[self.outcome(position, row, column) for column in columns] for row in rows])
            if position.placer == self.player:
                values = payoffs @ self.policy(position, other, [predict_name(each) for each in columns])
            else:
                names = ["pass" if each is None else place_name(*each) for each in rows]
                values = self.policy(position, other, names) @ payoffs
            self.known[position] = float(values.max())
        return self.known[position]

    def outcome(self, position: Position, placement: tuple[str, int] | None, prediction: frozenset[int]) -> float:
        """What the player gets on average; the best if he has to use an ability."""
        after = resolve(position, placement, prediction, self.max_idle_turns)
        values = [self.ends(each) for each in after.values()]
        if placement is None or None in after or position.placer == self.player:
            return max(values)
        return float(np.dot(self.policy(placed(position, placement), position.placer, list(after)), values))

    def ends(self, position: Position) -> float:
        if position.ended is None:
            return self.value(position)
        return 0.0 if position.winner is None else 1.0 if position.winner == self.player else -1.0


Hand = frozenset[str]


class SlowMatch:
    """Matches between rounds; values for player 0."""

    def __init__(
        self,
        rounds_to_win: int,
        max_rounds: int,
        round_value: Callable[[Hand, Hand, float], float],
        overtime: list[Hand] | None,
    ) -> None:
        """`round_value(first's hand, second's hand, worth of a draw to the first)`; no `overtime`: an even race."""
        self.rounds_to_win = rounds_to_win
        self.max_rounds = max_rounds
        self.round_value = round_value
        self.overtime = overtime
        self.known: dict[tuple[int, tuple[int, int], tuple[Hand, Hand], int], float] = {}

    def value(self, number: int, wins: tuple[int, int], left: tuple[Hand, Hand], decider: int) -> float:
        """At the start of round `number`; `decider` says who places first."""
        if max(wins) == self.rounds_to_win or number > self.max_rounds:
            return float(np.sign(wins[0] - wins[1]))
        key = number, wins, left if number <= 8 else (frozenset(), frozenset()), decider
        if key not in self.known:
            if number > 8 and self.overtime is None:
                ends = self.ends(number, wins, left, 0)
                self.known[key] = (ends[0] + ends[2]) / 2
            else:
                roles = [self.picks(number, wins, left, first) for first in (0, 1)]
                self.known[key] = max(roles) if decider == 0 else min(roles)
        return self.known[key]

    def picks(self, number: int, wins: tuple[int, int], left: tuple[Hand, Hand], first: int) -> float:
        """The mean over offers of the game in which both pick."""
        if number > 8:
            offers = [[self.overtime], [self.overtime]]
        else:
            offers = [[[frozenset({s}) for s in o] for o in combinations(sorted(h), min(3, len(h)))] for h in left]
        games = [
            [[self.round(number, wins, left, (mine, his), first) for his in theirs] for mine in ours]
            for ours in offers[0]
            for theirs in offers[1]
        ]
        return float(np.mean([matrix_game(np.array(game))[0] for game in games]))

    def round(
        self, number: int, wins: tuple[int, int], left: tuple[Hand, Hand], hands: tuple[Hand, Hand], first: int
    ) -> float:
        win, draw, loss = self.ends(number, wins, (left[0] - hands[0], left[1] - hands[1]), first)
        if win == loss:
            return win
        worth = 2 * (draw - loss) / (win - loss) - 1
        if first == 0:
            value = self.round_value(hands[0], hands[1], worth)
        else:
            value = -self.round_value(hands[1], hands[0], -worth)
        return loss + (win - loss) * (1 + value) / 2

    def ends(
        self, number: int, wins: tuple[int, int], left: tuple[Hand, Hand], first: int
    ) -> tuple[float, float, float]:
        """What follows if player 0 wins the round, nobody, or player 1: the loser decides, or who was second."""
        return (
            self.value(number + 1, (wins[0] + 1, wins[1]), left, 1),
            self.value(number + 1, wins, left, 1 - first),
            self.value(number + 1, (wins[0], wins[1] + 1), left, 0),
        )
