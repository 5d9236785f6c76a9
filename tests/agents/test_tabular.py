"""Tables of action values: their files, and the agent that plays them."""

import numpy as np
import pytest

import ttt_envs
from ttt_envs import agents
from ttt_envs.agents.tabular import ActionTable, features_of, load_table
from ttt_envs.storage.tensors import BadTensorFile

BLOCKS = ("own markers", "opponent's markers", "extra roll")
DICE = ttt_envs.load("tic_tac_dice", rounds="single")


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """A folder with a table of the first ten plies of some games, and random values."""
    path, batch = tmp_path_factory.mktemp("tables"), ttt_envs.Batch(DICE, 50, seed=0, auto_reset=True)
    table, generator = ActionTable(DICE.num_actions, features_of(DICE, BLOCKS)), np.random.default_rng(0)
    for _ in range(10):
        view = batch.view()
        rows = table.find(view.observations, add=True)
        table.values[rows] = generator.normal(size=(len(rows), DICE.num_actions))
        batch.step(agents.load("random").act(view))
    facts = {"game": DICE.id, "options": dict(DICE.options), "inputs": DICE.observation_size, "blocks": list(BLOCKS)}
    table.save(path / "table.safetensors", {**facts, "steps": 500})
    return path


def test_the_best_action_of_a_known_row_is_played(folder):
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
    with pytest.raises(FileNotFoundError, match="no table at"):
        agents.load(f"tabular:{tmp_path}/nowhere")
