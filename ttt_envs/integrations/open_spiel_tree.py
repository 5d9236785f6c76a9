"""A game's tree for OpenSpiel: positions, chance nodes, and simultaneous choices made one after the other."""

from collections import deque
from collections.abc import Mapping
from functools import cache
from typing import Any
from weakref import WeakValueDictionary

import numpy as np

from ttt_envs.core.chance import chance_of
from ttt_envs.core.game import Game
from ttt_envs.core.information import begin, decisions, note, show

# The most nodes that a game keeps; each takes about a kilobyte.
_KEPT = 100_000

# Number of sampled outcomes of a chance node that cannot be enumerated.
_SAMPLES = 128

Outcomes = tuple[np.ndarray, np.ndarray]
Past = tuple[tuple[np.ndarray, ...], ...]


class Graph:
    """The parts that all nodes of a game share.

    Attributes:
        game: the game.
        history: number of each player's last decisions that a node keeps.
        explicit: whether the game's chance can be enumerated.
        kept: the latest nodes; other nodes exist only while something refers to them.
    """

    def __init__(self, game: Game, seed: int | None = None, history: int = 0) -> None:
        """`seed` determines the samples; `history`: see the attribute."""
        self.game, self.history = game, history
        self.explicit = is_explicit(game)
        self.kept: deque[Node] = deque(maxlen=_KEPT)
        self._generator = np.random.default_rng(seed)

    def start(self) -> "Node":
        """Return the root, a chance node if the start is random."""
        known, past = self.beginning()
        if not self.game.stochastic:
            return Node.position(self, self.game.new_state(seed=0), known, past)
        return Node(
            self,
            None,
            known,
            {},
            past=past,
            outcomes=chance_of(self.game).starts() if self.explicit else self._sampled(None),
        )

    def beginning(self) -> tuple[np.ndarray, Past]:
        """Return `Node.known` and `Node.past` before the first observation."""
        return begin(1, self.game.num_players)[0], ((),) * self.game.num_players

    def outcomes(self, states: np.ndarray, joint: np.ndarray) -> Outcomes:
        """Return the k outcomes of the joint choice: probabilities, float64 (k,), and states, structured (k,)."""
        if not self.game.stochastic:
            states = states.copy()
            self.game.loops.step_rows(states, np.zeros(1, np.int64), joint)
            return np.ones(1), states
        if self.explicit:
            return chance_of(self.game).outcomes(states, joint)[1:]
        return self._sampled(states, joint)

    def _sampled(self, states: np.ndarray | None, joint: np.ndarray | None = None) -> Outcomes:
        rows, seeds = np.arange(_SAMPLES), self._generator.integers(2**64, size=_SAMPLES, dtype=np.uint64)
        states_ = np.repeat(self.game.prototype if states is None else states, _SAMPLES)
        if joint is None:
            self.game.loops.reset_rows(states_, rows, self.game.prototype, seeds)
        else:
            states_["rng"] = seeds
            self.game.loops.step_rows(states_, rows, np.repeat(joint, _SAMPLES, axis=0))
        states_["rng"] = 0
        _, first, counts = np.unique(states_.view(f"V{states_.itemsize}"), return_index=True, return_counts=True)
        return counts / _SAMPLES, states_[first]


@cache
def is_explicit(game: Game) -> bool:
    """Return whether `core.chance` can enumerate the game's chance, as tried in one random game."""
    if not game.stochastic:
        return True
    generator = np.random.default_rng(0)
    chance, players = chance_of(game), range(game.num_players)
    try:
        states = chance.starts()[1][:1]
        while not states["done"][0]:
            masks = [game.masks(states, [player])[0] for player in players]
            joint = [int(generator.choice(np.flatnonzero(mask))) if mask.any() else 0 for mask in masks]
            states = chance.outcomes(states, np.array([joint]))[2]
            states = states[[generator.integers(len(states))]]
    except ValueError:
        return False
    return True


