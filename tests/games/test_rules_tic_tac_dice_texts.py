"""Positions of the Tic-Tac-Dice family as text: what is refused, and what is read back."""

import pytest
from dice_positions import DRAWN_4X4, MATCH, ROW_ON_TOP, SINGLE, full_text, played

import ttt_envs
from ttt_envs.core.batch import Batch
from ttt_envs.core.compile import jit
from ttt_envs.testing.positions import play_batch

# --- texts that are refused ---

GOOD = """X claims by dice 2 5
A 5X   B 2*   C 8O
D 1    E 1    F 7*
G 3    H 4    I 6
points X 2 O 3 of 5, ply 20"""

ROW = GOOD.replace("B 2*", "B 2X").replace("C 8O", "C 8X").replace("7*", "7O")


def test_good_texts_are_read():
    for text in (
        GOOD,
        GOOD.replace("*", " "),  # the dice say where the stars belong
        GOOD.replace("2 5", "5 2"),
        GOOD.replace("\n", "  \n\n  "),
        f"\n{GOOD}\n",
    ):
        assert MATCH.format_state(MATCH.parse_state(text)[0]) == GOOD
    single = GOOD.replace("points X 2 O 3 of 5, ply 20", "ply 2")
    assert SINGLE.format_state(SINGLE.parse_state(single)[0]) == single
    over = ROW.replace("X claims by dice 2 5", "over: X wins, row A B C").replace("X 2 O 3", "X 5 O 3")
    assert MATCH.format_state(MATCH.parse_state(over)[0]) == over


REFUSED = {
    "five of a rank": (("C 8O", "C 1O", "G 3", "G 1", "H 4", "H 1"), "4 cards of a rank, but .* 5 of rank 1"),
    "a huge rank": (("I 6", "I 99999999999999999999"), "3 rows of 3 cells"),
    "cells exchanged": (("B 2*   C 8O", "C 8O   B 2*"), "3 rows of 3 cells"),
    "no points": (("points X 2 O 3 of 5, ", ""), "last line must be like"),
    "again without doubles": (("2 5", "2 5, then rolls again"), "stands after doubles, and only there"),
    "a seven on the dice": (("2 5", "2 7"), "first line must be like"),
    "no first line": (("X claims by dice 2 5\n", ""), "3 rows of 3 cells"),
    "over without a row": (("X claims by dice 2 5", "over: X wins"), "but the board or the points do not"),
}


def changed(text: str, *pairs: str) -> str:
    for old, new in zip(pairs[::2], pairs[1::2], strict=True):
        assert old in text
        text = text.replace(old, new)
    return text


@pytest.mark.parametrize("name", list(REFUSED))
def test_wrong_texts_are_refused_in_words(name):
    pairs, message = REFUSED[name]
    with pytest.raises(ValueError, match=message):
        MATCH.parse_state(changed(GOOD, *pairs))


@pytest.mark.parametrize(
    ("first", "facts", "message"),
    [
        ("over: O wins", "X 5 O 3", "first line must be 'over: X wins, row A B C'"),
        ("over: X wins", "X 4 O 3", "but the board or the points do not"),
        ("over: X wins", "X 7 O 3", "5 points win the match, so nobody gets to 7"),
    ],
)
def test_wrong_ends_are_refused_in_words(first, facts, message):
    with pytest.raises(ValueError, match=message):
        MATCH.parse_state(changed(ROW, "X claims by dice 2 5", first, "X 2 O 3", facts))


def test_a_full_board_is_over():
    with pytest.raises(ValueError, match="no game is longer"):
        SINGLE.parse_state(changed(full_text("I", "1 3", "ply 9"), "1*", "1X"))


def test_the_next_round_tells_how_the_last_one_ended():
    """By the points that it gave; before there was one, nothing is told."""
    game = ttt_envs.load("tic_tac_super_dice", target_points=4)
    states = play_batch(Batch(game, 6 if jit.DISABLED else 60, seed=12), game.max_plies).states
    told = set()
    for before, after in zip(states[:-1].ravel(), states[1:].ravel(), strict=True):
        if after["done"]:
            continue
        if (after["owner"] != 0).sum() > (before["owner"] != 0).sum():
            assert after["last"] == before["last"]
            continue
        x, o = (after["points"] - before["points"]).tolist()
        words = {(2, 0): "row of X", (0, 2): "row of O", (1, 0): "more of X", (0, 1): "more of O", (0, 0): "drawn"}
        assert game.format_state(after).endswith(f", last round: {words[x, o]}")
        told.add(words[x, o])
    assert len(told) >= (2 if jit.DISABLED else 5)
    assert "last round" not in game.format_state(states[0, 0])


def test_a_draw_is_read_back_to_the_byte():
    """A state's bytes are its hash and its file, so that 0 must not become -0."""
    game = ttt_envs.load("tic_tac_super_dice", rounds="single")
    end = played(game, DRAWN_4X4.format(dice="2 6", facts="ply 15"), "P", futures=1)
    end["rng"] = 0
    assert game.parse_state(game.format_state(end[0])).tobytes() == end.tobytes()


def test_a_hundred_points_are_read_back():
    """98 points and a row, in a match to 99."""
    game = ttt_envs.load("tic_tac_dice", target_points=99)
    text = ROW_ON_TOP.format(first="X claims by dice 1 3", c="*", i="*", facts="points X 98 O 3 of 99, ply 400")
    after = played(game, text, "C", futures=1)
    assert after["points"].tolist() == [[100, 3]]
    assert game.parse_state(game.format_state(after[0]))["points"].tolist() == [[100, 3]]
