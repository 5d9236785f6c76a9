"""Best responses of Operation Tic-Tac-Toe: to any policy, and to optimal play."""

import numpy as np
import pytest
from operation_positions import ID, slow_position, some
from slow_operation_solver import SlowResponder

import ttt_envs
from ttt_envs.core.batch import Batch
from ttt_envs.games.operation_tic_tac_toe.solver import positions, response
from ttt_envs.testing.positions import masks_of


def lopsided(numbers: np.ndarray, player: int, pieces: np.ndarray, idle: np.ndarray) -> np.ndarray:
    """Weights of actions that have no symmetry, and depend on all that a policy may heed: float (..., actions)."""
    return 1.0 + (3 * numbers + 5 * pieces + 7 * idle + 4 * player) % 13


def lopsided_policy(game):
    """As `core.oracle.Policy`."""

    def policy(states, players):
        pieces = (states["board"] != 0).sum(axis=1)[:, None]
        weights = lopsided(np.arange(game.num_actions), players[0], pieces, states["idle"].astype(int)[:, None])
        weights *= masks_of(game, states, players[0])
        return weights / weights.sum(axis=1, keepdims=True)

    return policy


@pytest.mark.parametrize(
    ("hands", "idle_turns"),
    [
        ((None, None), 3),
        pytest.param(("sniper", "hacker"), 1, marks=pytest.mark.slow),
        pytest.param(("mole", "courier"), 2, marks=pytest.mark.slow),
        pytest.param(("pusher", "assassin"), 2, marks=pytest.mark.slow),
        pytest.param(("grappler", "ninja"), 2, marks=pytest.mark.slow),
    ],
)
@pytest.mark.parametrize("player", [0, 1])
def test_the_best_response_is_that_of_the_slow_one(hands, idle_turns, player):
    game = ttt_envs.load(ID, mode="round", specialists=hands, max_idle_turns=idle_turns)

    def named_policy(position, who, names):
        numbers = np.array([game.parse_action(name) for name in names])
        weights = lopsided(numbers, who, 9 - position.board.count(None), position.idle)
        return weights / weights.sum()

    responder = response.Responder(game, lopsided_policy(game), player)
    slow = SlowResponder(idle_turns, player, named_policy)
    found = []
    for block, _ in responder.blocks():
        responder.work_out(block)
        found.append(block)
    states = np.repeat(responder.states(2), 20)
    block = some(np.concatenate(found), 20, 7)
    positions.put_positions(states, block, responder.book)
    states["placer"], states["idle"] = np.arange(len(states)) % 2, 0
    late = (states["board"] != 0).sum(axis=1) >= 5
    assert late.sum() > 15
    numbers = responder.book.first[block[:, 0], block[:, 1], responder.book.group[block[:, 2]]] + block[:, 2]
    for i in np.flatnonzero(late):
        expected = slow.value(slow_position(states[i]))
        assert abs(responder.values[i % 2, numbers[i // 2]] - expected) < 1e-9


@pytest.mark.parametrize(
    "options",
    [
        {"specialists": (None, None), "first_placer": 1, "allow_pass": True, "draw_offers": True, "max_idle_turns": 3},
        pytest.param({"specialists": (None, None), "max_idle_turns": 5}, marks=pytest.mark.slow),
        pytest.param({"specialists": ("grappler", None), "max_idle_turns": 2}, marks=pytest.mark.slow),
    ],
)
def test_nothing_beats_the_equilibrium(options):
    game = ttt_envs.load(ID, mode="round", **options)
    oracle, (own, other) = game.oracle(), options["specialists"]
    as_first, as_second = oracle.round_value(own, other), -oracle.round_value(other, own)
    expected = {None: (as_first + as_second) / 2, 0: as_first, 1: as_second}[options.get("first_placer")]
    for player in (0, 1):
        value = oracle.best_response(oracle.policy, player)
        assert abs(value - (expected if player == 0 else -expected)) < 1e-9


def test_a_best_response_to_random_play():
    """It is better than optimal play against the same, which is better than its value."""
    game = ttt_envs.load(ID, mode="round", specialists=(None, None), max_idle_turns=3)
    oracle, told = game.oracle(), []

    def policy(states, players):
        masks = masks_of(game, states, players[0])
        return masks / masks.sum(axis=1, keepdims=True)

    found = response.best_response(game, policy, 0, told.append)
    assert told == sorted(told)
    assert told[-1] == 1
    assert found.asked == 2 * 3 * 10659
    assert [(hands, placer) for hands, placer, _ in found.rounds] == [(((), ()), 0), (((), ()), 1)]
    assert found.value == sum(value for _, _, value in found.rounds) / 2
    assert 0.9 < found.value < 1
    games = play_against(game, oracle, policy, 1000)
    assert abs(oracle.round_value()) < games.mean() < found.value


@pytest.mark.parametrize(
    "hands", ["none,none", pytest.param("pusher,mole", marks=pytest.mark.slow)], ids=["spies", "specialists"]
)
@pytest.mark.parametrize("player", [0, 1])
def test_of_an_equivariant_policy_one_mirror_image_is_enough(hands, player):
    game = ttt_envs.load(ID, mode="round", specialists=hands, max_idle_turns=1)
    own = np.random.default_rng(0).random(game.num_actions)
    alike = sum(own[turn.actions] for turn in game.symmetries)

    def policy(states, players):
        weights = 1.0 + alike * (states["board"] != 0).sum(axis=1)[:, None]
        weights *= masks_of(game, states, players[0])
        return weights / weights.sum(axis=1, keepdims=True)

    whole = response.best_response(game, policy, player)
    found = response.best_response(game, policy, player, equivariant=True)
    assert [value for *_, value in found.rounds] == pytest.approx([value for *_, value in whole.rounds], abs=1e-12)
    assert 6 < whole.asked / found.asked < 8


def play_against(game, oracle, policy, n: int) -> np.ndarray:
    """Rewards of player 0, who plays the equilibrium, against a policy: float (n,)."""
    batch, generator = Batch(game, n, seed=8), np.random.default_rng(8)
    while not batch.done.all():
        going = np.flatnonzero(~batch.done)
        states, actions = batch.states[going], np.full((n, 2), -1)
        for player, answer in enumerate((oracle.policy, policy)):
            chances = answer(states, np.full(len(states), player)).cumsum(axis=1)
            actions[going, player] = (chances > generator.random((len(states), 1)) * chances[:, -1:]).argmax(axis=1)
        batch.step(actions)
    return batch.states["rewards"][:, 0]


def test_a_policy_must_be_one():
    game = ttt_envs.load(ID, mode="round", specialists=(None, None), max_idle_turns=1)
    with pytest.raises(ValueError, match="must have shape"):
        game.oracle().best_response(lambda states, players: np.ones((len(states), 2)), 0)
    uniform = np.full(game.num_actions, 1 / game.num_actions)
    with pytest.raises(ValueError, match=r"(?s)probabilities from 0 on that add up to 1 over the legal .* places"):
        game.oracle().best_response(lambda states, players: np.tile(uniform, (len(states), 1)), 0)
    with pytest.raises(ValueError, match="player must be from 0 to 1, not 2"):
        game.oracle().best_response(lopsided_policy(game), 2)
    with pytest.raises(ValueError, match="mode='round'"):
        response.best_response(ttt_envs.load(ID), lopsided_policy(game), 0)
