"""`kill -9` at random moments: files on disk are whole, and going on loses at most the piece in hand."""

import json
import os
import random
import subprocess
import sys
import time
from contextlib import suppress
from pathlib import Path

import pytest
from small_training import GAME

from ttt_envs.agents.networks import load_network
from ttt_envs.learning.runs.checkpoint import RESUME, RESUME_FORMAT
from ttt_envs.learning.runs.measurements import Point, read_rows
from ttt_envs.storage.runs import CONFIG
from ttt_envs.storage.tensors import read_tensors

ROOT = Path(__file__).resolve().parents[2]
KILLS, SEED = 20, 0
TRAIN = ["-m", "ttt_envs", "train", "ppo"]

pytestmark = pytest.mark.slow


def holds(process: subprocess.Popen, folder: Path) -> bool:
    with suppress(FileNotFoundError):  # released meanwhile
        return any(f"process {process.pid} " in lock.read_text() for lock in folder.glob(".*lock"))
    return False


def written(path: Path | None) -> int:
    """When a file was written; 0 if there is none."""
    return path.stat().st_mtime_ns if path is not None and path.exists() else 0


def killed(words: list[str], seconds: float, folder: Path, until: Path | None = None) -> bool:
    """Run a Python command, kill it some seconds after it has locked the folder, and give whether it was at work.

    `until`: wait until it has written this file too.
    """
    environment = {**os.environ, "PYTHONPATH": str(ROOT), "TTT_ENVS_CACHE": str(folder)}
    process = subprocess.Popen(
        [sys.executable, *words], env=environment, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE
    )
    before = written(until)
    while process.poll() is None and not (holds(process, folder) and (until is None or written(until) != before)):
        time.sleep(0.01)
    try:
        _, said = process.communicate(timeout=seconds)
    except subprocess.TimeoutExpired:
        process.kill()
        process.communicate()
        return True
    assert process.returncode == 0, said
    return False


def test_training(tmp_path: Path) -> None:
    out, draw, steps = tmp_path / "x", random.Random(SEED), -1
    words = [*TRAIN, GAME, "--out", str(out), "--steps", "100000000", "--num-envs", "64", "--rollout", "4"]
    words += ["--hidden", "16", "--eval-games", "2", "--eval-every", "256", "--snapshot-every", "256"]
    for kill in range(KILLS):
        resumes = (out / RESUME).exists()
        now = [*TRAIN, "--resume", "--out", str(out)] if resumes else words
        # In turn while it starts, and while it trains and writes.
        assert killed(now, draw.uniform(0, 2), out, out / "network.safetensors" if kill % 2 else None)
        for path in out.rglob("[!.]*.safetensors"):
            if path.name != RESUME:
                load_network(path)
        read_rows(out / "curve.csv", Point)
        if (out / RESUME).exists():
            facts, _ = read_tensors(out / RESUME, RESUME_FORMAT)
            assert facts["steps"] >= steps
            steps = facts["steps"]
            assert json.loads((out / CONFIG).read_text())["settings"]["game"] == GAME
    assert steps > 0
    resume = [*TRAIN, "--resume", "--out", str(out), "--steps", str(steps + 256)]
    assert not killed(resume, 100, out)
    assert load_network(out).info.steps == steps + 256
    assert not [path for path in out.rglob(".*") if path.is_file()], "neither locks nor unfinished files"
