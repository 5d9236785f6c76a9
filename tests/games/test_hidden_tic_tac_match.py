"""Tic-Tac Match leaks nothing: what a player is shown does not change with what is hidden from them."""

import numpy as np
import pytest

import ttt_envs
from ttt_envs.core.batch import Batch
from ttt_envs.testing.positions import masks_of, observations_of, play_batch
from ttt_envs.wrappers.aec import AECGame
from ttt_envs.wrappers.common import pack_state
from ttt_envs.wrappers.parallel import ParallelGame

ID = "tic_tac_match"


def other_cards(states: np.ndarray, player: int) -> np.ndarray:
    """Cards of other players for cards of the pile; the player to move keeps theirs, so that they can play."""
    new, players = states.copy(), states["hand"].shape[1]
    generator = np.random.default_rng(player)
    for state in new:
        for _ in range(4):
            other = (player + generator.integers(1, players)) % players
            held, lying = (np.flatnonzero(cards) for cards in (state["hand"][other], state["pile"]))
            moves = other == state["to_move"] and not state["done"]
            if moves or not len(held) or not len(lying):
                continue
            out, back = generator.choice(held), generator.choice(lying)
            state["hand"][other, out] -= 1
            state["hand"][other, back] += 1
            state["pile"][out] += 1
            state["pile"][back] -= 1
    return new


def exchanged(options: dict, n: int) -> tuple:
    """A game, n random positions, and of each player the same positions with other hidden cards."""
    game = ttt_envs.load(ID, **options)
    states = np.concatenate(play_batch(Batch(game, 300, seed=5), 40).states)
    states = states[np.random.default_rng(0).permutation(len(states))[:n]]
    return game, states, [other_cards(states, player) for player in range(game.num_players)]


@pytest.mark.parametrize(
    "options",
    [
        {},
        pytest.param({"players": 4}, marks=pytest.mark.slow),
        pytest.param({"players": 4, "teams": False}, marks=pytest.mark.slow),
    ],
)
def test_observation_mask_text_and_picture_do_not_change(options):
    game, states, twins = exchanged(options, 2000)
    for player, others in enumerate(twins):
        changed = (states["hand"] != others["hand"]).any(axis=(1, 2)) | (states["pile"] != others["pile"]).any(axis=1)
        assert changed.mean() > 0.5
        assert np.array_equal(observations_of(game, states, player), observations_of(game, others, player))
        assert np.array_equal(masks_of(game, states, player), masks_of(game, others, player))
        drawn = np.flatnonzero(changed)[:80]
        for state, other in zip(states[drawn], others[drawn], strict=True):
            assert game.format_state(state, player) == game.format_state(other, player)
            assert game.draw(state, player) == game.draw(other, player)
            assert game.format_state(state, None) != game.format_state(other, None)


def test_infos_do_not_change():
    game, states, twins = exchanged({}, 100)
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
