"""Prompts for players who read and write text, and the actions that their answers mean."""

import json
import re
import time

import kuhn_poker
import numpy as np
import pytest
import toy_coin
from option_sets import OPTIONS

import ttt_envs
from ttt_envs.core.game import Game
from ttt_envs.core.information import acting_players
from ttt_envs.core.prompts import prompt, read_answer, side_of

SUPER, MARTIAN, DICE = "super_tic_tac_toe", "martian_tic_tac_toe", "tic_tac_dice"
MATCH, OPERATION = "tic_tac_match", "operation_tic_tac_toe"


def read(game_id: str, text: str, legal: list[str] | None = None, **options: object) -> str:
    game = ttt_envs.load(game_id, **options)
    mask = np.ones(game.num_actions, np.bool_)
    if legal is not None:
        mask[:] = False
        mask[[game.action_names.index(name) for name in legal]] = True
    return game.action_names[read_answer(game, mask, text)]


@pytest.mark.parametrize(
    ("game_id", "text", "wanted"),
    [
        # an object
        (SUPER, '```json\n{"action": "4/4", "reason": "better than [4/5]"}\n```', "4/4"),
        (SUPER, 'Not [4/5], nor {4/6}.\n{"reason": "{", "action": "4/4"} is what I play.', "4/4"),
        (SUPER, '{"action": "4/5"} or rather {"action": "4/4"}', "4/4"),
        (SUPER, '{"name": "play", "arguments": {"action": "4/4"}}', "4/4"),
        (SUPER, '{"action": "4/4"}\n[4/4]', "4/4"),
        # in brackets
        (SUPER, "[4/4]", "4/4"),
        (SUPER, "I could play [4/4] or [4/6].\nMy move:\n**[4/5]**\nGood luck!", "4/5"),
        (SUPER, "<think>4/4? 4/1?</think>\n\n[4/3]\n```\n", "4/3"),
        (SUPER, "4/1 " * 100_000 + "x " * 1_000 + "[4/4]", "4/4"),
        (SUPER, "［４／４］", "4/4"),
        (DICE, "I claim a cell: [i]", "I"),
        (MARTIAN, "[B2 = 3]", "b2=3"),
        (MATCH, "[rX to E]", "red X to E"),
        (OPERATION, "[e]", "spy to E"),
        # a last line
        (SUPER, "4 / 4", "4/4"),
        (SUPER, "First [4/5]. No.\n  **4/4**  ", "4/4"),
        (SUPER, "Centre of the centre board", "4/4"),
        (DICE, "c", "C"),
        (MATCH, "D", "double play"),
        (OPERATION, "PASS.", "pass"),
    ],
)
def test_answers_that_name_an_action(game_id: str, text: str, wanted: str) -> None:
    assert read(game_id, text) == wanted


@pytest.mark.parametrize(
    ("game_id", "text", "words"),
    [
        (SUPER, "", "The answer is empty"),
        # prose
        (DICE, "I don't know.", "which is no action"),
        (DICE, "A tough choice.", "which is no action"),
        (MATCH, "Do not flip.", "which is no action"),
        (SUPER, "Move 12: 4/5", "which is no action"),
        (SUPER, "4/4\nGood luck!", "ends with 'Good luck!', which is no action"),
        # names that are not quite one
        (SUPER, "4/4 loses, so [4/9]", "ends with '4/9', which is no action"),
        (SUPER, "[4/0] is taken.\n[4/9]", "ends with '4/9', which is no action"),
        (SUPER, "[4/-4]", "which is no action"),
        (SUPER, "4/4/5", "which is no action"),
        (SUPER, "40", "which is no action"),
        (SUPER, "Taken by [X].", "which is no action"),
        (SUPER, '{"action": 4}', "which is no action"),
        (SUPER, '{"action": "4/4"', "which is no action"),
        # several
        (SUPER, "[4/4] or [4/5]", "more than one action: '4/4' and '4/5'"),
        (SUPER, '{"action": "4/4"}\n[4/5]', "more than one action: '4/4' and '4/5'"),
        (SUPER, '{"action": "4/4"}\n4/5', "more than one action: '4/4' and '4/5'"),
    ],
)
def test_other_answers_are_refused(game_id: str, text: str, words: str) -> None:
    with pytest.raises(ValueError, match=re.escape(words)):
        read(game_id, text)


