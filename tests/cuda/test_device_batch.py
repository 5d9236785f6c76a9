"""`Batch(device="cuda")`: the games of a Batch on the CPU, its errors, and learners on it.

In Numba's simulator, or on a GPU where there is one:

    NUMBA_ENABLE_CUDASIM=1 NUMBA_DISABLE_JIT=1 python -m pytest tests/cuda
"""

from importlib.util import find_spec
from typing import Any

import numpy as np
import pytest
import torch

if find_spec("numba.cuda") is None:
    pytest.skip("this Numba has no CUDA: the extra cuda brings it", allow_module_level=True)

import ttt_envs
from tools import gpu
from training import ppo_self_play, value_learning
from ttt_envs import Batch
from ttt_envs.core.checks import IllegalAction
from ttt_envs.cuda.kernels import SIMULATED, cuda
from ttt_envs.learning.on_device import DeviceValues, Rollouts
from ttt_envs.learning.torch_networks import TorchNetwork

if not SIMULATED and not cuda.is_available():
    pytest.skip("there is no GPU, and NUMBA_ENABLE_CUDASIM is not set", allow_module_level=True)

DICE = ttt_envs.load("tic_tac_dice", rounds="single")
SPIES = ttt_envs.load("operation_tic_tac_toe", mode="round", specialists=(None, None), max_idle_turns=3)


def pair(game: ttt_envs.Game, n: int, **settings: Any) -> tuple[Batch, Any]:
    return tuple(Batch(game, n, device=device, **settings) for device in ("cpu", "cuda"))


def legal(batch: Any, ply: int) -> np.ndarray:
    viewers = range(batch.game.num_players) if batch.game.simultaneous else (None,)
    masks = [np.asarray(batch.masks(viewer)) for viewer in viewers]
    random = np.random.default_rng(ply).random(masks[0].shape)
    actions = [np.where(mask, random, -1).argmax(axis=1) for mask in masks]
    return actions[0] if len(actions) == 1 else np.stack(actions, axis=1)


def same(here: Batch, there: Any) -> bool:
    viewers = range(here.game.num_players) if here.game.simultaneous else (None,)
    told = [(here.states, there.get_states()), (here.episode_seeds, there.episode_seeds)]
    told += [(getattr(here, name), getattr(there, name)) for name in ("rewards", "done", "to_move")]
    for viewer in viewers:
        told += [(here.observations(viewer), there.observations(viewer)), (here.masks(viewer), there.masks(viewer))]
    return all(
        np.asarray(mine).shape == np.asarray(theirs).shape
        and np.ascontiguousarray(mine).tobytes() == np.ascontiguousarray(np.asarray(theirs)).tobytes()
        for mine, theirs in told
    )


@pytest.mark.parametrize("game_id", ttt_envs.GAMES)
def test_games_are_those_of_the_cpu(game_id: str) -> None:
    """All that is told of 60 plies, with restarts."""
    assert gpu.digest(game_id, 6, 60, "cpu") == gpu.digest(game_id, 6, 60, "cuda")


def test_games_that_are_over_stay_without_auto_reset() -> None:
    here, there = pair(DICE, 5, seed=3)
    for ply in range(40):
        actions = legal(here, ply)
        here.step(actions)
        there.step(gpu.on_gpu(actions))
        assert same(here, there)
    assert here.done.all()
    assert not here.rewards.any()


def test_an_action_that_is_not_legal_leaves_the_game_as_it_is() -> None:
    here, there = pair(DICE, 3, seed=0)
    actions = legal(here, 0)
    states = there.get_states()
    for wrong in (-1, DICE.num_actions, 10**12):
        there.step(gpu.on_gpu(np.full(3, wrong)))
    assert there.get_states().tobytes() == states.tobytes()
    with pytest.raises(IllegalAction, match=r"game 0 .* 3 of 3 games"):
        there.check()
    there.reset(0)
    there.check()
    here.step(actions)
    there.step(gpu.on_gpu(actions))
    assert same(here, there)


@pytest.mark.parametrize("game", [DICE, SPIES], ids=["turns", "at once"])
def test_positions_come_and_go(game: ttt_envs.Game) -> None:
    here, there = pair(game, 4, seed=1, auto_reset=True)
    for ply in range(25):
        actions = legal(here, ply)
        here.step(actions)
        there.step(gpu.on_gpu(actions))
    for seed in (None, 7):
        here.reset(seed)
        there.reset(seed)
        assert same(here, there)
    later = Batch(game, 4, seed=5)
    later.step(legal(later, 0))
    here.set_states(later.states)
    there.set_states(later.states)
    assert same(here, there)
    with pytest.raises(ValueError, match="shape"):
        there.set_states(later.states[:2])


