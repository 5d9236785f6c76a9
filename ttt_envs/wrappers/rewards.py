"""Rewards of an environment's steps, from the game or a function, and round rewards of a match."""

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ttt_envs.core.game import Game
from ttt_envs.core.state import copied, read_only

#: (states before a step of an environment, structured (k,), states after it, players int64 (k,)) -> numbers (k,): each
#: player's reward for the step.
RewardFunction = Callable[[NDArray[Any], NDArray[Any], NDArray[np.int64]], Any]


class Pay:
    """Tracks cumulative rewards of n games and returns the per-step difference.

    Attributes:
        function: a function that replaces the game's rewards, or None.
        by_step: whether a step may pay before the end of a game.
        has_rounds: whether the game is a match.
    """

    def __init__(self, game: Game, n: int, function: RewardFunction | None) -> None:
        """`function`: replaces the game's rewards; TypeError if it is not callable."""
        if function is not None and not callable(function):
            raise TypeError(f"reward must be a function of (before, after, player), not {function!r}")
        self.function = function
        self.by_step = function is not None or game.rewards == "steps"
        self._game = game  # not its functions, because without the JIT they cannot be pickled
        self.has_rounds = game.extras.round_rewards is not None
        self._paid = np.zeros((n, game.num_players), np.float32)
        self._rounds_paid = np.zeros((n, game.num_players), np.float32)
        self._room = np.zeros((n, game.num_players), np.float32)

    def begin(self, rows: np.ndarray) -> None:
        """Set the paid totals of the games `rows`, int64 (k,), to 0 for new episodes."""
        if self.by_step:
            self._paid[rows] = 0
        if self.has_rounds:
            self._rounds_paid[rows] = 0

    def keep(self, rows: np.ndarray, states: np.ndarray) -> None:
        """Set the paid totals of the games `rows`, int64 (k,), to those in their `states`, structured (k,)."""
        if self.by_step:
            self._paid[rows] = states["rewards"]
        if self.has_rounds:
            self._rounds_paid[rows] = self.rounds_so_far(states)

    def before(self, states: np.ndarray) -> np.ndarray | None:
        """Return a copy of the states for the function; None without a function."""
        return None if self.function is None else copied(states)

    def rewards(
        self, rows: np.ndarray, states: np.ndarray, before: np.ndarray | None, players: np.ndarray
    ) -> np.ndarray:
        """Return the step's reward for one player per game, float32 (k,).

        Args:
            rows: game numbers, int64 (k,).
            states: structured (k,), after the step.
            before: structured (k,), before the step, from `before`.
            players: int64 (k,).
        """
        if before is not None:
            return self.asked(before, states, players)
        total = states["rewards"][np.arange(len(rows)), players]
        if not self.by_step:
            return total
        new = total - self._paid[rows, players]
        self._paid[rows, players] = total
        return np.asarray(new)

    def of_all(self, states: np.ndarray, before: np.ndarray | None) -> np.ndarray:
        """Return all players' rewards for a step of a single game, float32 (players,); for `before` see `rewards`."""
        if not self.by_step:
            return np.asarray(states["rewards"][0])
        n = self._game.num_players
        old = None if before is None else before.repeat(n)
        return self.rewards(np.zeros(n, np.int64), states.repeat(n), old, np.arange(n))

    def rounds_so_far(self, states: np.ndarray) -> np.ndarray:
        """Return all round rewards so far, float32 (k, players); the next call may overwrite the array."""
        paid = self._room if len(states) == len(self._room) else np.empty_like(states["rewards"])
        self._game.extras.round_rewards(states, paid)  # type: ignore[misc]  # a match has it
        return paid

    def rounds(self, rows: np.ndarray, states: np.ndarray, players: np.ndarray) -> np.ndarray:
        """Return the round rewards since the last call for one player per game, float32 (k,)."""
        total = self.rounds_so_far(states)[np.arange(len(rows)), players]
        new = total - self._rounds_paid[rows, players]
        self._rounds_paid[rows, players] = total
        return np.asarray(new)

    def rounds_one(self, states: np.ndarray, player: int) -> float:
        """Return `rounds` for a single game, states (1,), without arrays of one element."""
        total = self.rounds_so_far(states)[0, player]
        new = total - self._rounds_paid[0, player]
        self._rounds_paid[0, player] = total
        return float(new)

    def asked(self, before: np.ndarray, after: np.ndarray, players: np.ndarray) -> np.ndarray:
        """Return the function's results, float32 (k,); raise TypeError or ValueError if they are not k numbers."""
        assert self.function is not None
        answer = np.asarray(self.function(read_only(before), read_only(after), players.copy()))
        if answer.dtype.kind not in "fiub":
            raise TypeError(f"reward must give numbers, not {answer.dtype}")
        if answer.shape not in ((), players.shape):
            raise ValueError(f"reward must give one number per player, shape {players.shape}, not {answer.shape}")
        if not np.isfinite(answer).all():
            raise ValueError(f"reward must give finite numbers, not {answer}")
        return np.broadcast_to(answer, players.shape).astype(np.float32)
