"""Two small games that differ, for tests of what all have: players in turn, and three who choose at once."""

import pytest
import toy_coin
from option_sets import OPTIONS

import ttt_envs

SUPER = "super_tic_tac_toe"
GAMES = [ttt_envs.load(SUPER, **OPTIONS[SUPER][0]), toy_coin.make(players=3, tosses=2)]

two_games = pytest.mark.parametrize("game", GAMES, ids=repr)
