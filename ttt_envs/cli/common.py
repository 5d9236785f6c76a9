"""Command-line options that several verbs share, so that an option means the same in all of them."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, fields
from functools import partial
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
    from ttt_envs.evaluation.reports.report import Report
    from ttt_envs.storage.rows import Rows


def instead(game_id: str) -> str:
    """Return the measurement to suggest for agents of a game whose tree is too large."""
    return (
        f"`ttt exploit {game_id} --agent A` trains a best response, a lower bound of what A can lose, and `ttt ladder "
        f"{game_id} --agent A` rates it against fixed opponents"
    )


def check_drawing(path: Path, *kinds: str) -> None:
    """Raise an error if a drawing cannot be written to `path`; call it before long work. `kinds`: allowed endings."""
    from ttt_envs.storage.extras import require
    from ttt_envs.storage.files import check_writable

    kind = path.suffix.lower()
    if kind not in kinds:
        raise ValueError(f"a drawing is a file that ends in {' or '.join(kinds)}, not {path.name}")
    if path.exists():
        raise FileExistsError(f"{path} exists: choose another file, or delete this one first")
    if kind != ".svg":
        require("render", "PIL", "resvg_py")
    check_writable(path)


def seated(game: "Game", agents: Sequence[Any]) -> "list[Agent]":
    """Return the agents of one game, one per player in the order of play, from arguments of `ttt_envs.agents.load`.

    Raises ValueError, TypeError or FileNotFoundError for a wrong number of agents, or for an agent that cannot be
    loaded or cannot play this game.
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
    """The fields for a verb's game: its id, which is the first word after the verb, and its options."""

    game: Annotated[tyro.conf.Positional[str], tyro.conf.arg(metavar="GAME")]
    """Id of the game; `ttt games` lists them."""

    def load(self) -> "Game":
        """Return the game with these options; raise the errors of `ttt_envs.load`."""
        return registry.load(self.game, **parse_options(self.game, self.option))


@dataclass(frozen=True, kw_only=True)
class Printing:
    """The fields with which a verb prints its results as JSON or CSV instead of text."""

    json: bool = False
    """Print the results as JSON instead of text."""
    csv: bool = False
    """Print the results as CSV instead of text: a line of column names, then one line per row, with plain numbers."""

    def check_form(self) -> None:
        """Raise ValueError if two formats are requested."""
        if self.json and self.csv:
            raise ValueError("give --json or --csv, not both")

    def printed(self, found: "Rows", whole: Callable[[], Any] | None = None) -> bool:
        """Print results as JSON or CSV and return True; without either option, return False. `whole`: data for JSON."""
        self.check_form()
        if self.json:
            from ttt_envs.storage.rows import as_json

            print(as_json(whole() if whole else found.rows()))
        elif self.csv:
            print(found.to_csv(), end="")
        return self.json or self.csv

    def reported(self, make: "Callable[[], Report]", **how: Any) -> "Report":
        """Create a report and print it, even if it cannot be written; `how`: arguments of `Report.show`."""
        from ttt_envs.evaluation.reports.report import NotSaved

        try:
            report = make()
        except NotSaved as error:
            self._show(error.report, how)
            raise
        self._show(report, how)
        return report

    def _show(self, report: "Report", how: Mapping[str, Any]) -> None:
        if not self.printed(report, report.json):
            report.show(**how)


@dataclass(frozen=True, kw_only=True)
class Measuring(GameArguments, Printing):
    """A verb that calls a function with the same arguments, prints the report, and writes it to a folder."""

    full: bool = False
    """Print all tables of a report that has many; its files have them in any case."""
    out: Annotated[Path | None, tyro.conf.arg(metavar="FOLDER", help_behavior_hint="")] = None
    """Folder for the results, which must be empty; by default runs/ and the verb, numbered if that is taken."""

    #: The function, as "module:name"; its name is the verb.
    function: ClassVar[str]

    #: Fields of the verb that are not passed to the function.
    others: ClassVar[tuple[str, ...]] = ()

    def run(self) -> int:
        """Run, print and write the report; return the exit status of success or of an interrupt."""
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
        report = self.reported(partial(getattr(import_module(module), name), **arguments), full=self.full)
        return DONE if report.complete else INTERRUPTED


@dataclass(frozen=True, kw_only=True)
class MeasuringAgents(Measuring):
    """The shared arguments of all measurements of agents."""

    agents: Annotated[tuple[str, ...], tyro.conf.arg(metavar="AGENT [AGENT ...]")]
    """Agents, such as random, mcts:simulations=200, network:runs/x or my_agent.py:Name; `ttt agents` lists them."""
    seed: int = 0
    """Seed of everything that is random."""
