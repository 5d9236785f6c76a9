"""Local matrix games: their solver against known games and linear programming, and what stands in the matrices."""

from collections.abc import Callable

import numpy as np
import pytest

import ttt_envs
from ttt_envs import agents
from ttt_envs.agents import matrix_games
from ttt_envs.agents.matrix_games import KnownValues, equilibria, from_both_seats, solve_matrix
from ttt_envs.agents.network_agents import Lookahead
from ttt_envs.agents.networks import Network, NetworkInfo, save_network
from ttt_envs.core.game import Game
from ttt_envs.core.state import SIMULTANEOUS

ROUND = ttt_envs.load("operation_tic_tac_toe", mode="round", specialists="none,none", max_idle_turns=2)
DRAWN = ttt_envs.load("operation_tic_tac_toe", mode="round", max_idle_turns=2)
MATCH = ttt_envs.load("operation_tic_tac_toe", max_idle_turns=2)

# --- the solver ---


def solved(payoffs: object, iterations: int = 1000) -> tuple[float, np.ndarray, np.ndarray]:
    matrix = np.array(payoffs, np.float64)
    mix, other = np.empty(matrix.shape[0]), np.empty(matrix.shape[1])
    return solve_matrix(matrix, iterations, mix, other), mix, other


@pytest.mark.parametrize(
    ("payoffs", "value", "mix", "other"),
    [
        pytest.param([[4, 1, 2], [3, 0, 5], [2, -1, 0]], 1, [1, 0, 0], [0, 1, 0], id="one"),
        pytest.param([[0, 2, 0], [-1, 3, 0], [0, 5, 0]], 0, [0.5, 0, 0.5], [0.5, 0, 0.5], id="several, shared evenly"),
        pytest.param([[0, 0], [0, 0]], 0, [0.5, 0.5], [0.5, 0.5], id="everywhere"),
    ],
)
def test_a_saddle_point_needs_no_iterations(payoffs, value, mix, other):
    found, *mixes = solved(payoffs, iterations=1)
    assert found == value
    assert np.array_equal(mixes, [mix, other])


def exact(payoffs: np.ndarray) -> float:
    """The value by linear programming: the largest u for which a mix of rows gets u from every column."""
    linprog = pytest.importorskip("scipy.optimize").linprog
    rows, columns = payoffs.shape
    bounded = np.hstack([-payoffs.T, np.ones((columns, 1))])
    mix_of = np.append(np.ones(rows), 0)[None]
    limits = [(0, None)] * rows + [(None, None)]
    return -linprog(np.append(np.zeros(rows), -1), bounded, np.zeros(columns), mix_of, [1], bounds=limits).fun


def test_the_values_of_linear_programming():
    generator = np.random.default_rng(0)
    for _ in range(40):
        payoffs = generator.uniform(-1, 1, generator.integers(1, 10, 2))
        value, mix, other = solved(payoffs, 1000)
        wanted = exact(payoffs)
        assert value == pytest.approx(wanted, abs=2e-3)
        assert (mix @ payoffs).min() > wanted - 4e-3
        assert (payoffs @ other).max() < wanted + 4e-3


def test_gains_are_foreseen_and_later_strategies_count_more():
    """A gap of 0.0004 after 150 iterations; where the t-th strategy counts t times it is 0.0009, without foresight
    0.0024."""
    generator, gaps = np.random.default_rng(0), []
    for _ in range(20):
        payoffs = generator.uniform(-1, 1, (9, 9))
        _, mix, other = solved(payoffs, 150)
        gaps.append((payoffs @ other).max() - (mix @ payoffs).min())
    assert np.mean(gaps) < 0.0006


# --- what stands in the matrices ---


def positions(game: Game, n: int, plies: int) -> np.ndarray:
    batch, player = ttt_envs.Batch(game, n, seed=3), agents.load("random")
    for _ in range(plies):
        actions = np.stack([player.act(batch.view(seat)) for seat in range(2)], axis=1)
        batch.step(actions)
    return batch.states[~batch.done]


