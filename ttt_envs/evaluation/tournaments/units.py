"""The work of a tournament in units that any worker can play: a range of seeds of one pairing.

A unit's games follow from the tournament's settings and the unit alone, so it does not matter who plays it, in which
order, how often it is tried, or how a pairing's seeds are divided: put together in order, units give the same rows.
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

# Games of a pairing's first unit, the seconds that later ones should take, and by how much they may grow at a time.
_FIRST, _SECONDS, _GROWTH = 8, 4.0, 8

# A unit whose worker has died so many times is not tried again.
_TRIES = 3


@dataclass(frozen=True, order=True)
class Unit:
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
class Part:
    """A unit that has been played.

    Attributes:
        unit: the unit.
        games: its games, seed by seed, in each seed the arrangements in order. `seconds` and `decisions` are those of
            the unit's two agents; the numbers of games in `failures` are counted from the pairing's first seed.
    """

    unit: Unit
    games: Games


class Contest:
    """A tournament's games, which are played unit by unit."""

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

    def play(self, unit: Unit, tell: Callable[[int], None] | None = None) -> Games:
        """Play a unit; `tell` is told how many of its games are finished. Raises as `play_games` does."""
        pair = self.agent(unit.first), self.agent(unit.second)
        parts = Bout(self.game, pair, self._held, self.seed).play(
            range(unit.start, unit.stop),
            chunk=self.chunk or LARGEST_CHUNK,
            strict=self.strict,
            keep=(unit.stop - unit.start) * len(self._held) if self.record else not unit.start,  # the first is shown
            progress=None if tell is None else lambda finished, _: tell(finished),
        )
        return join(list(parts), self.game, 2)


class Agenda:
    """The units that are still to be played, handed out pairing by pairing, each to take a few seconds.

    Attributes:
        workers: how many share the work: none gets more of a pairing than its part.
        given_up: pairings that are not played on, as their games ended their worker each time, with the reason.
    """

    def __init__(
        self, missing: Mapping[Pair, Sequence[range]], seatings: int, *, workers: int = 1, chunk: int | None = None
    ) -> None:
        """`missing`: the seeds to be played, in order; `seatings`: games of a seed; `chunk`: games of a unit."""
        self.given_up: dict[Pair, str] = {}
        self._missing = {pair: list(ranges) for pair, ranges in missing.items()}
        self._again: list[Unit] = []
        self._deaths: dict[Unit, int] = {}
        self._sizes: dict[Pair, int] = {}
        self.workers, self._seatings, self._chunk = workers, seatings, chunk

    @property
    def left(self) -> int:
        """The number of seeds that nobody plays yet, those of all pairings together."""
        again = sum(unit.stop - unit.start for unit in self._again)
        return again + sum(len(each) for ranges in self._missing.values() for each in ranges)

    def take(self) -> Unit | None:
        """The next unit; None if there is none now. One that is under way may still be put back."""
        if self._again:
            return self._again.pop()
        for pair, ranges in self._missing.items():
            if ranges:
                whole = ranges.pop(0)
                stop = min(whole.start + self._size(pair, sum(map(len, ranges), len(whole))), whole.stop)
                if stop < whole.stop:
                    ranges.insert(0, range(stop, whole.stop))
                return Unit(*pair, whole.start, stop)
        return None

    def _size(self, pair: Pair, left: int) -> int:
        """Seeds of the next unit, of `left` that are still to be played."""
        if self._chunk is not None:
            return max(self._chunk // self._seatings, 1)
        first = max(_FIRST // self._seatings, 1)
        most = max(LARGEST_CHUNK // self._seatings, 1)
        return max(min(self._sizes.get(pair, first), most, math.ceil(left / self.workers)), 1)

    def finished(self, unit: Unit, seconds: float) -> None:
        """Learn from the time that a unit took how large the pairing's next ones should be."""
        seeds = unit.stop - unit.start
        self._sizes[unit.pair] = max(int(seeds * min(_SECONDS / max(seconds, 1e-3), _GROWTH)), 1)

    def put_back(self, unit: Unit, reason: str) -> None:
        """Have a unit played again whose worker died of `reason`; or give its pairing up if that happens each time."""
        self._deaths[unit] = self._deaths.get(unit, 0) + 1
        if unit.pair in self.given_up:
            return
        if self._deaths[unit] < _TRIES:
            self._again.append(unit)
            return
        self._missing[unit.pair] = []
        self._again = [each for each in self._again if each.pair != unit.pair]
        games = f"{unit.start * self._seatings} to {unit.stop * self._seatings - 1}"
        self.given_up[unit.pair] = f"its games {games} ended their worker {_TRIES} times ({reason})"


def uncovered(units: Iterable[Unit], seeds: int) -> list[range]:
    """The ranges of the numbers below `seeds` that no unit of a pairing covers."""
    found, at = list[range](), 0
    for unit in sorted(units):
        if at < min(unit.start, seeds):
            found.append(range(at, min(unit.start, seeds)))
        at = max(at, unit.stop)
    return [*found, range(at, seeds)] if at < seeds else found


def without_repeats(parts: Collection[Part]) -> list[Part]:
    """The parts in order, each seed of a pairing once.

    The same games may stand in two parts, if the process was killed between writing them anew and deleting them.
    """
    found: list[Part] = []
    for part in sorted(parts, key=lambda each: (each.unit.pair, each.unit.start, -each.unit.stop)):
        if not found or found[-1].unit.pair != part.unit.pair or found[-1].unit.stop <= part.unit.start:
            found.append(part)
    return found
