"""The trees of `ttt_envs.agents.search.gumbel` and the kernels that search them.

`walk` and `prove` are templates, which are compiled for each game; `legal_mask`, `step`, `observe` and `resample` in
them are the game's kernels. `arrive` is `recognise` with chance, else `follow`. `probe` and `settle` are `prove` and
`carry_up` with proofs; otherwise they do nothing.
"""

# ruff: noqa: F821
# mypy: disable-error-code="no-untyped-def, name-defined"

import math
from collections.abc import Callable
from functools import cache
from typing import Any, NamedTuple

import numpy as np

from ttt_envs.agents.search import mcts
from ttt_envs.core import rng
from ttt_envs.core.compile import jit
from ttt_envs.core.loops import Kernels, advance_for


def node_for(players: int) -> np.dtype:
    """Return the dtype of a node: a position in a tree."""
    return np.dtype(
        [
            ("value", np.float32, (players,)),  # the network's value for each player
            ("mover", np.int32),
            ("first", np.int32),  # its first edge
            ("count", np.int32),  # number of its edges: one per legal action
        ],
        align=True,
    )


def edge_for(players: int) -> np.dtype:
    """Return the dtype of an edge: an action in a position."""
    return np.dtype(
        [
            ("total", np.float32, (players,)),  # sum of the values of its visits
            ("proved", np.float32, (players,)),  # the rewards if a win or loss is proven, else 0
            ("logit", np.float32),  # logarithm of `prior`
            ("prior", np.float32),
            ("visits", np.int32),
            ("action", np.int32),
            ("child", np.int32),  # the node after it, 0 for none; with chance always 0
        ],
        align=True,
    )


#: A tree's numbers of nodes and edges, the node that waits for the network, and the length of the last path.
HEAD = np.dtype([("nodes", np.int32), ("edges", np.int32), ("leaf", np.int32), ("length", np.int32)], align=True)


class Forest(NamedTuple):
    """One search tree for each of g games.

    Attributes:
        heads: HEAD (g,).
        nodes: `node_for` (g, simulations + 1); node 0 is the root.
        edges: `edge_for` (g, (simulations + 1) * num_actions).
        paths: int32 (g, simulations + 1), the edges of the last simulation's path.
        tries: `mcts.INDEX` (g, simulations + 1), the index of each tree's positions; (g, 0) without chance.
        world: states (3,), scratch memory to play in.
        memory: the part of `world` that identifies the position world[0], as uint64.
        scores: float64 (num_actions,), scratch memory.
        legal: bool (num_actions,), scratch memory.
    """

    heads: np.ndarray
    nodes: np.ndarray
    edges: np.ndarray
    paths: np.ndarray
    tries: np.ndarray
    world: np.ndarray
    memory: np.ndarray
    scores: np.ndarray
    legal: np.ndarray


class Plan(NamedTuple):
    """The settings and the positions of a search.

    Attributes:
        roots: states (g,), unfinished.
        seeds: uint64 (g,), seeds of random draws.
        noise: float32 (g, num_actions), added to the logits at the root.
        visits: int32 (considered + 1, simulations): with m considered actions, simulation s visits a root action that
            has had visits[m, s] visits so far; see `gumbel.considered_visits`.
        c_visit, c_scale: see `gumbel.GumbelSearch`.
    """

    roots: np.ndarray
    seeds: np.ndarray
    noise: np.ndarray
    visits: np.ndarray
    c_visit: float
    c_scale: float


class Leaves(NamedTuple):
    """New positions that wait for the network, at most one per game.

    Attributes:
        games: int64 (g,), the game of each position.
        observations: int8 (g, size).
        masks: bool (g, num_actions).
        players: int64 (g,), the players to move.
    """

    games: np.ndarray
    observations: np.ndarray
    masks: np.ndarray
    players: np.ndarray


class SearchResult(NamedTuple):
    """The results of a search.

    Attributes:
        policy: float32 (n, num_actions), the improved policy.
        actions: int64 (n,), the best of the actions with the most visits.
        values: float32 (n, num_players), each player's expected reward under the improved policy.
        q: float32 (n, num_actions), each action's value to the player to move, by `completed`; NaN where illegal.
        visits: int32 (n, num_actions).
    """

    policy: np.ndarray
    actions: np.ndarray
    values: np.ndarray
    q: np.ndarray
    visits: np.ndarray


