"""Strength from results: Bradley-Terry ratings on the Elo scale, scores, and 95 % intervals for both.

The model: i beats j with probability 1 / (1 + 10 ** ((elo_j - elo_i) / 400)), a draw is half a win. Ratings
are its most likely values (R. A. Bradley and M. E. Terry, "Rank analysis of incomplete block designs",
Biometrika 39, 1952). They exist only if no group of agents has won all its games against the rest (D. R.
Hunter, "MM algorithms for generalized Bradley-Terry models", Annals of Statistics 32, 2004), so each agent is
given a weak prior: one drawn unit more, shared out among its opponents. Newton's method finds them; Hunter's
MM steps crawl when records are lopsided.

A unit is what may be resampled as a whole: all games of one seed, from every seat, of every pairing.
Intervals come from the Bayesian bootstrap (D. B. Rubin, Annals of Statistics 9, 1981): each resample weights
the units by Exp(1) instead of drawing them, and the prior's parts by Gamma variables of their size. So a clean
record of 100 wins, too, gets an interval of sensible width.

- Elo: the bootstrap takes the spread of few units for too small. Its intervals are widened, as far from the
  rating as Student's t says for the units in which the agent played.
- Scores: of the prior's unit three quarters stand against each end of the interval. Without draws that lies
  between the intervals of a proportion by Jeffreys and by Clopper and Pearson (L. D. Brown, T. T. Cai and
  A. DasGupta, Statistical Science 16, 2001): the first one covers 87 % at some scores, the second one more than
  95 % at all.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np

from ttt_envs.evaluation.reports.intervals import student

ELO = 400 / np.log(10)

#: The share of a score's prior unit that stands against an end of its interval.
AGAINST = 0.75

_NEWTON_STEPS = 200
_LARGEST_STEP = 2.0  # in units of e; a full step can overshoot far where results are lopsided
_CLOSE = 1e-6  # the last step; each one squares the error
_BLOCK = 4_000_000  # floats of bootstrap weights held at once


@dataclass
class Ratings:
    """Ratings and scores of k agents; `low` and `high` bound the interval.

    Attributes:
        elo, elo_low, elo_high: float64 (k,). 0 is the mean of the field, in which an agent counts by how much
            is known about its rating (`weights`); nan for an agent without games, the ends also for one unit.
        score, score_low, score_high: float64 (k, k): share of wins of the row against the column, a draw
            being half of one; nan where there were no games.
        weights: float64 (k,), sum 1.
    """

    elo: np.ndarray
    elo_low: np.ndarray
    elo_high: np.ndarray
    score: np.ndarray
    score_low: np.ndarray
    score_high: np.ndarray
    weights: np.ndarray


def rate(wins: Any, *, resamples: int = 1000, seed: int = 0, prior: float = 1.0) -> Ratings:
    """Ratings of k agents from their games.

    Args:
        wins: float (units, k, k), what the row won against the column in each unit: 1 for a win, 1/2 for a draw.
        resamples: resamples of the bootstrap; 0 leaves the intervals nan.
        seed: seed of the bootstrap.
        prior: drawn units added to each agent's record; 0 for the plain most likely ratings, which may not exist.

    Raises:
        ValueError: a wrong shape, negative or no finite numbers; or, with prior 0, ratings that do not exist.
    """
    wins = numbers("wins", wins)
    if wins.ndim != 3 or wins.shape[1] != wins.shape[2]:
        raise ValueError(f"wins must have shape (units, agents, agents), not {wins.shape}")
    if not (np.isfinite(wins).all() and (wins >= 0).all()):
        raise ValueError("wins must be finite numbers of at least 0")
    units, k = wins.shape[:2]
    total = wins.sum(axis=0)
    games = total + total.T
    rated = games.any(axis=1)
    with np.errstate(invalid="ignore"):
        score = total / games

    # The games in one unit of a pairing; a pairing without games takes the mean of the others.
    played = ((wins + wins.transpose(0, 2, 1)) > 0).sum(axis=0)
    worth = np.full((k, k), games.sum() / max(played.sum(), 1))
    np.divide(games, played, out=worth, where=played > 0)
    np.fill_diagonal(worth, 0)
    worth[~rated] = worth[:, ~rated] = 0

    share = prior / max(k - 1, 1)
    theta = strengths((total + share / 2 * worth)[None])[0]
    weights = information(theta, games + share * worth)
    elo = _centred(theta[None], weights)[0]
    nothing = np.full((resamples, k), np.nan)
    elos, lows = nothing, np.full((resamples, k, k), np.nan)
    rng = np.random.default_rng(seed)
    for first in range(0, resamples, size := max(1, _BLOCK // max(units, 1))):
        last = min(first + size, resamples)
        drawn = rng.standard_exponential((last - first, units)) @ wins.reshape(units, k * k)
        drawn = drawn.reshape(-1, k, k)
        # Ratings join all of an agent's games, a score has only those of one pairing: there the prior counts in
        # full. What stands against the row's score is what stands for the column's.
        joined = drawn + rng.standard_gamma(share / 2, drawn.shape) * worth if prior else drawn
        elos[first:last] = _centred(strengths(joined), weights)
        won, lost = drawn, drawn.transpose(0, 2, 1)
        if prior:
            won = won + rng.standard_gamma(prior * (1 - AGAINST), drawn.shape) * worth
            lost = lost + rng.standard_gamma(prior * AGAINST, drawn.shape) * worth
        with np.errstate(invalid="ignore"):
            lows[first:last] = won / (won + lost)

    elo[~rated] = np.nan
    elos[:, ~rated] = np.nan
    lows[:, games == 0] = np.nan
    n = ((wins + wins.transpose(0, 2, 1)) > 0).any(axis=2).sum(axis=0)
    wider = np.array([student(m - 1) / 1.96 * np.sqrt((m + 1) / (m - 1)) if m > 1 else np.nan for m in n.tolist()])
    elo_low, elo_high = (elo + wider * (end - elo) for end in _interval(elos, elo))
    score_low = _interval(lows, score)[0]
    return Ratings(elo, elo_low, elo_high, score, score_low, 1 - score_low.T, weights)


def numbers(name: str, values: Any) -> np.ndarray:
    """`values` as float64; ValueError, with their name, if they are no numbers, or too large to be finite ones."""
    try:
        return np.asarray(values, np.float64)
    except (TypeError, ValueError, OverflowError) as error:
        raise ValueError(f"{name} must be finite numbers: {error}") from None


def strengths(wins: np.ndarray) -> np.ndarray:
    """The most likely log-strengths float64 (r, k), of mean 0, for each of r tables of wins float64 (r, k,
    k).

    Agents without games get 0. Raises ValueError where the most likely strengths are not finite.
    """
    r, k = wins.shape[:2]
    games = wins + wins.transpose(0, 2, 1)
    theta = np.zeros((r, k))
    idle = games.sum(axis=2) == 0
    going = np.arange(r)
    for _ in range(_NEWTON_STEPS):
        at, won = theta[going], wins[going]
        chance = 1 / (1 + np.exp(at[:, None, :] - at[:, :, None]))
        other = chance.transpose(0, 2, 1)  # exact where 1 - chance would lose all digits
        gradient = (won * other - won.transpose(0, 2, 1) * chance).sum(axis=2)
        curve = games[going] * chance * other
        hessian = -curve
        # A rating is known up to a constant: the ones make the matrix regular and keep the mean at 0.
        hessian[:, range(k), range(k)] = curve.sum(axis=2) + idle[going]
        hessian += np.trace(hessian, axis1=1, axis2=2)[:, None, None] / k**2
        try:
            step = np.linalg.solve(hessian, gradient[..., None])[..., 0]
        except np.linalg.LinAlgError:
            break
        largest = np.abs(step).max(axis=1)
        theta[going] += step * np.minimum(1, _LARGEST_STEP / np.maximum(largest, 1e-300))[:, None]
        going = going[~(largest < _CLOSE)]
        if not len(going):
            return np.asarray(theta - theta.mean(axis=1, keepdims=True))
        # More steps would find nothing finite.
        if not np.abs(theta[going]).max() < 300:
            break
    raise ValueError("some agents won all their games against the others: without a prior there are no finite ratings")


def information(theta: np.ndarray, games: np.ndarray) -> np.ndarray:
    """float64 (k,), sum 1: Fisher information about each rating, the others given.

    Args:
        theta: float64 (k,), log-strengths of at least one agent.
        games: float64 (k, k), the games of each pair.

    Raises:
        ValueError: other shapes, or no finite numbers.
    """
    theta, games = numbers("theta", theta), numbers("games", games)
    if theta.ndim != 1 or not len(theta) or games.shape != (len(theta), len(theta)):
        raise ValueError(
            f"theta must have shape (k,) with k of at least 1, and games (k, k), not {theta.shape} and {games.shape}"
        )
    if not (np.isfinite(theta).all() and np.isfinite(games).all() and (games >= 0).all()):
        raise ValueError("theta must be finite, and games finite numbers of at least 0")
    chance = 1 / (1 + np.exp(theta[None, :] - theta[:, None]))
    known = (games * chance * (1 - chance)).sum(axis=1)
    return np.asarray(known / known.sum()) if known.sum() > 0 else np.full(len(theta), 1 / len(theta))


def _centred(theta: np.ndarray, weights: np.ndarray) -> np.ndarray:
    return np.asarray(ELO * (theta - (theta @ weights)[:, None]))


def _interval(drawn: np.ndarray, point: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """95 % between percentiles along the first axis, widened where need be to take in the point; nan stays nan."""
    if not len(drawn):
        return np.full(point.shape, np.nan), np.full(point.shape, np.nan)
    low, high = np.percentile(drawn, (2.5, 97.5), axis=0)
    return np.minimum(low, point), np.maximum(high, point)
