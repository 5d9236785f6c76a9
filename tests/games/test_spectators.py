"""What a spectator of a game is shown."""

import numpy as np
import pytest
from option_sets import marked_games

from ttt_envs.core.live import LiveGame
from ttt_envs.core.state import SPECTATOR


@pytest.mark.parametrize("game", [each for each in marked_games() if each.values[0].hidden_information])
def test_a_spectator_sees_nothing_that_a_player_does_not_know(game):
    rng = np.random.default_rng(0)
    for seed in range(3):
        live = LiveGame.begin(game, seed)
        for _ in range(6):
            if live.over:
                break
            hidden = live.state.copy()
            for player in range(game.num_players):  # all that anybody does not know is drawn anew
                game.loops.resample_rows(hidden, np.array([player]), np.array([seed], np.uint64))
            for show in (game.format_state, game.draw):
                assert show(live.state[0], SPECTATOR) == show(hidden[0], SPECTATOR)
            player = live.asked()[0]
            live.choose(player, int(rng.choice(live.legal(player))))