@jit.kernel
def follow(memory, trie, edge, new):
    """Return the number of the node after an edge in a game without chance; an untried edge gets the node `new`."""
    if edge["child"] == 0:
        edge["child"] = new
    return edge["child"]


@jit.kernel
def recognise(memory, trie, edge, new):
    """Return the node number of the position in `memory`, uint64 (words,); a new position gets the number `new`."""
    digest = np.uint64(0)
    for k in range(memory.shape[0]):
        digest = rng.mix(digest ^ memory[k])
    return mcts.find(trie, new, digest)


@jit.kernel
def mixed_value(node, edges, player):
    """Return the value for `player` that untried actions of `node` are assumed to have; `edges` are the node's edges.

    This is a weighted mean of two values: the network's value of the position, with weight 1, and the mean value of the
    tried actions, weighted by their priors, with their total number of visits as its weight.
    """
    visits, prior, value = 0, 0.0, 0.0
    for k in range(edges.shape[0]):
        if edges[k]["visits"]:
            visits += edges[k]["visits"]
            prior += edges[k]["prior"]
            value += edges[k]["prior"] * edges[k]["total"][player] / edges[k]["visits"]
    if visits == 0:
        return np.float64(node["value"][player])
    return (node["value"][player] + visits * value / max(prior, 1e-30)) / (1 + visits)


@jit.kernel
def completed(edge, player, mixed):
    """Return a player's mean value over an edge's visits; if untried, its proven value or, without proof, `mixed`."""
    if edge["visits"]:
        return edge["total"][player] / edge["visits"]
    return np.float64(edge["proved"][player]) if edge["proved"][player] else mixed


@jit.kernel
def score(node, edges, plan, scores):
    """Write the logits of a node's improved policy to `scores`; return the sum and the maximum of its edges' visits."""
    visits = most = 0
    for k in range(edges.shape[0]):
        visits += edges[k]["visits"]
        most = max(most, edges[k]["visits"])
    mover = node["mover"]
    mixed = mixed_value(node, edges, mover)
    scale = 0.5 * plan.c_scale * (plan.c_visit + most)  # 0.5 * value maps -1..1 to 0..1 up to a constant
    for k in range(edges.shape[0]):
        scores[k] = edges[k]["logit"] + scale * completed(edges[k], mover, mixed)
    return visits, most


@jit.kernel
def softmax(scores):
    """Turn logits into probabilities, in place."""
    top = scores.max()
    total = 0.0
    for k in range(scores.shape[0]):
        scores[k] = math.exp(scores[k] - top)
        total += scores[k]
    for k in range(scores.shape[0]):
        scores[k] /= total


@jit.kernel
def best_at_root(edges, scores, noise, visits):
    """Return the index of the edge with the highest score plus noise among the edges with `visits` visits."""
    best, highest = 0, -np.inf
    for k in range(edges.shape[0]):
        if edges[k]["visits"] == visits:
            score = scores[k] + noise[edges[k]["action"]]
            if score > highest:
                best, highest = k, score
    return best


@jit.kernel
def best_below(edges, scores, visits):
    """Return the index of the edge whose share of visits is furthest below its probability in the improved policy."""
    softmax(scores)
    best, highest = 0, -np.inf
    for k in range(edges.shape[0]):
        score = scores[k] - edges[k]["visits"] / (1.0 + visits)
        if score > highest:
            best, highest = k, score
    return best


@jit.kernel
def own_edges(edges, node):
    """Return the edges of a node."""
    return edges[node["first"] : node["first"] + node["count"]]


@jit.kernel
def lost_edges(node, edges):
    """Return the number of a node's edges that are proven to lose."""
    count = 0
    for k in range(edges.shape[0]):
        count += edges[k]["proved"][node["mover"]] < 0
    return count


@jit.kernel
def open_edges(node, edges):
    """Return the number of root edges to compare.

    Edges that were proven to lose before their first visit are left out, unless all were.
    """
    count = 0
    for k in range(edges.shape[0]):
        count += edges[k]["visits"] > 0 or edges[k]["proved"][node["mover"]] >= 0
    return count if count else edges.shape[0]


