"""`Batch(look=True, threads=k)`: a step is shared with threads that wait for the next one in compiled code."""

import os
import threading
import time
from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
import pytest
import toy_coin

import ttt_envs
from ttt_envs.core import jit, threads
from ttt_envs.core.batch import Batch
from ttt_envs.core.illegal import IllegalAction
from ttt_envs.core.team import ALLOWED, ASKED, AWAY, BEGUN, FORBIDDEN, LOOKS, ORDERED, READY
from ttt_envs.testing.positions import random_joint

COIN, SUPER = toy_coin.make(players=3), ttt_envs.load("super_tic_tac_toe")

pytestmark = pytest.mark.skipif(jit.DISABLED, reason="without compiled code one thread does all of a step")


@pytest.fixture(autouse=True)
def many_processors(monkeypatch: pytest.MonkeyPatch) -> None:
    """More than this machine may have, and threads of the test alone, which nobody else has called."""
    monkeypatch.setattr(threads, "MOST", 4)
    monkeypatch.setattr(threads, "_POOL", threads._Pool())


class Interrupted(BaseException):
    """Stands for a KeyboardInterrupt at a place of the test's choice."""


def twins(shares: int) -> tuple[Batch, Batch]:
    """Two equal batches, of one thread and of several, which have been stepped together; no thread has been called."""
    found = tuple(Batch(COIN, 40, seed=1, auto_reset=True, look=True, threads=each) for each in (1, shares))
    with pytest.MonkeyPatch.context() as nobody:
        nobody.setattr(threads._Pool, "give", lambda *_, **__: False)
        for _ in range(5):
            step(*found)
    return found[0], found[1]


def step(*batches: Batch) -> None:
    joint = random_joint(batches[0])
    for batch in batches:
        batch.step(joint)


def everything(batch: Batch) -> list[bytes]:
    arrays = (batch.states, batch.rewards, batch.done, batch.episode_seeds, batch._episodes, *batch.look)
    return [array.tobytes() for array in arrays]


def words(batch: Batch) -> Any:
    assert batch._team is not None
    return batch._team._order.words


def until(true: Callable[[], Any]) -> None:
    """Wait for what other threads do."""
    for _ in range(6000):
        if true():
            return
        time.sleep(0.01)
    pytest.fail("nothing has happened for a minute")


@pytest.mark.parametrize("shares", [2, 4])
def test_threads_do_shares_and_the_games_are_the_same(shares: int) -> None:
    alone, batch = twins(shares)
    for _ in range(3):
        until(lambda: (words(batch)[1:, 0] == AWAY).all())
        joint, team = random_joint(alone), batch._team
        assert team is not None
        team.plan(joint, True, True)
        assert team._lead(team._order) == BEGUN, "threads are asked for"
        assert (words(batch)[1:, 0] == ORDERED).all()
        team._pool.give([partial(team._go_on, share, 0) for share in range(1, shares)], waits=False)
        until(lambda: np.isin(words(batch)[1:, 0], (READY, AWAY)).all())
        first = team._order.cuts[1]
        assert (batch.states[:first] == alone.states[:first]).all(), "the share of this thread is left"
        assert (batch.states[first:] != alone.states[first:]).all()
        assert team.step()
        alone.step(joint)
        assert everything(alone) == everything(batch)


def test_what_nobody_has_begun_is_done_by_the_thread_that_leads(monkeypatch: pytest.MonkeyPatch) -> None:
    """No thread can be started, or all are busy."""
    monkeypatch.setattr(threads._Pool, "give", lambda *_, **__: False)
    alone, batch = twins(4)
    for _ in range(20):
        step(alone, batch)
        assert everything(alone) == everything(batch)
    assert (words(batch)[1:, 0] == AWAY).all()


def test_threads_are_called_once_however_long_they_take_to_come() -> None:
    alone, batch = (Batch(SUPER, 8, seed=0, auto_reset=True, look=True, threads=each) for each in (1, 2))
    begun, busy, pool = threading.Event(), threading.Event(), threads.pool()
    pool.give([lambda: begun.set() or busy.wait(60)])
    assert begun.wait(60)
    for _ in range(20):
        step(alone, batch)
    assert pool._work.qsize() == 1
    words(batch)[0, LOOKS] = 10**15
    busy.set()
    until(lambda: step(alone, batch) or words(batch)[1, 0] == READY)
    for each in (alone, batch):
        each.rollout(1)  # the thread is called away
    assert everything(alone) == everything(batch)


