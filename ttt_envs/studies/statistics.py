"""Statistics of comparisons over few seeds: performance profiles, probability of improvement, differences.

Interquartile means are in `ttt_envs.evaluation.reports.intervals`. All intervals are those of the stratified bootstrap:
in each resample the seeds of each task are drawn with replacement.

Source: Agarwal et al., "Deep reinforcement learning at the edge of the statistical precipice", NeurIPS 2021.
"""

from collections.abc import Callable, Sequence

import numpy as np

#: The scores of a method: float (seeds,) for each task.
Scores = Sequence[np.ndarray]

#: A figure with both ends of its 95 % interval.
Figure = tuple[float, float, float]

RESAMPLES = 2000


def bootstrapped(
    of: Callable[[Scores, Scores], float], first: Scores, second: Scores, resamples: int = RESAMPLES, seed: int = 0
) -> Figure:
    """A figure of two methods and its interval, by drawing the seeds of each task of both anew."""
    generator = np.random.default_rng(seed)

    def drawn(scores: Scores) -> Scores:
        return [task[generator.integers(0, len(task), len(task))] for task in scores]

    found = [of(drawn(first), drawn(second)) for _ in range(resamples)]
    low, high = np.percentile(found, [2.5, 97.5])
    return of(first, second), float(low), float(high)


def improvement(first: Scores, second: Scores) -> float:
    """The probability that a run of the first method scores more than one of the second, in the mean over tasks.

    Equal scores count half.
    """
    of_tasks = [np.mean(np.sign(a[:, None] - b) / 2 + 0.5) for a, b in zip(first, second, strict=True)]
    return float(np.mean(of_tasks))


def difference(first: Scores, second: Scores) -> float:
    """The first method's mean score less the second's, in the mean over tasks."""
    return float(np.mean([a.mean() - b.mean() for a, b in zip(first, second, strict=True)]))


def profile(scores: Scores, limits: np.ndarray) -> np.ndarray:
    """The share of runs whose score is above each limit, float (limits,), in the mean over tasks."""
    return np.asarray(np.mean([(task[:, None] > limits).mean(axis=0) for task in scores], axis=0))
