"""PSRO, a method outside the library, on Kuhn poker: the mixture by enumeration, the meta game, and a run."""

import importlib.util
import itertools
import sys
import time
from functools import partial
from pathlib import Path
from typing import Any

import kuhn_poker
import numpy as np
import pytest
import torch

import ttt_envs
from ttt_envs import evaluation
from ttt_envs.learning.episodes import WholeGames
from ttt_envs.learning.torch_networks import TorchNetwork
from ttt_envs.solvers import sequence, tree

GAME = kuhn_poker.make()
SCRIPT = Path(__file__).resolve().parents[2] / "examples" / "methods" / "psro.py"


@pytest.fixture(scope="module")
def psro():
    spec = importlib.util.spec_from_file_location("psro_example", SCRIPT)
    assert spec is not None
    assert spec.loader is not None
    module = sys.modules[spec.name] = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    yield module
    del sys.modules[spec.name]


def psro_of(psro: Any) -> Any:
    torch.manual_seed(1)
    settings = {"num_envs": 400, "hidden": (16,), "meta_games": 4000, "response": 500, "imitations": 600}
    found = psro.PSRO(psro.Config(game=GAME.id, **settings), GAME)
    found.begin(np.random.default_rng(0))
    return found


def of_three(psro: Any) -> Any:
    population = psro.Population(psro_of(psro).info)
    for _ in range(3):
        net = TorchNetwork(population.info)
        torch.nn.init.normal_(net.heads["policy"].weight, std=2.0)
        population.add(net)
    return population


def plans_of(found: tree.Tree, population: Any) -> list[list[np.ndarray]]:
    plans = []
    for player in (0, 1):
        views = list(found.views(player))
        seen, legal = (np.concatenate([getattr(view, name) for view in views]) for name in ("observations", "masks"))
        log_probs = population.log_probs(torch.from_numpy(seen.astype(np.float32)), torch.from_numpy(legal))
        policies = [found.policy([table, table])[player] for table in log_probs.exp().double().numpy()]
        plans.append([sequence.plan_of(found.players[player], policy) for policy in policies])
    return plans


def mixed(found: tree.Tree, population: Any, strategies: np.ndarray) -> list[np.ndarray]:
    """The policy of the mixture in all information sets, float64 (sequences,) a player, by its realisation plan."""
    policies = []
    for mine, plans, strategy in zip(found.players, plans_of(found, population), strategies, strict=True):
        policy = np.empty(mine.sequences)
        sequence.fill_policy(mine.sets, sum(w * plan for w, plan in zip(strategy, plans, strict=True)), policy)
        policies.append(policy)
    return policies


def test_a_mixture_is_the_policy_that_enumeration_finds(psro):
    population, found = of_three(psro), tree.walk(GAME)
    strategies = np.array([[0.2, 0.5, 0.3], [0.6, 0.0, 0.4]])
    policies = mixed(found, population, strategies)
    wanted, evenly = {}, {}
    for player in (0, 1):
        (view,) = found.views(player)
        table = found.table(player, policies[player])
        means = torch.einsum(
            "k,kna->na",
            torch.from_numpy(strategies[player]).float(),
            population.log_probs(
                torch.from_numpy(view.observations.astype(np.float32)), torch.from_numpy(view.masks)
            ).exp(),
        )
        for row, seen in enumerate(view.observations):
            wanted[seen.tobytes()], evenly[seen.tobytes()] = table[row], means[row].numpy()
    generator = np.random.default_rng(2)
    assigned = np.stack([generator.choice(3, 3000, p=each) for each in strategies], axis=1)
    games = WholeGames(GAME, 3000, seed=3).play(population.act(assigned, population.members[0]))
    behaviour, weights = population.behaviour(games, strategies)
    seen = [row.tobytes() for row in games.observations]
    assert set(seen) == set(wanted), "all information sets are met"
    assert behaviour.numpy() == pytest.approx(np.array([wanted[each] for each in seen]), abs=1e-5)
    # The plain mean of the policies is another policy, and no player has drawn what they never draw.
    assert max(np.abs(wanted[each] - evenly[each]).max() for each in wanted) > 0.05
    assert not weights.numpy()[games.players == 1, 1].any()


def test_the_meta_game_is_that_of_the_policies(psro):
    method = psro_of(psro)
    while len(method.population.members) < 3:
        method.one_round(0.0)
    found = tree.walk(GAME)
    first, second = plans_of(found, method.population)
    exact = np.array([[sequence.payoffs(found.players[0], column) @ row for column in second] for row in first])
    # A game's reward varies by 0.7 or so.
    assert method.population.payoffs == pytest.approx(exact, abs=0.06)
    strategies = method.population.strategies()
    payoffs = method.population.payoffs
    value = strategies[0] @ payoffs @ strategies[1]
    assert (payoffs @ strategies[1]).max() < value + 1e-3
    assert (strategies[0] @ payoffs).min() > value - 1e-3
    assert method.learned < 500, "a new best response has begun"


def test_as_a_method_of_a_study_it_returns_an_agent_nearer_to_an_equilibrium(psro, monkeypatch):
    small = {"response": 4000, "hidden": (32,), "learning_rate": 1e-2}
    monkeypatch.setattr(psro, "Config", partial(psro.Config, **small))
    rounds = itertools.count()
    monkeypatch.setattr(time, "process_time", lambda: next(rounds))
    agent = psro.train(GAME, 0, 50)
    trained, random = evaluation.exploitability(GAME, [agent, "random"], quiet=True).measurements
    assert trained.exploitability < random.exploitability / 2


def test_it_refuses_a_game_of_three(psro):
    with pytest.raises(ValueError, match="two players"):
        psro.train(ttt_envs.load("martian_tic_tac_toe", players=3), 0, 1.0)
