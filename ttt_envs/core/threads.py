"""Threads and interrupts: work that one thread does at a time and to its end, and work that several threads share."""

import _thread
import os
import threading
from collections.abc import Callable, Iterable, Sequence
from functools import partial
from queue import SimpleQueue
from typing import Any
from weakref import WeakSet

import numpy as np

from ttt_envs.core.spin import new_words


class OneThread:
    """Room for one thread at a time: `with` raises RuntimeError while another thread is inside.

    An interrupt may hit between any two lines. What must not be left half done is therefore given to `do`, and is done
    to its end before the interrupt leaves the room, or at the latest before anything else is done in it.
    """

    def __init__(self) -> None:
        # An RLock: an interrupt right after it is acquired must not lock the same thread out.
        self._lock = threading.RLock()
        self._left: tuple[Callable[[], object], ...] = ()
        self._torn = False
        _ROOMS.add(self)

    def __enter__(self) -> None:
        if not self._lock.acquire(blocking=False):
            raise RuntimeError("this Batch is being used by another thread: give each thread a Batch of its own")
        if not self._left:  # as always but after an interrupt or a fork
            self._torn = False
            return
        try:
            if self._torn:
                raise RuntimeError(
                    "this process was forked while another thread used this Batch, and its games are lost: "
                    "reset() begins new ones"
                )
            self._finish()
        except BaseException:
            self._lock.release()
            raise

    def __exit__(self, *_: object) -> None:
        try:
            if self._left:
                self._finish()
        finally:
            self._lock.release()

    def do(self, *steps: Callable[[], object]) -> None:
        """Call these in turn. Each may be called twice, and must then do the same; or call `do` with the rest."""
        self._left = steps
        self._finish()

    def _finish(self) -> None:
        while self._left:
            self._left[0]()
            self._left = self._left[1:]

    def begin_anew(self) -> None:
        """Forget what a fork has left undone, since all is replaced."""
        if self._torn:
            self._left = ()

    def after_fork(self) -> None:
        """Begin anew in a forked process: no thread of before is in it, and neither is its half of the work."""
        if self._lock.acquire(blocking=False):
            self._lock.release()
        else:
            self._lock = threading.RLock()
        self._torn = True

    def __reduce__(self) -> tuple[Any, ...]:
        return OneThread, ()


_ROOMS: "WeakSet[OneThread]" = WeakSet()


def _after_fork() -> None:
    global _POOL
    _POOL = _Pool()
    for room in list(_ROOMS):
        room.after_fork()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_after_fork)


class _Pool:
    """Threads that wait for work, as many as were ever wanted at once, but one a processor at most.

    They end with the process, and none of them is in a forked one.

    Signals reach the main thread alone, so that no interrupt hits them. A SimpleQueue has no lock that an interrupt can
    leave locked, as that of `concurrent.futures` has.
    """

    def __init__(self) -> None:
        self._work: SimpleQueue[Callable[[], object]] = SimpleQueue()
        self._threads = 0
        #: Word 0 is another one after each call for threads that may be waiting in compiled code.
        self.calls = new_words(1)

    def give(self, work: Sequence[Callable[[], object]], *, waits: bool = True) -> bool:
        """Have all of this done, which raises nothing; False if no thread can be started for it.

        `waits`: somebody waits for it, so that no thread may go on waiting for the next step of a Batch.
        """
        self.calls[0, 0] += waits
        while self._threads < min(len(work), MOST):
            try:
                _thread.start_new_thread(self._go_on, (self._work,))
            except RuntimeError:  # no more threads can be started
                break
            self._threads += 1
        if self._threads:
            for each in work:
                self._work.put(each)
        return self._threads > 0

    @staticmethod
    def _go_on(work: "SimpleQueue[Callable[[], object]]") -> None:
        while True:
            work.get()()


def _processors() -> int:
    """The number of processors that this process may use."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


#: The largest number of threads of the pool.
MOST = _processors()

_POOL = _Pool()


def pool() -> _Pool:
    """The threads of this process; after a fork they are others."""
    return _POOL


class Shares:
    """Calls of which one is made here, and the others once each in further threads at the same time."""

    def __init__(self, calls: Iterable[Callable[[], Any]]) -> None:
        """The first of `calls`, made here, may be called twice after an interrupt, and must then do the same."""
        self._shares = [[call] for call in calls]
        self._results: dict[int, Any] = {}
        self._errors: list[BaseException] = []
        self._bell: SimpleQueue[None] = SimpleQueue()
        self._given = False

    def finish(self) -> None:
        """Wait until all calls have been made; it may be called again after an interrupt."""
        if not self._given and len(self._shares) > 1:
            others = [partial(self._run, number) for number in range(1, len(self._shares))]
            if not _POOL.give(others):
                for each in others:
                    each()
            self._given = True
        if 0 not in self._results:
            self._call(0, self._shares[0][0])
        while len(self._results) < len(self._shares):
            self._bell.get()

    def _run(self, number: int) -> None:
        try:
            call = self._shares[number].pop()  # given twice, if an interrupt came between: the first one takes it
        except IndexError:
            return
        self._call(number, call, BaseException)  # no error ends a thread of the pool
        self._bell.put(None)

    def _call(self, number: int, call: Callable[[], Any], kept: type[BaseException] = Exception) -> None:
        result = None
        try:
            result = call()
        except kept as error:
            self._errors.append(error)
        self._results[number] = result

    def results(self) -> list[Any]:
        """The results of the calls; raises the error that one of them has raised."""
        if self._errors:
            raise self._errors[0]
        return [self._results[number] for number in range(len(self._shares))]


def part_of(whole: Any, low: int, high: int) -> Any:
    """Entries of an array, or of all arrays of a named tuple."""
    if isinstance(whole, np.ndarray):
        return whole[low:high]
    return type(whole)(*(each[low:high] for each in whole))
