"""A policy of a tree of ours, as OpenSpiel's algorithms take it. Needs the package `open_spiel`."""

from open_spiel.python import policy as open_spiel_policy

from ttt_envs.integrations.open_spiel import SpielGame
from ttt_envs.solvers.sequence import Tree


class OpenSpielPolicy(open_spiel_policy.Policy):
    """Looks a player's information set up by the digest that `ttt_envs.solvers.tree` gives it."""

    def __init__(self, game: SpielGame, tree: Tree, policy):
        super().__init__(game, [0, 1])
        self.tables = [tree.table(player, part) for player, part in enumerate(policy)]
        self.rows = [{each.tobytes(): k for k, each in enumerate(mine.digests)} for mine in tree.players]

    def action_probabilities(self, state, player_id=None):
        """The probability of each legal action."""
        player = state.current_player() if player_id is None else player_id
        row = self.tables[player][self.rows[player][state.node.known[player].tobytes()]]
        return {action: float(row[action]) for action in state.legal_actions(player)}
