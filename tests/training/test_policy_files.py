"""Policy files of a training run, and the agents that play them."""

import pickle
import warnings
from dataclasses import asdict, replace
from pathlib import Path

import numpy as np
import pytest
import torch
from safetensors.torch import save_file
from small_training import GAME, copy_files, sample_view

import ttt_envs
from ttt_envs import agents
from ttt_envs.agents.policy import FORMAT, BadPolicyFile, load_policy, save_policy, write_tensors
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
    for number in ("-1", "1e30", "nan", "inf", "9" * 5000):
        with pytest.raises(ValueError, match="temperature must be a number from 0 to 1,000,000"):
            agents.load(f"ppo:{run},temperature={number}")
        with pytest.raises(ValueError, match="average must be true, false, or a share"):
            agents.load(f"ppo:{run},average={number}")


def test_wrong_metadata_and_tensors_are_named(run: Path, tmp_path: Path) -> None:
    path = tmp_path / "policy.safetensors"
    info, tensors = load_policy(run / "policy.safetensors")
    facts = asdict(info)
    for metadata in ("[" * 100_000, '{"a":' * 100_000, "[]", "3", "null", '"x"'):
        save_file(tensors, path, {"ttt_envs": metadata})
        with pytest.raises(BadPolicyFile, match=r"policy\.safetensors is (damaged|no file of the form)"):
            agents.load(f"ppo:{path}")
    for changes in (
        {"hidden": ["a"]},
        {"hidden": 3},
        {"hidden": [16.0]},
        {"hidden": [10**30]},
        {"inputs": None},
        {"actions": "81"},
        {"steps": -1},
        {"steps": float("nan")},
        {"game": 3},
        {"options": [1]},
        {"more": 1},
    ):
        write_tensors(path, FORMAT, {**facts, **changes}, tensors)
        with pytest.raises(BadPolicyFile, match=r"policy\.safetensors: its metadata cannot be read"):
            agents.load(f"ppo:{path}")
    for kind in (torch.float8_e4m3fn, torch.float16, torch.int32):
        save_policy(path, info, {**tensors, "action_net.bias": torch.zeros(81).to(kind)})
        with pytest.raises(BadPolicyFile, match=rf"layer action_net\.bias holds {kind}, not torch\.float32"):
            agents.load(f"ppo:{path}")


def test_options_of_another_game_and_other_options_are_said(run: Path, tmp_path: Path) -> None:
    path = tmp_path / "policy.safetensors"
    info, tensors = load_policy(run / "policy.safetensors")
    save_policy(path, replace(info, options={"rounds": "single", "won_boards": "open"}), tensors)
    with pytest.raises(
        BadPolicyFile, match="says options that super_tic_tac_toe does not have: 'rounds'; it has first_"
    ):
        agents.load(f"ppo:{path}").check(ttt_envs.load(GAME))
    with pytest.warns(UserWarning, match=r'was trained with options .*"open".* and plays with .*"closed"'):
        agents.load(f"ppo:{run}").check(ttt_envs.load(GAME, won_boards="closed"))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        agents.load(f"ppo:{run}").check(ttt_envs.load(GAME))


@pytest.mark.parametrize("path", ["x" * 5000, "x/" * 2500, "a\0b"])
def test_a_path_to_nothing_is_named(path: str) -> None:
    with pytest.raises(FileNotFoundError, match="no policy file at ") as raised:
        agents.load(f"ppo:{path}")
    assert len(str(raised.value)) < 300
    with pytest.raises(FileNotFoundError, match="no agent file at ") as raised:
        agents.load(f"{path}.py:Name")
    assert len(str(raised.value)) < 300


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
