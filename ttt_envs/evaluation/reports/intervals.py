"""Means with 95 % intervals: over few seeds, over many units with rare losses, and over training seeds.

`python -m tools.coverage` simulates the coverage of this library's intervals; docs/intervals.md has the table.
"""

from collections.abc import Sequence
from typing import Any

import numpy as np

# The 97.5 % quantile of Student's t distribution for infinitely many degrees of freedom and for 30 down to 1.
_T = (
    *(1.960, 2.042, 2.045, 2.048, 2.052, 2.056, 2.060, 2.064, 2.069, 2.074, 2.080, 2.086, 2.093, 2.101, 2.110, 2.120),
    *(2.131, 2.145, 2.160, 2.179, 2.201, 2.228, 2.262, 2.306, 2.365, 2.447, 2.571, 2.776, 3.182, 4.303, 12.706),
)

# _RESAMPLES: number of resamples. _BLOCK: the most weights in memory at once. Losses up to _ROUNDING count as 0.
_RESAMPLES, _BLOCK, _ROUNDING = 1000, 4_000_000, 1e-9


# Assumed ratio of the largest possible loss to the largest observed one: _MORE, or _FEW / (number of losses) if larger.
_MORE, _FEW = 1.5, 6


def student(free: Any) -> Any:
    """Return the 97.5 % quantile of Student's t with `free` degrees of freedom, 1 or more, also fractional."""
    return np.interp(1 / np.asarray(free), [0, *(1 / np.arange(30, 0, -1))], _T)


def t_interval(values: Sequence[float] | np.ndarray) -> tuple[float, float]:
    """Return the mean over seeds and the half width of its 95 % interval by Student's t, nan for fewer than two."""
    numbers = np.asarray(values, np.float64)
    if len(numbers) < 2:
        return float(numbers.mean()) if len(numbers) else np.nan, np.nan
    return float(numbers.mean()), float(student(len(numbers) - 1) * numbers.std(ddof=1) / np.sqrt(len(numbers)))


def mean_interval(
    sums: np.ndarray, counts: np.ndarray, most: float, tail: float = 2.5
) -> tuple[float, tuple[float, float]]:
    """Return the ratio of two totals over n independent units, such as the loss per game, and its interval.

    Each end comes from a Bayesian bootstrap, in which units have random weights, with one additional unit: its loss is
    nothing for the lower end, and large for the upper end (N. Gaffke, Mathematical Methods of Statistics 14, 2005; E.
    Learned-Miller and P. S. Thomas, arXiv 1905.06208). For units that lose all or nothing this is the interval of
    Clopper and Pearson. The upper end is at least that of Student's t with the standard error of a ratio estimator (W.
    G. Cochran, "Sampling Techniques", 3rd edition 1977, chapter 6).

    The large loss is `most` if no unit lost anything. Otherwise the large loss is the largest observed loss times 1.5,
    or times 6 / (number of units with a loss) if that is more; but at most `most`, unless a larger loss was observed.
    If it were always `most`, the interval would be valid for all distributions of losses, but several times as wide for
    agents with small mistakes. With the smaller loss, the interval is not valid if rare losses are far larger than all
    observed ones.

    Args:
        sums: float (n,), the loss of each unit, at least 0.
        counts: int (n,), the number of games or decisions in each unit.
        most: the largest possible loss of a unit of typical size.
        tail: percentage of cases in which the truth is below the lower end; 5 for a one-sided interval of 95 %, from
            the lower end up.

    Returns:
        The ratio, and the ends of the interval; nan for fewer than two units.
    """
    n, total = len(sums), counts.sum()
    mean = float(sums.sum() / total)
    if n < 2:
        return mean, (np.nan, np.nan)
    half = student(n - 1) * np.sqrt(((sums - mean * counts) ** 2).sum() * n / (n - 1)) / total
    largest = float(sums.max())
    times = max(_MORE, _FEW / max((sums > _ROUNDING).sum(), 1))
    much = max(largest, min(times * largest, most)) if largest > _ROUNDING else most
    # If the additional unit loses more than a unit of typical size can, it also gets proportionally more games.
    typical, large = total / n, total / n * max(1.0, much / most)
    rng, drawn = np.random.default_rng(0), np.empty((2, _RESAMPLES))
    for first in range(0, _RESAMPLES, size := max(1, _BLOCK // n)):
        some = slice(first, min(first + size, _RESAMPLES))
        weights = rng.standard_exponential((some.stop - first, n))
        more = rng.standard_exponential(some.stop - first)
        lost, number = weights @ sums, weights @ counts
        drawn[:, some] = lost / (number + more * typical), (lost + more * much) / (number + more * large)
    low, high = np.percentile(drawn[0], tail), np.percentile(drawn[1], 97.5)
    return mean, (float(min(low, mean)), float(max(high, mean + half)))


def of_seeds(found: tuple[Any, Any], seeds: int, digits: int = 3) -> str:
    """Return, as text, a mean over training seeds and half its interval's width, or the value that all seeds have."""
    mean, half = (f"{float(each):.{digits}f}" for each in found)
    if np.isnan(found[1]):
        return mean
    return f"{mean} ± {half}" if float(half) else f"all {seeds} seeds: {mean}"


def shown(value: float, ends: tuple[float, float], digits: int = 4) -> str:
    """Return a figure with its interval as text."""
    if np.isnan(value):
        return "–"
    figure, low, high = (f"{each:.{digits}f}" for each in (value, *ends))
    return figure if np.isnan(ends[0]) else f"{figure} ({low} to {high})"


def percent(share: float) -> str:
    """Return a share as a percentage, without rounding to 0 or 100 %."""
    if np.isnan(share):
        return "–"
    text = f"{100 * share:.1f} %"
    if text == "0.0 %" and share > 0:
        return "< 0.1 %"
    return "> 99.9 %" if text == "100.0 %" and share < 1 else text
