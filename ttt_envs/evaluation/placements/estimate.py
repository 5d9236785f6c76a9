"""The rating of an agent on a ladder: what its games against the rungs say, and which game would say most.

The agent has a rating r, rung k a rating b[k]; the agent scores 1 / (1 + 10 ** ((b[k] - r) / 400)) against it, a draw
being half a win (Bradley and Terry, 1952). The ladder gives the b with their covariance: multivariate normal, so that
what is not known about the rungs widens the agent's interval, and the agent's games in turn correct the rungs. The
likelihood is raised to 1 / dispersion (see `evaluation.placements.ladder`). The prior of r is normal, around the middle
of the ladder, and so wide that it decides only about agents that win or lose everything.

For each r on a grid, the b are integrated out by Laplace's method (L. Tierney and J. B. Kadane, "Accurate
approximations for posterior moments and marginal densities", JASA 81, 1986).

The next opponent is the one whose games reduce the variance of r by most for each second that they take (the criterion
of maximum expected information, as in adaptive tests: W. J. van der Linden, Psychometrika 63, 1998). There, each pair
of agent and rung also has a deviation of its own, as large as between rungs (`Ladder.misfit`): a rung that was played
much has little left to say, so that the games spread over several rungs.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field, replace

import numpy as np

from ttt_envs.evaluation.placements.ladder import Ladder, dispersion, unit_counts
from ttt_envs.evaluation.reports.intervals import student
from ttt_envs.evaluation.reports.ratings import ELO

#: Standard deviation of the prior, in Elo.
PRIOR = 1000.0

# The grid: first wide and coarse, then fine within so many standard deviations.
_REACH, _COARSE, _FINE, _DEVIATIONS = 3000.0, 121, 241, 7.0

# The least deviation of a pair of agent and rung in the choice of opponents, in Elo.
_LEAST_MISFIT = 10.0

# Units played between two choices: at first few, later a share of those played.
_FIRST_BATCH, _LARGEST_BATCH, _SHARE = 8, 64, 4

_NEWTON_STEPS, _LARGEST_STEP, _CLOSE = 100, 2.0, 1e-7


@dataclass
class RungResults:
    """The results of an agent against one rung: what it won and lost in each unit, float64 (units,)."""

    won: np.ndarray = field(default_factory=lambda: np.zeros(0))
    lost: np.ndarray = field(default_factory=lambda: np.zeros(0))

    def add(self, won: np.ndarray, lost: np.ndarray) -> None:
        """Add units."""
        self.won, self.lost = np.concatenate([self.won, won]), np.concatenate([self.lost, lost])

    @property
    def units(self) -> tuple[tuple[float, float, int], ...]:
        """As `Pair.units`."""
        return unit_counts(self.won, self.lost)


@dataclass(frozen=True)
class Posterior:
    """The posterior of a rating, in Elo.

    Attributes:
        grid: float64 (points,), ratings.
        density: float64 (points,), their probabilities, of sum 1.
        mean, deviation: of the distribution.
        low, high: its 95 % interval, between percentiles; as far beyond them as Student's t says for few units.
    """

    grid: np.ndarray
    density: np.ndarray
    mean: float
    deviation: float
    low: float
    high: float

    @property
    def half_width(self) -> float:
        """Half the width of the interval."""
        return (self.high - self.low) / 2


def spread_of(ladder: Ladder, records: Sequence[RungResults]) -> float:
    """The dispersion of the agent's units, which is the ladder's before there are any."""
    return dispersion([record.units for record in records], ladder.dispersion)


def posterior(ladder: Ladder, records: Sequence[RungResults], spread: float | None = None) -> Posterior:
    """The distribution of the agent's rating after these games; `spread` is their dispersion, else estimated."""
    spread = spread_of(ladder, records) if spread is None else spread
    won = np.array([record.won.sum() for record in records]) / spread
    lost = np.array([record.lost.sum() for record in records]) / spread
    middle = float(ladder.elo[0] + ladder.elo[-1]) / 2
    grid = np.linspace(ladder.elo[0] - _REACH, ladder.elo[-1] + _REACH, _COARSE)
    density = _distribution(grid, _log_density(grid, ladder, won, lost, middle))
    # Steps of the coarse grid may be wider than the distribution.
    width = _DEVIATIONS * max(density.deviation, float(grid[1] - grid[0]))
    for _ in range(2):
        grid = np.linspace(density.mean - width, density.mean + width, _FINE)
        density = _distribution(grid, _log_density(grid, ladder, won, lost, middle))
        width = _DEVIATIONS * density.deviation
    # The normal distribution would have the spread of few units known.
    units = sum(len(record.won) for record in records)
    wider = student(max(units - 1, 1)) / 1.96 if units else 1.0
    low, high = (density.mean + wider * (end - density.mean) for end in (density.low, density.high))
    return replace(density, low=low, high=high)


