"""One game that is played move by move: choices that wait, and moves that are taken back."""

import numpy as np
import pytest
import toy_coin

import ttt_envs
from ttt_envs.core.checks import IllegalAction
from ttt_envs.core.game import Game
from ttt_envs.core.played_game import PlayedGame


def played(game: Game, seed: int = 0) -> PlayedGame:
    live, rng = PlayedGame.begin(game, seed), np.random.default_rng(seed)
    while not live.over:
        player = int(rng.choice(live.asked()))
        live.choose(player, int(rng.choice(live.legal(player))))
    return live


def test_it_is_the_first_game_of_a_batch() -> None:
    game = toy_coin.make()
    live, batch = played(game, 5), ttt_envs.Batch(game, 1, seed=5)
    assert live.ply > 2
    for ply, joint in enumerate(live.actions):
        assert batch.states == live.states[ply]
        for player in live.acting(ply):
            assert batch.acting(player)[0]
            assert batch.view(player).seeds == live.view(player, ply).seeds
        batch.step([joint])
    assert batch.states == live.state
    assert batch.done[0]


def test_the_same_actions_give_the_same_game() -> None:
    live = played(toy_coin.make(), 1)
    again = PlayedGame(live.game, live.episode_seed, live.actions)
    assert (again.states, again.actions, again.over) == (live.states, live.actions, True)
    assert (again.acting(), again.asked(), again.legal(0)) == ([], [], [])
    with pytest.raises(IllegalAction, match="the game is over"):
        again.play([-1, -1])
    with pytest.raises(IllegalAction, match="the game is over"):
        again.choose(0, 0)


def test_a_choice_waits_for_the_others() -> None:
    live = PlayedGame.begin(toy_coin.make(), 0)
    assert live.asked() == [0, 1]
    assert not live.choose(0, live.legal(0)[0])
    assert (live.asked(), live.legal(0), live.ply) == ([1], [], 0)
    with pytest.raises(IllegalAction, match="player 0 has chosen already"):
        live.choose(0, 0)
    with pytest.raises(IllegalAction):
        live.choose(1, 10**9)
    assert PlayedGame(live.game, live.episode_seed, (), live.waiting).waiting == live.waiting
    assert live.last_decision([0]) == 0
    assert live.last_decision([1]) is None
    assert live.choose(1, live.legal(1)[0])
    assert (live.ply, live.waiting) == (1, {})
    live.take_back(0)
    assert (live.ply, live.waiting, live.asked()) == (0, {}, [0, 1])


def test_a_ply_is_played_whole_or_not_at_all() -> None:
    live = PlayedGame.begin(toy_coin.make(), 0)
    for joint, words in (
        ([0, -1], "player 1 has to choose an action, too"),
        ([0, 4], "player 1 cannot play 'keep'"),
        ([0, 0, 0], "player 2 is not to move"),
    ):
        with pytest.raises(IllegalAction, match=words):
            live.play(joint)
        assert (live.ply, live.waiting) == (0, {})
    live.play([0, 0])
    assert live.actions == [(0, 0)]


def test_what_fits_no_game_is_refused() -> None:
    game = toy_coin.make()
    live = PlayedGame.begin(game, 0)
    with pytest.raises(TypeError, match="action"):
        live.choose(0, 0.5)
    with pytest.raises(ValueError, match="episode_seed"):
        PlayedGame(game, -1)
    live.play([0, 0])
    with pytest.raises(ValueError, match="player"):
        live.view(2)
    with pytest.raises(IndexError, match="no position after 2 plies"):
        live.take_back(2)
    assert (live.ply, live.waiting, len(live.states)) == (1, {}, 2)


def test_moves_are_taken_back_with_the_rounds_that_they_ended() -> None:
    live = played(ttt_envs.load("tic_tac_dice"), 2)
    assert len(live.rounds) > 1
    assert all(live.ended_round(ply) is not None for ply in live.rounds)
    rounds, states = list(live.rounds), list(live.states)
    live.take_back(rounds[1] - 1)
    assert live.rounds == rounds[:1]
    assert live.states == states[: rounds[1]]
    while (ply := live.last_decision([0])) is not None:
        assert ply == max(k for k, joint in enumerate(live.actions) if joint[0] >= 0)
        live.take_back(ply)
        assert live.acting() == [0]
    assert not any(joint[0] >= 0 for joint in live.actions)


def test_a_view_is_of_the_game_that_is_played_and_one_of_the_past_is_of_another_game() -> None:
    game = ttt_envs.load("tic_tac_dice")
    live, other = PlayedGame.begin(game, 0), PlayedGame.begin(game, 0)
    mine = live.asked()[0]
    episodes = [live.view(mine).episodes]
    live.choose(mine, live.legal(mine)[0])
    episodes.append(live.view(mine).episodes)
    assert np.concatenate(episodes).tolist() == [episodes[0][0]] * 2
    others = [live.view(1 - mine), other.view(mine), live.view(mine, 0), live.view(mine, 0)]
    assert len({int(each.episodes[0]) for each in others} | {int(episodes[0][0])}) == 5
