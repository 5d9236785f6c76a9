"""Round robins without games: wins drawn from probabilities, and their ratings."""

import numpy as np

from ttt_envs.evaluation.reports.ratings import Ratings, rate_pairs


def round_robin(chance: np.ndarray, units: int, rng: np.random.Generator) -> np.ndarray:
    """Wins float64 (units, k, k) of the row against the column in two games a unit, for probabilities (k, k)."""
    wins = np.zeros((units, *chance.shape))
    for i, j in zip(*np.tril_indices(len(chance), -1), strict=True):
        wins[:, i, j] = rng.binomial(2, chance[i, j], units)
        wins[:, j, i] = 2 - wins[:, i, j]
    return wins


def rate(wins: np.ndarray, resamples: int = 400, seed: int = 0) -> Ratings:
    """Ratings from wins float64 (units, k, k), where all play each other."""
    i, j = np.triu_indices(wins.shape[1], 1)
    pairs = np.stack([i, j], axis=1)
    return rate_pairs(wins.shape[1], pairs, wins[:, i, j], wins[:, j, i], resamples=resamples, seed=seed)
