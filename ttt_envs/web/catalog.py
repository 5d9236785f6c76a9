"""The catalog of the page: the games, their options for forms, and the agents on offer."""

import inspect
import json
import re
from collections.abc import Iterator, Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple, get_args

from ttt_envs import agents
from ttt_envs.agents.human import Human
from ttt_envs.agents.oracle import OracleAgent
from ttt_envs.agents.pretrained import cards
from ttt_envs.core.game import Game
from ttt_envs.core.options import NotAllowed, OutOfRange, Parameter, as_text, parameters
from ttt_envs.drawing.frame import without_words
from ttt_envs.drawing.theme import unlit
from ttt_envs.evaluation.analysis import GRADES
from ttt_envs.evaluation.ladder import find
from ttt_envs.registry import GAMES, load, options_of, parse_options, shown
from ttt_envs.storage.tables import TableMissing, without_building
from ttt_envs.web.errors import Refused

#: The pictures of the games: in the installed package, and in a checkout.
_PICTURES = (Path(__file__).parent / "pictures", Path(__file__).resolve().parents[2] / "docs")

#: Where a level is on the game's ladder: a share of the ladder's height in Elo.
_UP = {"easy": 0.25, "medium": 0.55}

# These are shares of at most this height, in Elo: a very strong program at the top of a ladder makes no level harder.
_HIGHEST = 1000.0

#: Numbers of simulations with which the tree search is offered.
STRENGTHS = (100, 1000, 10_000)

# A number and a text that every option refuses, with an error that lists the allowed values.
_NO_NUMBER, _NO_TEXT = -(10**18), "\0"


def fields_of(game: Game) -> list[dict[str, Any]]:
    """Return the options of a game for a form.

    Each has a `name`, a `meaning`, a `default` as text, and a `kind`: "bool"; "choice" with `choices`, texts; "int"
    with `low` and `high`, and `optional` if it may be None; or "text" for a value that only the game can check.
    """
    return [_field(game, each) for each in options_of(game.id)]


def _field(game: Game, option: Parameter) -> dict[str, Any]:
    kinds = set(get_args(option.annotation) or (option.annotation,))
    known = {"name": option.name, "default": as_text(option.default), "meaning": _said(option)}
    if kinds == {bool}:
        return {"kind": "bool", **known}
    # The game refuses a wrong value with an error that has the choices or the range.
    if kinds <= {int, str, type(None)} and kinds & {int, str}:
        try:
            load(game.id, **{**game.options, option.name: _NO_NUMBER if int in kinds else _NO_TEXT})
        except NotAllowed as error:
            return {"kind": "choice", "choices": list(map(as_text, error.allowed)), **known}
        except OutOfRange as error:
            return {"kind": "int", "low": error.low, "high": error.high, "optional": type(None) in kinds, **known}
        except (TypeError, ValueError):
            pass
    return {"kind": "text", **known}


def _said(option: Parameter) -> str:
    """Return the meaning of an option without its range, which the field of the form shows."""
    range_or_true = r"(True|[\d,]+ to ([\d,]+|`\w+`)): "
    said = re.sub(rf"^{range_or_true}", "", option.meaning).replace("False: ", "otherwise ")
    empty = "none: " if option.annotation not in (int, int | None) else "empty: "
    return said.replace("None: ", empty).replace("None", "none").replace("`", "").replace("_", " ")


def game_of(game_id: str, options: Mapping[str, str]) -> Game:
    """Return the game with options given as texts; raise Refused for unknown games and options, and for wrong values.

    Only registered games are loaded, because other texts could name any function.
    """
    if game_id not in GAMES:
        raise Refused(404, f"there is no game {game_id[:60]!r}; known: {', '.join(GAMES)}")
    try:
        return load(game_id, **parse_options(game_id, [f"{name}={value}" for name, value in options.items()]))
    except (TypeError, ValueError) as error:
        raise Refused(400, str(error)) from None


class Offer(NamedTuple):
    """An agent on offer: its text for `agents.load`, and its description for display."""

    agent: str
    title: str


class Level(NamedTuple):
    """An opponent of a certain strength.

    Attributes:
        name: "easy", "medium", "strong" or "perfect".
        agent: the opponent's text for `agents.load`.
        elo: the opponent's rating on the game's ladder; None if the ladder does not have this opponent.
    """

    name: str
    agent: str
    elo: int | None

    @property
    def about(self) -> str:
        """Its method and its rating, for display."""
        return title_of(self.agent) + ("" if self.elo is None else f", {self.elo} Elo")


