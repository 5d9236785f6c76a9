"""Machine code on disk: found again by the next process, and never stale."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
import toy_coin

import ttt_envs
from ttt_envs.core import jit
from ttt_envs.core.loops import Loops

pytestmark = pytest.mark.skipif(jit.DISABLED, reason="needs the JIT")

#: Completes X's row in board 4; prints its owner, and how often machine code was found and compiled.
SCRIPT = """
import os
import numpy as np, ttt_envs
from ttt_envs.core import rng
from ttt_envs.games.super_tic_tac_toe import rules

assert ttt_envs.__file__.startswith(os.getcwd())  # the copy
game = ttt_envs.load("super_tic_tac_toe")
batch = ttt_envs.Batch(game, 1, seed=1)
batch.states["cells"][0, 4, :2] = 1
batch.step(np.array([9 * 4 + 2]))
batch.masks(), batch.observations(), batch.view()
used = [*game.loops, *vars(rules).values(), *vars(rng).values()]
stats = [each.stats for each in used if hasattr(each, "stats")]
hits = sum(sum(each.cache_hits.values()) for each in stats)
misses = sum(sum(each.cache_misses.values()) for each in stats)
loops = [each.stats for each in game.loops]
print(batch.states["owner"][0, 4], batch.states["rng"][0], hits, misses,
      sum(sum(each.cache_hits.values()) for each in loops))
"""


class Copy:
    """A copy of the package that a test may edit, and its own cache of machine code."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        shutil.copytree(jit.PACKAGE, folder / "ttt_envs", ignore=shutil.ignore_patterns("__pycache__"))

    def edit(self, name: str, old: str, new: str) -> None:
        path = self.folder / "ttt_envs" / name
        text = path.read_text()
        assert text.count(old) == 1, f"{old!r} in {name}"
        path.write_text(text.replace(old, new))

    def run(self, script: str = SCRIPT) -> list[int]:
        environment = {
            **os.environ,
            "NUMBA_CACHE_DIR": str(self.folder / "cache"),
            "PYTHONPATH": str(self.folder),
        }
        environment["PYTHONDONTWRITEBYTECODE"] = "1"
        done = subprocess.run(
            [sys.executable, "-c", script], env=environment, capture_output=True, text=True, cwd=self.folder
        )
        assert not done.returncode, done.stderr
        return [int(word) for word in done.stdout.split()]


def test_machine_code_is_kept_and_never_stale(tmp_path):
    package = Copy(tmp_path)
    owner, generator, hits, misses, _ = package.run()
    assert owner == 1
    assert hits == 0, "the cache was not empty"
    assert misses > 10

    again = package.run()
    assert again[:2] == [owner, generator]
    assert again[3] == 0, "something is compiled although nothing has changed"
    assert again[4] >= 3, "the loops around the kernels are not found on disk"

    # A callee in another file than its caller: Numba alone would not notice.
    package.edit("core/rng.py", 'state["rng"] = mix(np.uint64(seed) + GOLDEN)', 'state["rng"] = np.uint64(77)')
    assert package.run()[:2] == [1, 77], "an edited helper is not obeyed"

    # A table from another file, frozen into the machine code.
    package.edit("core/lines.py", "((0, 1), (1, 0), (1, 1), (1, -1))", "((1, 0), (1, 1), (1, -1))")
    assert package.run()[:2] == [0, 77], "edited lines are not obeyed"


#: A game's kernel outside the package, which calls another file of its folder.
OUTSIDE = """
import numpy as np
from ttt_envs.core.jit import kernel
from helper import number

@kernel
def twice(x):
    return 2 * number(x)

print(twice(3), sum(twice.stats.cache_hits.values()))
"""

HELPER = """
from ttt_envs.core.jit import kernel

@kernel
def number(x):
    return x + 1
"""


def test_no_process_writes_another_ones_machine_code(tmp_path):
    """Two that compile at once both see an index without the other's entries: here it is taken away in between."""
    for name, text in (("outside.py", OUTSIDE), ("helper.py", HELPER)):
        (tmp_path / name).write_text(text)
    environment = {**os.environ, "NUMBA_CACHE_DIR": str(tmp_path / "cache"), "PYTHONPATH": str(jit.PACKAGE.parent)}
    written = []
    for _ in range(2):
        for index in tmp_path.rglob("*.nbi"):
            index.unlink()
        subprocess.run([sys.executable, "outside.py"], env=environment, cwd=tmp_path, check=True, capture_output=True)
        written.append({path.name for path in tmp_path.rglob("*.nbc")})
    first, both = written
    assert len(first) >= 2
    assert first < both
    assert len(both) == 2 * len(first)


#: Prints the symbol of a kernel that is compiled for records with as many numbers as the argument says.
SYMBOL = """
import sys
import numpy as np
from ttt_envs.core.jit import kernel

@kernel
def first(states):
    return states[0]["numbers"][0]

first(np.ones(1, [("numbers", np.int64, (int(sys.argv[1]),))]))
(compiled,) = first.overloads.values()
print(compiled.fndesc.mangled_name)
"""


def test_what_two_processes_compile_has_two_names(tmp_path):
    """Numba counts types and functions in each process: here both have the same numbers, and would share a symbol."""
    (tmp_path / "named.py").write_text(SYMBOL)
    symbols = []
    for size in (2, 5):
        cache = str(tmp_path / f"cache{size}")
        environment = {**os.environ, "NUMBA_CACHE_DIR": cache, "PYTHONPATH": str(jit.PACKAGE.parent)}
        command = [sys.executable, "named.py", str(size)]
        done = subprocess.run(command, cwd=tmp_path, env=environment, check=True, capture_output=True, text=True)
        symbols.append(done.stdout)
    assert symbols[0] != symbols[1]


