"""Monte Carlo tree search: UCT on compiled kernels, for games of perfect information.

UCT: Kocsis and Szepesvári, "Bandit based Monte-Carlo planning", ECML 2006; terms follow Browne et al., "A survey of
Monte Carlo tree search methods", IEEE TCIAIG 4(1), 2012. Each simulation plays from the root through the tree, adds one
node, and plays on at random to the end.

- Any number of players in any order: a node's value is the value to the player whose move led to it (max^n).
- Chance: each simulation redraws the future, so that no plan can rely on unknown dice. The resulting position decides
  where the simulation continues in the tree. The tree contains no states. It recognises a position by a digest of the
  state's fields, so different orders of moves to the same position share a node. This is UCT1 of Childs, Brodeur and
  Kocsis, "Transpositions and move groups in Monte Carlo tree search", IEEE CIG 2008.
- Proofs (optional), in games of two players without chance. An action's value is final if the action ends the game with
  a win or loss, if every reply loses, or if some reply wins: MCTS-Solver of Winands, Björnsson and Saito, "Monte-Carlo
  tree search solver", CG 2008. A proven win has the value infinity and a proven loss minus infinity. UCB1 therefore
  chooses wins and avoids losses, and further visits do not change these values.

`playout` and `simulate` are templates, which are compiled for each game. `legal_mask`, `step`, `resample` and `drawn`
in them come from `core.loops.kernels_of`; `arrive` is `follow` or `recognise`. Other searches replace `best_child`,
`arrive` and `settle`.
"""

# ruff: noqa: F821
# mypy: disable-error-code="no-untyped-def, name-defined"

import math
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from functools import cache, partial
from typing import Any, NamedTuple

import numpy as np

from ttt_envs.agents.base import Agent, best_of, by_round, kept, uniform
from ttt_envs.core import rng
from ttt_envs.core.compile import jit
from ttt_envs.core.game import Game
from ttt_envs.core.loops import Kernels, kernels_of
from ttt_envs.core.options import within
from ttt_envs.core.state import position_start
from ttt_envs.core.view import View

#: Entry k of a tree has two roles: an action that was tried in some position, and the position with number k. The field
#: `child` lists the actions tried in position k. Position 0 is the root; a link of 0 means that there is no such entry.
#: Without chance, position k is the position after action k, see `follow`. With chance, `recognise` assigns numbers.
NODE = np.dtype(
    [
        ("value", np.float64),  # sum of rewards of the mover's side, mapped from -1..1 to 0..1; root: see `simulate`
        ("visits", np.int32),
        ("action", np.int32),  # root: the most plies of a playout
        ("mover", np.int32),  # root: the player to move
        ("parent", np.int32),  # the preceding action in the last simulation; other actions may lead here, too
        ("child", np.int32),  # position: its newest action
        ("sibling", np.int32),  # the next older action in the same position
    ],
    align=True,
)

#: Index of positions by their digests: a trie with 4 branches; entry k belongs to position k.
INDEX = np.dtype([("digest", np.uint64), ("branches", np.int32, (4,))], align=True)

# With chance, this factor reduces the exploration constant below the root, because exploring there blurs the values.
# The root must find the best action, while other nodes should maximise reward.
# Source: Tolpin and Shimony, "MCTS based on simple regret", AAAI 2012.
_BELOW_ROOT = 0.5

#: The most simulations for a decision; their tree takes gigabytes.
MOST_SIMULATIONS = 10**8

#: More plies than any game has, so that playouts continue to the end.
TO_THE_END = 2**31 - 1

# Number of different factors from which `vary` draws.
_STEPS = 1 << 16

# Number of simulations between two checks of the clock.
_CHUNK = 64


