"""Simultaneous-move Monte Carlo tree search, which finds mixed policies for games with simultaneous choices.

SM-MCTS with regret matching: Lanctot, Lisý and Winands, "Monte Carlo tree search in simultaneous move games with
applications to Goofspiel", Computer Games (CGW 2013), CCIS 408, 2014. If one player acts, the search is identical to
`ttt_envs.agents.search.mcts`, down to the random draws. If several act simultaneously:

- Each player draws from their own strategy, without knowing the others' draws. An action's probability is proportional
  to its regret: how much more it would have earned than the strategy. With probability gamma, the player explores
  by a uniform draw.
- What an action would have earned is estimated by its mean reward against the others' present choices, or, if it was
  never played against these, by its mean reward against all choices. A visit changes a player's regrets only if no
  other player explored. Otherwise strategies would adapt to the others' exploration, and their averages would miss the
  equilibrium.
- Regrets never fall below 0, and the n-th strategy has weight n in the average, so that early, poor playouts are
  forgotten sooner: regret matching+ of Tammelin, "Solving large imperfect information games using CFR+",
  arXiv:1407.5042, 2014.
- The result is the average of a player's strategies, without exploration. In zero-sum games of two sides, such averages
  approach an equilibrium if regrets stay low: Lisý, Kovařík, Lanctot and Bošanský, "Convergence of Monte Carlo tree
  search in simultaneous move games", NIPS 2013, for plain regret matching. Gamma limits the accuracy, because the value
  of a position is learned from games in which both players explore.

`playout`, `fill_masks` and `simulate` are templates, which are compiled for each game. `legal_mask`, `step`, `resample`
and `drawn` in them come from `core.loops.kernels_of`; `arrive` is `follow` or `recognise` of
`ttt_envs.agents.search.mcts`.
"""

# ruff: noqa: F821
# mypy: disable-error-code="no-untyped-def, name-defined"

import math
from collections.abc import Callable
from functools import cache
from typing import Any

import numpy as np

from ttt_envs.agents.search import mcts
from ttt_envs.core import rng
from ttt_envs.core.compile import jit
from ttt_envs.core.game import Game
from ttt_envs.core.loops import Kernels, kernels_of
from ttt_envs.core.options import within


@cache
def node_for(players: int) -> np.dtype:
    """Return the dtype of a tree's entries. Entry k holds a position, a cell and arms, which simulation k may add.

    A position links the actions tried in it, and is numbered as in `ttt_envs.agents.search.mcts`. A cell is a joint
    choice of the acting players in a position. An arm is one player's action in a position; an entry has an arm for
    each player. Links are entry numbers; 0 means that there is no such entry. Position 0 is the root.
    """
    each = (players,)
    return np.dtype(
        [
            ("value", np.float64, each),  # cell: sum of each side's rewards, mapped from -1..1 to 0..1
            ("earned", np.float64, each),  # arm: sum of the player's rewards, mapped in the same way
            ("guess", np.float64, each),  # arm: scratch memory
            ("regret", np.float64, each),  # arm: its regret, never negative
            ("weight", np.float64, each),  # arm: sum over n of n times its n-th probability
            ("visits", np.int32),  # cell: its visits; root: number of simulations
            ("explores", np.int32, each),  # cell: 1 for players who explored in the last simulation
            ("parent", np.int32),  # cell: the preceding one in the last simulation
            ("place", np.int32),  # cell: its position
            ("mover", np.int32),  # root: the searcher
            ("passed", np.int32),  # position: number of visits
            ("newest", np.int32, each),  # position: each player's newest arm
            ("arm", np.int32, each),  # cell: each player's arm; 0 for players who do not act
            ("link", np.int32, each),  # cell: the next older one with the same arm of that player
            ("action", np.int32, each),  # arm: its action
            ("tried", np.int32, each),  # arm: its visits
            ("sibling", np.int32, each),  # arm: the player's next older one in the same position
            ("cell", np.int32, each),  # arm: its newest cell
        ],
        align=True,
    )


