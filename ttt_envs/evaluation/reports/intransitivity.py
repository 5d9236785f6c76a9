"""Ratings for intransitive results: cycles and Nash averaging.

A single number per agent predicts winners only if the crosstable is transitive. Two tools for other cases:

- `cycles`: agents that each score significantly more than one half against the next.
- `nash_average`: the meta-game in which players choose agents, with the log-odds of winning as payoffs. The result is
  the maximum entropy Nash equilibrium, as shares of the agents, and each agent's payoff against it (D. Balduzzi, K.
  Tuyls, J. Perolat and T. Graepel, "Re-evaluating evaluation", NeurIPS 2018). Copies of an agent divide its share and
  do not change the other agents' values.
"""

from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from ttt_envs.evaluation.reports.ratings import ELO, Ratings
from ttt_envs.evaluation.reports.report import Table

# The temperature of the logit equilibria starts at the largest payoff and falls by the factor _COOLING, down to
# _COLDEST times that payoff.
_COLDEST, _COOLING = 1e-5, 0.7

_NEWTON_STEPS, _CLOSE = 60, 1e-11


@dataclass(frozen=True)
class Circles:
    """Measures of how transitive a crosstable of k agents is.

    Attributes:
        cycles: indices of agents that each beat the next significantly; see `cycles`.
        nash_share, nash_average: float64 (k,), see the function `nash_average`; averages in Elo. nan unless all played
            each other.
    """

    cycles: list[tuple[int, ...]]
    nash_share: np.ndarray
    nash_average: np.ndarray

    def tables(self, names: Sequence[str], order: Sequence[int]) -> list[Table]:
        """Return a table with one row per agent, in the given order; no table unless all agents played each other."""
        if np.isnan(self.nash_share).any():
            return []
        rows = [
            [f"{place}  {names[i]}", f"{self.nash_average[i] + 0.0:.0f}", f"{self.nash_share[i]:.3f}"]
            for place, i in enumerate(order, 1)
        ]
        note = (
            "Nash average: Elo against the best mixture of agents, the maximum entropy Nash equilibrium of the "
            "crosstable's log-odds; share: in that mixture. It takes the measured scores for exact."
        )
        return [Table("Circles", ["agent", "Nash average", "share"], rows, note)]

    def remarks(self, names: Sequence[str], ratings: Ratings) -> list[str]:
        """Return a warning for each cycle."""
        remarks = []
        for way in self.cycles:
            beaten = "; ".join(
                f"{names[a]} beats {names[b]} ({ratings.score[a, b]:.3f}, at least {ratings.score_low[a, b]:.3f})"
                for a, b in zip(way, way[1:] + way[:1], strict=True)
            )
            remarks.append(f"The crosstable is intransitive, so that no single rating says who beats whom: {beaten}.")
        return remarks

    def data(self, names: Sequence[str]) -> dict[str, Any]:
        """Return the contents as JSON's types."""
        return {
            "cycles": [[names[i] for i in way] for way in self.cycles],
            "nash_share": self.nash_share,
            "nash_average": self.nash_average,
        }


def circles(wins: np.ndarray, ratings: Ratings) -> Circles:
    """Return cycles and Nash averaging from wins float64 (k, k), draws as half wins, and the games' ratings."""
    k = len(wins)
    nothing = np.full(k, np.nan)
    if (wins + wins.T + np.eye(k) <= 0).any():
        return Circles(cycles(ratings.score_low), nothing, nothing)
    return Circles(cycles(ratings.score_low), *nash_average(log_odds(wins)))


def cycles(low: np.ndarray) -> list[tuple[int, ...]]:
    """Return, for each group, a shortest cycle of agents that each beat the next significantly, if there is one.

    A group is a strongly connected component of the graph of significant wins.

    Args:
        low: float64 (k, k), lower bounds of the scores of the row agent against the column agent; nan for pairs that
            did not play.
    """
    with np.errstate(invalid="ignore"):
        beats = np.nan_to_num(low, nan=0.0) > 0.5
    reach = beats.copy()
    for k in range(len(beats)):
        reach |= reach[:, k : k + 1] & reach[k]
    circles, seen = [], np.zeros(len(beats), bool)
    for agent in range(len(beats)):
        if reach[agent, agent] and not seen[agent]:
            group = np.flatnonzero(reach[agent] & reach[:, agent])
            seen[group] = True
            circles.append(min((_shortest(beats, int(start)) for start in group), key=len))
    return circles


