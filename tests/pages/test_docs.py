"""The pages are true: their code runs, their table of facts and their pictures are the project's own."""

import json
import os
import re
import shlex
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

import ttt_envs

ROOT = Path(__file__).resolve().parents[2]
PAGES = [
    ROOT / "README.md",
    *(ROOT / name / "README.md" for name in ("agents", "training")),
    *sorted((ROOT / "docs").rglob("*.md")),
]


def _blocks(page: Path, language: str) -> list[str]:
    return re.findall(rf"^```{language}\n(.*?)^```", page.read_text(), re.M | re.S)


def _by_page(language: str) -> dict[Path, list[str]]:
    """Each page's blocks, without those that stand on a page before it: they have been run."""
    seen: set[str] = set()
    found: dict[Path, list[str]] = {}
    for page in PAGES:
        blocks = [block for block in _blocks(page, language) if block not in seen]
        seen.update(blocks)
        if blocks:
            found[page] = blocks
    return found


def test_every_block_is_of_a_language_that_is_run() -> None:
    for page in PAGES:
        found = set(re.findall(r"^```(\S*)[^\n]*\n.*?^```$", page.read_text(), re.M | re.S))
        directives = {language for language in found if re.fullmatch(r"\{[a-z-]+\}", language)}
        assert found - directives <= {"python", "console", "bibtex"}, page


#: Pages whose examples ask an oracle that solves its game first, for a minute.
SOLVING = {"martian_tic_tac_toe.md", "operation_tic_tac_toe.md"}


def _is_long(page: Path, block: str) -> bool:
    """True if a block solves a large game, trains against an agent, makes a video, or starts processes."""
    return (
        page.name in SOLVING
        or re.search(r"solve tic_tac_super_dice|ttt exploit |flips=1|--steps \d{6}|--workers|workers=", block)
        is not None
    )


def _groups() -> list[Any]:
    """All blocks as two parameters of a test, each of which runs in one process, as most of their time is imports."""
    parts: list[list[tuple[str, str]]] = [[], []]
    for language in ("python", "console"):
        for page, blocks in _by_page(language).items():
            for k, block in enumerate(blocks):
                name = f"{page.relative_to(ROOT).with_suffix('')}/{language}-{k}"
                parts[_is_long(page, block)].append((name, block))
    return [pytest.param(parts[0], id="quick"), pytest.param(parts[1], id="long", marks=pytest.mark.slow)]


#: Runs blocks of Python, as texts, and of commands, as lists of their words; each block has a folder of its own.
RUN_BLOCKS = """
import json, os, runpy, sys
from ttt_envs.cli import main
agents = sys.argv[1]

def run(words):
    print("$", *words, flush=True)
    try:
        if words[0] == "ttt":
            return main(words[1:])
        kind, place = (runpy.run_module, 2) if words[1] == "-m" else (runpy.run_path, 1)
        sys.argv = words[place:]
        kind(words[place], run_name="__main__")
    except SystemExit as stopped:
        return stopped.code

for name, block in json.loads(sys.stdin.read()):
    print(f"--- {name}", flush=True)
    os.makedirs(f"{name}/runs/x")
    here = os.getcwd()
    os.chdir(name)
    os.symlink(agents, "agents")  # commands name the files of a checkout
    if isinstance(block, str):
        exec(compile(block, name, "exec"), {"__name__": "__main__"})
    else:
        for words in block:
            if status := run(words):
                sys.exit(f"exit status {status}: {' '.join(words)}, on page {name}")
    os.chdir(here)
"""


