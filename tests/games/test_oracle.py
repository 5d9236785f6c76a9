"""X's proved strategy as an oracle: exact where it answers, silent elsewhere."""

from collections.abc import Iterator
from itertools import islice

import numpy as np
import pytest
from best_play import play
from slow_super_tic_tac_toe import SlowSuperTicTacToe, strategy_layers, strategy_move

import ttt_envs
from ttt_envs.core.game import Game
from ttt_envs.games.super_tic_tac_toe.solver import oracle, positions, strategy
from ttt_envs.games.super_tic_tac_toe.text import cells_of, owners_of, put

X_TO_MOVE, O_TO_MOVE, FINISHED = 46153, 16767, 1040

Fingerprint = tuple[bytes, bytes, int, int, bool]


@pytest.fixture(scope="module")
def game() -> Game:
    return ttt_envs.load("super_tic_tac_toe")


@pytest.fixture(scope="module")
def moves() -> list[bytes]:
    """A move list for each position that the slow version finds on the strategy."""
    return [each for layer in strategy_layers() for each in layer.moves]


@pytest.fixture(scope="module")
def walked(moves: list[bytes]) -> np.ndarray:
    return walk(moves)


def walk(moves: list[bytes]) -> np.ndarray:
    game = ttt_envs.load("super_tic_tac_toe")
    states = np.repeat(game.new_state(0), len(moves))
    lengths = np.array([len(each) for each in moves])
    for ply in range(lengths.max()):
        rows = np.flatnonzero(lengths > ply)
        actions = np.array([moves[row][ply] for row in rows], np.int64)
        game.loops.step_rows(states, rows, actions[:, None])
    return states


@pytest.fixture(scope="module")
def early() -> np.ndarray:
    return walk([moves for layer in islice(strategy_layers(), 10) for moves in layer.moves])


def fingerprints(states: np.ndarray) -> Iterator[Fingerprint]:
    """What makes a position, for a plain set to compare with."""
    for s in states:
        yield s["marks"].tobytes(), s["owned"].tobytes(), int(s["target"]), int(s["to_move"]), bool(s["done"])


@pytest.fixture(scope="module")
def known(walked: np.ndarray) -> set[Fingerprint]:
    return set(fingerprints(walked))


