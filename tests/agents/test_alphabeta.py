"""Alpha-beta search: against plain minimax, with each kind of value function."""

import numpy as np
import pytest
from asking import view_of

import ttt_envs
from ttt_envs import agents
from ttt_envs.agents.networks import BadNetworkFile, Network, NetworkInfo
from ttt_envs.agents.ntuples import NTuples, NTuplesInfo, load_values, save_ntuples
from ttt_envs.agents.pretrained import folder
from ttt_envs.agents.search.alphabeta import AlphaBeta

ID = "super_tic_tac_toe"
GAME = ttt_envs.load(ID)
OPENED = ttt_envs.load(ID, random_opening_plies=6)


def network(kind: str, **form: object) -> Network:
    info = NetworkInfo(ID, {}, kind, GAME.observation_size, GAME.num_actions, (12, 12), 0, **form)  # type: ignore[arg-type]
    generator = np.random.default_rng(0)
    return Network(info, {name: generator.normal(0, 0.3, shape) for name, shape in info.shapes().items()})


def ntuples() -> NTuples:
    patterns = GAME.patterns
    assert patterns is not None
    weights = np.random.default_rng(0).normal(0, 0.3, patterns.size)
    return NTuples(NTuplesInfo(ID, {}, patterns.size, patterns.number, 0), weights)


VALUES = {
    "ntuples": ntuples,
    "nothing": lambda: "",
    "q": lambda: network("q"),
    "value": lambda: network("value", squash=True, residual=True),
    "policy+value": lambda: network("policy+value", separate=True, activation="tanh"),
}


def worth(values: object, batch: ttt_envs.Batch, mover: int) -> float:
    """The value to the player who has just moved, from the parts that compute it elsewhere."""
    if values == "":
        return 0.0
    if isinstance(values, NTuples):
        assert GAME.patterns is not None
        found = np.zeros(GAME.patterns.number, np.int64)
        GAME.patterns.find(batch.states[0], mover, found)
        return float(np.tanh(values.weights[found].astype(float).sum()))
    assert isinstance(values, Network)
    view = batch.view()
    return float(values.expected_rewards(GAME, view.observations, view.masks, view.players)[0, mover])


def minimax(values: object, state: np.ndarray, depth: int) -> dict[int, float]:
    """The value of each action to the player to move, without pruning, order, or table; a win is worth 2."""
    mover, found = int(state["to_move"][0]), {}
    batch = ttt_envs.Batch(GAME, 1, seed=0)
    batch.states[:] = state
    for action in np.flatnonzero(batch.masks()[0]):
        batch.states[:] = state
        batch.step([action])
        if batch.done[0]:
            found[int(action)] = 2.0 * float(batch.rewards[0, mover])
        elif depth == 1:
            found[int(action)] = worth(values, batch, mover)
        else:
            found[int(action)] = -max(minimax(values, batch.states.copy(), depth - 1).values())
    return found


@pytest.mark.parametrize("reduce", [0.0, 1e-9])  # with windows of no width, and nothing left out
@pytest.mark.parametrize("kind", VALUES)
def test_it_finds_what_plain_minimax_finds(kind, reduce):
    values = VALUES[kind]()
    checked = 0
    for plies, depth in ((20, 2), (35, 3), (62, 4)):
        view = view_of(GAME, 12, plies).take(np.arange(4))
        found = AlphaBeta(values, depth=depth, reduce=reduce).scores(view)
        states = view.sample_worlds()
        for i in range(len(view)):
            expected = minimax(values, states[i : i + 1], depth)
            best = max(expected.values())
            assert np.nanmax(found[i]) == pytest.approx(best, abs=0.05 if abs(best) > 1.5 else 1e-4)
            chosen = int(np.nanargmax(found[i]))
            assert expected[chosen] == pytest.approx(best, abs=1e-4)
            assert list(np.flatnonzero(~np.isnan(found[i]))) == sorted(expected)
            checked += len(set(expected.values())) > 1
    assert checked > (0 if kind == "nothing" else 6)


def test_to_the_end_of_the_game_it_plays_best():
    view = view_of(GAME, 80, 72)
    view = view.take(view.masks.sum(axis=1) > 1)
    found = AlphaBeta(depth=11).scores(view)
    states = view.sample_worlds()
    results = set()
    for i in range(len(view)):
        expected = minimax("", states[i : i + 1], 11)
        best = max(expected.values())
        assert np.sign(np.round(np.nanmax(found[i]), 1)) == np.sign(best)
        assert expected[int(np.nanargmax(found[i]))] == best
        results.add(best)
        at_once = [a for a, value in minimax("", states[i : i + 1], 1).items() if value == 2]
        assert not at_once or int(np.nanargmax(found[i])) in at_once
    assert results == {-2.0, 0.0, 2.0}


