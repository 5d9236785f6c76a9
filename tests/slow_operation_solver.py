"""Best play of a round of Operation Tic-Tac-Toe, worked out slowly and in the plainest way, from the slow rules.

A position is a tuple, what a Predictor may name is listed set by set, and every turn is a matrix of numbers, whose
value a linear program finds.
"""

from collections.abc import Callable

import numpy as np
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

    By Dantzig's simplex method, with Bland's rule: payoffs are moved to be at least 1, and y >= 0 with payoffs @ y <= 1
    has the largest sum. Nothing of this need be believed: the two mixes guarantee the same to both, which is checked.
    """
    rows, columns = payoffs.shape
    moved = 1 - payoffs.min()
    table = np.zeros((rows + 1, columns + rows + 1))
    table[:rows, :columns] = payoffs + moved
    table[:rows, columns : columns + rows] = np.eye(rows)
    table[:rows, -1] = 1
    table[-1, :columns] = -1
    basis = np.arange(columns, columns + rows)
    while (entering := np.flatnonzero(table[-1, :-1] < -1e-12)).size:
        column = entering[0]
        possible = np.flatnonzero(table[:rows, column] > 1e-12)
        ratios = table[possible, -1] / table[possible, column]
        closest = possible[ratios <= ratios.min() + 1e-14]
        row = closest[basis[closest].argmin()]
        table[row] /= table[row, column]
        others = np.arange(rows + 1) != row
        table[others] -= np.outer(table[others, column], table[row])
        basis[row] = column
    mine, his = table[-1, columns:-1].copy(), np.zeros(columns + rows)
    his[basis] = table[:rows, -1]
    mine, his = np.maximum(mine, 0) / np.maximum(mine, 0).sum(), his[:columns] / his[:columns].sum()
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
        """Of a round that goes on."""
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
        """Of a round that goes on."""
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
        """What a position after a turn is worth to him."""
        if position.ended is None:
            return self.value(position)
        return 0.0 if position.winner is None else 1.0 if position.winner == self.player else -1.0
