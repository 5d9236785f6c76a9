"""Two agents play seeds in all seatings: what ladders, tournaments and regret are made of.

A unit is the games of one seed. It follows from the bout and its number alone, so that units may be played in any
order, in parts, and by anybody.
"""

import zlib
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace

import numpy as np

from ttt_envs.agents import Agent
from ttt_envs.core.game import Game
from ttt_envs.core.rng import episode_seeds, new_key
from ttt_envs.evaluation.arena.play import Games, GamesProgress, iter_games, join
from ttt_envs.evaluation.arena.seating import comparisons


@dataclass(frozen=True)
class Bout:
    """Agents, the seats that they take in turn, and their seeds.

    Attributes:
        agents: the one in the seats that are `held`, and the one in the others, if there are any.
        held: bool (seatings, players), for each game of a unit.
        seed: fixes the games.
        name: tells the seeds from those of other bouts with the same `seed`; without one they are as of `game_seeds`.
    """

    game: Game
    agents: tuple[Agent, ...]
    held: np.ndarray
    seed: int
    name: str = ""

    def seeds(self, units: range) -> np.ndarray:
        """uint64 (units,): the seeds of these units."""
        numbers = np.arange(units.start, units.stop, dtype=np.uint64)
        return episode_seeds(
            new_key(self.seed), numbers, np.full(len(units), zlib.crc32(self.name.encode()), np.uint64)
        )

    def play(
        self,
        units: range,
        *,
        chunk: int | None = None,
        strict: bool = True,
        record: bool = False,
        keep: int = 0,
        progress: GamesProgress | None = None,
    ) -> Iterator[Games]:
        """Play units, seed by seed, and give them as they are finished: a caller who is interrupted keeps these.

        Games in `records` and `actions` are counted from the first one played here, those in `failures` from the bout's
        first one.

        Args:
            units: their numbers.
            chunk, strict, progress: as of `play_games`.
            record: whether all games are kept with their positions.
            keep: the actions of so many games are kept.

        Raises what `play_games` raises.
        """
        size, waiting = len(self.held), list[Games]()
        seats = np.where(np.tile(self.held, (len(units), 1)), 0, 1)
        for part in iter_games(
            self.game,
            self.agents,
            seats,
            np.repeat(self.seeds(units), size),
            record=range(len(seats) if record else 0),
            keep=range(keep),
            chunk=chunk,
            together=size,
            progress=progress,
            strict=strict,
        ):
            part.failures = [replace(each, game=units.start * size + each.game) for each in part.failures]
            waiting.append(part)
            if not sum(map(len, waiting)) % size:
                yield join(waiting, self.game, len(self.agents))
                waiting = []


@dataclass(kw_only=True)
class Results:
    """The games of two agents, whole units only.

    Attributes:
        held: bool (seatings, players), the seats of the first agent in the games of a unit.
        games: unit after unit.
    """

    held: np.ndarray
    games: Games

    @classmethod
    def none(cls, game: Game, held: np.ndarray) -> "Results":
        """The results before any game."""
        return cls(held=held, games=join([], game, 2))

    def extend(self, game: Game, parts: Iterable[Games]) -> None:
        """Add what a bout gives, part by part, so that an interrupt keeps the finished ones."""
        whole = [self.games]
        try:
            for part in parts:
                whole.append(part)
        finally:
            self.games = join(whole, game, 2)

    @property
    def count(self) -> int:
        """Number of units."""
        return len(self.games) // len(self.held)

    @property
    def seats(self) -> np.ndarray:
        """int64 (games, players), 0 for the first agent and 1 for the second."""
        return np.where(np.tile(self.held, (self.count, 1)), 0, 1)

    @property
    def compared(self) -> tuple[np.ndarray, np.ndarray]:
        """Wins and losses of the first agent, each float64 (games,), see `comparisons`."""
        return comparisons(self.games.rewards, np.tile(self.held, (self.count, 1)))

    @property
    def won(self) -> np.ndarray:
        """Those of `compared`."""
        return self.compared[0]

    @property
    def lost(self) -> np.ndarray:
        """Those of `compared`."""
        return self.compared[1]

    @property
    def distinct(self) -> int:
        """Number of games that went differently from each other."""
        return len(np.unique(self.games.moves))

    def by_unit(self, first: int = 0) -> tuple[np.ndarray, np.ndarray]:
        """Wins and losses of the first agent, each float64 (units,), from unit `first` on."""
        won, lost = (each.reshape(-1, len(self.held)).sum(axis=1) for each in self.compared)
        return won[first:], lost[first:]

    def by_seating(self) -> tuple[tuple[int, int, int], ...]:
        """(won, drawn, lost) games of the first agent in each seating."""
        won, lost = (each.reshape(-1, len(self.held)) for each in self.compared)
        counts = ((won > lost).sum(axis=0), (won == lost).sum(axis=0), (won < lost).sum(axis=0))
        return tuple((int(won), int(drawn), int(lost)) for won, drawn, lost in zip(*counts, strict=True))
