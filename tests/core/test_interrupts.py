"""Ctrl-C and forks in the middle of a Batch's work: no step is left half done, and nothing waits for ever."""

import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import toy_coin

import ttt_envs
from ttt_envs.core import jit, threads
from ttt_envs.core.batch import Batch
from ttt_envs.core.threads import Shares
from ttt_envs.testing.positions import random_joint

GAME = toy_coin.make(players=3)
ROOT = Path(__file__).parents[2]


def interrupts(number: int, seconds: float, *game: str) -> str:
    """The last line of `tools.interrupts`; a hang is an error there, and ends the process."""
    command = [sys.executable, "-m", "tools.interrupts", "--interrupts", str(number), "--patience", "60", *game]
    found = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=seconds)
    assert found.returncode == 0, found.stdout + found.stderr
    return found.stdout.splitlines()[-1]


@pytest.mark.skipif(not hasattr(os, "fork") or jit.DISABLED, reason="signals, and kernels that none of them hits")
def test_an_interrupt_leaves_no_step_half_done() -> None:
    """In the game for which other tests compile the threads' kernels, too; each reset draws a start."""
    game = ("--game", "super_tic_tac_toe", "--option", "random_opening_plies=6")
    assert interrupts(400, 120, *game).startswith("400 interrupts")


@pytest.mark.slow
@pytest.mark.skipif(not hasattr(os, "fork") or jit.DISABLED, reason="signals, and kernels that none of them hits")
def test_twenty_thousand_interrupts() -> None:
    assert interrupts(20_000, 3000).startswith("20000 interrupts")


class Interrupted(BaseException):
    """Stands for a KeyboardInterrupt at a place of the test's choice."""


def twins(threads: int) -> tuple[Batch, Batch]:
    """Two equal batches in which games end all the time."""
    found = tuple(Batch(GAME, 60, seed=1, auto_reset=True, threads=threads) for _ in range(2))
    for _ in range(20):
        joint = random_joint(found[0])
        for batch in found:
            batch.step(joint)
    return found[0], found[1]


def all_of(batch: Batch) -> bytes:
    arrays = (batch.states, batch.rewards, batch.done, batch.episode_seeds, batch._episodes)
    return b"".join(array.tobytes() for array in arrays)


