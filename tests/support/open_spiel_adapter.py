"""A game as OpenSpiel sees it, so that its algorithms can check ours. Needs the package `open_spiel`.

Chance is explicit, by `core.chance`; players who act at once choose one after the other; an information state is all
that a player was shown and did. Positions are made when they are first asked for and kept, and the states of OpenSpiel
only point at them: its algorithms copy states all the time.
"""

import hashlib
from functools import cached_property

import numpy as np
import pyspiel
from open_spiel.python import policy as open_spiel_policy

from ttt_envs.core import rng
from ttt_envs.core.chance import chance_of
from ttt_envs.core.game import Game
from ttt_envs.solvers.sequence import Tree
from ttt_envs.solvers.tree import absorb_rows


class Node:
    """A position, a choice of chance or a part of several players' choice at once; never changed.

    Attributes:
        states: structured (1,), the position; None before the start.
        known: one bytes a player, all that he was shown and did.
        digests: uint64 (2, 2), the same as `ttt_envs.solvers.tree` has it.
        chosen: actions of this ply so far, by player.
        outcomes: of chance, probabilities and states; None if it is a player's choice.
    """

    def __init__(self, game, states, known, digests, chosen, outcomes=None):
        self.game, self.states, self.known, self.digests = game, states, known, digests
        self.chosen, self.outcomes = chosen, outcomes
        self.children = {}

    def __deepcopy__(self, memo):
        return self

    @classmethod
    def root(cls, game):
        """Chance, before the start."""
        digests = np.full((2, 2), rng.fold(0, 0))
        return cls(game, None, (b"", b""), digests, {}, chance_of(game).starts())

    @classmethod
    def position(cls, game, states, known, digests):
        """A position, which both players look at."""
        known, digests = list(known), digests.copy()
        masks, seen = np.empty((1, game.num_actions), np.bool_), np.empty((1, game.observation_size), np.int8)
        for player in range(2):
            game.loops.mask_rows(states, np.array([player]), masks)
            game.loops.observe_rows(states, np.array([player]), seen)
            known[player] = learnt(known[player], seen.tobytes(), masks.tobytes())
            if not states["done"][0]:
                absorb_rows(digests[player : player + 1], seen.view(np.uint8))
                absorb_rows(digests[player : player + 1], masks.view(np.uint8))
        return cls(game, states, tuple(known), digests, {})

    @cached_property
    def done(self):
        """Whether the game is finished."""
        return self.outcomes is None and bool(self.states["done"][0])

    @cached_property
    def legal(self):
        """The legal actions of who is to choose."""
        return [int(action) for action in np.flatnonzero(self.mask(self.player))]

    @cached_property
    def player(self):
        """Who is to choose: of those who act in the position, the first who has not chosen yet."""
        return next(player for player in range(2) if player not in self.chosen and self.mask(player).any())

    def mask(self, player):
        """Legal actions of a player in the position, bool (num_actions,)."""
        masks = np.empty((1, self.game.num_actions), np.bool_)
        self.game.loops.mask_rows(self.states, np.array([player]), masks)
        return masks[0]

    def child(self, action):
        """What an action, or an outcome of chance, leads to."""
        if action not in self.children:
            self.children[action] = self.outcome(action) if self.outcomes is not None else self.choice(action)
        return self.children[action]

    def outcome(self, number):
        """The position after an outcome of chance."""
        return Node.position(self.game, self.outcomes[1][number : number + 1], self.known, self.digests)

    def choice(self, action):
        """What follows a player's choice: another's, chance, or a position."""
        chosen = {**self.chosen, self.player: action}
        if any(player not in chosen and self.mask(player).any() for player in range(2)):
            return Node(self.game, self.states, self.known, self.digests, chosen)
        known, digests = list(self.known), self.digests.copy()
        for player in range(2):
            done = np.array([[chosen.get(player, -1)]])
            known[player] = learnt(known[player], done.tobytes())
            absorb_rows(digests[player : player + 1], done.view(np.uint8))
        joint = np.array([[chosen.get(player, 0) for player in range(2)]])
        _, probabilities, states = chance_of(self.game).outcomes(self.states, joint)
        if len(states) == 1:
            return Node.position(self.game, states, known, digests)
        return Node(self.game, self.states, tuple(known), digests, {}, (probabilities, states))


