"""Games as values: which are equal, what a pickled one is, and what a replaced one keeps."""

import copy
import pickle

import kuhn_poker
import numpy as np
import pytest
import toy_coin
from changed import changed

import ttt_envs
from ttt_envs.core.game import Game

MARTIAN, SUPER = "martian_tic_tac_toe", "super_tic_tac_toe"


def test_games_are_equal_by_id_options_and_version() -> None:
    game = ttt_envs.load(MARTIAN)
    assert ttt_envs.load(MARTIAN, size=3) is game
    # What is given as a number here is worked out there.
    same = ttt_envs.load(MARTIAN, size=3, max_plies=300)
    assert same is not game
    assert (same, hash(same)) == (game, hash(game))
    assert len({game, same, toy_coin.make(), toy_coin.make(), ttt_envs.load(MARTIAN, max_plies=301)}) == 3
    assert game != ttt_envs.load(MARTIAN, max_plies=301)
    assert ttt_envs.load("big_tic_tac_dice") != ttt_envs.load("tic_tac_dice", size=4)
    assert game != changed(game, version=1)
    assert game != MARTIAN


@pytest.mark.parametrize("game", [ttt_envs.load(MARTIAN, size=4), toy_coin.make(players=3)], ids=repr)
def test_a_pickled_game_is_equal(game: Game) -> None:
    again = pickle.loads(pickle.dumps(game))
    assert (again, hash(again)) == (game, hash(game))
    assert again is not game
    assert copy.deepcopy(game) is game


def test_a_game_with_other_kernels_is_another() -> None:
    game = kuhn_poker.make()

    def reset(state, seed):
        return game.kernels.reset(state, seed)

    other = changed(game, reset=reset)
    assert other != game
    assert changed(game, title="again") == game


def test_a_position_is_a_record_or_an_array_of_one() -> None:
    game = ttt_envs.load(SUPER)
    states = game.new_state(0)
    for look in (game.format_state, game.draw, game.spots):
        assert look is not None
        assert look(states) == look(states[0]) == look(states[0], None) == look(states, viewer=None)
        with pytest.raises(TypeError, match="state must be a record of "):
            look(np.repeat(states, 2))
        with pytest.raises(ValueError, match="viewer"):
            look(states, 2)


def test_observations_of_another_size_or_form_are_refused() -> None:
    game = ttt_envs.load(SUPER)
    with pytest.raises(ValueError, match="observations have"):
        game.to_planes(np.zeros((2, game.observation_size - 1), np.int8))
    for history in (0, 1):
        shape = game.encoded_shape("planes", history)
        assert game.to_planes(np.zeros((2, game.encoded_size(history)), np.int8)).shape == (2, *shape)
    with pytest.raises(ValueError, match="encoding='plane' must be one of 'flat', 'planes'"):
        game.encoded_shape("plane")


def test_the_name_of_an_action_is_text() -> None:
    with pytest.raises(TypeError, match="the name of an action is text, not int"):
        ttt_envs.load(SUPER).parse_action(40)


def test_wrong_facts_are_refused() -> None:
    game = ttt_envs.load(SUPER)
    with pytest.raises(ValueError, match="chance must be one of 'none', 'start', 'play', not 'often'"):
        changed(game, chance="often")
    with pytest.raises(ValueError, match="player_names"):
        changed(game, player_names=("X", "X"))
