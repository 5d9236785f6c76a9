"""Gumbel Monte Carlo tree search with a network, for many games in lockstep.

Danihelka, Guez, Schrittwieser and Silver, "Policy improvement by planning with Gumbel", ICLR 2022. A network gives each
position a prior over its actions and a value for each player. At the root, sequential halving distributes the
simulations among the actions with the highest logit plus Gumbel noise. Below the root, actions are visited in
proportion to the improved policy, which is the softmax of the logits plus a monotone function of the "completed"
values. The completed value of a tried action is its mean value; that of an untried one is a mixture of the position's
value and the values of tried actions.

- One network call evaluates the new positions of one simulation in all games.
- Any number of players in any order: values are vectors, and the player to move maximises their own entry.
- Chance: the tree's nodes hold no game states. Each simulation plays from the root with new random draws, and
  recognises positions as in `ttt_envs.agents.search.mcts`. The k-th visits of all actions at the root share their
  random draws, which makes the comparison of actions less noisy.
"""

import math
import time
from collections.abc import Callable
from functools import lru_cache

import numpy as np

from ttt_envs.agents.search import mcts
from ttt_envs.agents.search.gumbel_trees import (
    HEAD,
    Forest,
    Leaves,
    Plan,
    SearchResult,
    edge_for,
    grow,
    node_for,
    read,
    walk_for,
)
from ttt_envs.core.game import Game
from ttt_envs.core.options import within
from ttt_envs.core.state import position_start

#: The most simulations for a decision: the edges of their tree take gigabytes.
MOST_SIMULATIONS = 10**6

#: Prior and value function of observations int8 (n, size), masks bool (n, num_actions) and players to move int64 (n,).
#: The results are logits float (n, num_actions), and each player's expected reward float (n, num_players), -1 to 1.
Evaluate = Callable[[np.ndarray, np.ndarray, np.ndarray], tuple[np.ndarray, np.ndarray]]


