"""Masked double DQN: what it learns from, what it writes, resuming."""

import numpy as np
import pytest
import torch
from small_training import LEARNERS

import ttt_envs
from ttt_envs.agents.networks import NetworkInfo
from ttt_envs.learning import dqn
from ttt_envs.learning.dqn import Config, EpsilonGreedy, Replay, targets, train
from ttt_envs.learning.torch_networks import TorchNetwork

GAME = "super_tic_tac_toe"
TINY = LEARNERS["dqn"]


def test_what_came_of_a_decision():
    game = ttt_envs.load(GAME)
    replay = Replay(game, 4, 2)
    for k in range(6):  # the first two rounds are overwritten
        observations = np.full((2, 191), k, np.int8)
        rewards = np.array([0.0, 1.0 if k == 3 else 0.0], np.float32)
        masks = np.zeros((2, 81), np.bool_)
        masks[:, k] = True
        replay.add(observations, masks, np.array([10 + k, 20 + k]), rewards, np.array([False, k == 3]))
    found = replay.sample(300, 2, 0.5, np.random.default_rng(0))
    rows = {
        (int(o[0]), int(a)): (float(r), float(d), int(n[0]), int(m.argmax()))
        for o, a, r, d, n, m in zip(*found, strict=True)
    }
    assert rows == {
        (2, 12): (0.0, 0.25, 4, 4),
        (3, 13): (0.0, 0.25, 5, 5),
        (2, 22): (0.5, 0.0, 4, 4),
        (3, 23): (1.0, 0.0, 5, 5),
    }


def nets(values: list[list[float]]) -> list[TorchNetwork]:
    """Networks of one input, 1, with these values of four actions."""
    info = NetworkInfo(GAME, {}, "q", 1, 4, (), 0)
    found = []
    for each in values:
        net = TorchNetwork(info)
        with torch.no_grad():
            net.heads["q"].weight.zero_()
            net.heads["q"].bias[:] = torch.tensor(each)
        found.append(net)
    return found


def test_the_online_network_chooses_and_the_target_network_values():
    net, target = nets([[0.1, 0.9, 0.5, 5.0], [0.7, 0.2, 0.3, 9.0]])
    masks = np.array([[True, True, True, False], [True, False, True, False]])
    found = (np.array([1.0, 0.0], np.float32), np.array([0.5, 0.0], np.float32), np.zeros((2, 1), np.int8), masks)
    assert targets(net, target, found).tolist() == pytest.approx([1 + 0.5 * 0.2, 0])


def test_exploration_is_among_legal_actions():
    (net,) = nets([[0.1, 0.9, 0.5, 5.0]])
    agent, masks = EpsilonGreedy(net), np.array([[True, True, True, False]])
    agent.exploration = 0.3
    assert agent.probabilities(np.zeros((1, 1), np.int8), masks)[0] == pytest.approx([0.1, 0.8, 0.1, 0])


def test_exploration_decreases(tmp_path, monkeypatch):
    seen, probabilities = [], EpsilonGreedy.probabilities

    def noted(self, *given):
        seen.append(self.exploration)
        return probabilities(self, *given)

    monkeypatch.setattr(dqn.EpsilonGreedy, "probabilities", noted)
    train(Config(**{**TINY, "exploration": 0.1, "self_weight": 0.0}, out=tmp_path / "x"))
    assert seen[:2] == [1.0, pytest.approx(1 - 16 / 51.2)]
    assert [each for each in seen if each][-1] == 0.1, "but for snapshots, which explore nothing"


def test_it_learns(tmp_path):
    """Against a fixed random opponent in a small game, a few thousand decisions are enough to win more often."""
    config = Config(
        **{
            **TINY,
            "game": "tic_tac_dice",
            "options": {"rounds": "single"},
            "steps": 12_000,
            "num_envs": 64,
            "buffer": 20_000,
            "warm_up": 1000,
            "batch": 256,
            "hidden": (64,),
            "eval_every": 12_000,
            "eval_games": 600,
            "eval_agents": ("random",),
            "save_every": 12_000,
        },
        out=tmp_path / "x",
    )
    first, last = train(config).points["score"]
    assert last.value > max(first.value, 0.5) + 0.03
