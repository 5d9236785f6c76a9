"""`Game.rules_text`: the rules for a player, in plain words, with the options in force."""

import re
from typing import Any

import kuhn_poker
import pytest
import toy_coin
from option_sets import OPTIONS

import ttt_envs

IDS = list(ttt_envs.GAMES)
#: What only programmers would say.
PYTHON = re.compile(
    r"\b(he|his|him|None|True|False|[01]-indexed|int|str|bool|tuple|numpy|array|dtype)\b|[_`=]{1}\w+_|\(\)|->|=="
)


def texts() -> list[Any]:
    games = [ttt_envs.load(game_id, **options) for game_id in IDS for options in OPTIONS[game_id]]
    games += [toy_coin.make(players=3, tosses=2), toy_coin.make(tosses=0), kuhn_poker.make()]
    return [pytest.param(game.rules_text, id=repr(game)) for game in games]


@pytest.mark.parametrize("rules", texts())
def test_rules_are_in_plain_words(rules: str) -> None:
    assert len(rules) > 300
    for paragraph in filter(None, rules.split("\n")):
        assert paragraph == paragraph.strip()
        assert paragraph.endswith((".", ":"))
        assert "  " not in paragraph
    assert not PYTHON.search(rules)


@pytest.mark.parametrize("game_id", IDS)
def test_rules_name_the_players_and_the_moves(game_id: str) -> None:
    """What a player is called, and how a move is written, stands in the rules."""
    for options in OPTIONS[game_id]:
        game = ttt_envs.load(game_id, **options)
        assert len(game.player_names) == game.num_players
        for player, name in enumerate(game.player_names):
            assert re.search(rf"\b{name}\b", game.rules_text) or str(player) in game.rules_text, name
