"""Opponents in self-play: the current learner, its past snapshots, and fixed agents."""

from collections.abc import Callable
from pathlib import Path

import numpy as np

from ttt_envs import agents
from ttt_envs.agents import Agent
from ttt_envs.agents.networks import SNAPSHOTS
from ttt_envs.core.game import Game
from ttt_envs.learning.runs.settings import SelfPlay

#: Number of snapshots in the pool, spread evenly over the past.
PAST = 6


class OpponentPool:
    """A pool of opponents with weights; each game draws its opponent by weight when it starts.

    Pass the result of `pool` to `PlayerGames.set_opponents`, or to the same method of a vector environment.
    """

    def __init__(self, game: Game, config: SelfPlay, current: Agent, read: Callable[[Path], Agent]) -> None:
        """Load the fixed agents.

        Args:
            game: the game that is played.
            config: settings of the run. `self_weight` is the weight of the current learner, `past_weight` that of all
                snapshots together; the agents in `opponents` share the remaining weight. The snapshots are files in the
                run folder, whose names sort by age.
            current: the current learner; the same object during the whole run.
            read: callback that loads a snapshot's file as an agent.

        Raises:
            ValueError: weights that are not shares, or an agent that is unknown or cannot play the game.
        """
        self_weight, past_weight = config.self_weight, config.past_weight
        if not (min(self_weight, past_weight) >= 0 and self_weight + past_weight <= 1):
            raise ValueError(
                f"self_weight and past_weight must be at least 0 and at most 1 together, "
                f"not {self_weight} and {past_weight}"
            )
        self.current = current
        self.fixed = [agents.load(each) for each in config.opponents]
        for agent in self.fixed:
            agent.check(game)
        self.snapshots = config.out / SNAPSHOTS
        self.read = read
        self.self_weight, self.past_weight = self_weight, past_weight
        self._frozen: dict[Path, Agent] = {}

    def pool(self) -> dict[Agent, float]:
        """Return agent -> weight; the weights sum to less than 1 before the first snapshot, for example."""
        paths = sorted(self.snapshots.glob("[!.]*"))  # without the temporary files of a killed run
        chosen = np.unique(np.linspace(0, len(paths) - 1, min(PAST, len(paths))).astype(int))
        self._frozen = {paths[k]: self._frozen.get(paths[k]) or self.read(paths[k]) for k in chosen}
        past = list(self._frozen.values())
        rest = 1 - self.self_weight - self.past_weight
        weights = {self.current: self.self_weight}
        for some, share in ((past, self.past_weight), (self.fixed, rest)):
            for agent in some:
                weights[agent] = weights.get(agent, 0) + share / len(some)
        return weights if sum(weights.values()) > 0 else {self.current: 1.0}