@jit.kernel
def keep_untried(tree, place, player, legal):
    """Set `legal` to False for the actions that the player has tried in a position; return the number of others."""
    left = 0
    for action in range(legal.shape[0]):
        left += legal[action]
    arm = tree[place]["newest"][player]
    while arm:
        legal[tree[arm]["action"][player]] = False
        left -= 1
        arm = tree[arm]["sibling"][player]
    return left


@jit.kernel
def best_arm(tree, place, player, exploration):
    """Return the arm with the highest UCB1 bound, for a player who acts alone and has tried all actions."""
    visits = 0
    arm = tree[place]["newest"][player]
    while arm:
        visits += tree[arm]["tried"][player]
        arm = tree[arm]["sibling"][player]
    spread = exploration * math.sqrt(math.log(visits))
    best, highest = 0, -1.0
    arm = tree[place]["newest"][player]
    while arm:
        tried = tree[arm]["tried"][player]
        bound = tree[arm]["earned"][player] / tried + spread / math.sqrt(tried)
        if bound > highest:
            best, highest = arm, bound
        arm = tree[arm]["sibling"][player]
    return best


@jit.kernel
def draw_arm(tree, place, player, explores, x):
    """Draw an arm by regret matching, or uniformly if the player `explores`; add the strategy to the average.

    `x`: uint64, random. The player does not act alone, and has tried all actions of the position.
    """
    count, total = count_regrets(tree, place, player)
    left = np.float64(x) / 18446744073709551616.0
    drawn, last = 0, 0
    arm = tree[place]["newest"][player]
    while arm:
        chance = tree[arm]["regret"][player] / total if total > 0 else 1.0 / count
        tree[arm]["weight"][player] += tree[place]["passed"] * chance
        left -= 1.0 / count if explores else chance
        if drawn == 0 and left < 0:
            drawn = arm
        last = arm
        arm = tree[arm]["sibling"][player]
    return drawn if drawn else last  # rounding may leave a remainder


@jit.kernel
def count_regrets(tree, place, player):
    """Return the number of a player's arms in a position, and the sum of their regrets."""
    count, total = 0, 0.0
    arm = tree[place]["newest"][player]
    while arm:
        count += 1
        total += tree[arm]["regret"][player]
        arm = tree[arm]["sibling"][player]
    return count, total


@jit.kernel
def find_cell(tree, player, arms):
    """Return the cell with these arms, int64 (players,), or 0 if there is none. Search the cells of `player`'s arm."""
    cell = tree[arms[player]]["cell"][player]
    while cell:
        same = True
        for k in range(arms.shape[0]):
            same &= tree[cell]["arm"][k] == arms[k]
        if same:
            return cell
        cell = tree[cell]["link"][player]
    return 0


@jit.kernel
def add_cell(tree, place, cell, arms):
    """Make entry `cell` a cell of the position `place` with these arms int64 (players,)."""
    tree[cell]["place"] = place
    for player in range(arms.shape[0]):
        arm = arms[player]
        if arm:
            tree[cell]["arm"][player] = arm
            tree[cell]["link"][player] = tree[arm]["cell"][player]
            tree[arm]["cell"][player] = cell


@jit.kernel
def update_regrets(tree, cell, player):
    """Add each action's gain over the strategy to the player's regrets, if the others choose as in `cell`."""
    place, chosen = tree[cell]["place"], tree[cell]["arm"]
    arm = tree[place]["newest"][player]
    while arm:
        tree[arm]["guess"][player] = tree[arm]["earned"][player] / tree[arm]["tried"][player]
        arm = tree[arm]["sibling"][player]
    # For actions that were played against the same choices of the others, the mean reward of those cells is a better
    # estimate. All these cells are in the list of another player's arm.
    other = 0
    while other == player or chosen[other] == 0:
        other += 1
    met = tree[chosen[other]]["cell"][other]
    while met:
        same = True
        for k in range(chosen.shape[0]):
            same &= k == player or tree[met]["arm"][k] == chosen[k]
        if same:
            tree[tree[met]["arm"][player]]["guess"][player] = tree[met]["value"][player] / tree[met]["visits"]
        met = tree[met]["link"][other]
    count, total = count_regrets(tree, place, player)
    expected = 0.0
    arm = tree[place]["newest"][player]
    while arm:
        chance = tree[arm]["regret"][player] / total if total > 0 else 1.0 / count
        expected += chance * tree[arm]["guess"][player]
        arm = tree[arm]["sibling"][player]
    arm = tree[place]["newest"][player]
    while arm:
        tree[arm]["regret"][player] = max(0.0, tree[arm]["regret"][player] + tree[arm]["guess"][player] - expected)
        arm = tree[arm]["sibling"][player]


