"""What is public: the table of docs/api/index.md names what the modules export, and nothing else."""

import ast
import json
import re
import subprocess
import sys
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path

import numpy as np
import pytest

import ttt_envs
from ttt_envs import agents

ROOT = Path(__file__).parent.parent
ROWS = re.findall(r"^\| \{py:mod\}`(\S+)` \| (.*) \|$", (ROOT / "docs/api/index.md").read_text(), re.MULTILINE)
PUBLIC = {module: re.findall(r"`(\w+)`", names) for module, names in ROWS}


def stated(module: str) -> list[str] | None:
    """`__all__` of a module, read from its source, as some need packages that may not be there."""
    spec = find_spec(module)
    assert spec is not None
    assert spec.origin is not None
    for node in ast.parse(Path(spec.origin).read_text()).body:
        if isinstance(node, ast.Assign) and [getattr(each, "id", "") for each in node.targets] == ["__all__"]:
            return ast.literal_eval(node.value)
    return None


@pytest.mark.parametrize("module", PUBLIC)
def test_the_documented_names_are_those_exported(module):
    assert stated(module) == PUBLIC[module]


def codes() -> dict[str, str]:
    """The Python that users are shown, by where it stands: pages, notebooks, examples and agents."""
    pages = [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]
    found = {f"{page.name}, block {k}": block for page in pages for k, block in enumerate(blocks(page))}
    for path in sorted((ROOT / "notebooks").glob("*.ipynb")):
        cells = [each for each in json.loads(path.read_text())["cells"] if each["cell_type"] == "code"]
        found |= {f"{path.name}, cell {k}": "".join(each["source"]) for k, each in enumerate(cells)}
    files = [path for folder in ("agents", "examples") for path in sorted((ROOT / folder).rglob("*.py"))]
    return found | {str(path.relative_to(ROOT)): path.read_text() for path in files}


def blocks(page: Path) -> list[str]:
    return re.findall(r"^```python\n(.*?)^```", page.read_text(), re.MULTILINE | re.DOTALL)


def is_public(name: str) -> bool:
    """Whether a dotted name is a public module, what one exports, or what a single game's own modules export."""
    module, _, last = name.rpartition(".")
    exported = PUBLIC.get(module, ())
    if module.startswith("ttt_envs.games."):
        exported = stated(module) or ()
    return name in PUBLIC or last in exported or any(each.startswith(f"{name}.") for each in PUBLIC)


def used(code: str) -> set[str]:
    """The dotted names below `ttt_envs` that a code imports, or reads off a module that it has imported."""
    found, modules = set(), {}
    for node in ast.walk(ast.parse(code)):
        if isinstance(node, ast.Import):
            found |= {each.name for each in node.names}
            for each in node.names:
                top = each.name.partition(".")[0]
                modules[each.asname or top] = each.name if each.asname else top
        elif isinstance(node, ast.ImportFrom) and node.module and not node.level:
            found |= {f"{node.module}.{each.name}" for each in node.names}
            modules |= {each.asname or each.name: f"{node.module}.{each.name}" for each in node.names}
    for node in ast.walk(ast.parse(code)):
        if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name):
            module = modules.get(node.value.id, "")
            if module in PUBLIC:
                found.add(f"{module}.{node.attr}")
    return {name for name in found if name.partition(".")[0] == "ttt_envs"}


#: Examples that go deeper: they build on the library's own judging, solver and training loop.
INNER = {f"examples/{name}.py" for name in ("judged", "martian_coalition", "methods/psro")}


def test_users_are_shown_public_names_only():
    private = {
        place: wrong
        for place, code in codes().items()
        if place not in INNER and (wrong := {n for n in used(code) if not is_public(n)})
    }
    assert private == {}


@pytest.mark.parametrize(
    "code",
    [
        "from ttt_envs.agents.base import Agent",
        "import ttt_envs.core.game",
        "from ttt_envs import evaluation\nevaluation.judging.Judge()",
        "import ttt_envs\nttt_envs.make_nothing()",
        "from ttt_envs.games.tic_tac_dice.rules import step",
    ],
)
def test_a_private_name_is_noticed(code):
    assert any(not is_public(name) for name in used(code))


def test_every_method_of_learning_is_public():
    learning = import_module("ttt_envs.learning")
    assert set(learning.METHODS) | {"METHODS", "exploit"} == set(PUBLIC["ttt_envs.learning"])


def test_every_module_that_exports_names_is_documented():
    exporting = set()
    for path in (ROOT / "ttt_envs").rglob("*.py"):
        name = ".".join(path.relative_to(ROOT).with_suffix("").parts).removesuffix(".__init__")
        if not name.startswith("ttt_envs.games.") and stated(name) is not None:
            exporting.add(name)
    assert exporting == set(PUBLIC)


@pytest.mark.parametrize("module", [each for each in PUBLIC if not each.startswith("ttt_envs.integrations.")])
def test_a_module_has_its_names_and_shows_them(module):
    if module == "ttt_envs.learning":
        pytest.importorskip("stable_baselines3")
    found = import_module(module)
    for name in PUBLIC[module] if module != "ttt_envs.integrations" else []:  # whose modules need other packages
        assert hasattr(found, name)
    shown = [name for name in dir(found) if not name.startswith("__")]
    if "__dir__" in vars(found):
        below = [each.rpartition(".")[2] for each in PUBLIC if each.rpartition(".")[0] == module]
        assert set(PUBLIC[module]) - {"__version__"} <= set(shown) <= {*PUBLIC[module], *below}


def test_modules_load_by_themselves():
    code = """
import sys
import ttt_envs
assert "numba" not in sys.modules and "ttt_envs.agents" not in sys.modules
assert ttt_envs.agents.load("random").name == "random"
assert ttt_envs.evaluation.records.read and ttt_envs.solvers.tree.walk and ttt_envs.testing.CHECKS
assert ttt_envs.dev.Game is ttt_envs.Game
for wrong in ("agent", "core_", "wrapper"):
    assert not hasattr(ttt_envs, wrong) and not hasattr(ttt_envs.solvers, wrong)
"""
    done = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr


def test_what_is_shown_of_objects():
    game = ttt_envs.load("tic_tac_dice", rounds="single")
    batch = ttt_envs.Batch(game, 3, seed=0)
    assert len(batch) == 3
    assert repr(batch).startswith(f"Batch({game!r}, 3")
    assert repr(batch.view(0)).startswith(f"View({game!r}, 3 positions of player 0")
    assert repr(batch.view(np.array([0, 1, 0]))) == f"View({game!r}, 3 positions of players 0, 1)"
    assert repr(agents.load("greedy:samples=2")) == "<Greedy 'greedy:samples=2'>"
    for make, number in (("aec", []), ("parallel", []), ("single", []), ("vec", [2]), ("text", [])):
        env = getattr(ttt_envs, f"make_{make}")(game, *number)
        assert repr(env) == f"{type(env).__name__}({', '.join(map(repr, [game, *number]))})"
