"""Network files of a training run, and the agents that play them."""

import pickle
import warnings
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import torch
from small_training import GAME, copy_files, sample_view, tiny

import ttt_envs
from ttt_envs import agents
from ttt_envs.agents.networks import FORMAT, BadNetworkFile, Network, NetworkInfo, load_network, save_network
from ttt_envs.agents.torch_policy import PolicyAgent
from ttt_envs.learning import ppo
from ttt_envs.learning.ppo import train
from ttt_envs.learning.torch_networks import Logits, TorchNetwork, load_torch_network
from ttt_envs.storage.files import write_whole
from ttt_envs.storage.tensors import read_tensors


def contents(path: Path) -> tuple[NetworkInfo, dict[str, np.ndarray]]:
    return load_network(path).info, read_tensors(path, FORMAT)[1]


def test_the_average_of_snapshots(run: Path, tmp_path: Path) -> None:
    positions = sample_view()
    files = sorted((run / "snapshots").iterdir())
    policies = [agents.load(f"network:{file}").policy(positions) for file in files]
    for text, some in (("true", 5), ("1", 5), ("0.6", 3), ("0.01", 1)):
        agent = agents.load(f"network:{run},average={text}")
        assert len(agent.networks) == some
        assert np.allclose(agent.policy(positions), np.mean(policies[-some:], axis=0), atol=1e-12)
        actions = agent.act(positions)
        assert positions.masks[np.arange(40), actions].all()
    assert not np.allclose(policies[0], policies[-1], atol=1e-4)
    latest = agents.load(f"network:{run}").policy(positions)
    for text in ("false", "0"):
        assert (agents.load(f"network:{run},average={text}").policy(positions) == latest).all()
    sharp = agents.load(f"network:{run},average=true,temperature=0").policy(positions)
    assert np.allclose(sharp, np.mean([policy == policy.max(axis=1, keepdims=True) for policy in policies], axis=0))
    turned = agents.load(f"network:{run},average=true,symmetric=true").policy(positions)
    each = [agents.load(f"network:{file},symmetric=true").policy(positions) for file in files]
    assert np.allclose(turned, np.mean(each, axis=0), atol=1e-12)


def test_what_cannot_be_averaged_is_refused(run: Path, tmp_path: Path) -> None:
    folder = copy_files(run, tmp_path / "x")
    with pytest.raises(FileNotFoundError, match="no snapshots to be averaged in"):
        agents.load(f"network:{folder},average=true")
    with pytest.raises(FileNotFoundError, match="no snapshots to be averaged in"):
        agents.load(f"network:{run / 'network.safetensors'},average=true")
    for share in ("-0.5", "2", "nan"):
        with pytest.raises(ValueError, match="average must be"):
            agents.load(f"network:{run},average={share}")
    (folder / "snapshots").mkdir()
    for k, path in enumerate(sorted((run / "snapshots").iterdir())[:2]):
        info, tensors = contents(path)
        save_network(folder / "snapshots" / path.name, replace(info, options={**info.options, "k": k}), tensors)
    with pytest.raises(BadNetworkFile, match="is of another run than"):
        agents.load(f"network:{folder},average=true")


def test_options_of_another_game_and_other_options_are_said(run: Path, tmp_path: Path) -> None:
    path = tmp_path / "network.safetensors"
    info, tensors = contents(run / "network.safetensors")
    save_network(path, replace(info, options={"rounds": "single", "won_boards": "open"}), tensors)
    with pytest.raises(BadNetworkFile, match=r"is of no super_tic_tac_toe of this version: .*'rounds'"):
        agents.load(f"network:{path}").check(ttt_envs.load(GAME))
    with pytest.warns(UserWarning, match=r'was trained with options .*"open".* and plays with .*"closed"'):
        agents.load(f"network:{run}").check(ttt_envs.load(GAME, won_boards="closed"))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        agents.load(f"network:{run}").check(ttt_envs.load(GAME))
        agents.load(f"network:{run}").check(ttt_envs.load(GAME, random_opening_plies=2))  # the same play


@pytest.mark.parametrize("path", ["x" * 5000, "x/" * 2500, "a\0b"])
def test_a_path_to_nothing_is_named(path: str) -> None:
    with pytest.raises(FileNotFoundError, match="no network file at ") as raised:
        agents.load(f"network:{path}")
    assert len(str(raised.value)) < 300
    with pytest.raises(FileNotFoundError, match="no agent file at ") as raised:
        agents.load(f"{path}.py:Name")
    assert len(str(raised.value)) < 300


def test_a_pickle_is_not_opened(tmp_path: Path) -> None:
    class Trap:
        def __reduce__(self):
            return (write_whole, (tmp_path / "sprung", "x"))

    path = tmp_path / "network.safetensors"
    path.write_bytes(pickle.dumps(Trap()))
    with pytest.raises(BadNetworkFile):
        agents.load(f"network:{path}")
    assert not (tmp_path / "sprung").exists()


def test_the_same_policy_as_in_torch(run: Path, tmp_path: Path) -> None:
    positions = sample_view(200)
    planes = ppo.SB3PlayerEnv(positions.game, 1, opponent=agents.load("random"), encoding="planes").observation_space
    info = replace(load_network(run).info, encoding="planes", activation="tanh", inputs=int(np.prod(planes.shape)))
    save_network(tmp_path / "network.safetensors", info, TorchNetwork(info).tensors())
    for folder in (run, tmp_path):
        info = load_network(folder).info
        net = load_torch_network(folder / "network.safetensors")
        for form in ({}, {"symmetric": True}, {"temperature": 0.5}, {"temperature": 0}):
            by_torch = PolicyAgent(Logits(net), info.encoding, **form)
            by_numpy = agents.load(",".join([f"network:{folder}", *(f"{name}={form[name]}" for name in form)]))
            assert np.abs(by_numpy.policy(positions) - by_torch.policy(positions)).max() < 1e-5
            assert (by_numpy.act(positions) == by_torch.act(positions)).all()


def test_the_file_has_the_policy_and_the_values_of_the_model(tmp_path: Path) -> None:
    positions = sample_view()
    model = ppo.make_model(tiny(tmp_path, hidden=(16, 8)), positions.game)
    found = Network(*ppo.network_of(model, tiny(tmp_path, hidden=(16, 8)), positions.game))(positions.observations)
    inputs = torch.from_numpy(positions.observations.copy())
    with torch.no_grad():
        logits = ppo.ActorNet(model.policy)(inputs.float()).numpy()
        values = model.policy.predict_values(inputs).numpy()
    assert np.abs(found["policy"] - logits).max() < 1e-5
    assert np.abs(found["value"] - values).max() < 1e-5
    assert found["value"].std() > 1e-3


@pytest.mark.slow
def test_of_more_than_two_sides_there_is_the_policy_alone(tmp_path: Path) -> None:
    options = {"size": 5, "players": 3, "max_plies": 60}
    folder = train(tiny(tmp_path / "x", game="martian_tic_tac_toe", options=options, steps=128)).folder
    assert load_network(folder).info.kind == "policy"
    batch = ttt_envs.Batch(ttt_envs.load("martian_tic_tac_toe", **options), 4, seed=0)
    batch.step(agents.load(f"network:{folder}").act(batch.view()))