def test_branches_are_copies_that_are_played() -> None:
    (here, there), (here_too, there_too) = pair(DICE, 3, seed=2), pair(DICE, 5, seed=9)
    rows, actions = np.array([2, 0, 0, 1, 2]), legal(here, 0)
    here_too.branch(here, rows, actions[rows])
    there_too.branch(there, gpu.on_gpu(rows), gpu.on_gpu(actions[rows]))
    assert same(here, there)
    assert same(here_too, there_too)
    there_too.branch(there, gpu.on_gpu(np.array([0, 1, 2, 3, -1])), gpu.on_gpu(actions[rows]))
    assert np.asarray(there_too.illegal).tolist()[3:] == [True, True]
    with pytest.raises(ValueError, match="rows must"):
        there_too.branch(there, gpu.on_gpu(rows[:2]), gpu.on_gpu(actions[rows]))
    with pytest.raises(ValueError, match="source must"):
        there_too.branch(here, gpu.on_gpu(rows), gpu.on_gpu(actions[rows]))


def test_wrong_arguments_are_refused() -> None:
    batch: Any = Batch(DICE, 3, device="cuda")
    with pytest.raises(TypeError, match="int32 or int64, not float64"):
        batch.step(gpu.on_gpu(np.zeros(3)))
    with pytest.raises(ValueError, match=r"shape \(3,\) or \(3, 2\), not \(2,\)"):
        batch.step(gpu.on_gpu(np.zeros(2, np.int64)))
    with pytest.raises(ValueError, match="leave `player` out"):
        batch.masks(0)
    at_once: Any = Batch(SPIES, 3, device="cuda")
    for player, said in ((None, "several players act at once"), (2, "player must be from 0 to 1")):
        with pytest.raises(ValueError, match=said):
            at_once.observations(player)
    with pytest.raises(ValueError, match="need device='cpu'"):
        Batch(DICE, 3, device="cuda", history=2)
    with pytest.raises(TypeError, match="Game"):
        Batch("tic_tac_dice", 3, device="cuda")


@pytest.mark.skipif(SIMULATED, reason="the simulator's arrays are NumPy's")
def test_other_libraries_take_the_arrays_without_a_copy() -> None:
    batch: Any = Batch(DICE, 100, seed=0, device="cuda")
    for array in (batch.observations(), batch.masks(), batch.rewards, batch.done, batch.to_move):
        for taken in (torch.as_tensor(array, device="cuda"), torch.from_dlpack(array)):
            assert taken.data_ptr() == array.__cuda_array_interface__["data"][0]
            assert (taken.cpu().numpy() == np.asarray(array)).all()
    with pytest.raises(TypeError, match=r"on the GPU, .* not numpy\.ndarray"):
        batch.step(np.zeros(100, np.int64))


# --- learners: what they keep of a step must not be what the next step fills anew ---


def close(found: list[torch.Tensor], expected: list[torch.Tensor]) -> bool:
    """Equal but for rounding: products of matrices round by how these lie in memory."""
    return all(torch.allclose(one, other, atol=1e-5) for one, other in zip(found, expected, strict=True))


@pytest.fixture
def simulated(monkeypatch: pytest.MonkeyPatch) -> None:
    if not SIMULATED:
        pytest.skip("these compare the simulator's games, in the CPU's memory, with those of the CPU")
    for module in ("ttt_envs", "ttt_envs.learning.on_device"):
        monkeypatch.setattr(f"{module}.Batch", lambda *args, **settings: Batch(*args, **settings | {"device": "cuda"}))


@pytest.mark.parametrize("game", [DICE, SPIES], ids=["turns", "at once"])
def test_rollouts_are_those_of_the_cpu(game: ttt_envs.Game, request: pytest.FixtureRequest) -> None:
    def sample() -> list[torch.Tensor]:
        torch.manual_seed(0)
        network = TorchNetwork(info_of(game, "policy+value"))
        rollouts = Rollouts(game, 5, 3, "cpu")
        return [tensor for _ in range(2) for tensor in vars(rollouts.play(network, 0.9)[0]).values()]

    expected = sample()
    request.getfixturevalue("simulated")
    assert close(sample(), expected)


def test_labels_are_those_of_the_cpu(request: pytest.FixtureRequest) -> None:
    def labels() -> list[torch.Tensor]:
        torch.manual_seed(0)
        network = TorchNetwork(info_of(DICE, "q"))
        games, found = DeviceValues(DICE, 3, 3, "cpu"), []
        for _ in range(12):
            found.append(games.label(network).nan_to_num(7))
            games.play(network, 0.5)
        return found

    expected = labels()
    request.getfixturevalue("simulated")
    assert close(labels(), expected)


@pytest.mark.parametrize("script", [ppo_self_play, value_learning])
def test_scripts_learn_what_they_learn_on_the_cpu(script: Any, request: pytest.FixtureRequest) -> None:
    settings = {"num_envs": 4, "steps": 64, "batch": 32, "hidden": 8}
    settings |= {"rollout": 8} if script is ppo_self_play else {"warm_up": 8, "copies": 16, "buffer": 40}

    def weights() -> list[torch.Tensor]:
        return list(script.train(script.Args(**settings)).parameters())

    expected = weights()
    request.getfixturevalue("simulated")
    assert close(weights(), expected)


def info_of(game: ttt_envs.Game, kind: str) -> Any:
    from ttt_envs.agents.networks import NetworkInfo

    return NetworkInfo(game.id, dict(game.options), kind, game.observation_size, game.num_actions, (8,), 0)
