"""`ttt ladders`: the places of an agent on the ladders of all games."""

from dataclasses import dataclass, fields
from pathlib import Path
from typing import Annotated

import tyro

from ttt_envs.cli.common import Printing
from ttt_envs.cli.ladder import Placing
from ttt_envs.cli.shell import DONE, ERROR, INTERRUPTED
from ttt_envs.storage.files import unused


@dataclass(frozen=True, kw_only=True)
class Ladders(Placing, Printing):
    """Rate an agent on the ladder of every game that it can play."""

    workers: int = 1
    """Ladders that are played side by side, each in a process. Changes no result."""
    out: Annotated[Path | None, tyro.conf.arg(metavar="FOLDER", help_behavior_hint="")] = None
    """Folder for the results, which must be empty; by default runs/ladders, numbered if that is taken."""

    def run(self) -> int:
        """Place the agent; returns the exit status, an error if a process was lost."""
        from ttt_envs.evaluation.placements.ladders import ladders

        given = {each.name: getattr(self, each.name) for each in fields(self) if each.name not in ("json", "csv")}
        given["seed"] = None if self.seed == "secret" else self.seed
        given["out"] = self.out or unused(Path("runs") / "ladders", numbered=True)
        report = ladders(given.pop("agent"), **given)
        if not self.printed(report):
            report.show()
        return INTERRUPTED if not report.complete else ERROR if report.lost else DONE
