"""Two-player zero-sum games in sequence form: policies, best responses, exploitability, policies as files.

**Sequence form** (Koller, Megiddo and von Stengel, "Efficient computation of equilibria for extensive two-person
games", Games and Economic Behavior 14, 1996). A *sequence* of a player represents all their actions so far: an
information set and an action in it; sequence 0 is the empty one. With perfect recall the payoffs of a game are a sparse
table over pairs of sequences: the payoffs of all ends that the pair and chance lead to, times the probability of
chance.

A *policy* here is a pair of float64 (sequences,), the probability of the last action of each sequence in its
information set, 1 for sequence 0. A *plan* is the product of these along each sequence.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from ttt_envs.agents.solved import Side, write_policy
from ttt_envs.core import rng
from ttt_envs.core.compile import jit
from ttt_envs.core.game import Game
from ttt_envs.core.view import View

__all__ = [
    "Exploitability",
    "InformationSets",
    "Tree",
    "action_values",
    "best_response",
    "exploitability",
    "payoffs",
    "plan_of",
    "save_policy",
]

#: One information set: the sequence that leads to it, and its own sequences, first, first + 1, ... in order of actions.
SET = np.dtype([("parent", np.int32), ("first", np.int32), ("count", np.int32)])

# Rows worked on at once: enough to make Python's share small, few enough to stay in a processor's cache.
CHUNK = 1 << 14


@dataclass(frozen=True, eq=False)
class InformationSets:
    """One player's information sets (m of them) and sequences, each after its predecessors.

    Attributes:
        sets: SET (m,).
        actions: int32 (sequences,), the last action of each sequence; -1 for sequence 0.
        plies: int32 (m,), the ply of each set.
        states: structured (m,), one of the positions of each set.
        digests: uint64 (m, 2), digests of all that the player knows in each set.
        start: int64 (sequences + 1,), the payoffs of sequence s are those from start[s] to start[s + 1].
        other: int32 (payoffs,), sequences of the other player.
        payoff: float64 (payoffs,), reward of this player times the probability of chance.
    """

    sets: np.ndarray
    actions: np.ndarray
    plies: np.ndarray
    states: np.ndarray
    digests: np.ndarray
    start: np.ndarray
    other: np.ndarray
    payoff: np.ndarray

    @property
    def sequences(self) -> int:
        """Number of sequences, the empty one included."""
        return len(self.actions)


@dataclass(frozen=True, eq=False)
class Tree:
    """A game in sequence form.

    Attributes:
        game: the game that was walked.
        players: the decisions of both players.
        positions: number of histories up to any ply: different sequences of actions and of outcomes of chance,
            finished games included.
        finished: how many of them are finished games.
        plies: length of the longest game.
    """

    game: Game
    players: tuple[InformationSets, InformationSets]
    positions: int
    finished: int
    plies: int

    @property
    def sets(self) -> int:
        """Number of information sets."""
        return sum(len(each.sets) for each in self.players)

    def uniform(self) -> tuple[np.ndarray, np.ndarray]:
        """Return the uniform policy over legal actions."""
        first, second = (_spread(each, 1 / each.sets["count"]) for each in self.players)
        return first, second

    def views(self, player: int, seed: int = 0, chunk: int = CHUNK) -> Iterator[View]:
        """Yield views of all information sets of `player`, in order and in parts; `seed`: for the agents' draws."""
        states, digests = self.players[player].states, self.players[player].digests
        for first in range(0, len(states), chunk):
            some = states[first : first + chunk]
            seeds = np.empty(len(some), np.uint64)
            rng.fold_rows(
                np.full(len(some), seed, np.uint64), np.arange(first, first + len(some), dtype=np.uint64), seeds
            )
            known = digests[first : first + chunk]
            yield View.unchecked(self.game, some, np.full(len(some), player), seeds, info_state_keys=known, copy=False)

    def policy(self, tables: Sequence[np.ndarray]) -> tuple[np.ndarray, np.ndarray]:
        """Return a policy from each player's table, float64 (information sets, num_actions)."""
        first, second = (
            np.concatenate([[1.0], table[np.repeat(np.arange(len(each.sets)), each.sets["count"]), each.actions[1:]]])
            for each, table in zip(self.players, tables, strict=True)
        )
        return first, second

    def table(self, player: int, policy: np.ndarray) -> np.ndarray:
        """Return float64 (information sets, num_actions), from one player's part of a policy."""
        mine = self.players[player]
        out = np.zeros((len(mine.sets), self.game.num_actions))
        out[np.repeat(np.arange(len(mine.sets)), mine.sets["count"]), mine.actions[1:]] = policy[1:]
        return out


@jit.kernel
def fill_plan(sets, policy, plan):  # type: ignore[no-untyped-def]
    """The plan of a policy: all float64 (sequences,)."""
    plan[0] = 1.0
    for k in range(sets.shape[0]):
        before = plan[sets[k]["parent"]]
        for s in range(sets[k]["first"], sets[k]["first"] + sets[k]["count"]):
            plan[s] = before * policy[s]


