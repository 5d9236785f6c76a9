"""In a state whose fields lie in their ranges, and in all that play makes of it, kernels stay in their arrays and end.

They run as plain Python here, in which an index below zero or too large is an error.
"""

import signal
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from typing import Any

import numpy as np
import pytest
from garbage import refused
from guarded import Record, guarded, plain
from option_sets import OPTIONS

import ttt_envs
from ttt_envs.core.game import Game
from ttt_envs.core.state import SIMULTANEOUS
from ttt_envs.games.tic_tac_match import rules as match_rules

#: Seconds within which a state must be played on.
PATIENCE = 60


@contextmanager
def within(seconds: int) -> Iterator[None]:
    def too_long(*_: Any) -> None:
        raise TimeoutError("a kernel does not end")

    before = signal.signal(signal.SIGALRM, too_long)
    signal.alarm(seconds)
    try:
        yield
    finally:
        signal.alarm(0)
        signal.signal(signal.SIGALRM, before)


def random_state(game: Game, generator: np.random.Generator) -> np.ndarray:
    """Any values in their ranges, structured (1,): the least and the greatest ones often, and some as at the start."""
    state = game.new_state(int(generator.integers(1000)))
    fits_often = generator.random()
    for name, given in game.ranges.items():
        values = state[name][0]
        if given.is_option or generator.random() < fits_often:
            continue
        high = state[given.high][0] if isinstance(given.high, str) else given.high
        low, high = (np.broadcast_to(np.asarray(each, np.int64), values.shape) for each in (given.low, high))
        drawn = generator.integers(low, high + 1)
        extreme = generator.integers(0, 2, values.shape) * (high - low) + low
        state[name][0] = np.where(generator.random(values.shape) < generator.random(), extreme, drawn)
    state["ply"] = generator.choice([0, 1, game.max_plies - 1, generator.integers(game.max_plies)])
    state["to_move"] = generator.integers(SIMULTANEOUS if game.simultaneous else 0, game.num_players)
    return state