@jit.kernel
def back_up(tree, cell, rewards, sides):
    """Add a visit and its rewards, multiplied by `sides` (see `mcts.Scratch`), to `cell` and its ancestors."""
    players = rewards.shape[0]
    while cell:
        tree[cell]["visits"] += 1
        acting = exploring = 0
        for player in range(players):
            gain = 0.5 + 0.5 * sides[player] * rewards[player]
            tree[cell]["value"][player] += gain
            arm = tree[cell]["arm"][player]
            if arm:
                acting += 1
                exploring += tree[cell]["explores"][player]
                tree[arm]["tried"][player] += 1
                tree[arm]["earned"][player] += gain
        for player in range(players):
            # Update regrets only if no other player explored: they are measured against the others' strategies.
            if acting > 1 and tree[cell]["arm"][player] and exploring == tree[cell]["explores"][player]:
                update_regrets(tree, cell, player)
        cell = tree[cell]["parent"]
    tree[0]["visits"] += 1


def playout(state, joint, legal):
    """Play uniformly random actions to the end, in place; joint int64 (players,) is scratch memory."""
    while not state["done"]:
        for player in range(joint.shape[0]):
            if state["to_move"] < 0 or player == state["to_move"]:
                joint[player] = drawn(state, player, rng.draw(state), legal)
        step(state, joint)


def fill_masks(state, masks, acts):
    """Write the acting players to `acts`, bool (players,), and their legal actions to `masks` (players, num_actions).

    Returns the number of acting players.
    """
    acting = 0
    for player in range(acts.shape[0]):
        acts[player] = False
        if state["to_move"] < 0 or player == state["to_move"]:
            legal_mask(state, player, masks[player])
            acts[player] = masks[player].any()
            acting += acts[player]
    return acting


def simulate(root, seed, tree, index, scratch):
    """Run simulations until `tree` is full: one simulation for each node except the root.

    Arguments are as for `ttt_envs.agents.search.mcts.simulate`, except `tree`: `node_for(players)` (simulations + 1,).
    In node 0, `visits` is the number of simulations so far, `mover` the searcher, `value` UCB1's constant, `earned`
    gamma.
    """
    world, memory, legal, sides = scratch
    state = world[0]
    searcher, exploration, gamma = tree[0]["mover"], tree[0]["value"][0], tree[0]["earned"][0]
    players = state["rewards"].shape[0]
    joint, arms, explores = np.zeros(players, np.int64), np.zeros(players, np.int64), np.zeros(players, np.int64)
    masks, acts = np.zeros((players, legal.shape[0]), np.bool_), np.zeros(players, np.bool_)
    for simulation in range(tree[0]["visits"], tree.shape[0] - 1):
        world[0] = root[0]
        resample(state, searcher, rng.fold(seed, 2 * simulation))
        rng.start(state, rng.fold(seed, 2 * simulation + 1))
        cell, place, new, grown = 0, 0, simulation + 1, False
        while not (grown or state["done"]):
            acting, one = fill_masks(state, masks, acts), 0
            tree[place]["passed"] += 1
            for player in range(players):
                arms[player] = explores[player] = 0
                if not acts[player]:
                    continue
                one = player
                if keep_untried(tree, place, player, masks[player]):
                    explores[player] = 1
                    arms[player] = new
                    tree[new]["action"][player] = rng.choose(masks[player], rng.draw(state))
                    tree[new]["weight"][player] = tree[place]["passed"]
                    tree[new]["sibling"][player] = tree[place]["newest"][player]
                    tree[place]["newest"][player] = new
                elif acting == 1:
                    share = mcts._BELOW_ROOT if place and index.shape[0] else 1.0
                    arms[player] = best_arm(tree, place, player, share * exploration)
                else:
                    explores[player] = rng.draw(state) < gamma * 18446744073709551616.0
                    arms[player] = draw_arm(tree, place, player, explores[player], rng.draw(state))
                joint[player] = tree[arms[player]]["action"][player]
            above, cell = cell, find_cell(tree, one, arms)
            if cell == 0:
                grown, cell = True, new
                add_cell(tree, place, cell, arms)
            tree[cell]["parent"] = above
            for player in range(players):
                tree[cell]["explores"][player] = explores[player]
            step(state, joint)
            if not (grown or state["done"]):
                place = arrive(state, tree, index, cell, memory)
        playout(state, joint, legal)
        back_up(tree, cell, state["rewards"], sides)


