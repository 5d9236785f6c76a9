"""`ttt study`: learning methods compared on tasks with exact measures."""

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

import tyro

from ttt_envs.cli.shell import DONE, INTERRUPTED
from ttt_envs.storage.extras import require


@dataclass(frozen=True, kw_only=True)
class Study:
    """Compare learning methods: train by a plan, and write the page; or measure agents on a task of studies.

    If it is interrupted (Ctrl-C) or killed, the same command goes on. It needs the extra `train`.
    """

    plan: Annotated[tyro.conf.Positional[Path | None], tyro.conf.arg(metavar="[FILE.toml]", help_behavior_hint="")] = (
        None
    )
    """The plan."""
    quick: bool = False
    """Train by a built-in plan that takes half a minute."""
    task: str | None = None
    """Measure --agents on this task, as runs are measured."""
    agents: Annotated[tuple[str, ...], tyro.conf.arg(metavar="[AGENT ...]")] = ()
    """The agents, with --task."""
    seeds: int = 3
    """Number of seeds to measure each agent with, with --task; exact measures are the same with all."""
    trust: Annotated[tuple[str, ...], tyro.conf.arg(metavar="[FILE.py:NAME ...]")] = ()
    """Functions and agents of your own that the plan may run."""
    out: Annotated[Path | None, tyro.conf.arg(metavar="FOLDER", help_behavior_hint="")] = None
    """Folder for runs and page; by default runs/ and the name of the plan, or runs/quick."""
    workers: Annotated[int | str, tyro.conf.arg(metavar="N|ray[:ADDRESS]")] = 0
    """Processes that train runs, 0 for one per processor; or a Ray cluster whose nodes share --out: ray starts one
    on this machine, ray:127.0.0.1:6379 joins one."""

    def run(self) -> int:
        """Run the study or the measurement; return the exit status of success or of an interrupt."""
        require("train", "torch", "stable_baselines3", "sb3_contrib", "matplotlib")
        from ttt_envs.studies import grid, page
        from ttt_envs.studies.plan import QUICK, read_plan

        given = (self.plan is not None, self.quick, self.task is not None)
        if sum(given) != 1 or (self.task is not None) != bool(self.agents):
            raise ValueError("give one of a plan, --quick, or --task with --agents")
        if self.task is not None:
            rows = page.baselines({self.task: self.agents}, range(self.seeds), self.workers)
            print(page.page(rows).replace(page.PICTURE, ""))
            return DONE
        path = self.plan or QUICK
        plan, out = read_plan(path, self.trust), self.out or Path("runs") / path.stem
        complete = grid.carry_out(plan, out, self.workers, print)
        try:
            print(page.write_page(plan, out, self.workers))
        except ValueError as error:
            if complete:
                raise
            raise KeyboardInterrupt(error) from None
        print(f"The page, its table and its picture are in {out}")
        return DONE if complete else INTERRUPTED
