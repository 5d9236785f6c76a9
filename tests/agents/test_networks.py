"""Trained networks: their files, what they compute, and the agents that play them."""

import json
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import toy_coin
from asking import view_of
from threadpoolctl import ThreadpoolController

import ttt_envs
from ttt_envs import agents
from ttt_envs.agents.matrix_games import check_two_players
from ttt_envs.agents.network_agents import Lookahead, NetworkAgent
from ttt_envs.agents.networks import (
    ACTIVATIONS,
    KINDS,
    BadNetworkFile,
    Network,
    NetworkInfo,
    as_seen,
    for_all_players,
    load_network,
    save_network,
)
from ttt_envs.agents.one_ply import action_values
from ttt_envs.agents.search.alphabeta import AlphaBeta
from ttt_envs.core.chance import chance_of
from ttt_envs.core.game import Game
from ttt_envs.core.options import parameters

safetensors_numpy = pytest.importorskip("safetensors.numpy")

GAME = ttt_envs.load("super_tic_tac_toe")
DICE = ttt_envs.load("tic_tac_dice", rounds="single")


# A form of network in which all parts of the board pass through the same layers, of which one is as large as its input.
SHARED = {"parts": GAME.parts, "shared": (5, 5, 3), "residual": True}


def info_for(game: Game, kind: str = "q", hidden: tuple[int, ...] = (8, 6)) -> NetworkInfo:
    return NetworkInfo(game.id, dict(game.options), kind, game.observation_size, game.num_actions, hidden, 5)


def random_tensors(info: NetworkInfo, seed: int = 0) -> dict[str, np.ndarray]:
    generator = np.random.default_rng(seed)
    return {name: generator.normal(0, 0.3, shape).astype(np.float32) for name, shape in info.shapes().items()}


def random_network(game: Game, kind: str = "q") -> Network:
    return Network(info_for(game, kind), random_tensors(info_for(game, kind)))


# --- files ---


def test_a_network_may_be_for_several_options(tmp_path):
    closed = ttt_envs.load("super_tic_tac_toe", won_boards="closed")
    anywhere = ttt_envs.load("super_tic_tac_toe", first_move="anywhere")
    info = replace(info_for(GAME), also=(dict(closed.options),))
    save_network(tmp_path / "network.safetensors", info, random_tensors(info))
    network = load_network(tmp_path)
    assert network.info == info
    for game in (GAME, closed):
        network.check(game)
    with pytest.warns(UserWarning, match=r'trained with options {"first_move": "center_board"}, and plays with'):
        network.check(anywhere)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("number", [np.float32, np.float16])
@pytest.mark.parametrize("form", [{}, SHARED], ids=["plain", "shared"])
def test_a_file_gives_back_what_was_saved(kind, number, form, tmp_path):
    info = replace(info_for(GAME, kind), **form)
    tensors = {name: tensor.astype(number) for name, tensor in random_tensors(info).items()}
    save_network(tmp_path / "network.safetensors", info, tensors)
    observations = view_of(GAME).observations
    expected = Network(info, tensors)(observations)
    for path in (tmp_path, tmp_path / "network.safetensors"):  # the run folder, and the file
        found = load_network(path)
        assert found.info == info
        for head, values in found(observations).items():
            assert np.array_equal(values, expected[head])
            assert values.shape == (len(observations), 1 if head == "value" else GAME.num_actions)


def write(path: Path, facts: object, tensors: dict[str, np.ndarray]) -> None:
    path.write_bytes(safetensors_numpy.save(tensors, {"ttt_envs": json.dumps(facts)}))


