"""Strength from results: Bradley-Terry ratings on the Elo scale, scores, and 95 % intervals for both.

The model: i beats j with probability 1 / (1 + 10 ** ((elo_j - elo_i) / 400)), a draw is half a win. Ratings
are its most likely values (R. A. Bradley and M. E. Terry, "Rank analysis of incomplete block designs",
Biometrika 39, 1952). They exist only if no group of agents has won all its games against the rest (D. R.
Hunter, "MM algorithms for generalized Bradley-Terry models", Annals of Statistics 32, 2004), so each agent is
given a weak prior: one drawn unit more, shared out among its opponents. Newton's method finds them; Hunter's
MM steps crawl when records are lopsided.

A unit is resampled as a whole: all games of one seed, from every seat, of every pairing. Intervals come from the
Bayesian bootstrap (D. B. Rubin, Annals of Statistics 9, 1981): each resample weights the units by Exp(1) instead of
drawing them, and the prior's parts by Gamma variables of their size. A clean record of 100 wins thus gets an interval
of sensible width, too.

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

from ttt_envs.core.options import MOST, within
from ttt_envs.evaluation.reports.intervals import student

ELO = 400 / np.log(10)

#: The share of a score's prior unit that stands against an end of its interval.
AGAINST = 0.75

_NEWTON_STEPS = 200
_LARGEST_STEP = 2.0  # in units of e; a full step can overshoot far where results are lopsided
_CLOSE = 1e-6  # the last step; each one squares the error
_LEAST = 1e-9  # of a drawn prior: less is lost in the rounding of curvatures, and some processors find no strengths
_FARTHEST = 300.0  # log-strengths beyond this are not finite
_NOT_FINITE = "some agents won all their games against the others: without a prior there are no finite ratings"
_BLOCK = 4_000_000  # floats of bootstrap weights held at once


@dataclass
class Ratings:
    """Ratings and scores of k agents; `low` and `high` bound the interval.

    Attributes:
        elo, elo_low, elo_high: float64 (k,). 0 is the mean of the field, in which an agent counts by how much
            is known about its rating (`weights`), or the agent `zero`; nan for an agent without games, the ends also
            for one unit.
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
        wins: float (units, k, k), wins of the row against the column in each unit: 1 for a win, 1/2 for a draw.
        resamples: resamples of the bootstrap; 0 leaves the intervals nan.
        seed: seed of the bootstrap.
        prior: drawn units added to each agent's record; 0 for the plain most likely ratings, which may not exist.

    Raises:
        ValueError: a wrong shape or no agents, negative or no finite numbers; or, with prior 0, ratings that do not
            exist.
    """
    wins = numbers("wins", wins)
    if wins.ndim != 3 or wins.shape[1] != wins.shape[2]:
        raise ValueError(f"wins must have shape (units, agents, agents), not {wins.shape}")
    first, second = np.triu_indices(wins.shape[1], 1)
    pairs = np.stack([first, second], axis=1)
    won, lost = wins[:, first, second], wins[:, second, first]
    return rate_pairs(wins.shape[1], pairs, won, lost, resamples=resamples, seed=seed, prior=prior)


def rate_pairs(
    agents: int,
    pairs: Any,
    won: Any,
    lost: Any,
    *,
    resamples: int = 1000,
    seed: int = 0,
    prior: float = 1.0,
    zero: int | None = None,
) -> Ratings:
    """Ratings of agents of whom not every two play each other.

    The prior's drawn unit of an agent is shared out among the opponents that it is to meet, so that it weighs as much
    as among all. Groups not connected by a chain of games are connected by the prior alone: the intervals are then very
    wide.

    Args:
        agents: their number, k.
        pairs: int (p, 2), the pairs to play, each two once, connected by chains of pairs.
        won, lost: float (units, p), wins and losses of each pair's first in each unit: 1 a win, 1/2 each a draw.
        resamples, seed, prior: as for `rate`.
        zero: the agent whose rating is 0, so that intervals are of differences from it; by default the field's mean is
            0.

    Raises:
        ValueError: as `rate`, or pairs of other agents, or disconnected groups.
    """
    within(1, MOST, agents=agents)
    within(0, MOST, resamples=resamples)
    within(0.0, 1e9, prior=prior)
    pairs, won, lost = np.asarray(pairs, np.int64).reshape(-1, 2), numbers("won", won), numbers("lost", lost)
    for each in (pairs.min(initial=0), pairs.max(initial=0)):
        within(0, agents - 1, **{"the number of an agent in pairs": int(each)})
    if won.ndim != 2 or won.shape != lost.shape or won.shape[1] != len(pairs):
        raise ValueError(f"won and lost must have shape (units, {len(pairs)}), not {won.shape} and {lost.shape}")
    if not (np.isfinite(won).all() and (won >= 0).all() and np.isfinite(lost).all() and (lost >= 0).all()):
        raise ValueError("wins must be finite numbers of at least 0")
    if agents > 1 and len(groups := connected(agents, pairs)) > 1:
        raise ValueError(f"the pairs fall apart into {len(groups)} groups of agents that never meet each other")
    k, units, (i, j) = agents, len(won), pairs.T
    total_won, total_lost = won.sum(axis=0), lost.sum(axis=0)
    games = total_won + total_lost
    rated = np.bincount(pairs.ravel(), np.repeat(games, 2), k) > 0
    known = games > 0
    score = _table(k, pairs, total_won, total_lost, known)

    # The games in one unit of a pair; one without games takes the mean of the others.
    played = ((won + lost) > 0).sum(axis=0)
    worth = np.full(len(pairs), games.sum() / max(played.sum(), 1))
    np.divide(games, played, out=worth, where=played > 0)
    worth[~(rated[i] & rated[j])] = 0

    met = np.maximum(np.bincount(pairs.ravel(), minlength=k), 1)
    share = prior * (1 / met[i] + 1 / met[j]) / 2
    drawn = share / 2 * worth
    theta = strengths(_tables(k, pairs, (total_won + drawn)[None], (total_lost + drawn)[None]))[0]
    weights = _weights(theta, pairs, games + 2 * drawn) if zero is None else np.eye(k)[zero]
    elo = _centred(theta[None], weights)[0]
    elos, lows, highs = np.full((resamples, k), np.nan), *np.full((2, resamples, len(pairs)), np.nan)
    rng = np.random.default_rng(seed)
    for first in range(0, resamples, size := max(1, _BLOCK // max(units, len(pairs), k**2, 1))):
        last = min(first + size, resamples)
        weighted = rng.standard_exponential((last - first, units))
        ups, downs = weighted @ won, weighted @ lost
        # Ratings join all of an agent's games; a score has only one pairing: there the prior counts in
        # full. The prior against the first's score is the prior for the second's.
        joined = (
            each + np.maximum(rng.standard_gamma(share / 2, each.shape), _LEAST) * worth if prior else each
            for each in (ups, downs)
        )
        elos[first:last] = _centred(strengths(_tables(k, pairs, *joined)), weights)
        for ends, mine, theirs in ((lows, ups, downs), (highs, downs, ups)):
            if prior:
                mine = mine + rng.standard_gamma(prior * (1 - AGAINST), mine.shape) * worth
                theirs = theirs + rng.standard_gamma(prior * AGAINST, mine.shape) * worth
            with np.errstate(invalid="ignore"):
                ends[first:last] = mine / (mine + theirs)

    elo[~rated] = np.nan
    elos[:, ~rated] = np.nan
    n = np.zeros(k, np.int64)
    for unit in (won + lost) > 0:
        n += np.bincount(pairs[unit].ravel(), minlength=k) > 0
    wider = np.array([student(m - 1) / 1.96 * np.sqrt((m + 1) / (m - 1)) if m > 1 else np.nan for m in n.tolist()])
    elo_low, elo_high = (elo + wider * (end - elo) for end in _interval(elos, elo))
    point = np.divide(total_won, games, out=np.full(len(pairs), np.nan), where=known)
    low, high = _interval(lows, point)[0], _interval(highs, 1 - point)[0]
    score_low = np.full((k, k), np.nan)
    score_low[i[known], j[known]], score_low[j[known], i[known]] = low[known], high[known]
    return Ratings(elo, elo_low, elo_high, score, score_low, 1 - score_low.T, weights)


def connected(agents: int, pairs: Any) -> list[list[int]]:
    """The groups of agents 0 to agents - 1 that chains of pairs, int (p, 2), connect, each sorted."""
    group = list(range(agents))

    def root(agent: int) -> int:
        while group[agent] != agent:
            group[agent] = group[group[agent]]
            agent = group[agent]
        return agent

    for one, other in np.asarray(pairs, np.int64).reshape(-1, 2).tolist():
        group[max(root(one), root(other))] = min(root(one), root(other))
    found: dict[int, list[int]] = {}
    for agent in range(agents):
        found.setdefault(root(agent), []).append(agent)
    return list(found.values())


def _table(k: int, pairs: np.ndarray, won: np.ndarray, lost: np.ndarray, known: np.ndarray) -> np.ndarray:
    """float64 (k, k): shares of wins of the row against the column; nan where nothing is known."""
    found, (i, j) = np.full((k, k), np.nan), pairs[known].T
    total = won[known] + lost[known]
    found[i, j], found[j, i] = won[known] / total, lost[known] / total
    return found


def _tables(k: int, pairs: np.ndarray, won: np.ndarray, lost: np.ndarray) -> np.ndarray:
    """float64 (r, k, k): wins of the row against the column, from the wins (r, p) of each pair's first and second."""
    tables, (i, j) = np.zeros((len(won), k, k)), pairs.T
    tables[:, i, j], tables[:, j, i] = won, lost
    return tables


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
        if not np.abs(theta[going]).max() < _FARTHEST:
            break
    raise ValueError(_NOT_FINITE)


def _weights(theta: np.ndarray, pairs: np.ndarray, games: np.ndarray) -> np.ndarray:
    """float64 (k,), sum 1: Fisher information about each rating, the others given, from the games of each pair."""
    i, j = pairs.T
    chance = 1 / (1 + np.exp(theta[j] - theta[i]))
    known = np.bincount(pairs.ravel(), np.repeat(games * chance * (1 - chance), 2), len(theta))
    return np.asarray(known / known.sum()) if known.sum() > 0 else np.full(len(theta), 1 / len(theta))


def _centred(theta: np.ndarray, weights: np.ndarray) -> np.ndarray:
    return np.asarray(ELO * (theta - (theta @ weights)[:, None]))


def _interval(drawn: np.ndarray, point: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """95 % between percentiles along the first axis, widened where need be to take in the point; nan stays nan."""
    if not len(drawn):
        return np.full(point.shape, np.nan), np.full(point.shape, np.nan)
    low, high = np.percentile(drawn, (2.5, 97.5), axis=0)
    return np.minimum(low, point), np.maximum(high, point)
