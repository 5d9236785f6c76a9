"""`Game.rules_text`: the rules for a player, in plain words, with the options in force."""

import re
from typing import Any

import pytest
import toy_coin
import toy_kuhn
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
    games += [toy_coin.make(players=3, tosses=2), toy_coin.make(tosses=0), toy_kuhn.make()]
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


@pytest.mark.parametrize(
    ("game_id", "options", "added", "dropped"),
    [
        (SUPER, {"won_boards": "closed"}, "is closed: nobody may move in it", "even if somebody owns it"),
        (SUPER, {"first_move": "anywhere"}, "into any cell of any board;", "centre board, board 4"),
        (SUPER, {"random_opening_plies": 1}, "The first move is drawn at random", None),
        (SUPER, {"random_opening_plies": 4}, "The first 4 moves are drawn at random", None),
        (MARTIAN, {"same_size_swap": True}, "smaller, of the same size, or", "smaller or exactly"),
        (MARTIAN, {"repetition_limit": None}, None, "occurs for the"),
        (MARTIAN, {"repetition_limit": 2}, "occurs for the second time", "third time"),
        (MARTIAN, {"size": 6}, "5 pyramids of the same size", "3 pyramids"),
        (MARTIAN, {"size": 8, "players": 4}, "each other player -1/3", "the other -1."),
        (MARTIAN, {"max_plies": 200}, "after 200 moves", "after 300 moves"),
        (DICE, {"rounds": "single"}, "gets +1/2", "points"),
        (DICE, {"size": 4}, "If both have as many, nobody scores", "3x3"),
        (DICE, {"size": 4, "win_length": 4}, "with 4 markers in a row", "3 markers"),
        (DICE, {"target_points": 9}, "with 9 points or more", "to 5 points"),
        (MATCH, {"players": 4}, "seats 0 and 2 against seats 1 and 3", "Two players"),
        (MATCH, {"players": 4, "teams": False}, "plays alone against seats 1, 2 and 3", "Two players"),
        (MATCH, {"double_plays": 0}, None, "Double Play"),
        (MATCH, {"wipe_outs": 0}, None, "Wipe-Out"),
        (MATCH, {"flips": 0}, "each a Symbol.", "Flip"),
        (MATCH, {"colours": 2, "hand_size": 3}, "X and O in red and blue, 6 of each", "yellow"),
        (MATCH, {"hand_size": 3}, "until they hold 3 cards again", "until they hold 4"),
        (MATCH, {"max_turns": 20}, "after 20 turns", "after 1,000 turns"),
        (OPERATION, {"mode": "round"}, "A game is a single round", "match"),
        (OPERATION, {"rounds_to_win": 1}, "first player to win one round wins it", "win 4 rounds"),
        (OPERATION, {"max_rounds": 8}, "After 8 rounds", "any two of the eight"),
        (OPERATION, {"max_idle_turns": 6}, "6 turns in a row have changed", "20 turns in a row"),
        (OPERATION, {"draw_offers": True}, "offer a draw in the same turn", None),
        (OPERATION, {"allow_pass": True}, "pass in any turn", None),
        (
            OPERATION,
            {"mode": "round", "specialists": "sniper+mole,none", "first_placer": 1},
            "X holds the sniper and the mole. O holds no specialist. A specialist may be placed once. O places first.",
            "A match",
        ),
    ],
)
def test_rules_honour_options(game_id: str, options: dict[str, Any], added: str | None, dropped: str | None) -> None:
    usual, rules = ttt_envs.load(game_id).rules_text, ttt_envs.load(game_id, **options).rules_text
    if added is not None:
        assert added in rules
        assert added not in usual
    if dropped is not None:
        assert dropped in usual or game_id == OPERATION
        assert dropped not in rules


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
