"""The learner of n-tuple networks."""

from typing import Any

import numpy as np
import pytest
from changed import changed

import ttt_envs
from ttt_envs import agents
from ttt_envs.agents.ntuples import load_values
from ttt_envs.learning.ntuple import Config, train

TINY: dict[str, Any] = {
    "game": "super_tic_tac_toe",
    "steps": 20_000,
    "eval_every": 20_000,
    "eval_games": 20,
    "eval_agents": ("greedy",),
    "save_every": 20_000,
    "quiet": True,
}


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    path = tmp_path_factory.mktemp("runs") / "x"
    result = train(Config(**{**TINY, "steps": 200_000, "eval_games": 60, "eval_every": 200_000}, out=path))
    assert result.finished
    assert result.steps >= 200_000
    first, last = result.points["score"][0], result.points["score"][-1]
    assert first.value < 0.6 < 0.75 < last.value
    return path


def test_run_folder(folder):
    files = {"config.json", "curve.csv", "curve.png", "network.safetensors", "resume.safetensors"}
    files |= {"log.jsonl", "tensorboard"}
    assert {path.name for path in folder.iterdir()} == files
    values = load_values(folder)
    assert (values.info.game, values.info.steps >= 200_000) == ("super_tic_tac_toe", True)
    assert agents.load(f"alphabeta:{folder},depth=2").depth == 2


def test_a_run_is_resumed_as_if_it_had_not_stopped_and_another_seed_learns_something_else(tmp_path):
    train(Config(**{**TINY, "steps": 40_000}, out=tmp_path / "whole"))
    train(Config(**TINY, out=tmp_path / "parts"))
    first = load_values(tmp_path / "parts").weights.copy()
    with pytest.raises(FileExistsError, match="--resume"):
        train(Config(**TINY, out=tmp_path / "parts"))
    train(Config(**{**TINY, "steps": 40_000}, out=tmp_path / "parts", resume=True))
    one, two = (load_values(tmp_path / name).weights for name in ("whole", "parts"))
    assert np.array_equal(one, two)
    train(Config(**TINY, seed=1, out=tmp_path / "other"))
    assert not np.array_equal(first, load_values(tmp_path / "other").weights)


def test_it_begins_with_the_prior_of_the_patterns(tmp_path, monkeypatch):
    game = ttt_envs.load("super_tic_tac_toe")
    prior = np.random.default_rng(1).normal(size=game.patterns.size).astype(np.float32)
    suggesting = changed(game, patterns=lambda: game.patterns._replace(prior=lambda: prior))
    monkeypatch.setattr(Config, "load", lambda self: suggesting)
    unlearned = {**TINY, "steps": 1, "learning_rate": 0.0}
    for wanted in (True, False):
        train(Config(**unlearned, prior=wanted, out=tmp_path / str(wanted)))
        found = load_values(tmp_path / str(wanted)).weights
        assert np.array_equal(found, prior if wanted else np.zeros_like(prior))
