"""Batch: many games of one kind, stepped at once."""

import os
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from itertools import pairwise
from typing import Any

import numpy as np

from ttt_envs.core.game import Game
from ttt_envs.core.rng import episode_seeds, new_key
from ttt_envs.core.state import SIMULTANEOUS
from ttt_envs.core.view import View, check_actions


def acting_players(game: Game, states: np.ndarray, rows: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """The players who have a choice to make in the games `rows` (int64) of `states`, none of them finished.

    Returns (numbers of games, numbers of players), both int64 (k,): a game in which several act at once comes several
    times.
    """
    to_move = states["to_move"][rows].astype(np.int64)
    turn = to_move != SIMULTANEOUS
    games, players = [rows[turn]], [to_move[turn]]
    at_once = rows[~turn]
    if len(at_once):
        positions = states[at_once]
        masks = np.empty((len(at_once), game.num_actions), np.bool_)
        for player in range(game.num_players):
            game.loops.mask_rows(positions, np.full(len(at_once), player), masks)
            acts = at_once[masks.any(axis=1)]
            games.append(acts)
            players.append(np.full(len(acts), player))
    return np.concatenate(games), np.concatenate(players)


class Batch:
    """`n` games of `game`.

    Game i with seed s is the same game whatever `n` and `threads`: its first episode is drawn from the i-th seed
    folded out of s, and later episodes from that seed and their number.

    Attributes:
        states: structured (n,), the games; yours to read and, with care, to write.
        rewards: float32 (n, players), what the last step paid.
        done: bool (n,), games that have ended; with `auto_reset`, games that the last step ended.
    """

    def __init__(
        self, game: Game, n: int, *, seed: int | None = None, auto_reset: bool = False, threads: int = 1
    ) -> None:
        """Make and reset the games.

        Args:
            game: from `ttt_envs.load`.
            n: number of games, at least 1.
            seed: whole number, or None for one from the system.
            auto_reset: a game that ends starts anew within the same step.
            threads: threads that share the work; worth it from some thousand games on.
        """
        if not isinstance(game, Game):
            raise TypeError(f"game must be a Game from ttt_envs.load, not {type(game).__name__}")
        for name, value in (("n", n), ("threads", threads)):
            if isinstance(value, bool) or not isinstance(value, (int, np.integer)) or value < 1:
                raise ValueError(f"{name} must be a whole number of at least 1, not {value!r}")
        self.game = game
        self.n = int(n)
        self.auto_reset = auto_reset
        self.threads = int(threads)
        self._pool: ThreadPoolExecutor | None = None
        self._pool_process = 0
        self._rows = np.arange(self.n)
        self.states = np.repeat(game.prototype, self.n)
        self.rewards = np.zeros((self.n, game.num_players), np.float32)
        self.done = np.zeros(self.n, np.bool_)
        self.reset(seed)

    @property
    def to_move(self) -> np.ndarray:
        """int8 (n,): the acting player, or SIMULTANEOUS."""
        return self.states["to_move"]

    def reset(self, seed: int | None = None) -> None:
        """Start all games anew, from `seed`; None continues with each game's next episode."""
        if seed is not None or not hasattr(self, "_key"):
            self._key = new_key(seed)
            self._episodes = np.zeros(self.n, np.uint64)
            self.episode_seeds = np.empty(self.n, np.uint64)
        self.reset_rows(self._rows)
        self.rewards[:] = 0
        self.done[:] = False

    def reset_rows(self, rows: np.ndarray) -> None:
        """Start the next episode of some games: rows int (k,), or bool (n,)."""
        rows = self._rows[rows]
        seeds = episode_seeds(self._key, rows.astype(np.uint64), self._episodes[rows])
        self._episodes[rows] += np.uint64(1)
        self.episode_seeds[rows] = seeds
        self.game.loops.reset_rows(self.states, rows, self.game.prototype, seeds)
        self.done[rows] = False

    def step(self, actions: Any) -> None:
        """Play in all games.

        Args:
            actions: int (n,), for the player to move; or int (n, players). Entries of players who do not act and of
                finished games are ignored, and may be -1. The others must be legal, which is not checked.

        Raises:
            TypeError, ValueError: not whole numbers, a wrong shape, or numbers that are no action.
        """
        players, going = self.game.num_players, ~self.states["done"]
        array = np.asarray(actions)
        if array.ndim == 2 or players == 1:
            checked = check_actions(array, (self.n, players), self.game.num_actions)
            some = self._rows[going & (checked < 0).any(axis=1)]
            missing = len(some) and (checked[acting_players(self.game, self.states, some)] < 0).any()
        else:
            if self.game.simultaneous and (going & (self.to_move == SIMULTANEOUS)).any():
                raise ValueError(f"several players act at once: actions must have shape {(self.n, players)}")
            checked = check_actions(array, (self.n,), self.game.num_actions)[:, None]
            missing = (going & (checked[:, 0] < 0)).any()
        if missing:
            raise ValueError(f"a player who acts was given -1; actions are 0 to {self.game.num_actions - 1}")
        self.step_rows(self._rows, checked)
        self.rewards[:] = self.states["rewards"]
        self.done[:] = self.states["done"]
        if self.auto_reset:
            ended = np.flatnonzero(self.done)
            if len(ended):
                self.reset_rows(ended)
                self.done[ended] = True

    def step_rows(self, rows: np.ndarray, joint: np.ndarray) -> None:
        """Play in some games: rows int64 (k,), joint int64 (k, players) of legal actions. Nothing is checked.

        `rewards` and `done` are left as they are: the states have both.
        """
        self._share(self.game.loops.step_rows, rows, np.ascontiguousarray(joint, np.int64), rows=True)

    def acting(self, player: int) -> np.ndarray:
        """bool (n,): the games in which `player` has a choice to make now."""
        acts = self.to_move == player
        if self.game.simultaneous:
            acts |= (self.to_move == SIMULTANEOUS) & self.masks(player).any(axis=1)
        return acts & ~self.states["done"]

    def masks(self, player: int | np.ndarray | None = None, out: np.ndarray | None = None) -> np.ndarray:
        """bool (n, num_actions): legal actions of `player`: an int, int (n,), or None for whoever is to move."""
        if out is None:
            out = np.empty((self.n, self.game.num_actions), np.bool_)
        self._share(self.game.loops.mask_rows, self._players(player), out)
        return out

    def observations(self, player: int | np.ndarray | None = None, out: np.ndarray | None = None) -> np.ndarray:
        """int8 (n, observation size): what `player` sees: an int, int (n,), or None for whoever is to move."""
        if out is None:
            out = np.empty((self.n, self.game.observation_size), np.int8)
        self._share(self.game.loops.observe_rows, self._players(player), out)
        return out

    def view(self, player: int | np.ndarray | None = None, rows: np.ndarray | None = None) -> View:
        """The view that an agent is given: `player` as in `masks`, of the games `rows` (int64 (k,)) or of all."""
        players = self._players(player, rows)
        if rows is None:
            return View.unchecked(self.game, self.states, players, self.episode_seeds)
        rows = self._rows[rows]  # not a slice, which would share the states with the view
        return View.unchecked(self.game, self.states[rows], players[rows], self.episode_seeds[rows], copy=False)

    def _players(self, player: int | np.ndarray | None, rows: np.ndarray | None = None) -> np.ndarray:
        if player is None:
            movers = self.to_move.astype(np.int64)
            if not self.game.simultaneous:
                return movers
            at_once = (movers == SIMULTANEOUS) & ~self.states["done"]
            if (at_once if rows is None else at_once[rows]).any():
                raise ValueError("several players act at once: say whose part is wanted, by a player's number")
            return np.maximum(movers, 0)
        array = np.asarray(player)
        if array.dtype.kind not in "iu":
            raise TypeError(f"player must be a whole number, an array of them, or None, not {player!r}")
        if array.shape not in ((), (self.n,)):
            raise ValueError(f"player must be one number or have shape {(self.n,)}, not {array.shape}")
        if array.size and (array.min() < 0 or array.max() >= self.game.num_players):
            raise ValueError(f"player must be from 0 to {self.game.num_players - 1}, not {player!r}")
        return np.ascontiguousarray(np.broadcast_to(array, (self.n,)), np.int64)

    def _share(self, kernel: Callable[..., Any], first: np.ndarray, second: np.ndarray, rows: bool = False) -> None:
        """Run a kernel over all games, in slices if there are threads; `rows`: `first` numbers the games."""
        if self.threads == 1:
            kernel(self.states, first, second)
            return
        if self._pool is None or self._pool_process != os.getpid():  # a fork inherits the pool without its threads
            self._pool, self._pool_process = ThreadPoolExecutor(self.threads), os.getpid()
        pool = self._pool
        cuts = np.linspace(0, len(first), self.threads + 1).astype(int)
        jobs = [
            pool.submit(
                kernel,
                self.states if rows else self.states[low:high],
                first[low:high],
                second[low:high],
            )
            for low, high in pairwise(cuts)
            if high > low
        ]
        for job in jobs:
            job.result()

    def __getstate__(self) -> dict[str, Any]:
        return {**self.__dict__, "_pool": None}
