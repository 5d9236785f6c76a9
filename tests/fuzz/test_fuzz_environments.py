"""AEC and Parallel: arbitrary calls in arbitrary order do what the model does, or fail and change nothing."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import hypothesis.strategies as st
import pytest
import toy_coin
from fuzzing import GAMES, actions_of, entries, garbage, names_of, seeds
from hypothesis import settings
from hypothesis.stateful import RuleBasedStateMachine, precondition, rule, run_state_machine_as_test

from tests.support.models.common import GARBAGE, fault_of_number, fault_of_seed
from tests.support.models.environments import AecModel, ParallelModel, fault_of_choice
from ttt_envs.core.game import Game


class Calls(RuleBasedStateMachine):
    """The calls that both environments take."""

    model: AecModel | ParallelModel

    def __init__(self, model: AecModel | ParallelModel) -> None:
        """`model`: the environment under test."""
        super().__init__()
        self.model = model

    @rule(seed=seeds)
    def reset(self, seed: Any) -> None:
        self.model.reset(seed)

    @rule(data=st.data())
    def ask(self, data: st.DataObject) -> None:
        self.model.ask(data.draw(names_of(self.model.game)))

    @rule()
    def save(self) -> None:
        self.model.save()

    @precondition(lambda self: self.model.saved)
    @rule(data=st.data(), cut=st.integers(-400, 0))
    def go_back(self, data: st.DataObject, cut: int) -> None:
        saved, reached = data.draw(st.sampled_from(self.model.saved))
        self.model.set_state(saved[:cut] if cut < -200 else saved, reached)

    @rule(what=garbage)
    def go_nowhere(self, what: Any) -> None:
        self.model.set_state(what)

    @rule(data=st.data(), changes=st.lists(entries, min_size=1, max_size=3))
    def go_to_a_crafted_position(self, data: st.DataObject, changes: list[tuple[int, bytes]]) -> None:
        fields = self.model.game.state_dtype.names
        for entry, value in changes:
            self.model.set_state(self.model.crafted(data.draw(st.sampled_from(fields)), entry, value))

    @rule()
    def close(self) -> None:
        self.model.close()


class AecCalls(Calls):
    """The calls of an AEC environment."""

    model: AecModel

    @rule(choices=st.lists(st.integers(0, 10**6), min_size=1, max_size=30))
    def play(self, choices: list[int]) -> None:
        """Legal actions, and at the end what takes an agent out."""
        for choice in choices:
            legal = self.model.legal()
            self.model.step(int(legal[choice % len(legal)]) if len(legal) else None)

    @rule(data=st.data())
    def step(self, data: st.DataObject) -> None:
        self.model.step(data.draw(actions_of(self.model.game)))

    @rule(data=st.data())
    def observe(self, data: st.DataObject) -> None:
        self.model.observe(data.draw(names_of(self.model.game)))


class ParallelCalls(Calls):
    """The calls of a Parallel environment."""

    model: ParallelModel

    def answers(self, choice: int) -> dict[str, Any]:
        """A legal action for each, or `wait`."""
        found = {}
        for name, legal in zip(self.model.names, self.model.legal(), strict=True):
            numbers = legal.nonzero()[0]
            found[name] = int(numbers[choice % len(numbers)])
        return found

    @rule(choices=st.lists(st.integers(0, 10**6), min_size=1, max_size=30))
    def play(self, choices: list[int]) -> None:
        for choice in choices:
            self.model.step(self.answers(choice))

    @rule(data=st.data(), choice=st.integers(0, 10**6))
    def step(self, data: st.DataObject, choice: int) -> None:
        game = self.model.game
        changed = data.draw(st.dictionaries(names_of(game).filter(_hashable), actions_of(game), max_size=2))
        self.model.step({**self.answers(choice), **changed})

    @rule(actions=garbage)
    def step_nonsense(self, actions: Any) -> None:
        self.model.step(actions)


def _hashable(value: Any) -> bool:
    try:
        hash(value)
    except TypeError:
        return False
    return True


@pytest.mark.parametrize("make", GAMES)
@pytest.mark.parametrize(("model", "calls"), [(AecModel, AecCalls), (ParallelModel, ParallelCalls)], ids=["aec", "par"])
@pytest.mark.parametrize("illegal", ["lose", pytest.param("raise", marks=pytest.mark.slow)])
def test_any_calls(make: Callable[[], Game], model: Any, calls: Any, illegal: str) -> None:
    game = make()
    encoding = "planes" if illegal == "raise" and game.has_planes else "flat"
    run_state_machine_as_test(lambda: calls(model(game, illegal, encoding)), settings=settings())


@pytest.mark.parametrize("model", [AecModel, ParallelModel])
def test_all_garbage_everywhere(model: Any) -> None:
    """Before the first reset, in a game, after its end, and after all agents have left."""
    for illegal in ("lose", "raise"):
        watched = model(toy_coin.make(players=3), illegal)
        _garbage(watched)
        watched.reset(1)
        before = watched.env.get_state()
        _garbage(watched)
        assert watched.env.get_state() == before, "a seed, a position or an action of garbage was taken"
        play = AecCalls.play if model is AecModel else ParallelCalls.play
        while not watched.states["done"][0]:
            play(Held(watched), [0])  # type: ignore[arg-type]
        _garbage(watched)
        while watched.env.agents:
            play(Held(watched), [0])  # type: ignore[arg-type]
        _garbage(watched)


@dataclass
class Held:
    """What `play` of the machines above needs of one of them."""

    model: Any

    def answers(self, choice: int) -> dict[str, Any]:
        return ParallelCalls.answers(self, choice)  # type: ignore[arg-type]


def _garbage(watched: Any) -> None:
    """All that may be passed by mistake, as each argument of each call; what would be right is left out."""
    for wrong in GARBAGE:
        watched.ask(wrong)
        watched.set_state(wrong)
        if fault_of_seed(wrong):
            watched.reset(wrong)
        if isinstance(watched, AecModel):
            watched.observe(wrong)
            if fault_of_number(wrong, watched.game.num_actions) and wrong is not None:
                watched.step(wrong)
        elif fault_of_choice(wrong, watched.game.num_actions + 1):
            watched.step(wrong)
            watched.step(dict.fromkeys(watched.names, wrong))
    if not isinstance(watched, AecModel):
        for names in ([], watched.names[:1], [*watched.names, "player_9"], ["X", "O"]):
            watched.step(dict.fromkeys(names, 0))


@pytest.mark.parametrize("model", [AecModel, ParallelModel])
def test_the_model_notices_what_is_wrong(model: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    game = GAMES[-1].values[0]()
    watched = model(game)
    watched.reset(1)
    watched.env._states["ply"] += 1
    with pytest.raises(AssertionError, match="not that of the model"):
        watched.check()
    watched.reset(2)
    monkeypatch.setattr(type(watched.env), "text", lambda self, name: 1 / 0)
    with pytest.raises(AssertionError, match=r"text.* raises ZeroDivisionError"):
        watched.ask("player_0")
