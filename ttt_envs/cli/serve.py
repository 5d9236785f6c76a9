"""`ttt serve`: play and watch games in the browser."""

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

import tyro


@dataclass(frozen=True, kw_only=True)
class Serve:
    """Open a page to play, watch and replay games in the browser, on this machine."""

    games: Annotated[
        tyro.conf.Positional[tuple[str, ...]], tyro.conf.arg(metavar="[GAME ...]", help_behavior_hint="")
    ] = ()
    """Games of your own that are offered beside the library's, as module:function."""
    port: int = 8000
    """Port to listen at; 0 for any that is free."""
    agents: Annotated[tuple[str, ...], tyro.conf.arg(metavar="[AGENT ...]", help_behavior_hint="")] = ()
    """Agents that can be played against beside the library's own, such as network:runs/x or my_agent.py:Name."""
    records: Annotated[Path | None, tyro.conf.arg(metavar="FOLDER", help_behavior_hint="")] = None
    """Folder with recorded games to look at, by default one in your data folder. Games played on the page are saved in
    its folder `played`."""
    open: bool = False
    """Open the page in the browser."""

    def run(self) -> None:
        """Serve until interrupted."""
        from ttt_envs.registry import register_from
        from ttt_envs.web.server import serve

        for each in self.games:
            register_from(each)
        serve(self.port, agents=self.agents, records=self.records, opening=self.open)
