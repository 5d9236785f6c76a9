"""Information set Monte Carlo tree search, for games with hidden information.

This is SO-ISMCTS (one tree): Cowling, Powley and Whitehouse, "Information set Monte Carlo tree search", IEEE TCIAIG
4(2), 2012. The player at the root is called the searcher. The search differs from `ttt_envs.agents.search.mcts`: each
simulation plays in a new world, sampled consistently with the searcher's view. Further differences:

- A position of the tree represents what the searcher knows. A position in which the searcher is to move is identified
  by the searcher's last action in the tree, which implies everything known before, and by the present observation. A
  position in which another player is to move is identified by that player and by the actions since the searcher's last
  one. So the searcher never acts on cards or secret actions that they do not see, and others do not act on cards that
  the searcher has drawn since that last action.
- Not every action in the tree is legal in every world. Therefore UCB1 counts for each action only those visits of its
  position in which the action was legal. Otherwise actions that are rarely legal would be tried too often.
- The exploration constant of other players varies at random. Otherwise two players who do not see each other's choices
  may synchronise, so that one exploits the other for ever. For simultaneous choices, UCB1 does not converge: Shafiei,
  Sturtevant and Schaeffer, "Comparing UCT versus CFR in simultaneous games", IJCAI workshop on general intelligence in
  game-playing agents, 2009.

If another player is to move, the tree merges all possible hands of that player. In the tree, that player makes the best
average response to the searcher's actual hand. Therefore the search finds no bluffs, and expects none to succeed.

With a network, the agent uses the search of `ttt_envs.agents.search.puct` over the same positions.

`arrive` is a template, which is compiled for each game; `observe` in it is the game's kernel.
"""

# ruff: noqa: F821
# mypy: disable-error-code="no-untyped-def, name-defined"

import math
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np

from ttt_envs.agents.base import kept
from ttt_envs.agents.networks import Network, load_network
from ttt_envs.agents.search import mcts, puct
from ttt_envs.agents.search.horizon import flattened
from ttt_envs.core import rng
from ttt_envs.core.compile import jit
from ttt_envs.core.game import Game
from ttt_envs.core.loops import Kernels, kernels_of
from ttt_envs.core.view import View

#: `available`: number of visits of the position, since the action was added, in which the action was legal.
NODE = np.dtype([*mcts.NODE.descr, ("available", np.int32)], align=True)

# Number of features of an observation that fit into one uint64, one bit per feature.
_WORD = 64


@jit.kernel
def best_child(tree, place, legal, exploration):
    """Return the entry of the legal action with the highest upper confidence bound; 0 if a legal action is untried.

    For players other than the searcher, the exploration constant varies at random by up to a quarter.
    """
    missing = 0
    for action in range(legal.shape[0]):
        missing += legal[action]
    best, highest = 0, -1.0
    child = tree[place]["child"]
    while child:
        if legal[tree[child]["action"]]:
            missing -= 1
            visits, available = tree[child]["visits"], 1 + tree[child]["available"]
            spread = exploration * math.sqrt(math.log(available) / visits)
            if tree[child]["mover"] != tree[0]["mover"]:
                spread *= mcts.vary(tree, child)
            bound = tree[child]["value"] / visits + spread
            if bound > highest:
                best, highest = child, bound
            tree[child]["available"] = available
        child = tree[child]["sibling"]
    return 0 if missing > 0 else best


def arrive(state, tree, index, node, seen):
    """Return the number of the position after action `node`; seen int8 (observation size,) is scratch memory."""
    player, mover = tree[0]["mover"], state["to_move"]
    if mover != player:
        return mcts.find(index, tree[0]["visits"] + 1, rng.fold(node, mover))
    while tree[node]["mover"] != player:
        node = tree[node]["parent"]
    observe(state, player, seen)
    digest, word = rng.fold(node, player), np.uint64(0)
    for k in range(seen.shape[0]):
        if k % _WORD == 0:
            digest, word = rng.mix(digest ^ word), np.uint64(0)
        word = word << np.uint64(1) | np.uint64(seen[k])
    return mcts.find(index, tree[0]["visits"] + 1, rng.mix(digest ^ word))


@jit.kernel
def as_given(state, player, seed):
    """Do nothing. This function replaces a game's `resample` if the agent provides the worlds."""