class Kernels:
    def __init__(self, game: Game) -> None:
        self.game = game
        kernels = game.kernels
        self.step, self.legal_mask, self.observe = map(plain, (kernels.step, kernels.legal_mask, kernels.observe))
        self.resample = plain(kernels.resample)
        self.is_legal, self.random_action = (each and plain(each) for each in (kernels.is_legal, kernels.random_action))
        self.find = game.patterns and plain(game.patterns.find)

    def masks(self, state: np.ndarray) -> np.ndarray:
        masks = np.zeros((self.game.num_players, self.game.num_actions), np.bool_)
        for player in range(self.game.num_players if not state[0]["done"] else 0):
            self.legal_mask(Record(state, 0), player, guarded(masks[player]))
        return masks

    def look(self, state: np.ndarray, masks: np.ndarray) -> None:
        """Ask everything about a state: observations, worlds, patterns, texts, pictures."""
        game = self.game
        for player in range(game.num_players):
            out = np.zeros(game.observation_size, np.int8)
            self.observe(Record(state, 0), player, guarded(out))
            assert set(np.unique(out)) <= {0, 1}
            self.resample(Record(state.copy(), 0), player, np.uint64(player))
            if self.is_legal is not None and not state[0]["done"]:
                legal = [self.is_legal(Record(state, 0), player, action) for action in range(game.num_actions)]
                assert legal == masks[player].tolist()
            if self.random_action is not None and masks[player].any():
                assert masks[player][self.random_action(Record(state, 0), player, np.uint64(2**64 // 3))]
            if self.find is not None:
                found = np.zeros(game.patterns.number, np.int64)
                self.find(Record(state, 0), player, guarded(found))
                assert (found >= 0).all()
                assert (found < game.patterns.size).all()
        for viewer in (None, *range(game.num_players)):
            game.format_state(state[0], viewer)
            game.draw(state[0], viewer)
        for symmetry in game.symmetries:
            symmetry.states(state)

    def play_on(self, state: np.ndarray, generator: np.random.Generator, steps: int) -> None:
        """Play random actions: until the end there is always one, and each is a step forward."""
        for _ in range(steps):
            masks = self.masks(state)
            self.look(state, masks)
            if state[0]["done"]:
                return
            assert masks.any(), "nobody can act"
            actions = np.array([generator.choice(np.flatnonzero(m)) if m.any() else -1 for m in masks])
            before = state[0]["ply"]
            self.step(Record(state, 0), actions)
            assert state[0]["ply"] == before, "a legal action was refused"
            state[0]["ply"] += 1


def is_accepted(game: Game, state: np.ndarray) -> bool:
    try:
        game.check_states(state)
    except ValueError as error:
        if "nobody has a legal action" in str(error):
            return False
        raise
    return True


def attack(game: Game, times: int, steps: int, seed: int) -> int:
    generator, kernels, accepted = np.random.default_rng(seed), Kernels(game), 0
    for _ in range(times):
        state = random_state(game, generator)
        before = state.copy()
        try:
            with within(PATIENCE), np.errstate(over="ignore"):
                if is_accepted(game, state):
                    accepted += 1
                    kernels.play_on(state, generator, steps)
                else:  # its masks were asked to find out
                    kernels.masks(state)
        except Exception as error:
            raise AssertionError(f"{game!r}: from {before}: {error!r}") from error
    return accepted


EVERY = [ttt_envs.load(game_id, **options) for game_id, sets in OPTIONS.items() for options in sets]
#: One of each game, of whose presets one is enough.
FIRST = list({game.kernels: game for game in reversed(EVERY)}.values())


@pytest.fixture(autouse=True)
def few_deals(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(match_rules, "MOST_DEALS", 20)
    monkeypatch.setattr(match_rules, "MOST_EXCHANGES", 20)


@pytest.mark.parametrize("game", FIRST, ids=repr)
def test_a_state_within_its_ranges_does_no_harm(game: Game) -> None:
    assert attack(game, times=20, steps=3, seed=1) > 3


@pytest.mark.slow
@pytest.mark.parametrize("game", EVERY, ids=repr)
def test_many_states_within_their_ranges_do_no_harm(game: Game) -> None:
    assert attack(game, times=60, steps=20, seed=2) > 10


ORACLES = [
    ttt_envs.load("super_tic_tac_toe"),
    ttt_envs.load("martian_tic_tac_toe"),
    ttt_envs.load("tic_tac_dice", rounds="single"),
    ttt_envs.load("operation_tic_tac_toe", mode="round", max_idle_turns=3),
    pytest.param(ttt_envs.load("operation_tic_tac_toe"), marks=pytest.mark.slow),
]


@pytest.mark.parametrize("game", ORACLES, ids=repr)
def test_an_oracle_answers_or_refuses_any_state(game: Game) -> None:
    generator, oracle, answered = np.random.default_rng(0), game.oracle(), 0
    for _ in range(150):
        state = random_state(game, generator)
        for ask in (oracle.value, oracle.action_values, oracle.policy):
            _, reason = refused(partial(ask, state, 0), ValueError)
            answered += not reason
    assert answered > 8


@pytest.mark.parametrize("game", FIRST, ids=repr)
def test_no_field_may_have_any_value(game: Game) -> None:
    state = game.new_state(3)
    for name in state.dtype.names or ():
        for entry in range(state[name].size if name != "rng" else 0):
            for top in (0x7F, 0x80) if name != "rewards" else (0x7F, 0xFF):
                changed = state.copy()
                values = changed[name].ravel()
                raw = values[entry : entry + 1].view(np.uint8)
                raw[:], raw[-1] = 0xFF * (top != 0x80), top
                changed[name] = values.reshape(changed[name].shape)
                with pytest.raises(ValueError, match="no position of"):
                    game.check_states(changed)