def test_nothing_is_walked_through_before_it_is_asked(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(oracle, "positions", lambda: pytest.fail("it takes a while, and has to be compiled"))
    oracle.StrategyOracle()


@pytest.mark.slow
def test_the_table_is_the_slow_walk(walked: np.ndarray, known: set[Fingerprint]) -> None:
    # Two walks that share no code: the same positions, no more and no fewer.
    table, counts = strategy.positions()
    assert len(walked) == len(known) == X_TO_MOVE + O_TO_MOVE + FINISHED
    # One more to move for X: the start with first_move="anywhere".
    assert counts.tolist() == [X_TO_MOVE + 1, O_TO_MOVE, FINISHED, 29, 43]
    assert (table[:, 0] >= 0).sum() == len(walked) + 1
    keys = np.empty((len(walked), 3), np.int64)
    for i in range(len(walked)):
        positions.pack(walked[i], keys[i])
    assert {tuple(key) for key in keys.tolist()} < {tuple(key) for key in table.tolist()}
    assert len({tuple(key) for key in keys.tolist()}) == len(walked)


@pytest.mark.slow
def test_covers_the_strategy(game: Game, walked: np.ndarray) -> None:
    oracle = game.oracle()
    assert oracle.covers(walked).all()
    assert (oracle.value(walked, 0) == 1).all()
    assert (oracle.value(walked, 1) == -1).all()
    assert (oracle.value(walked, walked["to_move"]) == np.where(walked["to_move"] == 0, 1, -1)).all()
    for first_move in ("center_board", "anywhere"):
        start = ttt_envs.load("super_tic_tac_toe", first_move=first_move).new_state(0)
        assert oracle.covers(start).all()


@pytest.mark.slow
def test_every_game_is_won_by_x_in_29_to_43_plies(walked: np.ndarray) -> None:
    ended = walked[walked["done"]]
    assert (ended["rewards"] == [1, -1]).all()
    assert (ended["ply"].min(), ended["ply"].max()) == (29, 43)


def test_the_walk_notices_rules_under_which_the_strategy_fails() -> None:
    starts = ttt_envs.load("super_tic_tac_toe", won_boards="closed").new_state(0)
    table = np.full((1 << 17, 3), -1, np.int64)
    assert not strategy.walk(starts, table, np.empty(5, np.int64))


@pytest.mark.slow
def test_x_plays_the_strategy(game: Game, walked: np.ndarray, moves: list[bytes]) -> None:
    rows = np.flatnonzero((walked["to_move"] == 0) & ~walked["done"])
    expected = np.array([strategy_move(SlowSuperTicTacToe(moves=tuple(moves[row]))) for row in rows])
    states = walked[rows]
    policy = game.oracle().policy(states, 0)
    assert policy.shape == (len(rows), 81)
    assert policy.dtype == np.float64
    assert (policy == np.eye(81)[expected]).all()
    values = game.oracle().action_values(states, 0)
    assert (values[np.arange(len(rows)), expected] == 1).all()
    assert (np.isnan(values) | (values == 1)).all()
    masks = np.empty((len(rows), 81), np.bool_)
    game.loops.mask_rows(states, np.zeros(len(rows), np.int64), masks)
    assert np.isnan(values[~masks]).all()
    # What it says of other actions is what it says of the positions they lead to.
    some = np.random.default_rng(0).choice(len(rows), 300, replace=False)
    for i in some:
        for action in np.flatnonzero(masks[i]):
            after = states[i : i + 1].copy()
            game.loops.step_one(after, 0, np.array([action, action]))
            assert game.oracle().covers(after)[0] == (values[i, action] == 1)
    assert (game.oracle().policy(states, 1) == 0).all()


@pytest.mark.slow
def test_every_reply_of_o_stays_on_the_strategy(game: Game, walked: np.ndarray) -> None:
    states = walked[(walked["to_move"] == 1) & ~walked["done"]]
    masks = np.empty((len(states), 81), np.bool_)
    game.loops.mask_rows(states, np.ones(len(states), np.int64), masks)
    for player, value in ((0, 1.0), (1, -1.0)):
        values = game.oracle().action_values(states, player)
        assert (values[masks] == value).all()
        assert np.isnan(values[~masks]).all()
    rows, actions = np.nonzero(masks)
    after = states[rows]
    game.loops.step_rows(after, np.arange(len(rows)), actions[:, None])
    assert game.oracle().covers(after).all()
    assert (game.oracle().policy(states, 1) == masks / masks.sum(axis=1, keepdims=True)).all()


def test_covers_the_first_plies_and_nothing_else_of_random_games(game: Game, early: np.ndarray) -> None:
    assert game.oracle().covers(early).all()
    states = play(game, 300, seed=5)
    states = states[(states["ply"] > 0) & (states["ply"] < 10)]
    known = set(fingerprints(early))
    expected = np.array([each in known for each in fingerprints(states)])
    covered = game.oracle().covers(states)
    assert (covered == expected).all()
    assert 0 < expected.sum() < len(states) / 2
    assert np.isnan(game.oracle().value(states[~covered], 0)).all()
    assert np.isnan(game.oracle().action_values(states[~covered], 0)).all()
    assert (game.oracle().policy(states[~covered], 0) == 0).all()


def covers_or_refuses(game: Game, state: np.void) -> bool | None:
    try:
        return bool(game.oracle().covers(state[None])[0])
    except ValueError:
        return None


@pytest.mark.slow
def test_covers_nothing_near_the_strategy(game: Game, walked: np.ndarray, known: set[Fingerprint]) -> None:
    generator = np.random.default_rng(1)
    some = walked[generator.choice(len(walked), 400)]
    refused = 0
    for field in ("cells", "owner", "target", "to_move", "done"):
        changed = some.copy()
        for state in changed:
            if field in ("cells", "owner"):
                cells, owners = cells_of(state), owners_of(state)
                values = (cells if field == "cells" else owners).reshape(-1)
                entry = generator.integers(len(values))
                values[entry] = (values[entry] + generator.integers(1, 3)) % 3
                put(state, cells, owners)
            elif field == "target":
                state["target"] = (state["target"] + 1 + generator.integers(1, 10)) % 10 - 1
            else:
                state[field] = 1 - state[field]
        expected = np.array([each in known for each in fingerprints(changed)])
        # The start with first_move="anywhere" is the only position that the set does not have.
        expected |= (changed["marks"] == 0).all(axis=(1, 2)) & (changed["target"] == -1)
        for state, known_one in zip(changed, expected, strict=True):
            covered = covers_or_refuses(game, state)
            assert bool(covered) == known_one, field
            refused += covered is None
        assert not expected.all()
    assert 0 < refused < 5 * len(some)


def test_open_boards_only(game: Game) -> None:
    closed = ttt_envs.load("super_tic_tac_toe", won_boards="closed")
    with pytest.raises(NotImplementedError, match="won_boards='open'"):
        closed.oracle()
    assert not game.oracle().covers(closed.new_state(0)).any()
