"""Tournaments of the toy game in processes of their own, to be ended on the way."""

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from functools import partial
from pathlib import Path

from sessions import kill_session, session_of

from ttt_envs import cli

ROOT = Path(__file__).resolve().parents[2]
TOY = "toy_coin:make"


def environment() -> dict[str, str]:
    """The environment of commands: the checkout, and what the tests share."""
    return {**os.environ, "PYTHONPATH": os.pathsep.join([str(ROOT), str(ROOT / "tests" / "support")])}


@contextmanager
def started(*words: str) -> Iterator["subprocess.Popen[str]"]:
    """A context with the command `ttt` in a session of its own, of which nothing is left behind it.

    It hears Ctrl-C even if the tests do not, as those that a script runs in the background.
    """
    with subprocess.Popen(
        [sys.executable, "-m", "ttt_envs", *words],
        env=environment(),
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
        preexec_fn=partial(signal.signal, signal.SIGINT, signal.SIG_DFL),
    ) as process:
        try:
            yield process
        finally:
            kill_session(process.pid)


@contextmanager
def begun(out: Path, agents: Sequence[str], *words: str) -> Iterator["subprocess.Popen[str]"]:
    """A tournament as by `started`, which has written something already; an agent must be slow."""
    settings = "--games", "60", "--resamples", "10", "--out", str(out)
    with started("tournament", TOY, "--agents", *agents, *settings, *words) as process:
        latest = time.monotonic() + 100
        while not ((out / "games.jsonl").exists() and b'"job"' in (out / "games.jsonl").read_bytes()):
            assert process.poll() is None, process.communicate()[1]
            assert time.monotonic() < latest
            time.sleep(0.01)
        yield process


def wait_for_the_end_of(process: "subprocess.Popen[str]") -> None:
    """The processes of a tournament end by themselves, soon after the one that began it."""
    latest = time.monotonic() + 20
    while session_of(process.pid):
        assert time.monotonic() < latest, "they go on"
        time.sleep(0.05)


def interrupted(process: "subprocess.Popen[str]", out: Path) -> None:
    """Press Ctrl-C: the tournament of `begun` reports on what is finished and says how it goes on."""
    os.killpg(process.pid, signal.SIGINT)  # as a terminal does it
    printed, said = process.communicate(timeout=60)
    assert process.returncode == 130, said
    assert "Traceback" not in said, said
    assert "Partial: it was interrupted" in printed
    assert f"--resume --out {out}" in printed.replace("\n", "")
    wait_for_the_end_of(process)
    assert "Partial: it was interrupted." in (out / "report.md").read_text()


def resumed(out: Path, agents: Sequence[str]) -> None:
    """Play the rest of the tournament of `begun` with three agents; each game is played once."""
    before = (out / "games.jsonl").read_bytes()
    assert 0 < len(games_of(out)) < 180, "some were kept"
    assert cli.main(["tournament", TOY, "--agents", *agents, "--resume", "--out", str(out)]) == 0
    after = (out / "games.jsonl").read_bytes()
    assert after.startswith(before[: before.rfind(b'"job": ')]), "what was finished is kept"
    assert len(after.splitlines()) == 180, "played twice"


def games_of(out: Path) -> dict[tuple, dict]:
    """The games of a tournament by agents and seed, but for their numbers and times."""
    found = {}
    for line in (out / "games.jsonl").read_text().splitlines():
        with suppress(ValueError):  # cut off
            game = json.loads(line)
            same = {name: value for name, value in game.items() if name not in ("number", "seconds", "job")}
            found[*game["agents"], game["seed"]] = same
    return found