@jit.kernel
def fill_policy(sets, plan, policy):  # type: ignore[no-untyped-def]
    """The policy of a plan, or of a sum of plans; uniform where the plan does not go."""
    policy[0] = 1.0
    for k in range(sets.shape[0]):
        first, count, total = sets[k]["first"], sets[k]["count"], 0.0
        for s in range(first, first + count):
            total += plan[s]
        for s in range(first, first + count):
            policy[s] = plan[s] / total if total > 0.0 else 1.0 / count


@jit.kernel
def fill_payoffs(start, other, payoff, plan, out):  # type: ignore[no-untyped-def]
    """out[s] = the payoff of ends right after sequence s, if the other player follows `plan`; see InformationSets."""
    for s in range(out.shape[0]):
        total = 0.0
        for k in range(start[s], start[s + 1]):
            total += payoff[k] * plan[other[k]]
        out[s] = total


@jit.kernel
def respond(sets, values, policy):  # type: ignore[no-untyped-def]
    """Best actions against payoffs by `fill_payoffs`, the first ones of equal value: policy float64 (sequences,).

    `values` become the value of each sequence with optimal play from there on; values[0] is that of the game.
    """
    policy[0] = 1.0
    for k in range(sets.shape[0] - 1, -1, -1):
        first, best = sets[k]["first"], sets[k]["first"]
        for s in range(first, first + sets[k]["count"]):
            policy[s] = 0.0
            if values[s] > values[best]:
                best = s
        policy[best] = 1.0
        values[sets[k]["parent"]] += values[best]


def plan_of(mine: InformationSets, policy: np.ndarray) -> np.ndarray:
    """Return the plan of one player's policy."""
    plan = np.empty(mine.sequences)
    fill_plan(mine.sets, policy, plan)
    return plan


def payoffs(mine: InformationSets, plan: np.ndarray) -> np.ndarray:
    """Return the payoff of ends right after each sequence against the other player's plan: float64 (sequences,)."""
    out = np.empty(mine.sequences)
    fill_payoffs(mine.start, mine.other, mine.payoff, plan, out)
    return out


def best_response(tree: Tree, player: int, plan: np.ndarray) -> tuple[float, np.ndarray]:
    """Return the best response of `player` to the other's plan: its value, and a policy that attains it."""
    mine = tree.players[player]
    values, policy = payoffs(mine, plan), np.empty(mine.sequences)
    respond(mine.sets, values, policy)
    return float(values[0]), policy


def action_values(tree: Tree, player: int, policy: Sequence[np.ndarray], reach: np.ndarray) -> np.ndarray:
    """Return the reward that `player` expects after each action in each of their information sets.

    The other player follows `policy`, the player plays best from then on.

    Args:
        tree: the game.
        player: whose information sets.
        policy: of both players.
        reach: float64 (information sets,), as `tree.reaches` gives it for the player.

    Returns:
        float64 (information sets, num_actions): nan where illegal, and in sets to which the other player never leads.
    """
    mine = tree.players[player]
    values = payoffs(mine, plan_of(tree.players[1 - player], policy[1 - player]))
    respond(mine.sets, values, np.empty(mine.sequences))
    out = np.full((len(mine.sets), tree.game.num_actions), np.nan)
    rows = np.repeat(np.arange(len(mine.sets)), mine.sets["count"])
    with np.errstate(invalid="ignore", divide="ignore"):
        out[rows, mine.actions[1:]] = values[1:] / np.where(reach > 0, reach, np.nan)[rows]
    return out


@dataclass(frozen=True)
class Exploitability:
    """The distance of a policy from an equilibrium.

    Attributes:
        value: the mean of both best responses: the average loss of a policy to opponents who know it, if seats are
            drawn. 0 for an equilibrium, and for nothing else.
        nash_conv: the sum of both, twice `value`.
        best_responses: the expected reward of each player who plays best against the policy. The value of the game for
            player 0 lies from -best_responses[1] to best_responses[0].
        expected: the expected reward of player 0 if both follow the policy.
    """

    value: float
    nash_conv: float
    best_responses: tuple[float, float]
    expected: float


def exploitability(tree: Tree, policy: Sequence[np.ndarray]) -> Exploitability:
    """Return the exact exploitability of a policy."""
    plans = [plan_of(mine, part) for mine, part in zip(tree.players, policy, strict=True)]
    first, second = (best_response(tree, player, plans[1 - player])[0] for player in (0, 1))
    expected = float(payoffs(tree.players[0], plans[1]) @ plans[0])
    nash_conv = max(first + second, 0.0)  # rounding may leave a little less
    return Exploitability(nash_conv / 2, nash_conv, (first, second), expected)


def _spread(mine: InformationSets, values: np.ndarray) -> np.ndarray:
    return np.concatenate([[1.0], np.repeat(values, mine.sets["count"])])


def save_policy(path: Path, tree: Tree, policy: Sequence[np.ndarray], **facts: Any) -> None:
    """Write a policy as `solved:PATH` plays it, whole or not at all; `facts`: for JSON, such as its exploitability."""
    sides = [
        Side(mine.digests, mine.sets["count"], mine.actions[1:], part[1:])
        for mine, part in zip(tree.players, policy, strict=True)
    ]
    write_policy(path, tree.game, sides, facts)
