"""Workers, which play the jobs of a tournament: this process, several processes, or actors on a Ray cluster.

An engine hands out jobs from an agenda and gives their games back as they are finished. Jobs whose worker dies are
put back. The rows are the same with every engine and any number of workers.
"""

import os
import pickle
import sys
import time
import traceback
from collections.abc import Generator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Protocol

import numba
import numpy as np

from ttt_envs.agents import Agent, load, load_isolated
from ttt_envs.core import jit
from ttt_envs.core.game import Game
from ttt_envs.core.illegal import IllegalAction
from ttt_envs.evaluation.arena.seating import Lineup
from ttt_envs.evaluation.reports.progress import Work
from ttt_envs.evaluation.reports.report import Report
from ttt_envs.evaluation.tournaments.jobs import Agenda, Contest, FinishedJob, Job, Pair

#: Workers that may die in a row before one has begun: none ever would.
STILLBORN = 3

# The kinds of errors that a worker's error keeps: those that the command line tells without a traceback.
_KINDS: dict[str, type[Exception]] = {
    each.__name__: each
    for each in (
        *(ValueError, TypeError, NotImplementedError, MemoryError, RuntimeError, IllegalAction),
        *(OSError, FileNotFoundError, ImportError, ModuleNotFoundError),
    )
}


class GamesFinished:
    """The number of games that all workers together have finished, on a progress bar."""

    def __init__(self, work: Work, names: list[str], seatings: int, finished: int = 0) -> None:
        """`names` of the agents; `seatings`: games of a seed; `finished`: games of earlier calls."""
        self._work, self._names, self._seatings, self._finished = work, names, seatings, finished
        self._under_way: dict[int, int] = {}

    def at(self, worker: int, job: Job, games: int) -> None:
        """A worker has finished so many games of its job."""
        self._under_way[worker] = games
        pairing = f"{self._names[job.first]} – {self._names[job.second]}"
        self._work.update(self._finished + sum(self._under_way.values()), pairing)

    def finished(self, worker: int, job: Job) -> None:
        """A worker has finished its job."""
        self._finished += (job.stop - job.start) * self._seatings
        self.at(worker, job, 0)


class Engine(Protocol):
    """An engine, which plays the jobs of an agenda."""

    @property
    def workers(self) -> int:
        """Number of workers."""

    def run(self, agenda: Agenda, tally: GamesFinished) -> Generator[FinishedJob]:
        """The jobs of an agenda as they are finished, in any order, until none is left.

        Raises what an agent raises in a strict tournament, and OSError if no worker can be started. Close it if not all
        of it is read, so that no worker is left behind.
        """


class Inline:
    """Plays the jobs in this process, one after the other."""

    workers = 1

    def __init__(self, contest: Contest) -> None:
        self.contest = contest

    def run(self, agenda: Agenda, tally: GamesFinished) -> Generator[FinishedJob]:
        """As `Engine.run`."""
        while (job := agenda.take()) is not None:
            started = time.perf_counter()
            games = self.contest.play(job, lambda n, job=job: tally.at(0, job, n))  # type: ignore[misc]
            agenda.finished(job, time.perf_counter() - started)
            tally.finished(0, job)
            yield FinishedJob(job, games)


def sources() -> dict[str, str]:
    """Digest of the library's source and versions of libraries, on which games depend beside the settings."""
    return {"ttt_envs": jit.source_digest(jit.PACKAGE), "numpy": np.__version__, "numba": numba.__version__}


def check_sources(theirs: Mapping[str, str]) -> None:
    """Raise ImportError if something differs here from `sources()` of the process that hands out the work."""
    for name, mine in sources().items():
        if mine != theirs[name]:
            place = jit.PACKAGE if name == "ttt_envs" else "the worker"
            raise ImportError(f"{name} is {mine} in {place}, and {theirs[name]} where the work was begun")


