"""Cursors: the same games as a batch plays, and as clear errors."""

import copy
import pickle
import random
from typing import Any

import kuhn_poker
import numpy as np
import pytest
import toy_coin
from option_sets import OPTIONS, marked_games

import ttt_envs
from ttt_envs.core.checks import IllegalAction
from ttt_envs.core.compile import jit
from ttt_envs.core.cursor import State
from ttt_envs.core.game import Game
from ttt_envs.core.state import SIMULTANEOUS

SUPER = ttt_envs.load("super_tic_tac_toe", **OPTIONS["super_tic_tac_toe"][0])
DICE = ttt_envs.load("tic_tac_dice", **OPTIONS["tic_tac_dice"][0])
COIN = toy_coin.make(players=2, tosses=1)


def choose(state: State, draw: random.Random) -> int | list[int]:
    if state.player == SIMULTANEOUS:
        acting = state.players
        return [draw.choice(state.legal_actions(p)) if p in acting else -1 for p in range(state.game.num_players)]
    return draw.choice(state.legal_actions())


def some(game: Game, plies: int, seed: int = 0) -> State:
    state, draw = game.start(seed), random.Random(seed)
    for _ in range(plies):
        state.apply(choose(state, draw))
    return state


def games() -> list[Any]:
    """All games; with the JIT most are slow, as a cursor has kernels of its own for each to compile."""
    quick = [repr(game) for game in (SUPER, DICE, COIN)]
    late = [pytest.param(*each.values, id=each.id, marks=pytest.mark.slow) for each in marked_games()]
    return marked_games() if jit.DISABLED else [COIN, DICE, SUPER, *(each for each in late if each.id not in quick)]


@pytest.mark.parametrize("game", games(), ids=repr)
def test_a_cursor_plays_as_a_batch_does(game: Game) -> None:
    for seed in range(2 if jit.DISABLED else 5):
        batch, state, draw = ttt_envs.Batch(game, 1, seed=seed), game.start(seed), random.Random(seed)
        for ply in range(game.max_plies):
            assert state.states.tobytes() == batch.states.tobytes()
            assert state.player == batch.to_move[0]
            assert state.players == tuple(p for p in range(game.num_players) if batch.acting(p)[0])
            for player in range(game.num_players):
                assert state.legal_actions(player) == np.flatnonzero(batch.masks(player)[0]).tolist()
                assert np.array_equal(state.observation(player), batch.observations(player)[0])
            if state.player != SIMULTANEOUS:
                assert state.legal_actions() == state.legal_actions(state.player)
            before, twin = state.key, state.clone()
            action = choose(state, draw)
            if ply % 7 == 0:  # it checks the state, and takes its time
                checked, unchecked = (game.step(state.states, [action], check=check) for check in (True, False))
                assert checked.tobytes() == unchecked.tobytes()
            batch.step([action])
            state.apply(action if ply % 2 else np.array(action))
            assert twin.key == before, "a clone was moved on with the other"
            if state.over:
                break
        assert batch.done[0]
        assert state.returns() == batch.rewards[0].tolist()
        assert (state.player, state.players) == (None, ())
        assert [state.legal_actions(player) for player in range(game.num_players)] == [[]] * game.num_players
        assert state.legal_actions() == []
        assert "over" in repr(state)


def test_a_clone_repeats_the_future_and_a_redrawn_one_does_not() -> None:
    state = DICE.start(seed=1)
    futures = []
    for start in (state, state.clone(), *(state.redrawn(state.player, seed) for seed in (1, 1, 2, 3, 4))):
        other, draw = start.clone(), random.Random(0)
        seen = [other.key]
        while not other.over:
            other.apply(choose(other, draw))
            seen.append(other.key)
        futures.append(seen)
    assert futures[0] == futures[1]
    assert futures[2] == futures[3]
    assert len({tuple(future) for future in futures}) > 3
    assert len({future[0] for future in futures}) == 1, "what all can see has changed"