def _log_density(grid: np.ndarray, ladder: Ladder, won: np.ndarray, lost: np.ndarray, middle: float) -> np.ndarray:
    """float64 (points,): the logarithm of the rating's density up to a constant."""
    played = np.flatnonzero(won + lost > 0)
    prior = -0.5 * ((grid - middle) / PRIOR) ** 2
    if not len(played):
        return prior
    won, lost, mean = won[played], lost[played], ladder.elo[played] / ELO
    # b = mean + root @ z with standard normal z: regular even where the covariance is not.
    values, vectors = np.linalg.eigh(ladder.covariance[np.ix_(played, played)] / ELO**2)
    root = vectors * np.sqrt(np.maximum(values, 0))
    k = len(played)
    z = np.zeros((len(grid), k))
    theta = grid[:, None] / ELO
    for _ in range(_NEWTON_STEPS):
        chance = 1 / (1 + np.exp(mean + z @ root.T - theta))
        slope = (lost * chance - won * (1 - chance)) @ root - z
        curve = (won + lost) * chance * (1 - chance)
        hessian = np.eye(k) + (root.T * curve[:, None, :]) @ root
        step = np.linalg.solve(hessian, slope[..., None])[..., 0]
        largest = np.abs(step).max(axis=1, keepdims=True)
        z += step * np.minimum(1, _LARGEST_STEP / np.maximum(largest, 1e-300))
        if largest.max() < _CLOSE:
            break
    gap = theta - mean - z @ root.T
    fit = -(won * np.logaddexp(0, -gap) + lost * np.logaddexp(0, gap)).sum(axis=1)
    return np.asarray(prior + fit - 0.5 * (z**2).sum(axis=1) - 0.5 * np.linalg.slogdet(hessian)[1])


def _distribution(grid: np.ndarray, log_density: np.ndarray) -> Posterior:
    density = np.exp(log_density - log_density.max())
    density /= density.sum()
    mean = float(density @ grid)
    deviation = float(np.sqrt(density @ (grid - mean) ** 2))
    # Each point stands for the cell around it.
    edges = np.concatenate([[0.0], np.cumsum(density)])
    borders = np.append(grid, 2 * grid[-1] - grid[-2]) - (grid[1] - grid[0]) / 2
    low, high = np.interp([0.025, 0.975], edges, borders)
    return Posterior(grid, density, mean, deviation, float(low), float(high))


def gains(ladder: Ladder, records: Sequence[RungResults], belief: Posterior, per_unit: float) -> np.ndarray:
    """float64 (rungs,): by how much one more unit against each rung would reduce the rating's variance, in Elo squared.

    `per_unit` is the number of comparisons in a unit, see `seating.comparisons`.
    """
    spread = spread_of(ladder, records)
    chance = 1 / (1 + np.exp((ladder.elo[:, None] - belief.grid[None, :]) / ELO))
    # Fisher information of a comparison in Elo, averaged over what the rating may be.
    each = (chance * (1 - chance)) @ belief.density / ELO**2 / spread
    played = np.array([record.won.sum() + record.lost.sum() for record in records])
    k = len(ladder)
    own = max(ladder.misfit, _LEAST_MISFIT) ** 2
    precision = np.zeros((k + 1, k + 1))
    precision[0, 0] = 1 / PRIOR**2
    precision[1:, 1:] = np.linalg.inv(ladder.covariance + own * np.eye(k))
    difference = np.hstack([np.ones((k, 1)), -np.eye(k)])  # row k: the agent's rating less that of rung k
    precision += difference.T @ (difference * (each * played)[:, None])
    covariance = np.linalg.inv(precision)
    shared = covariance @ difference.T
    return np.asarray(shared[0] ** 2 / (1 / (each * per_unit) + (difference * shared.T).sum(axis=1)))


class Placement:
    """A placement under way: `step` plays some games against the rung that says most.

    Attributes:
        ladder: the ladder.
        records: the results against each rung.
        posterior: what is known about the rating.
    """

    def __init__(self, ladder: Ladder, per_unit: float) -> None:
        """`per_unit`: number of comparisons in a unit, see `seating.comparisons`."""
        self.ladder = ladder
        self.records = [RungResults() for _ in ladder.rungs]
        self.posterior = posterior(ladder, self.records)
        self._per_unit = per_unit

    @property
    def units(self) -> int:
        """All units so far."""
        return sum(len(record.won) for record in self.records)

    def choice(self, costs: np.ndarray, allowed: np.ndarray) -> int:
        """The rung to be played next: that of the largest gain for its cost, float64 (rungs,), among bool (rungs,)."""
        gain = gains(self.ladder, self.records, self.posterior, self._per_unit) / costs
        return int(np.argmax(np.where(allowed, gain, -np.inf)))

    def batch(self) -> int:
        """The number of units to be played before the next choice."""
        return int(np.clip(self.units // _SHARE, _FIRST_BATCH, _LARGEST_BATCH))

    def add(self, rung: int, won: np.ndarray, lost: np.ndarray) -> None:
        """Add units, and work out the rating."""
        self.records[rung].add(won, lost)
        self.posterior = posterior(self.ladder, self.records)

    def expected(self, rung: int) -> float:
        """The score that the rating says the agent has against a rung."""
        gap = (self.posterior.grid - self.ladder.elo[rung]) / ELO
        return float(self.posterior.density @ (1 / (1 + np.exp(-gap))))

    def misfit(self) -> tuple[float, int]:
        """Chi-squared of the scores against single rungs around the expected ones, and its degrees of freedom."""
        spread, total, rungs = spread_of(self.ladder, self.records), 0.0, 0
        for k, record in enumerate(self.records):
            games, p = record.won.sum() + record.lost.sum(), self.expected(k)
            if games:
                of_rung = p**2 * (1 - p) ** 2 * self.ladder.covariance[k, k] / ELO**2
                variance = spread * p * (1 - p) / games + of_rung
                total += (record.won.sum() / games - p) ** 2 / variance
                rungs += 1
        return float(total), max(rungs - 1, 0)