@pytest.mark.parametrize("threads", [1, 3])
@pytest.mark.parametrize("place", ["after the kernel", "in the reset", "while settling"])
def test_what_an_interrupt_leaves_is_done_before_anything_else(
    place: str, threads: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    batch, whole = twins(threads)
    hit = [0]

    def once() -> None:
        hit[0] += 1
        if hit[0] <= 2:  # the second one hits the work that is to make good for the first
            raise Interrupted

    if place == "after the kernel":
        settle = batch._settle
        monkeypatch.setattr(batch, "_settle", lambda *args: (once(), settle(*args)))
    elif place == "while settling":
        begin = batch._begin
        monkeypatch.setattr(batch, "_begin", lambda *args, **kw: (once(), begin(*args, **kw)))
    else:
        loops = GAME.loops
        stuck = loops._replace(reset_rows=lambda *args: (once(), loops.reset_rows(*args)))
        monkeypatch.setitem(vars(GAME), "loops", stuck)
    while not hit[0]:
        joint = random_joint(batch)
        try:
            batch.step(joint)
        except Interrupted:
            break
        finally:
            whole_step(whole, joint, monkeypatch, place)
    assert hit[0] == 2
    masks = batch.masks(0)  # any call completes it
    assert np.array_equal(masks, whole.masks(0))
    assert all_of(batch) == all_of(whole)
    assert not batch.states["done"].any()


def whole_step(whole: Batch, joint: np.ndarray, monkeypatch: pytest.MonkeyPatch, place: str) -> None:
    """The same step without an interrupt."""
    if place == "in the reset":
        monkeypatch.undo()
    whole.step(joint)


def test_a_step_whose_kernel_was_interrupted_is_played_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """Before the kernel has done its work, or after it: what the kernel sets at its end tells which."""
    for after in (False, True):
        batch, whole = twins(1)
        loops, hits = GAME.loops, [0]

        def hit(*args: object, after: bool = after, hits: list[int] = hits, loops: Any = loops) -> None:
            hits[0] += 1
            if after or hits[0] > 1:
                loops.play_rows(*args)
            if hits[0] == 1:
                raise Interrupted

        joint = random_joint(batch)
        monkeypatch.setitem(vars(GAME), "loops", loops._replace(play_rows=hit))
        with pytest.raises(Interrupted):
            batch.step(joint)
        monkeypatch.undo()
        whole.step(joint)
        assert all_of(batch) == all_of(whole)
        assert hits == [1 if after else 2]


@pytest.mark.parametrize("threads", [1, 3])
def test_an_interrupted_reset_begins_all_games(threads: int, monkeypatch: pytest.MonkeyPatch) -> None:
    batch, whole = twins(threads)
    loops = GAME.loops

    def stop(*_: object) -> None:
        raise Interrupted

    monkeypatch.setitem(vars(GAME), "loops", loops._replace(reset_rows=stop))
    with pytest.raises(Interrupted):
        batch.reset(7)
    monkeypatch.undo()
    whole.reset(7)
    batch.masks(0)
    assert all_of(batch) == all_of(whole)


def test_shares_are_called_once_however_often_they_are_waited_for(monkeypatch: pytest.MonkeyPatch) -> None:
    calls: list[int] = []
    gate = threading.Event()

    def call(number: int) -> int:
        if number:
            gate.wait(60)
        calls.append(number)
        if number == 2:
            raise ValueError("the third")
        return number

    shares = Shares([lambda k=k: call(k) for k in range(4)])

    class Pool(threads._Pool):
        """An interrupt right after the first time that all was given: it is given again."""

        def give(self, work: Sequence[Callable[[], object]]) -> bool:
            given = super().give(work)
            if not hits:
                hits.append(1)
                raise Interrupted
            return given

    class Bell:
        def get(self) -> None:
            raise Interrupted

        def put(self, _: None) -> None:
            pass

    hits: list[int] = []
    monkeypatch.setattr(threads, "_POOL", Pool())
    bell, shares._bell = shares._bell, Bell()  # type: ignore[assignment]
    for _ in range(3):
        with pytest.raises(Interrupted):
            shares.finish()
    shares._bell = bell
    gate.set()
    shares.finish()
    assert sorted(calls) == [0, 1, 2, 3]
    with pytest.raises(ValueError, match="the third"):
        shares.results()


def test_without_further_threads_the_work_is_done_here(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(threads, "_POOL", threads._Pool())
    monkeypatch.setattr(threads._thread, "start_new_thread", refuse)
    alone = Shares([threading.get_ident] * 2)
    alone.finish()
    assert alone.results() == [threading.get_ident()] * 2


def refuse(*_: object) -> None:
    raise RuntimeError("can't start new thread")


@pytest.mark.skipif(not hasattr(os, "fork"), reason="no forks")
@pytest.mark.parametrize("stepping", [False, True])
def test_a_fork_while_another_thread_is_inside(stepping: bool) -> None:
    """The child can go on, unless games may be half stepped: then it must reset them."""
    batch = Batch(ttt_envs.load("super_tic_tac_toe"), 3, seed=0)
    inside, leave = threading.Event(), threading.Event()

    def stay() -> None:
        with batch._in_use:
            if stepping:
                batch._in_use.do(lambda: (inside.set(), leave.wait(60)))
            else:
                inside.set()
                leave.wait(60)

    other = threading.Thread(target=stay)
    other.start()
    try:
        assert inside.wait(60)
        child = os.fork()
        if not child:
            os._exit(in_the_child(batch, stepping))
        for _ in range(600):
            pid, status = os.waitpid(child, os.WNOHANG)
            if pid:
                break
            time.sleep(0.1)
        assert os.waitstatus_to_exitcode(status) == 0
        with pytest.raises(RuntimeError, match="used by another thread"):
            batch.masks()
    finally:
        leave.set()
        other.join()
    batch.step([40, 40, 40])


@pytest.mark.skipif(not hasattr(os, "fork"), reason="no forks")
def test_a_forked_process_has_threads_of_its_own() -> None:
    batch = Batch(GAME, 60, seed=0, threads=2, look=True)
    batch.rollout(1)
    child = os.fork()
    if not child:
        batch.rollout(1)
        os._exit(0)
    for _ in range(200):
        pid, status = os.waitpid(child, os.WNOHANG)
        if pid:
            break
        time.sleep(0.1)
    else:
        os.kill(child, signal.SIGKILL)
        os.waitpid(child, 0)
        pytest.fail("the child waits for a thread of its parent")
    assert os.waitstatus_to_exitcode(status) == 0


def in_the_child(batch: Batch, stepping: bool) -> int:
    """0 if the batch does there what it should."""
    try:
        if stepping:
            for _ in range(2):
                with pytest.raises(RuntimeError, match=r"forked while another thread used this Batch, .*reset\(\)"):
                    batch.step([40, 40, 40])
            batch.reset(0)
        batch.step([40, 40, 40])
        other = Batch(batch.game, 3, seed=0)
        other.step([40, 40, 40])
        return 0 if all_of(batch) == all_of(other) else 3
    except BaseException:
        return 4