def test_bad_files_are_refused(tmp_path):
    path = tmp_path / "network.safetensors"
    with pytest.raises(FileNotFoundError, match="no network file at"):
        load_network(tmp_path)
    path.write_bytes(b"nothing of the kind")
    with pytest.raises(BadNetworkFile, match="is damaged"):
        load_network(path)
    info = info_for(GAME)
    facts = {"format": "ttt-envs network 1", **vars(info)}
    tensors = random_tensors(info)
    write(path, {**facts, "format": "ttt-envs policy 1"}, tensors)
    with pytest.raises(BadNetworkFile, match="no file of the form"):
        load_network(path)
    write(path, {**facts, "hidden": 3}, tensors)
    with pytest.raises(BadNetworkFile, match="metadata cannot be read"):
        load_network(path)
    name = "heads.q.bias"
    write(path, facts, {**tensors, name: tensors[name][1:]})
    with pytest.raises(BadNetworkFile, match=name):
        load_network(path)
    write(path, facts, {key: tensor for key, tensor in tensors.items() if key != name})
    with pytest.raises(BadNetworkFile, match=f"{name} is missing"):
        load_network(path)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize(
    "form",
    [{}, {"residual": True}, {"separate": True, "activation": "tanh"}, {"squash": True, "values": 3}, SHARED],
    ids=["plain", "residual", "separate", "squashed", "shared"],
)
def test_the_same_numbers_as_torch(kind, form):
    torch = pytest.importorskip("torch")
    from ttt_envs.learning.torch_networks import TorchNetwork

    torch.manual_seed(0)
    info = replace(info_for(GAME, kind, (8, 8, 6)), **form)
    net = TorchNetwork(info)
    observations = view_of(GAME).observations
    with torch.inference_mode():
        expected = net(torch.from_numpy(observations.astype(np.float32)))
    tensors = net.tensors()
    assert {name: tensor.shape for name, tensor in tensors.items()} == info.shapes()
    found = Network(info, tensors)(observations)
    assert list(found) == list(expected)
    for head, values in found.items():
        assert np.abs(values - expected[head].numpy()).max() < 1e-6
    plain = Network(replace(info, residual=False, squash=False), tensors)(observations)
    changed = any(np.abs(found[head] - plain[head]).max() > 1e-4 for head in found)
    assert changed == (bool(form.get("residual")) or (bool(form.get("squash")) and "value" in found))


def test_parts_that_look_alike_are_alike_to_shared_layers():
    info = replace(info_for(GAME), parts=GAME.parts, shared=(6, 3))
    tensors = random_tensors(info)
    tensors |= {f"heads.q.{name}": 0 * tensors[f"heads.q.{name}"] for name in ("weight", "bias")}
    observations = np.zeros((2, info.inputs), np.int8)
    for board, marks in ((2, (0, 4, 11)), (7, (1, 17, 18))):
        observations[0, [GAME.parts[board].features[k] for k in marks]] = 1
        observations[1, [GAME.parts[9 - board].features[k] for k in marks]] = 1  # the two exchange their contents
    here, there = Network(info, tensors)(observations)["q"].reshape(2, 9, 9)
    assert np.allclose(here[[7, 2]], there[[2, 7]], rtol=0, atol=1e-6)
    assert np.allclose(here[[0, 5]], there[[0, 5]], rtol=0, atol=1e-6)
    assert (here[2] != here[7]).any()
    assert (here[2] != here[0]).any()


def test_alphabeta_takes_no_network_with_shared_layers():
    info = replace(info_for(GAME), **SHARED)
    network = Network(info, random_tensors(info))
    with pytest.raises(ValueError, match="without shared layers"):
        AlphaBeta(network)
    with pytest.raises(ValueError, match="no plain multilayer perceptron"):
        network.layers("q")


@pytest.mark.parametrize("form", [{}, {"hidden": (256, 64)}, SHARED], ids=["small", "large", "shared"])
def test_a_position_has_the_same_numbers_in_any_batch(form):
    info, observations = replace(info_for(GAME, "policy+value"), **form), view_of(GAME, 70).observations
    network = Network(info, random_tensors(info))
    whole = network(observations)
    for rows in ([5], [69, 3], list(range(9, 40)), list(range(69, -1, -1)), []):
        for head, values in network(observations[rows]).items():
            np.testing.assert_allclose(values, whole[head][rows], rtol=1e-4, atol=1e-4)


def test_products_take_one_thread_and_the_number_of_before_is_set_again(monkeypatch):
    blas, seen = ThreadpoolController().select(user_api="blas"), []

    def threads() -> set[int]:
        return {each["num_threads"] for each in blas.info()}

    def activate(x: np.ndarray) -> np.ndarray:
        seen.append(threads())
        if len(seen) == 1:  # another position meanwhile, as in another thread
            network(observations)
        return relu(x)

    relu, network, observations = ACTIVATIONS["relu"], random_network(GAME), view_of(GAME).observations
    monkeypatch.setitem(ACTIVATIONS, "relu", activate)
    with blas.limit(limits=2):
        network(observations)
        assert seen == [{1}] * 4, "two layers, twice"
        assert threads() == {2}


