"""`ttt agents`: the named agents, the games of each, and the parameters of one agent."""

import inspect
from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, Any

import tyro

from ttt_envs import registry
from ttt_envs.cli.common import GameArguments, Printing
from ttt_envs.cli.layout import entries, indented, paragraphs, table
from ttt_envs.core.options import as_text, parameters
from ttt_envs.storage.rows import Listed

if TYPE_CHECKING:  # these bring Numba, which `--help` does without
    from ttt_envs.agents.pretrained import Card
    from ttt_envs.core.game import Game


@dataclass(frozen=True, kw_only=True)
class Agents(GameArguments, Printing):
    """List the agents, or those that play a game; or explain one agent and its parameters."""

    game: Annotated[
        tyro.conf.Positional[str], tyro.conf.arg(metavar="[GAME|AGENT]", help_behavior_hint="(default: all agents)")
    ] = ""
    """Id of a game: list the agents that play it with these options; or the name of an agent."""

    def run(self) -> None:
        """Print a line for each agent, or all about one."""
        from ttt_envs import agents
        from ttt_envs.agents import pretrained

        if self.option and not self.game:
            raise ValueError("--option needs the game that it belongs to: ttt agents GAME --option name=value")
        known = agents.known()
        one = {self.game: known[self.game]} if self.game in known else {}
        game = self.load() if self.game and not one else None
        games = [game] if game else [registry.load(game_id) for game_id in registry.GAMES]
        listed = [(name, found, _games_of(found, name, games)) for name, found in (one or known).items()]
        rows = [_data(*each) for each in listed if game is None or each[2] != []]
        if game is not None:
            cards = [card for card in pretrained.cards() if card.game == game.id]
            rows += [_bundled(card) for card in cards if card.fits(game)]
        if self.printed(Listed([_row(data) for data in rows]), lambda: rows):
            return
        if not one:
            shown = [(each["agent"], each["does"].partition(". ")[0].rstrip(".") + ".") for each in rows]
            print("\n".join(table(shown)))
            print("\n".join(["", *indented(_USE, 0)]))
            return
        (data,) = rows
        plays = "depends on its parameters" if data["plays"] is None else ", ".join(data["plays"]) or "no game"
        every = data["plays"] is not None and len(data["plays"]) == len(games)
        print("\n".join(paragraphs(f"{data['agent']}: {data['does']}")))
        print("\n".join(indented(f"plays: {'every game' if every else plays}")))
        for line in entries([(each["parameter"], each["meaning"]) for each in data["parameters"]], indent=4):
            print(line)


_USE = (
    "`ttt agents NAME` explains an agent and its parameters, which follow the name: mcts:simulations=1000,"
    "exploration=1.2. Agents of your own are named as my_agent.py:Name or package.module:Name."
)


def _data(name: str, found: Any, plays: list[str] | None) -> dict[str, Any]:
    paragraph = (inspect.getdoc(found) or "no description").partition("\n\n")[0]
    return {
        "agent": name,
        "does": " ".join(paragraph.split()),
        "plays": plays,
        "parameters": [{"parameter": named, "meaning": meaning} for named, meaning in _parameters(found)],
    }


def _bundled(card: "Card") -> dict[str, Any]:
    return {"agent": f"trained:{card.game}/{card.name}", "does": card.title, "plays": [card.game], "parameters": []}


def _row(data: dict[str, Any]) -> dict[str, Any]:
    parameters = "; ".join(each["parameter"] for each in data["parameters"])
    return {**data, "plays": None if data["plays"] is None else " ".join(data["plays"]), "parameters": parameters}


def _parameters(found: Any) -> Iterator[tuple[str, str]]:
    for each in parameters(found):
        default = "" if each.default is inspect.Parameter.empty else f"={as_text(each.default)}"
        kind = f" ({each.type_name})" if each.type_name else ""
        yield f"{each.name}{default}{kind}", each.meaning


def _games_of(found: Any, name: str, games: "list[Game]") -> list[str] | None:
    """Return the ids of the games that the agent plays; None if they depend on required parameters."""
    from ttt_envs import agents
    from ttt_envs.storage.tables import TableMissing, without_building

    if any(each.default is inspect.Parameter.empty for each in parameters(found)):
        return None
    agent = agents.load(name)
    plays = []
    for game in games:
        try:
            with without_building():
                agent.check(game)
        except ValueError:
            continue
        except (TableMissing, ImportError):  # it would be built, or installed
            pass
        plays.append(game.id)
    return plays
