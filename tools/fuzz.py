"""Run the tests with arbitrary input over and over, with ever other seeds, until the time is over. See `make fuzz`.

    python -m tools.fuzz --minutes 10

Every other pass runs without the JIT, where an index out of bounds is an error. At the end it prints what was tried.
The output of a pass that fails, with the example that failed, is kept in runs/fuzz; the exit status is 1 then.
"""

import os
import re
import secrets
import subprocess
import sys
import time
from collections import Counter
from dataclasses import dataclass
from pathlib import Path

import tyro

ROOT = Path(__file__).resolve().parent.parent
FAILURES = ROOT / "runs" / "fuzz"


@dataclass(frozen=True)
class Fuzz:
    """Run the tests with arbitrary input over and over, with ever other seeds, until the time is over."""

    minutes: float = 10.0
    """Minutes to go on; the last test may take a minute longer."""
    seed: int | None = None
    """Seed of the first pass; each pass has the next one. Without it, one is drawn."""
    without_jit: bool | None = None
    """Run all passes without the JIT, or none; without this option, every other one."""


def command(seed: int, *more: str) -> list[str]:
    """The command of a pass."""
    words = [sys.executable, "-m", "pytest", "tests/fuzz", "-q", "-m", "", "-p", "no:cacheprovider"]
    return [*words, "--hypothesis-profile=many", f"--hypothesis-seed={seed}", *more]


def counted(output: str) -> Counter[str]:
    """The counts of a pass, from its line "fuzzed: ..."."""
    match = re.search(r"^fuzzed: (.*)$", output, re.MULTILINE)
    return Counter({name: int(count) for name, count in re.findall(r"(\w+) (\d+)", match[1] if match else "")})


def run(fuzz: Fuzz) -> int:
    """Run the passes; returns the exit status."""
    until = time.time() + 60 * fuzz.minutes
    first = secrets.randbits(32) if fuzz.seed is None else fuzz.seed
    counts: Counter[str] = Counter()
    passes = failed = 0
    try:
        while time.time() < until:
            seed = first + passes
            jit = passes % 2 == 0 if fuzz.without_jit is None else not fuzz.without_jit
            environment = {**os.environ, "NUMBA_DISABLE_JIT": "0" if jit else "1"}
            done = subprocess.run(
                command(seed, f"--fuzz-until={until}"), cwd=ROOT, env=environment, capture_output=True, text=True
            )
            passes += 1
            counts.update(counted(done.stdout))
            # The last line counts the tests; a pass that is killed, as by a segmentation fault, has none.
            print(
                f"seed {seed}{'' if jit else ' without the JIT'}: {done.stdout.strip().splitlines()[-1:]}", flush=True
            )
            if done.returncode:
                failed += 1
                FAILURES.mkdir(parents=True, exist_ok=True)
                path = FAILURES / f"seed-{seed}.txt"
                again = f"NUMBA_DISABLE_JIT={environment['NUMBA_DISABLE_JIT']} {' '.join(command(seed))}"
                path.write_text(f"{again}\nexit status {done.returncode}\n\n{done.stdout}\n{done.stderr}")
                print(f"FAILED, see {path}", flush=True)
    except KeyboardInterrupt:
        print("Interrupted: the pass at hand does not count.")
    tried = ", ".join(f"{name} {count:,}" for name, count in sorted(counts.items())) or "nothing"
    print(f"{passes} passes, {failed} failed; tried: {tried}")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(run(tyro.cli(Fuzz, prog="python -m tools.fuzz", description=__doc__)))
