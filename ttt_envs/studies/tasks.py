"""Tasks of studies: a game with its options, an exact measure, and a score that is comparable between tasks.

Each game's folder may have a file tasks.toml. The score of a measurement is 1 - measure / measure of the random policy:
1 for optimal play, 0 for random play. Results of the same version of a task are always comparable.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cache, lru_cache
from types import SimpleNamespace
from typing import Any

import numpy as np

from ttt_envs import agents
from ttt_envs.core.options import unknown
from ttt_envs.learning.runs.measurements import LEAST, MEASURES, Measurement
from ttt_envs.registry import declared, load

#: A task with hidden hands or simultaneous choices is a smoke test if one of two simple pure policies (`Task.pure`)
#: loses less than this share of random play's loss. A larger share does not show that optimal play is mixed.
MIXING = 0.05


@dataclass(frozen=True)
class Task:
    """A game with a measure.

    Attributes:
        name: the task's name in plans and results.
        game: id of the game.
        options: the game's options.
        measure: one of `ttt_envs.learning.runs.measurements.MEASURES`, or "proved wins lost": the share of games that a
            player with a proven win fails to win against the agent `against`. With sides swapped, `against` plays the
            proven strategy and wins all games; these are not counted.
        random: the measure of uniformly random play.
        seconds: processor time of a measurement of random play, on one machine; measuring a network takes longer.
        version: a number that increases with every change of the task.
        title: a description, for the page.
        against: the opponent for "proved wins lost"; "" for other measures.
        pure: the losses of two simple pure policies as shares of `random`: "response", a best response to random play,
            and "equilibrium", the likeliest actions of an equilibrium. Empty for perfect information.
    """

    name: str
    game: str
    options: Mapping[str, Any]
    measure: str
    random: float
    seconds: float
    version: int
    title: str
    against: str = ""
    pure: Mapping[str, float] = field(default_factory=dict)

    def score(self, values: Any) -> np.ndarray:
        """Return the normalised scores of measurements, float64: 1 for optimal play, 0 for random play."""
        return 1 - np.asarray(values, np.float64) / self.random


@cache
def tasks() -> dict[str, Task]:
    """Return all tasks, by name."""
    return {name: Task(name=name, game=game, **facts) for game, name, facts in declared("tasks.toml")}


def task_of(name: str) -> Task:
    """Return the task with this name; raise ValueError if there is none."""
    if name not in tasks():
        raise ValueError(unknown("task", name, list(tasks())))
    return tasks()[name]


def measure(task: str, agent: Any, seed: int = 0) -> float:
    """Return the measure of an agent in a task, computed like that of a training run with this seed.

    `agent`: an argument of `agents.load`. Raises ValueError for an unknown task, or an agent that cannot be measured.
    """
    (point,) = _measurement(task, seed).measure(agents.load(agent), 0, lambda: None)
    # The score is the mean over both sides. One side has no chance and scores 0, so twice the score is the other's.
    return 1 - 2 * point.value if task_of(task).against else point.value


@lru_cache(maxsize=1)
def _measurement(task: str, seed: int) -> Measurement:
    """Return the task's measurement, which is kept for the next agent, because building a tree can take long."""
    found = task_of(task)
    kind = MEASURES["score" if found.against else found.measure]
    settings = {**LEAST, kind.setting: kind.in_studies or 1, "eval_agents": (found.against or "random",)}
    of_a_run = SimpleNamespace(**settings, measure_every=1, eval_every=1, seed=seed, quiet=True)
    measurement = kind.asked(of_a_run, load(found.game, **found.options), None)
    assert measurement is not None
    return measurement