def test_with_less_of_the_late_actions_it_sees_as_much_in_fewer_positions():
    path = folder() / ID / "ntuple"
    view, whole, part = view_of(GAME, 12, 20), AlphaBeta(path, depth=7), AlphaBeta(path, depth=7, reduce=0.8)
    alike = entries = fewer = 0
    for k in range(len(view)):
        one = view.take(np.array([k]))
        alike += int(whole.act(one)[0] == part.act(one)[0])
        tables = [agent._search.scratch.table["key"] for agent in (whole, part)]
        entries, fewer = entries + np.count_nonzero(tables[0]), fewer + np.count_nonzero(tables[1])
        for table in tables:
            table[:] = 0
    assert fewer < 0.8 * entries
    assert alike >= 8


def test_a_decision_depends_on_its_seed_alone():
    view = view_of(OPENED, 20, 10)
    agent = AlphaBeta(ntuples(), depth=4)
    found = agent.scores(view)
    backwards = np.arange(len(view))[::-1]
    assert np.array_equal(agent.scores(view.take(backwards)), found[backwards], equal_nan=True)
    for i in range(0, len(view), 6):
        alone = AlphaBeta(agent.values, depth=4).scores(view.take(np.array([i])))
        assert np.array_equal(alone[0], found[i], equal_nan=True)
    # The seed takes one of equal actions.
    start = ttt_envs.View(GAME, np.repeat(view_of(GAME, 1, 0).sample_worlds(), 30), 0, np.arange(30))
    assert len(set(AlphaBeta(depth=2).act(start).tolist())) > 3


def test_by_time_it_goes_as_deep_as_it_may():
    view = view_of(GAME, 4, 66)
    assert np.array_equal(AlphaBeta(depth=6, seconds=60.0).act(view), AlphaBeta(depth=6).act(view))
    start = view_of(GAME, 1, 5)
    actions = AlphaBeta(ntuples(), depth=60, seconds=0.05).act(start)
    assert start.masks[0, actions[0]]


def test_files(tmp_path):
    values = ntuples()
    path = tmp_path / "network.safetensors"
    save_ntuples(path, values.info, values.weights.astype(np.float16))
    loaded = load_values(tmp_path)
    assert isinstance(loaded, NTuples)
    assert loaded.info == values.info
    assert np.abs(loaded.weights - values.weights).max() < 1e-3
    view = view_of(GAME, 10, 20)
    assert (agents.load(f"alphabeta:{tmp_path},depth=2").act(view) == AlphaBeta(loaded, depth=2).act(view)).all()
    save_ntuples(path, values.info, values.weights[1:])
    with pytest.raises(BadNetworkFile, match="weights is missing"):
        load_values(path)


@pytest.mark.parametrize(
    ("game_id", "options", "words"),
    [
        ("tic_tac_dice", {"rounds": "single"}, "only games without chance"),
        ("tic_tac_match", {}, "without hidden information"),
        ("operation_tic_tac_toe", {}, "without simultaneous choices"),
    ],
)
def test_other_games_are_refused(game_id, options, words):
    with pytest.raises(ValueError, match=words):
        AlphaBeta().check(ttt_envs.load(game_id, **options))


def test_with_three_sides_a_network_is_refused():
    with pytest.raises(ValueError, match="a network in games of two sides alone"):
        AlphaBeta(network("value")).check(ttt_envs.load("martian_tic_tac_toe", size=5, players=3))


def test_wrong_parameters_are_refused(tmp_path):
    with pytest.raises(ValueError, match="replies='best'"):
        AlphaBeta(replies="best")
    with pytest.raises(ValueError, match="depth must be a whole number from 1"):
        AlphaBeta(depth=0)
    with pytest.raises(ValueError, match="needs values"):
        AlphaBeta(network("policy"))
    with pytest.raises(FileNotFoundError):
        agents.load(f"alphabeta:{tmp_path}/nothing")
    with pytest.raises(BadNetworkFile, match=r"not for martian_tic_tac_toe.*21 in a position"):
        AlphaBeta(ntuples()).check(ttt_envs.load("martian_tic_tac_toe"))
    with pytest.raises(BadNetworkFile, match="which has none"):
        ntuples().check(ttt_envs.load("tic_tac_dice"))
