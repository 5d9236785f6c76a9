"""Machine code on disk: found again by the next process, never stale, and compiled anew where it is damaged."""

import gc
import importlib.util
import os
import shutil
import subprocess
import sys
import types
import warnings
from pathlib import Path

import numba
import numpy as np
import pytest
import toy_coin
from numba.core import event
from numba.core.types import Function

import ttt_envs
from ttt_envs.core.compile import jit, kernel_cache
from ttt_envs.core.compile.linking import Linked
from ttt_envs.core.loops import Loops

#: Completes X's row in board 4; prints its owner, the generator, how often machine code was found and compiled, how
#: often that of the loop, and the number that Numba gave the loop.
SCRIPT = """
import os
import numpy as np, ttt_envs
from ttt_envs.core import rng
from ttt_envs.core.compile.kernel_cache import MachineCode
from ttt_envs.games.super_tic_tac_toe import rules

assert ttt_envs.__file__.startswith(os.getcwd())  # the copy
game = ttt_envs.load("super_tic_tac_toe")
states = game.prototype.copy()
rules.reset(states[0], 1)
states["marks"][0, 0, 4] = 0b11
step = game.loops.step_one
step(states, 0, np.array([9 * 4 + 2, 0]))
stats = [each.stats for each in (step, *vars(rules).values(), *vars(rng).values()) if hasattr(each, "stats")]
hits = sum(sum(each.cache_hits.values()) for each in stats)
misses = len(MachineCode.compiled)
(compiled,) = step.overloads.values()
found = sum(step.stats.cache_hits.values())
print(states["owned"][0, 0] >> 4, states["rng"][0], hits, misses, found, compiled.fndesc.uid)
"""


def test_machine_code_is_kept_and_never_stale(tmp_path):
    package = tmp_path / "ttt_envs"
    shutil.copytree(jit.PACKAGE, package, ignore=shutil.ignore_patterns("__pycache__"))

    def run() -> list[int]:
        settings = {"NUMBA_CACHE_DIR": str(tmp_path / "cache"), "PYTHONPATH": str(tmp_path)}
        environment = {**os.environ, **settings, "PYTHONDONTWRITEBYTECODE": "1"}
        command = [sys.executable, "-c", SCRIPT]
        done = subprocess.run(command, env=environment, capture_output=True, text=True, cwd=tmp_path)
        assert not done.returncode, done.stderr
        return [int(word) for word in done.stdout.split()]

    def edit(name: str, old: str, new: str) -> None:
        text = (package / name).read_text()
        assert text.count(old) == 1, f"{old!r} in {name}"
        (package / name).write_text(text.replace(old, new))

    owner, generator, hits, misses, _, number = run()
    assert owner == 1
    assert hits == 0, "the cache was not empty"
    assert misses > 5
    with (package / "agents" / "random.py").open("a") as file:
        file.write("\nEDITED = True\n")
    found = run()
    assert found == [owner, generator, 2, 0, 1, number], (
        "the two that are called come from disk, and are not compiled anew for a file that they do not import"
    )

    # A callee in another file than its caller: Numba alone would not notice.
    edit("core/rng.py", 'state["rng"] = mix(np.uint64(seed) + GOLDEN)', 'state["rng"] = np.uint64(77)')
    # A table from another file, frozen into the machine code.
    edit("core/lines.py", "((0, 1), (1, 0), (1, 1), (1, -1))", "((1, 0), (1, 1), (1, -1))")
    owner, generator, *_, other = run()
    assert generator == 77, "an edited helper is not obeyed"
    assert owner == 0, "edited lines are not obeyed"

    # Numba counts functions in each process, and the count is in the symbols: this process counted to the same number.
    assert number != other, "what two processes compile has one name, and one that loads both may run either for both"


# --- files ---


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.setattr(numba.config, "CACHE_DIR", str(tmp_path / "cache"))
    return tmp_path / "cache"


def in_next_process(function):
    """The kernel of a plain function as another process has it: nothing of it compiled yet."""
    code = function.__code__
    copy = types.FunctionType(code, function.__globals__, function.__name__, function.__defaults__)
    copy.__module__ = function.__module__
    return jit.kernel(copy)


def found(compiled) -> int:
    return sum(compiled.stats.cache_hits.values())


def add_one(x):
    return x + 1


@pytest.mark.parametrize(
    "damage",
    [
        lambda data: data[:-1],
        lambda data: data[:-200] + bytes([data[-200] ^ 1]) + data[-199:],
    ],
    ids=["truncated", "one bit"],
)
def test_a_damaged_file_is_compiled_anew(folder, damage):
    assert in_next_process(add_one)(1) == 2
    again = in_next_process(add_one)
    assert (again(1), found(again)) == (2, 1)
    (path,) = folder.rglob("*.nbc")
    path.write_bytes(damage(path.read_bytes()))
    again = in_next_process(add_one)
    assert (again(1), found(again)) == (2, 0)
    again = in_next_process(add_one)
    assert (again(1), found(again)) == (2, 1), "the damaged file is not replaced"
    assert list(folder.rglob("*.nb*")) == [path]


