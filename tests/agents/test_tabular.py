"""Tables of action values: their files, and the agent that plays them."""

import numpy as np
import pytest

import ttt_envs
from ttt_envs import agents
from ttt_envs.agents.tabular import ActionTable, keys_of, load_table, pair_of
from ttt_envs.storage.tensors import BadTensorFile

DICE = ttt_envs.load("tic_tac_dice", rounds="single")
FACTS = {
    "game": DICE.id,
    "options": dict(DICE.options),
    "inputs": DICE.observation_size,
    "actions": DICE.num_actions,
    "steps": 500,
}


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """A folder with a table of the first ten plies of some games, and random values."""
    path, batch = tmp_path_factory.mktemp("tables"), ttt_envs.Batch(DICE, 50, seed=0, auto_reset=True)
    pairs = []
    for _ in range(10):
        view = batch.view()
        row, action = np.nonzero(view.masks)
        pairs.append(pair_of(keys_of(view.observations, (), DICE.num_actions)[0][row], action))
        batch.step(agents.load("random").act(view))
    pairs = np.unique(np.concatenate(pairs))
    values = np.random.default_rng(0).normal(size=len(pairs)).astype(np.float32)
    ActionTable(pairs, values).save(path / "table.safetensors", FACTS)
    return path


def test_the_best_action_of_a_known_row_is_played(folder):
    agent, table = agents.load(f"tabular:{folder}"), load_table(folder)[0]
    batch = ttt_envs.Batch(DICE, 50, seed=0)
    view = batch.view()
    policy, found = agent.policy(view), table.find(view.observations, view.masks)
    assert np.array_equal(np.isnan(found), ~view.masks), "the games that the table was made of"
    values = np.where(view.masks, found, -np.inf)
    assert (policy == (values == values.max(axis=1, keepdims=True)) / policy.astype(bool).sum(axis=1)[:, None]).all()
    assert (agent.decisions, agent.missing) == (50, 0)
    late = ttt_envs.Batch(DICE, 50, seed=7)
    for _ in range(6):
        late.step(agents.load("random").act(late.view()))
    view = late.view(rows=np.flatnonzero(~late.done))
    unknown = np.isnan(table.find(view.observations, view.masks)).all(axis=1)
    assert unknown.any()
    uniform = view.masks / view.masks.sum(axis=1, keepdims=True)
    assert np.allclose(agent.policy(view)[unknown], uniform[unknown])
    assert agent.missing == unknown.sum()


def test_all_behind_otherwise_is_of_the_other_agent(folder):
    other = f"tabular:{folder},temperature=0.5,otherwise=mcts:simulations=7,exploration=2"
    agent = agents.load(f"tabular:{folder},otherwise={other}")
    assert (agent.temperature, agent.agent.temperature) == (0, 0.5)
    assert (agent.agent.agent.simulations, agent.agent.agent.exploration) == (7, 2)


def test_keys_tell_observations_apart_and_pairs_their_actions():
    observations = np.unpackbits(np.arange(2**14, dtype=">u2").view(np.uint8).reshape(-1, 2), axis=1).astype(np.int8)
    keys, named = keys_of(observations, (), 7)
    assert len(np.unique(keys)) == 2**14
    assert (named == np.arange(7)).all()
    pairs = np.stack([pair_of(keys, np.full(len(keys), action)) for action in range(-1, 7)])
    assert len(np.unique(pairs)) == pairs.size
    assert np.array_equal(pair_of(keys, np.full(len(keys), -1)), keys)


def test_files_that_do_not_fit_are_refused(tmp_path, folder):
    table, facts = load_table(folder)
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
    ActionTable(table.pairs, table.values[:-1]).save(path, facts)
    with pytest.raises(BadTensorFile, match="not of the shapes and types"):
        agents.load(f"tabular:{path}")
    with pytest.raises(FileNotFoundError, match="no table at"):
        agents.load(f"tabular:{tmp_path}/nowhere")
