"""Policy files of a training run, and the agents that play them."""

import pickle
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import torch
from safetensors.torch import save_file
from small_training import GAME, copy_files, sample_view

import ttt_envs
from ttt_envs import agents
from ttt_envs.agents.policy import BadPolicyFile, load_policy, save_policy
from ttt_envs.core.files import write_whole


def test_the_average_of_snapshots(run: Path, tmp_path: Path) -> None:
    positions = sample_view()
    files = sorted((run / "snapshots").iterdir())
    policies = [agents.load(f"ppo:{file}").policy(positions) for file in files]
    for text, some in (("true", 5), ("1", 5), ("0.6", 3), ("0.01", 1)):
        agent = agents.load(f"ppo:{run},average={text}")
        assert len(agent.nets) == some
        assert np.allclose(agent.policy(positions), np.mean(policies[-some:], axis=0), atol=1e-12)
        actions = agent.act(positions)
        assert positions.masks[np.arange(40), actions].all()
    assert not np.allclose(policies[0], policies[-1], atol=1e-4)
    latest = agents.load(f"ppo:{run}").policy(positions)
    for text in ("false", "0"):
        assert (agents.load(f"ppo:{run},average={text}").policy(positions) == latest).all()
    sharp = agents.load(f"ppo:{run},average=true,temperature=0").policy(positions)
    assert np.allclose(sharp, np.mean([policy == policy.max(axis=1, keepdims=True) for policy in policies], axis=0))
    turned = agents.load(f"ppo:{run},average=true,symmetric=true").policy(positions)
    each = [agents.load(f"ppo:{file},symmetric=true").policy(positions) for file in files]
    assert np.allclose(turned, np.mean(each, axis=0), atol=1e-12)


def test_what_cannot_be_averaged_is_refused(run: Path, tmp_path: Path) -> None:
    folder = copy_files(run, tmp_path / "x")
    with pytest.raises(FileNotFoundError, match="no snapshots to be averaged in"):
        agents.load(f"ppo:{folder},average=true")
    with pytest.raises(FileNotFoundError, match="no snapshots to be averaged in"):
        agents.load(f"ppo:{run / 'policy.safetensors'},average=true")
    for share in ("-0.5", "2", "nan"):
        with pytest.raises(ValueError, match="average must be true, false, or a share of the snapshots from 0 to 1"):
            agents.load(f"ppo:{run},average={share}")
    (folder / "snapshots").mkdir()
    for k, path in enumerate(sorted((run / "snapshots").iterdir())[:2]):
        info, tensors = load_policy(path)
        save_policy(folder / "snapshots" / path.name, replace(info, options={**info.options, "k": k}), tensors)
    with pytest.raises(BadPolicyFile, match="is of another run than"):
        agents.load(f"ppo:{folder},average=true")


def test_damaged_and_foreign_policies(run: Path, tmp_path: Path) -> None:
    good = (run / "policy.safetensors").read_bytes()
    path = tmp_path / "policy.safetensors"
    for data in (b"", b"nonsense", good[:200], good[:-1], b"\xff" * 8 + good[8:]):
        path.write_bytes(data)
        with pytest.raises(BadPolicyFile, match="is damaged, or was not written by"):
            agents.load(f"ppo:{path}")
    save_file({"w": torch.zeros(3)}, path)
    with pytest.raises(BadPolicyFile, match="is no file of the form"):
        agents.load(f"ppo:{path}")
    info, tensors = load_policy(run / "policy.safetensors")
    save_policy(path, info, {**tensors, "action_net.weight": torch.zeros(80, 16)})
    with pytest.raises(BadPolicyFile, match=r"action_net\.weight is missing or not of shape \(81, 16\)"):
        agents.load(f"ppo:{path}")
    save_policy(path, info, {**tensors, "action_net.bias": torch.full((81,), torch.nan)})
    with pytest.raises(BadPolicyFile, match="not finite"):
        agents.load(f"ppo:{path}")
    with pytest.raises(FileNotFoundError, match="no policy file at"):
        agents.load(f"ppo:{tmp_path / 'nowhere'}")
    with pytest.raises(ValueError, match="temperature"):
        agents.load(f"ppo:{run},temperature=-1")


def test_a_pickle_is_not_opened(tmp_path: Path) -> None:
    class Trap:
        def __reduce__(self):
            return (write_whole, (tmp_path / "sprung", "x"))

    path = tmp_path / "policy.safetensors"
    path.write_bytes(pickle.dumps(Trap()))
    with pytest.raises(BadPolicyFile):
        agents.load(f"ppo:{path}")
    assert not (tmp_path / "sprung").exists()


def test_policy_of_another_game_is_refused(run: Path) -> None:
    import toy_coin

    with pytest.raises(BadPolicyFile, match="was trained for super_tic_tac_toe"):
        agents.load(f"ppo:{run}").act(ttt_envs.Batch(toy_coin.make(), 3, seed=0).view(0))


def test_trained_policy_plays(run: Path) -> None:
    positions = sample_view()
    agent = agents.load(f"ppo:{run}")
    policy = agent.policy(positions)
    assert policy.shape == (40, 81)
    assert np.allclose(policy.sum(axis=1), 1)
    assert not policy[~positions.masks].any()
    assert (policy[positions.masks] > 0).all()
    actions = agent.act(positions)
    assert positions.masks[np.arange(40), actions].all()
    assert (agent.act(positions.take(np.arange(40)[::3])) == actions[::3]).all()
    sharp = agents.load(f"ppo:{run},temperature=0")
    assert (sharp.act(positions) == policy.argmax(axis=1)).all()


def test_a_symmetric_policy_is_the_same_on_a_turned_board(run: Path) -> None:
    game, plain = ttt_envs.load(GAME), agents.load(f"ppo:{run}")
    states = ttt_envs.Batch(game, 20, seed=4)
    for _ in range(5):
        states.step(agents.load("random").act(states.view()))
    agent, before = agents.load(f"ppo:{run},symmetric=true"), states.view()
    logits = agent.logits(before)
    mean = np.zeros_like(logits)
    for symmetry in game.symmetries:
        states.states[:] = symmetry.states(before.sample_worlds())
        turned = states.view()
        assert np.allclose(agent.logits(turned), logits[:, symmetry.actions], atol=1e-5), symmetry.name
        mean[:, symmetry.actions] += plain.logits(turned) / len(game.symmetries)
    assert np.allclose(mean, logits, atol=1e-5)
    assert not np.allclose(plain.logits(before), logits, atol=1e-3)


def test_actions_are_drawn_from_the_policy(run: Path) -> None:
    agent = agents.load(f"ppo:{run}")
    batch = ttt_envs.Batch(ttt_envs.load(GAME), 20_000, seed=1)
    positions = batch.view()  # all at the same start, each with its own seed
    counts = np.bincount(agent.act(positions), minlength=81)
    expected = agent.policy(positions.take(np.array([0])))[0] * batch.n
    legal = expected > 0
    chi_square = ((counts - expected)[legal] ** 2 / expected[legal]).sum()
    assert chi_square < 27  # 8 degrees of freedom: passed by chance alone with probability 0.9993
    assert not counts[~legal].any()
