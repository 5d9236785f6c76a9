"""Tabular Q-learning: what it learns, its files, the agent that plays them."""

import re
from typing import Any

import numpy as np
import pytest

import ttt_envs
from ttt_envs import agents
from ttt_envs.agents.tabular import ActionTable, features_of, load_table
from ttt_envs.evaluation.best_play import measure as measure_regret
from ttt_envs.learning.tabular import Config, at_least, train
from ttt_envs.storage.tensors import BadTensorFile

BLOCKS = ("own markers", "opponent's markers", "extra roll")
DICE = ttt_envs.load("tic_tac_dice", rounds="single")
TINY: dict[str, Any] = {
    "game": "tic_tac_dice",
    "options": {"rounds": "single"},
    "blocks": BLOCKS,
    "steps": 2048,
    "eval_every": 1024,
    "eval_games": 4,
    "quiet": True,
}


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    path = tmp_path_factory.mktemp("runs") / "x"
    result = train(Config(**TINY, out=path))
    assert (result.finished, result.steps) == (True, 2048)
    return path


def test_run_folder(folder):
    files = {"config.json", "curve.csv", "curve.png", "log.jsonl", "table.safetensors", "resume.safetensors"}
    files |= {"regret.csv", "regret.png"}
    assert {path.name for path in folder.iterdir()} == {*files, "tensorboard"}
    table, facts = load_table(folder)
    assert 100 < len(table) < 2048
    assert (facts["game"], facts["blocks"], facts["steps"]) == ("tic_tac_dice", list(BLOCKS), 2048)
    assert np.abs(table.values).max() > 0


def test_it_plays_what_it_learned(folder):
    agent, table = agents.load(f"tabular:{folder}"), load_table(folder)[0]
    table.features = features_of(DICE, BLOCKS)
    batch = ttt_envs.Batch(DICE, 200, seed=1)
    view = batch.view()
    policy, rows = agent.policy(view), table.find(view.observations)
    assert (rows >= 0).all(), "every game begins with an empty board"
    values = np.where(view.masks, table.values[rows], -np.inf)
    assert (policy == (values == values.max(axis=1, keepdims=True)) / policy.astype(bool).sum(axis=1)[:, None]).all()
    for _ in range(6):
        batch.step(agents.load("random").act(batch.view()))
    late = batch.view(rows=np.flatnonzero(~batch.done))
    unknown = table.find(late.observations) < 0
    assert unknown.any()
    uniform = late.masks / late.masks.sum(axis=1, keepdims=True)
    assert np.allclose(agent.policy(late)[unknown], uniform[unknown])


def test_all_behind_otherwise_is_of_the_other_agent(folder):
    other = f"tabular:{folder},temperature=0.5,otherwise=mcts:simulations=7,exploration=2"
    agent = agents.load(f"tabular:{folder},otherwise={other}")
    assert (agent.temperature, agent.agent.temperature) == (0, 0.5)
    assert (agent.agent.agent.simulations, agent.agent.agent.exploration) == (7, 2)


def test_a_run_is_resumed(tmp_path, folder):
    config = Config(**{**TINY, "steps": 1024}, out=tmp_path / "x")
    train(config)
    before = load_table(tmp_path / "x")[0]
    result = train(Config(**TINY, out=tmp_path / "x", resume=True))
    after = load_table(tmp_path / "x")[0]
    assert result.steps == 2048
    assert len(after) > len(before)
    assert list(after._rows)[: len(before)] == list(before._rows)


@pytest.mark.slow
def test_it_learns_to_play_against_the_opponent(tmp_path):
    """Random play has a regret of 0.33, play that takes the opponent's best action for its own 0.18."""
    result = train(Config(**{**TINY, "steps": 200_000, "eval_every": 200_000, "save_every": 200_000}, out=tmp_path))
    agent = agents.load(f"tabular:{result.folder}")
    assert measure_regret(DICE, agent, games=200, seed=3).per_game < 0.155


def test_games_that_are_too_large_are_refused(tmp_path):
    words = re.escape("more observations than --limit, 1,000,000: at least ")
    with pytest.raises(ValueError, match=words):
        train(Config(**{**TINY, "game": "super_tic_tac_toe", "options": {}, "blocks": ()}, out=tmp_path / "x"))
    assert not (tmp_path / "x").exists()
    assert at_least(DICE, features_of(DICE, BLOCKS)) < 30_000
    with pytest.raises(ValueError, match=r"more observations than --limit, 17,000: 17,\d\d\d in the first"):
        train(Config(**{**TINY, "limit": 17_000, "steps": 10**6, "eval_every": 10**6}, out=tmp_path / "y"))


def test_rows_are_found_again_and_the_table_grows():
    table, generator = ActionTable(3, np.arange(20) < 16), np.random.default_rng(0)
    observations = generator.integers(0, 2, (5000, 20)).astype(np.int8)
    rows = table.find(observations, add=True)
    assert len(table) == len(np.unique(observations[:, :16], axis=0)) > 1024
    assert len(table.values) >= len(table)
    assert np.array_equal(table.find(observations), rows)
    same = np.arange(5000)[rows == rows[0]]
    assert (observations[same, :16] == observations[0, :16]).all()


def test_files_that_do_not_fit_are_refused(tmp_path, folder):
    table, facts = load_table(folder)
    table.features = features_of(DICE, BLOCKS)
    path = tmp_path / "table.safetensors"
    table.save(path, facts)
    assert path.read_bytes() == (folder / "table.safetensors").read_bytes()
    with pytest.raises(BadTensorFile, match="was trained for tic_tac_dice"):
        agents.load(f"tabular:{path}").check(ttt_envs.load("super_tic_tac_toe"))
    table.save(path, {**facts, "options": {**facts["options"], "rounds": "match"}})
    with pytest.warns(
        UserWarning, match=r'trained with options {"rounds": "match"}, and plays with {"rounds": "single"}'
    ):
        agents.load(f"tabular:{path}").check(DICE)
    table.save(path, {**facts, "blocks": ["own marks"]})
    with pytest.raises(BadTensorFile, match="unknown block 'own marks'"):
        agents.load(f"tabular:{path}").check(DICE)
    table.save(path, {**facts, "blocks": []})
    with pytest.raises(BadTensorFile, match="keys are not of the blocks"):
        agents.load(f"tabular:{path}").check(DICE)
    table.values[3, 3] = np.nan
    table.save(path, facts)
    with pytest.raises(BadTensorFile, match="not finite"):
        agents.load(f"tabular:{path}")
    with pytest.raises(FileNotFoundError, match="no table at"):
        agents.load(f"tabular:{tmp_path}/nowhere")
