"""What is installed: the wheel holds the library and nothing else, and works where no checkout is."""

import os
import re
import subprocess
import sys
import sysconfig
import tarfile
import tomllib
import zipfile
from pathlib import Path

import pytest

import ttt_envs

ROOT = Path(__file__).resolve().parent.parent


def call(*command: object, folder: Path, **environment: str) -> str:
    """What a command prints; it sees nothing of the checkout unless it is told."""
    clean = {name: value for name, value in os.environ.items() if not name.startswith("PYTHON")}
    done = subprocess.run(
        [str(word) for word in command],
        cwd=folder,
        env={**clean, "PYTHONNOUSERSITE": "1", "SDL_VIDEODRIVER": "dummy", **environment},
        capture_output=True,
        text=True,
        timeout=300,
    )
    assert done.returncode == 0, f"{command}:\n{done.stdout}\n{done.stderr}"
    return done.stdout


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("dist")
    call(sys.executable, "-m", "hatchling", "build", "-d", folder, folder=ROOT)
    return folder


@pytest.fixture(scope="module")
def installed(built: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of programs of a new virtual environment with the wheel, which borrows the dependencies."""
    place = tmp_path_factory.mktemp("venv")
    call(sys.executable, "-m", "venv", "--without-pip", place, folder=place)
    names = {"base": str(place), "platbase": str(place)}
    programs = Path(sysconfig.get_path("scripts", "venv", names))
    (wheel,) = built.glob("*.whl")
    install = sys.executable, "-m", "pip", "--python", programs / "python", "install", "-q", "--no-index", "--no-deps"
    call(*install, wheel, folder=place)
    # Afterwards, so that pip finds no other installation of this package. Files .pth within the borrowed folder, such
    # as an editable installation's, are not read.
    borrowed = {sysconfig.get_path("purelib"), sysconfig.get_path("platlib")}
    (Path(sysconfig.get_path("purelib", "venv", names)) / "borrowed.pth").write_text("\n".join(borrowed))
    return programs


def library() -> set[str]:
    files = {path for path in (ROOT / "ttt_envs").rglob("*") if path.is_file()}
    return {path.relative_to(ROOT).as_posix() for path in files if "__pycache__" not in path.parts}


def trained() -> set[str]:
    return {path.relative_to(ROOT).as_posix() for path in (ROOT / "agents" / "trained").rglob("*") if path.is_file()}


def pictures() -> set[str]:
    """The pictures of the page that the wheel takes from the docs."""
    included = tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["hatch"]["build"]["targets"]["wheel"]
    found = {place for place in included["force-include"].values() if place.endswith(".svg")}
    assert len(found) == 7
    return found


def test_the_wheel_holds_the_library_and_its_data(built: Path) -> None:
    (path,) = built.glob("*.whl")
    assert path.name.startswith(f"ttt_envs-{ttt_envs.__version__}-")
    files = {name for name in zipfile.ZipFile(path).namelist() if ".dist-info/" not in name}
    example = {f"ttt_envs/cli/connect_four/{path.name}" for path in (ROOT / "examples/connect_four").glob("*.py")}
    assert files == library() | pictures() | example | {f"ttt_envs/{name}" for name in trained()}
    assert "ttt_envs/py.typed" in files
    assert {Path(name).suffix for name in files} >= {".py", ".table", ".json"}
    assert path.stat().st_size < 14_000_000


def test_the_wheel_names_all_licences(built: Path) -> None:
    (path,) = built.glob("*.whl")
    with zipfile.ZipFile(path) as wheel:
        (folder,) = {name.partition("/")[0] for name in wheel.namelist() if ".dist-info/" in name}
        named = re.findall("^License-File: (.+)$", wheel.read(f"{folder}/METADATA").decode(), re.MULTILINE)
        found = [wheel.read(f"{folder}/licenses/{name}") for name in named]
    notices = [path.relative_to(ROOT).as_posix() for path in (ROOT / "ttt_envs").rglob("NOTICE")]
    assert sorted(named) == ["LICENSE", *notices]
    assert found == [(ROOT / name).read_bytes() for name in named]


def test_the_source_distribution_holds_what_the_tests_need(built: Path) -> None:
    (path,) = built.glob("*.tar.gz")
    with tarfile.open(path) as archive:
        names = {name.partition("/")[2] for name in archive.getnames()}
    assert library() | trained() <= names
    assert {"pyproject.toml", "README.md", "LICENSE", "Makefile", "constraints.txt", "tests/test_wheel.py"} <= names
    assert {"ttt_envs/learning/ppo.py", "tools/benchmark.py", "agents/heuristic.py", "agents/README.md"} <= names
    assert not [
        name for name in names if re.match(r"(runs|dist|build|\.venv|\.git|\.pytest_cache)/|.*/__pycache__/", name)
    ]


def test_only_the_library_is_installed(installed: Path, tmp_path: Path) -> None:
    code = """if True:
        import importlib.util, ttt_envs
        print(ttt_envs.__file__)
        print([name for name in ("training", "tools", "agents", "tests") if importlib.util.find_spec(name)])
    """
    place, others = call(installed / "python", "-c", code, folder=tmp_path).splitlines()
    assert Path(place).is_relative_to(installed.parent)
    assert others == "[]"


def test_the_command_lists_the_games(installed: Path, tmp_path: Path) -> None:
    printed = call(installed / "ttt", "games", folder=tmp_path, COLUMNS="200")
    for game_id in ttt_envs.GAMES:
        assert re.search(rf"^ *{game_id} ", printed, re.MULTILINE)


@pytest.mark.slow
def test_the_data_of_the_games_are_found(installed: Path, tmp_path: Path) -> None:
    code = """if True:
        import ttt_envs
        for game_id in ("operation_tic_tac_toe", "tic_tac_dice"):
            game = ttt_envs.load(game_id)
            print(game.oracle().covers(game.new_state(0)))
    """
    found = call(installed / "python", "-c", code, folder=tmp_path).splitlines()
    assert found == ["[ True]", "[ True]"]


@pytest.mark.slow
def test_the_command_finds_agents_in_the_current_folder(installed: Path, tmp_path: Path) -> None:
    (tmp_path / "mine.py").write_text("def first(observation, mask):\n    return int(mask.argmax())\n")
    for name in ("mine.py:first", "mine:first"):
        words = "tournament", "super_tic_tac_toe", "--agents", "random", name, "--games", "2"
        assert name in call(installed / "ttt", *words, folder=tmp_path)
