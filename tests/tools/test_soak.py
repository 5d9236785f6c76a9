"""`python -m tools.soak` and `python -m tools.fuzz`: small, and with something broken."""

import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest
from rich.console import Console

from tools import fuzz, soak
from ttt_envs.core import jit

GAME = "operation_tic_tac_toe"


def test_nothing_breaks_and_all_is_counted(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(soak, "_GAMES", 20)
    steps = 200 if jit.DISABLED else 2000
    settings = soak.Soak(steps=steps, seed=1, games=(GAME,), plain=True)
    counts, broken = soak.run(settings, Console(quiet=True))
    assert broken == []
    assert counts["steps"] >= steps


def test_a_broken_game_is_reported(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture) -> None:
    monkeypatch.setattr(soak, "_GAMES", 20)
    step = soak.Batch.step

    def pays_early(batch: soak.Batch, actions: np.ndarray) -> None:
        step(batch, actions)
        batch.states["rewards"][3] = 0.5

    monkeypatch.setattr(soak.Batch, "step", pays_early)
    monkeypatch.setattr(sys, "argv", ["soak", "--games", GAME, "--plain", "--steps", "99", "--seed", "1"])
    assert soak.main() == 1
    said = capsys.readouterr()
    assert "broken invariants" in said.out
    assert f"seed 1, Game('{GAME}'" in said.err
    assert "its rewards are" in said.err or "before the end" in said.err


def test_passes_are_repeated_counted_and_kept_if_they_fail(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture
) -> None:
    monkeypatch.setattr(fuzz, "FAILURES", tmp_path)
    seen = []

    def passed(words: list[str], *, env: dict[str, str], **_: object) -> subprocess.CompletedProcess:
        seen.append((words, env["NUMBA_DISABLE_JIT"]))
        time.sleep(0.02)
        status = 1 if len(seen) == 2 else 0
        return subprocess.CompletedProcess(words, status, "x\nfuzzed: AecModel 1200, texts 3\n1 passed", "a trace")

    monkeypatch.setattr(subprocess, "run", passed)
    assert fuzz.run(fuzz.Fuzz(minutes=0.05 / 60, seed=7)) == 1
    assert [jit for _, jit in seen][:2] == ["0", "1"]
    assert "--hypothesis-seed=7" in seen[0][0]
    said = capsys.readouterr().out
    assert f"{len(seen)} passes, 1 failed; tried: AecModel {1200 * len(seen):,}, texts {3 * len(seen)}" in said
    kept = (tmp_path / "seed-8.txt").read_text()
    assert kept.startswith("NUMBA_DISABLE_JIT=1 ")
    assert "--hypothesis-seed=8" in kept
    assert "a trace" in kept
