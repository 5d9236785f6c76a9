"""The games of two agents, each seed from every seat, which can be gone on with."""

import zlib
from dataclasses import dataclass, field, replace

import numpy as np

from ttt_envs.agents import Agent
from ttt_envs.core.game import Game
from ttt_envs.core.options import MOST
from ttt_envs.core.rng import episode_seeds, new_key
from ttt_envs.evaluation.arena.play import Games, Progress, iter_games, join
from ttt_envs.evaluation.arena.seating import Arrangement, arrangements, comparisons, per_unit

# What no number of games, decisions or seconds comes to.
_LARGEST = 1e12


def bout_seeds(seed: int, names: str, first: int, units: int) -> np.ndarray:
    """uint64 (units,): the seeds of units first, first + 1, ... of a run with this `seed` between agents `names`."""
    numbers = np.arange(first, first + units, dtype=np.uint64)
    return episode_seeds(new_key(seed), numbers, np.full(units, zlib.crc32(names.encode()), np.uint64))


@dataclass
class Bout:
    """The games of two agents, unit after unit, in each unit the arrangements in order.

    Attributes:
        games: the games so far, complete units only.
        seats: int64 (games, players), 0 for the first agent and 1 for the second.
        won, lost: float64 (games,), of the first agent, see `comparisons`.
        names: what the agents' games are known by: with `seed`, it gives their seeds.
        first: number of the first unit, if earlier ones were played elsewhere.
    """

    game: Game
    arrangements: tuple[Arrangement, ...]
    agents: tuple[Agent, Agent]
    names: str
    seed: int
    first: int = 0
    games: Games = field(init=False)

    def __post_init__(self) -> None:
        self.games = join([], self.game, 2)

    @property
    def units(self) -> int:
        """Number of units."""
        return len(self.games) // len(self.arrangements)

    @property
    def seats(self) -> np.ndarray:
        """As the attribute."""
        return np.where(self._held(self.units), 0, 1)

    def _held(self, units: int) -> np.ndarray:
        return np.tile(np.stack([each.seats for each in self.arrangements]), (units, 1))

    @property
    def won(self) -> np.ndarray:
        """As the attribute."""
        return comparisons(self.games.rewards, self._held(self.units))[0]

    @property
    def lost(self) -> np.ndarray:
        """As the attribute."""
        return comparisons(self.games.rewards, self._held(self.units))[1]

    def by_unit(self, first: int = 0) -> tuple[np.ndarray, np.ndarray]:
        """Wins and losses of the first agent, each float64 (units,), from unit `first` on."""
        won, lost = (each.reshape(self.units, -1).sum(axis=1) for each in (self.won, self.lost))
        return won[first:], lost[first:]

    def by_seating(self) -> tuple[tuple[int, int, int], ...]:
        """(won, drawn, lost) games of the first agent in each arrangement."""
        won, lost = self.won.reshape(self.units, -1), self.lost.reshape(self.units, -1)
        counts = ((won > lost).sum(axis=0), (won == lost).sum(axis=0), (won < lost).sum(axis=0))
        return tuple((int(won), int(drawn), int(lost)) for won, drawn, lost in zip(*counts, strict=True))

    def play(self, units: int, chunk: int | None, strict: bool, tell: Progress | None = None) -> None:
        """Play more units; an interrupt keeps the finished ones."""
        before, parts = len(self.games), list[Games]()
        seeds = np.repeat(bout_seeds(self.seed, self.names, self.first + self.units, units), len(self.arrangements))
        assignment = np.where(self._held(units), 0, 1)
        try:
            for part in iter_games(
                self.game,
                self.agents,
                assignment,
                seeds,
                chunk=chunk,
                together=len(self.arrangements),
                strict=strict,
                progress=tell,
            ):
                parts.append(part)  # one by one, so that an interrupt keeps the finished ones
        finally:
            while sum(map(len, parts)) % len(self.arrangements):
                parts.pop()  # part of a unit, with the decisions and the time that it took
            new = join(parts, self.game, 2)
            new.failures = [replace(each, game=each.game + before) for each in new.failures]
            self.games = join([self.games, new], self.game, 2)


@dataclass
class Played:
    """The games of two agents so far, `first` and `second` in alphabetical order; see `Pair`.

    Attributes:
        seconds, decisions: processor time of both agents, and how often they chose.
    """

    units: dict[tuple[float, float], int] = field(default_factory=dict)
    seatings: np.ndarray = field(default_factory=lambda: np.zeros((0, 3), np.int64))
    plies: int = 0
    seconds: np.ndarray = field(default_factory=lambda: np.zeros(2))
    decisions: np.ndarray = field(default_factory=lambda: np.zeros(2, np.int64))

    @property
    def count(self) -> int:
        """Number of units."""
        return sum(self.units.values())

    def add(self, bout: Bout) -> None:
        """Add games."""
        for won, lost in zip(*bout.by_unit(), strict=True):
            kind = float(won), float(lost)
            self.units[kind] = self.units.get(kind, 0) + 1
        seatings = np.array(bout.by_seating(), np.int64)
        self.seatings = self.seatings + seatings if len(self.seatings) else seatings
        self.plies += int(bout.games.lengths.sum())
        self.seconds = self.seconds + bout.games.seconds
        self.decisions = self.decisions + bout.games.decisions

    def fault(self, game: Game) -> str:
        """What cannot be in games of two agents, for numbers that come from a file; empty if all can."""
        for name in ("seatings", "decisions", "seconds"):
            value = getattr(self, name)
            if not ((value >= 0) & (value < _LARGEST)).all():
                return f"{name} has {value.tolist()}, and must be numbers from 0 to {_LARGEST:g}"
        seatings = arrangements(game)
        games, most = self.count * len(seatings), per_unit(seatings)
        for (won, lost), units in self.units.items():
            if not (won >= 0 and lost >= 0 and won + lost <= most and 0 < units < MOST):
                return f"units has {[won, lost, units]}: a unit has {most:g} comparisons, and there is one or more"
        if len(self.seatings) != len(seatings) or (self.seatings.sum(axis=1) != self.count).any():
            return f"seatings must have {self.count} games for each of {len(seatings)} seatings"
        if not 0 <= self.plies <= games * game.max_plies:
            return f"plies is {self.plies}, and must be from 0 to {games * game.max_plies}"
        return ""
