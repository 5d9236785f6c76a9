"""Rounds: plays matches with an agent for single rounds."""

from collections.abc import Callable

import numpy as np

from ttt_envs.agents import load
from ttt_envs.agents.base import Agent, Around, uniform, uniform_actions
from ttt_envs.core.game import Game
from ttt_envs.core.rng import Stream, stream_seeds
from ttt_envs.core.view import View


class Rounds(Around):
    """Plays each round of a match with an agent for single rounds, regardless of the score.

    The other agent may have been trained on single rounds: `rounds:lookahead:runs/x`. Decisions between rounds, such as
    who begins, are random.
    """

    name = "rounds"
    takes_rest = "agent"
    reaches = {"agent": "agent"}

    def __init__(self, agent: str | Agent) -> None:
        """Set the agent.

        Args:
            agent: the other agent: an object, or a spec such as lookahead:runs/x, which extends to the end of the text.

        Raises ValueError if the agent is a person.
        """
        super().__init__(load(agent))

    def check(self, game: Game) -> None:
        """Raise ValueError if the game is no match of several rounds, or the other agent cannot play its rounds."""
        if game.extras.current_round is None:
            raise ValueError(f"agent {self.name} plays matches of several rounds; {game} does not fit")
        self.agent.check(game.extras.current_round(game.prototype[:0])[0])

    def act(self, view: View) -> np.ndarray:
        """Return int64 (n,); -1 if the player has no legal action. Raises ValueError if the game is no match."""
        actions = uniform_actions(view.masks, stream_seeds(view.seeds, Stream.CHOICE))
        rows, part = view.current_round()
        self._ask(part, rows, actions)
        return actions

    def policy(self, view: View) -> np.ndarray:
        """Return the probability of each action, float64 (n, num_actions). Raises ValueError as `act`."""
        return _asked(view, self.agent.policy, uniform(view.masks))

    def action_values(self, view: View) -> np.ndarray:
        """Return the other agent's values for the round alone: float64 (n, num_actions); NaN between two rounds."""
        return _asked(view, self.agent.action_values, np.full(view.masks.shape, np.nan))

    def value(self, view: View) -> np.ndarray:
        """Return the other agent's value for the round alone: float64 (n,); NaN between two rounds."""
        return _asked(view, self.agent.value, np.full(len(view), np.nan))


def _asked(view: View, ask: Callable[[View], np.ndarray], out: np.ndarray) -> np.ndarray:
    """Write the results of `ask` for the current rounds to `out`; keep the entries of positions between two rounds."""
    rows, part = view.current_round()
    if len(rows):
        out[rows] = ask(part)
    return out
