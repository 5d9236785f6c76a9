"""Small forms of every game, for tests that try each of them."""

import pytest
import toy_coin
from option_sets import OPTIONS

import ttt_envs


def small_games() -> list[ttt_envs.Game]:
    """Every game with its first option set, and a toy of two and one of three players."""
    first = [ttt_envs.load(game_id, **OPTIONS[game_id][0]) for game_id in ttt_envs.GAMES]
    return [*first, toy_coin.make(players=2), toy_coin.make(players=3, tosses=2)]


each_game = pytest.mark.parametrize("game", small_games(), ids=repr)
