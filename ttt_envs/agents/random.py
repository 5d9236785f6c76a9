"""The random agent."""

import numpy as np

from ttt_envs.agents.base import Agent, uniform, uniform_actions
from ttt_envs.core.rng import Stream, stream_seeds
from ttt_envs.core.view import View


class RandomAgent(Agent):
    """Plays a uniformly chosen legal action."""

    name = "random"
    reaches = {}
    draws_uniformly = True

    def __init__(self) -> None:
        """No parameters."""

    def act(self, view: View) -> np.ndarray:
        """Return one action per position, int64 (n,); -1 if the player has no legal action."""
        return uniform_actions(view.masks, stream_seeds(view.seeds, Stream.CHOICE))

    def policy(self, view: View) -> np.ndarray:
        """Return the probability of each action, float64 (n, num_actions)."""
        return uniform(view.masks)
