"""Bradley-Terry ratings on the Elo scale and scores from results, with 95 % intervals for both.

The model: i beats j with probability 1 / (1 + 10 ** ((elo_j - elo_i) / 400)), and a draw is half a win. Ratings are
maximum likelihood estimates (R. A. Bradley and M. E. Terry, "Rank analysis of incomplete block designs", Biometrika 39,
1952). They exist only if no group of agents has won all its games against the agents outside the group (D. R. Hunter,
"MM algorithms for generalized Bradley-Terry models", Annals of Statistics 32, 2004). Therefore each agent has a weak
prior: one additional drawn unit, divided among its opponents. Newton's method finds the ratings; Hunter's MM steps
converge slowly if results are one-sided.

The unit of resampling is a seed: all its games, from every seat, of every pairing. Intervals come from the Bayesian
bootstrap (D. B. Rubin, Annals of Statistics 9, 1981): instead of drawing units, each resample weights them by Exp(1)
variables, and the prior's parts by Gamma variables of their size. So even 100 wins without a loss get an interval of
reasonable width.

- Elo: the bootstrap underestimates the spread of few units. Its intervals are widened by the factor of Student's t for
  the units in which the agent played.
- Scores: for each end of the interval, three quarters of the prior's unit count against that end. Without draws the
  result lies between the intervals of a proportion by Jeffreys and by Clopper and Pearson (L. D. Brown, T. T. Cai and
  A. DasGupta, Statistical Science 16, 2001): the first has a coverage of only 87 % at some scores, the second more than
  95 % at all scores.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np

from ttt_envs.evaluation.reports.intervals import student

ELO = 400 / np.log(10)

#: The share of the prior's unit that counts as losses for the lower end of a score's interval, as wins for the upper.
AGAINST = 0.75

_NEWTON_STEPS = 200
_LARGEST_STEP = 2.0  # in units of e; a full step can overshoot far if results are one-sided
_CLOSE = 1e-6  # size of the last step; each step squares the error
_LEAST = 1e-9  # least drawn prior: with less, rounding makes curvatures 0, and some processors find no strengths
_BLOCK = 4_000_000  # the most bootstrap weights in memory at once


@dataclass
class Ratings:
    """Ratings and scores of k agents; `low` and `high` bound the interval.

    Attributes:
        elo, elo_low, elo_high: float64 (k,). 0 is the mean of the field, weighted by `weights` (the information about
            each rating), or the agent `zero`; nan for an agent without games; the ends are nan also with one unit.
        score, score_low, score_high: float64 (k, k): share of wins of the row against the column, with draws as half
            wins; nan for pairs without games.
        weights: float64 (k,), sum 1.
    """

    elo: np.ndarray
    elo_low: np.ndarray
    elo_high: np.ndarray
    score: np.ndarray
    score_low: np.ndarray
    score_high: np.ndarray
    weights: np.ndarray


def rate_pairs(
    agents: int, pairs: Any, won: np.ndarray, lost: np.ndarray, *, resamples: int, seed: int, zero: int | None = None
) -> Ratings:
    """Return ratings of agents; not all pairs need to play each other.

    Each agent's prior, one drawn unit, is divided among its scheduled opponents, so that its weight does not depend on
    their number.

    Args:
        agents: number of agents, k.
        pairs: int (p, 2), the scheduled pairs, each once; chains of pairs must connect all agents.
        won, lost: float64 (units, p), wins and losses of each pair's first agent in each unit: a win is 1, a draw 1/2
            each.
        resamples: resamples of the bootstrap; with 0 the intervals are nan.
        seed: seed of the bootstrap.
        zero: the agent with rating 0; intervals are then for differences from it. By default the field's mean is 0.
    """
    pairs = np.asarray(pairs, np.int64).reshape(-1, 2)
    k, units, (i, j) = agents, len(won), pairs.T
    total_won, total_lost = won.sum(axis=0), lost.sum(axis=0)
    games = total_won + total_lost
    rated = np.bincount(pairs.ravel(), np.repeat(games, 2), k) > 0
    known = games > 0

    def table(first: np.ndarray, second: np.ndarray) -> np.ndarray:
        """Return float64 (k, k) from values of each pair's first and second, (p,); nan for pairs without games."""
        found = np.full((k, k), np.nan)
        found[i[known], j[known]], found[j[known], i[known]] = first[known], second[known]
        return found

    # `worth`: games per unit of each pair; for a pair without games, the mean of the other pairs.
    played = ((won + lost) > 0).sum(axis=0)
    worth = np.full(len(pairs), games.sum() / max(played.sum(), 1))
    np.divide(games, played, out=worth, where=played > 0)
    worth[~(rated[i] & rated[j])] = 0

    met = np.maximum(np.bincount(pairs.ravel(), minlength=k), 1)
    share = (1 / met[i] + 1 / met[j]) / 2
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
        # A rating uses all of an agent's games, so each pair gets a share of the prior's unit. A score uses the games
        # of one pair, to which the whole unit is added.
        joined = (each + np.maximum(rng.standard_gamma(share / 2, each.shape), _LEAST) * worth for each in (ups, downs))
        elos[first:last] = _centred(strengths(_tables(k, pairs, *joined)), weights)
        for ends, mine, theirs in ((lows, ups, downs), (highs, downs, ups)):
            mine = mine + rng.standard_gamma(1 - AGAINST, mine.shape) * worth
            theirs = theirs + rng.standard_gamma(AGAINST, mine.shape) * worth
            with np.errstate(invalid="ignore"):
                ends[first:last] = mine / (mine + theirs)

    elo[~rated] = np.nan
    elos[:, ~rated] = np.nan
    n = np.zeros(k, np.int64)
    for unit in (won + lost) > 0:
        n += np.bincount(pairs[unit].ravel(), minlength=k) > 0
    wider = np.array([student(m - 1) / 1.96 * np.sqrt((m + 1) / (m - 1)) if m > 1 else np.nan for m in n.tolist()])
    elo_low, elo_high = (elo + wider * (end - elo) for end in _interval(elos, elo))
    shares = [np.divide(each, games, out=np.full(len(pairs), np.nan), where=known) for each in (total_won, total_lost)]
    score_low = table(*(_interval(each, share)[0] for each, share in zip((lows, highs), shares, strict=True)))
    return Ratings(elo, elo_low, elo_high, table(*shares), score_low, 1 - score_low.T, weights)


