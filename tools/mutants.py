"""Break the sources in one place after the other, and see that tests notice each time. `make mutants` runs this.

    python -m tools.mutants core wrappers --only "resumed run"
    python -m tools.mutants --minutes 15 --resume
    python -m tools.mutants --sample 30 --seed 7

A list is a file tests/mutants/NAME.toml of tables [[mutant]] with these keys:

    breaks   what is wrong with the mutant
    file     the file that is changed, relative to the checkout
    old      a text that stands in it once
    new      the text that takes its place
    tests    arguments of pytest: only the tests that should notice
    jit      true: with compiled code; by default Numba is switched off, which is quicker for few tests

`file`, `tests` and `jit` may stand at the top of the list instead, for all mutants that have none of their own.

Each mutant is tested in its own copy of the checkout, up to the first test that fails. Every test that has killed one
is then run in a copy without a change, so that a test that always fails kills nothing.

What became of each is kept in .cache/mutants/verdicts.jsonl, beside the machine code and the byte code of the copies.
With --resume, a mutant that was killed is left out while it, the file that it changes and its test modules are the
same: a long run can be ended at any time and gone on with, and after a change only what may differ is tried again.

With --sample, the mutants are not those of the lists but drawn at random among all that Cosmic Ray makes of the files
that the lists name (see `tools.mutants_sample`), each tested with the test modules of its file.
Some of them change nothing that matters, so survivors are for somebody to look at; half of them must be killed.
"""

import hashlib
import json
import math
import os
import re
import shlex
import shutil
import subprocess
import sys
import time
import tomllib
from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from dataclasses import astuple, dataclass, replace
from operator import attrgetter
from pathlib import Path
from queue import SimpleQueue
from typing import Annotated, Any

import tyro

from tools.mutants_sample import draw
from ttt_envs.storage.files import locked_folder

ROOT = Path(__file__).resolve().parent.parent
LISTS = Path("tests", "mutants")
WORK = Path(".cache", "mutants")
#: The share of a sample that tests must notice.
ENOUGH = 0.5

_KEYS = ("breaks", "file", "old", "new", "tests", "jit")
# Nothing that a test needs, and large.
_LEFT_OUT = shutil.ignore_patterns(".*", "__pycache__", "*.egg-info", "build", "dist", "runs", "shared")


@dataclass(frozen=True)
class Mutant:
    """One change of the sources; the attributes are the keys of the module's docstring, and `part` names the list."""

    part: str
    breaks: str
    file: str
    old: str
    new: str
    tests: str
    jit: bool = False

    def source(self, root: Path) -> str:
        """The changed text of the file below `root`; ValueError if the old text does not stand in it exactly once."""
        path = root / self.file
        source = path.read_text() if path.is_file() else ""
        if (times := source.count(self.old)) != 1:
            stands = "no longer stands" if not times else f"stands {times} times"
            raise ValueError(f"{self.part}: {self.breaks}: its old text {stands} in {self.file}:\n{self.old}")
        return source.replace(self.old, self.new)

    def apply(self, root: Path) -> None:
        """Change the file below `root`; raises ValueError as `source`."""
        (root / self.file).write_text(self.source(root))

    def digest(self, root: Path) -> str:
        """Hex digest of the mutant, and of the file and the test modules that it names as they are below `root`."""
        paths = [self.file, *re.findall(r"tests/[\w/]+\.py", self.tests)]
        texts = [(root / path).read_text() if (root / path).is_file() else "" for path in paths]
        return hashlib.sha256(repr((astuple(self), texts)).encode()).hexdigest()


@dataclass(frozen=True)
class Verdict:
    """The outcome of a mutant.

    Attributes:
        mutant: the mutant.
        killed_by: the test that failed; "" if none did.
        seconds: how long it took to find out.
        error: why there is no verdict; "" if there is one.
        checked: whether the test that failed is known to pass without the mutant.
    """

    mutant: Mutant
    killed_by: str
    seconds: float
    error: str = ""
    checked: bool = False

    def __str__(self) -> str:
        word = "NO VERDICT" if self.error else "killed" if self.killed_by else "SURVIVED"
        why = self.error or (f"by {self.killed_by}" if self.killed_by else f"tests: {self.mutant.tests}")
        return f"{word:<10} {self.seconds:5.1f} s  {self.mutant.part}: {self.mutant.breaks}\n{'':21}{why}"


@dataclass(kw_only=True)
class Settings:
    """Settings: the mutants to test, and how to test them."""

    parts: Annotated[tuple[str, ...], tyro.conf.Positional, tyro.conf.arg(metavar="[PART ...]")] = ()
    """Lists to test, such as core; none given: all of them."""
    only: str = ""
    """Test only mutants in whose name this text stands."""
    workers: int = 2
    """Mutants tested at a time."""
    seconds: float = 600
    """Time after which a mutant's tests are given up, without a verdict."""
    minutes: float = math.inf
    """Time after which no more mutants are begun."""
    sample: int = 0
    """Test this many random changes of the lists' files instead of the lists; needs Cosmic Ray."""
    seed: int = 0
    """Seed of the sample."""
    resume: bool = False
    """Leave out mutants that were killed before, and have not changed since."""


