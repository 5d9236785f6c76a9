"""The agents of a measurement, their seats, and their results against each other."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from ttt_envs.agents import Agent, labelled, load, several
from ttt_envs.core.game import Game
from ttt_envs.evaluation.arena.play import Games, join


@dataclass(frozen=True)
class Lineup:
    """Agents with different names that can all play a game.

    Attributes:
        agents: the agents, in the order given.
        texts: the agents' specs for `agents.load`, for files and commands; for an object, its name.
        made: names of the agents that were given as objects.
    """

    agents: tuple[Agent, ...]
    texts: tuple[str, ...]
    made: tuple[str, ...]

    @property
    def names(self) -> list[str]:
        """The names of all agents."""
        return [agent.name for agent in self.agents]

    @property
    def sent(self) -> tuple[Agent | str, ...]:
        """The agents for other processes: specs where possible, else objects to pickle."""
        pairs = zip(self.agents, self.texts, strict=True)
        return tuple(agent if agent.name in self.made else text for agent, text in pairs)

    @property
    def live(self) -> bool:
        """Whether an agent is a person, who plays one game at a time and needs the terminal."""
        return any(agent.interactive for agent in self.agents)

    def close(self) -> None:
        """Close the agents that were given as specs, which have no other user."""
        for agent in self.agents:
            if agent.name not in self.made:
                agent.close()


def line_up(game: Game, given: Any, least: int = 1) -> Lineup:
    """Load the agents of a measurement.

    Args:
        game: the game.
        given: a sequence of arguments of `agents.load`, a mapping from names to them, or a single one.
        least: the least number of agents.

    Raises:
        ValueError: there are too few agents, two have the same name, or one is unknown or cannot play this game.
        TypeError, FileNotFoundError: an error of `agents.load`.
    """
    specs = several(given)
    if len(specs) < least:
        raise ValueError(f"at least {'one agent' if least == 1 else f'{least} agents'} must be given, not {len(specs)}")
    agents = tuple(load(spec) for spec in specs)
    names = set[str]()
    for agent in agents:
        if agent.name in names:
            raise ValueError(
                f"two agents are called {agent.name!r}: the report could not tell them apart; {{name: agent}} names one"
            )
        names.add(agent.name)
        agent.check(game)
    texts = [text_of(spec) for spec in specs]
    made = tuple(agent.name for agent, text in zip(agents, texts, strict=True) if text is None)
    return Lineup(agents, tuple(text or a.name for a, text in zip(agents, texts, strict=True)), made)


def text_of(spec: Any) -> str | None:
    """Return an agent's spec as text, with the name given to it, if any; None for an object."""
    if isinstance(spec, Mapping) and len(spec) == 1:
        ((name, inner),) = spec.items()
        text = f"{name}={inner}" if isinstance(inner, str) else None
        return text if text is not None and labelled(text) == (name, inner) else None
    return spec if isinstance(spec, str) else None


def seatings(game: Game) -> np.ndarray:
    """Return bool (seatings, players): the seats of the first of two agents; the second agent has the others.

    The first agent plays each side in turn, against the second agent on all other sides. With more than two sides, the
    second agent then also plays each side in turn. Raises ValueError for a game with one side, which has no opponents.
    """
    if len(game.teams) < 2:
        raise ValueError(f"{game} has one side only: nobody plays against another")
    alone = np.zeros((len(game.teams), game.num_players), np.bool_)
    for side, team in enumerate(game.teams):
        alone[side, list(team)] = True
    return np.concatenate([alone, ~alone]) if len(game.teams) > 2 else alone


