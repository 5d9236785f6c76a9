"""`ttt ladder`: the rating of an agent on a game's ladder of fixed opponents."""

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any

import tyro

from ttt_envs.cli.common import Measuring
from ttt_envs.cli.shell import DONE


@dataclass(frozen=True, kw_only=True)
class Ladder(Measuring):
    """Rate an agent by games against every rung of a game's ladder; or show the rungs; or measure rungs."""

    agent: Annotated[str, tyro.conf.arg(metavar="AGENT", help_behavior_hint="")] = ""
    """The agent to be rated, such as greedy, network:runs/x or my_agent.py:Name; `ttt agents` lists them."""
    games: int = 100
    """Games against each rung, or of two rungs; rounded up, so that each seed is played from every seat."""
    seed: int = 0
    """Seed of the games."""
    resamples: int = 1000
    """Resamples of the bootstrap that gives the interval."""
    strict: bool = False
    """Stop at the first error or illegal action instead of forfeiting that game."""
    table: Annotated[Path | None, tyro.conf.arg(metavar="FILE", help_behavior_hint="")] = None
    """File of the ladder; by default the one that comes with the game."""
    rungs: Annotated[tuple[str, ...], tyro.conf.arg(metavar="[AGENT ...]", help_behavior_hint="")] = ()
    """Those rungs of --table that are programs, files or code: they are run only if they are named here. The rungs that
    --make measures; by default those of the ladder that comes with the game."""
    workers: Annotated[int | str, tyro.conf.arg(metavar="N|ray[:ADDRESS]")] = 1
    """Processes that play at the same time, 0 for one per processor; ray for a Ray cluster that is started on this
    machine, ray:ADDRESS for one to join. Changes no result."""
    show: bool = False
    """Show the rungs of the ladder and their ratings."""
    make: bool = False
    """Measure rungs by a tournament of them, and write the ladder to --out, a file."""
    version: int = 1
    """Number of the ladder that --make writes."""

    function = "ttt_envs.evaluation.ladder:ladder"
    others = ("show", "make", "version")

    def run(self) -> int:
        """Rate the agent, or show or measure the rungs."""
        if self.show + self.make + bool(self.agent) != 1:
            raise ValueError("give one of --agent AGENT, --show and --make")
        if self.agent:
            return super().run()
        from rich.console import Console

        from ttt_envs.evaluation.ladder import find, make_ladder, read

        self.check_form()
        game = self.load()
        found = find(game) if self.table is None and not (self.make and self.rungs) else None
        if self.show:
            found = found or read(str(self.table))
        elif self.out is None:
            raise ValueError("--make writes a file: name it with --out FILE.json")
        else:
            rungs = self.rungs or (found or read(str(self.table))).rungs
            given: dict[str, Any] = {"games": self.games, "seed": self.seed, "workers": self.workers}
            found = make_ladder(game, rungs, version=self.version, out=self.out, **given)
        if not self.printed(found):
            Console().print(found.table())
        return DONE
