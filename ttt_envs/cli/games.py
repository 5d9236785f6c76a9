"""`ttt games`: the games and their facts."""

from dataclasses import dataclass

from ttt_envs import registry
from ttt_envs.cli.layout import table


@dataclass(frozen=True)
class Games:
    """List the games and their facts, with default options.

    Features is the size of an observation, Plies the length of the longest game. Kind is the difference from a game of
    perfect information.
    """

    def run(self) -> None:
        """Print a table, one row an id."""
        rows: list[tuple[str, ...]] = [("game", "players", "actions", "features", "plies", "kind")]
        for game_id in registry.GAMES:
            game = registry.load(game_id)
            numbers = (game.num_players, game.num_actions, game.observation_size, game.max_plies)
            # Short, so that no line is longer than 80 columns.
            facts = {"chance": game.stochastic, "hidden": game.hidden_information, "simultaneous": game.simultaneous}
            kind = ", ".join(name for name, is_so in facts.items() if is_so)
            rows.append((game_id, *map(str, numbers), kind or "perfect information"))
        print("\n".join(table(rows, right=range(1, 5))))
