"""Mixed: an agent that plays as another agent, but sometimes at random."""

import numpy as np

from ttt_envs.agents import load
from ttt_envs.agents.base import Around, uniform, uniform_actions
from ttt_envs.core.game import Game
from ttt_envs.core.options import within
from ttt_envs.core.rng import Stream, sample_rows, stream_seeds
from ttt_envs.core.view import View


class Mixed(Around):
    """Plays as another agent, but with a given probability draws a uniformly random legal action.

    Use it to weaken an agent: `mixed:mcts:simulations=50,random=0.3`.
    """

    name = "mixed"
    reaches = {"agent": "agent"}

    def __init__(self, agent: str, random: float = 0.1) -> None:
        """Set the agent and the probability of a random action.

        Args:
            agent: the other agent, such as greedy or mcts:simulations=50.
            random: probability of a random action, from 0 to 1, independent for each decision.

        Raises ValueError if the agent is a person.
        """
        within(0.0, 1.0, random=random)
        super().__init__(load(agent))
        self.random = float(random)
        # Mixed agents inside this one get the same seeds; `_coin`, their number, makes their random numbers differ.
        self._coin = self.agent.name.count(type(self).name)

    def act(self, view: View) -> np.ndarray:
        """Return one action per position, int64 (n,); -1 if the player has no legal action."""
        kind = np.empty(len(view), np.int64)
        chances = np.tile([self.random, 1 - self.random], (len(view), 1))
        sample_rows(chances, stream_seeds(view.seeds, Stream.MIXTURE, self._coin), kind)
        actions = uniform_actions(view.masks, stream_seeds(view.seeds, Stream.CHOICE))
        rows = np.flatnonzero(kind == 1)
        self._ask(view.take(rows), rows, actions)
        return actions

    def policy(self, view: View) -> np.ndarray:
        """Return the probability of each action, float64 (n, num_actions)."""
        probabilities = self._checked(self.agent.policy(view), view)
        probabilities = probabilities / np.where(total := probabilities.sum(axis=1, keepdims=True), total, 1)
        return (1 - self.random) * probabilities + self.random * uniform(view.masks)

    def check(self, game: Game) -> None:
        """Raise ValueError if the other agent cannot play `game`."""
        self.agent.check(game)
