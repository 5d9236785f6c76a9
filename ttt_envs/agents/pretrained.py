"""The bundled trained agents and their model cards."""

import hashlib
import json
import re
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from ttt_envs.agents.base import Agent, Around
from ttt_envs.core.game import Game
from ttt_envs.core.options import as_text, unknown
from ttt_envs.core.view import View
from ttt_envs.storage.untrusted import with_tuples

CARD = "card.json"

#: Placeholder for the agent's folder in the spec on its card.
FOLDER = "{folder}"

#: The possible folders of trained agents: in the installed package, and in a checkout.
_PLACES = (Path(__file__).parent / "trained", Path(__file__).resolve().parents[2] / "agents" / "trained")


def folder() -> Path:
    """Return the folder of all bundled agents, which has a subfolder GAME/NAME for each agent."""
    return next((place for place in _PLACES if place.is_dir()), _PLACES[0])


@dataclass(frozen=True)
class Outcome:
    """One measured figure of a card.

    Attributes:
        measure: "score", "regret", "layouts" (regret on solved layouts), "exploitability", "exploit" (a lower bound of
            exploitability) or "milliseconds".
        against: the opponent of a score; or another detail of the measurement.
        value: the figure: a score from 0 to 1, the loss per game, a best response's winnings, or the time per move.
        low, high: the figure's 95 % interval over games, for the bundled weights; an exact figure equals both. For
            "exploit", the interval is that of the opponent's winnings.
        games: number of games or layouts; 0 if the measurement plays neither.
        options: options of the game.
        seeds: the same figure for agents trained with other seeds.
        command: the command that measures the figure.
    """

    measure: str
    against: str
    value: float
    low: float
    high: float
    games: int
    options: dict[str, Any]
    seeds: tuple[float, ...]
    command: str


@dataclass(frozen=True)
class Card:
    """The facts about a bundled agent: method, training and measured results.

    Attributes:
        game: id of the game.
        name: name of the agent, unique among the agents of the game.
        title: a short description.
        best: whether "trained:GAME" loads this agent for the options that the agent was made for.
        agent: spec for `agents.load`; {folder} is the agent's folder.
        method: how the agent was trained, and how it plays.
        weaknesses: known weaknesses.
        train: the command that trains the agent.
        seed: the training seed of the bundled weights.
        steps: number of positions, plies or decisions in training.
        seconds: CPU time of the training.
        versions: versions of Python and libraries.
        machine: the machine of the measurements.
        outcomes: the measured figures.
    """

    game: str
    name: str
    title: str
    best: bool
    agent: str
    method: str
    weaknesses: str
    train: str
    seed: int
    steps: int
    seconds: float
    versions: dict[str, str]
    machine: str
    outcomes: tuple[Outcome, ...]

    @property
    def options(self) -> dict[str, Any]:
        """Return the options that the agent was made for, which are those of the card's first figure."""
        return self.outcomes[0].options

    def fits(self, game: Game) -> bool:
        """Return whether one of the figures was measured with the options of `game` or equivalent options."""
        return any(not game.differences(each.options) for each in self.outcomes)


def read_card(path: Path) -> Card:
    """Return the card in an agent's folder; raise ValueError if it cannot be read."""
    try:
        card = json.loads((path / CARD).read_text(encoding="utf-8"))
        outcomes = tuple(Outcome(**{**each, "seeds": tuple(each["seeds"])}) for each in card.pop("outcomes"))
        return Card(**card, outcomes=outcomes)
    except (KeyError, TypeError, ValueError) as error:
        raise ValueError(f"{path / CARD} is damaged: {error}") from None


def cards() -> list[Card]:
    """Return the cards of all bundled agents, sorted by game; for each game first the best agents, then by name."""
    shipped = [read_card(path.parent) for path in folder().glob(f"*/*/{CARD}")]
    return sorted(shipped, key=lambda card: (card.game, not card.best, card.name))


def digests(texts: Iterable[str]) -> dict[str, str]:
    """Return name -> digest of weights and settings (12 hexadecimal digits) for the bundled agents named in specs.

    The digest covers the spec on the agent's card, and the networks in the agent's folder and in neighbouring folders
    that the spec names. The digest of "trained:GAME" covers all agents that it may mean. Unknown agents are left out.
    """
    found = {}
    for name in sorted(set(re.findall(rf"\b{Trained.name}:\w+(?:/\w+)?", " ".join(texts)))):
        which, data = name.partition(":")[2], []
        for card in cards():
            if which == f"{card.game}/{card.name}" or (card.best and which == card.game):
                own = folder() / card.game / card.name
                places = [own, *(own.parent / beside for beside in re.findall(r"/\.\./(\w+)", card.agent))]
                data += [card.agent.encode(), *(path.read_bytes() for place in places for path in _networks(place))]
        if data:
            found[name] = hashlib.sha256(b"".join(data)).hexdigest()[:12]
    return found


def _networks(place: Path) -> list[Path]:
    return sorted(place.glob("*.safetensors"))