def test_values_in_turn_order_are_those_of_all_players():
    teams = ttt_envs.load("tic_tac_match", players=4)
    found = for_all_players(teams, np.array([[0.5], [-0.25]]), np.array([1, 2]))
    assert [[found[0, p] for p in team] for team in teams.teams] == [[-0.5, -0.5], [0.5, 0.5]]
    assert [[found[1, p] for p in team] for team in teams.teams] == [[-0.25, -0.25], [0.25, 0.25]]
    three = ttt_envs.load("martian_tic_tac_toe", size=5, players=3)
    rewards, players = np.array([[1.0, -0.5, -0.5], [-0.5, 1.0, -0.5], [0.0, 0.25, 0.5]]), np.array([0, 2, 1])
    seen = as_seen(three, rewards, players)
    assert seen.tolist() == [[1.0, -0.5, -0.5], [-0.5, -0.5, 1.0], [0.25, 0.5, 0.0]]
    assert np.array_equal(for_all_players(three, seen, players), rewards)


@pytest.mark.parametrize("kind", ["q", "policy+value"])
def test_the_mean_over_symmetries_is_symmetric(kind):
    network, observations = random_network(GAME, kind), view_of(GAME).observations
    expected = network.evaluate(GAME, observations, symmetric=True)
    plain = network.evaluate(GAME, observations)
    for turn in GAME.symmetries:
        found = network.evaluate(GAME, observations[:, turn.features], symmetric=True)
        for head, values in found.items():
            wanted = expected[head] if head == "value" else expected[head][:, turn.actions]
            assert np.abs(values - wanted).max() < 1e-5
    assert all(np.abs(plain[head] - expected[head]).max() > 1e-3 for head in plain)


# --- one ply ---


def slow_values(game: Game, view: ttt_envs.View, seed: int, worth: dict[bytes, float]) -> np.ndarray:
    """Action by action with `Batch`, from the same worlds; `worth` is by observation."""
    values = np.full((len(view), game.num_actions), np.nan)
    for i in range(len(view)):
        for action in np.flatnonzero(view.masks[i]):
            states = view.sample_worlds(seed)[i : i + 1].copy()
            mover = int(states["to_move"][0])
            batch = ttt_envs.Batch(game, 1, seed=0)
            batch.states[:] = states
            batch.step([action])
            if batch.done[0]:
                values[i, action] = batch.rewards[0, mover]
            else:
                other = int(batch.to_move[0])
                found = worth[batch.observations().tobytes()]
                values[i, action] = found if other == mover else -found
    return values


def test_every_legal_action_is_played_and_valued_by_the_next_player():
    view, known = view_of(GAME, 30, 62), {}

    def worth(observations, masks, players):
        assert masks.any(axis=1).all()
        found = np.random.default_rng(0).uniform(-1, 1, len(observations))
        known.update(zip((row.tobytes() for row in observations), found, strict=True))
        return for_all_players(GAME, np.array([[known[row.tobytes()]] for row in observations]), players)

    states = view.sample_worlds()
    before = states.tobytes()
    found = action_values(GAME, states, view.masks, view.seeds, worth)
    assert states.tobytes() == before
    assert np.array_equal(~np.isnan(found), view.masks)
    expected = slow_values(GAME, view, 0, known)
    assert np.array_equal(np.nan_to_num(found, nan=9), np.nan_to_num(expected, nan=9))
    assert (found == 1).any(), "a game is won"
    assert (found[view.masks] < 1).any()


def test_a_second_turn_is_not_the_other_player_s():
    view = view_of(DICE, 60, 2)

    def half(observations, masks, players):
        return for_all_players(DICE, np.full((len(players), 1), 0.5), players)

    found = action_values(DICE, view.sample_worlds(), view.masks, view.seeds, half)
    values = found[view.masks]
    assert {-0.5, 0.5} <= set(values.tolist()) <= {-1.0, -0.5, 0.0, 0.5, 1.0}
    assert (values == -0.5).sum() > (values == 0.5).sum() > 0


