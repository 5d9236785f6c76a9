"""The work of a tournament in jobs that any worker can play: a range of seeds of one pairing.

A job's games follow from the tournament's settings and the job alone, so it does not matter who plays it, in which
order, how often it is tried, or how a pairing's seeds are divided: put together in order, jobs give the same rows.
"""

import math
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass

from ttt_envs.agents import Agent
from ttt_envs.core.game import Game
from ttt_envs.evaluation.arena.bout import Bout
from ttt_envs.evaluation.arena.play import LARGEST_CHUNK, Games, join
from ttt_envs.evaluation.arena.seating import arrangements, held_seats

#: Two agents, by their numbers, the lower one first.
Pair = tuple[int, int]

# Games of a pairing's first job, the seconds that later ones should take, and by how much they may grow at a time.
_FIRST, _SECONDS, _GROWTH = 8, 4.0, 8

# A job whose worker has died so many times is not tried again.
_TRIES = 3


@dataclass(frozen=True, order=True)
class Job:
    """The games of agents `first` and `second` with the seeds number `start` to `stop` - 1, in all seatings."""

    first: int
    second: int
    start: int
    stop: int

    @property
    def pair(self) -> Pair:
        """The agents."""
        return self.first, self.second


@dataclass(frozen=True)
class FinishedJob:
    """A job that has been played.

    Attributes:
        job: the job.
        games: its games, seed by seed, in each seed the arrangements in order. `seconds` and `decisions` are those of
            the job's two agents; the numbers of games in `failures` are counted from the pairing's first seed.
    """

    job: Job
    games: Games


class Contest:
    """A tournament's games, which are played job by job."""

    def __init__(
        self,
        game: Game,
        agent: Callable[[int], Agent],
        seed: int,
        *,
        chunk: int | None = None,
        strict: bool = False,
        record: bool = False,
    ) -> None:
        """`agent` gives an agent by its number; `seed` and those behind it are the tournament's."""
        self.game, self._agent = game, agent
        self.opened: dict[int, Agent] = {}
        self.seed, self.chunk, self.strict, self.record = seed, chunk, strict, record
        self._held = held_seats(arrangements(game))

    def agent(self, number: int) -> Agent:
        """The agent of that number."""
        if number not in self.opened:
            self.opened[number] = self._agent(number)
        return self.opened[number]

    def close(self) -> None:
        """Close the agents, in a process of which nobody else has them."""
        for agent in self.opened.values():
            agent.close()

    def play(self, job: Job, progress: Callable[[int], None] | None = None) -> Games:
        """Play a job; `progress` is called with how many of its games are finished. Raises as `play_games` does."""
        pair = self.agent(job.first), self.agent(job.second)
        parts = Bout(self.game, pair, self._held, self.seed).play(
            range(job.start, job.stop),
            chunk=self.chunk or LARGEST_CHUNK,
            strict=self.strict,
            keep=(job.stop - job.start) * len(self._held) if self.record else not job.start,  # the first is shown
            progress=None if progress is None else lambda finished, _: progress(finished),
        )
        return join(list(parts), self.game, 2)


class Agenda:
    """The jobs that are still to be played, handed out pairing by pairing, each to take a few seconds.

    Attributes:
        workers: how many share the work: none gets more of a pairing than its part.
        given_up: pairings that are not played on, as their games ended their worker each time, with the reason.
    """

    def __init__(
        self, missing: Mapping[Pair, Sequence[range]], seatings: int, *, workers: int = 1, chunk: int | None = None
    ) -> None:
        """`missing`: the seeds to be played, in order; `seatings`: games of a seed; `chunk`: games of a job."""
        self.given_up: dict[Pair, str] = {}
        self._missing = {pair: list(ranges) for pair, ranges in missing.items()}
        self._again: list[Job] = []
        self._deaths: dict[Job, int] = {}
        self._sizes: dict[Pair, int] = {}
        self.workers, self._seatings, self._chunk = workers, seatings, chunk

    @property
    def left(self) -> int:
        """The number of seeds that nobody plays yet, those of all pairings together."""
        again = sum(job.stop - job.start for job in self._again)
        return again + sum(len(each) for ranges in self._missing.values() for each in ranges)

    def take(self) -> Job | None:
        """The next job; None if there is none now. One that is under way may still be put back."""
        if self._again:
            return self._again.pop()
        for pair, ranges in self._missing.items():
            if ranges:
                whole = ranges.pop(0)
                stop = min(whole.start + self._size(pair, sum(map(len, ranges), len(whole))), whole.stop)
                if stop < whole.stop:
                    ranges.insert(0, range(stop, whole.stop))
                return Job(*pair, whole.start, stop)
        return None

    def _size(self, pair: Pair, left: int) -> int:
        """Seeds of the next job, of `left` that are still to be played."""
        if self._chunk is not None:
            return max(self._chunk // self._seatings, 1)
        first = max(_FIRST // self._seatings, 1)
        most = max(LARGEST_CHUNK // self._seatings, 1)
        return max(min(self._sizes.get(pair, first), most, math.ceil(left / self.workers)), 1)

    def finished(self, job: Job, seconds: float) -> None:
        """Learn from the time that a job took how large the pairing's next ones should be."""
        seeds = job.stop - job.start
        self._sizes[job.pair] = max(int(seeds * min(_SECONDS / max(seconds, 1e-3), _GROWTH)), 1)

    def put_back(self, job: Job, reason: str) -> None:
        """Have a job played again whose worker died of `reason`; or give its pairing up if that happens each time."""
        self._deaths[job] = self._deaths.get(job, 0) + 1
        if job.pair in self.given_up:
            return
        if self._deaths[job] < _TRIES:
            self._again.append(job)
            return
        self._missing[job.pair] = []
        self._again = [each for each in self._again if each.pair != job.pair]
        games = f"{job.start * self._seatings} to {job.stop * self._seatings - 1}"
        self.given_up[job.pair] = f"its games {games} ended their worker {_TRIES} times ({reason})"


def uncovered(jobs: Iterable[Job], seeds: int) -> list[range]:
    """The ranges of the numbers below `seeds` that no job of a pairing covers."""
    gaps, at = list[range](), 0
    for job in sorted(jobs):
        if at < min(job.start, seeds):
            gaps.append(range(at, min(job.start, seeds)))
        at = max(at, job.stop)
    return [*gaps, range(at, seeds)] if at < seeds else gaps


def without_repeats(parts: Collection[FinishedJob]) -> list[FinishedJob]:
    """The parts in order, each seed of a pairing once.

    The same games may stand in two parts, if the process was killed between writing them anew and deleting them.
    """
    kept: list[FinishedJob] = []
    for part in sorted(parts, key=lambda each: (each.job.pair, each.job.start, -each.job.stop)):
        if not kept or kept[-1].job.pair != part.job.pair or kept[-1].job.stop <= part.job.start:
            kept.append(part)
    return kept
