"""`tools.gpu`: kernels play the games of a Batch; what asks for a GPU is skipped without one."""

import hashlib
from importlib.util import find_spec

import numpy as np
import pytest

if find_spec("numba.cuda") is None:
    pytest.skip("this Numba has no CUDA: numba-cuda brings it", allow_module_level=True)

import ttt_envs
from tools import cuda, gpu
from ttt_envs import Batch
from ttt_envs.core.rng import choose_rows, fold_all

GAMES, PLIES = 12, 25

needs_gpu = pytest.mark.skipif(not cuda.cuda.is_available(), reason="Numba finds no GPU")

PLAYED = """
import hashlib
import ttt_envs
from tools import gpu
game = ttt_envs.load("tic_tac_dice")
batch = cuda.OnDevice(game, {games})
arrays = (batch.states, batch.told.joint[:, :1].copy()), batch.told, batch.running()
gpu.playing(game.kernels)[1, 32](batch.anew(), 3, {plies}, *arrays)
print(hashlib.sha256(batch.states.tobytes()).hexdigest())
"""


def test_many_plies_of_a_launch_are_those_of_a_batch():
    games = Batch(ttt_envs.load("tic_tac_dice"), GAMES, seed=0, auto_reset=True)
    seeds, actions = np.empty(GAMES, np.uint64), np.empty(GAMES, np.int64)
    for ply in range(3, 3 + PLIES):
        fold_all(np.arange(GAMES, dtype=np.uint64), ply, seeds)
        choose_rows(games.masks(), seeds, actions)
        games.step(actions)
    digest = hashlib.sha256(games.states.tobytes()).hexdigest()
    assert cuda.in_simulator(PLAYED.format(games=GAMES, plies=PLIES)).split() == [digest]


def test_the_median_of_five_runs_counts(monkeypatch):
    """Launches of 1 s each: runs of two, after one that is too short to count."""
    clock = [0.0]
    monkeypatch.setattr(cuda.cuda, "synchronize", lambda: None, raising=False)
    monkeypatch.setattr(gpu.time, "perf_counter", lambda: clock[0])
    numbers = []

    def launch(number):
        numbers.append(number)
        clock[0] += 7 if number == 5 else 1

    assert gpu.timed(launch, 1.5) == 1
    assert numbers == list(range(2 + 5 * 2))


@pytest.mark.skipif(cuda.cuda.is_available(), reason="there is a GPU")
def test_a_machine_without_a_gpu_is_told(capsys):
    assert gpu.main(["--games", "tic_tac_dice"]) == 2
    assert "no GPU" in capsys.readouterr().err


@needs_gpu
def test_a_gpu_plays_the_same_games(capsys):
    options = ["--games", "tic_tac_dice", "--compared", "50", "--at-once", "1000", "--seconds", "0.01"]
    assert gpu.main(options) == 0
    assert "equal" in capsys.readouterr().out
