"""The agents that play on a server."""

from collections import defaultdict
from collections.abc import Iterator
from contextlib import contextmanager

from ttt_envs import agents
from ttt_envs.agents import Agent
from ttt_envs.core.view import View
from ttt_envs.evaluation.arena.play import ask
from ttt_envs.storage.tables import without_building


class Shelf:
    """Loaded agents, by text. Each serves one thread at a time; if several need the same text, it is loaded again."""

    def __init__(self) -> None:
        self._idle: dict[str, list[Agent]] = defaultdict(list)

    @contextmanager
    def take(self, spec: str) -> Iterator[Agent]:
        """Return a context with the agent for this thread alone; raises the errors of `agents.load`."""
        try:
            agent = self._idle[spec].pop()
        except IndexError:
            agent = agents.load(spec)
        try:
            yield agent
        except BaseException:  # it may have stopped anywhere
            agent.close()
            raise
        self._idle[spec].append(agent)

    def decide(self, spec: str, view: View) -> int:
        """Return the action of an agent for a view of one position; raises the agent's errors."""
        with without_building(), self.take(spec) as agent:
            actions, _ = ask(agent, view)
        return int(actions[0])

    def close(self) -> None:
        """Close all idle agents."""
        for idle in self._idle.values():
            while idle:
                idle.pop().close()
