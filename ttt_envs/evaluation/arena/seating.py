"""The agents of a measurement, their seats, and their results against each other."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from ttt_envs.agents import Agent, labelled, load, several
from ttt_envs.core.game import Game


@dataclass(frozen=True)
class Lineup:
    """Agents that can all play a game, with different names.

    Attributes:
        agents: in the order given.
        texts: those that `agents.load` makes the agents of, for files and commands; of an object its name.
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
        """What another process makes the agents of: texts, and objects that are pickled."""
        pairs = zip(self.agents, self.texts, strict=True)
        return tuple(agent if agent.name in self.made else text for agent, text in pairs)

    @property
    def live(self) -> bool:
        """Whether one of the agents is a person, who plays one game after the other and needs the terminal."""
        return any(agent.interactive for agent in self.agents)

    def close(self) -> None:
        """Close the agents that were given as texts: nobody else has them."""
        for agent in self.agents:
            if agent.name not in self.made:
                agent.close()


def line_up(game: Game, given: Any, least: int = 1) -> Lineup:
    """Load the agents of a measurement.

    Args:
        game: the game that they are to play.
        given: a sequence of what `agents.load` takes, a mapping of names to these, or one of these.
        least: the least number of agents.

    Raises:
        ValueError: too few of them, two with one name, or one that is unknown or cannot play this game.
        TypeError, FileNotFoundError: as from `agents.load`.
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
    """The text of an agent, with the name that it is given; None for an object."""
    if isinstance(spec, Mapping) and len(spec) == 1:
        ((name, inner),) = spec.items()
        text = f"{name}={inner}" if isinstance(inner, str) else None
        return text if text is not None and labelled(text) == (name, inner) else None
    return spec if isinstance(spec, str) else None


@dataclass(frozen=True)
class Arrangement:
    """The seating of one game of a pairing.

    Attributes:
        seats: bool (players,), the seats of the pairing's first agent; the second has the others.
        side: the side that one agent holds alone.
        first_alone: whether that is the first agent; between two sides, both are alone.
    """

    seats: np.ndarray
    side: int
    first_alone: bool


def arrangements(game: Game) -> tuple[Arrangement, ...]:
    """All seatings of two agents: one agent alone on each side in turn, the other on all others, both ways round.

    Raises ValueError for a game with one side, which has no opponents.
    """
    sides = len(game.teams)
    if sides < 2:
        raise ValueError(f"{game} has one side only: nobody plays against another")
    made = []
    for first_alone in (True, False) if sides > 2 else (True,):
        for side, team in enumerate(game.teams):
            seats = np.full(game.num_players, not first_alone)
            seats[list(team)] = first_alone
            made.append(Arrangement(seats, side, first_alone))
    return tuple(made)


def rounding(games: int, seatings: int) -> list[str]:
    """A sentence on why there are more games than were asked for; none if there are as many."""
    more = -(-games // seatings) * seatings
    if more == games:
        return []
    why = f"each seed is played in {seatings} seatings, so that no seat is favoured"
    return [f"{more} games instead of {games} a pairing: {why}."]


def held_seats(seatings: Sequence[Arrangement]) -> np.ndarray:
    """bool (seatings, players): the seats of the first agent in each."""
    return np.stack([each.seats for each in seatings])


def comparisons(rewards: np.ndarray, held: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """The wins and losses of one agent against another in n games, each float64 (n,).

    Between two players: 1 and 0 for a win, 1/2 each for a draw. In general each seat of the one is compared with each
    of the other; equal rewards count only where all rewards of the game are equal, since losers have not drawn. With
    that, if chances of winning are proportional to strengths (Plackett-Luce), won : lost estimates their ratio.

    Args:
        rewards: float (n, players).
        held: bool (n, players), the seats of the first agent.

    Raises:
        ValueError: other shapes.
    """
    rewards, held = np.asarray(rewards), np.asarray(held)
    if rewards.ndim != 2 or held.shape != rewards.shape or held.dtype != np.bool_:
        raise ValueError(
            "rewards must be numbers and held truth values, both of shape (n, players), "
            f"not {rewards.dtype} {rewards.shape} and {held.dtype} {held.shape}"
        )
    higher = rewards[:, :, None] > rewards[:, None, :]
    against = held[:, :, None] & ~held[:, None, :]
    won = (higher & against).sum(axis=(1, 2)).astype(np.float64)
    lost = (higher.transpose(0, 2, 1) & against).sum(axis=(1, 2)).astype(np.float64)
    pairs = against.sum(axis=(1, 2))
    drawn = (rewards == rewards[:, :1]).all(axis=1)
    won[drawn] = lost[drawn] = pairs[drawn] / 2
    return won, lost
