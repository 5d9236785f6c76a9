"""Shared by the tests with arbitrary input: the games, and strategies for what may be passed by mistake."""

from collections.abc import Callable
from typing import Any

import hypothesis.strategies as st
import pytest
import toy_coin
from hypothesis import settings
from option_sets import OPTIONS

import ttt_envs
from tests.support.models.common import GARBAGE
from ttt_envs.core.game import Game

#: Those of the default run: hidden hands and teams, choices at once, a start that is drawn.
_USUAL = ("tic_tac_match", "operation_tic_tac_toe", "tic_tac_dice")

#: Functions that give a game; all option sets of all games, most of them slow.
GAMES = [
    pytest.param(
        lambda game_id=game_id, options=options: ttt_envs.load(game_id, **options),
        marks=[] if game_id in _USUAL and k == 0 else [pytest.mark.slow],
        id=f"{game_id}-{k}",
    )
    for game_id, option_sets in OPTIONS.items()
    for k, options in enumerate(option_sets)
]
GAMES.append(pytest.param(lambda: toy_coin.make(players=3, tosses=2), id="toy_coin"))

#: Values that are wrong nearly everywhere.
garbage = st.one_of(
    st.sampled_from(GARBAGE),
    st.integers(),
    st.floats(),
    st.text(max_size=8),
    st.binary(max_size=8),
    st.lists(st.integers()),
)

seeds = st.one_of(st.none(), st.integers(0, 3), st.integers(0, 2**128 - 1), garbage)


def names_of(game: Game) -> st.SearchStrategy[Any]:
    """Names of agents, seldom a wrong one."""
    known = st.sampled_from([f"player_{p}" for p in range(game.num_players)])
    return st.one_of(known, known, known, st.none(), garbage)


def actions_of(game: Game) -> st.SearchStrategy[Any]:
    """Single actions, legal or not, and what is none."""
    return st.one_of(st.integers(-1, game.num_actions), garbage)


#: An entry of an array, and the bytes to overwrite it with.
entries = st.tuples(
    st.integers(0, 10**4),
    st.one_of(
        st.integers(-128, 127).map(lambda number: number.to_bytes(8, "little", signed=True)),
        st.binary(min_size=8, max_size=8),
    ),
)


def refused(call: Callable[[], Any], *kinds: type[Exception]) -> tuple[Any, str]:
    """The result of the call and "", or None and the message if it raises one of these errors."""
    try:
        return call(), ""
    except kinds as error:
        return None, str(error) or "an error without a message"


def many() -> settings:
    """Settings for examples that take a millisecond each: ten times as many as usual."""
    return settings(max_examples=10 * settings().max_examples)
