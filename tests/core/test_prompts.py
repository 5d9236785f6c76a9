"""Prompts for players who read and write text, and the actions that their answers mean."""

import re

import numpy as np
import pytest
import toy_coin
import toy_kuhn
from option_sets import OPTIONS

import ttt_envs
from ttt_envs.core import jit
from ttt_envs.core.game import Game
from ttt_envs.core.known import acting_players
from ttt_envs.core.prompts import prompt, read_answer, side_of

SUPER, MARTIAN, DICE = "super_tic_tac_toe", "martian_tic_tac_toe", "tic_tac_dice"
MATCH, OPERATION = "tic_tac_match", "operation_tic_tac_toe"


def read(game_id: str, text: str, legal: list[str] | None = None, **options: object) -> str:
    """The name of the action that an answer means; `legal`: all actions by default."""
    game = ttt_envs.load(game_id, **options)
    mask = np.ones(game.num_actions, np.bool_)
    if legal is not None:
        mask[:] = False
        mask[[game.action_names.index(name) for name in legal]] = True
    return game.action_names[read_answer(game, mask, text)]


@pytest.mark.parametrize(
    ("game_id", "text", "wanted"),
    [
        (SUPER, "[4/4]", "4/4"),
        (SUPER, "4/4", "4/4"),
        (SUPER, "I play 4/4.", "4/4"),
        (SUPER, "4 / 4", "4/4"),
        (SUPER, "  **4/4**  ", "4/4"),
        (SUPER, "`4/4`!", "4/4"),
        (SUPER, "４／４", "4/4"),
        (SUPER, "board 4, cell 4", "4/4"),
        (SUPER, "Move 12: 4/5", "4/5"),
        (SUPER, "I could play 4/4 or 4/5.\nMy move:\n[4/5]", "4/5"),
        (SUPER, "4/4 would send them to 4, so [4/5]", "4/5"),
        (SUPER, "<think>4/4? 4/1?</think>\n\n[4/3]\n```\n", "4/3"),
        (SUPER, "4/4 and again 4/4", "4/4"),
        (MARTIAN, "b2=3", "b2=3"),
        (MARTIAN, "I put a large pyramid: b2 = 3", "b2=3"),
        (MARTIAN, "[B2=3]", "b2=3"),
        (DICE, "[i]", "I"),
        (DICE, "I play C.", "C"),
        (DICE, "I claim C.", "C"),
        (DICE, "I'll take C", "C"),
        (DICE, "I really think B", "B"),
        (DICE, "c", "C"),
        (MATCH, "red X to E", "red X to E"),
        (MATCH, "I lay the red X on cell E", "red X to E"),
        (OPERATION, "E", "spy to E"),
        (OPERATION, "[e]", "spy to E"),
        (OPERATION, "A is guarded, so [E]", "spy to E"),
        (OPERATION, "mole to E, as A is empty", "mole to E"),
        (OPERATION, "[predict E]", "predict E"),
        (MATCH, "rX E", "red X to E"),
        (MATCH, "[D]", "double play"),
        (MATCH, "I play red X to D", "red X to D"),
        (MATCH, "wipe out +1", "wipe-out +1"),
        (OPERATION, "predict A", "predict A"),
        (OPERATION, "I predict A+I", "predict A+I"),
        (OPERATION, "Let me choose sniper and ninja.", "choose sniper and ninja"),
        (OPERATION, "spy in room E", "spy to E"),
        (OPERATION, "PASS", "pass"),
        (OPERATION, "I place a spy to A", "spy to A"),
        (OPERATION, "I predict a room: predict E", "predict E"),
    ],
)
def test_answers_that_mean_an_action(game_id: str, text: str, wanted: str) -> None:
    assert read(game_id, text) == wanted


@pytest.mark.parametrize(
    ("game_id", "text", "words"),
    [
        (SUPER, "", "The answer is empty"),
        (SUPER, "4/4\nGood luck!", "names no action"),
        (SUPER, "4/4 or 4/5", "names 2 legal actions: 4/4 and 4/5"),
        (SUPER, "4/4/5", "names 2 legal actions: 4/4 and 4/5"),
        (SUPER, "3 4 5", "names 2 legal actions: 3/4 and 4/5"),
        (SUPER, "40", "names no action"),
        (SUPER, "[9/9]", "names no action"),
        (DICE, "A good choice is C.", "names 2 legal actions: A and C"),
        (DICE, "I or C", "names 2 legal actions: I and C"),
        (MATCH, "I play D or red X to E", "names 2 legal actions: double play and red X to E"),
        (MATCH, "I lay my card on D", "names no action"),
        (MATCH, "the red one", "names no action"),
        (OPERATION, "predict A, or predict B", "names 2 legal actions: predict A and predict B"),
    ],
)
def test_answers_that_could_mean_anything_are_refused(game_id: str, text: str, words: str) -> None:
    with pytest.raises(ValueError, match=re.escape(words)):
        read(game_id, text)


def test_an_action_that_is_not_legal_leaves_the_one_that_is() -> None:
    assert read(SUPER, "4/4 is taken, so I play 4/5", ["4/5", "4/6"]) == "4/5"
    with pytest.raises(ValueError, match=r"4/4 is not legal now\. Legal actions: 4/5, 4/6\. Answer with"):
        read(SUPER, "4/4", ["4/5", "4/6"])
    with pytest.raises(ValueError, match=r"4/4 and 4/0 are not legal now"):
        read(SUPER, "4/4 or 4/0", ["4/5", "4/6"])
    # A longer name is not taken for a shorter one in it.
    with pytest.raises(ValueError, match=r"predict A\+I is not legal now"):
        read(OPERATION, "predict A+I", ["predict A", "predict I"])


@pytest.mark.parametrize("game_id", list(ttt_envs.GAMES))
def test_every_action_is_read_as_it_is_written(game_id: str) -> None:
    game = ttt_envs.load(game_id)
    everything = np.ones(game.num_actions, np.bool_)
    for action, name in enumerate(game.action_names):
        for text in (name, f"[{name}]", f"Thinking of it:\nMy answer is [{name.upper()}].", f"action: {name}"):
            assert read_answer(game, everything, text) == action, text


def test_a_long_line_is_read_from_its_end() -> None:
    assert read(SUPER, "4/1 " * 100_000 + "x " * 1_000 + "[4/4]") == "4/4"


def games() -> list[Game]:
    ids = list(OPTIONS)[:1] if jit.DISABLED else list(OPTIONS)
    found = [ttt_envs.load(game_id, **OPTIONS[game_id][0]) for game_id in ids]
    return [*found, toy_coin.make(players=3, tosses=2), toy_kuhn.make()]


@pytest.mark.parametrize("game", games(), ids=repr)
def test_worlds_that_a_player_cannot_tell_apart_give_the_same_prompt(game: Game) -> None:
    """What is hidden, the generator and the dice to come are drawn anew: the prompt must not notice."""
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
        "YOUR LEGAL ACTIONS (9), one a line\n\n7/0\n7/1",
        "[7/0]",
    ):
        assert words in told
    assert game.rules_text not in prompt(batch.view(), rules=False)
    assert told.replace(f"RULES\n\n{game.rules_text}\n\n", "") == prompt(batch.view(), rules=False)


def test_sides() -> None:
    four = ttt_envs.load(MATCH, players=4)
    assert side_of(four, 2) == "You are seat 2. On your side: seat 0. Against you: seat 1, seat 3."
    assert side_of(toy_coin.make(), 1) == "You are player 1. Against you: player 0."
