"""`Game.rules_text`: the rules for a player, in plain words, with the options in force."""

import re
from typing import Any

import kuhn_poker
import pytest
import toy_coin
from option_sets import OPTIONS

import ttt_envs
from ttt_envs.core.game import Game

IDS = list(ttt_envs.GAMES)
SUPER, MARTIAN, DICE = "super_tic_tac_toe", "martian_tic_tac_toe", "tic_tac_dice"
MATCH, OPERATION = "tic_tac_match", "operation_tic_tac_toe"

#: What only programmers would say.
PYTHON = re.compile(
    r"\b(he|his|him|None|True|False|[01]-indexed|int|str|bool|tuple|numpy|array|dtype)\b|[_`=]{1}\w+_|\(\)|->|=="
)


def texts() -> list[Any]:
    """The rules of all games with all option sets that are tested, and of those outside the package."""
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


#: Game -> for each option a usual set of options and another value; a fact of the rules depends on it.
OTHER_VALUES: dict[str, dict[str, tuple[dict[str, Any], Any]]] = {
    SUPER: {
        "first_move": ({}, "anywhere"),
        "won_boards": ({}, "closed"),
        "random_opening_plies": ({}, 2),
    },
    MARTIAN: {
        "size": ({}, 4),
        "players": ({"size": 5, "max_plies": 99}, 3),
        "repetition_limit": ({}, 2),
        "max_plies": ({}, 200),
        "same_size_swap": ({}, True),
    },
    DICE: {
        "size": ({}, 4),
        "win_length": ({"size": 4}, 4),
        "target_points": ({}, 9),
        "rounds": ({}, "single"),
    },
    MATCH: {
        "players": ({}, 4),
        "teams": ({"players": 4}, False),
        "max_turns": ({}, 50),
        "colours": ({}, 3),
        "copies": ({}, 5),
        "flips": ({}, 3),
        "wipe_outs": ({}, 3),
        "double_plays": ({}, 3),
        "hand_size": ({}, 5),
    },
    OPERATION: {
        "mode": ({}, "round"),
        "rounds_to_win": ({}, 2),
        "max_rounds": ({}, 12),
        "max_idle_turns": ({}, 7),
        "allow_pass": ({}, True),
        "draw_offers": ({}, True),
        "specialists": ({"mode": "round"}, "mole,sniper"),
        "first_placer": ({"mode": "round"}, 1),
    },
    "toy_coin": {"players": ({}, 3), "tosses": ({}, 2)},
}
OTHER_VALUES["big_tic_tac_dice"] = {**OTHER_VALUES[DICE], "size": ({}, 5), "win_length": ({}, 4)}
OTHER_VALUES["tic_tac_super_dice"] = {**OTHER_VALUES[DICE], "size": ({}, 5), "win_length": ({}, 3)}


def load(game_id: str, **options: Any) -> Game:
    return toy_coin.make(**options) if game_id == "toy_coin" else ttt_envs.load(game_id, **options)


@pytest.mark.parametrize("game_id", [*IDS, "toy_coin"])
def test_rules_depend_on_every_option(game_id: str) -> None:
    options = load(game_id).options
    assert set(OTHER_VALUES[game_id]) == set(options)
    for name, (usual, other) in OTHER_VALUES[game_id].items():
        rules = {load(game_id, **usual).rules_text, load(game_id, **{**usual, name: other}).rules_text}
        assert len(rules) == 2, name


@pytest.mark.parametrize("game_id", IDS)
def test_rules_name_the_players_and_the_moves(game_id: str) -> None:
    """What a player is called, and how a move is written, stands in the rules."""
    for options in OPTIONS[game_id]:
        game = ttt_envs.load(game_id, **options)
        assert len(game.player_names) == game.num_players
        for player, name in enumerate(game.player_names):
            assert re.search(rf"\b{name}\b", game.rules_text) or str(player) in game.rules_text, name


def test_players_without_names_have_numbers() -> None:
    assert toy_coin.make(players=3).player_names == ("player 0", "player 1", "player 2")
