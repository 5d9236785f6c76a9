"""The oracle as an agent: best play where it is known."""

import numpy as np

import agents
from ttt_envs.core.game import Game
from ttt_envs.core.oracle import Oracle
from ttt_envs.core.rng import fold_rows
from ttt_envs.core.view import View

# The seeds that sample a policy are folded apart from those for drawing worlds, which count up from 0.
_CHOICE = 1 << 34


class OracleAgent:
    """Plays the game's oracle where it covers the position, and another agent elsewhere.

    A mixed policy is sampled. Refuses a game that has no oracle.
    """

    name = "oracle"

    def __init__(self, fallback: str = "greedy") -> None:
        """`fallback`: the agent for positions that the oracle does not cover, such as "random" or "mcts"."""
        self.fallback = agents.load(fallback)

    def act(self, view: View) -> np.ndarray:
        """int64 (n,); -1 where the player has no legal action. ValueError for a game without an oracle."""
        covered, policy = self._exact(view)
        out = np.full(len(view), -1, np.int64)
        seeds = np.empty(len(view), np.uint64)
        fold_rows(view.seeds, np.full(len(view), _CHOICE, np.uint64), seeds)
        out[covered] = agents.sample(policy, seeds)[covered]
        if not covered.all():
            out[~covered] = self.fallback.act(view.take(~covered))
        return out

    def policy(self, view: View) -> np.ndarray:
        """float64 (n, num_actions). ValueError as in `act`, or if a fallback without a policy is needed."""
        covered, policy = self._exact(view)
        if not covered.all():
            if not hasattr(self.fallback, "policy"):
                raise ValueError(f"agent {self.name}: the fallback has no policy, only moves")
            policy[~covered] = self.fallback.policy(view.take(~covered))
        return policy

    def _exact(self, view: View) -> tuple[np.ndarray, np.ndarray]:
        """Where the oracle knows what to do, bool (n,), and its policy, float64 (n, num_actions)."""
        oracle = _oracle_of(view.game)
        # A world that fits what the player knows: with perfect information, the position.
        worlds = view.sample_worlds()
        policy = np.array(oracle.policy(worlds, view.players), np.float64)
        # Finished games and players who do not act are left to the fallback, which has no action for them
        # either.
        return oracle.covers(worlds) & (policy.sum(axis=1) > 0), policy


def _oracle_of(game: Game) -> Oracle:
    try:
        return game.oracle()
    except NotImplementedError as error:
        raise ValueError(f"agent oracle cannot play {game!r}: {error}") from None
