"""Run the examples, each in a Python environment with its dependencies. `make examples` runs this.

    python -m tools.examples sb3_vectorised cleanrl_ppo --short
    python -m tools.examples --tests

An example lists its dependencies in a block of inline metadata (PEP 723), which tools such as uv also read. If this
environment satisfies them, the example runs here. Otherwise it runs in a separate virtual environment, created on first
use below .cache/examples, in which `ttt-envs` is this checkout.
"""

import hashlib
import subprocess
import sys
import time
import tomllib
from collections.abc import Sequence
from dataclasses import dataclass
from importlib import metadata
from pathlib import Path
from typing import Annotated

import tyro
from packaging.requirements import Requirement
from rich.console import Console

from ttt_envs.core.options import unknown
from ttt_envs.evaluation.reports.report import Table

ROOT = Path(__file__).resolve().parent.parent
FOLDER = ROOT / "examples"
ENVIRONMENTS = ROOT / ".cache" / "examples"
OURS = "ttt-envs"

#: Tests with other frameworks; a test is skipped if its framework is not installed.
TESTS = tuple(f"tests/wrappers/test_{name}.py" for name in ("frameworks", "jax", "judged", "open_spiel", "openenv"))

#: The first line of a block of inline metadata.
BLOCK = "# /// script"

#: The argument of a short run: one training step or match. Every example makes at least one update.
SHORT = "1"


@dataclass(frozen=True)
class Config:
    """Run examples; each trains for about a minute and ends with a rating."""

    names: Annotated[tuple[str, ...], tyro.conf.Positional] = ("all",)
    """Names of files in examples, without .py; or all."""
    short: bool = False
    """Train for one update only."""
    here: bool = False
    """Leave out examples that need a separate environment."""
    tests: bool = False
    """Run the framework tests instead of the examples, once per environment; example packages have only tests."""


def examples() -> dict[str, Path]:
    """Return name -> path of the examples with inline metadata."""
    return {path.stem: path for path in sorted(FOLDER.glob("*.py")) if BLOCK in path.read_text()}


def packages() -> dict[str, Path]:
    """Return name -> pyproject.toml of the examples that are installable packages."""
    return {path.parent.name: path for path in sorted(FOLDER.glob("*/pyproject.toml"))}


def requirements(path: Path) -> list[str]:
    """Return an example's dependencies, from its inline metadata or its pyproject.toml.

    Raises ValueError, naming the file, if inline metadata is missing.
    """
    if path.suffix == ".toml":
        return [str(each) for each in tomllib.loads(path.read_text())["project"]["dependencies"]]
    lines = path.read_text().splitlines()
    try:
        first = lines.index(BLOCK)
        last = lines.index("# ///", first)
    except ValueError:
        raise ValueError(f"{path.name} has no block of inline metadata that starts with '# /// script'") from None
    header = tomllib.loads("\n".join(line.removeprefix("#").strip() for line in lines[first + 1 : last]))
    return [str(each) for each in header["dependencies"]]


def satisfied(needed: Sequence[str]) -> bool:
    """Return whether this environment has the packages `needed`, besides the library; False if any needs extras."""
    for each in map(Requirement, needed):
        try:
            if each.extras:
                return False
            if each.name != OURS and not each.specifier.contains(metadata.version(each.name), prereleases=True):
                return False
        except metadata.PackageNotFoundError:
            return False
    return True


def python_for(needed: Sequence[str]) -> Path:
    """Return a Python interpreter with the packages `needed`: this one, or that of a separate virtual environment.

    Raises subprocess.CalledProcessError if that environment cannot be created.
    """
    if satisfied(needed):
        return Path(sys.executable)
    digest = hashlib.sha256("\n".join([sys.version, *sorted(needed)]).encode()).hexdigest()[:12]
    place = ENVIRONMENTS / digest
    python, ready = place / "bin" / "python", place / "ready"
    if not ready.exists():
        subprocess.run([sys.executable, "-m", "venv", "--clear", place], check=True)
        install = [str(python), "-m", "pip", "install", "-qq"]
        # Install torch first: it is the largest download, and its version restricts those of other packages.
        torch = [each for each in needed if Requirement(each).name == "torch"]
        rest = [each for each in needed if Requirement(each).name != OURS]
        for some in filter(None, (torch, ["-e", str(ROOT), "pytest", *rest])):
            subprocess.run([*install, *some], check=True)
        ready.touch()
    return python


def run(*command: str | Path) -> str:
    """Run a command in the root of the checkout and print its output; return the last line that is not empty.

    Raises subprocess.CalledProcessError if the command fails.
    """
    last = ""
    with subprocess.Popen(command, cwd=ROOT, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        for line in process.stdout:
            print(line, end="", flush=True)
            last = line.strip() or last
    if process.returncode:
        raise subprocess.CalledProcessError(process.returncode, command)
    return last


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command line; return the exit status, 1 if an example failed."""
    config = tyro.cli(Config, args=arguments, prog="python -m tools.examples", description=Config.__doc__)
    known = examples() | (packages() if config.tests else {})
    console = Console(width=None if sys.stdout.isatty() else 120)  # a row of the last table on one line, in a log too
    names = list(known) if config.names == ("all",) else list(config.names)
    for name in names:
        if name not in known:
            Console(stderr=True).print(f"error: {unknown('example', name, [*known, 'all'])}", style="red")
            return 2
    rows, failed, tested = [], False, set[Path]()
    for name in names:
        if config.here and not satisfied(requirements(known[name])):
            rows.append([name, "", "left out: it needs an environment of its own"])
            continue
        console.rule(name)
        start = time.monotonic()
        try:
            python = python_for(requirements(known[name]))
            if config.tests and python in tested:
                continue
            tested.add(python)
            if config.tests:
                last = run(python, "-m", "pytest", "-q", "-m", "", *TESTS)  # the slow ones too
            else:
                last = run(python, known[name], *([SHORT] if config.short else []))
        except subprocess.CalledProcessError as error:
            last, failed = f"FAILED: status {error.returncode}", True
        rows.append([name, f"{time.monotonic() - start:.0f} s", last])
    console.print(Table("Examples", ["example", "time", "what came out"], rows))
    return int(failed)


if __name__ == "__main__":
    sys.exit(main())
