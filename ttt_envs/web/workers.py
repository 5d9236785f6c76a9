"""Workers: threads in which agents think, so that neither the server nor the games of others wait for them."""

import asyncio
import os
import time
from collections import defaultdict, deque
from collections.abc import Callable, Hashable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from typing import Any, TypeVar

from ttt_envs import agents
from ttt_envs.agents import Agent
from ttt_envs.core.tables import without_building
from ttt_envs.core.view import View
from ttt_envs.evaluation.play import ask
from ttt_envs.web.refusals import Refused

T = TypeVar("T")

# Work that took less than this many seconds is not made to wait for longer work: in one of the last times, as a busy
# machine delays anything now and then.
_QUICK, _LAST = 0.05, 3

# Work that waits or is done; more is refused.
_MOST = 500


class Shelf:
    """Agents by their texts. One serves one thread at a time; where several threads want it, it is loaded again."""

    def __init__(self) -> None:
        self._idle: dict[str, list[Agent]] = defaultdict(list)

    @contextmanager
    def take(self, spec: str) -> Iterator[Agent]:
        """A context with the agent, for this thread alone; errors as from `agents.load`."""
        try:
            agent = self._idle[spec].pop()
        except IndexError:
            agent = agents.load(spec)
        try:
            yield agent
        finally:
            self._idle[spec].append(agent)

    def decide(self, spec: str, view: View) -> int:
        """The action of an agent in the one position of a view; it raises what the agent raises."""
        with without_building(), self.take(spec) as agent:
            actions, _ = ask(agent, view)
        return int(actions[0])

    def close(self) -> None:
        """Close all agents."""
        for each in self._idle.values():
            for agent in each:
                agent.close()


class Workers:
    """Threads for agents and searches, which may take long; for those known to be quick; and for the server itself.

    Compiled searches give up Python's lock, so that threads are enough.
    """

    def __init__(self) -> None:
        """Start no thread yet."""
        self._long = ThreadPoolExecutor(os.cpu_count() or 1, "ttt-serve-long")
        self._quick = ThreadPoolExecutor(2, "ttt-serve-quick")
        self._own = ThreadPoolExecutor(2, "ttt-serve-own")
        self._seconds: dict[Hashable, deque[float]] = defaultdict(lambda: deque(maxlen=_LAST))
        self._open = 0

    async def run(self, work: Callable[..., T], *arguments: Any) -> T:
        """Do the server's own `work` in a thread, which no agent keeps busy; raises Refused as `think`."""
        return await self._run(self._own, work, *arguments)

    async def think(self, key: Hashable, work: Callable[..., T], *arguments: Any) -> T:
        """Do the `work` of an agent or a search in a thread.

        `key` names its kind: by it, it is remembered how long such work takes. Raises Refused while too much else is
        waiting.
        """
        seconds = self._seconds[key]
        pool = self._quick if min(seconds, default=_QUICK) < _QUICK else self._long

        def timed() -> T:
            start = time.perf_counter()
            try:
                return work(*arguments)
            finally:
                seconds.append(time.perf_counter() - start)

        return await self._run(pool, timed)

    async def _run(self, pool: ThreadPoolExecutor, work: Callable[..., T], *arguments: Any) -> T:
        if self._open >= _MOST:
            raise Refused(503, "the server has too much to do; try again in a moment")
        self._open += 1
        try:
            return await asyncio.get_running_loop().run_in_executor(pool, work, *arguments)
        finally:
            self._open -= 1

    def close(self) -> None:
        """Drop what waits. Python waits for what is being done."""
        for pool in (self._quick, self._long, self._own):
            pool.shutdown(wait=False, cancel_futures=True)