def legal_actions(game: Game, state: np.ndarray, player: int) -> np.ndarray:
    """The legal actions of a player in one position; state (1,)."""
    mask = np.empty((1, game.num_actions), np.bool_)
    game.loops.mask_rows(state, np.array([player]), mask)
    return np.flatnonzero(mask[0])


def slow_matrix(game: Game, state: np.ndarray, seed: int, value: Callable[[ttt_envs.Batch], float]) -> np.ndarray:
    """The matrix of one position in one world, pair by pair with `Batch`; state (1,)."""
    legal = []
    for player in range(2):
        actions = legal_actions(game, state, player)
        legal.append(actions if len(actions) else [-1])
    matrix = np.empty((len(legal[0]), len(legal[1])))
    for x, own in enumerate(legal[0]):
        for y, other in enumerate(legal[1]):
            batch = ttt_envs.Batch(game, 1, seed=0)
            batch.states[:] = state
            game.loops.resample_rows(batch.states, np.array([0]), np.array([seed], np.uint64))
            batch.step([[own, other]])
            matrix[x, y] = batch.rewards[0, 0] if batch.done[0] else value(batch)
    return matrix


def scored(observations: np.ndarray) -> np.ndarray:
    """Some value of each observation int8 (n, size), from -0.5 to 0.5.

    Whole numbers give the same value for one row as for many, on every processor; products of floats do not.
    """
    weights = np.random.default_rng(1).integers(0, 1000, observations.shape[1])
    return (observations @ weights % 1025) / 1024 - 0.5


def slow_value(batch: ttt_envs.Batch) -> float:
    own, other = (scored(batch.observations(player))[0] for player in range(2))
    return (own - other) / 2


@pytest.mark.parametrize(
    ("game", "plies", "n", "worlds"),
    [(ROUND, 3, 10, 1), (DRAWN, 4, 12, 1), (MATCH, 0, 1, 1), (MATCH, 1, 2, 2), (MATCH, 12, 5, 3)],
    ids=["spies", "specialists", "roles", "picks", "match"],
)
def test_every_pair_of_actions_is_played(game, plies, n, worlds):
    states = positions(game, n, plies)
    seeds = np.random.default_rng(2).integers(0, 2**64, (len(states), worlds), np.uint64)
    before = states.tobytes()
    found = equilibria(game, states, seeds, from_both_seats(scored), 500)
    assert states.tobytes() == before
    for player in range(2):
        mask = np.empty((len(states), game.num_actions), np.bool_)
        game.loops.mask_rows(states, np.full(len(states), player), mask)
        assert not found.policies[:, player][~mask].any()
        assert np.allclose(found.policies[:, player].sum(axis=1), mask.any(axis=1))
    for i in range(len(states)):
        matrices = [slow_matrix(game, states[i : i + 1], seed, slow_value) for seed in seeds[i]]
        value, *mixes = solved(np.mean(matrices, axis=0), 500)
        assert found.values[i] == pytest.approx(value, abs=1e-12)
        for player in range(2):
            legal = legal_actions(game, states[i : i + 1], player)
            assert found.policies[i, player, legal] == pytest.approx(mixes[player][: len(legal)], abs=1e-6)


