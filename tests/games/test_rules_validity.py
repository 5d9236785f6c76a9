"""States with damaged fields: they are refused, or all kernels run from them within their arrays.

Without the JIT an index beyond an array's end is an error. A negative one is not, so that here the arrays of states,
and the games' tables, refuse these too.
"""

import importlib
import signal
from collections.abc import Iterator
from contextlib import contextmanager
from types import ModuleType
from typing import Any

import numpy as np
import pytest
from option_sets import OPTIONS

import ttt_envs
from ttt_envs.core import jit
from ttt_envs.core.batch import Batch
from ttt_envs.core.game import Game
from ttt_envs.testing.positions import play_batch

pytestmark = pytest.mark.skipif(not jit.DISABLED, reason="compiled kernels have no bounds checks")

#: Seconds within which a step must end.
PATIENCE = 20


class Strict(np.ndarray):
    """An array that has no negative indices but the literal last one."""

    def __getitem__(self, index: Any) -> Any:
        check_index(index)
        return super().__getitem__(index)

    def __setitem__(self, index: Any, value: Any) -> None:
        check_index(index)
        super().__setitem__(index, value)


def check_index(index: Any) -> None:
    """Raise IndexError for a negative one."""
    for each in index if isinstance(index, tuple) else (index,):
        # A Python int below 0 was written so in the source: what is read from a state is NumPy's.
        if isinstance(each, np.integer) and each < 0:
            raise IndexError(f"negative index {index}")


class Record:
    """A state as kernels see it, with strict arrays."""

    def __init__(self, state: np.void) -> None:
        self.state = state

    def __getitem__(self, name: str) -> Any:
        value = self.state[name]
        return value.view(Strict) if isinstance(value, np.ndarray) else value

    def __setitem__(self, name: str, value: Any) -> None:
        self.state[name] = value


@contextmanager
def strict_tables(game: Game) -> Iterator[None]:
    """The arrays in a game's modules refuse negative indices."""
    changed: list[tuple[ModuleType, str, np.ndarray]] = []
    for kernel in game.rules:
        module = importlib.import_module(kernel.__module__)
        for name, value in vars(module).items():
            if isinstance(value, np.ndarray) and not isinstance(value, Strict):
                changed.append((module, name, value))
    for module, name, value in changed:
        setattr(module, name, value.view(Strict))
    try:
        yield
    finally:
        for module, name, value in changed:
            setattr(module, name, value)


@contextmanager
def within(seconds: int) -> Iterator[None]:
    """Raise TimeoutError after so long."""

    def too_long(*_: Any) -> None:
        raise TimeoutError("a kernel does not end")

    before = signal.signal(signal.SIGALRM, too_long)
    signal.alarm(seconds)
    try:
        yield
    finally:
        signal.alarm(0)
        signal.signal(signal.SIGALRM, before)


def damaged(states: np.ndarray, generator: np.random.Generator) -> tuple[np.ndarray, str]:
    """One of the states with one entry of a random field changed, structured (1,); and the field's name."""
    state = states[generator.integers(len(states))][None].copy()
    names = [name for name in state.dtype.names or () if name != "rng" and state[name].size]
    name = names[generator.integers(len(names))]
    values = state[name].ravel()
    entry = generator.integers(len(values))
    raw = values[entry : entry + 1].view(np.uint8)
    if generator.random() < 0.5:
        raw[:] = generator.integers(0, 256, len(raw))
    else:  # near what it was: of these more are accepted
        raw[0] = (int(raw[0]) + generator.integers(-2, 3)) % 256
    state[name] = values.reshape(state[name].shape)
    return state, name


def accepts(game: Game, state: np.ndarray) -> bool:
    """Whether the state is let in; the message says that it is none."""
    try:
        game.check_states(state)
    except ValueError as error:
        if "no position of" in str(error):
            return False
        raise
    return True


def look(game: Game, state: np.ndarray) -> list[np.ndarray]:
    """The masks of all players; their observations, texts and pictures are made too."""
    masks = []
    for player in range(game.num_players):
        mask, out = np.zeros(game.num_actions, np.bool_), np.zeros(game.observation_size, np.int8)
        if not state[0]["done"]:
            game.rules.legal_mask(Record(state[0]), player, mask.view(Strict))
        game.rules.observe(Record(state[0]), player, out.view(Strict))
        assert set(np.unique(out)) <= {0, 1}
        masks.append(mask)
        world = state.copy()
        game.rules.resample(Record(world[0]), player, np.uint64(player))
        game.check_states(world)
    for viewer in (None, *range(game.num_players)):
        game.format_state(state[0], viewer)
        game.draw(state[0], viewer)
    return masks


def play_on(game: Game, state: np.ndarray, generator: np.random.Generator, steps: int) -> None:
    """Play random actions from a state; each state that follows must be accepted too."""
    for _ in range(steps):
        masks = look(game, state)
        if state[0]["done"]:
            return
        actions = np.array([generator.choice(np.flatnonzero(m)) if m.any() else -1 for m in masks])
        game.rules.step(Record(state[0]), actions)
        state[0]["ply"] += 1
        assert np.isfinite(state["rewards"]).all()
        game.check_states(state)


def some_states(game: Game, seed: int) -> np.ndarray:
    """States of random play, and a few more of those in which a game is over."""
    states = play_batch(Batch(game, 2, seed=seed), min(game.max_plies, 50)).states.ravel()
    return np.concatenate([states[~states["done"]], states[states["done"]][:5]])


def attack(game: Game, times: int, steps: int, seed: int) -> tuple[int, int]:
    """Damage states; gives how many of them were accepted and refused."""
    generator = np.random.default_rng(seed)
    states = some_states(game, seed)
    accepted = 0
    with strict_tables(game):
        for _ in range(times):
            state, name = damaged(states, generator)
            before = state.copy()
            if not accepts(game, state):
                continue
            accepted += 1
            try:
                with within(PATIENCE):
                    play_on(game, state, generator, steps)
            except Exception as error:
                raise AssertionError(f"{game!r}: field {name}: {before} is accepted, then {error!r}") from error
    return accepted, times - accepted


def games(most: int | None) -> list[Game]:
    """The registry's games with so many of their option sets."""
    return [ttt_envs.load(game_id, **options) for game_id, sets in OPTIONS.items() for options in sets[:most]]


@pytest.mark.parametrize("game", games(1), ids=repr)
def test_a_damaged_state_is_refused_or_does_no_harm(game: Game) -> None:
    accepted, refused = attack(game, times=100, steps=2, seed=1)
    assert accepted > 5
    assert refused > 40


@pytest.mark.slow
@pytest.mark.parametrize("game", games(None), ids=repr)
def test_many_damaged_states_are_refused_or_do_no_harm(game: Game) -> None:
    accepted, refused = attack(game, times=3000, steps=12, seed=2)
    assert accepted > 100
    assert refused > 1000


@pytest.mark.parametrize("game", games(1), ids=repr)
def test_no_field_may_have_any_value(game: Game) -> None:
    """Each entry of each field is refused with its greatest or its least value, but the generator's."""
    state = game.new_state(3)
    for name in state.dtype.names or ():
        for entry in range(state[name].size if name != "rng" else 0):
            let_in = []
            for top in (0x7F, 0x80) if name != "rewards" else (0x7F, 0xFF):
                changed = state.copy()
                values = changed[name].ravel()
                raw = values[entry : entry + 1].view(np.uint8)
                raw[:], raw[-1] = 0xFF * (top != 0x80), top
                changed[name] = values.reshape(changed[name].shape)
                let_in.append(accepts(game, changed))
            assert let_in == [False, False], f"{name}, entry {entry}"