def test_what_a_player_cannot_know_is_redrawn() -> None:
    state = kuhn_poker.make().start(seed=0)
    worlds = [state.redrawn(0, seed) for seed in range(40)]
    assert {world.text(0) for world in worlds} == {state.text(0)}
    assert len({world.key for world in worlds}) == 2  # the other has one of two cards


# --- where it begins ---


def test_positions_as_records_and_texts() -> None:
    state = some(SUPER, 6)
    record = state.states
    for given in (record, record[0], record[0].copy(), np.array(record[0]), SUPER.format_state(record[0], None)):
        other = SUPER.start(state=given)
        assert (other.text(), other.player, other.legal_actions()) == (
            state.text(),
            state.player,
            state.legal_actions(),
        )
    record["done"] = True
    assert not state.over, "the record was no copy"


def test_seeds_of_positions() -> None:
    game = DICE
    record = game.new_state(3)
    text = game.format_state(record[0], None)
    assert game.start(state=record).states.tobytes() == record.tobytes()
    generators = [game.start(seed, state=given).states["rng"][0] for given in (record, text) for seed in (1, 2)]
    assert generators[:2] == generators[2:]
    assert len({*generators, record["rng"][0]}) == 3
    assert len({int(game.start(state=text).states["rng"][0]) for _ in range(3)}) == 3
    assert record.tobytes() == game.new_state(3).tobytes(), "what was given has changed"


@pytest.mark.parametrize(
    ("given", "kind", "message"),
    [
        (np.zeros(3), TypeError, "states must be a structured array"),
        (lambda: np.concatenate([SUPER.new_state(0)] * 2), ValueError, "one position, not 2"),
        (lambda: COIN.new_state(0), ValueError, "no states of "),
        ("a board", ValueError, "nine rows of nine marks"),
    ],
)
def test_what_is_no_position(given: Any, kind: type[Exception], message: str) -> None:
    with pytest.raises(kind, match=message):
        SUPER.start(state=given() if callable(given) else given)
    with pytest.raises(TypeError, match=r"game\.start"):
        State()


# --- actions ---


@pytest.mark.parametrize(
    ("action", "kind", "message"),
    [
        (0, IllegalAction, r"^player 0 cannot play '0/0' \(action 0\) now; legal: 4/0, 4/1, 4/2"),
        (-1, ValueError, "player 0 acts and was given -1"),
        (81, ValueError, "from 0 to 80, not 81"),
        ([40], ValueError, r"shape \(2,\)"),
        (40.0, TypeError, "whole number, or one for each player, not 40.0"),
    ],
)
def test_actions_that_cannot_be_played(action: Any, kind: type[Exception], message: str) -> None:
    state = SUPER.start(seed=0)
    legal, before = state.legal_actions(), pickle.dumps(state)
    for play in (state.apply, state.chance_outcomes):
        with pytest.raises(kind, match=message) as error:
            play(action)
        assert type(error.value) is kind
        assert pickle.dumps(state) == before
        assert state.legal_actions() == legal
    state.apply([40, -1])
    assert state.player == 1


@pytest.mark.parametrize(
    ("action", "message"),
    [
        (0, r"several players act at once: an action for each is wanted, such as \[0, 0\]"),
        ([0, 4], r"player 1 cannot play .* legal: heads, tails"),
        ([0, -1], "player 1 acts and was given -1"),
    ],
)
def test_choices_at_once_that_cannot_be_made(action: Any, message: str) -> None:
    state = COIN.start(seed=0)
    assert (state.player, state.players) == (SIMULTANEOUS, (0, 1))
    before = state.key
    with pytest.raises((ValueError, TypeError), match=message):
        state.apply(action)
    with pytest.raises(ValueError, match="several players act at once: say whose"):
        state.legal_actions()
    assert state.key == before
    with pytest.raises(ValueError, match="several players act at once"):
        state.apply(-1)
    state.apply([0, 0])
    assert state.states["ply"][0] == 1


def test_a_finished_game_and_players_that_there_are_not() -> None:
    state = some(SUPER, 3)
    with pytest.raises(ValueError, match="player must be from 0 to 1, not 2"):
        state.observation(2)
    draw = random.Random(0)
    while not state.over:
        state.apply(choose(state, draw))
    with pytest.raises(ValueError, match="the game is over"):
        state.apply(40)