def test_positions_in_which_one_player_decides_are_extended():
    states, extended = positions(DRAWN, 25, 4), []

    def value(batch: ttt_envs.Batch) -> float:
        deciding = [player for player in range(2) if batch.masks(player).any()]
        if len(deciding) == 2:
            return slow_value(batch)
        matrix = slow_matrix(DRAWN, batch.states, int(batch.states["rng"][0]), slow_value)
        extended.append(matrix)
        return matrix.max() if deciding == [0] else matrix.min()

    seeds = np.zeros((len(states), 1), np.uint64)
    known = KnownValues(dict)
    found = equilibria(DRAWN, states, seeds, from_both_seats(scored), 500, known=known, extend=True)
    for i in range(len(states)):
        matrix = slow_matrix(DRAWN, states[i : i + 1], 0, value)
        assert found.values[i] == pytest.approx(solved(matrix, 500)[0], abs=1e-12)
    assert {matrix.shape[0] > 1 for matrix in extended} == {False, True}, "both players have used abilities"

    def nothing_new(seen: np.ndarray) -> np.ndarray:
        raise AssertionError("all is known")

    again = equilibria(DRAWN, states, seeds, nothing_new, 500, known=known, extend=True)
    assert np.array_equal(again.values, found.values)
    plain = equilibria(DRAWN, states, seeds, from_both_seats(scored), 500, known=known)
    assert not np.allclose(plain.values, found.values)
    assert np.array_equal(plain.values, equilibria(DRAWN, states, seeds, from_both_seats(scored), 500).values)


def test_what_follows_is_worth_its_own_equilibrium():
    states, kinds = positions(DRAWN, 40, 8)[[11, 13, 18]], []  # of all kinds, and quickly solved

    def deeper(batch: ttt_envs.Batch, plies: int, after_both: bool) -> float:
        alone = sum(batch.masks(player).any() for player in range(2)) == 1
        plies += alone and after_both
        kinds.append((alone, plies))
        if not plies:
            return slow_value(batch)
        states, seed = batch.states.copy(), int(batch.states["rng"][0])
        return solved(slow_matrix(DRAWN, states, seed, lambda after: deeper(after, plies - 1, not alone)), 300)[0]

    seeds = np.zeros((len(states), 1), np.uint64)
    found = equilibria(DRAWN, states, seeds, from_both_seats(scored), 300, extend=True, depth=2)
    for i in range(len(states)):
        alone = states["to_move"][i] != SIMULTANEOUS
        matrix = slow_matrix(DRAWN, states[i : i + 1], 0, lambda after, alone=alone: deeper(after, 1, not alone))
        assert found.values[i] == pytest.approx(solved(matrix, 300)[0], abs=1e-9)
    assert set(kinds) == {(False, 0), (True, 1), (False, 1), (True, 2)}


@pytest.mark.parametrize("depth", [1, 2])
def test_of_positions_alike_by_symmetry_one_is_valued(depth):
    states, features, asked = positions(DRAWN, 12, 3), [s.features for s in DRAWN.symmetries], []
    states = np.concatenate([symmetry.states(states) for symmetry in DRAWN.symmetries[:4]])

    def value(seen: np.ndarray) -> np.ndarray:
        asked.append(len(seen))
        return np.mean([from_both_seats(scored)(seen[:, :, turn]) for turn in features], axis=0)

    seeds = np.zeros((len(states), 1), np.uint64)
    plain = equilibria(DRAWN, states, seeds, value, 300, depth=depth)
    once = sum(asked)
    found = equilibria(DRAWN, states, seeds, value, 300, depth=depth, symmetric=True)
    assert np.allclose(found.values, plain.values, rtol=0, atol=1e-5)
    assert np.allclose(found.policies, plain.policies, rtol=0, atol=1e-2)
    assert sum(asked) - once < 0.3 * once


def test_chance_is_drawn_in_each_world():
    states, asked = positions(MATCH, 1, 0), []

    def value(seen):
        asked.append(len(seen))
        return np.zeros(len(seen))

    for worlds in (1, 4):
        equilibria(MATCH, states, np.arange(worlds, dtype=np.uint64)[None], value, 10)
    assert asked == [2, 8], "two ways to place first, in each world"


def test_what_cannot_be_told_apart_is_valued_once():
    asked = []

    def value(seen):
        asked.append(seen)
        return np.zeros(len(seen))

    equilibria(ROUND, ROUND.new_state(0).reshape(1), np.zeros((1, 1), np.uint64), value, 10)
    (seen,) = asked
    assert seen.shape == (1 + 9, 2, ROUND.observation_size)
    assert len(np.unique(seen.reshape(len(seen), -1), axis=0)) == len(seen)


