"""States and texts with arbitrary damage: refused by the documented error, or positions from which all works."""

import random
from collections.abc import Callable
from functools import cache
from typing import Any

import hypothesis.strategies as st
import numpy as np
import pytest
from fuzzing import GAMES, entries, garbage, many, refused
from hypothesis import given

import ttt_envs
from tests.support.models.common import CALLS, attempt
from ttt_envs.core.game import Game
from ttt_envs.core.view import View
from ttt_envs.registry import parse_options
from ttt_envs.testing.positions import masks_of, observations_of, positions, random_actions
from ttt_envs.wrappers.aec import AECGame
from ttt_envs.wrappers.common import pack_state


@cache
def some_positions(game: Game) -> np.ndarray:
    """From starts to ends."""
    return positions(game, 40)


def use(game: Game, states: np.ndarray) -> None:
    """Everything that is done with a position, and some steps from it; the kernels leave no array of theirs."""
    generator = np.random.default_rng(0)
    for _ in range(6):
        for player in range(game.num_players):
            masks_of(game, states, player)
            observations_of(game, states, player)
            game.format_state(states[0], player)
            view = View.unchecked(game, states, np.array([player]), np.zeros(1, np.uint64))
            worlds = view.sample_worlds(1)
            assert (observations_of(game, worlds, player) == view.observations).all()
        game.format_state(states[0], None)
        game.draw(states[0], None)
        if states["done"][0]:
            break
        game.loops.step_rows(states, np.zeros(1, np.int64), random_actions(game, states, generator))


@pytest.mark.parametrize("make", GAMES)
def test_changed_fields(make: Callable[[], Game]) -> None:
    game = make()
    fields = st.sampled_from([name for name in game.state_dtype.names or () if game.state_dtype[name].itemsize])

    @given(which=st.integers(0, 10**4), changes=st.lists(st.tuples(fields, entries), min_size=1, max_size=3))
    def run(which: int, changes: list[tuple[str, tuple[int, bytes]]]) -> None:
        CALLS["states"] += 1
        states = some_positions(game)[which % len(some_positions(game))][None].copy()
        for field, (entry, value) in changes:
            start = (game.state_dtype.fields or {})[field][1]
            kind = game.state_dtype[field]
            size = kind.base.itemsize if kind.base.names is None else 1
            start += entry % (kind.itemsize // size) * size
            states.view(np.uint8)[start : start + size] = np.frombuffer(value[:size], np.uint8)
        data = pack_state(game, states[0], np.full(game.num_players, -1), np.uint64(0))
        checked, reason = refused(lambda: game.check_states(states).copy(), ValueError)
        wanted = ValueError if reason else None
        attempt(lambda: AECGame(game).set_state(data), wanted, "set_state")
        attempt(lambda: View(game, states, 0, np.zeros(1, np.uint64)), wanted, "View")
        if reason:
            assert f"no position of {game!r}" in reason
        else:
            use(game, checked)

    run()


@pytest.mark.parametrize("make", GAMES)
def test_any_bytes(make: Callable[[], Game]) -> None:
    game = make()
    size = game.state_dtype.itemsize

    @given(raw=st.binary(max_size=2 * size).map(lambda raw: (raw * size)[:size] if raw else b""), other=garbage)
    def run(raw: bytes, other: Any) -> None:
        CALLS["states"] += 1
        if raw:
            states = np.frombuffer(raw, game.state_dtype)
            checked, reason = refused(lambda: game.check_states(states).copy(), ValueError)
            if reason:
                assert f"no position of {game!r}" in reason
            else:
                use(game, checked)
        attempt(lambda: AECGame(game).set_state(raw), ValueError, "set_state")
        attempt(lambda: game.check_states(other), TypeError, "check_states")

    run()


#: What stands in texts, and what does not.
_signs = st.sampled_from(
    [*"\n\t  :|/.-+,#?!xXoO019", "-1", "99999999999999999999", "1e9", "²", "½", "٣", "\0", "é", "\ud800"]
)


@st.composite
def damaged_texts(draw: st.DrawFn, text: str) -> str:
    """A text in which some parts are missing, doubled, exchanged or others."""
    for _ in range(draw(st.integers(1, 3))):
        low = draw(st.integers(0, len(text)))
        high = min(len(text), low + draw(st.integers(0, 12)))
        part = draw(st.one_of(st.just(""), _signs, st.text(max_size=4), st.just(2 * text[low:high])))
        if draw(st.integers(0, 4)) == 0:
            lines = text.split("\n")
            random.Random(low).shuffle(lines)
            text = "\n".join(lines[draw(st.integers(0, 1)) :])
        else:
            text = text[:low] + part + text[high:]
    return text


@pytest.mark.parametrize("make", GAMES)
def test_texts_of_positions(make: Callable[[], Game]) -> None:
    game = make()
    texts = [game.format_state(state, None) for state in some_positions(game)[::8]]

    @given(text=st.one_of(st.sampled_from(texts).flatmap(damaged_texts), st.text(max_size=40)), other=garbage)
    def run(text: str, other: Any) -> None:
        CALLS["texts"] += 1
        states, reason = refused(lambda: game.parse_state(text), ValueError)
        if not reason:
            game.check_states(states)
            use(game, states.copy())
            again = game.format_state(game.parse_state(game.format_state(states[0], None))[0], None)
            assert again == game.format_state(states[0], None)
        if not isinstance(other, str):
            attempt(lambda: game.parse_state(other), TypeError, "parse_state")

    run()


@pytest.mark.parametrize("make", GAMES)
def test_texts_of_actions_and_options(make: Callable[[], Game]) -> None:
    game = make()
    options = [f"{name}={value}" for name, value in game.options.items()] or ["a=b"]

    @many()
    @given(
        action=st.sampled_from(game.action_names).flatmap(damaged_texts),
        option=st.sampled_from(options).flatmap(damaged_texts),
    )
    def run(action: str, option: str) -> None:
        CALLS["texts"] += 2
        number, reason = refused(lambda: game.parse_action(action), ValueError)
        assert reason or 0 <= number < game.num_actions
        if game.id in ttt_envs.GAMES:
            refused(lambda: ttt_envs.load(game.id, **parse_options(game.id, [option])), TypeError, ValueError)

    run()