@jit.kernel
def best_child(tree, place, legal, exploration):
    """Return the entry of the action with the highest upper confidence bound (UCB1); 0 if a legal action is untried.

    Return -1 if all actions of the position are proven to lose.
    """
    missing = 0
    for action in range(legal.shape[0]):
        missing += legal[action]
    visits = 0
    child = tree[place]["child"]
    while child:
        visits += tree[child]["visits"]
        missing -= 1
        child = tree[child]["sibling"]
    if missing > 0:
        return 0
    spread = exploration * math.sqrt(math.log(visits))
    best, highest = -1, -1.0
    child = tree[place]["child"]
    while child:
        bound = tree[child]["value"] / tree[child]["visits"] + spread / math.sqrt(tree[child]["visits"])
        if bound > highest:
            best, highest = child, bound
        child = tree[child]["sibling"]
    return best


@jit.kernel
def vary(tree, number):
    """Return a random exploration factor, 0.75 to 1.25, drawn from `number` and the simulation; see `ismcts`."""
    return 0.75 + 0.5 * rng.scale(rng.fold(tree[0]["visits"], number), _STEPS) / _STEPS


@jit.kernel
def keep_untried(tree, place, legal):
    """Set `legal` to False for the actions that were already tried in the position `place`."""
    child = tree[place]["child"]
    while child:
        legal[tree[child]["action"]] = False
        child = tree[child]["sibling"]


@jit.kernel
def back_up(tree, node, rewards, sides):
    """Add a visit and the mover's reward to `node` and its ancestors.

    Players who share a reward each count the whole of it: rewards are multiplied by `sides`, see `Scratch`.
    """
    while node:
        mover = tree[node]["mover"]
        tree[node]["visits"] += 1
        tree[node]["value"] += 0.5 + 0.5 * sides[mover] * rewards[mover]
        node = tree[node]["parent"]
    tree[0]["visits"] += 1


@jit.kernel
def settle(state, tree, node, grown):
    """Do nothing at the end of a simulation's path through the tree; with proofs, `prove` replaces this function."""


@jit.kernel
def prove(state, tree, node, grown):
    """Record proofs for the last action of a simulation's path through the tree, and for the action before it.

    If the path ends in an unfinished game and adds no node, all actions in its last position are proven losses: the
    player who moved last has won the simulation. Actions further up are updated when a later simulation visits them.
    """
    if node == 0:
        return  # all actions at the root lose
    mover = tree[node]["mover"]
    if not (grown or state["done"]):
        state["done"] = True
        state["rewards"][:] = -1
        state["rewards"][mover] = 1
    if state["done"] and state["rewards"][mover] != 0:
        tree[node]["value"] = math.copysign(math.inf, state["rewards"][mover])
        before = tree[node]["parent"]
        if state["rewards"][mover] > 0 and before:
            tree[before]["value"] = math.inf if tree[before]["mover"] == mover else -math.inf


@jit.kernel
def follow(state, tree, index, node, memory):
    """Return the number of the position after action `node`, which is `node` itself in a game without chance."""
    return node


@jit.kernel
def recognise(state, tree, index, node, memory):
    """Return the number of the position in `memory`, which is `state` as uint64 (words,) from `position_start` on.

    These words exclude the random generator, predetermined draws and fields that serve only for display. They include
    the number of plies, so no simulation returns to a position.
    """
    digest = np.uint64(0)
    for k in range(memory.shape[0]):
        digest = rng.mix(digest ^ memory[k])
    return find(index, tree[0]["visits"] + 1, digest)


@jit.kernel
def find(index, new, digest):
    """Return the number of the node with this uint64 digest; a new digest gets the number `new`."""
    place, rest = np.int64(0), digest
    while index[place]["digest"] != digest:
        branch = np.int64(rest & np.uint64(3))
        if index[place]["branches"][branch] == 0:
            index[place]["branches"][branch] = new
            index[new]["digest"] = digest
            index[new]["branches"][:] = 0
        place = np.int64(index[place]["branches"][branch])
        rest >>= np.uint64(2)
    return place