class Trained(Around):
    """Plays a bundled trained agent."""

    name = "trained"
    reaches = {}

    def __init__(self, which: str) -> None:
        """Load the agent.

        Args:
            which: a game's id, for the best agent for the game's options; or GAME/NAME, as listed in `docs/results.md`.

        Raises:
            ValueError: there is no such agent; the message names the known ones.
        """
        by_name: dict[str, list[Card]] = {}
        shipped = cards()
        for card in shipped:
            by_name.setdefault(f"{card.game}/{card.name}", []).append(card)
            if card.best:
                by_name.setdefault(card.game, []).append(card)
        if which not in by_name:
            raise ValueError(unknown("trained agent", which, list(by_name)))
        # Imported here, because `ttt_envs.agents` imports this module.
        from ttt_envs.agents import load, stranger

        for card in by_name[which]:
            beside = [f"{FOLDER}/../{other.name}" for other in shipped if other.game == card.game]
            if stranger(card.agent, own=(FOLDER, *beside)) is not None:
                raise ValueError(
                    f"the card of {card.game}/{card.name} names more than its folder, and those beside it: {card.agent}"
                )
        #: The candidates with their cards.
        self.choices = [
            (card, load(card.agent.replace(FOLDER, str(folder() / card.game / card.name)))) for card in by_name[which]
        ]
        self.equivariant = all(agent.equivariant for agent in self.candidates)
        self.remembers = any(agent.remembers for agent in self.candidates)
        self.observes = any(agent.observes for agent in self.candidates)
        self._latest: tuple[Game, Agent, Card] | None = None

    @property
    def candidates(self) -> list[Agent]:
        """All agents that this agent may use."""
        return [agent for _, agent in self.choices]

    def agent_for(self, game: Game) -> Agent:
        """Return the agent that plays `game`: the fitting agent whose options differ least.

        In a match, an agent for single rounds may play each round. Raises ValueError if no agent fits; the message
        names alternatives, or the reason why the closest agent cannot play the game.
        """
        return self._for(game)[1]

    def card_for(self, game: Game) -> Card:
        """Return the card of the agent that plays `game`; raise ValueError if no agent fits."""
        return self._for(game)[2]

    def _for(self, game: Game) -> tuple[Game, Agent, Card]:
        if self._latest is None or self._latest[0] is not game:
            self._latest = game, *self._find(game)
        return self._latest

    def _find(self, game: Game) -> tuple[Agent, Card]:
        # Imported here, because `per_round` imports `ttt_envs.agents`, which imports this module.
        from ttt_envs.agents.per_round import Rounds

        refusals = []
        for card, agent in sorted(self.choices, key=lambda choice: _differences(game, choice[0])):
            for plays, played in ((agent, game), (Rounds(agent), round_of(game))):
                if played is None or (card.game == game.id and not card.fits(played)):
                    continue
                try:
                    plays.check(game)
                except ValueError as error:
                    refusals.append(error)
                else:
                    return plays, card
        raise refusals[0] if refusals else ValueError(self._misfit(game))

    def _misfit(self, game: Game) -> str:
        # Imported here, because `ttt_envs.agents` imports this module.
        from ttt_envs.agents import search_for

        known = {f"trained:{card.game}/{card.name}": card for card in cards() if card.game == game.id}
        fitting = [name for name, card in known.items() if any(map(card.fits, filter(None, (game, round_of(game)))))]
        made = "; ".join(f"{name} for {_made_for(card)}" for name, card in known.items())
        search = search_for(game)
        return f"agent {self.name} was not made for {game}; for these options there is " + (
            " or ".join(fitting) if fitting else f"no trained agent{f', but {search}' if search else ''}: {made}"
        )

    def check(self, game: Game) -> None:
        """Raise ValueError if the agent cannot play `game`."""
        self.agent_for(game)

    def act(self, view: View) -> np.ndarray:
        """Return one legal action per position, int64 (n,); -1 if the player has none."""
        return self.agent_for(view.game).act(view)

    def policy(self, view: View) -> np.ndarray:
        """Return the probability of each action, float64 (n, num_actions)."""
        return self.agent_for(view.game).policy(view)


def full_name(text: str, game: Game) -> str | None:
    """Return the full name of the agent that "trained:GAME" means for a game; None for other specs."""
    name, _, rest = text.partition(":")
    if name != Trained.name or not rest or "/" in rest:
        return None
    card = Trained(rest).card_for(game)
    return f"{name}:{card.game}/{card.name}"


def _differences(game: Game, card: Card) -> int:
    if game.id != card.game:
        return len(game.options)
    made_for = game.factory(**with_tuples(card.options)).options
    return sum(made_for[option] != value for option, value in game.options.items())


def _made_for(card: Card) -> str:
    texts = [" ".join(f"{name}={as_text(value)}" for name, value in each.options.items()) for each in card.outcomes]
    return " or ".join(dict.fromkeys(text or "the default options" for text in texts))


def round_of(game: Game) -> Game | None:
    """Return the game of which a match plays several rounds; None if `game` is no match."""
    return None if game.extras.current_round is None else game.extras.current_round(game.prototype[:0])[0]
