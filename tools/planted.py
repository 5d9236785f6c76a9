"""Agents of known strength that play no game: results are drawn from the Bradley-Terry model."""

from collections.abc import Sequence

import numpy as np
from numpy.typing import ArrayLike

import ttt_envs
from ttt_envs.evaluation.placements.estimate import Placement
from ttt_envs.evaluation.placements.ladder import Ladder, Pair, fit, unit_counts
from ttt_envs.evaluation.reports.ratings import ELO


def chance(elo: ArrayLike, other: ArrayLike) -> np.ndarray:
    """The probability of a win."""
    return 1 / (1 + np.exp(np.subtract(other, elo) / ELO))


def bout(p: float, units: int, rng: np.random.Generator, draws: float = 0.0) -> tuple[np.ndarray, np.ndarray]:
    """(won, lost) of units of two games with expected score p, of which a share is drawn."""
    drawn = rng.random((units, 2)) < draws * 2 * min(p, 1 - p)
    # What is not drawn is won so often that the score stays p.
    share = (p - draws * min(p, 1 - p)) / (1 - draws * 2 * min(p, 1 - p))
    won = np.where(drawn, 0.5, rng.random((units, 2)) < share).sum(axis=1)
    return won, 2 - won


def planted_ladder(elo: Sequence[float], units: int, rng: np.random.Generator, draws: float = 0.0) -> Ladder:
    """A ladder of rungs "0", "1", ... with these ratings, each two of which play `units` units."""
    pairs = []
    for i in range(len(elo)):
        for j in range(i):
            won, lost = bout(float(chance(elo[i], elo[j])), units, rng, draws)
            pairs.append(Pair(i, j, unit_counts(won, lost), ((units, 0, units), (units, 0, units)), units * 20))
    names = [str(k) for k in range(len(elo))]
    return fit(ttt_envs.load(next(iter(ttt_envs.GAMES))), names, pairs, np.full(len(elo), 1e-4), version=1, made={})


def truth(ladder: Ladder, elo: Sequence[float], of: float) -> float:
    """A true rating on the scale of the ladder, which fixes the mean of its rungs."""
    true = np.array([elo[int(name)] for name in ladder.rungs])
    return float(of - ladder.weights @ (true - ladder.elo) / ladder.weights.sum())


def placed(
    ladder: Ladder, scores: np.ndarray, rng: np.random.Generator, target: float, draws: float = 0.0, most: int = 3000
) -> Placement:
    """An agent with these expected scores against "0", "1", ..., placed until its interval is +-target, or after so
    many units at most."""
    placement = Placement(ladder, 2.0)
    everyone = np.ones(len(ladder), bool)
    while placement.units == 0 or (placement.posterior.half_width > target and placement.units < most):
        k, units = placement.choice(np.ones(len(ladder)), everyone), min(placement.batch(), most - placement.units)
        placement.add(k, *bout(float(scores[int(ladder.rungs[k])]), units, rng, draws))
    return placement
