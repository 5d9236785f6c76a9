"""Measure the kernels of a game in a batch, one by one, beside the limits of the machine."""

import shutil
import statistics
import subprocess
import tempfile
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import NamedTuple

import numpy as np

import ttt_envs
from ttt_envs.core.rng import choose_rows

GAMES_AT_ONCE = 1024
_ROUNDS, _WARM = 200, 40


class Costs(NamedTuple):
    """Nanoseconds a step of one game; in a game in which several act at once, of all players together.

    Attributes:
        observation, mask, choice, step: of each kernel, in the order in which a batch plays: no position is met twice.
        written: bytes that a step writes: observations, masks and the record.
        copied: nanoseconds that the machine takes to copy as many bytes.
    """

    observation: float
    mask: float
    choice: float
    step: float
    written: int
    copied: float

    @property
    def all(self) -> float:
        """The four together."""
        return self.observation + self.mask + self.choice + self.step


def _clock(work: Callable[[], object], into: list[float]) -> None:
    start = time.process_time_ns()
    work()
    into.append((time.process_time_ns() - start) / GAMES_AT_ONCE)


def costs(game_id: str, rounds: int = _ROUNDS) -> Costs:
    """Play a batch at random, and clock each kernel in each of so many steps; medians."""
    game = ttt_envs.load(game_id)
    batch = ttt_envs.Batch(game, GAMES_AT_ONCE, seed=0)
    loops, states, rows = game.loops, batch.states, np.arange(GAMES_AT_ONCE)
    viewers = game.num_players if game.simultaneous else 1
    seen = np.empty((viewers, GAMES_AT_ONCE, game.observation_size), np.int8)
    legal = np.empty((viewers, GAMES_AT_ONCE, game.num_actions), np.bool_)
    joint = np.zeros((viewers, GAMES_AT_ONCE), np.int64)
    seeds = np.arange(GAMES_AT_ONCE, dtype=np.uint64)
    clocked: list[list[float]] = [[], [], [], []]
    for number in range(_WARM + rounds):
        parts: list[list[float]] = [[], [], [], []]
        for k in range(viewers):
            players = np.full(GAMES_AT_ONCE, k) if viewers > 1 else states["to_move"].astype(np.int64)
            _clock(partial(loops.observe_rows, states, players, seen[k]), parts[0])
            _clock(partial(loops.mask_rows, states, players, legal[k]), parts[1])
            np.add(seeds, np.uint64(1), out=seeds)
            _clock(partial(choose_rows, legal[k], seeds, joint[k]), parts[2])
        _clock(partial(loops.step_rows, states, rows, np.ascontiguousarray(joint.T)), parts[3])
        batch.reset_rows(np.flatnonzero(states["done"]))
        if number >= _WARM:
            for several, part in zip(clocked, parts, strict=True):
                several.append(sum(part))
    written = viewers * (game.observation_size + game.num_actions) + game.state_dtype.itemsize
    observation, mask, choice, step = map(statistics.median, clocked)
    return Costs(observation, mask, choice, step, written, copy_time(written, rounds))


def copy_time(size: int, rounds: int) -> float:
    """Nanoseconds a game to copy so many bytes for each of a batch; the median."""
    source, took = np.ones(size * GAMES_AT_ONCE, np.int8), list[float]()
    target = np.zeros_like(source)
    for _ in range(rounds):
        _clock(partial(np.copyto, target, source), took)
    return statistics.median(took)


def by_hand() -> float | None:
    """Nanoseconds a step of `limit.c`, the same work for one game in C; None without a C compiler."""
    compiler = shutil.which("cc")
    if compiler is None:
        return None
    with tempfile.TemporaryDirectory() as folder:
        program = Path(folder, "limit")
        source = Path(__file__).with_name("limit.c")
        subprocess.run([compiler, "-O3", "-march=native", "-o", str(program), str(source)], check=True)
        return float(subprocess.run([str(program)], check=True, capture_output=True, text=True).stdout)