def connected(agents: int, pairs: Any) -> list[list[int]]:
    """Return the groups of agents, numbers below `agents`, that `pairs`, int (p, 2), connect; each is sorted."""
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


def _tables(k: int, pairs: np.ndarray, won: np.ndarray, lost: np.ndarray) -> np.ndarray:
    """Return float64 (r, k, k), wins of the row agent against the column agent, from wins of the pairs (r, p)."""
    tables, (i, j) = np.zeros((len(won), k, k)), pairs.T
    tables[:, i, j], tables[:, j, i] = won, lost
    return tables


def strengths(wins: np.ndarray) -> np.ndarray:
    """Return the most likely log-strengths float64 (r, k), of mean 0, for each of r tables of wins float64 (r, k, k).

    Agents without games get 0. No group of agents may have won all its games against the agents outside the group.
    """
    r, k = wins.shape[:2]
    games = wins + wins.transpose(0, 2, 1)
    theta = np.zeros((r, k))
    idle = games.sum(axis=2) == 0
    going = np.arange(r)
    for _ in range(_NEWTON_STEPS):
        at, won = theta[going], wins[going]
        chance = 1 / (1 + np.exp(at[:, None, :] - at[:, :, None]))
        other = chance.transpose(0, 2, 1)  # precise even where 1 - chance would lose all digits
        gradient = (won * other - won.transpose(0, 2, 1) * chance).sum(axis=2)
        curve = games[going] * chance * other
        hessian = -curve
        # The games determine ratings only up to a constant. The added constant makes the matrix regular, with a mean
        # step of 0.
        hessian[:, range(k), range(k)] = curve.sum(axis=2) + idle[going]
        hessian += np.trace(hessian, axis1=1, axis2=2)[:, None, None] / k**2
        step = np.linalg.solve(hessian, gradient[..., None])[..., 0]
        largest = np.abs(step).max(axis=1)
        theta[going] += step * np.minimum(1, _LARGEST_STEP / np.maximum(largest, 1e-300))[:, None]
        going = going[~(largest < _CLOSE)]
        if not len(going):
            return np.asarray(theta - theta.mean(axis=1, keepdims=True))
    raise RuntimeError("the most likely strengths were not found")


def _weights(theta: np.ndarray, pairs: np.ndarray, games: np.ndarray) -> np.ndarray:
    """Return float64 (k,), sum 1: Fisher information about each rating, given the others, by each pair's games."""
    i, j = pairs.T
    chance = 1 / (1 + np.exp(theta[j] - theta[i]))
    known = np.bincount(pairs.ravel(), np.repeat(games * chance * (1 - chance), 2), len(theta))
    return np.asarray(known / known.sum()) if known.sum() > 0 else np.full(len(theta), 1 / len(theta))


def _centred(theta: np.ndarray, weights: np.ndarray) -> np.ndarray:
    return np.asarray(ELO * (theta - (theta @ weights)[:, None]))


def _interval(drawn: np.ndarray, point: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return the 95 % percentile interval along the first axis, widened to include the point; nan stays nan."""
    if not len(drawn):
        return np.full(point.shape, np.nan), np.full(point.shape, np.nan)
    low, high = np.percentile(drawn, (2.5, 97.5), axis=0)
    return np.minimum(low, point), np.maximum(high, point)
