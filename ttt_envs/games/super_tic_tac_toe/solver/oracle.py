"""The oracle that plays X's proved strategy."""

import numpy as np

from ttt_envs.games.super_tic_tac_toe.solver.answers import covers_rows, policy_rows, successors_rows
from ttt_envs.games.super_tic_tac_toe.solver.strategy import X, positions


class StrategyOracle:
    """X's proved strategy as an oracle: it covers what can arise while X keeps to it, and X wins all of that.

    See `ttt_envs.core.oracle.Oracle` for shapes. Which other positions X wins is not known.
    """

    error = 0.0

    def __init__(self) -> None:
        """Walks through the strategy, once for the process."""
        self._table, _ = positions()

    def covers(self, states: np.ndarray) -> np.ndarray:
        """Bool (n,): the positions, finished ones too, that arise when X keeps to the strategy."""
        out = np.empty(len(states), np.bool_)
        covers_rows(np.ascontiguousarray(states), self._table, out)
        return out

    def value(self, states: np.ndarray, player: int | np.ndarray) -> np.ndarray:
        """float64 (n,): 1 for X, -1 for O; nan where not covered."""
        return np.where(self.covers(states), self._sign(states, player), np.nan)

    def action_values(self, states: np.ndarray, player: int | np.ndarray) -> np.ndarray:
        """float64 (n, 81): the value after each action; nan where it is illegal or leaves what is covered."""
        known = np.empty((len(states), 81), np.bool_)
        successors_rows(np.ascontiguousarray(states), self._table, known)
        known &= self.covers(states)[:, None]
        return np.where(known, self._sign(states, player)[:, None], np.nan)

    def policy(self, states: np.ndarray, player: int | np.ndarray) -> np.ndarray:
        """float64 (n, 81): the strategy's move for X, any legal one for O, who loses with all; zeros where not covered.

        A row of zeros too where `player` is not to move.
        """
        best = np.empty((len(states), 81), np.bool_)
        policy_rows(np.ascontiguousarray(states), best)
        best &= (self.covers(states) & (states["to_move"] == player))[:, None]
        return best / np.maximum(best.sum(axis=1, keepdims=True), 1)

    @staticmethod
    def _sign(states: np.ndarray, player: int | np.ndarray) -> np.ndarray:
        return np.broadcast_to(np.where(np.asarray(player) == X, 1.0, -1.0), (len(states),))
