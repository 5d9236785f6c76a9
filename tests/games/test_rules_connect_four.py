"""A game outside the package: the example Connect Four, copied elsewhere and registered."""

import shutil
import sys
import warnings
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType

import gymnasium
import numpy as np
import pettingzoo
import pytest
from changed import changed
from option_sets import compiled_late, late

import ttt_envs
from ttt_envs import registry
from ttt_envs.core.compile import jit
from ttt_envs.core.game import Game
from ttt_envs.testing import check_game
from ttt_envs.testing.positions import masks_of, play_batch

EXAMPLE = Path(__file__).resolve().parents[2] / "examples" / "connect_four"
ID = "connect_four"


def forget(game_id: str) -> None:
    """Undo `register`, which is for the whole process."""
    if game_id in registry.GAMES:
        ttt_envs.unregister(game_id)


@pytest.fixture(scope="module")
def module(tmp_path_factory) -> Iterator[ModuleType]:
    folder = tmp_path_factory.mktemp("elsewhere")
    shutil.copytree(EXAMPLE, folder / ID, ignore=shutil.ignore_patterns("__pycache__"))
    sys.path.insert(0, str(folder))
    try:
        import connect_four

        assert Path(connect_four.__file__).is_relative_to(folder)
        yield connect_four
    finally:
        sys.path.remove(str(folder))
        for name in [name for name in sys.modules if name.split(".")[0] == ID]:
            del sys.modules[name]
        forget(ID)


@pytest.fixture
def game(module) -> Game:
    return ttt_envs.load(ID)


class SlowConnectFour:
    """Seven strings, the columns, each from the bottom."""

    def __init__(self, line: int) -> None:
        self.columns, self.line, self.plies = [""] * 7, line, 0

    def free(self) -> list[int]:
        return [c for c, column in enumerate(self.columns) if len(column) < 6]

    def drop(self, column: int) -> None:
        self.columns[column] += "XO"[self.plies % 2]
        self.plies += 1

    def cell(self, row: int, column: int) -> str:
        inside = 0 <= row < 6 and 0 <= column < 7
        return (self.columns[column] + "......")[row] if inside else " "

    def winner(self) -> str | None:
        directions = (0, 1), (1, 0), (1, 1), (-1, 1)
        for row in range(6):
            for column in range(7):
                for up, right in directions:
                    marks = {self.cell(row + k * up, column + k * right) for k in range(self.line)}
                    if marks in ({"X"}, {"O"}):
                        return marks.pop()
        return None


@late
@pytest.mark.parametrize("line", [3, 4])
def test_fast_and_slow_agree(module, line):
    game = ttt_envs.load(ID, line=line)
    play = play_batch(ttt_envs.Batch(game, 20 if jit.DISABLED else 60, seed=1), game.max_plies)
    ends = set()
    for i in range(play.states.shape[1]):
        slow = SlowConnectFour(line)
        for ply, state in enumerate(play.states[:, i]):
            board = [[".XO".index(slow.cell(5 - row, column)) for column in range(7)] for row in range(6)]
            assert state["cells"].tolist() == board
            mover = slow.plies % 2
            winner = slow.winner()
            over = winner is not None or slow.plies == 42
            assert state["done"] == over
            legal = np.flatnonzero(masks_of(game, play.states[ply, i : i + 1], mover)[0])
            assert legal.tolist() == ([] if over else slow.free())
            if over:
                assert state["rewards"].tolist() == {"X": [1, -1], "O": [-1, 1], None: [0, 0]}[winner]
                ends.add(winner)
                break
            assert state["to_move"] == mover
            slow.drop(int(play.actions[ply, i].max()))
    assert ends >= {"X", "O"}


def test_positions_that_cannot_be_are_refused(game):
    start = game.format_state(game.new_state()[0])
    assert game.parse_state(start).tobytes() == game.prototype.tobytes()
    with pytest.raises(ValueError, match="first line must be"):
        game.parse_state(start.replace("X to move", "X wins"))
    floating = start.replace("X to move\n. . .", "O to move\nX . .")
    with pytest.raises(ValueError, match="nothing below it"):
        game.parse_state(floating)
    with pytest.raises(ValueError, match="6 rows of 7"):
        game.parse_state("")


# Compiled, it is checked by the commands of docs/your_own_game.md.
@pytest.mark.parametrize("line", [compiled_late(4), pytest.param(3, marks=pytest.mark.slow)])
def test_it_passes_every_check(module, line):
    check_game(ttt_envs.load(ID, line=line))


# --- the registry ---


def test_it_is_registered_like_a_game_of_the_package(game):
    assert list(registry.GAMES)[-1] == ID
    assert ttt_envs.load(f"{ID}:make") is game
    assert ttt_envs.load(ID, line=5).options == {"line": 5, "rows": 6, "columns": 7}
    with pytest.raises(TypeError, match=r"connect_four: unknown option 'lines'.*line"):
        ttt_envs.load(ID, lines=5)
    single = gymnasium.make("ttt_envs/ConnectFour-v0", opponent="greedy")
    observation, _ = single.reset(seed=0)
    assert observation["observation"].shape == (85,)


