"""The oracle that plays X's proven strategy."""

import numpy as np

from ttt_envs.core.checks import Validity, check_players
from ttt_envs.games.super_tic_tac_toe import rules
from ttt_envs.games.super_tic_tac_toe.solver.answers import covers_rows, policy_rows, successors_rows
from ttt_envs.games.super_tic_tac_toe.solver.strategy import X, positions

_STATES = Validity(rules.STATE, simultaneous=False, name="Super Tic-Tac-Toe")


class StrategyOracle:
    """X's proven strategy as an oracle, which covers the positions that can arise while X follows it. X wins them all.

    See `ttt_envs.core.oracle.Oracle` for shapes. The oracle does not know which other positions X wins.
    """

    error = 0.0

    @property
    def _table(self) -> np.ndarray:
        """The table of positions, computed at the first access, once per process."""
        return positions()[0]

    def covers(self, states: np.ndarray) -> np.ndarray:
        """Return bool (n,): whether a position, finished or not, can arise while X follows the strategy."""
        return self._covers(_STATES.check(states))

    def value(self, states: np.ndarray, player: int | np.ndarray) -> np.ndarray:
        """Return float64 (n,): 1 for X, -1 for O; nan where not covered."""
        states = _STATES.check(states)
        return np.where(self._covers(states), self._sign(states, player), np.nan)

    def action_values(self, states: np.ndarray, player: int | np.ndarray) -> np.ndarray:
        """Return float64 (n, 81): the value after each action; nan if it is illegal or its result is not covered."""
        states = _STATES.check(states)
        known = np.empty((len(states), 81), np.bool_)
        successors_rows(states, self._table, known)
        known &= self._covers(states)[:, None]
        return np.where(known, self._sign(states, player)[:, None], np.nan)

    def policy(self, states: np.ndarray, player: int | np.ndarray) -> np.ndarray:
        """Return float64 (n, 81): the strategy's move for X; all legal moves for O, who loses in any case. Rows are
        zeros where not covered and where `player` is not to move.
        """
        states = _STATES.check(states)
        players = check_players(player, len(states), 2)
        best = np.empty((len(states), 81), np.bool_)
        policy_rows(states, best)
        best &= (self._covers(states) & (states["to_move"] == players))[:, None]
        return best / np.maximum(best.sum(axis=1, keepdims=True), 1)

    def _covers(self, states: np.ndarray) -> np.ndarray:
        out = np.empty(len(states), np.bool_)
        covers_rows(states, self._table, out)
        return out

    @staticmethod
    def _sign(states: np.ndarray, player: int | np.ndarray) -> np.ndarray:
        return np.where(check_players(player, len(states), 2) == X, 1.0, -1.0)
