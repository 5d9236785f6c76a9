"""A Batch whose games can have a seed each, as Gymnasium's vector environments have."""

from collections.abc import Sequence

import numpy as np

from ttt_envs.core.batch import Batch
from ttt_envs.core.rng import new_key


class OwnSeedsBatch(Batch):
    """A Batch that also resets games to seeds of their own. Its games start anew by `reset` and its kin alone."""

    def reset_each(self, rows: np.ndarray, seeds: Sequence[int | None]) -> None:
        """Start the games `rows`, int64 (k,): each, and all that follows in it, as game 0 of a batch with its seed.

        `seeds` has an entry for each of the n games; with None the game goes on with its next episode. Raises TypeError
        or ValueError for what is no seed; no game has changed then.
        """
        chosen: list[int | None] = [None] * self.n
        for row in rows.tolist():
            chosen[row] = seeds[row]
        keys, goes_on = keys_of(self._key, chosen), np.array([seed is None for seed in chosen])
        with self._in_use:
            self._placed = self._placed if goes_on.any() else 0
            self._begin(rows, keys, np.where(goes_on, self._episodes, np.uint64(0))[rows], reward=0)


def keys_of(key: np.ndarray, seeds: Sequence[int | None]) -> np.ndarray:
    """The keys of games that have a seed each, uint64 (n, 3), for `episode_seeds`.

    A game with a seed is game 0 of a batch of one with that seed; with None it stays what it is by `key`.
    """
    keys = np.empty((len(seeds), 3), np.uint64)
    keys[:, : key.shape[-1]] = key
    if key.ndim == 1:
        keys[:, 2] = np.arange(len(seeds))
    for i, seed in enumerate(seeds):
        if seed is not None:
            keys[i] = (*new_key(seed), 0)
    return keys
