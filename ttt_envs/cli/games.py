"""`ttt games`: the games and their facts."""

from dataclasses import dataclass

import rich.box
from rich.console import Console
from rich.table import Table

import ttt_envs


@dataclass(frozen=True)
class Games:
    """List the games and their facts, with default options."""

    def run(self) -> None:
        """Print a table, one row an id."""
        table = Table(box=rich.box.SIMPLE_HEAD, pad_edge=False)
        for name in ("id", "title", "players", "actions", "features", "plies at most", "chance", "hidden", "at once"):
            table.add_column(name, justify="left" if name in ("id", "title") else "right")
        for game_id in ttt_envs.GAMES:
            game = ttt_envs.load(game_id)
            facts = (game.stochastic, game.hidden_information, game.simultaneous)
            numbers = (game.num_players, game.num_actions, game.observation_size, game.max_plies)
            table.add_row(game_id, game.title, *map(str, numbers), *("yes" if fact else "no" for fact in facts))
        Console().print(table)
