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
    host: str = "127.0.0.1"
    """Address to listen at; with 0.0.0.0 all who can reach this machine can play."""
    port: int = 8000
    """Port to listen at; 0 for any that is free."""
    agents: Annotated[tuple[str, ...], tyro.conf.arg(metavar="[AGENT ...]", help_behavior_hint="")] = ()
    """Agents that can be played against beside the library's own, such as network:runs/x or my_agent.py:Name."""
    records: Annotated[Path | None, tyro.conf.arg(metavar="FOLDER", help_behavior_hint="")] = None
    """Folder with games of `ttt tournament --record` to be looked at."""
    data: Annotated[Path | None, tyro.conf.arg(metavar="FILE", help_behavior_hint="")] = None
    """File that keeps the games; by default one in your data folder."""

    open: bool = False
    """Open the page in the browser."""

    def run(self) -> None:
        """Serve until interrupted."""
        from ttt_envs.registry import register_from
        from ttt_envs.web.server import serve

        for each in self.games:
            register_from(each)
        serve(self.host, self.port, agents=self.agents, records=self.records, data=self.data, opening=self.open)
