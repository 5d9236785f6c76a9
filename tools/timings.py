"""Shared parts of speed measurements: table rows, alternating runs, and random play in a batch."""

import statistics
import time
import tomllib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any, Protocol, TypeVar

import numpy as np

from ttt_envs.core.rng import choose_rows

Key = TypeVar("Key")

#: Number of games per batch in comparisons with other libraries.
GAMES_AT_ONCE = 1024

_PLIES = 10

#: `start`: maximum seconds for the import and the first reset in a new process. `games`: each game's goals, and its
#: name in OpenSpiel.
GOALS: dict[str, Any] = tomllib.loads(Path(__file__).with_name("goals.toml").read_text())


class Effort(Protocol):
    """The settings of a measurement: its duration and its number of runs."""

    @property
    def seconds(self) -> float:
        """Seconds per measurement, divided among its repeats."""

    @property
    def repeats(self) -> int:
        """Number of runs; their median is reported."""


@dataclass(frozen=True)
class Timing:
    """One row of the table of results.

    Attributes:
        game: the game's id, or "" for the package as a whole.
        what: the thing measured.
        value: the median of `runs`, or nan if the measurement was skipped.
        unit: "moves/s", "s", "x" and the like.
        goal: the minimum value, or the maximum for seconds; None without a goal.
        runs: the value of each run.
        note: a remark, or the reason why the measurement was skipped.
    """

    game: str
    what: str
    value: float
    unit: str
    goal: float | None = None
    runs: tuple[float, ...] = ()
    note: str = ""

    @property
    def met(self) -> bool | None:
        """Whether the goal is met; None without goal or value."""
        if self.goal is None or np.isnan(self.value):
            return None
        return self.value <= self.goal if self.unit == "s" else self.value >= self.goal


def alternate(players: Mapping[Key, Callable[[float], float]], effort: Effort) -> dict[Key, list[float]]:
    """Run all players in turn, `effort.repeats` times, after one short warm-up of each; return each one's rates."""
    seconds = effort.seconds / effort.repeats
    for play in players.values():
        play(min(seconds, 0.05))
    runs: dict[Key, list[float]] = {name: [] for name in players}
    for _ in range(effort.repeats):
        for name, play in players.items():
            runs[name].append(play(seconds))
    return runs


def rate(game: str, what: str, runs: Sequence[float], unit: str, goal: float | None = None) -> Timing:
    """Return the row of a measurement, whose value is the median of `runs`."""
    return Timing(game, what, statistics.median(runs), unit, goal, tuple(runs))


def skipped(game: str, what: str, unit: str, why: str) -> Timing:
    """Return the row of a measurement that was skipped."""
    return Timing(game, what, float("nan"), unit, note=f"skipped: {why}")


def clocked(once: Callable[[], int], seconds: float, clock: Callable[[], float] = time.process_time) -> float:
    """Call `once`, which returns a number of operations, for `seconds`; return operations per second."""
    done, start = 0, clock()
    while (spent := clock() - start) < seconds:
        done += once()
    return done / spent


class Playing:
    """Plays random plies in a batch, with a call each for observations, masks, random actions and the step."""

    def __init__(self, batch: Any, *, checked: bool = True) -> None:
        game, n = batch.game, batch.n
        self._batch, self._step = batch, partial(batch.step, check=checked)
        self._players = list(range(game.num_players)) if game.simultaneous else [None]
        self._observations = np.empty((n, game.observation_size), np.int8)
        self._masks = np.empty((n, game.num_actions), np.bool_)
        self._actions, self._chosen = np.empty((n, len(self._players)), np.int64), np.empty(n, np.int64)
        self._seeds = np.arange(n, dtype=np.uint64)  # one stream a game: `choose_rows` scrambles these counters

    def __call__(self) -> int:
        for _ in range(_PLIES):
            for k, player in enumerate(self._players):
                self._batch.observations(player, out=self._observations)
                self._batch.masks(player, out=self._masks)
                self._seeds += np.uint64(1)
                choose_rows(self._masks, self._seeds, self._chosen)
                self._actions[:, k] = self._chosen
            self._step(self._actions if len(self._players) > 1 else self._chosen)
        return _PLIES * len(self._chosen)