def learnt(known: bytes, *parts: bytes) -> bytes:
    """What was known and these, as a digest."""
    digest = hashlib.blake2b(known, digest_size=16)
    for part in parts:
        digest.update(part)
    return digest.digest()


class OpenSpielState(pyspiel.State):
    """Points at a node."""

    def __init__(self, game):
        super().__init__(game)
        self.node = game.root

    def current_player(self):
        """A player's number, or OpenSpiel's for chance or for the end."""
        if self.node.done:
            return pyspiel.PlayerId.TERMINAL
        return pyspiel.PlayerId.CHANCE if self.node.outcomes is not None else self.node.player

    def _legal_actions(self, player):
        return self.node.legal if player == self.node.player else []

    def chance_outcomes(self):
        """Numbers and probabilities."""
        return [(k, float(chance)) for k, chance in enumerate(self.node.outcomes[0])]

    def _apply_action(self, action):
        self.node = self.node.child(int(action))

    def _action_to_string(self, player, action):
        return f"outcome {action}" if player < 0 else self.node.game.action_names[action]

    def is_terminal(self):
        """Whether the game is over."""
        return self.node.done

    def returns(self):
        """Of both players."""
        return [float(each) for each in self.node.states["rewards"][0]] if self.node.done else [0.0, 0.0]

    def information_state_string(self, player=None):
        """All that the player was shown and did, as a digest."""
        player = self.current_player() if player is None else player
        return f"{player}:{self.node.known[player].hex()}"

    def __str__(self):
        return self.history_str()


class OpenSpielGame(pyspiel.Game):
    """A game of ours with two players and zero sum."""

    def __init__(self, game: Game):
        kind = pyspiel.GameType(
            short_name=f"ttt_envs_{game.id}",
            long_name=game.title,
            dynamics=pyspiel.GameType.Dynamics.SEQUENTIAL,
            chance_mode=pyspiel.GameType.ChanceMode.EXPLICIT_STOCHASTIC,
            information=pyspiel.GameType.Information.IMPERFECT_INFORMATION,
            utility=pyspiel.GameType.Utility.ZERO_SUM,
            reward_model=pyspiel.GameType.RewardModel.TERMINAL,
            max_num_players=2,
            min_num_players=2,
            provides_information_state_string=True,
            provides_information_state_tensor=False,
            provides_observation_string=False,
            provides_observation_tensor=False,
        )
        self.root = Node.root(game)
        facts = pyspiel.GameInfo(
            num_distinct_actions=game.num_actions,
            max_chance_outcomes=1 << 20,
            num_players=2,
            min_utility=-1.0,
            max_utility=1.0,
            utility_sum=0.0,
            max_game_length=2 * game.max_plies,
        )
        super().__init__(kind, facts, {})

    def new_initial_state(self):
        """Before the start."""
        return OpenSpielState(self)

    def make_py_observer(self, iig_obs_type=None, params=None):
        """Who tells OpenSpiel's compiled algorithms what a player knows."""
        return Observer()


class Observer:
    """Words alone, no tensor."""

    def __init__(self):
        self.tensor, self.dict = np.zeros(0, np.float32), {}

    def set_from(self, state, player):
        """Nothing to fill."""

    def string_from(self, state, player):
        """The information state."""
        return OpenSpielState.information_state_string(state, player)


class OpenSpielPolicy(open_spiel_policy.Policy):
    """A policy of a tree of ours."""

    def __init__(self, game: OpenSpielGame, tree: Tree, policy):
        super().__init__(game, [0, 1])
        self.tables = [tree.table(player, part) for player, part in enumerate(policy)]
        self.rows = [{each.tobytes(): k for k, each in enumerate(mine.digests)} for mine in tree.players]

    def action_probabilities(self, state, player_id=None):
        """The probability of each legal action."""
        player = state.current_player() if player_id is None else player_id
        row = self.tables[player][self.rows[player][state.node.digests[player].tobytes()]]
        return {action: float(row[action]) for action in state.legal_actions(player)}
