"""Agents with a memory: episodes, plies, every ply, and the end, wherever an agent plays."""

from typing import Any

import numpy as np
import pytest
import toy_coin

import ttt_envs
from ttt_envs import agents, evaluation
from ttt_envs.agents.epsilon_random import Mixed
from ttt_envs.core.game import Game

DICE = ttt_envs.load("tic_tac_dice", rounds="single")
COIN = toy_coin.make(players=3, tosses=1)  # three players, some of whom act at once
GAMES = pytest.mark.parametrize("game", [DICE, COIN], ids=lambda game: game.id)


class Witness:
    """No subclass of Agent. It keeps what it is told, and plays the first legal action."""

    def __init__(self) -> None:
        self.seen: dict[int, list[int]] = {}  # episode: plies that were shown
        self.acted: dict[int, list[int]] = {}
        self.ended: dict[int, float] = {}

    def observe(self, view: ttt_envs.View) -> None:
        for episode, ply in zip(view.episodes.tolist(), view.plies.tolist(), strict=True):
            assert episode not in self.ended
            self.seen.setdefault(episode, []).append(ply)

    def act(self, view: ttt_envs.View) -> np.ndarray:
        for episode, ply in zip(view.episodes.tolist(), view.plies.tolist(), strict=True):
            assert self.seen[episode][-1] == ply  # it has just been shown
            self.acted.setdefault(episode, []).append(ply)
        return np.where(view.masks.any(axis=1), view.masks.argmax(axis=1), -1)

    def episodes_over(self, episodes: np.ndarray, rewards: np.ndarray) -> None:
        for episode, reward in zip(episodes.tolist(), rewards.tolist(), strict=True):
            assert episode not in self.ended
            self.ended[episode] = reward

    def complete(self, games: int, running: int = 0) -> None:
        """It was shown every ply of so many games from their start, and told of the end of all but the running ones."""
        assert len(self.seen) == games
        assert len(self.ended) == games - running
        assert set(self.acted) <= set(self.seen)
        assert all(plies == list(range(len(plies))) for plies in self.seen.values())


@GAMES
@pytest.mark.parametrize("around", [lambda each: each, lambda each: Mixed(agents.as_agent(each), random=0.5)])
def test_in_many_games_at_once(game: Game, around: Any) -> None:
    witness = Witness()
    played = evaluation.play_games(game, [around(witness), *["random"] * (game.num_players - 1)], games=30, seed=1)
    witness.complete(30)
    assert sorted(len(plies) for plies in witness.seen.values()) == sorted(played.lengths.tolist())
    assert sorted(witness.ended.values()) == sorted(played.rewards[:, 0].tolist())


@GAMES
def test_as_an_opponent_in_one_game(game: Game) -> None:
    witness = Witness()
    env = ttt_envs.make_single(game, opponent=witness, player=0)
    others, total = game.num_players - 1, 0.0
    for seed in range(6):
        _, info = env.reset(seed=seed)
        terminated = False
        while not terminated:
            _, reward, terminated, _, info = env.step(int(info["action_mask"].argmax()))
        total += reward
    witness.complete(6 * others)
    assert sum(witness.ended.values()) == pytest.approx(-total)
    env.reset()
    env.step(int(env.action_masks().argmax()))
    left = len(witness.seen)
    env.reset()  # a game that is left is over, too
    assert len(witness.ended) >= 7 * others
    assert left == 7 * others


@GAMES
@pytest.mark.parametrize("mode", ["same_step", "next_step"])
def test_as_an_opponent_in_many(game: Game, mode: Any) -> None:
    witness, other = Witness(), Witness()
    env = ttt_envs.make_vec(game, 5, opponent=[witness, other], autoreset_mode=mode)
    observations, _ = env.reset(seed=0)
    ended = 0
    for _ in range(40):
        observations, _, terminated, _, _ = env.step(observations["action_mask"].argmax(axis=1))
        ended += int(terminated.sum())
    assert ended > 5
    assert min(len(witness.ended), len(other.ended)) > 0
    assert len(witness.ended) + len(other.ended) == ended * (game.num_players - 1)
    for each in (witness, other):
        each.complete(len(each.seen), running=len(each.seen) - len(each.ended))


@GAMES
def test_as_an_opponent_in_a_game_of_text_and_where_games_are_cut_off(game: Game) -> None:
    witness = Witness()
    for limits in ({}, {"max_plies": 2}):
        env = ttt_envs.make_text(game, opponent=witness, player=0, **limits)
        for seed in range(3):
            env.reset(seed=seed)
            while not env.done:
                env.step(env.legal[0])
    env.reset()
    env.reset()
    witness.complete(8 * (game.num_players - 1), running=0 if env.done else game.num_players - 1)


def test_views_of_a_loop_of_ones_own() -> None:
    batch = ttt_envs.Batch(DICE, 3, seed=0)
    both = [batch.view(player).episodes for player in (0, 1)]
    numbers = np.concatenate(both)
    assert len(set(numbers.tolist())) == 6
    batch.step(batch.masks().argmax(axis=1))
    assert np.array_equal(batch.view(0).episodes, both[0])
    assert np.array_equal(batch.view(1, rows=[2, 0]).episodes, both[1][[2, 0]])
    assert batch.view(0).plies.tolist() == [1, 1, 1]
    batch.reset_rows([1])
    assert (batch.view(0).episodes == both[0]).tolist() == [True, False, True]
    batch.reset(0)
    assert not set(batch.view(0).episodes.tolist()) & set(numbers.tolist())
    for make in (ttt_envs.make_aec, ttt_envs.make_parallel):
        env = make(DICE)
        env.reset(seed=0)
        first = env.view("player_0").episodes
        assert first.shape == (1,)
        assert first != env.view("player_1").episodes
        assert first == env.view("player_0").episodes
        env.reset(seed=0)
        assert first != env.view("player_0").episodes


def test_who_cannot_even_look_loses_the_game() -> None:
    class Blind(Witness):
        def observe(self, view: ttt_envs.View) -> None:
            raise OSError("no light")

    with pytest.raises(OSError, match="no light"):
        evaluation.play_games(DICE, [Blind(), "random"])
    blind = agents.as_agent(Blind())
    blind.actor.act = lambda view: view.masks.argmax(axis=1)
    found = evaluation.play_games(DICE, [blind, "random"], games=3, strict=False)
    assert found.rewards.tolist() == [[-1, 1]] * 3
    assert [(each.ply, each.reason) for each in found.failures] == [(0, "OSError: no light")] * 3


def test_objects_and_trained_agents_pass_on_what_they_are_told() -> None:
    class Whole(Witness):
        closed = False

        def counts(self) -> dict[str, float]:
            return {"looks": len(self.seen)}

        def close(self) -> None:
            self.closed = True

    inner = Whole()
    agent = agents.as_agent(inner)
    assert agent.observes
    assert agent.counts() == {"looks": 0}
    agent.close()
    assert inner.closed
    trained = agents.load("trained:tic_tac_dice")
    trained.choices = [(card, agent) for card, _ in trained.choices]
    trained.episodes_over(np.array([3]), np.array([1.0]))
    assert inner.ended == {3: 1.0}
    assert trained.counts().keys() == {"looks"}
    assert not agents.load("random").observes
    assert not agents.load("mixed:random").observes
