"""Opponents in self-play: the learner's current self, its past snapshots, and fixed agents."""

from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

import numpy as np

from ttt_envs import agents
from ttt_envs.agents import Agent
from ttt_envs.core.game import Game


class Opponents:
    """A pool of opponents with weights, of which each game draws one when it starts.

    `SeatGames.set_opponents`, which the vector environments have too, draws from such a pool at every reset.
    """

    def __init__(
        self,
        game: Game,
        current: Agent,
        fixed: Iterable[Any],
        snapshots: Path,
        read: Callable[[Path], Agent],
        *,
        self_weight: float = 0.6,
        past_weight: float = 0.2,
        past: int = 6,
    ) -> None:
        """Load the fixed agents.

        Args:
            game: the game that is played.
            current: the learner as it plays now; the same object while it learns.
            fixed: texts or agents, as `agents.load` takes them; they share what the two weights leave.
            snapshots: folder of the learner's snapshots, files whose names sort by age.
            read: callback that makes an agent of a snapshot's file.
            self_weight: share of games against the current self.
            past_weight: share of games against snapshots.
            past: snapshots in the pool at a time, spread evenly over the past.

        Raises:
            ValueError: weights that are no shares; an agent that is unknown or cannot play the game.
        """
        if not (min(self_weight, past_weight) >= 0 and self_weight + past_weight <= 1):
            raise ValueError(
                f"self_weight and past_weight must be at least 0 and at most 1 together, "
                f"not {self_weight} and {past_weight}"
            )
        self.current = current
        self.fixed = [agents.load(each) for each in fixed]
        for agent in self.fixed:
            agent.check(game)
        self.snapshots = snapshots
        self.read = read
        self.self_weight, self.past_weight, self.past = self_weight, past_weight, past
        self._frozen: dict[Path, Agent] = {}

    def pool(self) -> dict[Agent, float]:
        """The agents to draw from now, and their weights, which need not sum to 1."""
        paths = sorted(self.snapshots.glob("[!.]*"))  # without the temporary files of a killed run
        chosen = np.unique(np.linspace(0, len(paths) - 1, min(self.past, len(paths))).astype(int))
        self._frozen = {paths[k]: self._frozen.get(paths[k]) or self.read(paths[k]) for k in chosen}
        past = list(self._frozen.values())
        rest = 1 - self.self_weight - self.past_weight
        weights = {self.current: self.self_weight}
        for some, share in ((past, self.past_weight), (self.fixed, rest)):
            for agent in some:
                weights[agent] = weights.get(agent, 0) + share / len(some)
        return weights if sum(weights.values()) > 0 else {self.current: 1.0}
