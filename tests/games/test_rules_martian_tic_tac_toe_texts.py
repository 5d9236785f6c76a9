"""Texts and options of Martian Tic-Tac-Toe that are refused, and why."""

from functools import partial

import pytest
from martian_positions import (
    BLUE_STUCK,
    BLUE_STUCK_OF_THREE,
    CALM,
    EVERY_KIND,
    FULL,
    ID,
    THREE,
    Position,
    position,
    text_of,
)
from option_sets import late

import ttt_envs

load = partial(ttt_envs.load, ID)


# --- texts that are refused ---


def change(text: str, old: str, new: str) -> str:
    assert text.count(old) == 1, old
    return text.replace(old, new)


KINDS = text_of("R to move", EVERY_KIND, 50)
SHUFFLED = text_of("R to move", CALM, 50, 2, "R a1 from R1, B c3 from B1, R a1 from R2, B c3 from B2")
LINE = "R1 R1 R1 / B1 B1 . / . . ."

REFUSED = {
    "nothing": ("", "3 numbered rows of 3 cells"),
    "a row too many": (change(KINDS, "ply", "4 . . .\nply"), "a line like 'ply 4, occurred 1'"),
    "unknown colour": (change(KINDS, "B1", "W1"), "a colour of R, B and a size from 1 to 3, not 'W1'"),
    "four of a size": (text_of("R to move", "R1 R1 . / R1 . R1 / B1 . .", 50), "R has only 3 pieces of size 1"),
    "wrong stashes": (
        change(KINDS, "ply", "stashes: R 2 2 2, B 2 2 3 (small, medium, large)\nply"),
        "the stashes must be what is not on the board",
    ),
    "too few plies": (change(KINDS, "ply 50", "ply 5"), "take from 6 to 300 plies"),
    "occurred less than the log says": (
        change(SHUFFLED, "occurred 2", "occurred 1"),
        "the position has occurred 2 times",
    ),
    "occurred more often than a game goes on": (
        text_of("over: draw, R to move", CALM, 50, 4, ", ".join(SHUFFLED.split("placement: ")[1] for _ in range(3))),
        "the game was over before",
    ),
    "the third occurrence, and not over": (
        text_of("R to move", CALM, 50, 3, ", ".join(SHUFFLED.split("placement: ")[1] for _ in range(2))),
        "whether it is over must fit",
    ),
    "a line, and not over": (text_of("B to move", LINE, 50), "R has a line, so the first line must say"),
    "wins without a line": (change(KINDS, "R to move", "over: R wins"), "R must have a line, and nobody else"),
    "a large piece first": (text_of("B to move", "R3 . . / . . . / . . .", 1), "as it is first placed"),
    "no such player": (change(KINDS, "R to move", "Y to move"), "the first line must be like"),
    "a log of another form": (change(SHUFFLED, "R a1 from R1,", "R a1=1,"), "is like 'R b2 from B1', not 'R a1=1'"),
    "other lines": (KINDS + "\nand so on", "only 'since the last placement: ...' may stand"),
    "more than a game remembers": (
        text_of("R to move", CALM, 300, 1, ", ".join(["R a1 from R2"] * 301)),
        "no game with these options remembers 301 moves",
    ),
}


@pytest.mark.parametrize(("text", "match"), REFUSED.values(), ids=REFUSED)
def test_a_text_is_refused_in_words(text, match):
    with pytest.raises(ValueError, match=match.replace("(", r"\(")):
        load().parse_state(text)


def test_the_texts_that_are_changed_above_are_good():
    assert position(load(), "R to move", EVERY_KIND).stash == [[2, 2, 2], [2, 2, 2]]
    assert Position(load(), load().parse_state(SHUFFLED)).occurred == 2
    assert position(load(), "over: R wins", LINE).rewards == [1, -1]


def test_other_texts_are_refused_with_other_options():
    unlimited = load(repetition_limit=None, max_plies=152)
    with pytest.raises(ValueError, match="no game with these options remembers 1 moves"):
        unlimited.parse_state(text_of("R to move", CALM, 50, 1, "R a1 from R2"))
    with pytest.raises(ValueError, match="has occurred 1 times"):
        unlimited.parse_state(text_of("R to move", CALM, 50, 2))
    with pytest.raises(ValueError, match="4 numbered rows of 4 cells"):
        load(size=4, max_plies=80).parse_state(KINDS)
    with pytest.raises(ValueError, match="R has only 5 pieces of size 2"):
        load(**THREE).parse_state(
            text_of("R to move", "R2 R2 R2 R2 . / R2 R2 . . . / . . . . . / . . . . . / . . . . .", 50)
        )


@late
def test_a_player_without_a_move_is_not_to_move():
    with pytest.raises(ValueError, match="B has no legal move, so it is another player's turn"):
        load(**THREE).parse_state(text_of("B to move", BLUE_STUCK_OF_THREE, 50))
    nobody = BLUE_STUCK.replace("R2 . /", "R2 R1 /")
    with pytest.raises(ValueError, match="whether it is over must fit"):
        load(**FULL).parse_state(text_of("R to move", nobody, 50))
    assert position(load(**FULL), "over: draw, B to move", nobody).over


# --- options ---


@pytest.mark.parametrize(
    ("options", "error", "match"),
    [
        ({"size": 2}, ValueError, "size=2 must be from 3 to 8"),
        ({"players": 1}, ValueError, "players=1 must be from 2 to 3"),
        ({"repetition_limit": 1}, ValueError, "repetition_limit=1 must be from 2 to 9"),
        ({"max_plies": 100}, ValueError, "max_plies=100 must be from 152 to 65535"),
    ],
)
def test_options_are_refused_in_words(options, error, match):
    with pytest.raises(error, match=match):
        load(**options)