def test_keys_know_nothing_of_the_way() -> None:
    names = ["4/4", "4/0", "0/4", "4/8", "8/4"]
    one, other = (SUPER.start(seed) for seed in (0, 1))
    ways = (names, [names[k] for k in (0, 3, 4, 1, 2)])
    for state, way in zip((one, other), ways, strict=True):
        for name in way:
            assert state.key not in (SUPER.start(seed=0).key,) or name == names[0]
            state.apply(SUPER.parse_action(name))
    assert one.states["last_action"] != other.states["last_action"]
    assert one.key == other.key
    assert hash(one.key) == hash(other.key)
    one.apply(one.legal_actions()[0])
    other.apply(other.legal_actions()[1])
    assert one.key != other.key


@pytest.mark.parametrize(
    "make", [copy.copy, copy.deepcopy, State.clone, lambda state: pickle.loads(pickle.dumps(state))]
)
def test_copies_go_their_own_way(make: Any) -> None:
    state = some(SUPER, 5)
    twin = make(state)
    assert repr(twin) == repr(state)
    assert twin.states.tobytes() == state.states.tobytes()
    assert (twin.legal_actions(), twin.player, twin.over) == (state.legal_actions(), state.player, state.over)
    twin.apply(twin.legal_actions()[0])
    assert twin.key != state.key
    assert state.legal_actions() != twin.legal_actions()


def test_chance_outcomes_of_a_toss() -> None:
    states = np.repeat(COIN.new_state(0), 2)
    states["phase"], states["to_move"] = toy_coin.TOSS, 0
    rows, probabilities, after = COIN.chance_outcomes(states, [toy_coin.TOSS_AGAIN, toy_coin.KEEP])
    assert rows.tolist() == [0, 0, 1]
    assert probabilities.tolist() == [0.5, 0.5, 1.0]
    assert sorted(after["coin"][:2]) == [toy_coin.HEADS, toy_coin.TAILS]
    cursor = COIN.start(state=states[:1])
    outcomes = cursor.chance_outcomes(toy_coin.TOSS_AGAIN)
    assert [chance for chance, _ in outcomes] == [0.5, 0.5]
    assert [state.key for _, state in outcomes] == [COIN.start(state=after[k]).key for k in (0, 1)]
    assert cursor.states.tobytes() == states[:1].tobytes()
    joint = COIN.start(seed=0)
    ((chance, state),) = joint.chance_outcomes([0, 0])
    joint.apply([0, 0])
    assert (chance, state.key) == (1.0, joint.key)
    with pytest.raises(IllegalAction, match="player 0 in game 1 cannot play"):
        COIN.chance_outcomes(states, [toy_coin.TOSS_AGAIN, toy_coin.STAY])


def test_the_pure_functions_without_checks() -> None:
    states = np.concatenate([some(SUPER, plies).states for plies in (1, 2, 5)])
    actions = SUPER.masks(states).argmax(axis=1)
    assert np.array_equal(SUPER.masks(states), SUPER.masks(states, check=False))
    assert np.array_equal(SUPER.observations(states, 1), SUPER.observations(states, 1, check=False))
    assert SUPER.step(states, actions).tobytes() == SUPER.step(states, actions, check=False).tobytes()
    for none in (actions[:0], np.zeros((0, 2), np.int64)):
        assert len(SUPER.step(states[:0], none)) == len(SUPER.step(states[:0], none, check=False)) == 0
    data = SUPER.to_bytes(states, check=False)
    assert np.array_equal(data, SUPER.to_bytes(states))
    assert SUPER.from_bytes(data, check=False).tobytes() == states.tobytes()
    states["ply"] = -5
    for call in (SUPER.masks, SUPER.observations, SUPER.to_bytes):
        with pytest.raises(ValueError, match="`ply` is -5"):
            call(states)
        call(states, check=False)
    with pytest.raises(ValueError, match="`ply` is -5"):
        SUPER.from_bytes(SUPER.to_bytes(states, check=False))
