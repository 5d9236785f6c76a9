"""Information states: the same key for whoever was shown and has done the same, and for nobody else."""

import copy
import pickle

import kuhn_poker
import numpy as np
import pytest
import toy_coin

import ttt_envs
from ttt_envs.core.batch import Batch
from ttt_envs.core.played_game import PlayedGame

GAMES = [kuhn_poker.make(), toy_coin.make(players=3)]
DICE = ttt_envs.load("tic_tac_dice", rounds="single")


def ply(state, rng):
    game, joint = state.game, [-1] * state.game.num_players
    for player in range(game.num_players):
        legal = state.legal_actions(player)
        if legal:
            joint[player] = int(rng.choice(legal))
    return joint


@pytest.mark.parametrize("game", GAMES, ids=lambda game: game.id)
def test_keys_tell_histories_apart_and_nothing_else(game):
    rng, by_history, by_key, positions = np.random.default_rng(0), {}, {}, 0
    for seed in range(120):
        state = game.start(seed, recall=True)
        lived = [[] for _ in range(game.num_players)]
        while not state.over:
            joint = ply(state, rng)
            for player in range(game.num_players):
                lived[player] += [state.observation(player).tobytes(), tuple(state.legal_actions(player))]
                history, key = (player, *lived[player]), (player, state.info_state_key(player))
                assert by_history.setdefault(history, key) == key
                assert by_key.setdefault(key, history) == history
                positions += 1
                lived[player].append(joint[player])
            state.apply(joint)
    assert 1 < len(by_key) < positions / 2


@pytest.mark.parametrize("game", [*GAMES, DICE], ids=lambda game: game.id)
def test_batches_cursors_and_live_games_have_the_same(game):
    n, rng = 4, np.random.default_rng(1)
    batch = Batch(game, n, seed=5, recall=True, history=2, auto_reset=True)
    states = [game.start(state=batch.states[i : i + 1], recall=True, history=2) for i in range(n)]
    lives = [PlayedGame(game, int(batch.episode_seeds[i])) for i in range(n)]
    for _ in range(12):
        for player in range(game.num_players):
            keys, view = batch.info_state_keys(player), batch.view(np.full(n, player))
            assert (view.info_state_keys == keys).all()
            assert (view.take([2]).info_state_keys == keys[2:3]).all()
            for i in range(n):
                assert states[i].info_state_key(player) == keys[i].tobytes()
                assert lives[i].view(player).info_state_keys[0].tobytes() == keys[i].tobytes()
                seen = states[i].observation(player, history=2)
                assert (seen == view.encoded(history=2)[i]).all()
                assert (seen == lives[i].view(player).encoded(history=2)[0]).all()
        joints = [ply(state, rng) for state in states]
        batch.step(np.array(joints))
        for i in range(n):
            states[i].apply(joints[i])
            lives[i].play(joints[i])
            if batch.done[i]:
                states[i] = game.start(state=batch.states[i : i + 1], recall=True, history=2)
                lives[i] = PlayedGame(game, int(batch.episode_seeds[i]))


def test_clones_copies_and_pickles_go_on_with_what_is_known():
    rng, state = np.random.default_rng(2), DICE.start(3, recall=True, history=1)
    state.apply(ply(state, rng))
    for again in (state.clone(), copy.deepcopy(state), pickle.loads(pickle.dumps(state)), state.redrawn(state.player)):
        assert again.info_state_key(state.player) == state.info_state_key(state.player)
        assert (again.observation(0, history=1) == state.observation(0, history=1)).all()
    other, before = state.clone(), state.info_state_key(0)
    other.apply(ply(other, rng))
    assert other.info_state_key(0) != before == state.info_state_key(0)


def test_outcomes_of_chance_are_known():
    state = toy_coin.make().start(0, recall=True)
    while state.player != 0:  # the teller alone keeps the coin or tosses it again
        state.apply(ply(state, np.random.default_rng(3)))
    tossed = state.game.parse_action("toss") if "toss" in state.game.action_names else state.legal_actions()[-1]
    outcomes = state.chance_outcomes(tossed)
    keys = {after.info_state_key(0) for _, after in outcomes if not after.over}
    assert len(keys) == len([after for _, after in outcomes if not after.over])
    assert state.info_state_key(0) not in keys


def test_where_it_is_not_kept():
    for state in (DICE.start(0), DICE.start(0, history=3)):
        with pytest.raises(ValueError, match="recall=True"):
            state.info_state_key(0)
    for state in (DICE.start(0), DICE.start(0, recall=True, history=1)):
        with pytest.raises(ValueError, match="history=2"):
            state.observation(0, history=2)
    with pytest.raises(ValueError, match="recall=True"):
        Batch(DICE, 2, history=2).info_state_keys(0)
    with pytest.raises(ValueError, match="player"):
        DICE.start(0, recall=True).info_state_key(2)
    assert Batch(DICE, 2).view().info_state_keys is None
    with pytest.raises(ValueError, match="history"):
        DICE.start(0, history=101)