def playout(state, joint, legal, plies):
    """Play at most `plies` uniformly random actions, in place; joint int64 (players,) is scratch memory.

    An unfinished game pays nothing and so counts as a draw.
    """
    while plies > 0 and not state["done"]:
        plies -= 1
        mover = np.int64(state["to_move"])
        joint[mover] = drawn(state, mover, rng.draw(state), legal)
        step(state, joint)


class Scratch(NamedTuple):
    """The scratch memory of a search, in addition to its tree.

    Attributes:
        world: states (1,), in which simulations are played.
        memory: last argument of `arrive`; for MCTS, the part of `world` that identifies its position, as uint64.
        legal: bool (num_actions,).
        sides: float64 (players,), the number of players who share each player's reward.
    """

    world: np.ndarray
    memory: np.ndarray
    legal: np.ndarray
    sides: np.ndarray


def simulate(root, seed, tree, index, scratch):
    """Run simulations until `tree` is full: one simulation for each node except the root.

    Args:
        root: states (k,), not finished; each simulation begins in one of them, drawn at random.
        seed: uint64; the draws of simulation s depend only on `seed` and s.
        tree: NODE (simulations + 1,). In node 0, `visits` is the number of simulations so far, `mover` the player to
            move, `value` the exploration constant, and `action` the most plies of a playout.
        index: INDEX (simulations + 1,), the index of the tree's positions; (0,) for a game without chance.
        scratch: `Scratch`.
    """
    world, memory, legal, sides = scratch
    state = world[0]
    player = tree[0]["mover"]
    joint = np.zeros(state["rewards"].shape[0], np.int64)
    exploration = tree[0]["value"]
    for simulation in range(tree[0]["visits"], tree.shape[0] - 1):
        own = rng.fold(seed, 2 * simulation)
        world[0] = root[rng.scale(own, root.shape[0])]
        resample(state, player, own)
        rng.start(state, rng.fold(seed, 2 * simulation + 1))
        node, place, grown = 0, 0, False
        while not (grown or state["done"]):
            mover = state["to_move"]
            legal_mask(state, mover, legal)
            share = _BELOW_ROOT if place and index.shape[0] else 1.0
            child = best_child(tree, place, legal, share * exploration)
            if child < 0:
                break
            if child == 0:
                grown = True
                keep_untried(tree, place, legal)
                child = simulation + 1
                tree[child]["action"] = rng.choose(legal, rng.draw(state))
                tree[child]["mover"] = mover
                tree[child]["sibling"] = tree[place]["child"]
                tree[place]["child"] = child
            tree[child]["parent"] = node
            node = child
            joint[mover] = tree[node]["action"]
            step(state, joint)
            if not (grown or state["done"]):
                place = arrive(state, tree, index, node, memory)
        settle(state, tree, node, grown)
        playout(state, joint, legal, tree[0]["action"])
        back_up(tree, node, state["rewards"], sides)


@jit.kernel
def read_root(tree, out):
    """Write the visits and the sum of values of each action at the root to out float64 (2, num_actions)."""
    out[:] = 0.0
    child = tree[0]["child"]
    while child:
        out[0, tree[child]["action"]] = tree[child]["visits"]
        out[1, tree[child]["action"]] = tree[child]["value"]
        child = tree[child]["sibling"]


def most_visited(masks: np.ndarray, visits: np.ndarray, values: np.ndarray) -> np.ndarray:
    """Return a mask of the most visited legal actions; the best mean value breaks ties: bool (n, num_actions).

    Visits and `values`, which are sums, are float64 (n, num_actions).
    """
    counted = np.where(masks, visits, -1)
    best = masks & (counted == counted.max(axis=1, keepdims=True))
    means = np.where(best, values / np.maximum(visits, 1), -1)
    return np.asarray(best & (means == means.max(axis=1, keepdims=True)))


