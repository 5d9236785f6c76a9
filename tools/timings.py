"""Shared parts of speed measurements: lines of a table, repeated runs that alternate, and random play of many games."""

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

#: Games of a batch in comparisons with others.
GAMES_AT_ONCE = 1024

_PLIES = 10

#: `start`: seconds that a fresh process may take; `games`: each game's goals, and its name in OpenSpiel.
GOALS: dict[str, Any] = tomllib.loads(Path(__file__).with_name("goals.toml").read_text())


class Effort(Protocol):
    """The time that a measurement may take."""

    @property
    def seconds(self) -> float:
        """Time of each measurement, shared out over its repeats."""

    @property
    def repeats(self) -> int:
        """Number of runs; the median counts."""


@dataclass(frozen=True)
class Timing:
    """One line of the table.

    Attributes:
        game: id, or "" where no game matters.
        what: the thing measured.
        value: median; nan if it could not be measured.
        unit: "moves/s", "s", "x" and the like.
        goal: bound that the value must reach or, if in seconds, must not exceed; None if there is none.
        runs: the values of which `value` is the median.
        note: the reason why it was skipped, or a remark.
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
        """True if the goal is met; None without goal or value."""
        if self.goal is None or np.isnan(self.value):
            return None
        return self.value <= self.goal if self.unit == "s" else self.value >= self.goal


def alternate(players: Mapping[Key, Callable[[float], float]], effort: Effort) -> dict[Key, list[float]]:
    """Repeated runs of each, one after the other in turn, after one to warm up."""
    seconds = effort.seconds / effort.repeats
    for play in players.values():
        play(min(seconds, 0.05))
    runs: dict[Key, list[float]] = {name: [] for name in players}
    for _ in range(effort.repeats):
        for name, play in players.items():
            runs[name].append(play(seconds))
    return runs


def rate(game: str, what: str, runs: Sequence[float], unit: str, goal: float | None = None) -> Timing:
    """Return the line of repeated runs: their median."""
    return Timing(game, what, statistics.median(runs), unit, goal, tuple(runs))


def skipped(game: str, what: str, unit: str, why: str) -> Timing:
    """Return the line of what could not be measured."""
    return Timing(game, what, float("nan"), unit, note=f"skipped: {why}")


def clocked(once: Callable[[], int], seconds: float, clock: Callable[[], float] = time.process_time) -> float:
    """Return the number of operations a second; `once` does some and returns how many."""
    done, start = 0, clock()
    while (spent := clock() - start) < seconds:
        done += once()
    return done / spent


class Playing:
    """A batch that is observed, masked, chosen in at random and stepped, in four calls."""

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
