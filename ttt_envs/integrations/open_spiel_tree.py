"""The tree of a game as OpenSpiel walks it: positions, choices of chance, and choices at once one after the other."""

from collections import deque
from collections.abc import Mapping
from functools import cache
from typing import Any
from weakref import WeakValueDictionary

import numpy as np

from ttt_envs.core import rng
from ttt_envs.core.chance import chance_of
from ttt_envs.core.game import Game
from ttt_envs.core.known import absorb_rows

# Nodes that a game keeps; each takes about a kilobyte.
_KEPT = 100_000

# Outcomes that are sampled for a chance node which cannot be enumerated.
_SAMPLES = 128

Outcomes = tuple[np.ndarray, np.ndarray]


class Graph:
    """The part that all nodes of a game share.

    Attributes:
        game: the game.
        explicit: whether all its chance can be enumerated.
        kept: the latest nodes; the others live as long as somebody points at them.
    """

    def __init__(self, game: Game, seed: int | None = None) -> None:
        """`seed` fixes what is sampled."""
        self.game = game
        self.explicit = is_explicit(game)
        self.kept: deque[Node] = deque(maxlen=_KEPT)
        self._generator = np.random.default_rng(seed)

    def start(self) -> "Node":
        """The start, which chance makes if there is any."""
        known = np.full((self.game.num_players, 2), rng.fold(0, 0))
        if not self.game.stochastic:
            return Node.position(self, self.game.new_state(seed=0), known)
        return Node(self, None, known, {}, chance_of(self.game).starts() if self.explicit else self._sampled(None))

    def outcomes(self, states: np.ndarray, joint: np.ndarray) -> Outcomes:
        """The outcomes of a step: float64 (k,) probabilities and states (k,)."""
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
    """Tell whether all chance of a game can be enumerated, as far as one random game shows."""
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
    """A position, a choice of chance, or a part of several players' choice at once. It never changes.

    Attributes:
        graph: what it shares with the other nodes.
        states: structured (1,), the position; None before the start.
        known: uint64 (players, 2), digests of all that each player was shown and did.
        chosen: the actions of this ply so far, by player.
        outcomes: of chance; None where a player chooses.
        done: whether the game is over.
        player: the player to choose, of those who act at once the first who has not chosen; -1 for nobody.
        legal: that player's actions.
    """

    def __init__(
        self,
        graph: Graph,
        states: np.ndarray | None,
        known: np.ndarray,
        chosen: Mapping[int, int],
        outcomes: Outcomes | None = None,
    ) -> None:
        self.graph, self.states, self.known = graph, states, known
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
        # Without the graph: a state makes a node of that of its own game's.
        return tuple, ((self.states, self.known, self.chosen, self.outcomes),)

    @classmethod
    def position(cls, graph: Graph, states: np.ndarray, known: np.ndarray) -> "Node":
        """A position, which all players look at."""
        game, known = graph.game, known.copy()
        if not states["done"][0]:
            players = np.arange(game.num_players)
            everywhere = np.repeat(states, len(players))
            seen = np.empty((len(players), game.observation_size), np.int8)
            masks = np.empty((len(players), game.num_actions), np.bool_)
            game.loops.observe_rows(everywhere, players, seen)
            game.loops.mask_rows(everywhere, players, masks)
            absorb_rows(known, seen.view(np.uint8))
            absorb_rows(known, masks.view(np.uint8))
        return cls(graph, states, known, {})

    def mask(self, player: int) -> np.ndarray:
        """Legal actions of a player in the position, bool (num_actions,)."""
        masks = np.empty((1, self.graph.game.num_actions), np.bool_)
        self.graph.game.loops.mask_rows(self.states, np.array([player]), masks)
        return masks[0]

    def observation(self, player: int) -> np.ndarray:
        """The observation of a player, int8 (observation size,); zeros before the start."""
        seen = np.zeros((1, self.graph.game.observation_size), np.int8)
        if self.states is not None:
            self.graph.game.loops.observe_rows(self.states, np.array([player]), seen)
        return seen[0]

    def child(self, action: int) -> "Node":
        """The node that an action, or an outcome of chance, leads to."""
        child = self.children.get(action)
        if child is None:
            if self.outcomes is None:
                child = self._choice(action)
            else:
                child = Node.position(self.graph, self.outcomes[1][action : action + 1], self.known)
            self.children[action] = child
        return child

    def _choice(self, action: int) -> "Node":
        assert self.states is not None
        graph, players = self.graph, range(self.graph.game.num_players)
        chosen = {**self.chosen, self.player: action}
        if any(player not in chosen and self.mask(player).any() for player in players):
            return Node(graph, self.states, self.known, chosen)
        known = self.known.copy()
        absorb_rows(known, np.array([[chosen.get(player, -1)] for player in players]).view(np.uint8))
        probabilities, states = graph.outcomes(self.states, np.array([[chosen.get(player, 0) for player in players]]))
        if len(states) == 1:
            return Node.position(graph, states, known)
        return Node(graph, self.states, known, {}, (probabilities, states))