def considered_visits(actions: int, simulations: int) -> np.ndarray:
    """Return sequential halving's schedule for a number of root actions, int64 (simulations,).

    Entry s is the number of earlier visits of the root action that simulation s visits.
    """
    if actions < 2:
        return np.arange(simulations)
    phases, left, visits, planned = math.ceil(math.log2(actions)), actions, 0, 0
    parts = []
    while planned < simulations:
        rounds = max(1, simulations // (phases * left))
        parts.append(np.repeat(np.arange(visits, visits + rounds), left))
        visits, planned, left = visits + rounds, planned + rounds * left, max(2, left // 2)
    return np.concatenate(parts)[:simulations]


@lru_cache(maxsize=8)
def visits_table(considered: int, simulations: int) -> np.ndarray:
    """Return the table `Plan.visits`."""
    return np.array([considered_visits(actions, simulations) for actions in range(considered + 1)], np.int32)


def check_gumbel(game: Game, name: str) -> None:
    """Raise ValueError, naming the reason, for simultaneous choices or hidden information."""
    for fact, words in (("simultaneous", "simultaneous choices"), ("hidden_information", "hidden information")):
        if getattr(game, fact):
            raise ValueError(f"{name} needs a game without {words}; {game} does not fit")


def check_proofs(game: Game, name: str) -> None:
    """Raise ValueError for a game in which a search cannot prove the result of an action."""
    if game.num_players != 2 or game.chance == "play":
        raise ValueError(
            f"{name}: proofs=true is for games of two players in which nothing is left to chance after the start; "
            f"{game} does not fit"
        )


class GumbelSearch:
    """Searches up to `games` positions of one game together; the memory is reused."""

    proofs = False

    def __init__(
        self,
        game: Game,
        games: int,
        simulations: int,
        considered: int = 16,
        c_visit: float = 50.0,
        c_scale: float = 0.3,
    ) -> None:
        """Allocate the memory.

        Args:
            game: a game that passes `check_gumbel`, with rewards from -1 to 1.
            games: the most positions to search together.
            simulations: the most simulations for each position.
            considered: number of root actions with which sequential halving begins.
            c_visit: the logits of the improved policy are the prior's plus (`c_visit` + visits of the most visited
                action) * `c_scale` * value, for values from 0 (loss) to 1 (win).
            c_scale: see `c_visit`.

        Raises ValueError for another game, or a number out of range.
        """
        check_gumbel(game, type(self).__name__)
        within(1, 10**6, games=games, considered=considered)
        within(1, MOST_SIMULATIONS, simulations=simulations)
        within(0.0, 1e6, c_visit=c_visit, c_scale=c_scale)
        self.game, self.games, self.simulations = game, games, simulations
        self.considered, self.c_visit, self.c_scale = considered, c_visit, c_scale
        players, actions, size = game.num_players, game.num_actions, simulations + 1
        if self.proofs:
            check_proofs(game, type(self).__name__)
        world = np.repeat(game.prototype, 3)
        # A large allocation is cheap: the system provides memory only when it is used, and no tree reaches this size.
        self._forest = Forest(
            np.zeros(games, HEAD),
            np.empty((games, size), node_for(players)),
            np.empty((games, size * actions), edge_for(players)),
            np.empty((games, size), np.int32),
            np.zeros((games, size if game.stochastic else 0), mcts.INDEX),
            world,
            world[:1].view(np.uint64)[position_start(world.dtype) // 8 :],
            np.empty(actions),
            np.empty(actions, np.bool_),
        )
        self._leaves = Leaves(
            np.empty(games, np.int64),
            np.empty((games, game.observation_size), np.int8),
            np.empty((games, actions), np.bool_),
            np.empty(games, np.int64),
        )
        self._walk = walk_for(game.kernels, game.stochastic and not self.proofs, self.proofs)

    @staticmethod
    def memory_for(game: Game, simulations: int) -> int:
        """Return the most bytes that the search of one position can take."""
        each = node_for(game.num_players).itemsize + game.num_actions * edge_for(game.num_players).itemsize
        return (simulations + 1) * (each + mcts.INDEX.itemsize + 4)

    def search(
        self,
        states: np.ndarray,
        seeds: np.ndarray,
        evaluate: Evaluate,
        noise: np.ndarray | None = None,
        simulations: int | None = None,
        deadline: float | None = None,
    ) -> SearchResult:
        """Search from n positions, at most `games`.

        Args:
            states: structured (n,), none finished. They are not changed.
            seeds: uint64 (n,); a position's search depends only on its own seed, if `evaluate` ignores the batch.
            evaluate: the prior and value function.
            noise: float32 (n, num_actions), Gumbel noise, with which the root compares a random sample of actions,
                drawn without replacement. With None, it compares the actions with the highest prior.
            simulations: simulations for each position; None for the number given to the constructor.
            deadline: time by `time.monotonic` at which the search stops even if it is incomplete.
        """
        n, simulations = len(states), self.simulations if simulations is None else simulations
        if noise is None:
            noise = np.zeros((n, self.game.num_actions), np.float32)
        plan = Plan(states, seeds, noise, visits_table(self.considered, simulations), self.c_visit, self.c_scale)
        forest, leaves = self._forest, self._leaves
        forest.heads[:n] = 0
        forest.tries["branches"][:n, :1] = 0
        forest.tries["digest"][:n, :1] = 0
        for simulation in range(-1, simulations):  # the first pass only makes the roots
            if deadline is not None and simulation > 0 and time.monotonic() >= deadline:
                break
            count = self._walk(simulation, plan, forest, leaves)
            if count:
                asked = leaves.observations[:count], leaves.masks[:count], leaves.players[:count]
                logits, values = evaluate(*asked)
                grow(np.ascontiguousarray(logits, np.float32), np.ascontiguousarray(values, np.float64), leaves, forest)
        result = SearchResult(
            np.empty((n, self.game.num_actions), np.float32),
            np.empty(n, np.int64),
            np.empty((n, self.game.num_players), np.float32),
            np.empty((n, self.game.num_actions), np.float32),
            np.empty((n, self.game.num_actions), np.int32),
        )
        read(plan, forest, result)
        return result


class ProvingSearch(GumbelSearch):
    """Looks two plies beyond each new position for immediate wins, and records proven wins and losses in the tree.

    The game must pass `check_proofs`. Source: Winands, Björnsson and Saito, "Monte-Carlo tree search solver", CG 2008.
    """

    proofs = True
