"""The oracle as an agent: best play where it is known."""

import numpy as np

from ttt_envs.agents import load
from ttt_envs.agents.base import Agent
from ttt_envs.core.game import Game
from ttt_envs.core.oracle import Oracle
from ttt_envs.core.view import View


class OracleAgent(Agent):
    """Plays the game's oracle where it covers the position, and another agent elsewhere.

    A mixed policy is sampled.
    """

    name = "oracle"

    def __init__(self, fallback: str = "greedy") -> None:
        """Choose the agent for positions that the oracle does not cover.

        Args:
            fallback: that agent, such as "random" or "mcts".

        Raises ValueError if that is the oracle again.
        """
        if isinstance(fallback, str) and fallback.partition(":")[0] == self.name:
            raise ValueError(f"fallback must be another agent than {self.name}, which does not cover the position")
        self.fallback = load(fallback)

    def policy(self, view: View) -> np.ndarray:
        """float64 (n, num_actions). ValueError for a game without an oracle."""
        oracle = _oracle_of(view.game)
        # A world that fits what the player knows: with perfect information, the position.
        worlds = view.sample_worlds()
        policy = np.array(oracle.policy(worlds, view.players), np.float64)
        # Finished games and players who do not act are left to the fallback, which has no action for them either.
        covered = oracle.covers(worlds) & (policy.sum(axis=1) > 0)
        if not covered.all():
            policy[~covered] = self.fallback.policy(view.take(~covered))
        return policy

    def check(self, game: Game) -> None:
        """Raise ValueError for a game that has no oracle with these options."""
        _oracle_of(game)


def _oracle_of(game: Game) -> Oracle:
    try:
        return game.oracle()
    except NotImplementedError as error:
        raise ValueError(f"agent oracle cannot play {game!r}: {error}") from None
