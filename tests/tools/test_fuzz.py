"""`python -m tools.fuzz`: passes are counted, and kept if they fail."""

import subprocess
import time
from pathlib import Path

import pytest

from tools import fuzz


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