@jit.kernel
def best_result(node, edges, scores, noise):
    """Return the index of the edge to play: one that is proven to win, or else the best of those with the most visits.

    Sets the scores of edges that are proven to lose to minus infinity, unless all edges are.
    """
    some, most = lost_edges(node, edges) < edges.shape[0], 0
    for k in range(edges.shape[0]):
        if edges[k]["proved"][node["mover"]] > 0:
            return k
        if some and edges[k]["proved"][node["mover"]] < 0:
            scores[k] = -np.inf
        else:
            most = max(most, edges[k]["visits"])
    return best_at_root(edges, scores, noise, most)


@jit.kernel
def back_up(edges, path, values):
    """Add a visit with the rewards `values`, (players,), to every edge of a path."""
    for k in range(path.shape[0]):
        edge = edges[path[k]]
        edge["visits"] += 1
        for player in range(values.shape[0]):
            edge["total"][player] += values[player]


@jit.kernel
def add_node(forest, game, mover, legal):
    """Add a node with an edge for each legal action; `grow` fills in the network's output."""
    head = forest.heads[game]
    node = forest.nodes[game, head["nodes"]]
    node["mover"], node["first"] = mover, head["edges"]
    for action in range(legal.shape[0]):
        if legal[action]:
            edge = forest.edges[game, head["edges"]]
            edge["total"][:] = 0
            edge["proved"][:] = 0
            edge["visits"] = edge["child"] = 0
            edge["action"] = action
            head["edges"] += 1
    node["count"] = head["edges"] - node["first"]
    head["leaf"] = head["nodes"]
    head["nodes"] += 1


@jit.kernel
def unproved(forest, game):
    """Return False. This function replaces `prove` if proofs are off."""
    return False


def prove(forest, game):
    """Look two plies ahead from the new node, whose position is forest.world[0], and mark the actions that win at once
    or let the other player win at once. If this proves the position's result, set its `rewards` and return True."""
    worlds, legal, joint = forest.world, forest.legal, np.zeros(2, np.int64)
    state, child, reply = worlds[0], worlds[1], worlds[2]
    node = forest.nodes[game, forest.heads[game]["leaf"]]
    mover, own, lost = node["mover"], own_edges(forest.edges[game], node), 0
    for k in range(own.shape[0]):
        worlds[1] = state
        joint[mover] = own[k]["action"]
        step(child, joint)
        rewards = child["rewards"]
        if not child["done"] and child["to_move"] != mover:
            other = child["to_move"]
            legal_mask(child, other, legal)
            for action in range(legal.shape[0]):
                if legal[action]:
                    worlds[2] = child
                    joint[other] = action
                    step(reply, joint)
                    if reply["done"] and reply["rewards"][other] >= 1:
                        rewards[:] = reply["rewards"]
                        break
        if abs(rewards[mover]) >= 1:
            own[k]["proved"][:] = rewards
            lost += rewards[mover] < 0
            if rewards[mover] > 0 or lost == own.shape[0]:
                state["rewards"][:] = rewards
                return True
    return False


@jit.kernel
def ignore(forest, game, rewards):
    """Do nothing. This function replaces `carry_up` if proofs are off."""


@jit.kernel
def carry_up(forest, game, rewards):
    """Walk up the last path and mark its edges as proven, as long as optimal play after them leads to `rewards`."""
    edges, path = forest.edges[game], forest.paths[game]
    if abs(rewards[0]) < 1:
        return
    for k in range(forest.heads[game]["length"] - 1, -1, -1):
        edge = edges[path[k]]
        for player in range(rewards.shape[0]):
            edge["proved"][player] = rewards[player]
            edge["total"][player] = edge["visits"] * rewards[player]
        node = forest.nodes[game, edges[path[k - 1]]["child"] if k else 0]
        if rewards[node["mover"]] < 0 and lost_edges(node, own_edges(edges, node)) < node["count"]:
            return