@cache
def levels_of(game: Game) -> list[Level]:
    """Return the opponents from easy to perfect, the weakest first, by the ladder of the game with its options.

    Easy and medium are rungs at fixed heights of the ladder. Strong is the best trained agent, or else the highest
    rung. Perfect is optimal play, if it is a rung and the regret per game of strong is more than an inaccuracy; without
    a ladder it is the only level.
    """
    best = OracleAgent.name
    try:
        ladder = find(game)
    except ValueError:
        return [Level("perfect", best, None)] if _plays(best, game) else []
    rated = {rung: float(elo) for rung, elo in zip(ladder.rungs, ladder.elo, strict=True)}
    # Optimal play is left out if it needs a table that has not been built.
    rated = {rung: elo for rung, elo in rated.items() if best not in rung or _plays(rung, game)}
    pool = [rung for rung in rated if rung not in (ladder.zero, best)]
    if not pool:
        return []
    top = min(max(rated.values()), _HIGHEST)
    seconds = dict(zip(ladder.rungs, ladder.seconds, strict=True))
    # Among rungs of about equal rating, take the fastest.
    found = {
        name: min(pool, key=lambda rung: (round(abs(rated[rung] - share * top), -1), seconds[rung]))
        for name, share in _UP.items()
    }
    found["strong"] = max(pool, key=lambda rung: rated[rung])
    regrets = []
    for card in cards():
        if card.game == game.id and card.best and card.fits(game):
            found["strong"] = f"trained:{card.game}/{card.name}"
            regrets = [each.high for each in card.outcomes if each.measure == "regret"]
    if best in rated and min(regrets, default=1.0) > GRADES[0][1]:
        found["perfect"] = best
    return [Level(name, agent, round(rated[agent]) if agent in rated else None) for name, agent in found.items()]


def picture_of(game_id: str) -> bytes | None:
    """Return a game's picture, a position from the middle of a game, as SVG without words; None if there is none."""
    if game_id not in GAMES:
        return None
    found = (place / f"{game_id}.svg" for place in _PICTURES)
    return next((without_words(path.read_text(encoding="utf-8"))[0].encode() for path in found if path.is_file()), None)


@cache
def lessons_of(game_id: str) -> bytes:
    """Return the positions that illustrate a registered game's rules, as JSON: explanations and pictures."""
    found = []
    for lesson in load(game_id).faces.lessons:
        game, states = shown(game_id, lesson)
        found.append({"said": lesson.said, "svg": without_words(unlit(game.draw(states[0], lesson.viewer)))[0]})
    return json.dumps(found).encode()


def title_of(agent: str) -> str:
    """Return the description of an agent, such as "tree search, 16 simulations"."""
    if agent in (titles := _titles()):
        return titles[agent]
    if mixed := re.fullmatch(r"mixed:(.+),random=([\d.]+)", agent):
        return f"{title_of(mixed[1])}, {float(mixed[2]):.0%} of the moves at random".replace("%", " %")
    if search := re.fullmatch(r"(?:is|sm)?mcts:simulations=(\d+)", agent):
        return f"tree search, {int(search[1]):,} simulations"
    known = {OracleAgent.name: "optimal play", "greedy": "greedy, one move ahead", Human.name: "a person"}
    return known.get(agent, agent)


@cache
def _titles() -> dict[str, str]:
    return {f"trained:{card.game}/{card.name}": card.title for card in cards()}


def opponent(game: Game, agent: str) -> tuple[str, str]:
    """Return an agent's short name, which is its level if it has one, and its description."""
    level = next((each for each in levels_of(game) if each.agent == agent), None)
    if level is not None:
        return level.name.capitalize(), level.about
    if "trained:" in agent:
        return "trained agent", title_of(agent)
    name, _, more = title_of(agent).partition(", ")
    return name, more


class Agents:
    """The agents on offer."""

    def __init__(self, more: Sequence[str] = ()) -> None:
        """`more`: texts of further agents; raises the errors of `agents.load`."""
        for spec in more:
            agents.load(spec).close()
        self._more = tuple(dict.fromkeys(more))
        self._known: dict[Game, list[Offer]] = {}

    def offers(self, game: Game) -> list[Offer]:
        """Return the agents for the game with its options: trained ones, those of the server's owner, then others."""
        if game not in self._known:
            self._known[game] = [each for each in self._candidates(game) if _plays(each.agent, game)]
        return self._known[game]

    def check(self, game: Game, agent: str) -> None:
        """Raise Refused unless the agent is among the offers."""
        if agent not in [each.agent for each in self.offers(game)]:
            raise Refused(400, f"there is no agent {agent[:60]!r} here for {game.title} with these options")

    def _candidates(self, game: Game) -> Iterator[Offer]:
        for card in cards():
            if card.game == game.id:
                yield Offer(f"trained:{card.game}/{card.name}", f"trained: {card.title}")
        known = agents.known()
        yield from (Offer(spec, spec) for spec in self._more if spec not in known)
        for each in levels_of(game):
            if each.agent not in (*known, *self._more) and not each.agent.startswith("trained:"):
                yield Offer(each.agent, f"{each.name}: {title_of(each.agent)}")
        search = agents.search_for(game)
        if search is not None:
            yield from (Offer(f"{search}:simulations={n}", f"tree search, {n:,} simulations") for n in STRENGTHS)
        for name, found in known.items():
            if name != search and all(each.default is not inspect.Parameter.empty for each in parameters(found)):
                yield Offer(name, name)


def _plays(spec: str, game: Game) -> bool:
    """Return whether the agent `spec` is no person and can play the game without first building a table."""
    try:
        with without_building():
            agent = agents.load(spec)
            agent.check(game)
    except (TableMissing, TypeError, ValueError, OSError, ImportError):
        return False
    agent.close()
    return not agent.interactive
