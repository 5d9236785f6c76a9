"""PCFR+ approximates an equilibrium of a small two-player zero-sum game and measures its exploitability exactly.

Example::

    from ttt_envs.solvers import cfr, tree

    solver = cfr.Solver(tree.walk(game))
    solver.run(1000)
    print(solver.point().exploitability)

Source: Farina, Kroer and Sandholm, "Faster game solving via predictive Blackwell approachability", AAAI 2021. In each
information set, an action's probability is proportional to its predicted regret: its regret after the next iteration,
if that iteration brings the same payoffs as this one. Regrets never fall below zero, the two players are updated
alternately, and the policy of iteration t has weight t * t in the average. The solver works on the sequence form (see
`ttt_envs.solvers.sequence`), where an update is one pass over the payoffs and one over the information sets. The
results are those of the same iterations on the game tree. They are deterministic, because nothing is drawn at random.

**Exploitability** is the mean over both seats of a best response's expected reward against the average policy; NashConv
is the sum over both seats. Both are 0 only for an equilibrium. The rewards of the two best responses bound the value of
the game.
"""

import time
from dataclasses import dataclass

import numpy as np

from ttt_envs.core.compile import jit
from ttt_envs.solvers import sequence
from ttt_envs.solvers.sequence import Exploitability, InformationSets, Tree

__all__ = ["Point", "Solver"]


@jit.kernel
def match_regrets(sets, regrets, policy, plan):  # type: ignore[no-untyped-def]
    """Write the policy that regret matching gives for `regrets`, and its plan; all are float64 (sequences,)."""
    policy[0] = plan[0] = 1.0
    for k in range(sets.shape[0]):
        first, count, total = sets[k]["first"], sets[k]["count"], 0.0
        before = plan[sets[k]["parent"]]
        for s in range(first, first + count):
            total += regrets[s]
        for s in range(first, first + count):
            policy[s] = regrets[s] / total if total > 0.0 else 1.0 / count
            plan[s] = before * policy[s]


@jit.kernel
def update_regrets(sets, values, policy, regrets):  # type: ignore[no-untyped-def]
    """Add each action's advantage over the policy to its regret, and let no regret fall below 0.

    `values`, float64 (sequences,), are payoffs from `sequence.fill_payoffs` and are overwritten with the predicted
    regrets.
    """
    for k in range(sets.shape[0] - 1, -1, -1):
        first, end, mean = sets[k]["first"], sets[k]["first"] + sets[k]["count"], 0.0
        for s in range(first, end):
            mean += policy[s] * values[s]
        for s in range(first, end):
            advantage = values[s] - mean
            regrets[s] = max(regrets[s] + advantage, 0.0)
            values[s] = max(regrets[s] + advantage, 0.0)
        values[sets[k]["parent"]] += mean


class _Learner:
    """One player's side of PCFR+; all arrays float64 (sequences,).

    Attributes:
        regrets: regret of each action against the policy, never negative.
        policy, plan: the current policy and its plan.
        total: the weighted sum of all plans so far.
    """

    def __init__(self, mine: InformationSets) -> None:
        self.mine = mine
        self.regrets, self.policy, self.plan, self.total = (np.zeros(mine.sequences) for _ in range(4))
        match_regrets(mine.sets, self.regrets, self.policy, self.plan)

    def learn(self, plan: np.ndarray) -> None:
        """Update regrets, policy and plan against the other player's plan."""
        predicted = sequence.payoffs(self.mine, plan)
        update_regrets(self.mine.sets, predicted, self.policy, self.regrets)
        match_regrets(self.mine.sets, predicted, self.policy, self.plan)


class Solver:
    """Runs PCFR+ on a tree.

    Attributes:
        tree: the tree that is solved.
        iterations: number of iterations so far.
        seconds: time spent on these iterations.
    """

    def __init__(self, tree: Tree) -> None:
        """Start with the uniform policy."""
        self.tree = tree
        self.iterations, self.seconds = 0, 0.0
        self._learners = [_Learner(mine) for mine in tree.players]

    def run(self, iterations: int) -> None:
        """Run a number of iterations. An interrupt loses at most the current iteration."""
        first, second = self._learners
        for _ in range(iterations):
            started = time.perf_counter()
            first.learn(second.plan)
            second.learn(first.plan)
            number = self.iterations + 1
            for each in (first, second):
                each.total += number**2 * each.plan
            self.iterations, self.seconds = number, self.seconds + time.perf_counter() - started

    def average(self) -> tuple[np.ndarray, np.ndarray]:
        """Return the average policy, which converges to an equilibrium; it is uniform in sets that it never reaches."""
        first, second = (np.empty_like(each.policy) for each in self._learners)
        for each, policy in zip(self._learners, (first, second), strict=True):
            sequence.fill_policy(each.mine.sets, each.total, policy)
        return first, second

    def exploitability(self) -> Exploitability:
        """Return the exact exploitability of the average policy."""
        return sequence.exploitability(self.tree, self.average())

    def point(self) -> "Point":
        """Return the current figures of the average policy."""
        result = self.exploitability()
        best = result.best_responses
        return Point(self.iterations, self.seconds, result.value, result.nash_conv, *best, result.expected)


@dataclass(frozen=True)
class Point:
    """The figures of the average policy after a number of iterations.

    Attributes:
        iteration: number of iterations so far.
        seconds: time spent on these iterations, without building the tree and without the measurements.
        exploitability, nash_conv: see `sequence.Exploitability`.
        best_response_0, best_response_1: each player's expected reward with a best response to the policy.
        expected: player 0's expected reward if both follow the policy.
    """

    iteration: int
    seconds: float
    exploitability: float
    nash_conv: float
    best_response_0: float
    best_response_1: float
    expected: float
