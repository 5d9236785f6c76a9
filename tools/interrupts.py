"""Interrupt a Batch at random moments, and see that no step is left half done and nothing waits for ever.

    python -m tools.interrupts --interrupts 20000

A timer's signal raises KeyboardInterrupt in the middle of calls, in batches with one thread and with several. After
each one the games must be those before the call or those after it, as another batch without interrupts has them. A
hang ends the process with the stacks of all threads; the exit status is 0 if all was well.
"""

import faulthandler
import signal
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial

import numpy as np
import tyro

import ttt_envs
from ttt_envs.core.batch import Batch
from ttt_envs.registry import parse_options
from ttt_envs.testing.positions import random_joint


@dataclass(frozen=True)
class Interrupts:
    """Interrupt a Batch at random moments."""

    game: str = "tic_tac_dice"
    """The game to play."""
    option: tuple[str, ...] = ("rounds=single",)
    """Options of the game, name=value; short games end in the middle of interrupted steps."""
    interrupts: int = 20_000
    """Interrupts that reach a call."""
    games: int = 600
    """Games in each batch."""
    seed: int = 0
    """Seed for the moments and the moves."""
    patience: float = 60.0
    """Seconds without an interrupt after which the process is taken to hang."""


def everything(batch: Batch) -> bytes:
    """Everything that belongs to the games."""
    arrays = (batch.states, batch.rewards, batch.done, batch.episode_seeds, batch._episodes, batch._key)
    return b"".join(array.tobytes() for array in arrays)


class Timer:
    """A signal after some seconds raises KeyboardInterrupt, as Ctrl-C does."""

    def __init__(self) -> None:
        self._armed = False
        signal.signal(signal.SIGALRM, self._interrupt)

    def _interrupt(self, *_: object) -> None:
        if self._armed:  # the signal may reach another thread, and this one later
            raise KeyboardInterrupt

    def interrupted(self, call: Callable[[], object], seconds: float) -> bool:
        """Whether the call was interrupted, after that many seconds."""
        try:
            self._armed = True
            signal.setitimer(signal.ITIMER_REAL, seconds)
            call()
            self._armed = False
        except KeyboardInterrupt:
            self._armed = False
            return True
        finally:
            signal.setitimer(signal.ITIMER_REAL, 0)
        return False


def copied(batch: Batch, into: Batch) -> None:
    """Give a batch the games of another one."""
    for name in ("_states", "rewards", "done", "_episode_seeds", "_episodes", "_key"):
        getattr(into, name)[...] = getattr(batch, name)


def run(settings: Interrupts) -> int:
    """Interrupt, and return how many interrupts left a call half done."""
    game = ttt_envs.load(settings.game, **parse_options(settings.game, settings.option))
    generator = np.random.default_rng(settings.seed)
    pairs = [
        tuple(Batch(game, settings.games, seed=1, auto_reset=True, threads=threads, look=look) for _ in range(2))
        for threads in (1, 2, 5)
        for look in (False, True)
    ]
    timer = Timer()
    hits, wrong, took = 0, 0, 1e-3
    for batch, model in pairs:  # compiles
        batch.step(random_joint(model))
        batch.rollout(1)
        copied(batch, model)
    while hits < settings.interrupts:
        faulthandler.dump_traceback_later(settings.patience, exit=True)
        batch, model = pairs[generator.integers(len(pairs))]
        joint, what = random_joint(model), int(generator.integers(10))
        before = everything(model)
        rows = np.flatnonzero(generator.random(batch.n) < 0.5)
        calls: list[Callable[[], object]]
        if what == 0:
            calls = [batch.reset, model.reset]
        elif what == 1:
            calls = [partial(each.reset_rows, rows) for each in (batch, model)]
        elif what < 4:
            calls = [partial(each.rollout, what) for each in (batch, model)]
        else:
            calls = [partial(each.step, joint) for each in (batch, model)]
        started = time.perf_counter()
        hit = timer.interrupted(calls[0], max(generator.random() * 1.2 * took, 2e-6))
        if not hit:
            took = 0.9 * took + 0.1 * (time.perf_counter() - started)
        hits += hit
        now = everything(batch)
        calls[1]()
        after = everything(model)
        if now != after:
            if not hit or now != before:
                wrong += 1
                kind = "another state" if hit else "no interrupt"
                print(f"wrong after {hits} interrupts: call {what}, {batch.threads} threads, {kind}")
            copied(batch, model)
        if what > 1 and batch.states["done"].any():
            wrong += 1
            print(f"a finished game stays after {hits} interrupts, {batch.threads} threads")
    faulthandler.cancel_dump_traceback_later()
    print(f"{hits} interrupts, {wrong} calls left half done")
    return wrong


def main() -> None:
    """The command."""
    sys.exit(1 if run(tyro.cli(Interrupts, description=__doc__)) else 0)


if __name__ == "__main__":
    main()