def read(root: Path, parts: Sequence[str] = ()) -> list[Mutant]:
    """The mutants of the lists of these names below `root`, or of all; ValueError for a wrong list."""
    paths = sorted((root / LISTS).glob("*.toml"))
    unknown = set(parts) - {path.stem for path in paths}
    if unknown or not paths:
        raise ValueError(f"no list {', '.join(sorted(unknown))}; known: {', '.join(path.stem for path in paths)}")
    return [each for path in paths if not parts or path.stem in parts for each in _read(path)]


def _read(path: Path) -> Iterable[Mutant]:
    shared: dict[str, Any] = tomllib.loads(path.read_text())
    tables = shared.pop("mutant", [])
    for table in tables:
        keys = {**shared, **table}
        missing, extra = {*_KEYS[:-1]} - set(keys), set(keys) - {*_KEYS}
        if missing or extra:
            raise ValueError(f"{path}: {keys.get('breaks')!r}: wrong keys, {', '.join(sorted(missing | extra))}")
        yield Mutant(part=path.stem, **keys)
    if len({table["breaks"] for table in tables}) < len(tables):
        raise ValueError(f"{path}: two mutants have one name")


class Ledger:
    """The verdicts of earlier runs, in a file to which each is added as soon as it is known."""

    def __init__(self, root: Path) -> None:
        """Read the file of the checkout at `root`, if there is one."""
        self.root = root
        self.path = root / WORK / "verdicts.jsonl"
        self._killed: dict[str, dict[str, Any]] = {}
        for line in self.path.read_text().splitlines() if self.path.exists() else ():
            with suppress(ValueError):  # a line that was cut short when its process was killed
                self._keep(json.loads(line))

    def _keep(self, entry: dict[str, Any]) -> None:
        if entry["killed_by"]:
            self._killed[entry["digest"]] = entry
        else:
            self._killed.pop(entry["digest"], None)

    def killed(self, mutant: Mutant) -> Verdict | None:
        """The verdict on the mutant, if it was killed."""
        entry = self._killed.get(mutant.digest(self.root))
        if entry is None:
            return None
        return Verdict(mutant, entry["killed_by"], entry["seconds"], checked=entry["checked"])

    def add(self, verdict: Verdict) -> None:
        """Keep a verdict; it takes the place of an earlier one."""
        mutant = verdict.mutant
        entry: dict[str, Any] = {"part": mutant.part, "breaks": mutant.breaks, "digest": mutant.digest(self.root)}
        entry |= {"seconds": round(verdict.seconds, 1), "error": verdict.error}
        entry |= {"killed_by": verdict.killed_by, "checked": verdict.checked}
        self._keep(entry)
        with self.path.open("a") as file:
            file.write(f"\n{json.dumps(entry)}")  # never at the end of a line that was cut short


class Places:
    """Folders in which copies of the checkout are tested, as many as there are workers.

    A folder keeps its machine code and its byte code from one mutant to the next: they are found again at the same
    path, and not for sources that differ (see `ttt_envs.core.jit`).
    """

    def __init__(self, root: Path, folder: Path, number: int) -> None:
        """Copies of `root` are made below `folder`, where a run that was ended may have left some."""
        self.root = root
        self._free: SimpleQueue[Path] = SimpleQueue()
        for k in range(number):
            self._free.put(folder / str(k))

    def pytest(
        self, change: Callable[[Path], None], arguments: Sequence[str], jit: bool, seconds: float
    ) -> subprocess.CompletedProcess[str]:
        """Run tests of a copy after a change; raises what `change` does, or TimeoutExpired after so many seconds."""
        place = self._free.get()
        copy = place / "tree"
        try:
            shutil.rmtree(copy, ignore_errors=True)
            shutil.copytree(self.root, copy, ignore=_LEFT_OUT, symlinks=True)
            change(copy)
            environment = {**os.environ, "PYTHONPATH": str(copy), "NUMBA_DISABLE_JIT": str(int(not jit))}
            environment["PYTEST_DISABLE_PLUGIN_AUTOLOAD"] = "1"  # a good part of the time that a quick test takes
            # Not in the user's caches: a mutant's tables stay with it.
            environment |= {"NUMBA_CACHE_DIR": str(place / "numba"), "TTT_ENVS_CACHE": str(copy / ".cache")}
            # Beside the copy, so that the next one finds it: compiling everything takes as long as a quick test.
            environment["PYTHONPYCACHEPREFIX"] = str(place / "bytecode")
            environment.pop("PYTHONDONTWRITEBYTECODE", None)
            command = [sys.executable, "-m", "pytest", "-q", "-rfE", "--tb=no", "-p", "no:cacheprovider", *arguments]
            return subprocess.run(command, cwd=copy, env=environment, capture_output=True, text=True, timeout=seconds)
        finally:
            shutil.rmtree(copy, ignore_errors=True)
            self._free.put(place)