def walk(simulation, plan, forest, leaves):
    """Run one simulation of each game until it reaches a new position or a proven or final result; back up results.

    If a game's tree is empty, only create its root. Returns the number of leaves that wait for the network.
    """
    state, joint, count = forest.world[0], np.zeros(forest.world[0]["rewards"].shape[0], np.int64), 0
    for game in range(plan.roots.shape[0]):
        forest.world[0] = plan.roots[game]
        head, nodes, edges = forest.heads[game], forest.nodes[game], forest.edges[game]
        new, node, length = head["nodes"], 0, 0
        known = False
        while node != new and not (known or state["done"]):
            own = own_edges(edges, nodes[node])
            visits, _ = score(nodes[node], own, plan, forest.scores)
            scores = forest.scores[: own.shape[0]]
            if node == 0:
                considered = min(plan.visits.shape[0] - 1, open_edges(nodes[0], own))
                best = best_at_root(own, scores, plan.noise[game], plan.visits[considered, simulation])
                resample(state, nodes[0]["mover"], rng.fold(plan.seeds[game], own[best]["visits"]))
            else:
                best = best_below(own, scores, visits)
            forest.paths[game, length] = nodes[node]["first"] + best
            length += 1
            known = own[best]["proved"][0] != 0
            if known:
                state["rewards"][:] = own[best]["proved"]
                continue
            joint[nodes[node]["mover"]] = own[best]["action"]
            step(state, joint)
            if not state["done"]:
                node = arrive(forest.memory, forest.tries[game], own[best], new)
        head["length"] = length
        if not (known or state["done"]):
            mover = state["to_move"]
            legal_mask(state, mover, leaves.masks[count])
            observe(state, mover, leaves.observations[count])
            leaves.games[count], leaves.players[count] = game, mover
            add_node(forest, game, mover, leaves.masks[count])
            # The root needs the network's output even if its result is proven, because its actions are compared.
            known = probe(forest, game) and length > 0
            count += not known
        if known or state["done"]:
            settle(forest, game, state["rewards"])
            back_up(edges, forest.paths[game, :length], state["rewards"])
    return count


@jit.kernel
def grow(logits, values, leaves, forest):
    """Fill in the network's output for the leaves, one leaf per row of `logits`, and back up the values."""
    for k in range(logits.shape[0]):
        head = forest.heads[leaves.games[k]]
        node, edges = forest.nodes[leaves.games[k], head["leaf"]], forest.edges[leaves.games[k]]
        for player in range(values.shape[1]):
            node["value"][player] = values[k, player]
        own = own_edges(edges, node)
        scores = forest.scores[: own.shape[0]]
        some = lost_edges(node, own) < own.shape[0]
        for i in range(own.shape[0]):
            # Skip actions that are proven to lose, unless all are.
            hopeless = some and own[i]["proved"][node["mover"]] < 0
            scores[i] = -np.inf if hopeless else logits[k, own[i]["action"]]
        softmax(scores)
        for i in range(own.shape[0]):
            own[i]["prior"] = scores[i]
            own[i]["logit"] = math.log(max(scores[i], 1e-30))
        back_up(edges, forest.paths[leaves.games[k], : head["length"]], node["value"])


@jit.kernel
def read(plan, forest, result):
    """Write the results of all games to `result`, a `SearchResult`."""
    for game in range(plan.roots.shape[0]):
        node = forest.nodes[game, 0]
        own = own_edges(forest.edges[game], node)
        score(node, own, plan, forest.scores)
        scores = forest.scores[: own.shape[0]]
        result.actions[game] = own[best_result(node, own, scores, plan.noise[game])]["action"]
        softmax(scores)
        result.policy[game] = 0
        result.visits[game] = 0
        result.values[game] = 0
        result.q[game] = np.nan
        for k in range(own.shape[0]):
            result.policy[game, own[k]["action"]] = scores[k]
            result.visits[game, own[k]["action"]] = own[k]["visits"]
        for player in range(result.values.shape[1]):
            mixed = mixed_value(node, own, player)
            for k in range(own.shape[0]):
                value = completed(own[k], player, mixed)
                result.values[game, player] += scores[k] * value
                if player == node["mover"]:
                    result.q[game, own[k]["action"]] = value


@cache
def walk_for(kernels: Kernels, chance: bool, proofs: bool = False) -> Callable[..., Any]:
    """Return `walk` for one game's rules, with or without chance, with or without proofs."""
    rules = {"legal_mask": kernels.legal_mask, "step": advance_for(kernels)}
    return jit.specialise(
        walk,
        **rules,
        observe=kernels.observe,
        resample=kernels.resample,
        arrive=recognise if chance else follow,
        probe=jit.specialise(prove, **rules) if proofs else unproved,
        settle=carry_up if proofs else ignore,
    )
