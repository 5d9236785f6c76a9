"""Means over training seeds, with intervals that say how much other seeds would change them."""

from collections.abc import Sequence

import numpy as np

# The 97.5 % quantile of Student's t distribution, for 1 to 30 degrees of freedom.
_T = (
    *(12.706, 4.303, 3.182, 2.776, 2.571, 2.447, 2.365, 2.306, 2.262, 2.228, 2.201, 2.179, 2.160, 2.145, 2.131),
    *(2.120, 2.110, 2.101, 2.093, 2.086, 2.080, 2.074, 2.069, 2.064, 2.060, 2.056, 2.052, 2.048, 2.045, 2.042),
)


def t_interval(values: Sequence[float] | np.ndarray) -> tuple[float, float]:
    """The mean of some seeds, and the half width of its 95 % interval by Student's t; nan for fewer than two."""
    found = np.asarray(values, np.float64)
    if len(found) < 2:
        return float(found.mean()) if len(found) else np.nan, np.nan
    free = len(found) - 1
    quantile = _T[free - 1] if free <= len(_T) else 1.96 + 2.4 / free
    return float(found.mean()), float(quantile * found.std(ddof=1) / np.sqrt(len(found)))


def interquartile_mean(values: np.ndarray) -> np.ndarray:
    """The mean of the middle half of the values along the last axis; the lowest and highest quarter are left out.

    A quarter is rounded down: with fewer than four values it is the mean.
    """
    ordered = np.sort(values, axis=-1)
    cut = ordered.shape[-1] // 4
    return np.asarray(ordered[..., cut : ordered.shape[-1] - cut].mean(axis=-1))


def bootstrap(
    tasks: Sequence[np.ndarray], resamples: int = 2000, seed: int = 0
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """The interquartile mean over tasks and seeds, and its 95 % interval by the stratified bootstrap.

    In each resample the seeds of each task are drawn with replacement; the interval is that of the percentiles. For
    one task and few seeds it is too narrow: `t_interval` is better there.

    Args:
        tasks: float (seeds, points) for each task, on one scale; points are those of a curve.
        resamples: number of resamples.
        seed: for drawing them.

    Returns:
        interquartile mean, lower and upper end, each (points,).

    Source: Agarwal et al., "Deep reinforcement learning at the edge of the statistical precipice", NeurIPS 2021.
    """
    generator = np.random.default_rng(seed)
    means = interquartile_mean(np.concatenate(tasks).T)
    drawn = np.empty((resamples, len(means)))
    for k in range(resamples):
        chosen = [task[generator.integers(0, len(task), len(task))] for task in tasks]
        drawn[k] = interquartile_mean(np.concatenate(chosen).T)
    low, high = np.percentile(drawn, [2.5, 97.5], axis=0)
    return means, low, high
