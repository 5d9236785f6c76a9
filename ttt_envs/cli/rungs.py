"""`ttt rungs`: the rungs of a ladder."""

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

import tyro

from ttt_envs import registry
from ttt_envs.cli.common import GameOptions, Printing
from ttt_envs.registry import parse_options


@dataclass(frozen=True, kw_only=True)
class Rungs(GameOptions, Printing):
    """Show the rungs of a ladder and their scores against each other."""

    game: Annotated[tyro.conf.Positional[str], tyro.conf.arg(metavar="[GAME]", help_behavior_hint="")] = ""
    """Id of the game."""
    table: Annotated[Path | None, tyro.conf.arg(metavar="FILE", help_behavior_hint="")] = None
    """File of a ladder, as `ttt calibrate` writes it, in the place of a game."""

    def run(self) -> None:
        """Print the ladder, or all of them."""
        from rich.console import Console

        from ttt_envs.evaluation.placements.ladder import find, read

        if self.table is not None and (self.game or self.option):
            raise ValueError("a --table names its game and its options itself: leave them out")
        if self.table is None and not self.game:
            raise ValueError("name a game, as in `ttt rungs GAME`, or a --table")
        console = Console()
        if self.table is not None:
            found = read(self.table)
        else:
            found = find(registry.load(self.game, **parse_options(self.game, self.option)))
        if self.printed(found, found.json):
            return
        for table in found.tables():
            console.print(table)
            console.print()
        command = found.made.get("command", "unknown")
        console.print(f"Version {found.version} ({found.digest}), made by", highlight=False)
        console.print(str(command), markup=False, highlight=False, soft_wrap=True)
