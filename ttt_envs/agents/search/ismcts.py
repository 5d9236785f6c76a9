"""Information set Monte Carlo tree search: for games with hidden information.

SO-ISMCTS, with one tree, of Cowling, Powley and Whitehouse, "Information set Monte Carlo tree search", IEEE TCIAIG
4(2), 2012. The search is that of `ttt_envs.agents.search.mcts`: each simulation plays in a newly drawn world that fits
what the searcher, the player at the root, knows, with different hands and future draws. What differs:

- The tree is over the searcher's knowledge. A position in which the searcher is to move is recognised by two things
  alone: their last action in the tree, which represents all that they knew before it, and their present observation. A
  position in which another player is to move is recognised by the actions since the searcher's last one, and by the
  player to move. The searcher thus never acts on anything they do not see, be it cards or another player's secret
  action, and others do not act on what the searcher drew since that last action.
- Not every action that is in the tree is legal in every world. UCB1 weighs the visits of an action against how often
  it was legal when its position was visited, and not against all visits there: otherwise actions that are seldom legal
  would be tried too often.
- Others explore a little more or less by chance. Two players who do not see each other's choices may otherwise fall
  into step, and one exploit the other for ever: that UCB1 does not settle there is from Shafiei, Sturtevant and
  Schaeffer, "Comparing UCT versus CFR in simultaneous games", IJCAI workshop on general intelligence in game-playing
  agents, 2009.

In another player's position all their possible hands are merged, and they play the best response on average against the
searcher's own hand: the tree contains no bluffs, and no player who falls for one.

With a network it uses the search of `ttt_envs.agents.search.puct`, over the same positions.

`arrive` is a template, compiled for one game's rules; `observe` is the game's kernel.
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

#: `available`: how often the action was legal when its position was visited, since the visit that added it.
NODE = np.dtype([*mcts.NODE.descr, ("available", np.int32)], align=True)

# Features of an observation that are taken together, as bits of a uint64.
_WORD = 64


@jit.kernel
def best_child(tree, place, legal, exploration):
    """Return the legal action of highest upper confidence bound in a position; 0 while a legal one was not tried.

    For players other than the searcher the exploration constant varies at random, by up to a quarter.
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
    """Return the position after action `node`, see the module; seen int8 (observation size,) is room to work."""
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
    """Replaces a game's `resample`: given worlds are searched as they are."""


@cache
def kernel_for(kernels: Kernels, given: bool = False, network: bool = False) -> Callable[..., Any]:
    """Return `mcts.simulate` for one game's rules, with positions as here, from sampled or given worlds.

    With a network it is `puct.simulate`.
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
    """Plays the action that a tree search over many possible worlds visited most; ties as in MCTS.

    Plays any game in which one player acts at a time, with any hidden information; in a match, each round separately.
    Rewards must lie in -1..1.
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
        """Set up a search of a fixed size, or of a fixed time.

        Args:
            simulations: simulations for each decision, each in another world.
            seconds: time for each decision, instead of `simulations`. Such a search is not reproducible: how far it
                gets depends on the machine and its load.
            exploration: the constant of UCB1, or with a network of PUCT, for values from 0 (loss) to 1 (win); half of
                it below the root.
            threads: Number of threads. Does not change the result of a fixed-size search.
            playout_plies: plies after which a playout ends as a draw; None plays on to the end.
            network: a run folder of a learner, or a network file (.safetensors), of kind q: its values guide the search
                and take the place of playouts. Only in games of two sides.

        Raises:
            FileNotFoundError: there is no such path.
            BadNetworkFile: the file is damaged, or no network.
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
        """Raise ValueError, naming the reason, if the agent cannot play `game`, or its network was not made for it."""
        super().check(game)
        if self.network is not None:
            if len(game.teams) != 2:
                raise ValueError(f"agent {self.name} takes a network in games of two sides alone; {game} does not fit")
            self.network.check(game)

    def possible_worlds(self, view: View) -> np.ndarray | None:
        """Return the worlds that a player who knows more than they see now thinks possible: states, structured (n, k).

        By default None: each simulation draws its own world that fits the view. A subclass with a memory gives worlds
        of its own, such as `view.sample_worlds` with the hands that it believes others to hold. Each simulation draws
        one of the k worlds of its position, and redraws future chance.
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
        """As `MCTS`, but a network sees the whole match: it was made for the game, not for its rounds."""
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
