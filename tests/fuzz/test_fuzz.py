"""Arbitrary calls and files: nothing crashes, errors are documented ones, and what was called works after a reset."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import hypothesis.strategies as st
import numpy as np
import pytest
import toy_coin
from garbage import GARBAGE, refused
from hypothesis import given, settings
from hypothesis.stateful import RuleBasedStateMachine, rule, run_state_machine_as_test
from option_sets import OPTIONS

import ttt_envs
from ttt_envs import agents
from ttt_envs.agents.networks import BadNetworkFile, NetworkInfo, load_network, save_network
from ttt_envs.agents.tabular import ActionTable, load_table
from ttt_envs.core.batch import Batch
from ttt_envs.core.game import Game
from ttt_envs.core.view import View
from ttt_envs.registry import parse_options
from ttt_envs.storage.tables import BadTable, read_table, write_table
from ttt_envs.storage.tensors import BadTensorFile
from ttt_envs.testing.positions import positions, random_actions
from ttt_envs.wrappers.aec import AECGame
from ttt_envs.wrappers.parallel import ParallelGame

SUPER = "super_tic_tac_toe"

#: The errors that a wrong call may raise; an illegal action is a ValueError.
DOCUMENTED = TypeError, ValueError, RuntimeError

#: By default a game with hidden hands and one in which players choose at once; the others are slow.
GAMES = [
    pytest.param(
        lambda game_id=game_id: ttt_envs.load(game_id, **OPTIONS[game_id][0]),
        marks=[] if game_id in ("tic_tac_match", "operation_tic_tac_toe") else [pytest.mark.slow],
        id=game_id,
    )
    for game_id in OPTIONS
]
GAMES.append(pytest.param(lambda: toy_coin.make(players=3, tosses=2), id="toy_coin"))
every_game = pytest.mark.parametrize("make", GAMES)

#: Arguments of all calls: often what may be right.
arguments = st.one_of(
    st.integers(-1, 90),
    st.sampled_from(["player_0", "player_1"]),
    st.lists(st.integers(-1, 90), max_size=4),
    st.dictionaries(st.sampled_from(["player_0", "player_1", "player_2"]), st.integers(-1, 240), max_size=3),
    st.sampled_from(GARBAGE),
    st.binary(max_size=300),
    st.text(max_size=8),
)


class Calls(RuleBasedStateMachine):
    #: Names of methods that take one argument, and of those that take none.
    one: tuple[str, ...] = ("reset", "step", "observe", "action_masks", "view", "text", "set_state")
    none: tuple[str, ...] = ("get_state", "last", "render", "close")

    def __init__(self, made: Any) -> None:
        super().__init__()
        self.made, self.saved = made, [b""]

    @rule(name=st.sampled_from(one), argument=arguments)
    def call(self, name: str, argument: Any) -> None:
        if hasattr(self.made, name):
            refused(lambda: getattr(self.made, name)(argument), *DOCUMENTED)

    @rule(name=st.sampled_from(none))
    def ask(self, name: str) -> None:
        if hasattr(self.made, name):
            found, _ = refused(getattr(self.made, name), *DOCUMENTED)
            self.saved += [found] if name == "get_state" and found else []

    @rule(data=st.data(), at=st.integers(0, 400), by=st.binary(max_size=3))
    def go_back(self, data: st.DataObject, at: int, by: bytes) -> None:
        saved = data.draw(st.sampled_from(self.saved))
        refused(lambda: self.made.set_state(saved[:at] + by + saved[at + len(by) :]), ValueError)

    @rule(seed=st.integers(0, 9), times=st.integers(1, 20))
    def play(self, seed: int, times: int) -> None:
        self.made.reset(seed=seed)
        for _ in range(times):
            self.move()

    def move(self) -> None:
        if not self.made.agents:
            return
        if isinstance(self.made, ParallelGame):
            self.made.step({name: int(self.made.action_masks(name).argmax()) for name in self.made.agents})
        else:
            over = self.made.terminations[self.made.agent_selection]
            self.made.step(None if over else int(self.made.action_masks(self.made.agent_selection).argmax()))

    def teardown(self) -> None:
        self.play(1, 3)


class BatchCalls(Calls):
    @rule(
        name=st.sampled_from(["step", "reset", "reset_rows", "set_states", "observations", "masks"]), argument=arguments
    )
    def call(self, name: str, argument: Any) -> None:
        refused(lambda: getattr(self.made, name)(argument), *DOCUMENTED)

    @rule(rows=arguments, actions=arguments)
    def step_rows(self, rows: Any, actions: Any) -> None:
        refused(lambda: self.made.step(actions, rows), *DOCUMENTED)

    def ask(self) -> None:
        """A Batch has none of these."""

    def go_back(self) -> None:
        """Nor bytes to go back to."""

    def move(self) -> None:
        self.made.step(random_actions(self.made.game, self.made.states, np.random.default_rng(0)))


@every_game
@pytest.mark.parametrize("kind", ["aec", "aec lose", "parallel", "batch"])
def test_calls(make: Callable[[], Game], kind: str) -> None:
    game = make()
    makers: dict[str, Callable[[], Calls]] = {
        "aec": lambda: Calls(AECGame(game, illegal="raise", render_mode="ansi")),
        "aec lose": lambda: Calls(AECGame(game, illegal="lose")),
        "parallel": lambda: Calls(ParallelGame(game, render_mode="ansi")),
        "batch": lambda: BatchCalls(Batch(game, 3, seed=0)),
    }
    run_state_machine_as_test(makers[kind], settings=settings())


def use(game: Game, states: np.ndarray) -> None:
    """What is done with a position, and some steps from it."""
    for _ in range(6):
        view = View.unchecked(game, states, np.zeros(1, np.int64), np.zeros(1, np.uint64))
        _ = view.observations, view.masks, view.sample_worlds(1)
        game.format_state(states[0])
        game.draw(states[0])
        if states["done"][0]:
            break
        actions = random_actions(game, states, np.random.default_rng(0))
        game.loops.step_rows(states, np.zeros(1, np.int64), actions)


@every_game
def test_states_and_texts(make: Callable[[], Game]) -> None:
    game = make()
    some, size = positions(game, 40), game.state_dtype.itemsize
    texts = [game.format_state(state, None) for state in some[::8]]

    @given(which=st.integers(0, 39), changes=st.lists(st.tuples(st.integers(0, size - 1), st.binary(max_size=2))))
    def states(which: int, changes: list[tuple[int, bytes]]) -> None:
        data = bytearray(some[which % len(some)].tobytes())
        for at, by in changes:
            data[at : at + len(by)] = by
        crafted = np.frombuffer(data[:size], game.state_dtype)
        checked, reason = refused(lambda: game.check_states(crafted), ValueError)
        if not reason:
            use(game, checked.copy())

    @given(whole=st.sampled_from([*texts, game.action_names[-1]]), data=st.data())
    def words(whole: str, data: st.DataObject) -> None:
        text = data.draw(damaged(whole.encode())).decode(errors="replace")
        found, reason = refused(lambda: game.parse_state(text), ValueError)
        if not reason:
            use(game, found.copy())
        refused(lambda: game.parse_action(text), ValueError)
        refused(lambda: parse_options(SUPER, [f"won_boards={text}", text]), ValueError)

    states()
    words()


@st.composite
def damaged(draw: st.DrawFn, whole: bytes) -> bytes:
    """A file that ends early, or in which bytes are missing, more or others; most often in the first part."""
    low = draw(st.one_of(st.integers(0, min(len(whole), 700)), st.integers(0, len(whole))))
    high = low + draw(st.one_of(st.integers(0, 8), st.just(len(whole))))
    return whole[:low] + draw(st.one_of(st.just(b""), st.binary(max_size=16), st.just(bytes(99)))) + whole[high:]


def network(path: Path) -> None:
    game = ttt_envs.load(SUPER)
    sizes = game.observation_size, game.num_actions, (4,)
    info = NetworkInfo(SUPER, dict(game.options), "policy+value", *sizes, 7, separate=True)
    save_network(path, info, {name: np.ones(shape, np.float32) for name, shape in info.shapes().items()})


def values(path: Path) -> None:
    game = ttt_envs.load(SUPER)
    facts = {"game": SUPER, "options": dict(game.options), "inputs": 191, "actions": 81, "steps": 3}
    ActionTable(np.arange(1, 4, dtype=np.uint64), np.ones(3, np.float32)).save(path, facts)


FILES: dict[str, tuple[Callable[[Path], Any], Callable[[Path], Any], type[Exception]]] = {
    "network": (network, load_network, BadNetworkFile),
    "agent": (network, lambda path: agents.load(f"network:{path}").check(ttt_envs.load(SUPER)), BadNetworkFile),
    "values": (values, load_table, BadTensorFile),
    "solved": (
        lambda path: write_table(path, "some_game", {"version": 1}, bytes(999)),
        lambda path: read_table(path, "some_game", {"version": 1}),
        BadTable,
    ),
}


@pytest.mark.parametrize("name", FILES)
def test_files(tmp_path: Path, name: str) -> None:
    write, read, kind = FILES[name]
    path = tmp_path / "some.safetensors"
    write(path)
    read(path)

    @settings(max_examples=10 * settings().max_examples)
    @given(data=damaged(path.read_bytes()))
    def run(data: bytes) -> None:
        path.write_bytes(data)
        _, reason = refused(lambda: read(path), kind)
        assert str(path) in reason or not reason

    run()
