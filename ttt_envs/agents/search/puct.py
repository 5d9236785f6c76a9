"""Tree search with a network's action values, on compiled kernels.

The search differs from `ttt_envs.agents.search.mcts` as follows. The caller's `arrive` defines the tree's positions.

- Instead of a playout, a simulation ends at the node that it adds, with the network's value of the best action there.
  This is the neural network evaluation of Silver et al., "Mastering the game of Go without human knowledge", Nature
  550, 2017.
- PUCT, from the same paper, selects actions. Its prior is the softmax of the network's values. PUCT need not try
  every action first, which matters because positions rarely recur if the others may hold very many different hands.
- The value of an action is the mean over its visits and `_PRIOR_VISITS` additional visits with the network's value. The
  network is evaluated in each world from the view of the player to move, because a position of the tree may represent
  many hands of that player.

`simulate` is a template, which is compiled for each game; `legal_mask`, `step`, `observe`, `resample` and `arrive` have
the same meaning as in `mcts`.
"""

# ruff: noqa: F821
# mypy: disable-error-code="no-untyped-def, name-defined"

import math
from typing import NamedTuple

import numpy as np

from ttt_envs.agents.search import mcts
from ttt_envs.agents.search.horizon import forward
from ttt_envs.core import rng
from ttt_envs.core.compile import jit
from ttt_envs.core.game import Game

# The network's value of an action counts as this many visits.
_PRIOR_VISITS = 2.0

# Temperature of the prior: divides values from 0 to 1 before the softmax.
_TEMPERATURE = 0.1


class Guide(NamedTuple):
    """A q network and the scratch memory of its search, in addition to that of `mcts`.

    Attributes:
        seen: int8 (observation size,), the latest observation.
        weights: float32 (numbers,), from `flattened`.
        form: int64, the network's layers, see `flattened`.
        activations: float32 (2, the widest layer).
        worth: float64 (2, num_actions), the network's action values for the side of the player to move, from 0 (loss)
            to 1 (win): at the root, and in the last visited position.
        prior: float64 (num_actions,), scratch memory.
        team: int64 (players,), each player's side.
        features: int64 (symmetries, observation size), see `core.symmetry.Symmetry`.
        actions: int64 (symmetries, num_actions), see there, too.
        turned: int8 (observation size,), the network's input: `seen` after one of the symmetries.
    """

    seen: np.ndarray
    weights: np.ndarray
    form: np.ndarray
    activations: np.ndarray
    worth: np.ndarray
    prior: np.ndarray
    team: np.ndarray
    features: np.ndarray
    actions: np.ndarray
    turned: np.ndarray


def guide_for(game: Game, weights: np.ndarray, form: np.ndarray) -> Guide:
    """Return a `Guide` for a search of `game` with a network given by `flattened`."""
    turns = game.proper_symmetries
    return Guide(
        seen=np.zeros(game.observation_size, np.int8),
        weights=weights,
        form=form,
        activations=np.zeros((2, int(form[4:].max())), np.float32),
        worth=np.zeros((2, game.num_actions)),
        prior=np.zeros(game.num_actions),
        team=game.sides,
        features=np.array([np.arange(game.observation_size), *(each.features for each in turns)]),
        actions=np.array([np.arange(game.num_actions), *(each.actions for each in turns)]),
        turned=np.zeros(game.observation_size, np.int8),
    )


@jit.kernel
def judge(guide, share, symmetry, out):
    """Write the network's action values for the observation `guide.seen`, mapped to 0..1, to `out`.

    The network sees the observation after symmetry number `symmetry`. `share`: number of players who share a reward.
    """
    features, actions = guide.features[symmetry], guide.actions[symmetry]
    for k in range(features.shape[0]):
        guide.turned[k] = guide.seen[features[k]]
    q = guide.activations[forward(guide.turned, guide.weights, guide.form, guide.activations)]
    for action in range(out.shape[0]):
        out[actions[action]] = min(max(0.5 + 0.5 * share * q[action], 0.0), 1.0)


@jit.kernel
def best_of(worth, legal):
    """Return the highest value of a legal action."""
    best = 0.0
    for action in range(legal.shape[0]):
        if legal[action]:
            best = max(best, worth[action])
    return best


