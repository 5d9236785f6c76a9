"""Workers: threads in which agents think, so that neither the server nor the games of others wait for them."""

import asyncio
import logging
import time
from collections import Counter, OrderedDict, defaultdict, deque
from collections.abc import Callable, Hashable
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from functools import partial
from typing import Any, TypeVar

from ttt_envs.core import threads
from ttt_envs.core.machine_code import NotCompiled, without_compiling
from ttt_envs.web.errands import Errand, Messenger, NotDone
from ttt_envs.web.guard import ASKER, Rates
from ttt_envs.web.refusals import Refused

T = TypeVar("T")

_LOG = logging.getLogger("ttt_envs.web")

# Work that took less than this many seconds is not made to wait for longer work: in one of the last times, as a busy
# machine delays anything now and then.
_QUICK, _LAST = 0.05, 3

# Work that waits or is done, of all and of one address; more is refused.
_MOST, _MOST_OF_ONE = 500, 50

# Errands of one address a second, and at once. Each may leave machine code on the disk and, loaded, in the memory.
_ERRANDS_PER_SECOND, _ERRANDS_AT_ONCE = 1 / 60, 60.0


class Turns:
    """Threads that addresses take turns at: one that asks for much waits for itself, and leaves a thread to the others.

    It is for one event loop, and for two threads or more.
    """

    def __init__(self, threads: int, name: str) -> None:
        """Start no thread yet."""
        self._pool = ThreadPoolExecutor(threads, name)
        self._threads = threads
        self._busy: Counter[str] = Counter()
        self._waiting: OrderedDict[str, deque[asyncio.Future[None]]] = OrderedDict()

    async def run(self, work: Callable[[], T]) -> T:
        """Do `work` in a thread, for the address of `ASKER`. If it is cancelled before it has begun, it is not done.

        Raises Refused if too much of this address waits.
        """
        asker, loop = ASKER.get(), asyncio.get_running_loop()
        line = self._waiting.setdefault(asker, deque())
        if len(line) >= _MOST_OF_ONE:
            raise Refused(429, "the server has much to do for your address; try again in a moment")
        turn: asyncio.Future[None] = loop.create_future()
        line.append(turn)
        self._give_turns()
        try:
            await turn
        except asyncio.CancelledError:
            if turn.cancelled():
                with suppress(ValueError):  # its turn came, and was not taken
                    line.remove(turn)
                if not line and self._waiting.get(asker) is line:
                    del self._waiting[asker]
            else:  # cancelled just when it was its turn
                self._freed(asker)
            raise
        try:
            future = self._pool.submit(work)
        except RuntimeError:
            raise Refused(503, "the server is ending") from None

        def freed(_: Any) -> None:
            with suppress(RuntimeError):  # the server has ended meanwhile
                loop.call_soon_threadsafe(self._freed, asker)

        future.add_done_callback(freed)
        return await asyncio.wrap_future(future)

    def _give_turns(self) -> None:
        """Let the next ones begin, as far as there are threads."""
        while self._busy.total() < self._threads:
            asker = next((each for each in self._waiting if self._busy[each] < self._threads - 1), None)
            if asker is None:
                return
            turn = self._waiting[asker].popleft()
            if self._waiting[asker]:
                self._waiting.move_to_end(asker)
            else:
                del self._waiting[asker]
            if not turn.done():
                self._busy[asker] += 1
                turn.set_result(None)

    def _freed(self, asker: str) -> None:
        """A thread of this address is free again."""
        self._busy[asker] -= 1
        self._busy += Counter()  # forgets who has none
        self._give_turns()

    def close(self) -> None:
        """Drop what waits. Python waits for what is being done."""
        self._pool.shutdown(wait=False, cancel_futures=True)


class Workers:
    """Threads for agents and searches, which may take long; for those known to be quick; and for the server itself.

    Compiled searches give up Python's lock, so that threads are enough. Compiling does not: processes do it, and
    threads wait for them.
    """

    def __init__(self) -> None:
        """Start no thread yet."""
        self._long = Turns(max(2, threads.MOST), "ttt-serve-long")
        self._quick = Turns(2, "ttt-serve-quick")
        self._own = Turns(2, "ttt-serve-own")
        self._compiling = Turns(2, "ttt-serve-compiling")
        self._errands = Rates(_ERRANDS_PER_SECOND, _ERRANDS_AT_ONCE)
        self._messengers: set[Messenger] = set()
        self._seconds: dict[Hashable, deque[float]] = defaultdict(lambda: deque(maxlen=_LAST))
        self._open = 0

    async def run(self, work: Callable[..., T], *arguments: Any, errand: Errand | None = None) -> T:
        """Do the server's own `work` in a thread, which no agent keeps busy; `errand` and Refused as for `think`."""
        return await self._run(self._own, partial(work, *arguments), errand)

    async def think(self, key: Hashable, work: Callable[[], T], errand: Errand | None = None) -> T:
        """Do the `work` of an agent or a search in a thread.

        `key` names its kind: by it, it is remembered how long such work takes. `errand` is the same work, for a process
        apart if something has to be compiled for it. Raises Refused while too much else is waiting.
        """
        seconds = self._seconds[key]
        pool = self._quick if min(seconds, default=_QUICK) < _QUICK else self._long

        def timed() -> T:
            start = time.perf_counter()
            found = work()
            seconds.append(time.perf_counter() - start)
            return found

        return await self._run(pool, timed, errand)

    async def _run(self, pool: Turns, work: Callable[[], T], errand: Errand | None) -> T:
        if self._open >= _MOST:
            raise Refused(503, "the server has too much to do; try again in a moment")

        def compiled() -> T:
            with without_compiling():
                return work()

        self._open += 1
        try:
            with suppress(NotCompiled):
                return await pool.run(compiled)
            if errand is not None:
                await self._send(errand)
                with suppress(NotCompiled):
                    return await pool.run(compiled)
            # What no process can compile, or no disk keeps.
            return await self._compiling.run(work)
        finally:
            self._open -= 1

    async def _send(self, errand: Errand) -> None:
        """Have the machine code compiled that an errand needs, unless that fails."""
        wait = self._errands.seconds_to_wait(ASKER.get())
        if wait:
            reason = "your address has had much compiled for games that nobody had played here"
            raise Refused(429, f"{reason}; choose options that were played before, or try again in {wait:.0f} s")
        messenger = Messenger(errand)
        self._messengers.add(messenger)
        try:
            await self._compiling.run(messenger.run)
        except NotDone as error:
            _LOG.warning("nothing was compiled ahead for %s: %s", errand.game, error)
        finally:
            messenger.end()
            self._messengers.discard(messenger)

    def close(self) -> None:
        """Drop what waits, and end what compiles. Python waits for what else is being done."""
        for each in self._messengers:
            each.end()
        for pool in (self._quick, self._long, self._own, self._compiling):
            pool.close()
