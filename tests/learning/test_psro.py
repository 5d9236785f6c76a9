"""PSRO on Kuhn poker: what a mixture of policies plays, by enumeration, and the meta game."""

from typing import Any

import numpy as np
import pytest
import torch
import toy_kuhn

from ttt_envs.learning.psro import PSRO, Config, Population
from ttt_envs.learning.torch_networks import TorchNetwork
from ttt_envs.learning.whole_games import WholeGames
from ttt_envs.solvers import sequence, tree

GAME = toy_kuhn.make()


def psro_of(**changes: Any) -> PSRO:
    torch.manual_seed(1)
    settings = {"num_envs": 400, "hidden": (16,), "meta_games": 4000, "response": 500, "imitations": 600}
    found = PSRO(Config(game=GAME.id, **{**settings, **changes}), GAME)
    found.begin(np.random.default_rng(0))
    return found


def of_three(method: PSRO) -> Population:
    """Three policies that differ much from each other."""
    population = Population(method.info)
    for _ in range(3):
        net = TorchNetwork(method.info)
        torch.nn.init.normal_(net.heads["policy"].weight, std=2.0)
        population.add(net)
    return population


def plans_of(found: tree.Tree, population: Population) -> list[list[np.ndarray]]:
    """The plan of each policy, for both players."""
    plans = []
    for player in (0, 1):
        views = list(found.views(player))
        seen, legal = (np.concatenate([getattr(view, name) for view in views]) for name in ("observations", "masks"))
        log_probs = population.log_probs(torch.from_numpy(seen.astype(np.float32)), torch.from_numpy(legal))
        policies = [found.policy([table, table])[player] for table in log_probs.exp().double().numpy()]
        plans.append([sequence.plan_of(found.players[player], policy) for policy in policies])
    return plans


def mixed(found: tree.Tree, population: Population, strategies: np.ndarray) -> list[np.ndarray]:
    """The policy of the mixture in all information sets, float64 (sequences,) a player, by its realisation plan."""
    policies = []
    for mine, plans, strategy in zip(found.players, plans_of(found, population), strategies, strict=True):
        policy = np.empty(mine.sequences)
        sequence.fill_policy(mine.sets, sum(w * plan for w, plan in zip(strategy, plans, strict=True)), policy)
        policies.append(policy)
    return policies


def test_a_mixture_is_the_policy_that_enumeration_finds():
    population, found = of_three(psro_of()), tree.walk(GAME)
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


def test_the_network_learns_the_mixture():
    method = psro_of(imitated=5, imitation_rate=1e-2)
    method.population = of_three(method)
    method.strategies = np.array([[0.2, 0.5, 0.3], [0.6, 0.0, 0.4]])
    for _ in range(4):
        method._imitate(0.0)
    found, tables = tree.walk(GAME), []
    for player in (0, 1):
        (view,) = found.views(player)
        logits = method.average(torch.from_numpy(view.observations.astype(np.float32)))["policy"]
        tables.append(logits.softmax(dim=1).detach().double().numpy())
    exact = sequence.exploitability(found, mixed(found, method.population, method.strategies))
    assert exact.value > 0.1
    assert sequence.exploitability(found, found.policy(tables)).value == pytest.approx(exact.value, abs=0.03)


def test_the_meta_game_is_that_of_the_policies():
    method = psro_of()
    while len(method.population) < 3:
        method.one_round(0.0)
    found = tree.walk(GAME)
    first, second = plans_of(found, method.population)
    exact = np.array([[sequence.payoffs(found.players[0], column) @ row for column in second] for row in first])
    # A game's reward varies by 0.7 or so.
    assert method.population.payoffs.numpy() == pytest.approx(exact, abs=0.06)
    strategies = method.population.strategies()
    payoffs = method.population.payoffs.numpy()
    value = strategies[0] @ payoffs @ strategies[1]
    assert (payoffs @ strategies[1]).max() < value + 1e-3
    assert (strategies[0] @ payoffs).min() > value - 1e-3
    assert int(method.population.learned) < 500, "a new best response has begun"


def test_a_population_is_kept_with_as_many_as_it_has():
    method = psro_of()
    population, fresh = of_three(method), Population(method.info)
    population.payoffs[0, 1] = 0.25
    fresh.load_state_dict(population.state_dict())
    assert len(fresh) == 3
    assert float(fresh.payoffs[0, 1]) == 0.25
    state = population.state_dict()
    with pytest.raises(ValueError, match="a population of 900 policies"):
        fresh.load_state_dict({**state, "payoffs": torch.zeros((900, 900))})
    with pytest.raises(RuntimeError):
        fresh.load_state_dict({**state, "payoffs": torch.zeros((2, 2))})