@cache
def kernel_for(kernels: Kernels, given: bool = False, network: bool = False) -> Callable[..., Any]:
    """Return `mcts.simulate`, or with a network `puct.simulate`, for one game's rules and with this module's `arrive`.

    If the worlds are `given`, they are searched unchanged; otherwise each simulation samples one.
    """
    bound = {**kernels_of(kernels), "observe": kernels.observe}
    if given:
        bound["resample"] = as_given
    if network:
        return jit.specialise(puct.simulate, **bound, arrive=jit.specialise(arrive, observe=kernels.observe))
    return jit.specialise(
        mcts.simulate,
        **bound,
        playout=jit.specialise(mcts.playout, **bound),
        best_child=best_child,
        arrive=jit.specialise(arrive, observe=kernels.observe),
    )


class ISMCTS(mcts.MCTS):
    """Plays the most visited action of a tree search over many possible worlds; ties are broken as in MCTS.

    Plays any game in which one player acts at a time, with any hidden information. In a match, it plays for the
    current round. Rewards must lie in -1..1.
    """

    name = "ismcts"
    plays = {"simultaneous": False}
    reaches = {"network": "file"}
    hint_simulations = 2000

    def __init__(
        self,
        simulations: int = 1000,
        seconds: float | None = None,
        exploration: float = 0.7,
        threads: int = 1,
        playout_plies: int | None = None,
        network: str | Path | Network = "",
    ) -> None:
        """Set up a search of fixed size or fixed time.

        Args:
            simulations: simulations for each decision, each in a new world.
            seconds: time for each decision, instead of `simulations`. The result is then not reproducible, because the
                number of simulations depends on the machine and its load.
            exploration: the constant of UCB1, or of PUCT with a network, for values from 0 (loss) to 1 (win). Below the
                root, half of the constant is used.
            threads: number of threads. It does not change the result of a fixed-size search.
            playout_plies: plies after which a playout ends as a draw; None plays to the end.
            network: a run folder of a learner, or a network file (.safetensors), of kind q: its values guide the search
                and replace playouts. Only in games of two sides.

        Raises:
            FileNotFoundError: there is no such path.
            BadNetworkFile: the file is damaged or no network.
            ValueError: a parameter out of range, playout_plies with a network, or a network of another kind.
        """
        super().__init__(simulations, seconds, exploration, threads, playout_plies)
        self.network: Network | None = None
        if str(network):
            self.network = network if isinstance(network, Network) else load_network(Path(network))
            info = self.network.info
            if info.kind != "q" or info.encoding != "flat":
                raise ValueError(f"agent {self.name} needs a network of kind q, of flat observations, not {network}")
            if playout_plies is not None:
                raise ValueError(f"agent {self.name} plays no playouts with a network: playout_plies must be None")
            self._weights, self._form = flattened(self.network)

    def check(self, game: Game) -> None:
        """Raise ValueError, naming the reason, if the agent cannot play `game` or the network does not fit the game."""
        super().check(game)
        if self.network is not None:
            if len(game.teams) != 2:
                raise ValueError(f"agent {self.name} takes a network in games of two sides alone; {game} does not fit")
            self.network.check(game)

    def possible_worlds(self, view: View) -> np.ndarray | None:
        """Return k possible worlds for each position, structured (n, k), or None.

        With None, the default, each simulation samples its own world consistent with the view. A subclass that
        remembers the game can return its own worlds, such as `view.sample_worlds` with the hands that it believes
        others to have. Each simulation then draws one of the k worlds of its position, and redraws future chance.
        """
        return None

    def _worlds(self, view: View) -> tuple[np.ndarray, Callable[..., Any]]:
        worlds = self.possible_worlds(view)
        if worlds is None:
            return super()._worlds(view)
        if not isinstance(worlds, np.ndarray) or worlds.ndim != 2 or len(worlds) != len(view) or not worlds.size:
            raise ValueError(
                f"agent {self.name}: possible_worlds must give states ({len(view)}, k), not "
                f"{getattr(worlds, 'shape', type(worlds).__name__)}"
            )
        states = view.game.check_states(worlds.ravel()).reshape(worlds.shape)
        return states, kernel_for(view.game.kernels, True, self.network is not None)

    @kept
    def _results(self, view: View) -> np.ndarray:
        """Return the results like `MCTS`. With a network, search whole matches, as networks are trained on matches."""
        if self.network is None:
            return super()._results(view)
        self.check(view.game)
        return self._searched(view)

    def _kernel(self, game: Game) -> Callable[..., Any]:
        return kernel_for(game.kernels, False, self.network is not None)

    def _memory(self, game: Game, world: np.ndarray, size: int) -> tuple[np.ndarray, np.ndarray, Any]:
        index = np.zeros(size, mcts.INDEX)
        if self.network is not None:
            return np.zeros(size, mcts.NODE), index, puct.guide_for(game, self._weights, self._form)
        return np.zeros(size, NODE), index, np.zeros(game.observation_size, np.int8)