def test_large_batches_are_cut_into_parts(monkeypatch):
    states = positions(DRAWN, 40, 4)
    seeds = np.arange(2 * len(states), dtype=np.uint64).reshape(-1, 2)
    whole = equilibria(DRAWN, states, seeds, from_both_seats(scored), 50)
    calls = []
    monkeypatch.setattr(matrix_games, "_CELLS", 300)

    def counted(observations):
        calls.append(len(observations))
        return scored(observations)

    parts = equilibria(DRAWN, states, seeds, from_both_seats(counted), 50)
    assert len(calls) > 10
    assert max(calls) <= 2 * 300
    assert np.allclose(parts.values, whole.values, rtol=0, atol=1e-12)
    assert np.allclose(parts.policies, whole.policies, rtol=0, atol=1e-12)


# --- at play ---


@pytest.mark.parametrize(
    ("game", "kind", "extend"),
    [(ROUND, "value", False), (DRAWN, "value", True), (MATCH, "policy+value", False)],
    ids=["round", "specialists", "match"],
)
def test_lookahead_plays_the_local_equilibrium(game, kind, extend, tmp_path):
    sizes = game.observation_size, game.num_actions, (8,)
    info = NetworkInfo(game.id, dict(game.options), kind, *sizes, 0, squash=True)
    generator = np.random.default_rng(0)
    tensors = {name: generator.normal(0, 0.3, shape).astype(np.float32) for name, shape in info.shapes().items()}
    save_network(tmp_path / "network.safetensors", info, tensors)
    agent = agents.load(f"lookahead:{tmp_path},worlds=2,iterations=200,extend={extend}")
    batch = ttt_envs.Batch(game, 30, seed=5)
    batch.states[:] = positions(game, 200, 5)[:30]
    network = Network(info, tensors)
    for player in range(2):
        view = batch.view(player)
        policy = agent.policy(view)
        assert np.allclose(policy.sum(axis=1), view.masks.any(axis=1))
        assert not policy[~view.masks].any()
        assert ((policy > 0.05).sum(axis=1) > 1).any(), "it mixes"
        rows = np.array([7, 2])
        assert np.allclose(agent.policy(view.take(rows)), policy[rows], rtol=0, atol=1e-6)
        if game is not MATCH:  # after the draw of specialists nothing is left to chance
            wanted = equilibria(
                game,
                batch.states,
                np.zeros((len(view), 1), np.uint64),
                from_both_seats(lambda observations: network(observations)["value"][:, 0]),
                200,
                extend=extend,
            )
            assert np.allclose(policy, wanted.policies[:, player], rtol=0, atol=1e-6)


def test_in_turns_there_is_nothing_to_extend():
    game = ttt_envs.load("super_tic_tac_toe")
    info = NetworkInfo(game.id, dict(game.options), "value", game.observation_size, game.num_actions, (4,), 0)
    network = Network(info, {name: np.zeros(shape, np.float32) for name, shape in info.shapes().items()})
    with pytest.raises(ValueError, match="extend=true is for games in which players choose at once"):
        Lookahead(network, extend=True).check(game)


def test_lookahead_wins_at_once():
    """The Placer who can complete a row does so as often as they can, against a network that sees nothing."""
    info = NetworkInfo(ROUND.id, {}, "value", ROUND.observation_size, ROUND.num_actions, (4,), 0)
    agent = Lookahead(Network(info, {name: np.zeros(shape, np.float32) for name, shape in info.shapes().items()}))
    batch = ttt_envs.Batch(ROUND, 1, seed=0)
    placer = int(batch.states["placer"][0])
    batch.states["board"][0, [0, 1, 8]] = 1 + 9 * placer
    for player, names in ((placer, {"spy to C", "spy to E"}), (1 - placer, {"predict C", "predict E"})):
        policy = agent.policy(batch.view(player))[0]
        assert {ROUND.action_names[action] for action in np.flatnonzero(policy > 0.01)} == names