def read_second(states):
    return states[0]["second"]


def test_states_of_each_layout_have_their_file(folder):
    states = [np.ones(1, [("first", np.int8, size), ("second", np.int8)]) for size in (1, 2)]
    kernel = in_next_process(read_second)
    for number, each in enumerate(states):
        each["second"] = number + 5
        kernel(each)
    assert len(list(folder.rglob("*.nbc"))) == 2
    again = in_next_process(read_second)
    assert [again(each) for each in states] == [5, 6]
    assert (found(again), sum(again.stats.cache_misses.values())) == (2, 0)


def test_the_collector_of_garbage_pauses_while_numba_compiles():
    seen = []

    class Seen(event.Listener):
        def on_start(self, event):
            seen.append(gc.isenabled())

        def on_end(self, event):
            pass

    def fails(x):
        return x.no_such_thing

    assert gc.isenabled()
    with event.install_listener("numba:compile", Seen()):
        numba.njit(lambda x: x + 1)(1)
        assert gc.isenabled()
        with pytest.raises(numba.TypingError):
            numba.njit(fails)(1)
        assert gc.isenabled()
        gc.disable()
        try:
            numba.njit(lambda x: x + 2)(1)
            assert not gc.isenabled(), "the caller's choice holds"
        finally:
            gc.enable()
    assert seen == [False] * 3


def test_numba_is_as_before_after_a_kernel_that_fails():
    inner = jit.kernel(lambda x: x + x.no_such_thing)
    usual = Function.get_call_type
    with pytest.raises(numba.TypingError):
        jit.kernel(lambda x: inner(x + x))(1)
    assert Function.get_call_type is usual


def test_a_folder_that_cannot_be_written_is_one_warning(folder):
    kernel_cache.warn_once.cache_clear()
    one = in_next_process(add_one)
    shutil.rmtree(folder)
    folder.write_text("a file")
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        assert (one(1), one(1.5)) == (2, 2.5)
    assert [each.category for each in caught] == [RuntimeWarning]
    assert str(folder) in str(caught[0].message)
    kernel_cache.warn_once.cache_clear()


#: A game's kernel outside the package, which calls another file of its folder.
OUTSIDE = """
from ttt_envs.core.compile.jit import allocates_nothing, kernel
from helper import number

@kernel
@allocates_nothing
def twice(x):
    return 2 * number(x)

@allocates_nothing
def template(out):
    for i in range(out.shape[0]):
        out[i] = twice(2)
"""

HELPER = """
from ttt_envs.core.compile.jit import kernel

@kernel
def number(x):
    return x + 1
"""


def test_a_game_outside_the_package_is_never_stale_either(tmp_path, folder, monkeypatch):
    def run() -> list[int]:
        jit.source_digest.cache_clear()
        jit._imports.cache_clear()
        for name in ("helper", "outside"):
            spec = importlib.util.spec_from_file_location(name, tmp_path / f"{name}.py")
            module = importlib.util.module_from_spec(spec)
            monkeypatch.setitem(sys.modules, name, module)
            spec.loader.exec_module(module)
        return [module.twice(3), found(module.twice)]

    monkeypatch.setattr(sys, "dont_write_bytecode", True)
    (tmp_path / "helper.py").write_text(HELPER)
    (tmp_path / "outside.py").write_text(OUTSIDE)
    assert run() == [8, 0]
    assert run() == [8, 1]
    (tmp_path / "helper.py").write_text(HELPER.replace("x + 1", "x + 2"))
    assert run() == [10, 0]
    jit.source_digest.cache_clear()


# --- templates ---


def test_options_of_a_game_share_machine_code():
    first = ttt_envs.load("super_tic_tac_toe")
    assert first.loops is ttt_envs.load("super_tic_tac_toe", won_boards="closed").loops
    assert first.loops is not toy_coin.make().loops
    for name in Loops._fields:
        names = {getattr(loops, name).py_func.__qualname__ for loops in (first.loops, toy_coin.make().loops)}
        assert len(names) == 2, f"{name} of two games shares a name, and so a place in the cache"


@pytest.mark.parametrize("game_id", ttt_envs.GAMES)
def test_the_loops_of_masks_and_observations_count_no_references(game_id):
    loops = ttt_envs.load(game_id).loops
    for name in ("mask_one", "mask_rows", "observe_one", "observe_rows"):
        assert getattr(loops, name).targetoptions.get("_nrt") is False, name
    assert loops.step_rows.targetoptions.get("_nrt", True), "makes an array, and so must count"


@pytest.mark.parametrize("name", ["squares", "squares_in_place"])
def test_kernels_of_a_lean_loop_may_allocate(name):
    out = np.zeros((300, 3), np.int64)
    fill = jit.specialise(fill_rows, row_kernel=globals()[name])
    fill(np.arange(900).reshape(300, 3), out)
    assert (out == np.arange(900).reshape(300, 3) ** 2).all()
    assert fill.targetoptions.get("_nrt", True) == (name == "squares")