def judge(places: Places, mutant: Mutant, seconds: float) -> Verdict:
    """Test a mutant."""
    started = time.perf_counter()
    killed_by = error = ""
    try:
        done = places.pytest(mutant.apply, ["-x", *shlex.split(mutant.tests)], mutant.jit, seconds)
        failed = re.findall(r"^(?:FAILED|ERROR) (tests/\S*::.*?)(?: - .*)?$", done.stdout, re.MULTILINE)
        if done.returncode == 1 and failed:
            killed_by = failed[0]
        elif done.returncode:
            words = "no test was selected" if done.returncode == 5 else f"pytest ends with {done.returncode}"
            error = f"{words}: {mutant.tests}\n{(done.stdout + done.stderr)[-1000:]}"
        elif not re.search(r"\d passed", done.stdout):
            error = f"all tests were skipped{'' if mutant.jit else '; do they need jit = true?'}: {mutant.tests}"
    except ValueError as found:
        error = str(found)
    except subprocess.TimeoutExpired:
        error = f"its tests took longer than {seconds:g} s"
    return Verdict(mutant, killed_by, time.perf_counter() - started, error)


def failing(places: Places, verdicts: Iterable[Verdict], seconds: float) -> set[tuple[str, bool]]:
    """The tests, each with or without the JIT, that have killed a mutant but fail without one too."""
    failures: set[tuple[str, bool]] = set()
    for jit in (False, True):
        tests = sorted({each.killed_by for each in verdicts if each.killed_by and each.mutant.jit == jit})
        if tests:
            done = places.pytest(lambda copy: None, tests, jit, seconds)
            named = [test for test in tests if re.search(rf"^(FAILED|ERROR) {re.escape(test)}", done.stdout, re.M)]
            failures |= {(test, jit) for test in (named or tests if done.returncode else ())}
    return failures


def tell(text: str) -> None:
    """Print at once, also into a file."""
    print(text, flush=True)


def run(root: Path, settings: Settings, progress: Callable[[str], None] = tell) -> int:
    """Test the mutants of the checkout at `root`, and report; returns the exit status, 0 if all were killed.

    Raises ValueError for a wrong list, and InUse if another process tests mutants of this checkout.
    """
    mutants = [each for each in read(root, settings.parts) if settings.only in each.breaks]
    if settings.sample:
        mutants = draw(root, mutants, settings.sample, settings.seed)
    mutants.sort(key=attrgetter("jit"))  # the quick ones first
    started = time.perf_counter()

    with locked_folder(root / WORK):
        ledger = Ledger(root)
        verdicts = [found for each in mutants if settings.resume and (found := ledger.killed(each))]
        before, known = len(verdicts), {found.mutant for found in verdicts}
        places = Places(root, root / WORK, settings.workers)

        def verdict_on(mutant: Mutant) -> Verdict | None:
            if time.perf_counter() - started > settings.minutes * 60:
                return None
            verdict = judge(places, mutant, settings.seconds)
            ledger.add(verdict)
            return verdict

        with ThreadPoolExecutor(settings.workers) as pool:
            for verdict in pool.map(verdict_on, [each for each in mutants if each not in known]):
                if verdict is not None:
                    verdicts.append(verdict)
                    progress(f"{len(verdicts):>3}/{len(mutants)}  {verdict}")
        unchecked = [each for each in verdicts if each.killed_by and not each.checked]
        wrong = failing(places, unchecked, settings.seconds * 4)
        for k, each in enumerate(verdicts):
            if (each.killed_by, each.mutant.jit) in wrong:
                verdicts[k] = replace(each, killed_by="", error=f"{each.killed_by} fails without the mutant too")
            elif each in unchecked:
                verdicts[k] = replace(each, checked=True)
            if verdicts[k] is not each:
                ledger.add(verdicts[k])

    bad = [each for each in verdicts if not each.killed_by]
    progress("\n".join(["", *(str(each) for each in bad)]))
    took, killed, left = time.perf_counter() - started, len(verdicts) - len(bad), len(mutants) - len(verdicts)
    progress(
        f"{killed} of {len(mutants)} mutants killed"
        + (f", {before} of them in earlier runs" if before else "")
        + (f", and {left} not tried" if left else "")
        + f", in {took:.0f} s with {settings.workers} workers."
    )
    return int(killed < (ENOUGH if settings.sample else 1) * len(mutants) or not mutants)


def main(arguments: Sequence[str] | None = None) -> int:
    """The command line; returns the exit status: 1 if a mutant survived or could not be judged."""
    settings = tyro.cli(Settings, prog="python -m tools.mutants", description=__doc__, args=arguments)
    try:
        return run(ROOT, settings)
    except (ValueError, OSError) as error:
        print(error, file=sys.stderr)
        return 2


if __name__ == "__main__":
    sys.exit(main())