@dataclass(frozen=True)
class Recipe:
    """A description from which another process makes a `Contest`.

    Attributes:
        game: the game, pickled: the function that makes it, by name, and the options.
        agents: texts for `agents.load`, or agents that were given as objects, pickled.
        names: the names of the agents.
        seed, chunk, strict, record, isolate: as of the tournament.
        folder: the current folder, in which agents' files are looked for.
        path: Python's path, on which their modules are.
        sources: `sources()` of the process that asks.
    """

    game: bytes
    agents: tuple[str | bytes, ...]
    names: tuple[str, ...]
    seed: int
    chunk: int | None
    strict: bool
    record: bool = False
    isolate: bool = False
    folder: str = field(default_factory=os.getcwd)
    path: tuple[str, ...] = field(default_factory=lambda: tuple(sys.path))
    sources: dict[str, str] = field(default_factory=sources)

    @classmethod
    def of(
        cls,
        game: Game,
        lineup: Lineup,
        *,
        seed: int,
        chunk: int | None,
        strict: bool,
        record: bool = False,
        isolate: bool = False,
        objects: bool = True,
    ) -> "Recipe":
        """The recipe for a line-up; with `objects` False agents must be texts.

        Raises TypeError, naming the game or the agent, for one that cannot be sent to another process.
        """
        agents: list[str | bytes] = []
        for agent, text in zip(lineup.agents, lineup.texts, strict=True):
            if agent.name not in lineup.made:
                agents.append(text)
                continue
            hint = "name it by a text such as my_agent.py:Name, or play in one process"
            if not objects:
                raise TypeError(f"agent {agent.name!r} is a Python object, which is not sent to other machines: {hint}")
            agents.append(_pickled(agent, f"agent {agent.name!r}", hint))
        hint = "define it in a module, or play in one process"
        return cls(
            _pickled(game, str(game), hint), tuple(agents), tuple(lineup.names), seed, chunk, strict, record, isolate
        )

    def make(self) -> Contest:
        """The contest, in the process that is to play it; an agent is loaded when it first plays.

        Raises ImportError if something of this process differs that may decide how games go; TypeError, naming it, for
        an object that cannot be unpickled here.
        """
        check_sources(self.sources)
        if Path(self.folder).is_dir():  # not on a node without it
            os.chdir(self.folder)
        sys.path += [place for place in self.path if place not in sys.path]
        return Contest(
            _unpickled(self.game, "the game"),
            self._agent,
            self.seed,
            chunk=self.chunk,
            strict=self.strict,
            record=self.record,
        )

    def _agent(self, number: int) -> Agent:
        given, name = self.agents[number], self.names[number]
        if isinstance(given, str):
            return load_isolated(given) if self.isolate else load(given)
        return _unpickled(given, f"agent {name!r}")


def _pickled(thing: object, what: str, hint: str) -> bytes:
    try:
        return pickle.dumps(thing)
    except Exception as error:
        raise TypeError(f"{what} cannot be sent to another process: {error}; {hint}") from error


def _unpickled(data: bytes, what: str) -> Any:
    """Unpickle what this tournament's own process has pickled; never data from a file."""
    try:
        return pickle.loads(data)
    except Exception as error:
        raise TypeError(f"{what} cannot be made in another process: {type(error).__name__}: {error}") from error


@dataclass(frozen=True)
class Failed:
    """An error in a worker, as text: what an agent raises need not be fit to be sent."""

    kind: str
    text: str
    trace: str

    @classmethod
    def of(cls, error: Exception) -> "Failed":
        """The error of a worker."""
        kind = next((each.__name__ for each in type(error).__mro__ if each.__name__ in _KINDS), "RuntimeError")
        name = type(error).__name__
        text = str(error) if name == kind else f"{name}: {error}"
        return cls(kind, text, "".join(traceback.format_exception(error)))

    def error(self) -> Exception:
        """The error to raise where the tournament was begun."""
        error = _KINDS[self.kind](self.text)
        error.add_note(f"in a worker:\n{self.trace}")
        return error


class Unfinished(OSError):
    """Raised if pairings could not be played, as their games ended each worker that played them.

    Attributes:
        report: the report on all other games; None if there are none.
    """

    def __init__(self, report: Report | None, agents: Sequence[str], reasons: Mapping[Pair, str]) -> None:
        """`agents`: their names; `reasons`: by the numbers of the agents."""
        pairings = [f"{agents[i]} – {agents[j]}: {reason}" for (i, j), reason in reasons.items()]
        super().__init__(f"not all pairings could be played: {'; '.join(pairings)}")
        self.report = report


def no_workers(reason: str) -> OSError:
    """The error to raise if workers die before they begin."""
    return OSError(
        f"workers cannot be started ({reason}). A script that starts some needs `if __name__ == '__main__':` before "
        "what it does; and there must be memory for as many"
    )
