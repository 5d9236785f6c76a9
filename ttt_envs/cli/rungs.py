"""`ttt rungs`: the ladders of fixed opponents, and the rungs of one of them."""

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

import tyro

from ttt_envs import registry
from ttt_envs.cli.common import GameOptions, Printing
from ttt_envs.registry import parse_options


@dataclass(frozen=True, kw_only=True)
class Rungs(GameOptions, Printing):
    """Show the ladders that come with the games, or the rungs of one ladder and their scores against each other."""

    game: Annotated[tyro.conf.Positional[str], tyro.conf.arg(metavar="[GAME]", help_behavior_hint="")] = ""
    """Id of the game; without one all ladders are listed."""
    table: Annotated[Path | None, tyro.conf.arg(metavar="FILE", help_behavior_hint="")] = None
    """File of a ladder, as `ttt calibrate` writes it, in the place of a game."""

    def run(self) -> None:
        """Print the ladder, or all of them."""
        from rich.console import Console

        from ttt_envs.evaluation.placements.ladder import find, read
        from ttt_envs.evaluation.placements.ladders import all_ladders, overview
        from ttt_envs.storage.rows import Listed

        if self.table is not None and (self.game or self.option):
            raise ValueError("a --table names its game and its options itself: leave them out")
        if self.option and not self.game:
            raise ValueError("--option belongs to a game: name it, as in `ttt rungs GAME --option NAME=VALUE`")
        console = Console()
        if self.table is None and not self.game:
            every = [{"game": name, **row} for name, each in all_ladders().items() for row in each.rows()]
            if not self.printed(Listed(every)):
                console.print(overview())
            return
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
