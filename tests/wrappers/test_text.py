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
    rng, played, terminated = np.random.default_rng(seed), [], False
    prompt, info = env.reset(seed=seed)
    told = {"opponent": info["opponent"]} if env.opponent_names else {}
    assert info == {"player": env.player, **told}
    while not terminated:
        assert env.prompt == prompt
        assert env.legal == legal(prompt)
        player, name = env.player, str(rng.choice(env.legal))
        prompt, reward, terminated, truncated, info = env.step(how(name))
        assert info == {"player": player, "action": name, "illegal": None, "lost": False, "retries_left": 2, **told}
        assert not truncated
        assert terminated or reward == 0
        played.append((player, name))
    assert reward == env.rewards[player]
    assert env.player == player
    assert env.done
    assert (prompt, env.legal) == ("", [])
    return played


@pytest.mark.parametrize("game", [ttt_envs.load(DICE["game"], rounds="single"), COIN], ids=repr)
def test_a_game_is_the_one_that_a_batch_plays(game: Game) -> None:
    env = ttt_envs.make_text(game)
    for seed in range(5):
        played = play(env, seed)
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
        assert list(env.rewards.values()) == batch.rewards[0].tolist()
        assert env.render() == game.format_state(batch.states[0], None)
        for player in range(game.num_players):
            assert env.facts[player] == {
                "role": game.player_names[player],
                "turn_count": sum(each == player for each, _ in played),
                "invalid_move": False,
                "illegal_answers": 0,
                "random_moves": 0,
            }


def test_the_first_of_two_choices_does_not_reach_the_second_player() -> None:
    for said in ("heads", "tails"):
        env = ttt_envs.make_text(COIN)
        env.reset(seed=3)
        assert env.player == 0
        prompt, *_ = env.step(said)
        assert env.player == 1
        if said == "heads":
            told = prompt
    assert prompt == told


def test_answers_that_cannot_be_used() -> None:
    env = ttt_envs.make_text(**DICE, retries=1)
    prompt, _ = env.reset(seed=1)
    player = env.player
    told, _, terminated, _, info = env.step("I do not know")
    assert not terminated
    assert info["retries_left"] == 1
    assert "which is no action" in info["illegal"]
    assert env.player == player
    assert told.startswith(prompt)
    assert f"YOUR LAST ANSWER could not be used. {info['illegal']}" in told
    # The reason stands there once, and only for this answer.
    told, _, terminated, _, info = env.step(legal(prompt)[0])
    assert not terminated
    assert "LAST ANSWER" not in told
    loser = env.player
    env.step("nonsense")
    told, reward, terminated, truncated, info = env.step("more nonsense")
    assert (told, reward, terminated, truncated) == ("", -1.0, True, False)
    assert info["lost"]
    assert info["action"] is None
    assert env.rewards == {loser: -1.0, 1 - loser: 1.0}
    assert env.facts[loser]["invalid_move"]
    assert env.facts[loser]["illegal_answers"] == (3 if loser == player else 2)
    with pytest.raises(RuntimeError, match="the game is over"):
        env.step("[A]")


def test_a_random_move_instead_and_prompts_without_rules() -> None:
    first = None
    for rules in (True, False):
        env = ttt_envs.make_text(**DICE, retries=0, illegal="random", rules=rules)
        prompt, _ = env.reset(seed=1)
        assert (env.game.rules_text in prompt) == rules
        moves = []
        while not env.done:
            legals = legal(prompt)
            prompt, *_, info = env.step("nonsense")
            assert info["action"] in legals
            assert info["illegal"]
            moves.append(info["action"])
        assert sum(each["random_moves"] for each in env.facts.values()) == len(moves)
        assert first in (None, moves)  # by the seed
        first = moves


def test_an_opponent_plays_the_others() -> None:
    learners = []
    env = ttt_envs.make_text(**DICE, opponent="greedy")
    for seed in (0, None, None, 1, 2, 3):
        played = play(env, seed)
        assert {player for player, _ in played} == {env.player}
        assert set(env.rewards) == {0, 1}
        learners.append(env.player)
    # They alternate, and the seed says which is first, whatever was played before.
    assert learners[:3] in ([0, 1, 0], [1, 0, 1])
    assert set(learners[3:]) == {0, 1}
    env.reset(seed=0)
    assert env.player == learners[0]
    env = ttt_envs.make_text(COIN, opponent="random", player=2)
    assert {player for seed in range(4) for player, _ in play(env, seed)} == {2}


def test_a_saved_end_has_been_paid() -> None:
    env = ttt_envs.make_text(**DICE)
    env.reset(seed=0)
    while not env.done:
        before, mover = env.get_state(), env.player
        env.step(f"[{env.legal[0]}]")
    assert any(env.rewards.values())
    ended = ttt_envs.make_text(**DICE)
    ends = ttt_envs.make_text(**DICE, opponent=lambda seen, mask: int(mask.argmax()), player=1 - mover)
    ended.set_state(env.get_state())
    ends.set_state(before)  # the opponent is to move
    assert ended.done
    assert ended.rewards == ends.rewards == env.rewards


def test_wrong_calls() -> None:
    env = ttt_envs.make_text(**DICE)
    for call in (lambda: env.prompt, lambda: env.rewards, lambda: env.facts, lambda: env.step("A")):
        with pytest.raises(RuntimeError, match=r"call reset\(\) before"):
            call()
    env.reset(seed=0)
    with pytest.raises(TypeError, match="an answer is text, not int"):
        env.step(3)
    for wrong, words in (
        ({"retries": -1}, "retries must be"),
        ({"illegal": "raise"}, "must be one of 'lose', 'random'"),
        ({"opponent": "radnom"}, "did you mean 'random'"),
        ({"opponent": "random", "player": 2}, "player=2 must be one of"),
        ({"partner": "random"}, "partner and player go with an opponent"),
    ):
        with pytest.raises(ValueError, match=words):
            ttt_envs.make_text(**DICE, **wrong)
    with pytest.raises(TypeError, match="colour"):
        ttt_envs.make_text(**DICE, colour="red")
