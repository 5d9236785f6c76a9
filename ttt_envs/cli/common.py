"""Fields that verbs share, so that the same word means the same thing in each."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, fields
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, ClassVar

import tyro

from ttt_envs import registry
from ttt_envs.cli.shell import DONE, INTERRUPTED
from ttt_envs.registry import parse_options
from ttt_envs.storage.files import unused

if TYPE_CHECKING:  # a Game brings Numba, which `--help` does without
    from ttt_envs.agents import Agent
    from ttt_envs.core.game import Game
    from ttt_envs.evaluation.records import GameRecord
    from ttt_envs.evaluation.reports.report import Report
    from ttt_envs.storage.rows import Rows


def instead(game_id: str) -> str:
    """The measurement to suggest for agents of a game whose tree is too large."""
    return (
        f"`ttt exploit {game_id} --agent A` trains a best response, a lower bound of what A can lose, and `ttt ladder "
        f"{game_id} --agent A` rates it against fixed opponents"
    )


def seated(game: "Game", agents: Sequence[Any]) -> "list[Agent]":
    """The agents of one game, one a player, of whatever `ttt_envs.agents.load` takes, in the order of play.

    Raises ValueError, TypeError or FileNotFoundError for a wrong number of agents, one that cannot be loaded, and one
    that cannot play this game.
    """
    from ttt_envs.agents import load

    found = [load(each) for each in agents]
    if len(found) != game.num_players:
        names = ", ".join(each.name for each in found)
        raise ValueError(f"{game} has {game.num_players} players and needs as many agents, not {len(found)}: {names}")
    for each in found:
        each.check(game)
    return found


@dataclass(frozen=True, kw_only=True)
class GameOptions:
    """The field for the options of a game."""

    option: Annotated[tuple[str, ...], tyro.conf.arg(metavar="[NAME=VALUE ...]", help_behavior_hint="")] = ()
    """Options of the game, such as size=3; `ttt describe GAME` lists them."""


@dataclass(frozen=True, kw_only=True)
class GameArguments(GameOptions):
    """The fields for the game of a verb: its id, the first word after the verb, and its options."""

    game: Annotated[tyro.conf.Positional[str], tyro.conf.arg(metavar="GAME")]
    """Id of the game; `ttt games` lists them."""

    def load(self) -> "Game":
        """The game with these options; ValueError or TypeError as `ttt_envs.load`."""
        return registry.load(self.game, **parse_options(self.game, self.option))


@dataclass(frozen=True, kw_only=True)
class RecordFilters:
    """The fields that choose games from a file of records."""

    agent: Annotated[str | None, tyro.conf.arg(metavar="AGENT", help_behavior_hint="")] = None
    """Only games in which this agent played, by its name in the records."""
    winner: Annotated[str | None, tyro.conf.arg(metavar="AGENT", help_behavior_hint="")] = None
    """Only games that this agent won; or `draw`."""
    min_plies: int = 0
    """Only games of at least this many plies."""
    max_plies: Annotated[int | None, tyro.conf.arg(help_behavior_hint="")] = None
    """Only games of at most this many plies."""

    def read(self, path: Path, number: int | None = None) -> "Iterator[GameRecord]":
        """The records chosen from a file; errors as `ttt_envs.evaluation.records.read`."""
        from ttt_envs.evaluation import records

        return records.read(
            path,
            number=number,
            agent=self.agent,
            winner=self.winner,
            min_plies=self.min_plies,
            max_plies=self.max_plies,
        )

    def the_one(self, path: Path, number: int) -> "GameRecord":
        """The record of that number; ValueError if there is none, or if several were put into one file."""
        found = list(self.read(path, number))
        if not found:
            raise ValueError(f"{path} has no game {number}, or the other filters leave it out")
        if len(found) > 1:
            places = " and ".join(each.place.rpartition(", ")[2] for each in found[:2])
            raise ValueError(f"{path} has {len(found)} games with number {number}, such as on {places}")
        return found[0]


@dataclass(frozen=True, kw_only=True)
class Printing:
    """The fields for results as data instead of text."""

    json: bool = False
    """Print the results as JSON instead of text."""
    csv: bool = False
    """Print the results as CSV instead of text: a line of names, then a line a row, with plain numbers."""

    def check_form(self) -> None:
        """Raise ValueError if two forms are asked for."""
        if self.json and self.csv:
            raise ValueError("give --json or --csv, not both")

    def printed(self, found: "Rows", whole: Callable[[], Any] | None = None) -> bool:
        """Print results as JSON or CSV if one is asked for, and say whether; `whole` gives JSON all that there is."""
        self.check_form()
        if self.json:
            from ttt_envs.storage.rows import as_json

            print(as_json(whole() if whole else found.rows()))
        elif self.csv:
            print(found.to_csv(), end="")
        return self.json or self.csv


@dataclass(frozen=True, kw_only=True)
class Measuring(GameArguments, Printing):
    """A verb that calls a function of the same arguments, prints the report, and writes it to a folder."""

    full: bool = False
    """Print all tables of a report that has many; its files have them in any case."""
    out: Annotated[Path | None, tyro.conf.arg(metavar="FOLDER", help_behavior_hint="")] = None
    """Folder for the results, which must be empty; by default runs/ and the verb, numbered if that is taken."""

    #: The function, as "module:name"; its name is the verb.
    function: ClassVar[str]

    #: Fields that are no arguments of the function.
    others: ClassVar[tuple[str, ...]] = ()

    def run(self) -> int:
        """Run, print and write the report; returns the exit status of success, or of an interrupt."""
        module, name = self.function.split(":")
        self.check_form()
        arguments = {each.name: getattr(self, each.name) for each in fields(self)}
        for how in ("json", "csv", "full", *self.others):
            del arguments[how]
        options = parse_options(self.game, arguments.pop("option"))
        if set(options) & set(arguments):  # a rule of the game has the name of a setting
            arguments["game"] = self.load()
        else:
            arguments |= options
        arguments["out"] = self.out or unused(Path("runs") / name, numbered=True)
        try:
            report = getattr(import_module(module), name)(**arguments)
        except OSError as error:
            if (report := getattr(error, "report", None)) is not None:  # all is worked out, and cannot be written
                self._show(report)
            raise
        self._show(report)
        return DONE if report.complete else INTERRUPTED

    def _show(self, report: "Report") -> None:
        if not self.printed(report, report.json):
            report.show(full=self.full)


@dataclass(frozen=True, kw_only=True)
class MeasuringAgents(Measuring):
    """The arguments that all measurements of agents share."""

    agents: Annotated[tuple[str, ...], tyro.conf.arg(metavar="AGENT [AGENT ...]")]
    """Agents, such as random, mcts:simulations=200, network:runs/x or my_agent.py:Name; `ttt agents` lists them."""
    seed: int = 0
    """Seed of everything that is random."""
