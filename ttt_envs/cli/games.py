"""`ttt games`: the games and their facts."""

from dataclasses import dataclass

from ttt_envs import registry
from ttt_envs.cli.common import Printing
from ttt_envs.cli.layout import table


@dataclass(frozen=True, kw_only=True)
class Games(Printing):
    """List the games and their facts, with default options.

    Features is the size of an observation, and plies the length of the longest game. Kind says whether a game has
    chance, hidden information or simultaneous moves. The beginning of an id will do wherever a game is named: `super`,
    `dice`.
    """

    def run(self) -> None:
        """Print a table, one row per id."""
        from ttt_envs.storage.rows import Listed

        found = []
        for game_id in registry.GAMES:
            game = registry.load(game_id)
            # These words are short so that no line of the table is longer than 80 columns.
            facts = {"chance": game.stochastic, "hidden": game.hidden_information, "simultaneous": game.simultaneous}
            kind = ", ".join(name for name, is_so in facts.items() if is_so)
            sizes = {"players": game.num_players, "actions": game.num_actions, "features": game.observation_size}
            found.append({"game": game_id, **sizes, "plies": game.max_plies, "kind": kind or "perfect information"})
        if not self.printed(Listed(found)):
            rows = [list(found[0]), *([str(value) for value in each.values()] for each in found)]
            print("\n".join(table(rows, right=range(1, 5))))
