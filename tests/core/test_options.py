"""Options and parameters as text."""

import pytest

from ttt_envs.core.options import parse_value
from ttt_envs.registry import parse_options


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
