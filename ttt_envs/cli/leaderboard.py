"""`ttt leaderboard`: one page from many files of results."""

import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

import tyro

from ttt_envs.cli.common import Printing


@dataclass(frozen=True, kw_only=True)
class Leaderboard(Printing):
    """Make one page, as HTML and as Markdown, from all result files in a folder and below it.

    It takes results.json of tournaments, ladders, regret, mistakes, exploitability, `ttt exploit` and `ttt llm-eval`.
    Other files are named and left out.
    """

    folder: Annotated[tyro.conf.Positional[Path], tyro.conf.arg(metavar="FOLDER")]
    """Folder with the results."""
    out: Annotated[Path | None, tyro.conf.arg(metavar="FOLDER", help_behavior_hint="")] = None
    """Folder for the pages, which must be empty; by default runs/leaderboard, numbered if that is taken."""

    def run(self) -> None:
        """Write the pages, and print which files are left out."""
        from ttt_envs.evaluation.reports.leaderboard import leaderboard
        from ttt_envs.storage.files import unused

        board = leaderboard(self.folder, out=self.out or unused(Path("runs") / "leaderboard", numbered=True))
        for name, reason in board.left_out:
            print(f"left out {name}: {reason}", file=sys.stderr)
        if self.printed(board):
            return
        for heading, tables in board.tables():
            print(f"{heading}: {', '.join(f'{len(table.rows)} in {table.title}' for table, _ in tables)}")
        print(f"leaderboard.md and leaderboard.html are in {board.folder}")