@pytest.mark.skipif(not hasattr(pettingzoo, "make"), reason="PettingZoo has a registry from 1.27 on")
def test_it_is_registered_with_pettingzoo(module):
    aec = pettingzoo.make("aec", f"ttt_envs/{ID}-v0", line=3, render_mode="ansi")
    aec.reset(seed=0)
    assert aec.render().startswith("X to move\n. . . . . . .")
    parallel = pettingzoo.make("parallel", f"ttt_envs/{ID}-v0")
    assert parallel.reset(seed=0)[0]["player_1"]["action_mask"].tolist() == [0] * 7 + [1]


def test_a_taken_or_bad_id_is_refused(module, tmp_path):
    with pytest.raises(ValueError, match="'connect_four' is taken, by <function make"):
        ttt_envs.register(ID, lambda: module.make())
    with pytest.raises(ValueError, match=r"'tic_tac_dice' is taken, by 'ttt_envs\.games\.tic_tac_dice:make'"):
        ttt_envs.register("tic_tac_dice", module.make)
    with pytest.raises(ValueError, match="lower-case words with underscores"):
        ttt_envs.register("4_in_a_row", module.make)
    with pytest.raises(ValueError, match="must be a function or"):
        ttt_envs.register("another", "connect_four.make")
    with pytest.raises(TypeError, match="must be a function"):
        ttt_envs.register("another", 4)
    with pytest.raises(TypeError, match="must be text"):
        ttt_envs.register(None, module.make)
    assert "another" not in ttt_envs.GAMES


def test_it_has_a_namespace_and_a_version_of_its_own(module, monkeypatch):
    def make():
        return changed(module.make(), version=2)

    def ids():
        return {each for each in gymnasium.registry if "Connect" in each}

    ttt_envs.unregister("connect_four")
    assert ids() == set()
    ttt_envs.register("connect_four", make, namespace="my-lab", version=2)
    try:
        assert ids() == {"my-lab/ConnectFour-v2"}
        env = gymnasium.make("my-lab/ConnectFour-v2", disable_env_checker=True)
        assert env.unwrapped.game.version == 2
        if hasattr(pettingzoo, "make"):
            assert pettingzoo.make("aec", "my-lab/connect_four-v2").unwrapped.game.version == 2
        ttt_envs.register("connect_four", make, namespace="my-lab", version=3)
        assert ids() == {"my-lab/ConnectFour-v3"}
        with pytest.raises(ValueError, match="registered with version=3, and its Game has version=2"):
            ttt_envs.load("connect_four")
        with pytest.raises(ValueError, match="a namespace has letters"):
            ttt_envs.register("connect_four", make, namespace="my/lab")
    finally:
        ttt_envs.unregister("connect_four")
        ttt_envs.register("connect_four", module.make)
    assert ids() == {"ttt_envs/ConnectFour-v0"}


def test_a_function_that_is_defined_anew_can_be_registered_again(module):
    def define(title):
        def make():
            return changed(module.make(), id="again", title=title)

        return make

    with pytest.raises(ValueError, match="unknown game 'again'"):
        ttt_envs.unregister("again")
    for title in ("first", "second"):
        ttt_envs.register("again", define(title))
        assert ttt_envs.load("again").title == title
    ttt_envs.make_aec("again").reset(seed=0)
    with pytest.raises(ValueError, match="'again' is taken, by <function"):
        ttt_envs.register("again", module.make)
    ttt_envs.unregister("again")
    assert "again" not in registry.GAMES
    assert "ttt_envs/Again-v0" not in gymnasium.registry
    with warnings.catch_warnings():  # nobody knows it any more
        warnings.simplefilter("error")
        ttt_envs.register("again", module.make)
    ttt_envs.unregister("again")
    with pytest.raises(ValueError, match="'tic_tac_dice' is a game of the library"):
        ttt_envs.unregister("tic_tac_dice")


def test_an_entry_is_imported_when_the_game_is_asked_for(tmp_path, monkeypatch):
    monkeypatch.syspath_prepend(tmp_path)
    ttt_envs.register("late", "late_game:make")
    try:
        with pytest.raises(ValueError, match="game 'late_game:make': there is no module 'late_game'"):
            ttt_envs.load("late")
        (tmp_path / "late_game.py").write_text("import lacks_this\n")
        with pytest.raises(ModuleNotFoundError, match="lacks_this"):
            ttt_envs.load("late")
        (tmp_path / "late_game.py").write_text("maker = None  # not what was registered\n")
        with pytest.raises(ValueError, match="module 'late_game' has no 'make'"):
            ttt_envs.load("late")
    finally:
        sys.modules.pop("late_game", None)
        forget("late")


def test_a_game_of_another_name_is_refused(module):
    ttt_envs.register("four", module.make)
    try:
        with pytest.raises(ValueError, match="entry of 'four' makes a game whose id is 'connect_four'"):
            ttt_envs.load("four")
    finally:
        forget("four")