def test_a_thread_waits_for_steps_until_it_is_called_for_other_work() -> None:
    alone, batch = twins(2)
    words(batch)[0, LOOKS] = 10**15
    until(lambda: step(alone, batch) or words(batch)[1, 0] == READY)
    time.sleep(0.05)
    assert words(batch)[1, 0] == READY
    for each in (alone, batch):
        each.rollout(3)
    assert words(batch)[1, 0] == AWAY
    assert everything(alone) == everything(batch)


@pytest.mark.parametrize("wrong", [0, 39])
def test_an_action_that_is_not_legal_is_named_in_any_share(wrong: int) -> None:
    alone, batch = twins(4)
    for _ in range(10):
        before, joint = everything(batch), random_joint(alone)
        joint[wrong] = COIN.num_actions - 1 - joint[wrong]
        errors = []
        for each in (alone, batch):
            try:
                each.step(joint)
            except (ValueError, IllegalAction) as error:
                errors.append(str(error))
        assert len(errors) in (0, 2)
        assert len(set(errors)) <= 1
        if errors:
            assert everything(batch) == before
        step(alone, batch)
        assert everything(alone) == everything(batch)


@pytest.mark.parametrize("share", [0, 1])
def test_actions_are_allowed_if_all_threads_say_so(share: int) -> None:
    batch = Batch(SUPER, 8, seed=0, look=True, threads=2)
    batch.step(random_joint(batch))
    until(lambda: words(batch)[1, 0] == AWAY)
    joint, team = random_joint(batch), batch._team
    assert team is not None
    joint[7 * share] = SUPER.num_actions
    team.plan(joint, True, False)
    words(batch)[1] = ASKED, *words(batch)[1, 1:]
    team._pool.give([partial(team._go_on, 1, 0)], waits=False)
    until(lambda: words(batch)[1, 0] == (FORBIDDEN if share else ALLOWED))
    assert not team.step()
    assert (batch.states["ply"] == 1).all()


@pytest.mark.parametrize("place", ["before threads are called", "after the step"])
def test_an_interrupt_leaves_no_share_undone(place: str, monkeypatch: pytest.MonkeyPatch) -> None:
    alone, batch = twins(4)
    assert batch._team is not None
    give, number, hits = batch._team._pool.give, batch._number_ended, [0]

    def once() -> None:
        hits[0] += 1
        if hits[0] <= 2:  # the second one hits the work that is to make good for the first
            raise Interrupted

    if place == "after the step":
        monkeypatch.setattr(batch, "_number_ended", lambda: (number(), once()))
    else:
        until(lambda: (words(batch)[1:, 0] == AWAY).all())
        monkeypatch.setattr(
            batch._team._pool, "give", lambda work, *, waits=True: (waits or once(), give(work, waits=waits))
        )
    joint = random_joint(alone)
    with pytest.raises(Interrupted):
        batch.step(joint)
    assert hits[0]
    monkeypatch.undo()
    alone.step(joint)
    batch.masks(0)  # any call completes it
    for _ in range(5):
        assert everything(alone) == everything(batch)
        step(alone, batch)


def test_an_error_of_a_thread_that_followed_is_raised() -> None:
    _, batch = twins(2)
    until(lambda: words(batch)[1, 0] == AWAY)
    assert batch._team is not None

    def follow(*_: object) -> None:
        raise ZeroDivisionError("in a kernel")

    batch._team._follow = follow
    with pytest.raises(ZeroDivisionError, match="in a kernel"):
        until(lambda: batch.step(random_joint(batch)) and False)
    step(batch)


@pytest.mark.skipif(not hasattr(os, "fork"), reason="no forks")
def test_a_forked_process_calls_threads_of_its_own() -> None:
    alone, batch = twins(2)
    until(lambda: words(batch)[1, 0] == AWAY)
    step(alone, batch)
    child = os.fork()
    if not child:
        for _ in range(50):
            step(alone, batch)
        own = batch._team is not None and batch._team._pool is threads.pool()
        os._exit(0 if own and everything(alone) == everything(batch) else 3)
    found: list[int] = []

    def ended() -> bool:
        pid, status = os.waitpid(child, os.WNOHANG)
        if pid:
            found.append(os.waitstatus_to_exitcode(status))
        return bool(pid)

    until(ended)
    assert found == [0]
