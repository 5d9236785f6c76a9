"""`ttt agents`: the agents that have a name, what each plays, and its parameters."""

import inspect
from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, Any

import tyro

from ttt_envs import registry
from ttt_envs.cli.common import GameArguments, Printing
from ttt_envs.cli.layout import entries, indented, paragraphs
from ttt_envs.core.options import Parameter, as_text, parameters
from ttt_envs.storage.rows import Listed

if TYPE_CHECKING:  # a Game brings Numba, which `--help` does without
    from ttt_envs.core.game import Game


@dataclass(frozen=True, kw_only=True)
class Agents(GameArguments, Printing):
    """List the agents: what each does, which games it plays, and its parameters."""

    game: Annotated[tyro.conf.Positional[str], tyro.conf.arg(metavar="[GAME]", help_behavior_hint="(default: all)")] = (
        ""
    )
    """Id of a game: list only the agents that play it with these options."""

    def run(self) -> None:
        """Print an entry for each agent, with an example of how to name it."""
        from ttt_envs import agents

        if self.option and not self.game:
            raise ValueError("--option needs the game that it belongs to: ttt agents GAME --option name=value")
        games = [self.load()] if self.game else [registry.load(game_id) for game_id in registry.GAMES]
        listed = [(name, found, _games_of(found, name, games)) for name, found in agents.known().items()]
        if self.game:
            listed = [each for each in listed if each[2] != []]
        if self.printed(Listed([_row(*each) for each in listed]), lambda: [_data(*each) for each in listed]):
            return
        for name, found, plays in listed:
            print("\n".join(paragraphs(f"- {name}: {_summary(found)}")))
            if plays is None:
                print("\n".join(indented("plays: depends on its parameters")))
            elif not self.game:
                every = len(plays) == len(games)
                print("\n".join(indented(f"plays: {'every game' if every else ', '.join(plays) or 'no game'}")))
            for line in entries(list(_parameters(found)), indent=4):
                print(line)
            print()
        print("\n".join(indented(_USE, 0)))


_USE = (
    "Parameters follow the name: mcts:simulations=1000,exploration=1.2. Agents of your own are named as "
    "my_agent.py:Name or package.module:Name."
)


def _data(name: str, found: Any, plays: list[str] | None) -> dict[str, Any]:
    """One agent for programs; `plays` is None where that depends on its parameters."""
    return {
        "agent": name,
        "does": _summary(found),
        "plays": plays,
        "parameters": [{"parameter": named, "meaning": meaning} for named, meaning in _parameters(found)],
    }


def _row(name: str, found: Any, plays: list[str] | None) -> dict[str, Any]:
    """The same as plain values."""
    data = _data(name, found, plays)
    parameters = "; ".join(each["parameter"] for each in data["parameters"])
    return {**data, "plays": None if plays is None else " ".join(plays), "parameters": parameters}


def _summary(found: Any) -> str:
    """The first paragraph of the docstring, on one line."""
    paragraph = (inspect.getdoc(found) or "no description").partition("\n\n")[0]
    return " ".join(paragraph.split())


def _parameters(found: Any) -> Iterator[tuple[str, str]]:
    for each in parameters(found) if inspect.isclass(found) else ():
        kind = f" ({each.type_name})" if each.type_name else ""
        yield f"{each.name}{_default(each)}{kind}", each.meaning


def _default(parameter: Parameter) -> str:
    return "" if parameter.default is inspect.Parameter.empty else f"={as_text(parameter.default)}"


def _games_of(found: Any, name: str, games: "list[Game]") -> list[str] | None:
    """The ids of the games that the agent plays; None if that depends on parameters that must be given."""
    from ttt_envs import agents
    from ttt_envs.storage.tables import TableMissing, without_building

    if any(each.default is inspect.Parameter.empty for each in (parameters(found) if inspect.isclass(found) else ())):
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
