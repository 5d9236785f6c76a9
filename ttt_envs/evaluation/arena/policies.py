"""The probabilities of an agent's actions, even if they depend on seeds or change from call to call.

The probabilities come from `agent.policy(view)`. If they depend on the view's seeds, or change from call to call (a
search that samples worlds, or an agent with only `act`), their mean is estimated from `samples` seeds. A best response
also exploits the noise of such an estimate, so the figures are too high; the bias decreases with the number of samples.
Some of the positions are tested with several seeds; if the seeds matter in any of them, all positions use all seeds.
"""

from collections.abc import Sequence

import numpy as np

from ttt_envs.agents import Agent
from ttt_envs.core.game import Game
from ttt_envs.core.oracle import Policy
from ttt_envs.core.rng import fold_rows
from ttt_envs.core.view import View

# Probabilities that differ by less are equal up to rounding.
_ROUNDING = 1e-5

# To test whether seeds matter, _TRIALS more seeds are tried, each in about _TRIED of the positions.
_TRIALS, _TRIED = 4, 256


class SeedsMatter(Exception):
    """Raised if an agent's answer depends on the seed or changes when it is asked again."""


class Asked:
    """The policy of an agent, asked with one seed or averaged over several.

    Attributes:
        agent: the agent.
        samples: number of seeds to average over; 0 to use a single seed.
        seeds: number of seeds of a call, which expects a view for each. Without `samples`, the views after the first
            test whether seeds matter.
    """

    def __init__(self, agent: Agent, samples: int = 0) -> None:
        """`samples`: see the attribute."""
        self.agent = agent
        self.samples = samples
        self.seeds = samples or 1 + _TRIALS

    def __call__(self, views: Sequence[View]) -> np.ndarray:
        """Return the policy, float64 (n, num_actions), from `seeds` views of the same n positions with different seeds.

        Raises SeedsMatter if a single seed was requested but other seeds give other probabilities.
        """
        policy = probabilities(self.agent, views[0])
        if self.samples:
            for view in views[1:]:
                policy += probabilities(self.agent, view)
            return policy / self.samples
        step = max(len(policy) // _TRIED, 1)
        for seed, view in enumerate(views[1:], 1):
            some = np.arange(seed % step, len(policy), step)
            if not np.allclose(probabilities(self.agent, view.take(some)), policy[some], rtol=0, atol=_ROUNDING):
                raise SeedsMatter
        return policy

    def policy(self, game: Game) -> Policy:
        """Return the policy as a function of states and players, for oracles."""

        def policy(states: np.ndarray, players: np.ndarray) -> np.ndarray:
            seeds, numbers = np.empty(len(states), np.uint64), np.arange(len(states), dtype=np.uint64)
            views = []
            for seed in range(self.seeds):
                fold_rows(np.full(len(states), seed, np.uint64), numbers, seeds)
                views.append(View.unchecked(game, states, players, seeds, copy=False))
            return self(views)

        return policy


def probabilities(agent: Agent, view: View) -> np.ndarray:
    """Return an agent's probabilities, float64 (n, num_actions).

    Raises ValueError if they are not a distribution over the legal actions.
    """
    policy = np.asarray(agent.policy(view), np.float64)
    who = f"agent {agent.name!r}"
    if policy.shape != view.masks.shape:
        raise ValueError(f"{who}: its policy must have shape {view.masks.shape}, not {policy.shape}")
    legal = ((policy >= 0) & (view.masks | (policy == 0))).all(axis=1)
    wrong = np.flatnonzero(~legal | ~(np.abs(policy.sum(axis=1) - 1) < _ROUNDING))
    if len(wrong):
        raise ValueError(
            f"{who}: its policy is no distribution over the legal actions in this position:\n{view.text(int(wrong[0]))}"
        )
    return policy / policy.sum(axis=1, keepdims=True)
