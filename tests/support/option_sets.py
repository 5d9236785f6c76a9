"""The option sets that each game is tested with."""

from collections.abc import Callable, Iterator
from typing import Any

import kuhn_poker
import pytest
import toy_coin

import ttt_envs
from ttt_envs.core.compile import jit
from ttt_envs.core.game import Game

#: Game id -> the option sets it is tested with. Every game of the registry has an entry.
OPTIONS: dict[str, list[dict]] = {
    "super_tic_tac_toe": [
        {"first_move": "center_board", "won_boards": "closed"},
        {"first_move": "center_board", "won_boards": "open"},
        {"first_move": "anywhere", "won_boards": "open"},
        {"first_move": "anywhere", "won_boards": "closed"},
        {"random_opening_plies": 6},
    ],
    "martian_tic_tac_toe": [
        {"size": 3, "players": 2, "repetition_limit": 3, "max_plies": 300, "same_size_swap": False},
        {"size": 5, "players": 3, "max_plies": 60},
        {"size": 6, "players": 4, "max_plies": 40, "same_size_swap": True, "repetition_limit": None},
        {"size": 4, "repetition_limit": 2, "max_plies": 80},
    ],
    "tic_tac_dice": [
        {"rounds": "single"},
        {"size": 3, "win_length": 3, "target_points": 5, "rounds": "match"},
        {"size": 5, "win_length": 4, "target_points": 3},
    ],
    "big_tic_tac_dice": [
        {"size": 4, "win_length": 3, "target_points": 2, "rounds": "match"},
    ],
    "tic_tac_super_dice": [
        {"rounds": "single"},
        {"size": 4, "win_length": 4, "target_points": 1, "rounds": "match"},
    ],
    "tic_tac_match": [
        {"players": 2},
        {"players": 4, "teams": True},
        {"players": 4, "teams": False, "hand_size": 6, "wipe_outs": 9},
        {"colours": 1, "copies": 4, "flips": 1, "wipe_outs": 0, "double_plays": 0, "hand_size": 1, "max_turns": 4},
        {"colours": 2, "copies": 4, "hand_size": 2, "double_plays": 9, "max_turns": 40},
    ],
    "operation_tic_tac_toe": [
        {"mode": "round"},
        # Rounds 9 and 10 are overtime.
        {"mode": "match", "rounds_to_win": 7, "max_rounds": 10, "max_idle_turns": 3},
        {"rounds_to_win": 1, "max_rounds": 2, "max_idle_turns": 6, "allow_pass": True, "draw_offers": True},
        {"mode": "round", "specialists": (("mole", "hacker"), ("courier", "pusher")), "first_placer": 1},
    ],
}

TOYS = [{"players": 2, "tosses": 1}, {"players": 3, "tosses": 2}]


def compiled_late(*values: Any) -> Any:
    """Parameters of a test that is slow with the JIT, as it is the only one with this form of record."""
    return pytest.param(*values, marks=[] if jit.DISABLED else [pytest.mark.slow])


def late(test: Callable[..., None]) -> Callable[..., None]:
    """Decorator of a test: as `compiled_late` for a parameter."""
    return test if jit.DISABLED else pytest.mark.slow(test)


def marked_games() -> list[Any]:
    """The games with each of their option sets, and the toys, as parameters of a test.

    By default the first set of a game is compiled, and the second one is run without the JIT; presets of a game are
    skipped, as each form of record takes many seconds to compile. The others, and these the other way round, are slow.
    """
    found, seen = [], set()
    for game_id, option_sets in OPTIONS.items():
        folder = ttt_envs.GAMES[game_id].partition(":")[0]
        default = None if folder in seen else int(jit.DISABLED)
        seen.add(folder)
        for k, options in enumerate(option_sets):
            marks = [] if k == default else [pytest.mark.slow]
            found.append(pytest.param(game := ttt_envs.load(game_id, **options), id=repr(game), marks=marks))
    return found + [pytest.param(game, id=repr(game)) for game in toys()]


def toys() -> Iterator[Game]:
    """Small games with choices at once and hidden cards."""
    for options in TOYS:
        yield toy_coin.make(**options)
    yield kuhn_poker.make()
