"""A model of Batch."""

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np

from tests.support.models.common import CALLS, attempt, check, check_rewards, fault_of_seed, masks_of
from ttt_envs.core.batch import Batch
from ttt_envs.core.game import Game
from ttt_envs.core.state import SIMULTANEOUS


class BatchModel:
    """A Batch and its model."""

    def __init__(self, game: Game, n: int, seed: int, auto_reset: bool) -> None:
        """Arguments of the Batch."""
        self.game, self.auto_reset = game, auto_reset
        self.batch = Batch(game, n, seed=seed, auto_reset=auto_reset)
        self._remember()
        self.check()

    def _remember(self) -> None:
        batch = self.batch
        self.states, self.rewards, self.done = batch.states.copy(), batch.rewards.copy(), batch.done.copy()
        self.seeds = batch.episode_seeds.copy()

    def _call(self, call: Callable[[], Any], wanted: type[Exception] | None, what: str) -> Any:
        CALLS["BatchModel"] += 1
        found = attempt(call, wanted, what)
        if wanted is not None:
            self.check()
        return found

    def check(self) -> None:
        """The batch stands where the model does."""
        batch = self.batch
        for name, mine in (("states", self.states), ("rewards", self.rewards), ("done", self.done)):
            check(getattr(batch, name).tobytes() == mine.tobytes(), f"{name} are not those of the model")
        check((batch.episode_seeds == self.seeds).all(), "the seeds are not those of the model")
        check_rewards(self.game, self.states)

    def fault_of_rows(self, rows: Any) -> type[Exception] | None:
        """The error of numbers of games."""
        if isinstance(rows, slice):
            return None
        try:
            array = np.asarray(rows)
        except ValueError:
            return ValueError
        if array.shape == (0,):
            return None
        if array.dtype == np.bool_:
            return None if array.shape == (self.batch.n,) else ValueError
        if array.dtype.kind not in "iu":
            return TypeError
        if array.ndim != 1 or len(set(array.tolist())) < len(array):
            return ValueError
        return None if all(0 <= int(row) < self.batch.n for row in array) else ValueError

    def _joint(self, rows: np.ndarray, actions: Any) -> tuple[type[Exception] | None, np.ndarray]:
        """The error of actions in these games; and what is played in each, int64 (k, players), if there is none."""
        joint = np.full((len(rows), self.game.num_players), -1)
        try:
            array = np.asarray(actions)
        except ValueError:
            return ValueError, joint
        if array.dtype.kind not in "iu":
            return TypeError, joint
        if array.shape not in ((len(rows),), joint.shape):
            return ValueError, joint
        if not all(-1 <= int(action) < self.game.num_actions for action in array.flat):
            return ValueError, joint
        for k, row in enumerate(rows):
            masks = masks_of(self.game, self.states, row)
            acts = masks.any(axis=1)
            if array.ndim == 1 and acts.any() and self.states["to_move"][row] == SIMULTANEOUS:
                return ValueError, joint
            for player in np.flatnonzero(acts):
                joint[k, player] = array[k] if array.ndim == 1 else array[k, player]
                if joint[k, player] < 0 or not masks[player, joint[k, player]]:
                    return ValueError, joint
        return None, joint

    def _play(self, rows: np.ndarray, joint: np.ndarray) -> None:
        over = self.states["done"][rows]
        for row, actions in zip(rows, joint, strict=True):
            if not self.states["done"][row]:
                ply = self.states["ply"][row]
                self.game.loops.step_one(self.states, int(row), actions)
                check(self.states["ply"][row] == ply + 1, "ply does not count the steps")
        self.rewards[rows] = np.where(over[:, None], 0, self.states["rewards"][rows])
        self.done[rows] = self.states["done"][rows]

    def legal(self, generator: np.random.Generator) -> np.ndarray:
        """Random legal actions, int64 (n, players), -1 for who does not act."""
        joint = np.full((self.batch.n, self.game.num_players), -1)
        for row in range(self.batch.n):
            for player, mask in enumerate(masks_of(self.game, self.states, row)):
                if mask.any():
                    joint[row, player] = generator.choice(np.flatnonzero(mask))
        return joint

    def step(self, actions: Any, unchecked: bool = False) -> None:
        """Call `step`; or `step_unchecked`, with legal actions only."""
        everywhere = np.arange(self.batch.n)
        wanted, joint = self._joint(everywhere, actions)
        call = self.batch.step_unchecked if unchecked else self.batch.step
        self._call(lambda: call(actions), wanted, f"step({actions!r})")
        if wanted is not None:
            return
        self._play(everywhere, joint)
        if self.auto_reset:
            self._begun(self.done)
        self.check()

    def step_rows(self, rows: Any, actions: Any) -> None:
        """Call `step_rows`."""
        wanted = self.fault_of_rows(rows)
        if wanted is None:
            games = self._games(rows)
            wanted, joint = self._joint(games, actions)
        self._call(lambda: self.batch.step_rows(rows, actions), wanted, f"step_rows({rows!r}, {actions!r})")
        if wanted is None:
            self._play(games, joint)
            self.check()

    def _games(self, rows: Any) -> np.ndarray:
        """Numbers of games that are right, int64 (k,)."""
        array = np.asarray([], int) if not isinstance(rows, slice) and np.shape(rows) == (0,) else rows
        return np.arange(self.batch.n)[array if isinstance(array, slice) else np.asarray(array)]

    def _begun(self, rows: np.ndarray) -> None:
        """Take over the games bool (n,) that have started anew: only the batch knows their seeds."""
        fresh = self.batch.states[rows]
        check((fresh["ply"] == self.game.new_state(0)["ply"]).all(), "a new game begins in the middle")
        check((self.batch.episode_seeds[rows] != self.seeds[rows]).all(), "a game is played again")
        self.states[rows], self.seeds[rows] = fresh, self.batch.episode_seeds[rows]
        for row in np.flatnonzero(rows):
            self.game.loops.reset_one(self.states, int(row), self.game.prototype, self.seeds[row])

    def reset(self, seed: Any) -> None:
        """Call `reset`."""
        wanted = fault_of_seed(seed)
        self._call(lambda: self.batch.reset(seed), wanted, f"reset({seed!r})")
        if wanted is None:
            if seed is None:
                self._begun(np.ones(self.batch.n, bool))
            else:
                other = Batch(self.game, self.batch.n, seed=int(seed))
                self.states, self.seeds = other.states.copy(), other.episode_seeds.copy()
            self.rewards[:], self.done[:] = 0, False
            self.check()

    def reset_rows(self, rows: Any) -> None:
        """Call `reset_rows`."""
        wanted = self.fault_of_rows(rows)
        self._call(lambda: self.batch.reset_rows(rows), wanted, f"reset_rows({rows!r})")
        if wanted is None:
            begun = np.zeros(self.batch.n, bool)
            begun[self._games(rows)] = True
            self._begun(begun)
            self.done[begun] = False
            self.check()

    def _fault_of_player(self, player: Any) -> type[Exception] | None:
        """The error of a player's number, or of one for each game; None stands for whoever is to move."""
        if player is None:
            at_once = ~self.states["done"] & (self.states["to_move"] == SIMULTANEOUS)
            return ValueError if at_once.any() else None
        try:
            array = np.asarray(player)
        except ValueError:
            return ValueError
        if array.dtype.kind not in "iu":
            return TypeError
        if array.shape not in ((), (self.batch.n,)):
            return ValueError
        return None if all(0 <= int(each) < self.game.num_players for each in array.flat) else ValueError

    def look(self, player: Any) -> None:
        """Call `masks`, `observations` and `view`."""
        wanted = self._fault_of_player(player)
        masks = self._call(lambda: self.batch.masks(player), wanted, f"masks({player!r})")
        seen = self._call(lambda: self.batch.observations(player), wanted, f"observations({player!r})")
        view = self._call(lambda: self.batch.view(player), wanted, f"view({player!r})")
        if wanted is not None:
            return
        check(((seen == 0) | (seen == 1)).all(), "a feature is neither 0 nor 1")
        check((view.masks == masks).all() and (view.observations == seen).all(), "a view shows something else")
        for row, who in enumerate(view.players):
            expected = masks_of(self.game, self.states, row)[who]
            check((masks[row] == expected).all(), "a mask is not that of the rules")
        self.check()

    def fill(self, out: Any) -> None:
        """Call `masks` and `observations` with a place for the results, which may be no such place."""
        for call, columns, dtype in (
            (self.batch.masks, self.game.num_actions, np.bool_),
            (self.batch.observations, self.game.observation_size, np.int8),
        ):
            wanted: type[Exception] | None = None
            if out is not None and not (isinstance(out, np.ndarray) and out.dtype == dtype):
                wanted = TypeError
            elif out is not None and not (
                out.shape == (self.batch.n, columns) and out.flags.c_contiguous and out.flags.writeable
            ):
                wanted = ValueError
            found = self._call(partial(call, 0, out=out), wanted, f"{call.__name__}(out={out!r})")
            check(wanted is not None or out is None or found is out, "the given array is not filled")
        self.check()
