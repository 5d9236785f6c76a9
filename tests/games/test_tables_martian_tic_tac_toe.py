"""The table of optimal play of Martian Tic-Tac-Toe on the 3x3 board: its file, and the command that builds it."""

import hashlib
import json
import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import ttt_envs
from ttt_envs.games.martian_tic_tac_toe.solver import command, tables
from ttt_envs.games.martian_tic_tac_toe.solver.positions import BOARDS

# All of it asks the table, which takes most of a minute to make.
pytestmark = pytest.mark.slow

GAME = ttt_envs.load("martian_tic_tac_toe")
SWAPS = ttt_envs.load("martian_tic_tac_toe", same_size_swap=True)


@pytest.fixture
def folder(tmp_path, monkeypatch) -> Path:
    """An empty cache folder, and a table for it that is built in no time."""
    small = tables.load_table(False)
    monkeypatch.setenv("TTT_ENVS_CACHE", str(tmp_path / "cache"))
    for module in (tables, command):
        monkeypatch.setattr(module, "build_table", lambda same_size_swap, progress=None: small)
    return tmp_path / "cache"


def test_the_file_is_small_and_read_back(folder, capsys):
    table = tables.load_table(True)
    (path,) = folder.iterdir()
    assert path.stat().st_size < 3e6
    said = capsys.readouterr().err
    assert "Building the table" in said
    assert str(path) in said.replace("\n", "")
    again = tables.load_table(True)
    assert not capsys.readouterr().err, "a table at hand is not built again"
    assert all(np.array_equal(one, other) for one, other in zip(table, again, strict=True))
    assert not again.values.flags.writeable


def test_the_command_writes_a_table_and_a_picture(folder, tmp_path, capsys):
    picture = tmp_path / "new" / "drawn.svg"
    printed = command.BuildTable(picture=picture).run(SWAPS.options, lambda what, share: None)
    assert "opening on b2: won in 145 plies" in printed
    path = folder / "martian_tic_tac_toe-same_size_swap.table"
    assert f"wrote {path}: " in printed
    assert picture.read_text() == command.drawn_picture(tables.load_table(False)) + "\n"
    assert not capsys.readouterr().err, "the table is where the oracle looks for it"
    command.BuildTable(out=tmp_path / "elsewhere").run(SWAPS.options, lambda what, share: None)
    assert (tmp_path / "elsewhere").read_bytes() == path.read_bytes()


def test_the_command_says_what_is_in_the_table_that_comes_with_the_package(folder, monkeypatch):
    monkeypatch.setattr(command, "build_table", None)
    before = tables.SHIPPED.read_bytes()
    printed = command.BuildTable().run(GAME.options, lambda what, share: None)
    assert "opening on b2: won in 145 plies" in printed
    assert "--out FILE builds it anew" in printed
    assert tables.SHIPPED.read_bytes() == before


@pytest.mark.parametrize(
    ("fields", "options", "error", "words"),
    [
        ({"out": Path(".")}, {}, IsADirectoryError, "is a folder"),
        ({"picture": Path("/dev/null/drawn.svg")}, {"same_size_swap": True}, OSError, "/dev/null"),
        ({}, {"size": 4}, NotImplementedError, "size=4 and players=2"),
    ],
)
def test_the_command_refuses_before_the_work(folder, monkeypatch, fields, options, error, words):
    monkeypatch.setattr(command, "build_table", None)
    with pytest.raises(error, match=words):
        command.BuildTable(**fields).run(ttt_envs.load(GAME.id, **options).options, lambda what, share: None)


def test_an_interrupted_command_writes_nothing(tmp_path, monkeypatch):
    def interrupt(what, share):
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        command.BuildTable(out=tmp_path / "table").run(GAME.options, interrupt)
    assert not list(tmp_path.iterdir())


def test_the_shipped_table_is_what_the_command_builds_in_minutes_and_little_memory(tmp_path):
    """In a fresh process, compiling included: under 3 minutes of processor time, and 1.5 GB."""
    code = (
        "import resource, sys, time, ttt_envs; from pathlib import Path; game = ttt_envs.load('martian_tic_tac_toe'); "
        "start = time.process_time(); command = game.solve_commands['table'](out=Path(sys.argv[1])); "
        "print(command.run(game.options, lambda what, share: None)); "
        "print(time.process_time() - start, resource.getrusage(resource.RUSAGE_SELF).ru_maxrss)"
    )
    environment = {**os.environ, "TTT_ENVS_CACHE": str(tmp_path)}
    command_line = [sys.executable, "-c", code, str(tmp_path / "built")]
    done = subprocess.run(command_line, env=environment, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    seconds, kilobytes = map(float, done.stdout.splitlines()[-1].split())
    assert seconds < 180
    assert kilobytes < 1.5e6
    (path,) = tmp_path.iterdir()
    data = path.read_bytes()
    head = json.loads(data[:512].splitlines()[1])
    assert head["sha256"] == hashlib.sha256(data[512:]).hexdigest()
    assert BOARDS == 7**9
    built, shipped = tables.read_table(path, False), tables.load_table(False)
    assert all(np.array_equal(one, other) for one, other in zip(built, shipped, strict=True))
