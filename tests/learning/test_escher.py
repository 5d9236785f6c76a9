"""ESCHER on Kuhn poker: regrets and the average against enumeration, and choices at once."""

from typing import Any

import kuhn_poker
import numpy as np
import pytest
import torch
import toy_coin

from ttt_envs.core.game import Game
from ttt_envs.learning.escher import Config, Escher
from ttt_envs.solvers import sequence, tree

KUHN = kuhn_poker.make()


def escher_of(game: Game = KUHN, **changes: Any) -> Escher:
    torch.manual_seed(0)
    method = Escher(
        Config(game=game.id, **{"num_envs": 20_000, "hidden": (16,), "reservoir": 200_000, **changes}), game
    )
    method.begin(np.random.default_rng(0))
    return method


def rows_of(method: Escher, name: str) -> dict[bytes, np.ndarray]:
    reservoir = method.reservoirs[name]
    number = int(reservoir.added)
    assert number <= reservoir.size
    seen = [row.tobytes() for row in reservoir.observations[:number].numpy()]
    wanted = reservoir.wanted[:number].numpy()
    groups: dict[bytes, list[int]] = {}
    for row, key in enumerate(seen):
        groups.setdefault(key, []).append(row)
    return {key: wanted[rows].mean(axis=0) for key, rows in groups.items()}


class Exact:
    """What player 0 may expect in Kuhn poker if both follow a policy, by enumeration."""

    def __init__(self, policy: Any) -> None:
        self.policy = policy

    def of(self, state: np.ndarray) -> float:
        if state["done"][0]:
            return float(state["rewards"][0, 0])
        return sum(p * self.of(child) for p, child in self.children(state))

    def children(self, state: np.ndarray) -> list[tuple[float, np.ndarray]]:
        found = []
        for action, probability in enumerate(self.policy(state)):
            child = state.copy()
            KUHN.loops.step_rows(child, np.zeros(1, np.int64), np.full((1, 2), action))
            found.append((probability, child))
        return found


def seen_by(state: np.ndarray, player: int) -> np.ndarray:
    found = np.empty((1, KUHN.observation_size), np.int8)
    KUHN.loops.observe_rows(state, np.array([player]), found)
    return found


def test_regrets_are_those_of_cfr():
    method = escher_of()
    bias = torch.tensor([0.3, 0.1])
    with torch.no_grad():
        method.networks["regrets"].heads["q"].bias.copy_(bias)
    legal = np.ones((1, 2), np.bool_)
    exact = Exact(lambda state: method.policy(seen_by(state, int(state["to_move"][0])), legal)[0])
    known: dict[bytes, float] = {}

    def worth(states: np.ndarray) -> np.ndarray:
        keys = [state["card"].tobytes() + state["said"].tobytes() for state in states]
        for key, row in zip(keys, range(len(states)), strict=True):
            if key not in known:
                known[key] = exact.of(states[row : row + 1].copy())
        return np.array([known[key] for key in keys], np.float32)

    method.worth = worth
    method.play()
    # Enumeration: in each position of the explorer what each action gains, weighted by chance and the other's policy.
    gains: dict[bytes, np.ndarray] = {}
    reach: dict[bytes, float] = {}

    def walk(state: np.ndarray, explorer: int, weight: float) -> None:
        if state["done"][0]:
            return
        mover, children = int(state["to_move"][0]), exact.children(state)
        if mover == explorer:
            sign = 1 if mover == 0 else -1
            values = np.array([sign * exact.of(child) for _, child in children])
            mean = sum(p * value for (p, _), value in zip(children, values, strict=True))
            key = seen_by(state, mover).tobytes()
            gains[key] = gains.get(key, 0) + weight * (values - mean)
            reach[key] = reach.get(key, 0) + weight
        for probability, child in children:
            walk(child, explorer, weight * (1 if mover == explorer else probability))

    for one in range(3):
        for other in range(3):
            if one != other:
                state = KUHN.prototype.copy()
                state["card"], state["said"] = [one, other], kuhn_poker.NONE
                for explorer in (0, 1):
                    walk(state, explorer, 1 / 6)
    found = rows_of(method, "regrets")
    assert set(found) == set(gains)
    for key, values in found.items():
        assert values == pytest.approx(gains[key] / reach[key], abs=0.04)


def test_the_average_weighs_by_the_players_own_reach():
    method = escher_of()
    found, plans = tree.walk(KUHN), [0.0, 0.0]
    for bias in ([0.9, 0.1], [0.05, 0.6]):
        with torch.no_grad():
            method.networks["regrets"].heads["q"].bias.copy_(torch.tensor(bias))
        method.play()
        policy = np.array(bias) / np.sum(bias)
        for player, mine in enumerate(found.players):
            table = np.tile(policy, (len(mine.sets), 1))
            plans[player] = plans[player] + sequence.plan_of(mine, found.policy([table, table])[player])
    rows = rows_of(method, "average")
    for player, mine in enumerate(found.players):
        averaged = np.empty(mine.sequences)
        sequence.fill_policy(mine.sets, plans[player], averaged)
        (view,) = found.views(player)
        for seen, wanted in zip(view.observations, found.table(player, averaged), strict=True):
            assert rows[seen.tobytes()] == pytest.approx(wanted, abs=0.03)


def test_choices_at_once():
    """Each action is tried against what the other player has chosen; the signs are the players'."""
    game = toy_coin.make(players=2, tosses=1)
    method = escher_of(game, num_envs=64)

    def worth(states):
        return (states["said"] @ np.array([1.0, 10.0]) + states["coin"]).astype(np.float32)

    method.worth = worth
    states, legal = method.batch.states.copy(), np.zeros((64, game.num_actions), np.bool_)
    legal[:, [toy_coin.HEADS, toy_coin.TAILS]] = True
    joint = np.random.default_rng(1).integers(0, 2, (64, 2))
    for player in (0, 1):
        values = method.action_values(states, np.full(64, player), joint, legal)
        for action in (toy_coin.HEADS, toy_coin.TAILS):
            children, choices = states.copy(), joint.copy()
            choices[:, player] = action
            game.loops.step_rows(children, np.arange(64), choices)
            assert values[:, action] == pytest.approx([1, -1][player] * worth(children))
        assert not values[:, 2:].any()
    decisions = method.play()
    added = [int(reservoir.added) for reservoir in method.reservoirs.values()]
    assert sum(added) == decisions
    assert min(added) > 64