@jit.allocates_nothing
def fill_rows(rows, out):
    for i in range(rows.shape[0]):
        row_kernel(rows[i], out[i])  # noqa: F821


@jit.kernel
def squares(row, out):
    copy = np.empty(row.shape[0], np.int64)
    for i in range(row.shape[0]):
        copy[i] = row[i]
        out[i] = copy[i] * row[i]


@jit.kernel
@jit.allocates_nothing
def squares_in_place(row, out):
    for i in range(row.shape[0]):
        out[i] = row[i] * row[i]


def fill_first(out):
    out[0] = value()  # noqa: F821


def numbered(number: int):
    @jit.kernel
    def value():
        return number

    return value


def typed_in(number: int):
    space = {"kernel": jit.kernel, "__name__": "cell"}
    exec(compile(f"@kernel\ndef value():\n    return {number}", "<cell>", "exec"), space)
    return space["value"]


@pytest.mark.parametrize("make", [typed_in, numbered], ids=["notebook", "closure"])
def test_code_without_a_file_of_its_own_is_not_confused(folder, make):
    out = np.zeros(1, np.int64)
    for number in (3, 4):
        jit.specialise(fill_first, value=make(number))(out)
        assert out[0] == number
    assert not list(folder.rglob("*.nb*"))


@jit.kernel
def below(number, limit):
    return number < limit


def count_limits(number):
    return below(number, 1) + below(number, 9)


def test_constants_in_calls_share_one_version(folder):
    assert in_next_process(count_limits)(5) == 1
    assert len(below.get_overload.__self__.signatures) == 1


def test_for_kernels_alone_no_code_for_python_is_compiled(folder):
    assert in_next_process(count_limits)(5) == 1
    assert not below.signatures
    assert below(5, 9)
    assert len(below.signatures) == 1


def test_a_kernel_for_kernels_alone_is_kept_without_machine_code(folder):
    for number in range(2):
        callee = in_next_process(below.py_func)
        assert jit.specialise(count_limits, below=callee)(5) == 1
        for_kernels = callee.get_overload.__self__
        assert sum(for_kernels.stats.cache_hits.values()) == number
        (compiled,) = for_kernels.overloads.values()
        assert isinstance(compiled.library, Linked)
        assert not compiled.library.get_pointer_to_function(compiled.fndesc.mangled_name)
        for path in folder.rglob("*count_limits*.nbc"):
            path.unlink()


@jit.kernel
def refuse_record(states, i):
    if states[i]["second"]:
        raise ValueError("record", states[i])


def look_at_all(states):
    for i in range(states.shape[0]):
        refuse_record(states, i)


def test_a_kernel_for_kernels_alone_has_its_constants(folder):
    states = np.ones(1, [("second", np.int8)])
    for _ in range(2):
        with pytest.raises(ValueError, match="record") as caught:
            in_next_process(look_at_all)(states)
        assert caught.value.args[1]["second"] == 1


def test_a_dangling_link_beside_a_game_does_no_harm(tmp_path: Path) -> None:
    (tmp_path / "gone.py").symlink_to(tmp_path / "nowhere.py")
    (tmp_path / "game.py").write_text("x = 1")
    first = jit.source_digest(tmp_path)
    jit.source_digest.cache_clear()
    (tmp_path / "game.py").write_text("x = 2")
    assert jit.source_digest(tmp_path) != first
    jit.source_digest.cache_clear()


@pytest.mark.parametrize(
    "line",
    [
        "import ttt_envs.core.helper",
        "from ttt_envs.core import helper",
        "from ttt_envs.core import (\n    other,\n    helper,\n)",
        "from ttt_envs.core.helper import *",
        "def make():\n    from ttt_envs.core.helper import number",
        "from ttt_envs.core import between",
        "import ttt_envs",
    ],
)
def test_a_digest_holds_what_is_imported_in_any_way_and_not_the_rest(tmp_path, monkeypatch, line):
    core, place = tmp_path / "ttt_envs" / "core", tmp_path / "mine"
    core.mkdir(parents=True)
    place.mkdir()
    (tmp_path / "ttt_envs" / "__init__.py").write_text("from ttt_envs.core import between")
    (core / "__init__.py").write_text("")
    (core / "helper.py").write_text("number = 1")
    (core / "between.py").write_text("from ttt_envs.core.helper import number")
    (core / "other.py").write_text("")
    (core / "apart.py").write_text("x = 1")
    (place / "rules.py").write_text(line)
    monkeypatch.setattr(jit, "PACKAGE", tmp_path / "ttt_envs")

    def digest() -> str:
        jit.source_digest.cache_clear()
        jit._imports.cache_clear()
        return jit.source_digest(place)

    first = digest()
    (core / "apart.py").write_text("x = 2")
    assert digest() == first
    (core / "helper.py").write_text("number = 2")
    assert digest() != first
    jit.source_digest.cache_clear()
    jit._imports.cache_clear()
