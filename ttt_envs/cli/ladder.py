"""`ttt ladder`: a game's ladder of fixed opponents, the place of an agent on it, and its calibration."""

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any, Literal

import tyro

from ttt_envs.cli.common import GameArguments
from ttt_envs.cli.shell import DONE, ERROR, INTERRUPTED
from ttt_envs.registry import parse_options
from ttt_envs.storage.files import unused

#: In the place of a game: all of them.
EVERY = "all"

_OPTIONAL = tyro.conf.arg(help_behavior_hint="")

# The fields that only one use of the verb has.
_PLACING, _CALIBRATING = ("target", "minutes", "pace", "strict"), ("spacing", "slowest", "version", "resume")


@dataclass(frozen=True, kw_only=True)
class Ladder(GameArguments):
    """Rate an agent against a ladder of fixed opponents. Without --agent, show the ladder; --calibrate makes one.

    With `all` as the game, the agent is rated in each game that it can play.
    """

    agent: Annotated[str | None, tyro.conf.arg(metavar="AGENT", help_behavior_hint="")] = None
    """The agent to be rated, such as greedy, network:runs/x or my_agent.py:Name. It stops when the rating is known."""
    calibrate: bool = False
    """Measure rungs against each other, which takes long; Ctrl-C keeps the games for --resume."""
    table: Annotated[Path | None, tyro.conf.arg(metavar="FILE", help_behavior_hint="")] = None
    """File of the ladder, as --calibrate writes it; by default the one that comes with the game."""
    target: Annotated[float | None, _OPTIONAL] = None
    """With --agent: half width of the 95 % interval at which it stops, in Elo (default: 25)."""
    games: Annotated[int | None, _OPTIONAL] = None
    """Most games of the agent (default: 4000); with --calibrate, games of two rungs near each other (default: 400)."""
    minutes: Annotated[float | None, _OPTIONAL] = None
    """With --agent: stop after so many minutes, whatever is known by then."""
    pace: Annotated[float | None, _OPTIONAL] = None
    """With --agent: seconds that it takes for a move, for the choice of opponents; by default this is measured."""
    workers: Annotated[int | None, _OPTIONAL] = None
    """With --agent and all games: games that are played side by side, each in a process (default: 1)."""
    strict: bool = False
    """With --agent: end it all at an error or illegal action, which otherwise only loses the game."""
    rungs: Annotated[tuple[str, ...], tyro.conf.arg(metavar="AGENT [AGENT ...]", help_behavior_hint="")] = ()
    """With --calibrate: the rungs; by default those of the game's ladder, or chosen from what plays the game. With
    --table: those of its rungs that are programs, files or code, which are run only if they are named here."""
    spacing: Annotated[float | None, _OPTIONAL] = None
    """With --calibrate: choose the rungs anew, so many Elo from each other; a game without a ladder gets 100."""
    slowest: Annotated[float | None, _OPTIONAL] = None
    """With --calibrate: seconds that a move of a chosen rung may take (default: 0.005)."""
    version: Annotated[int | None, _OPTIONAL] = None
    """With --calibrate: number of the ladder; by default one more than that of the game's ladder."""
    resume: bool = False
    """With --calibrate: go on with the games in the folder --out."""
    chunk: Annotated[int | None, _OPTIONAL] = None
    """Games played side by side; by default a few seconds' worth. Changes no result."""
    seed: int | Literal["secret"] = 0
    """Seed of the games; `secret` draws one of 128 bits, which the report names at the end."""
    out: Annotated[Path | None, tyro.conf.arg(metavar="FOLDER", help_behavior_hint="")] = None
    """Folder for the results, which must be empty; by default runs/ladder, numbered if that is taken."""

    def run(self) -> int:
        """Show the ladder, place the agent, or calibrate; returns the exit status of success, or of an interrupt."""
        if self.calibrate and self.agent is not None:
            raise ValueError("--calibrate makes a ladder and --agent uses one: call them one after the other")
        if self.game == EVERY:
            return self._all()
        if self.workers is not None:
            raise ValueError(f"--workers goes with {EVERY}, as in `ttt ladder {EVERY} --agent AGENT --workers 2`")
        if not self.calibrate and self.agent is None:
            self._show()
            return DONE
        use, others = ("--calibrate", _PLACING) if self.calibrate else ("--agent", _CALIBRATING)
        for name in (*others, *(["table"] if self.calibrate else ["rungs"] if self.table is None else [])):
            if getattr(self, name):
                unless = ", unless there is a --table" if name == "rungs" else ""
                raise ValueError(f"--{name} does not go with {use}{unless}")
        given = {"options": parse_options(self.game, self.option), "out": self._out(), "chunk": self.chunk}
        given["seed"] = None if self.seed == "secret" else self.seed
        names = _CALIBRATING if self.calibrate else (*_PLACING, "table")
        given.update({name: value for name in (*names, "rungs", "games") if (value := getattr(self, name)) is not None})
        try:
            report = self._report(given)
        except OSError as error:
            if (unsaved := getattr(error, "report", None)) is not None:  # all is worked out, and cannot be written
                unsaved.show()
            raise
        report.show()
        return DONE if report.complete else INTERRUPTED

    def _all(self) -> int:
        """Show the ladders of all games, or place the agent on each."""
        for name in ("calibrate", "table", "option", "rungs", *_CALIBRATING):
            if getattr(self, name):
                raise ValueError(f"--{name} is for one game and does not go with {EVERY}")
        from ttt_envs.evaluation.ladder.ladders import ladders, overview

        if self.agent is None:
            from rich.console import Console

            Console().print(overview().rich())
            return DONE
        names = (*_PLACING, "games", "chunk", "workers")
        given = {name: value for name in names if (value := getattr(self, name)) is not None}
        report = ladders(self.agent, seed=None if self.seed == "secret" else self.seed, out=self._out(), **given)
        report.show()
        return INTERRUPTED if not report.complete else ERROR if report.lost else DONE

    def _out(self) -> Path:
        if self.resume and self.out is None:
            raise ValueError("--resume needs --out, the folder with the games")
        return self.out or unused(Path("runs") / "ladder", numbered=True)

    def _report(self, given: dict[str, Any]) -> Any:
        from ttt_envs import evaluation

        if self.calibrate:
            return evaluation.calibrate(self.game, **given)
        return evaluation.ladder(self.game, self.agent, **given)

    def _show(self) -> None:
        from rich.console import Console

        from ttt_envs.evaluation.ladder.ladder import find, read

        found = find(self.load()) if self.table is None else read(self.table)
        console = Console()
        for table in found.tables():
            console.print(table.rich())
        command = found.made.get("command", "unknown")
        console.print(f"Version {found.version} ({found.digest}), made by", highlight=False)
        console.print(str(command), markup=False, highlight=False, soft_wrap=True)
