"""Tic-Tac Match leaks nothing: what a player is shown does not change with what is hidden from him."""

import numpy as np
import pytest
from conformance import TWINS, masks_of, observations_of, play_batch

import ttt_envs
from ttt_envs.core.batch import Batch
from ttt_envs.wrappers.aec import AECGame
from ttt_envs.wrappers.common import pack_state
from ttt_envs.wrappers.parallel import ParallelGame

ID = "tic_tac_match"


def exchanged(options: dict, n: int) -> tuple:
    """A game, n random positions, and of each player the same positions with other hidden cards."""
    game = ttt_envs.load(ID, **options)
    states = np.concatenate(play_batch(Batch(game, 300, seed=5), 40).states)
    states = states[np.random.default_rng(0).permutation(len(states))[:n]]
    return game, states, [TWINS[ID](states, player) for player in range(game.num_players)]


@pytest.mark.parametrize("options", [{"history": 4}, {"players": 4}, {"players": 4, "teams": False}])
def test_observation_mask_text_and_picture_do_not_change(options):
    game, states, twins = exchanged(options, 2000)
    for player, others in enumerate(twins):
        changed = (states["hand"] != others["hand"]).any(axis=(1, 2)) | (states["pile"] != others["pile"]).any(axis=1)
        assert changed.mean() > 0.5
        assert np.array_equal(observations_of(game, states, player), observations_of(game, others, player))
        assert np.array_equal(masks_of(game, states, player), masks_of(game, others, player))
        drawn = np.flatnonzero(changed)[:250]
        for state, other in zip(states[drawn], others[drawn], strict=True):
            assert game.format_state(state, player) == game.format_state(other, player)
            assert game.draw(state, player) == game.draw(other, player)
            assert game.format_state(state, None) != game.format_state(other, None)


def test_infos_do_not_change():
    game, states, twins = exchanged({}, 400)
    for player, others in enumerate(twins):
        shown = []
        for each in (states, others):
            aec, parallel = AECGame(game), ParallelGame(game)
            name, seen = aec.possible_agents[player], []
            for state in each:
                packed = pack_state(game, state, np.full(game.num_players, -1), np.uint64(0))
                aec.set_state(packed)
                seen.append((aec.observe(name)["observation"].tobytes(), repr(aec.infos[name])))
                observations, infos = parallel.set_state(packed)
                seen.append((observations[name]["observation"].tobytes(), repr(infos[name])))
            shown.append(seen)
        assert shown[0] == shown[1]
