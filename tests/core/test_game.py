"""Games as values: which are equal, what a pickled one is, and what a replaced one keeps."""

import copy
import pickle
from dataclasses import replace

import pytest
import toy_coin
import toy_kuhn

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
    assert game != replace(game, version=1)
    assert game != MARTIAN


@pytest.mark.parametrize("game", [ttt_envs.load(MARTIAN, size=4), toy_coin.make(players=3)], ids=repr)
def test_a_pickled_game_is_equal(game: Game) -> None:
    again = pickle.loads(pickle.dumps(game))
    assert (again, hash(again)) == (game, hash(game))
    assert again is not game
    assert copy.deepcopy(game) is game


def test_a_replaced_game_is_another_and_pickled_as_replaced() -> None:
    game = ttt_envs.load(SUPER)
    short = replace(game, max_plies=7)
    assert short != game
    assert short == replace(game, max_plies=7)
    assert replace(short, max_plies=81) == game
    again = pickle.loads(pickle.dumps(replace(short, title="Short")))
    assert (again.max_plies, again.title, again.replaced) == (7, "Short", {"max_plies": 7, "title": "Short"})
    assert again == replace(game, title="Short", max_plies=7)
    assert again.ranges == game.ranges
    assert pickle.loads(pickle.dumps(replace(game, options={"anything": 1}))).options == {"anything": 1}


def test_a_game_with_other_kernels_is_another() -> None:
    game = toy_kuhn.make()

    def reset(state, seed):
        return game.rules.reset(state, seed)

    other = replace(game, rules=game.rules._replace(reset=reset))
    assert other != game
    with pytest.raises((AttributeError, pickle.PicklingError), match="reset"):
        pickle.dumps(other)
