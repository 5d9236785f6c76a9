"""The agent `guided`: tree search with a network file."""

import time
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from asking import view_of

import ttt_envs
from ttt_envs import agents
from ttt_envs.agents.networks import KINDS, BadNetworkFile, Network, NetworkInfo, save_network, values_of
from ttt_envs.agents.search import guided
from ttt_envs.agents.search.guided import Guided
from ttt_envs.core.game import Game

SUPER = ttt_envs.load("super_tic_tac_toe")
DICE = ttt_envs.load("tic_tac_dice", rounds="single")


def info_for(game: Game, kind: str) -> NetworkInfo:
    info = NetworkInfo(game.id, dict(game.options), kind, game.observation_size, game.num_actions, (16, 16), 5)
    return replace(info, residual=True, squash=True, values=values_of(game))


def tensors_for(info: NetworkInfo, scale: float = 0.3) -> dict[str, np.ndarray]:
    """Random weights, of which sums of products are exact in float32, in whatever order they are added up."""
    generator = np.random.default_rng(0)
    weights = {name: np.round(32 * generator.normal(0, scale, shape)) / 32 for name, shape in info.shapes().items()}
    return {name: each.astype(np.float32) for name, each in weights.items()}


def network_for(game: Game, kind: str = "policy+value", scale: float = 0.3) -> Network:
    info = info_for(game, kind)
    return Network(info, tensors_for(info, scale))


@pytest.fixture(scope="module")
def folder(tmp_path_factory) -> Path:
    path = tmp_path_factory.mktemp("networks")
    for kind in KINDS:
        info = info_for(SUPER, kind)
        save_network(path / f"{kind}.safetensors", info, tensors_for(info))
    return path


@pytest.mark.parametrize(
    "spec",
    [
        "guided:{}/policy+value.safetensors",
        "guided:{}/policy+value.safetensors,simulations=20,temperature=0.5,symmetric=true",
        "guided:{}/q.safetensors,considered=4,prior_temperature=0.5",
        "guided:{}/value.safetensors,simulations=8,temperature=1",
    ],
)
def test_it_plays(spec, folder):
    agent, view = agents.load(spec.format(folder)), view_of(SUPER, 20, 9)
    policy, actions = agent.policy(view), agent.act(view)
    assert np.allclose(policy.sum(axis=1), 1)
    assert not policy[~view.masks].any()
    assert (policy[np.arange(len(view)), actions] > 0).all()
    several = view.masks.sum(axis=1) > 1
    assert ((policy.max(axis=1) == 1)[several] == (",temperature" not in spec)).all()
    for rows in ([3, 1], [7], [0, 7, 19, 4, 2, 3, 8, 9, 10]):
        assert np.array_equal(agent.policy(view.take(np.array(rows))), policy[rows])


def test_with_chance_it_is_the_same_alone_and_in_a_batch():
    agent, view = Guided(network_for(DICE), simulations=32, temperature=1.0), view_of(DICE, 30, 2)
    policy = agent.policy(view)
    for rows in ([5], [8, 2, 20]):
        assert np.array_equal(agent.policy(view.take(np.array(rows))), policy[rows])


def test_parts_of_a_view_are_the_whole(monkeypatch):
    agent, view = Guided(network_for(SUPER), simulations=16, temperature=1.0), view_of(SUPER, 30, 9)
    policy = agent.policy(view)
    monkeypatch.setattr(guided, "_SIDE_BY_SIDE", 7)
    assert np.array_equal(agent.policy(view), policy)
    monkeypatch.setattr(guided, "_MEMORY", 1)
    assert agent._side_by_side(SUPER) == 1
    assert np.array_equal(agent.policy(view), policy)


def test_it_has_a_time_for_each_decision(folder):
    view = view_of(SUPER, 2, 9)
    agents.load(f"guided:{folder}/policy+value.safetensors").act(view)
    agent = agents.load(f"guided:{folder}/policy+value.safetensors,seconds=0.3")
    started = time.monotonic()
    visits = agent.search(view).visits.sum(axis=1)
    assert 0.3 < time.monotonic() - started < 5
    assert (visits > 64).all()
    hasty = agents.load(f"guided:{folder}/policy+value.safetensors,seconds=0.000001")
    assert (hasty.search(view).visits.sum(axis=1) == 32).all()


def test_a_forced_action_is_not_searched():
    view = view_of(DICE, 60, 7)
    found = Guided(network_for(DICE), simulations=8).search(view)
    forced = view.masks.sum(axis=1) == 1
    assert 0 < forced.sum() < len(view)
    assert (found.visits.sum(axis=1) == np.where(forced, 0, 8)).all()
    assert view.masks[np.arange(len(view)), found.actions].all()


def test_other_games_are_refused(folder):
    agent = agents.load(f"guided:{folder}/q.safetensors")
    with pytest.raises(ValueError, match="without hidden information"):
        agent.check(ttt_envs.load("tic_tac_match"))
    with pytest.raises(ValueError, match="without simultaneous choices"):
        agent.check(ttt_envs.load("operation_tic_tac_toe"))
    with pytest.raises(BadNetworkFile, match="trained for super_tic_tac_toe"):
        agent.check(DICE)
    three = ttt_envs.load("martian_tic_tac_toe", size=5, players=3)
    Guided(network_for(three)).check(three)
    with pytest.raises(ValueError, match="a value for each player here"):
        Guided(network_for(three, "q")).check(three)