class Node:
    """A position, a chance node, or a position in which some of several simultaneous choices are made. It never
    changes.

    Attributes:
        graph: the parts shared with other nodes.
        states: structured (1,), the position; None before the start.
        known: uint64 (players, 2), digests of each player's observations and actions.
        past: for each player, the last decisions, the newest first: int8 (features,), as in
            `core.information.decisions`.
        chosen: player -> action, the choices made so far in this ply.
        outcomes: the outcomes of chance; None if a player chooses.
        done: whether the game is over.
        player: the player to choose; with simultaneous choices, the first player who has not chosen; -1 for none.
        legal: that player's actions.
    """

    def __init__(
        self,
        graph: Graph,
        states: np.ndarray | None,
        known: np.ndarray,
        chosen: Mapping[int, int],
        outcomes: Outcomes | None = None,
        *,
        past: Past,
    ) -> None:
        self.graph, self.states, self.known, self.past = graph, states, known, past
        self.chosen, self.outcomes = dict(chosen), outcomes
        self.children: WeakValueDictionary[int, Node] = WeakValueDictionary()
        self.done = outcomes is None and states is not None and bool(states["done"][0])
        self.player, self.legal = -1, list[int]()
        if outcomes is None and not self.done:
            self.player = next(p for p in range(graph.game.num_players) if p not in chosen and self.mask(p).any())
            self.legal = np.flatnonzero(self.mask(self.player)).tolist()
        graph.kept.append(self)

    def __deepcopy__(self, memo: dict[int, Any]) -> "Node":
        return self  # OpenSpiel copies states all the time

    def __reduce__(self) -> tuple[Any, ...]:
        # Pickle the node without its graph: a state makes a new node from the data, with the graph of its own game.
        return tuple, ((self.states, self.known, self.chosen, self.outcomes, self.past),)

    @classmethod
    def position(cls, graph: Graph, states: np.ndarray, known: np.ndarray, past: Past) -> "Node":
        """Return the node of a position, after all players observe it."""
        digests = known[None].copy()
        if not states["done"][0]:
            show(graph.game, states, digests)
        return cls(graph, states, digests[0], {}, past=past)

    def mask(self, player: int) -> np.ndarray:
        """Return the legal actions of a player in the position, bool (num_actions,)."""
        masks = np.empty((1, self.graph.game.num_actions), np.bool_)
        self.graph.game.loops.mask_rows(self.states, np.array([player]), masks)
        return masks[0]

    def observation(self, player: int) -> np.ndarray:
        """Return the observation of a player, int8 (observation size,); zeros before the start."""
        seen = np.zeros((1, self.graph.game.observation_size), np.int8)
        if self.states is not None:
            self.graph.game.loops.observe_rows(self.states, np.array([player]), seen)
        return seen[0]

    def information_state(self, player: int) -> np.ndarray:
        """Return a player's observation and the player's last decisions, int8 (game.encoded_size(history),)."""
        game, own = self.graph.game, self.past[player]
        missing = (self.graph.history - len(own)) * (game.observation_size + game.num_actions)
        return np.concatenate([self.observation(player), *own, np.zeros(missing, np.int8)])

    def child(self, action: int) -> "Node":
        """Return the node after an action or an outcome of chance."""
        child = self.children.get(action)
        if child is None:
            if self.outcomes is None:
                child = self._choice(action)
            else:
                child = Node.position(self.graph, self.outcomes[1][action : action + 1], self.known, self.past)
            self.children[action] = child
        return child

    def _choice(self, action: int) -> "Node":
        assert self.states is not None
        graph, players = self.graph, range(self.graph.game.num_players)
        chosen = {**self.chosen, self.player: action}
        if any(player not in chosen and self.mask(player).any() for player in players):
            return Node(graph, self.states, self.known, chosen, past=self.past)
        digests = self.known[None].copy()
        note(digests, np.array([[chosen.get(player, -1) for player in players]]))
        past = tuple(self._with_decision(player, chosen.get(player)) for player in players)
        probabilities, states = graph.outcomes(self.states, np.array([[chosen.get(player, 0) for player in players]]))
        if len(states) == 1:
            return Node.position(graph, states, digests[0], past)
        return Node(graph, self.states, digests[0], {}, (probabilities, states), past=past)

    def _with_decision(self, player: int, action: int | None) -> tuple[np.ndarray, ...]:
        """Return a player's past with the decision `action` at this node added; unchanged if `action` is None."""
        if action is None or self.states is None or not self.graph.history:
            return self.past[player]
        row = decisions(self.graph.game, self.states, player, np.array([action]))[0]
        return (row, *self.past[player][: self.graph.history - 1])
