"""The folder of a game of one's own, and its checks; and the word that something is being compiled."""

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from ttt_envs.cli import main
from ttt_envs.core.compile import notice
from ttt_envs.testing import CHECKS

ROOT = Path(__file__).resolve().parents[2]


def test_a_new_game_passes_its_checks(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    assert main(["game", "new", "pebble_drop"]) == 0
    assert "ttt game check pebble_drop:make" in capsys.readouterr().out
    files = {path.name for path in (tmp_path / "pebble_drop").iterdir()}
    assert files == {path.name for path in (ROOT / "examples/connect_four").glob("*.py")}
    text = "".join(path.read_text() for path in (tmp_path / "pebble_drop").iterdir())
    assert "Pebble Drop" in text
    assert not re.search("connect.four", text, re.IGNORECASE)
    # Without the JIT nothing has to be compiled.
    environment = {**os.environ, "PYTHONPATH": str(ROOT), "NUMBA_DISABLE_JIT": "1", "COLUMNS": "80"}
    command = [sys.executable, "-m", "ttt_envs", "game", "check", "pebble_drop:make", "--option", "line=3"]
    checked = subprocess.run(command, cwd=tmp_path, env=environment, capture_output=True, text=True, check=False)
    assert checked.returncode == 0, checked.stderr
    assert checked.stdout.count("\n- ") + 1 == len(CHECKS)
    assert f"pebble_drop with line=3 passes all {len(CHECKS)} checks" in checked.stdout
    assert max(map(len, checked.stdout.splitlines())) <= 80


def test_a_check_that_fails_is_named(monkeypatch, capsys):
    def check(game):
        """Something holds."""
        raise AssertionError("it does not")

    monkeypatch.setitem(CHECKS, "facts", check)
    assert main(["game", "check", "super"]) == 2
    assert "super_tic_tac_toe fails the check 'facts' (Something holds.) it does not" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["My-Game"], "must be lower-case words with underscores"),
        (["tic_tac_match"], "the name 'tic_tac_match' is taken"),
        (["there"], "exists and is not empty"),
    ],
)
def test_a_name_that_is_no_good(words, said, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "there").mkdir()
    (tmp_path / "there" / "precious.py").write_text("")
    assert main(["game", "new", *words]) == 2
    assert said in capsys.readouterr().err
    assert [path.name for path in tmp_path.rglob("*.py")] == ["precious.py"]


def test_long_compiling_is_told_once(monkeypatch):
    now, told = [0.0], []
    monkeypatch.setattr(notice.time, "monotonic", lambda: now[0])
    word = notice.Notice(lambda: told.append(now[0]))
    for seconds in (0.4, 0.4):  # short ones, with a long pause after each
        word.begins()
        now[0] += seconds
        word.ends()
        now[0] += 100
    word.begins()
    assert not told
    now[0] += 1.0
    word.begins()  # for the one that is being compiled
    assert len(told) == 1
    word.ends()
    word.ends()
    now[0] += 9.0
    word.begins()
    assert len(told) == 1
