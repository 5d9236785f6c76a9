"""How games end, in words for people: no codes of cells or pieces, which are for the log."""

import re

import numpy as np
import pytest

import ttt_envs
from ttt_envs.core.lines import where
from ttt_envs.registry import GAMES
from ttt_envs.testing.positions import random_play

#: What stands for a piece, a card, a cell or a list of cells in the games' texts.
CODE = re.compile(r"\b[rbgyRBGY][XO1-3]\b|\b[a-h][1-8]\b|\d/\d|\b[A-P] [A-P]\b|\bboards? \d|  ")


@pytest.mark.parametrize(
    ("row", "size", "words"),
    [
        ([3, 4, 5], 3, "in the middle row"),
        ([2, 5, 8], 3, "in the right column"),
        ([2, 4, 6], 3, "on the diagonal"),
        ([1, 5, 9], 4, "in column 2"),
        ([12, 13, 14], 4, "in row 4"),
        ([5, 10, 15], 4, "on a diagonal"),
    ],
)
def test_where_a_row_lies(row: list[int], size: int, words: str) -> None:
    assert where(row, size) == words


@pytest.mark.parametrize("game_id", GAMES)
def test_a_headline_is_what_a_person_would_say(game_id: str) -> None:
    options = {"operation_tic_tac_toe": {"mode": "round"}, "martian_tic_tac_toe": {"max_plies": 152}}
    game = ttt_envs.load(game_id, **options.get(game_id, {}))
    assert game.faces.ending is not None
    play = random_play(game, 12)
    finals = [column[column["done"]][0] for column in play.states.T if column["done"].any()]
    assert finals
    told = [game.faces.ending(state) for state in finals]
    for words, state in zip(told, finals, strict=True):
        assert words, game.format_state(state, None)
        assert not CODE.search(words), words
        assert words[-1] != "."
        if not state["rewards"].any():
            assert " in a row" not in words.partition("both")[0]
    assert any(np.any(state["rewards"]) for state in finals)
    if "operation" not in game_id:
        assert any(re.search(r"(on|in) (the|a|row|column)\b", words) or "markers" in words for words in told), told
