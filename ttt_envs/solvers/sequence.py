"""Two-player zero-sum games in sequence form: policies, best responses, exploitability, policies as files.

The **sequence form** is that of Koller, Megiddo and von Stengel, "Efficient computation of equilibria for extensive
two-person games", Games and Economic Behavior 14, 1996. A *sequence* of a player is an information set and an action in
it. With perfect recall, it represents all the player's actions so far. Sequence 0 is empty. The payoffs of a game are a
sparse table over pairs of sequences, one of each player: the sum, over all finished games with these sequences, of the
payoff times the probability of their random events.

A *policy* consists of one float64 (sequences,) per player: the probability of each sequence's last action in its
information set; 1 for sequence 0. A *plan* has, for each sequence, the product of the probabilities of all its actions.
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

#: An information set: `parent` is the sequence that leads to it; its own sequences are first, ..., first + count - 1.
SET = np.dtype([("parent", np.int32), ("first", np.int32), ("count", np.int32)])

# Rows processed at once: enough to make Python's overhead small, few enough for the processor's cache.
CHUNK = 1 << 14


@dataclass(frozen=True, eq=False)
class InformationSets:
    """One player's m information sets and sequences; each of them comes after those that precede it in a game.

    Attributes:
        sets: SET (m,).
        actions: int32 (sequences,), the last action of each sequence; -1 for sequence 0.
        plies: int32 (m,), the ply of each set.
        states: structured (m,), one of the positions of each set.
        digests: uint64 (m, 2), digests of all that the player knows in each set.
        start: int64 (sequences + 1,), the payoffs of sequence s have indices start[s] to start[s + 1] - 1.
        other: int32 (payoffs,), the other player's sequence for each payoff.
        payoff: float64 (payoffs,), this player's reward times the probability of the random events.
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
        """The number of sequences, including the empty one."""
        return len(self.actions)


@dataclass(frozen=True, eq=False)
class Tree:
    """A game in sequence form.

    Attributes:
        game: the game.
        players: the information sets and payoffs of both players.
        positions: number of histories of any length, including finished games. A history is a sequence of actions and
            outcomes of chance.
        finished: number of these histories that are finished games.
        plies: length of the longest game.
    """

    game: Game
    players: tuple[InformationSets, InformationSets]
    positions: int
    finished: int
    plies: int

    @property
    def sets(self) -> int:
        """The number of information sets of both players."""
        return sum(len(each.sets) for each in self.players)

    def uniform(self) -> tuple[np.ndarray, np.ndarray]:
        """Return the uniform policy over legal actions."""
        first, second = (_spread(each, 1 / each.sets["count"]) for each in self.players)
        return first, second

    def views(self, player: int, seed: int = 0, chunk: int = CHUNK) -> Iterator[View]:
        """Yield views of all information sets of `player`, in order and in parts; `seed`: seed of the agents' draws."""
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
        """Return one player's part of a policy as a table, float64 (information sets, num_actions)."""
        mine = self.players[player]
        out = np.zeros((len(mine.sets), self.game.num_actions))
        out[np.repeat(np.arange(len(mine.sets)), mine.sets["count"]), mine.actions[1:]] = policy[1:]
        return out


@jit.kernel
def fill_plan(sets, policy, plan):  # type: ignore[no-untyped-def]
    """Write the plan of a policy to `plan`; both are float64 (sequences,)."""
    plan[0] = 1.0
    for k in range(sets.shape[0]):
        before = plan[sets[k]["parent"]]
        for s in range(sets[k]["first"], sets[k]["first"] + sets[k]["count"]):
            plan[s] = before * policy[s]


@jit.kernel
def fill_policy(sets, plan, policy):  # type: ignore[no-untyped-def]
    """Write the policy of a plan, or of a sum of plans, to `policy`; uniform in sets that the plan never reaches."""
    policy[0] = 1.0
    for k in range(sets.shape[0]):
        first, count, total = sets[k]["first"], sets[k]["count"], 0.0
        for s in range(first, first + count):
            total += plan[s]
        for s in range(first, first + count):
            policy[s] = plan[s] / total if total > 0.0 else 1.0 / count


@jit.kernel
def fill_payoffs(start, other, payoff, plan, out):  # type: ignore[no-untyped-def]
    """Write to out[s] the payoff of games that end right after sequence s, if the other player follows `plan`."""
    for s in range(out.shape[0]):
        total = 0.0
        for k in range(start[s], start[s + 1]):
            total += payoff[k] * plan[other[k]]
        out[s] = total


@jit.kernel
def respond(sets, values, policy):  # type: ignore[no-untyped-def]
    """Write to `policy`, float64 (sequences,), a best response to the plan for which `fill_payoffs` wrote `values`.

    Of several best actions, the first is chosen. `values` are overwritten with the value of each sequence under optimal
    play from there on; values[0] is the game's value.
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
    """Return the payoff of games that end right after each sequence; the other player follows `plan`."""
    out = np.empty(mine.sequences)
    fill_payoffs(mine.start, mine.other, mine.payoff, plan, out)
    return out


def best_response(tree: Tree, player: int, plan: np.ndarray) -> tuple[float, np.ndarray]:
    """Return the value of `player`'s best response to the other player's plan, and a policy that attains it."""
    mine = tree.players[player]
    values, policy = payoffs(mine, plan), np.empty(mine.sequences)
    respond(mine.sets, values, policy)
    return float(values[0]), policy


def action_values(tree: Tree, player: int, policy: Sequence[np.ndarray], reach: np.ndarray) -> np.ndarray:
    """Return the expected reward of `player` after each action in each of the player's information sets.

    The other player follows `policy`; `player` plays optimally from then on.

    Args:
        tree: the game.
        player: the player.
        policy: a policy of both players.
        reach: float64 (information sets,), the player's part of `tree.reaches`.

    Returns:
        float64 (information sets, num_actions); NaN where illegal, and in sets that the other player never leads to.
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
        value: the mean of `best_responses`: what a policy loses on average, in a random seat, to opponents who know it.
            It is 0 for an equilibrium and positive for any other policy.
        nash_conv: the sum of `best_responses`, twice `value`.
        best_responses: each player's expected reward with a best response to the policy. The value of the game for
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
    nash_conv = max(first + second, 0.0)  # rounding may make the sum slightly negative
    return Exploitability(nash_conv / 2, nash_conv, (first, second), expected)


def _spread(mine: InformationSets, values: np.ndarray) -> np.ndarray:
    return np.concatenate([[1.0], np.repeat(values, mine.sets["count"])])


def save_policy(path: Path, tree: Tree, policy: Sequence[np.ndarray], **facts: Any) -> None:
    """Write a policy atomically in the form that `solved:PATH` plays; `facts`: JSON values, such as exploitability."""
    sides = [
        Side(mine.digests, mine.sets["count"], mine.actions[1:], part[1:])
        for mine, part in zip(tree.players, policy, strict=True)
    ]
    write_policy(path, tree.game, sides, facts)
