"""Whether what was counted is what chance makes likely."""

import numpy as np


def close(counts: np.ndarray, n: np.ndarray | int, chances: np.ndarray | float, what: str) -> None:
    """Each count of n lies within 5 standard deviations of n * chance, and what is impossible does not occur.

    Of the others, those expected less than 20 times are not looked at.
    """
    counts, chances = np.broadcast_arrays(np.asarray(counts, float), np.asarray(chances, float))
    assert not counts[chances == 0].any(), f"{what}: impossible"
    likely = n * chances >= 20
    n = np.broadcast_to(n, counts.shape)[likely]
    off = (counts[likely] - n * chances[likely]) / np.sqrt(n * chances[likely] * (1 - chances[likely]) + 1e-9)
    assert (np.abs(off) < 5).all(), f"{what}: {np.abs(off).max():.1f} standard deviations off"


def chi_square_is_usual(chi_square: float, freedom: int) -> bool:
    """Whether it is within 5 standard deviations, in the scale in which it is nearly normal (Wilson and Hilferty)."""
    spread = 2 / (9 * freedom)
    return abs((chi_square / freedom) ** (1 / 3) - (1 - spread)) < 5 * spread**0.5
