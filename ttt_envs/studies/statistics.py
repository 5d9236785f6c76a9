"""Statistics for comparisons over few seeds: the probability of improvement, exact tests and their correction.

Source: Agarwal et al., "Deep reinforcement learning at the edge of the statistical precipice", NeurIPS 2021.
"""

from collections.abc import Sequence

import numpy as np

from ttt_envs.evaluation.reports.intervals import student


def improvement(first: np.ndarray, second: np.ndarray) -> tuple[float, tuple[float, float]]:
    """Return the probability that a run of the first method scores more than a run of the second; ties count half.

    The interval contains each probability that differs from the estimate by at most Student's t times the standard
    error at this probability, so the interval is meaningful even if all runs of one method are ahead (R. G. Newcombe,
    Statistics in Medicine 25, 2006, method 5).

    Args:
        first, second: float (seeds,), the scores.

    Returns: The estimate and both ends of its 95 % interval, which are nan if both methods have one seed.
    """
    found, m, n = float(np.mean(np.sign(first[:, None] - second) / 2 + 0.5)), len(first), len(second)
    if m + n < 3:
        return found, (np.nan, np.nan)
    p = np.linspace(0, 1, 1001)  # the probabilities among which the ends of the interval are searched
    spread = (1 - p) / (2 - p) + p / (1 + p)
    variance = p * (1 - p) * (1 + ((m + n) / 2 - 1) * spread) / (m * n)
    held = p[np.abs(p - found) <= student(m + n - 2) * np.sqrt(variance) + 1e-9]
    return found, (min(found, float(held.min(initial=1))), max(found, float(held.max(initial=0))))


def exact_p(first: np.ndarray, second: np.ndarray) -> float:
    """Return the two-sided exact p-value of the rank-sum test of Mann and Whitney.

    The null hypothesis is that both methods' scores have the same distribution; then every division of the runs between
    the methods is equally likely. Equal scores share their ranks.
    """
    both = np.concatenate([first, second])
    # Twice the rank of each score; equal scores have their mean rank, so only the doubled rank is a whole number.
    doubled = [int((both < each).sum() * 2 + (both == each).sum() + 1) for each in both]
    # ways[k][s]: the number of ways to choose k of the runs so that their doubled ranks have the sum s.
    ways: list[dict[int, int]] = [{0: 1}, *({} for _ in first)]
    for rank in doubled:
        for k in range(len(first), 0, -1):
            for total, number in ways[k - 1].items():
                ways[k][total + rank] = ways[k].get(total + rank, 0) + number
    middle = len(first) * (len(both) + 1)
    off = abs(sum(doubled[: len(first)]) - middle)
    extreme = sum(number for total, number in ways[-1].items() if abs(total - middle) >= off)
    return extreme / sum(ways[-1].values())


def holm(values: Sequence[float]) -> list[float]:
    """Adjust p-values of several tests by Holm's method, which limits the probability of any false rejection."""
    adjusted, highest = [1.0] * len(values), 0.0
    for rank, k in enumerate(np.argsort(values, kind="stable")):
        highest = max(highest, min(1.0, (len(values) - rank) * values[k]))
        adjusted[k] = highest
    return adjusted
