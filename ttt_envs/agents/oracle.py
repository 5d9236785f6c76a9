"""The oracle as an agent: optimal play in known positions."""

import numpy as np

from ttt_envs.agents import load
from ttt_envs.agents.base import Around
from ttt_envs.core.game import Game
from ttt_envs.core.oracle import Oracle
from ttt_envs.core.rng import Stream, sample_rows, stream_seeds
from ttt_envs.core.view import View


class OracleAgent(Around):
    """Plays as the game's oracle in positions that the oracle covers, and as another agent elsewhere.

    If the oracle's policy is mixed, the agent samples it.
    """

    name = "oracle"
    reaches = {"fallback": "agent"}

    def __init__(self, fallback: str = "greedy") -> None:
        """Set the agent for positions that the oracle does not cover.

        Args:
            fallback: the agent, such as "random" or "mcts".

        Raises ValueError if the fallback is the oracle again or a person.
        """
        if isinstance(fallback, str) and fallback.partition(":")[0] == self.name:
            raise ValueError(f"fallback must be another agent than {self.name}, which does not cover the position")
        super().__init__(load(fallback))

    def act(self, view: View) -> np.ndarray:
        """Return int64 (n,); -1 if the player has no legal action. Raises ValueError for a game without an oracle."""
        policy, covered = self._best(view)
        actions = np.empty(len(view), np.int64)
        sample_rows(policy, stream_seeds(view.seeds, Stream.CHOICE), actions)
        rows = np.flatnonzero(~covered)
        self._ask(view.take(rows), rows, actions)
        return actions

    def policy(self, view: View) -> np.ndarray:
        """Return the probability of each action, float64 (n, num_actions). Raises ValueError as `act`."""
        policy, covered = self._best(view)
        if not covered.all():
            policy[~covered] = self.agent.policy(view.take(~covered))
        return policy

    def action_values(self, view: View) -> np.ndarray:
        """Return the oracle's values under optimal play, or else the fallback's: float64 (n, num_actions)."""
        oracle, worlds = _oracle_of(view.game), view.sample_worlds()
        covered = self._best(view)[1]
        values = np.where(view.masks, oracle.action_values(worlds, view.players), np.nan)
        if not covered.all():
            values[~covered] = self.agent.action_values(view.take(~covered))
        return values

    def value(self, view: View) -> np.ndarray:
        """Return the oracle's value under optimal play, or else the fallback's: float64 (n,)."""
        oracle, worlds = _oracle_of(view.game), view.sample_worlds()
        covered = self._best(view)[1]
        value = np.array(oracle.value(worlds, view.players), np.float64)
        if not covered.all():
            value[~covered] = self.agent.value(view.take(~covered))
        return value

    def _best(self, view: View) -> tuple[np.ndarray, np.ndarray]:
        oracle = _oracle_of(view.game)
        # A world consistent with the player's view; with perfect information, the position itself.
        worlds = view.sample_worlds()
        policy = np.array(oracle.policy(worlds, view.players), np.float64)
        # Leave players without legal actions to the fallback.
        return policy, oracle.covers(worlds) & (policy.sum(axis=1) > 0)

    def check(self, game: Game) -> None:
        """Raise ValueError if the game has no oracle with these options, or the fallback cannot play it."""
        _oracle_of(game)
        self.agent.check(game)


def _oracle_of(game: Game) -> Oracle:
    try:
        return game.oracle()
    except NotImplementedError as error:
        raise ValueError(f"agent oracle cannot play {game}: {error}") from None