def rounding(games: int, seatings: int) -> list[str]:
    """Return a sentence that explains why more than `games` games are played; an empty list if that is not so."""
    more = -(-games // seatings) * seatings
    if more == games:
        return []
    why = f"each seed is played in {seatings} seatings, so that no seat is favoured"
    return [f"{more} games instead of {games} a pairing: {why}."]


def comparisons(rewards: np.ndarray, held: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return an agent's wins and losses against another in n games, each float64 (n,).

    For two players: 1 and 0 for a win, 1/2 each for a draw. In general, each seat of the first agent is compared with
    each seat of the second, and the higher reward wins the comparison. Equal rewards count as draws only if all rewards
    of the game are equal, because two losers have not drawn. If winning probabilities are proportional to strengths
    (Plackett-Luce), won : lost estimates the ratio of the two agents' strengths.

    Args:
        rewards: float (n, players).
        held: bool (n, players), the seats of the first agent.
    """
    higher = rewards[:, :, None] > rewards[:, None, :]
    against = held[:, :, None] & ~held[:, None, :]
    won = (higher & against).sum(axis=(1, 2)).astype(np.float64)
    lost = (higher.transpose(0, 2, 1) & against).sum(axis=(1, 2)).astype(np.float64)
    pairs = against.sum(axis=(1, 2))
    drawn = (rewards == rewards[:, :1]).all(axis=1)
    won[drawn] = lost[drawn] = pairs[drawn] / 2
    return won, lost


@dataclass(kw_only=True)
class Result(Games):
    """The games of two agents, in complete seeds, seed after seed.

    Attributes:
        first, second: the agents' indices.
        held: bool (seatings, players), the seats of the first agent in the games of a seed.
        units: int64 (n,), the number of each game's seed. The games of a seed are a unit of resampling.
    """

    first: int
    second: int
    held: np.ndarray
    units: np.ndarray

    @cached_property
    def seats(self) -> np.ndarray:
        """int64 (n, players), the index of the agent in each seat."""
        return np.where(self._held, self.first, self.second)

    @property
    def seeds(self) -> range:
        """The numbers of the seeds, if they are consecutive."""
        return range(self.units[0], self.units[-1] + 1)

    @property
    def _held(self) -> np.ndarray:
        return np.tile(self.held, (len(self) // len(self.held), 1))

    @cached_property
    def compared(self) -> tuple[np.ndarray, np.ndarray]:
        """The first agent's wins and losses, each float64 (n,), see `comparisons`."""
        return comparisons(self.rewards, self._held)

    @property
    def distinct(self) -> int:
        """The number of distinct games."""
        return len(np.unique(self.moves))

    def by_seating(self) -> tuple[tuple[int, int, int], ...]:
        """Return the first agent's (won, drawn, lost) games in each seating."""
        won, lost = (each.reshape(-1, len(self.held)) for each in self.compared)
        counts = ((won > lost).sum(axis=0), (won == lost).sum(axis=0), (won < lost).sum(axis=0))
        return tuple((int(won), int(drawn), int(lost)) for won, drawn, lost in zip(*counts, strict=True))

    def mean_reward(self, agent: int) -> float:
        """Return the mean reward per seat of `agent` in these games."""
        return float(self.rewards[self.seats == agent].mean())


def result_of(first: int, second: int, parts: Sequence[tuple[range, Games]], game: Game) -> Result:
    """Join parts, (numbers of seeds, their games), to the result of two agents, in order of the seeds."""
    parts, held = sorted(parts, key=lambda part: part[0].start), seatings(game)
    seeds = np.array([seed for some, _ in parts for seed in some], np.int64)
    whole = join([games for _, games in parts], game, 2)
    return Result(**vars(whole), first=first, second=second, held=held, units=np.repeat(seeds, len(held)))


def by_unit(results: Sequence[Result]) -> tuple[np.ndarray, np.ndarray]:
    """Return wins and losses of each result's first agent, each float64 (seeds, results), 0 for unplayed seeds."""
    size = len(results[0].held)
    found = np.zeros((2, 1 + max(each.units.max(initial=-1) for each in results), len(results)))
    for column, each in enumerate(results):
        for table, compared in zip(found, each.compared, strict=True):
            table[each.units[::size], column] = compared.reshape(-1, size).sum(axis=1)
    return found[0], found[1]
