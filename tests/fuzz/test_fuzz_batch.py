"""Batch: arbitrary calls in arbitrary order do what the model does, or fail and change nothing."""

from collections.abc import Callable
from itertools import product
from typing import Any

import hypothesis.strategies as st
import numpy as np
import pytest
import toy_coin
from fuzzing import GAMES, actions_of, garbage, seeds
from hypothesis import settings
from hypothesis.stateful import RuleBasedStateMachine, initialize, rule, run_state_machine_as_test

from tests.support.models.batch import BatchModel
from tests.support.models.common import GARBAGE, fault_of_seed
from ttt_envs.core.game import Game

choices = st.integers(0, 2**32).map(np.random.default_rng)


class BatchCalls(RuleBasedStateMachine):
    """The calls of a Batch."""

    def __init__(self, game: Game) -> None:
        """`game`: that of the Batch."""
        super().__init__()
        self.game = game

    @initialize(n=st.integers(1, 4), seed=st.integers(0, 9), auto_reset=st.booleans())
    def make(self, n: int, seed: int, auto_reset: bool) -> None:
        self.n = n
        self.model = BatchModel(self.game, n, seed, auto_reset)

    @rule(generator=choices, times=st.integers(1, 30), unchecked=st.booleans())
    def play(self, generator: np.random.Generator, times: int, unchecked: bool) -> None:
        for _ in range(times):
            self.model.step(self.model.legal(generator), unchecked)

    @rule(generator=choices, data=st.data())
    def step(self, generator: np.random.Generator, data: st.DataObject) -> None:
        """Actions of which one may be wrong."""
        actions: Any = self.model.legal(generator)
        if data.draw(st.booleans()):
            actions = actions.max(axis=1)
        wrong = data.draw(actions_of(self.game))
        if isinstance(wrong, int) and abs(wrong) < 2**63:
            actions.flat[data.draw(st.integers(0, actions.size - 1))] = wrong
        elif data.draw(st.booleans()):
            actions = actions.tolist()
            actions[data.draw(st.integers(0, self.n - 1))] = wrong
        self.model.step(actions)

    @rule(actions=garbage)
    def step_nonsense(self, actions: Any) -> None:
        self.model.step(actions)

    def rows(self, data: st.DataObject) -> Any:
        """Numbers of games, often good ones."""
        good = st.lists(st.integers(0, self.n - 1), unique=True)
        flags = st.lists(st.booleans(), min_size=self.n, max_size=self.n)
        slices = st.slices(self.n)
        return data.draw(st.one_of(good, good, flags, slices, st.lists(st.integers(-2, self.n)), garbage))

    @rule(generator=choices, data=st.data())
    def step_rows(self, generator: np.random.Generator, data: st.DataObject) -> None:
        rows = self.rows(data)
        actions: Any = self.model.legal(generator)
        if self.model.fault_of_rows(rows) is None:
            actions = actions[self.model._games(rows)]
        self.model.step_rows(rows, data.draw(st.one_of(st.just(actions), garbage)))

    @rule(data=st.data())
    def reset_rows(self, data: st.DataObject) -> None:
        self.model.reset_rows(self.rows(data))

    @rule(seed=seeds)
    def reset(self, seed: Any) -> None:
        self.model.reset(seed)

    @rule(data=st.data())
    def look(self, data: st.DataObject) -> None:
        one = st.integers(-1, self.game.num_players)
        self.model.look(data.draw(st.one_of(one, st.lists(one, min_size=self.n, max_size=self.n), garbage)))

    @rule(data=st.data(), what=st.sampled_from(["observations", "masks", "garbage"]))
    def fill(self, data: st.DataObject, what: str) -> None:
        if what == "garbage":
            self.model.fill(data.draw(garbage))
            return
        columns = self.game.observation_size if what == "observations" else self.game.num_actions
        shape = (self.n + data.draw(st.integers(-1, 1)), columns + data.draw(st.integers(-1, 1)))
        dtype = data.draw(st.sampled_from([bool, np.int8, np.uint8, np.int64]))
        out = np.zeros(shape, dtype, order=data.draw(st.sampled_from(["C", "F"])))
        out.setflags(write=data.draw(st.booleans()))
        self.model.fill(out)


@pytest.mark.parametrize("make", GAMES)
def test_any_calls(make: Callable[[], Game]) -> None:
    game = make()
    run_state_machine_as_test(lambda: BatchCalls(game), settings=settings())


def test_all_garbage_everywhere() -> None:
    """At the start and in a game: each wrong value as each argument."""
    game = toy_coin.make(players=3)
    model = BatchModel(game, 3, seed=1, auto_reset=False)
    generator = np.random.default_rng(0)
    numbers = [
        game.num_players,
        (-1, 0, 0),
        (0, 1, 99),
        (0, 0, 1),
        [0.5],
        ["0", "1", "2"],
        (True, False, True),
        [3],
        [-1],
        None,
    ]
    for _ in range(2):
        for wrong in (*GARBAGE, *numbers, np.array([2**63 + 1], np.uint64)):
            model.look(wrong)
            model.step(wrong)
            model.step_rows(wrong, model.legal(generator))
            model.step_rows([0], wrong)
            model.fill(wrong)
            if model.fault_of_rows(wrong):
                model.reset_rows(wrong)
            if fault_of_seed(wrong):
                model.reset(wrong)
        model.step(model.legal(generator))
    for columns in (game.num_actions, game.observation_size):
        for rows, dtype, order, write in product((0, 2, 3), (bool, np.int8, np.uint8, np.int64), "CF", (True, False)):
            for out in (np.zeros((rows, columns), dtype, order), np.zeros((rows, columns - 1), dtype), np.zeros(rows)):
                out.setflags(write=write)
                model.fill(out)


def test_the_model_notices_what_is_wrong() -> None:
    model = BatchModel(GAMES[-1].values[0](), 3, seed=1, auto_reset=False)
    model.batch.states["ply"][1] += 1
    with pytest.raises(AssertionError, match="states are not those"):
        model.check()
    model = BatchModel(GAMES[-1].values[0](), 3, seed=1, auto_reset=False)
    model.batch._check_legal = lambda rows, joint: None  # type: ignore[method-assign]
    with pytest.raises(AssertionError, match="raises no"):
        model.step(np.full((3, 3), 2))
