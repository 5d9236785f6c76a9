"""Neural fictitious self-play on Kuhn poker: the reservoir, what it learns; `test_policy_gradient` has its runs."""

from typing import Any

import kuhn_poker
import numpy as np
import pytest
import torch

import ttt_envs
from ttt_envs.learning.nfsp import Config, train
from ttt_envs.learning.reservoir import Reservoir, of_decisions
from ttt_envs.learning.runs.checkpoint import RESUME_FORMAT
from ttt_envs.storage.tensors import read_tensors

KUHN = "kuhn_poker"
TINY: dict[str, Any] = {
    "game": KUHN,
    "num_envs": 32,
    "steps": 2048,
    "buffer": 2000,
    "reservoir": 1000,
    "hidden": (16,),
    "eval_every": 1024,
    "eval_games": 4,
    "eval_agents": ("random",),
    "save_every": 1024,
    "quiet": True,
}


@pytest.fixture(scope="module", autouse=True)
def kuhn():
    ttt_envs.register(KUHN, kuhn_poker.make)
    yield
    ttt_envs.unregister(KUHN)


def test_the_reservoir_keeps_an_even_sample():
    game, generator, kept = kuhn_poker.make(), np.random.default_rng(0), np.zeros(40)
    for _ in range(500):
        reservoir = Reservoir(10, of_decisions(game, actions=((), torch.int64)))
        for first in range(0, 40, 8):
            numbers = np.arange(first, first + 8)
            observations = np.repeat(numbers[:, None], game.observation_size, axis=1).astype(np.int8)
            rows = {"observations": observations, "masks": np.ones((8, 2), np.bool_), "actions": numbers % 2}
            reservoir.add(rows, generator)
        found = reservoir.sample(50, generator)
        assert (found["observations"][:, 0] % 2 == found["actions"]).all()
        assert found["masks"].all()
        kept[reservoir.observations[:, 0].numpy()] += 1
    # Each of the 40 rows is among the 10 in a quarter of the trials: 125 times, give or take 10.
    assert np.abs(kept - 125).max() < 45


def test_a_reservoir_is_kept_without_its_empty_rows():
    game, generator = kuhn_poker.make(), np.random.default_rng(0)
    full, fresh = (Reservoir(10, of_decisions(game, actions=((), torch.int64))) for _ in range(2))
    observations = generator.integers(0, 2, (3, game.observation_size)).astype(np.int8)
    full.add({"observations": observations, "masks": np.ones((3, 2), np.bool_), "actions": np.arange(3)}, generator)
    state = full.state_dict()
    assert state["actions"].tolist() == [0, 1, 2]
    fresh.load_state_dict(state)
    assert np.array_equal(fresh.observations[:3].numpy(), observations)
    assert (int(fresh.added), len(fresh.actions)) == (3, 10)
    for wrong in ({"added": torch.tensor(4)}, {"actions": torch.arange(2)}, {"masks": torch.tensor(True)}):
        with pytest.raises(ValueError, match="a reservoir to which"):
            fresh.load_state_dict({**state, **wrong})


def test_a_resumed_run_keeps_the_reservoir(tmp_path):
    for steps in (1024, 2048):
        train(Config(**{**TINY, "steps": steps}, out=tmp_path / "x", resume=steps > 1024))
    added = read_tensors(tmp_path / "x" / "resume.safetensors", RESUME_FORMAT)[1]["reservoir.added"]
    assert int(added) == 2048, "the average is of the whole run"