def test_enumerated_rolls_are_exact_where_none_is_repeated():
    """After a claim by dice 1 and 2 every roll fits, so that there are 36 and nothing is sampled."""
    states = np.repeat(DICE.new_state(0), 2)
    states["rank"], states["dice"], states["to_move"] = [1, 2, 3, 4, 5, 6, 7, 8, 8], (1, 2), 0
    view = ttt_envs.View(DICE, states, 0, [3, 4])
    agent = Lookahead(random_network(DICE), outcomes=36, worlds=1)
    found = agent.action_values(view)
    assert np.allclose(found[0], found[1], rtol=0, atol=1e-6, equal_nan=True), "the seeds do not matter"
    for action in range(3):
        _, chances, after = chance_of(DICE).outcomes(states[:1], np.array([[action, 0]]))
        observations, masks = DICE.observations(after), DICE.masks(after)
        worth = agent.network.expected_rewards(DICE, observations, masks, after["to_move"].astype(np.int64))
        assert found[0, action] == pytest.approx(chances @ worth[:, 0], abs=1e-6)
    assert np.isnan(found[:, 3:]).all()


def test_two_plies_are_the_best_answers_to_each_roll():
    """By hand, from the enumerated outcomes of the first."""
    states = DICE.new_state(0)
    states["rank"], states["dice"], states["to_move"] = [1, 2, 3, 4, 5, 6, 7, 8, 8], (1, 2), 1
    agent = Lookahead(random_network(DICE), outcomes=36, worlds=1, depth=2)
    deeper = Lookahead(agent.network, outcomes=36, worlds=1)
    found = agent.action_values(ttt_envs.View(DICE, states, 1, [3]))[0]
    for action in range(3):
        _, chances, after = chance_of(DICE).outcomes(states, np.array([[0, action]]))
        movers = after["to_move"].astype(np.int64)
        answers = np.nanmax(deeper.action_values(ttt_envs.View(DICE, after, movers, np.arange(len(after)))), axis=1)
        # Where the roll after the answer may have to be repeated the rest is sampled: a few in a hundred.
        assert found[action] == pytest.approx(chances @ np.where(movers == 1, answers, -answers), abs=0.01)
    assert np.nanstd(found) > 0.02


def test_enumerated_rolls_are_the_mean_of_many_samples():
    view, network = view_of(DICE, 30, 5), random_network(DICE)
    sampled = Lookahead(network, worlds=600).action_values(view)
    found = Lookahead(network, worlds=5, outcomes=36).action_values(view)
    assert np.array_equal(np.isnan(found), ~view.masks)
    assert np.nanmax(np.abs(found - sampled)) < 0.17
    assert np.nanstd(sampled) > 0.3


def test_what_lookahead_sees_does_not_depend_on_what_is_hidden():
    network, view = random_network(DICE), view_of(DICE, 30, 2)
    agent = Lookahead(network, worlds=4)
    worlds = view.sample_worlds(77)
    batch = ttt_envs.Batch(DICE, len(view), seed=3)
    other = ttt_envs.View(DICE, worlds, view.players, batch.episode_seeds)
    twice = [agent.action_values(ttt_envs.View(DICE, s, view.players, batch.episode_seeds)) for s in (worlds, worlds)]
    assert np.array_equal(*(np.nan_to_num(each) for each in twice))
    redrawn = other.sample_worlds(5)
    again = agent.action_values(ttt_envs.View(DICE, redrawn, view.players, batch.episode_seeds))
    assert np.array_equal(np.nan_to_num(again), np.nan_to_num(twice[0]))


# --- agents ---


@pytest.fixture(scope="module")
def folder(tmp_path_factory) -> Path:
    path = tmp_path_factory.mktemp("networks")
    for kind in KINDS:
        save_network(path / f"{kind}.safetensors", info_for(GAME, kind), random_tensors(info_for(GAME, kind)))
    return path


