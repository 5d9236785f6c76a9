"""Random play of many games at once, as measurements of speed share it.

Nothing of the library is imported: a batch and `choose_rows` are handed in, as they may be those of another checkout.
"""

import time
from collections.abc import Callable
from typing import Any

import numpy as np

_PLIES = 10


def clocked(once: Callable[[], int], seconds: float, clock: Callable[[], float] = time.process_time) -> float:
    """The number of operations a second; `once` does some and returns how many."""
    done, start = 0, clock()
    while (spent := clock() - start) < seconds:
        done += once()
    return done / spent


class Playing:
    """A batch that is observed, masked, chosen in at random and stepped, in four calls."""

    def __init__(self, batch: Any, choose_rows: Callable[..., Any], *, checked: bool = True) -> None:
        game, n = batch.game, batch.n
        self._batch, self._choose, self._step = batch, choose_rows, batch.step if checked else batch.step_unchecked
        self._players = list(range(game.num_players)) if game.simultaneous else [None]
        self._observations = np.empty((n, game.observation_size), np.int8)
        self._masks = np.empty((n, game.num_actions), np.bool_)
        self._actions, self._chosen = np.empty((n, len(self._players)), np.int64), np.empty(n, np.int64)
        self._seeds = np.arange(n, dtype=np.uint64)  # one stream a game: `choose_rows` scrambles these counters

    def __call__(self) -> int:
        for _ in range(_PLIES):
            for k, player in enumerate(self._players):
                self._batch.observations(player, out=self._observations)
                self._batch.masks(player, out=self._masks)
                self._seeds += np.uint64(1)
                self._choose(self._masks, self._seeds, self._chosen)
                self._actions[:, k] = self._chosen
            self._step(self._actions if len(self._players) > 1 else self._chosen)
        return _PLIES * len(self._chosen)


class Looking:
    """The same where a step gives observations and masks: the batch has `look=True`."""

    def __init__(self, batch: Any, choose_rows: Callable[..., Any]) -> None:
        self._batch, self._choose = batch, choose_rows
        self._masks = batch.look.masks.reshape(-1, batch.game.num_actions)
        self._seeds, self._chosen = np.arange(len(self._masks), dtype=np.uint64), np.empty(len(self._masks), np.int64)
        self._actions = self._chosen if len(self._chosen) == batch.n else self._chosen.reshape(batch.n, -1)

    def __call__(self) -> int:
        self._seeds += np.uint64(1)
        self._choose(self._masks, self._seeds, self._chosen)
        self._batch.step(self._actions)
        return self._batch.n
