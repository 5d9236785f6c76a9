"""JSON from outside, and texts that are shown."""

import json

import pytest

import ttt_envs
from ttt_envs import cli
from ttt_envs.cli import shell
from ttt_envs.core.options import unknown
from ttt_envs.storage.untrusted import MOST_LEVELS, printable, read_json


def test_json_has_levels_that_can_be_handled():
    for opening, closing in (("[", "]"), ('{"a": ', "}")):
        most = opening * MOST_LEVELS + "1" + closing * MOST_LEVELS
        assert read_json(most) == json.loads(most)
        for levels in (MOST_LEVELS + 1, 100_000):
            with pytest.raises(ValueError, match="levels"):
                read_json((opening * levels + "1" + closing * levels).encode())
    assert read_json(b'{"a": [1, {"b": null}], "c": 2.5}') == {"a": [1, {"b": None}], "c": 2.5}
    for text in ("", "{", "[1,]", b"\xff", "9" * 5000):
        with pytest.raises(ValueError, match=r"."):
            read_json(text)


def test_texts_that_are_shown_have_no_control_characters():
    assert printable("\x1b]0;title\x07 a\tb\nc \x9b31m \ud800 \u202e é") == "]0;title  a    b\nc  31m     é"


def test_errors_do_not_control_the_terminal(capsys):
    def fail():
        raise ValueError("the file says \x1b[2J\x1b]52;c;aGk=\x07")

    assert shell.run(fail) == shell.ERROR
    assert capsys.readouterr().err == "error: the file says  [2J ]52;c;aGk=\n"
    assert cli.main(["replay", "\x1b[2J"]) == shell.ERROR
    assert "\x1b" not in capsys.readouterr().err


def test_names_that_are_not_known_are_shortened():
    assert len(unknown("agent", "x" * 10_000, ["random"])) < 400
    with pytest.raises(ValueError, match="unknown action 'xxx") as refused:
        ttt_envs.load("super_tic_tac_toe").parse_action("x" * 10**6)
    assert len(str(refused.value)) < 400
