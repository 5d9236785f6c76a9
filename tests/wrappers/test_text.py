"""`make_text`: a game by prompts and answers."""

import re
from typing import Any

import numpy as np
import pytest
import toy_coin

import ttt_envs
from ttt_envs.core.game import Game
from ttt_envs.wrappers.text import TextGame

DICE = {"game": "tic_tac_dice", "rounds": "single"}
COIN = toy_coin.make(players=3, tosses=1)


def legal(prompt: str) -> list[str]:
    return re.search(r"YOUR LEGAL ACTIONS.*?\n\n(.*?)\n\n", prompt, re.DOTALL)[1].split("\n")


def play(env: TextGame, seed: int | None, how: Any = "[{}]".format) -> list[tuple[int, str]]:
    """Play a game with random answers; returns the players and what they did."""
    rng, played, done = np.random.default_rng(seed), [], False
    env.reset(seed=seed)
    while not done:
        player, prompt = env.observe()
        assert env.legal == legal(prompt)
        name = str(rng.choice(env.legal))
        done, info = env.step(how(name))
        assert info == {"player": player, "action": name, "invalid": None, "forfeit": False, "retries_left": 2}
        played.append((player, name))
    assert env.done
    assert env.legal == []
    return played


@pytest.mark.parametrize("game", [ttt_envs.load(DICE["game"], rounds="single"), COIN], ids=repr)
def test_a_game_is_the_one_that_a_batch_plays(game: Game) -> None:
    env = ttt_envs.make_text(game)
    for seed in range(5):
        played = play(env, seed)
        rewards, info = env.close()
        batch = ttt_envs.Batch(game, 1, seed=seed)
        answers = iter(played)
        while not batch.done[0]:
            joint = np.full((1, game.num_players), -1)
            for player in range(game.num_players):
                if batch.acting(player)[0]:
                    who, name = next(answers)
                    assert who == player
                    joint[0, player] = game.action_names.index(name)
            batch.step(joint)
        assert next(answers, None) is None
        assert list(rewards.values()) == batch.rewards[0].tolist()
        assert env.render() == game.format_state(batch.states[0], None)
        for player in range(game.num_players):
            assert info[player] == {
                "role": game.player_names[player],
                "turn_count": sum(each == player for each, _ in played),
                "invalid_move": False,
                "invalid_answers": 0,
                "random_moves": 0,
            }


def test_the_first_of_two_choices_does_not_reach_the_second_player() -> None:
    for said in ("heads", "tails"):
        env = ttt_envs.make_text(COIN)
        env.reset(seed=3)
        first, _ = env.observe()
        env.step(said)
        second, prompt = env.observe()
        assert (first, second) == (0, 1)
        if said == "heads":
            told = prompt
    assert prompt == told


def test_answers_that_cannot_be_used() -> None:
    env = ttt_envs.make_text(**DICE, retries=1)
    env.reset(seed=1)
    player, prompt = env.observe()
    done, info = env.step("I do not know")
    assert not done
    assert info["retries_left"] == 1
    assert "names no action" in info["invalid"]
    again, told = env.observe()
    assert again == player
    assert told.startswith(prompt)
    assert f"YOUR LAST ANSWER could not be used. {info['invalid']}" in told
    # The reason stands there once, and only for this answer.
    done, info = env.step(legal(prompt)[0])
    assert not done
    assert "LAST ANSWER" not in env.observe()[1]
    loser, _ = env.observe()
    env.step("nonsense")
    done, info = env.step("more nonsense")
    assert done
    assert info["forfeit"]
    assert info["action"] is None
    rewards, facts = env.close()
    assert rewards == {loser: -1.0, 1 - loser: 1.0}
    assert facts[loser]["invalid_move"]
    assert facts[loser]["invalid_answers"] == (3 if loser == player else 2)
    with pytest.raises(RuntimeError, match="the game is over"):
        env.observe()
    with pytest.raises(RuntimeError, match="the game is over"):
        env.step("[A]")


def test_a_random_move_instead() -> None:
    first = None
    for _ in range(2):
        env = ttt_envs.make_text(**DICE, retries=0, invalid="random")
        env.reset(seed=1)
        done, moves = False, []
        while not done:
            _, prompt = env.observe()
            done, info = env.step("nonsense")
            assert info["action"] in legal(prompt)
            assert info["invalid"]
            moves.append(info["action"])
        _, facts = env.close()
        assert sum(each["random_moves"] for each in facts.values()) == len(moves)
        assert first in (None, moves)  # by the seed
        first = moves


def test_an_opponent_plays_the_other_seats() -> None:
    seats = []
    env = ttt_envs.make_text(**DICE, opponent="greedy")
    for seed in (0, None, None, 1, 2, 3):
        played = play(env, seed)
        assert {player for player, _ in played} == {env.seat}
        assert set(env.close()[0]) == {0, 1}
        seats.append(env.seat)
    # They alternate, and the seed says which is first, whatever was played before.
    assert seats[:3] in ([0, 1, 0], [1, 0, 1])
    assert set(seats[3:]) == {0, 1}
    env.reset(seed=0)
    assert env.seat == seats[0]
    env = ttt_envs.make_text(COIN, opponent="random", seat=2)
    assert {player for seed in range(4) for player, _ in play(env, seed)} == {2}


def test_rules_can_be_left_out() -> None:
    env = ttt_envs.make_text(**DICE, rules=False)
    env.reset(seed=0)
    assert "RULES" not in env.observe()[1]
    assert env.game.rules_text not in env.observe()[1]


def test_wrong_calls() -> None:
    env = ttt_envs.make_text(**DICE)
    for call in (env.observe, env.close, lambda: env.step("A")):
        with pytest.raises(RuntimeError, match=r"reset\(\) must be called first"):
            call()
    env.reset(seed=0)
    with pytest.raises(TypeError, match="an answer is text, not int"):
        env.step(3)
    for wrong, words in (
        ({"retries": -1}, "retries must be"),
        ({"invalid": "lose"}, "must be one of 'forfeit', 'random'"),
        ({"opponent": "radnom"}, "did you mean 'random'"),
        ({"opponent": "random", "seat": 2}, "seat must be"),
    ):
        with pytest.raises(ValueError, match=words):
            ttt_envs.make_text(**DICE, **wrong)
    with pytest.raises(TypeError, match="colour"):
        ttt_envs.make_text(**DICE, colour="red")