def _shortest(beats: np.ndarray, start: int) -> tuple[int, ...]:
    ways = deque[tuple[int, ...]]([(start,)])
    met = {start}
    while True:
        way = ways.popleft()
        for other in np.flatnonzero(beats[way[-1]]).tolist():
            if other == start:
                return way
            if other not in met:
                met.add(other)
                ways.append((*way, other))


def log_odds(wins: np.ndarray) -> np.ndarray:
    """Return Elo differences from single pairings, float64 (k, k), antisymmetric, with one draw added to each pairing.

    `wins` float64 (k, k): wins of the row agent against the column agent, a draw half a win for both.
    """
    return np.asarray(ELO * (np.log(wins + 0.5) - np.log(wins.T + 0.5)))


def _square(name: str, values: Any) -> np.ndarray:
    """Return a copy as float64 (k, k) with k > 0; raise ValueError for anything else."""
    array = np.array(values, np.float64)
    if array.ndim != 2 or array.shape[0] != array.shape[1] or not len(array) or not np.isfinite(array).all():
        raise ValueError(f"{name} must be a square matrix of finite numbers, not of shape {array.shape}")
    return array


def nash_average(payoffs: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return the maximum entropy Nash equilibrium of a symmetric zero-sum game, and each agent's payoff against it.

    It is the limit of the logit equilibria p = softmax(payoffs @ p / temperature) (R. D. McKelvey and T. R. Palfrey,
    Games and Economic Behavior 10, 1995). These are saddle points of the game with an entropy bonus, so their entropy
    is at least that of any Nash equilibrium. Newton's method finds each from the previous one; because payoffs are
    antisymmetric, the eigenvalues of its matrix are at least 1 in size.

    Args:
        payoffs: float64 (k, k), antisymmetric, such as `log_odds`.

    Returns:
        The shares float64 (k,), with sum 1, and the values float64 (k,) in units of the payoffs: 0 for agents with a
        share, less for the others.

    Raises:
        ValueError: `payoffs` is no antisymmetric square matrix of finite numbers.
    """
    payoffs = _square("payoffs", payoffs)
    size = float(np.abs(payoffs).max(initial=0.0))
    if np.abs(payoffs + payoffs.T).max(initial=0.0) > 1e-9 * max(size, 1.0):
        raise ValueError("payoffs must be antisymmetric: what one agent wins, the other loses")
    k = len(payoffs)
    if size == 0.0:
        return np.full(k, 1 / k), np.zeros(k)
    scaled, logits, temperature = payoffs / size, np.zeros(k), 1.0
    while temperature > _COLDEST:
        logits = _logit_equilibrium(scaled / temperature, logits)
        temperature *= _COOLING
    shares = _softmax(logits)
    return shares, np.asarray(payoffs @ shares)


def _logit_equilibrium(payoffs: np.ndarray, logits: np.ndarray) -> np.ndarray:
    residual = logits - payoffs @ _softmax(logits)
    for _ in range(_NEWTON_STEPS):
        shares = _softmax(logits)
        curve = np.diag(shares) - np.outer(shares, shares)
        step = np.linalg.solve(np.eye(len(logits)) - payoffs @ curve, residual)
        size = 1.0
        while True:
            tried = logits - size * step
            new = tried - payoffs @ _softmax(tried)
            if np.abs(new).max() < (1 - size / 4) * np.abs(residual).max() or size < 1e-6:
                break
            size /= 2
        logits, residual = tried, new
        if np.abs(residual).max() < _CLOSE * max(1.0, np.abs(logits).max()):
            break
    return np.asarray(logits)


def _softmax(logits: np.ndarray) -> np.ndarray:
    weights = np.exp(logits - logits.max())
    return np.asarray(weights / weights.sum())
