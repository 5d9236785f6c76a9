"""Run the tests with random input repeatedly, with a new seed each time, until the time is up. See `make fuzz`.

    python -m tools.fuzz --minutes 10

Every second pass runs without the JIT, so that an index out of bounds raises an error. If a pass fails, its output,
with the failing example, is saved in runs/fuzz, and the exit status is 1.
"""

import os
import secrets
import subprocess
import sys
import time
from dataclasses import dataclass
from pathlib import Path

import tyro

ROOT = Path(__file__).resolve().parent.parent
FAILURES = ROOT / "runs" / "fuzz"


@dataclass(frozen=True)
class Fuzz:
    """Run the tests with random input repeatedly, with a new seed each time, until the time is up."""

    minutes: float = 10.0
    """No pass begins after this many minutes; a pass takes a few minutes."""
    seed: int | None = None
    """Seed of the first pass, which increases by 1 with each pass; random by default."""


def run(fuzz: Fuzz) -> int:
    """Run the passes; return the exit status."""
    until = time.time() + 60 * fuzz.minutes
    first = secrets.randbits(32) if fuzz.seed is None else fuzz.seed
    passes = failed = 0
    while time.time() < until:
        seed, without_jit = first + passes, passes % 2
        words = [sys.executable, "-m", "pytest", "tests/fuzz", "-q", "-m", "", "-p", "no:cacheprovider"]
        words += ["--hypothesis-profile=many", f"--hypothesis-seed={seed}"]
        environment = {**os.environ, "NUMBA_DISABLE_JIT": str(without_jit)}
        done = subprocess.run(words, cwd=ROOT, env=environment, capture_output=True, text=True)
        passes += 1
        # The last line of pytest's output counts the tests; a pass that crashed has no such line.
        print(f"seed {seed}{' without the JIT' * without_jit}: {done.stdout.strip().splitlines()[-1:]}", flush=True)
        if done.returncode:
            failed += 1
            FAILURES.mkdir(parents=True, exist_ok=True)
            path = FAILURES / f"seed-{seed}.txt"
            again = f"NUMBA_DISABLE_JIT={without_jit} {' '.join(words)}"
            path.write_text(f"{again}\nexit status {done.returncode}\n\n{done.stdout}\n{done.stderr}")
            print(f"FAILED, see {path}", flush=True)
    print(f"{passes} passes, {failed} failed")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(run(tyro.cli(Fuzz, prog="python -m tools.fuzz", description=__doc__)))