@pytest.mark.parametrize("blocks", _groups())
def test_blocks(blocks: list[tuple[str, str]], tmp_path: Path) -> None:
    seen: set[str] = set()
    given: list[tuple[str, Any]] = []
    for name, text in blocks:
        if "/python-" in name:
            given.append((name, text))
            continue
        # A command that neither writes nor reads a folder does the same on each page.
        lines = [line for line in text.splitlines() if line not in seen or re.search(r"runs|--out", line)]
        seen.update(lines)
        commands = [shlex.split(line) for line in lines]
        given.append((name, commands))
        assert {words[0] for words in commands} <= {"python", "ttt"}, f"{name}: commands are of python and ttt"
        words = [word for command in commands for word in command]
        uses = any(word.startswith("network:runs/x") for word in words)
        assert not uses or "runs/x" in words, f"{name}: a block that uses a run must make it"
    done = subprocess.run(
        [sys.executable, "-c", RUN_BLOCKS, str(ROOT / "agents")],
        cwd=tmp_path,
        env={**os.environ, "PYTHONPATH": str(ROOT), "SDL_VIDEODRIVER": "dummy"},
        input=json.dumps(given),
        capture_output=True,
        text=True,
        timeout=540,
    )
    assert done.returncode == 0, f"{done.stdout}\n{done.stderr}"
    _, *printed = re.split(r"^--- .*$", done.stdout, flags=re.M)
    # A comment behind a print says what it prints.
    for (name, block), text in zip(given, printed, strict=True):
        for line in block.splitlines() if isinstance(block, str) else ():
            if line.startswith("print(") and "  # " in line:
                assert line.split("  # ", 1)[1] in text.splitlines(), name


def test_make_targets_exist() -> None:
    targets = set(re.findall(r"^([a-z-]+):", (ROOT / "Makefile").read_text(), re.M))
    for page in PAGES:
        assert set(re.findall(r"`make ([a-z-]+)`", page.read_text())) <= targets


def test_the_readme_has_a_line_on_every_game() -> None:
    said = re.findall(r"^- (.*?)\*\*", (ROOT / "README.md").read_text(), re.MULTILINE)
    named = [game_id for line in said for game_id in re.findall(r"`(\w+)`", line)]
    assert sorted(named) == sorted(ttt_envs.GAMES)


def test_pictures_are_the_projects_own() -> None:
    from tools.pictures import Config, picture

    config = Config()
    for game_id in ttt_envs.GAMES:
        drawn = picture(ttt_envs.load(game_id), config.agent, config.seed)
        assert (ROOT / "docs" / f"{game_id}.svg").read_text() == drawn, "python -m tools.pictures"


def test_pages_name_no_path_of_a_machine() -> None:
    for page in PAGES:
        assert not re.search(r"(?<![\w./])/(home|root|tmp|usr|work)/", page.read_text())


#: Notebooks that solve, compile, or measure for long, however short they train.
LONG = {"01_quickstart", "02_exploitability", "03_ppo_to_alphazero"}

#: Numbers in notebooks that say how long is trained, or how much is played; the tests take a part of them.
SIZES = re.compile(r"^(STEPS|POSITIONS|PLIES|GAMES) = ([\d_]+)$", re.MULTILINE)
SMALLER = 50


def printed(cell: Any) -> list[str]:
    return [each["text"] for each in cell.get("outputs", []) if each["output_type"] == "stream"]


@pytest.mark.parametrize(
    "path",
    [
        pytest.param(path, id=path.stem, marks=[pytest.mark.slow] if path.stem in LONG else [])
        for path in sorted((ROOT / "notebooks").glob("*.ipynb"))
    ],
)
def test_notebook_runs(path: Path) -> None:
    import nbformat
    from nbclient import NotebookClient

    notebook = nbformat.read(path, as_version=4)
    shortened = False
    expected = []
    for cell in notebook.cells:
        shortened |= SIZES.search(cell.source) is not None
        expected.append([] if shortened else printed(cell))
        cell.source = SIZES.sub(lambda found: f"{found[1]} = {max(int(found[2]) // SMALLER, 4)}", cell.source)
        cell.source = cell.source.replace(', layout="constrained"', "")  # which is most of a figure's time
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    NotebookClient(notebook, timeout=600, resources={"metadata": {"path": str(path.parent)}}).execute(env=environment)
    for cell, texts in zip(notebook.cells, expected, strict=True):
        assert not texts or printed(cell) == texts
    stored = json.loads(path.read_text())
    assert any(cell.get("outputs") for cell in stored["cells"]), "a notebook is kept with its results"
    assert "/tmp/" not in path.read_text()