@jit.kernel
def select(tree, place, mover, legal, guide, exploration):
    """Return the legal action with the highest PUCT bound in a position, and its tree entry or 0 if it is untried.
    Changes `legal`.

    For players other than the searcher, the exploration constant varies at random as in `ismcts`.
    """
    worth, prior = guide.worth[min(place, 1)], guide.prior
    best, total = best_of(worth, legal), 0.0
    for action in range(legal.shape[0]):
        if legal[action]:
            prior[action] = math.exp((worth[action] - best) / _TEMPERATURE)
            total += prior[action]
    visits = 1
    child = tree[place]["child"]
    while child:
        if legal[tree[child]["action"]]:
            visits += tree[child]["visits"]
        child = tree[child]["sibling"]
    spread = exploration * math.sqrt(visits) / total
    for action in range(legal.shape[0]):
        if legal[action]:
            prior[action] *= spread * (mcts.vary(tree, action) if mover != tree[0]["mover"] else 1.0)
    chosen, found, highest = -1, 0, -1.0
    child = tree[place]["child"]
    while child:
        action = tree[child]["action"]
        if legal[action]:
            legal[action] = False
            value = tree[child]["value"] + _PRIOR_VISITS * worth[action]
            bound = value / (tree[child]["visits"] + _PRIOR_VISITS) + prior[action] / (1 + tree[child]["visits"])
            if bound > highest:
                chosen, found, highest = action, child, bound
        child = tree[child]["sibling"]
    for action in range(legal.shape[0]):
        if legal[action] and worth[action] + prior[action] > highest:
            chosen, found, highest = action, 0, worth[action] + prior[action]
    return chosen, found


def simulate(root, seed, tree, index, scratch):
    """Run simulations like `mcts.simulate`, guided by a network.

    `scratch.memory` is a `Guide`. In node 0, `value` is the exploration constant of PUCT.
    """
    world, guide, legal, sides = scratch
    state, worth = world[0], guide.worth
    player = tree[0]["mover"]
    joint = np.zeros(sides.shape[0], np.int64)
    rewards = np.zeros(sides.shape[0])
    exploration = tree[0]["value"]
    symmetries = guide.features.shape[0]
    # The searcher's view is the same in all worlds, so the root is evaluated only once.
    observe(root[0], player, guide.seen)
    worth[0] = 0.0
    for symmetry in range(symmetries):
        judge(guide, sides[player], symmetry, worth[1])
        for action in range(legal.shape[0]):
            worth[0, action] += worth[1, action] / symmetries
    for simulation in range(tree[0]["visits"], tree.shape[0] - 1):
        own = rng.fold(seed, 2 * simulation)
        world[0] = root[rng.scale(own, root.shape[0])]
        resample(state, player, own)
        rng.start(state, rng.fold(seed, 2 * simulation + 1))
        node, place, grown = 0, 0, False
        legal_mask(state, player, legal)
        while not (grown or state["done"]):
            mover = state["to_move"]
            share = mcts._BELOW_ROOT if place else 1.0
            action, child = select(tree, place, mover, legal, guide, share * exploration)
            if child == 0:
                grown, child = True, simulation + 1
                tree[child]["action"], tree[child]["mover"] = action, mover
                tree[child]["sibling"], tree[place]["child"] = tree[place]["child"], child
            tree[child]["parent"] = node
            node = child
            joint[mover] = action
            step(state, joint)
            if not state["done"]:
                if not grown:
                    place = arrive(state, tree, index, node, guide.seen)
                mover = state["to_move"]
                legal_mask(state, mover, legal)
                observe(state, mover, guide.seen)
                judge(guide, sides[mover], rng.scale(rng.fold(own, node), symmetries), worth[1])
        for each in range(sides.shape[0]):
            rewards[each] = state["rewards"][each]
        if not state["done"]:
            mover = state["to_move"]
            value = 2 * best_of(worth[1], legal) - 1
            for each in range(sides.shape[0]):
                rewards[each] = (value if guide.team[each] == guide.team[mover] else -value) / sides[each]
        mcts.back_up(tree, node, rewards, sides)