@pytest.mark.parametrize(
    "spec",
    [
        "network:{}/q.safetensors",
        "network:{}/policy.safetensors",
        "network:{}/policy+value.safetensors,temperature=0.5,symmetric=true",
        "lookahead:{}/q.safetensors,mix=0.5",
        "lookahead:{}/value.safetensors",
        "lookahead:{}/policy+value.safetensors,symmetric=true,temperature=0.1",
    ],
)
def test_they_play(spec, folder):
    agent, view = agents.load(spec.format(folder)), view_of(GAME)
    policy, actions = agent.policy(view), agent.act(view)
    assert np.allclose(policy.sum(axis=1), 1)
    assert not policy[~view.masks].any()
    assert (policy[np.arange(len(view)), actions] > 0).all()
    rows = np.array([3, 1])
    assert np.array_equal(agent.act(view.take(rows)), actions[rows]), "the same whatever else is in the batch"


def test_a_policy_is_a_softmax(folder):
    view, network = view_of(GAME), load_network(folder / "policy.safetensors")
    logits = np.where(view.masks, network(view.observations)["policy"].astype(float), -np.inf)
    weights = np.exp(logits)
    found = NetworkAgent(network).policy(view)
    assert np.abs(found - weights / weights.sum(axis=1, keepdims=True)).max() < 1e-12
    best = NetworkAgent(network, temperature=0).policy(view)
    assert np.array_equal(best.argmax(axis=1), logits.argmax(axis=1))
    assert (best.max(axis=1) == 1).all()
    cut = NetworkAgent(network, threshold=0.15).policy(view)
    kept = np.where((found >= 0.15) | (found == found.max(axis=1, keepdims=True)), found, 0)
    assert (kept < found).any()
    assert np.abs(cut - kept / kept.sum(axis=1, keepdims=True)).max() < 1e-12
    assert np.array_equal(NetworkAgent(network, threshold=1).policy(view), best)


@pytest.mark.parametrize(
    ("spec", "words"),
    [
        ("network:{}/value.safetensors", "lookahead plays it"),
        ("lookahead:{}/policy.safetensors", "gives no values"),
        ("lookahead:{}/value.safetensors,mix=0.5", "mix must be"),
        ("guided:{}/policy.safetensors", "gives no values to search with"),
    ],
)
def test_wrong_parameters_are_refused(spec, words, folder):
    with pytest.raises(ValueError, match=words):
        agents.load(spec.format(folder))


@pytest.mark.parametrize("name", ["network", "lookahead", "guided"])
def test_numbers_out_of_reach_are_refused(name, folder):
    for parameter in parameters(agents.known()[name])[1:]:
        for text in ("-1", "nan"):
            with pytest.raises(ValueError, match=rf"\b{parameter.name}\b.*(must be|is not of type)"):
                agents.load(f"{name}:{folder}/q.safetensors,{parameter.name}={text}")


def test_other_games_are_refused(folder):
    with pytest.raises(BadNetworkFile, match=r"trained for super_tic_tac_toe.*not for tic_tac_dice"):
        agents.load(f"network:{folder}/q.safetensors").check(DICE)
    three = ttt_envs.load("martian_tic_tac_toe", size=5, players=3)
    with pytest.raises(ValueError, match="a value for each player"):
        Lookahead(random_network(three)).check(three)
    at_once = ttt_envs.load("operation_tic_tac_toe")
    with pytest.raises(ValueError, match="values of positions"):
        Lookahead(random_network(at_once)).check(at_once)
    with pytest.raises(ValueError, match="temperature of 0"):
        Lookahead(random_network(at_once, "value"), temperature=0.1).check(at_once)
    with pytest.raises(ValueError, match="temperature of 0 and outcomes=1"):
        Lookahead(random_network(at_once, "value"), outcomes=36).check(at_once)
    info = replace(info_for(three, "value"), values=3)
    with pytest.raises(ValueError, match="one ply ahead in games of more than two sides"):
        Lookahead(Network(info, random_tensors(info)), depth=2).check(three)
    with pytest.raises(ValueError, match="two players and nothing else hidden"):
        check_two_players(toy_coin.make(), "x")
    wrong = replace(info_for(GAME), actions=80)
    with pytest.raises(BadNetworkFile, match="80 actions"):
        NetworkAgent(Network(wrong, random_tensors(wrong))).check(GAME)