def test_an_action_that_is_not_legal_is_refused() -> None:
    with pytest.raises(ValueError, match=r"4/4 is not legal now\. Legal actions: 4/5, 4/6\. Answer with"):
        read(SUPER, "4/5 is bad, so [4/4]", ["4/5", "4/6"])


@pytest.mark.parametrize("text", ["{" * 20_000, '{"a":[' * 9_000, "[" * 20_000])
def test_an_answer_takes_no_long_time_to_read(text: str) -> None:
    begun = time.process_time()
    with pytest.raises(ValueError, match=r"no action|empty"):
        read(SUPER, text)
    assert time.process_time() - begun < 2


@pytest.mark.parametrize("game_id", list(ttt_envs.GAMES))
def test_every_action_is_read_as_it_is_written(game_id: str) -> None:
    game = ttt_envs.load(game_id)
    everything = np.ones(game.num_actions, np.bool_)
    for action, name in enumerate(game.action_names):
        for text in (name, f"Thinking of it:\nMy answer is [{name.upper()}].", json.dumps({"action": name})):
            assert read_answer(game, everything, text) == action, text


def games() -> list[Game]:
    ids = list(OPTIONS)
    found = [ttt_envs.load(game_id, **OPTIONS[game_id][0]) for game_id in ids]
    return [*found, toy_coin.make(players=3, tosses=2), kuhn_poker.make()]


@pytest.mark.parametrize("game", games(), ids=repr)
def test_worlds_that_a_player_cannot_tell_apart_give_the_same_prompt(game: Game) -> None:
    batch = ttt_envs.Batch(game, 6, seed=5)
    rng = np.random.default_rng(5)
    asked = changed = 0
    for _ in range(9):
        rows = np.flatnonzero(~batch.states["done"])
        joint = np.full((batch.n, game.num_players), -1)
        for row, player in zip(*acting_players(game, batch.states, rows), strict=True):
            view = batch.view(int(player), [row])
            told = prompt(view)
            for seed in range(3):
                world = view.sample_worlds(seed)
                changed += world.tobytes() != batch.states[row : row + 1].tobytes()
                assert prompt(ttt_envs.View(game, world, player, np.zeros(1, np.uint64))) == told
            joint[row, player] = rng.choice(np.flatnonzero(view.masks[0]))
            asked += 1
        if not len(rows):
            break
        batch.step(joint)
    assert asked > 12
    assert changed > asked  # the worlds do differ


def test_a_prompt_has_all_that_a_player_needs() -> None:
    game = ttt_envs.load(SUPER)
    batch = ttt_envs.Batch(game, 1, seed=0)
    batch.step([game.parse_action("4/7")])
    told = prompt(batch.view())
    for words in (
        "You are playing Super Tic-Tac-Toe.",
        game.rules_text,
        "You are O. Against you: X.",
        "O to move in board 7",
        "YOUR LEGAL ACTIONS (9), one per line\n\n7/0\n7/1",
        "[7/0]",
    ):
        assert words in told
    assert game.rules_text not in prompt(batch.view(), rules=False)
    assert told.replace(f"RULES\n\n{game.rules_text}\n\n", "") == prompt(batch.view(), rules=False)


def test_sides() -> None:
    four = ttt_envs.load(MATCH, players=4)
    assert side_of(four, 2) == "You are seat 2. On your side: seat 0. Against you: seat 1, seat 3."
    assert side_of(toy_coin.make(), 1) == "You are player 1. Against you: player 0."