@cache
def kernel_for(kernels: Kernels, chance: bool, proofs: bool = False) -> Callable[..., Any]:
    """Return `simulate` for one game's rules, with or without chance, with or without proofs."""
    bound = kernels_of(kernels)
    return jit.specialise(
        simulate,
        **bound,
        playout=jit.specialise(playout, **bound),
        arrive=recognise if chance else follow,
        settle=prove if proofs else settle,
    )


class MCTS(Agent):
    """Plays the most visited action of a tree search; ties are broken by value, then by the seed.

    Plays any game of perfect information in which one player acts at a time. In a match, it plays for the current
    round. Rewards must lie in -1..1.
    """

    name = "mcts"
    plays = {"simultaneous": False, "hidden_information": False}
    reaches = {}
    hint_simulations = 4000
    #: Number of rows that `_read` writes.
    _rows = 2

    def __init__(
        self,
        simulations: int = 400,
        seconds: float | None = None,
        exploration: float = 1.4,
        threads: int = 1,
        playout_plies: int | None = None,
        proofs: bool = False,
    ) -> None:
        """Set up a search of fixed size or fixed time.

        Args:
            simulations: simulations for each decision.
            seconds: time for each decision, instead of `simulations`. The result is then not reproducible, because the
                number of simulations depends on the machine and its load.
            exploration: UCB1's constant, for values from 0 (loss) to 1 (win); with chance, half of it below the root.
            threads: number of threads. It does not change the result of a fixed-size search.
            playout_plies: plies after which a playout ends as a draw; None plays to the end. In long games, short
                playouts take less time and give more weight to early results.
            proofs: record proven wins and losses in the tree, play proven wins, and avoid proven losses if possible.
                Only in games of two players without chance.
        """
        within(1, MOST_SIMULATIONS, simulations=simulations)
        within(1, 1024, threads=threads)
        if seconds is not None:
            within(1e-6, 1e6, seconds=seconds)
        if playout_plies is not None:
            within(0, TO_THE_END, playout_plies=playout_plies)
        within(0.0, 1e6, exploration=exploration)  # larger values could overflow the bounds
        self.simulations = simulations
        self.seconds = seconds
        self.exploration = exploration
        self.threads = threads
        self.playout_plies = playout_plies
        self.proofs = proofs

    def check(self, game: Game) -> None:
        """Raise ValueError, naming the reason, if the agent cannot play `game`."""
        super().check(game)
        if self.proofs and (game.num_players != 2 or game.chance == "play"):
            raise ValueError(
                f"agent {self.name}: proofs=true is for games of two players in which nothing is left to chance after "
                f"the start; {game} does not fit"
            )

    def policy(self, view: View) -> np.ndarray:
        """Return the policy after a search, uniform over equally good actions: float64 (n, num_actions).

        The search depends on the view's seeds. Raises the errors of `check`.
        """
        return self._policy(view.masks, self._results(view))

    def search(self, view: View) -> tuple[np.ndarray, np.ndarray]:
        """Return each action's visits and the sum of its values, which are from 0 to 1; both float64 (n, num_actions).

        A forced action is not searched and has one visit. In a match, the values refer to the current round. A proven
        win counts as if all its visits had been won, a proven loss as if all had been lost.
        """
        results = self._results(view)
        return results[:, 0], np.clip(results[:, 1], 0.0, results[:, 0])

    def action_values(self, view: View) -> np.ndarray:
        """Return the mean reward of the simulations that began with each action: float64 (n, num_actions).

        An unvisited action is NaN. A forced action is not searched, so it is NaN, too.
        """
        visits, sums = self.search(view)
        searched = (visits > 0) & (view.masks.sum(axis=1, keepdims=True) > 1)
        means = 2 * sums / np.where(searched, visits, 1) - 1  # the search's values are from 0 to 1
        return np.where(searched, means / view.game.sharers[view.players][:, None], np.nan)

    def _policy(self, masks: np.ndarray, results: np.ndarray) -> np.ndarray:
        visits, values = results[:, 0], results[:, 1]
        proved = np.where(np.isinf(values), np.sign(values), 0.0)
        return uniform(most_visited(best_of(proved, masks), visits, np.clip(values, 0.0, visits)))

    @kept
    def _results(self, view: View) -> np.ndarray:
        """Return the results of `_read`: float64 (n, rows, num_actions); 1 in all rows for a forced action."""
        self.check(view.game)
        return by_round(view, self._searched)

    def _searched(self, view: View) -> np.ndarray:
        game = view.game
        results = np.zeros((len(view), self._rows, game.num_actions))
        choices = view.masks.sum(axis=1)
        results[choices == 1] = view.masks[choices == 1, None]
        rows = np.flatnonzero(choices > 1)
        worlds, kernel = self._worlds(view)
        seeds = rng.stream_seeds(view.seeds, rng.Stream.SEARCH)

        def work(some: np.ndarray) -> None:
            world, legal = worlds[0, :1].copy(), np.empty(game.num_actions, np.bool_)
            for i in some:
                # New memory each time: NumPy takes ten times as long to clear records as to allocate zeros.
                size = self.simulations + 1 if self.seconds is None else 1 << 12
                tree, index, memory = self._memory(game, world, size)
                scratch = Scratch(world, memory, legal, game.sharers)
                self._plant(tree, view.players[i])
                run = partial(kernel, worlds[i], seeds[i])
                if self.seconds is None:
                    run(tree, index, scratch)
                else:
                    tree, index = _run_until(time.monotonic() + self.seconds, run, tree, index, scratch)
                self._read(tree, results[i])

        threads = min(self.threads, len(rows))
        if threads == 1:
            work(rows)
        elif threads:
            with ThreadPoolExecutor(threads) as pool:
                list(pool.map(work, [rows[k::threads] for k in range(threads)]))
        results.flags.writeable = False  # the result is cached
        return results

    def _worlds(self, view: View) -> tuple[np.ndarray, Callable[..., Any]]:
        """Return the positions to search, structured (n, k), and the search kernel."""
        return view.sample_worlds()[:, None], self._kernel(view.game)

    def _kernel(self, game: Game) -> Callable[..., Any]:
        return kernel_for(game.kernels, self._recognises(game), self.proofs)

    def _recognises(self, game: Game) -> bool:
        """Return whether an action can lead to several positions, so that `recognise` must look them up."""
        return game.stochastic and not self.proofs

    def _memory(self, game: Game, world: np.ndarray, size: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Return a tree of this size, the index of its positions, and memory for `arrive`; see `simulate`."""
        position = world.view(np.uint64)[position_start(world.dtype) // 8 :]
        return np.zeros(size, NODE), np.zeros(size if self._recognises(game) else 0, INDEX), position

    def _plant(self, tree: np.ndarray, player: int) -> None:
        tree[0]["value"], tree[0]["mover"] = self.exploration, player
        tree[0]["action"] = TO_THE_END if self.playout_plies is None else self.playout_plies

    def _read(self, tree: np.ndarray, out: np.ndarray) -> None:
        read_root(tree, out)


def _run_until(
    deadline: float, run: Callable[..., Any], tree: np.ndarray, index: np.ndarray, scratch: Scratch
) -> tuple[np.ndarray, np.ndarray]:
    """Search chunk by chunk, at least once, until the deadline or the largest size of the tree.

    Returns the tree and its index, which are reallocated if they grow.
    """
    size = 1
    while True:
        size += _CHUNK
        if size > len(tree):
            tree, index = np.concatenate([tree, np.zeros_like(tree)]), np.concatenate([index, np.zeros_like(index)])
        run(tree[:size], index, scratch)
        if time.monotonic() >= deadline or size + _CHUNK > MOST_SIMULATIONS:
            return tree, index