def test_a_game_outside_the_package_is_never_stale_either(tmp_path):
    package = Copy(tmp_path)
    (tmp_path / "helper.py").write_text(HELPER)
    (tmp_path / "outside.py").write_text(OUTSIDE)
    assert package.run("import outside") == [8, 0]
    assert package.run("import outside") == [8, 1]
    (tmp_path / "helper.py").write_text(HELPER.replace("x + 1", "x + 2"))
    assert package.run("import outside")[0] == 10


def test_options_of_a_game_share_machine_code():
    first = ttt_envs.load("super_tic_tac_toe")
    assert first.loops is ttt_envs.load("super_tic_tac_toe", won_boards="closed").loops
    assert first.loops is not toy_coin.make().loops
    for name in set(Loops._fields) - {"view_seeds"}:  # which calls none of a game's kernels
        names = {getattr(loops, name).py_func.__qualname__ for loops in (first.loops, toy_coin.make().loops)}
        assert len(names) == 2, f"{name} of two games shares a name, and so a place in the cache"


def test_specialised_copies_do_not_mix():
    """Same template, other kernels: each does its own."""
    states = {}
    for game in (ttt_envs.load("super_tic_tac_toe"), toy_coin.make()):
        mask = np.zeros(game.num_actions, np.bool_)
        game.loops.mask_one(game.new_state(seed=0), 0, 0, mask)
        states[game.id] = mask.sum()
    assert states == {"super_tic_tac_toe": 9, "toy_coin": 2}


@pytest.mark.parametrize("game_id", ttt_envs.GAMES)
def test_the_loops_of_masks_and_observations_count_no_references(game_id):
    """Other kernels of the game, such as `step`, may allocate: these loops do not call them."""
    loops = ttt_envs.load(game_id).loops
    for name in ("mask_one", "mask_rows", "observe_one", "observe_rows", "view_seeds"):
        assert getattr(loops, name).targetoptions.get("_nrt") is False, name
    assert loops.step_rows.targetoptions.get("_nrt", True), "makes an array, and so must count"


@pytest.mark.parametrize("name", ["squares", "squares_in_place"])
def test_kernels_of_a_lean_loop_may_allocate(name):
    """A game's own `legal_mask` may make arrays, though the loop over it does not."""
    out = np.zeros((300, 3), np.int64)
    fill = jit.specialise(fill_rows, row_kernel=globals()[name])
    fill(np.arange(900).reshape(300, 3), out)
    assert (out == np.arange(900).reshape(300, 3) ** 2).all()
    assert jit.DISABLED or fill.targetoptions.get("_nrt", True) == (name == "squares")


@jit.allocates_nothing
def fill_rows(rows, out):
    for i in range(rows.shape[0]):
        out[i, :] = 0
        row_kernel(rows[i], out[i])  # noqa: F821


@jit.kernel
def squares(row, out):
    found = np.empty(row.shape[0], np.int64)
    for i in range(row.shape[0]):
        found[i] = row[i] * row[i]
    out[:] = found


@jit.kernel
@jit.allocates_nothing
def squares_in_place(row, out):
    for i in range(row.shape[0]):
        out[i] = row[i] * row[i]


NOTEBOOK = """
import sys
import numpy as np
from ttt_envs.core import jit

def template(out):
    out[0] = value()

def run(source, name):
    space = {"kernel": jit.kernel, "__name__": "cell"}
    exec(compile(source, name, "exec"), space)
    out = np.zeros(1, np.int64)
    jit.specialise(template, value=space["value"])(out)
    return int(out[0])

print(run("@kernel\\ndef value():\\n    return 1", "<cell>"), run("@kernel\\ndef value():\\n    return 2", "<cell>"))
"""

CLOSURES = """
import numpy as np
from ttt_envs.core import jit

def template(out):
    out[0] = value()

def rules(number):
    @jit.kernel
    def value():
        return number
    return value

found = []
for number in (3, 4):
    out = np.zeros(1, np.int64)
    jit.specialise(template, value=rules(number))(out)
    found.append(int(out[0]))
print(*found)
"""


@pytest.mark.parametrize(("script", "expected"), [(NOTEBOOK, [1, 2]), (CLOSURES, [3, 4])], ids=["notebook", "closure"])
def test_code_without_a_file_of_its_own_is_not_confused(tmp_path: Path, script: str, expected: list[int]) -> None:
    """In one process and in the next: such code has no source to be told apart by."""
    copy = Copy(tmp_path)
    (tmp_path / "script.py").write_text(script)
    run = "import runpy; runpy.run_path('script.py')"
    for _ in range(2):
        assert copy.run(run) == expected


def test_a_dangling_link_beside_a_game_does_no_harm(tmp_path: Path) -> None:
    (tmp_path / "gone.py").symlink_to(tmp_path / "nowhere.py")
    (tmp_path / "game.py").write_text("x = 1")
    first = jit.source_digest(tmp_path)
    jit.source_digest.cache_clear()
    (tmp_path / "game.py").write_text("x = 2")
    assert jit.source_digest(tmp_path) != first
    jit.source_digest.cache_clear()