@jit.kernel
def read_root(tree, out):
    """Write four rows of figures for the searcher's actions to `out`, float64 (4, num_actions).

    The rows are visits, sum of values, weight in the average strategy, and number of other players who act.
    """
    out[:] = 0.0
    player = tree[0]["mover"]
    arm = tree[0]["newest"][player]
    while arm:
        action = tree[arm]["action"][player]
        out[0, action] = tree[arm]["tried"][player]
        out[1, action] = tree[arm]["earned"][player]
        out[2, action] = tree[arm]["weight"][player]
        for k in range(tree[0]["newest"].shape[0]):
            out[3, action] += k != player and tree[0]["newest"][k] > 0
        arm = tree[arm]["sibling"][player]


@cache
def kernel_for(kernels: Kernels, chance: bool) -> Callable[..., Any]:
    """Return `simulate` for one game's rules, with or without chance."""
    bound = kernels_of(kernels)
    return jit.specialise(
        simulate,
        **bound,
        fill_masks=jit.specialise(fill_masks, **bound),
        playout=jit.specialise(playout, **bound),
        arrive=mcts.recognise if chance else mcts.follow,
    )


class SMMCTS(mcts.MCTS):
    """Draws from a tree search's mixed policy where several players choose simultaneously; elsewhere plays as MCTS.

    Plays any game in which only simultaneous choices are hidden. In a match, it plays for the current round. In
    zero-sum games of two sides, its policy approaches an equilibrium. Rewards must lie in -1..1.
    """

    name = "smmcts"
    plays = {"hidden_information": False}
    _rows = 4
    reaches = {}
    hint_simulations = 20000

    def __init__(
        self,
        simulations: int = 10000,
        seconds: float | None = None,
        exploration: float = 1.4,
        gamma: float = 0.2,
        threads: int = 1,
    ) -> None:
        """Set up a search of fixed size or fixed time.

        Args:
            simulations: simulations for each decision. If both sides have many actions, thousands of simulations are
                needed to try each pair of actions.
            seconds: time for each decision, instead of `simulations`. The result is then not reproducible, because the
                number of simulations depends on the machine and its load.
            exploration: UCB1's constant where one player acts, as for MCTS.
            gamma: probability of a uniform draw where several act simultaneously, from 0 to 1.
            threads: number of threads. It does not change the result of a fixed-size search.
        """
        super().__init__(simulations, seconds, exploration, threads)
        within(0.0, 1.0, gamma=gamma)
        self.gamma = gamma

    def _policy(self, masks: np.ndarray, results: np.ndarray) -> np.ndarray:
        weights = np.where(results[:, 3] > 0, results[:, 2], mcts.most_visited(masks, results[:, 0], results[:, 1]))
        totals = weights.sum(axis=1, keepdims=True)
        return np.asarray(weights / np.where(totals > 0, totals, 1), np.float64)

    def _kernel(self, game: Game) -> Callable[..., Any]:
        return kernel_for(game.kernels, game.stochastic)

    def _memory(self, game: Game, world: np.ndarray, size: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        _, index, memory = super()._memory(game, world, size)
        return np.zeros(size, node_for(game.num_players)), index, memory

    def _plant(self, tree: np.ndarray, player: int) -> None:
        tree[0]["value"], tree[0]["mover"], tree[0]["earned"] = self.exploration, player, self.gamma

    def _read(self, tree: np.ndarray, out: np.ndarray) -> None:
        read_root(tree, out)
