"""`ttt study`: learning methods compared on tasks with exact measures."""

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

import tyro

from ttt_envs.cli.shell import DONE, INTERRUPTED
from ttt_envs.storage.extras import require


@dataclass(frozen=True, kw_only=True)
class Study:
    """Compare learning methods: train a grid of tasks, methods and seeds, and write the page; or a page of runs.

    FILE.toml is the plan of a grid; interrupted (Ctrl-C) or killed, the same command goes on. In its place may be the
    tables (table.csv) of several studies, which are put on one page; or run folders, or folders of several seeds, with
    a label before each, as in ppo=runs/ppo dqn=runs/dqn: then their curves are put on one page. It needs the extra
    `train`.
    """

    given: Annotated[
        tyro.conf.Positional[tuple[str, ...]],
        tyro.conf.arg(metavar="FILE.toml | TABLE.csv ... | [LABEL=]RUN ...", help_behavior_hint=""),
    ] = ()
    """The plan; or tables of studies; or run folders, or folders of several seeds."""
    quick: bool = False
    """Train a built-in grid of two tasks and three methods that takes seconds."""
    out: Annotated[Path | None, tyro.conf.arg(metavar="FOLDER", help_behavior_hint="")] = None
    """Folder for runs and page; by default runs/ and the name of the plan, runs/quick, or runs/compare."""
    workers: Annotated[int | str, tyro.conf.arg(metavar="N|ray[:ADDRESS]")] = 0
    """Processes that train runs, 0 for one a processor; or a Ray cluster whose nodes share --out: ray starts one
    on this machine, ray:127.0.0.1:6379 joins one."""
    x: str = "steps"
    """Horizontal axis of a page of runs: steps, or seconds of wall time. A grid has both steps and processor time."""

    def run(self) -> int:
        """Train what is left and write the page; returns the exit status of success, or of an interrupt."""
        require("train", "torch", "stable_baselines3", "sb3_contrib", "matplotlib")
        plans, tables = ([each for each in self.given if each.endswith(end)] for end in (".toml", ".csv"))
        if not self.quick and not plans and not tables:
            return self._page_of_runs()
        from ttt_envs.studies import grid
        from ttt_envs.studies.page import write_page, write_page_of_tables

        if tables and len(tables) == len(self.given) and not self.quick:
            print(write_page_of_tables(tables, self.out or Path("runs/compare")))
            return DONE
        if len(self.given) != (0 if self.quick else 1) or tables:
            raise ValueError("give one plan, --quick, tables of studies, or run folders")
        plan = grid.plan_of(grid.QUICK) if self.quick else grid.read_plan(plans[0])
        out = self.out or Path("runs") / ("quick" if self.quick else Path(plans[0]).stem)
        plan = grid.budgeted(plan, out, self.workers, print)
        complete = grid.train(plan, out, self.workers, print)
        try:
            print(write_page(plan, out, complete))
        except ValueError as error:
            if complete:
                raise
            raise KeyboardInterrupt(error) from None
        print(f"The page, its table as CSV and LaTeX, and curves as PNG, SVG and PDF are in {out}")
        return DONE if complete else INTERRUPTED

    def _page_of_runs(self) -> int:
        from ttt_envs.studies.runs import compare

        print(compare(self.given, self.out or Path("runs/compare"), self.x))
        return DONE
