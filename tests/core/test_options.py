"""Options and parameters as text."""

from functools import partial

import numpy as np
import pytest
from garbage import GARBAGE, refused

import ttt_envs
from ttt_envs.core.options import parse_value
from ttt_envs.registry import game_of_file, parse_options


def test_options_from_text() -> None:
    assert parse_options("super_tic_tac_toe", []) == {}
    assert parse_options("super_tic_tac_toe", ["won_boards=closed", " random_opening_plies = 3 "]) == {
        "won_boards": "closed",
        "random_opening_plies": 3,
    }
    for option, words in {
        "won=closed": "unknown option 'won'.*known: first_move, won_boards, random_opening_plies",
        "won_boards": "must be name=value",
        "random_opening_plies=x": "option random_opening_plies: 'x' is not of type int",
    }.items():
        with pytest.raises(ValueError, match=words):
            parse_options("super_tic_tac_toe", [option])
    with pytest.raises(ValueError, match="given twice"):
        parse_options("super_tic_tac_toe", ["won_boards=open", "won_boards=closed"])
    with pytest.raises(ValueError, match="did you mean 'super_tic_tac_toe'"):
        parse_options("super_tic_toe", [])


@pytest.mark.parametrize(
    ("annotation", "text", "value"),
    [
        (int, "3", 3),
        (float, "3", 3.0),
        (bool, "True", True),
        (bool, "false", False),
        (str, "3", "3"),
        (int | None, "none", None),
        (int | None, "3", 3),
        (int | str, "3", 3),
        (int | str, "all", "all"),
        (bool | str, "true", True),
        (list[int], "0.5", 0.5),
    ],
)
def test_values_from_text(annotation: object, text: str, value: object) -> None:
    found = parse_value(annotation, text)
    assert (found, type(found)) == (value, type(value))


def test_wrong_values_from_text() -> None:
    with pytest.raises(ValueError, match="'yes' is not of type bool"):
        parse_value(bool, "yes")
    with pytest.raises(ValueError, match="'x' is not of type int or None"):
        parse_value(int | None, "x")


@pytest.mark.parametrize("game_id", ttt_envs.GAMES)
def test_every_option_of_every_game_refuses_garbage_by_its_name(game_id: str) -> None:
    for option in ttt_envs.load(game_id).options:
        for value in GARBAGE:
            found, reason = refused(partial(ttt_envs.load, game_id, **{option: value}), TypeError, ValueError)
            assert option in reason or not reason
            if not reason and value is not None:  # None may stand for a default
                kept = found.options[option]
                assert type(kept) is (int if isinstance(value, np.integer) else type(value)), (option, value)
                assert kept == value


def test_the_game_of_a_file():
    closed = ttt_envs.load("super_tic_tac_toe", won_boards="closed")
    assert game_of_file("super_tic_tac_toe", closed.options) == closed
    for game_id, named, words in [
        ("super_tic_tac_toe", {"later": 1}, "unknown option 'later'"),
        ("super_tic_tac_toe", 3, "names with values, not 3"),
        ("os:system", {}, "unknown game 'os:system'.*registered first"),
    ]:
        with pytest.raises(ValueError, match=words):
            game_of_file(game_id, named)
