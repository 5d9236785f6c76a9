"""Tasks of studies: a game with its options, an exact measure, and a score that is comparable between tasks.

Each game's folder may have a file tasks.toml. The score of a measurement is 1 - measure / measure of the random
policy: 1 for best play, 0 for random play. Results of one version of a task are comparable for ever.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from typing import Any

import numpy as np

from ttt_envs.core.options import unknown
from ttt_envs.registry import declared

#: Measure -> its metric, as `ttt_envs.learning.metrics` names it.
MEASURES = {"exploitability": "eval/exploitability", "regret": "eval/regret"}

# A measurement of regret is over so many games; exploitability is exact.
_REGRET_GAMES = 500


@dataclass(frozen=True)
class Task:
    """A game, and what is measured in it.

    Attributes:
        name: its name in plans and results.
        game: id of the game.
        options: the game's options.
        measure: one of `MEASURES`.
        random: the measure of the policy that chooses legal actions evenly.
        version: raised when anything of it changes.
        title: what it is.
    """

    name: str
    game: str
    options: Mapping[str, Any]
    measure: str
    random: float
    version: int
    title: str

    @property
    def metric(self) -> str:
        """The name of its curve among the metrics of a run."""
        return MEASURES[self.measure]

    def score(self, values: np.ndarray) -> np.ndarray:
        """The normalised scores of measurements: 1 for best play, 0 for random play, less for worse."""
        return np.asarray(1 - values / self.random, np.float64)

    def settings(self, every: int) -> dict[str, Any]:
        """The settings of a learner that measures it at every so many steps."""
        found: dict[str, Any] = {"game": self.game, "options": dict(self.options), "eval_every": every}
        if self.measure == "exploitability":
            return {
                **found,
                "exploitability_every": every,
                "regret_games": 0,
                "eval_agents": ("random",),
                "eval_games": 2,
            }
        return {**found, "regret_games": _REGRET_GAMES, "eval_agents": ("random",), "eval_games": 2}


@cache
def tasks() -> dict[str, Task]:
    """All tasks, by name."""
    return {name: Task(name=name, game=game, **facts) for game, name, facts in declared("tasks.toml")}


def task_of(name: str) -> Task:
    """The task of that name; ValueError if there is none."""
    if name not in tasks():
        raise ValueError(unknown("task", name, list(tasks())))
    return tasks()[name]
