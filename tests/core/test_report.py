"""Reports, command lines, and the folders they go to."""

import errno
import io
import json
import os
import time
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pytest
from option_sets import OPTIONS
from rich.console import Console

import ttt_envs
from ttt_envs.core.options import as_text, command_line
from ttt_envs.evaluation.reports.progress import Work
from ttt_envs.evaluation.reports.report import Arguments, NotSaved, Report, Table
from ttt_envs.registry import parse_options
from ttt_envs.storage.files import unused


def count(game, agents, *, options=None, games=10, at=None, strict=False, out=None, quiet=False):
    settings = Arguments(count, locals())
    settings["agents"] = [str(each) for each in agents]
    return Count(game=game, settings=settings, found=games, made=("x",) if games > 10 else ())


@dataclass(kw_only=True)
class Count(Report):
    found: int

    verb, title = "count", "Counting"

    def tables(self):
        return [Table("All", ["", "n"], [["a|b", str(self.found)]], "a note")]

    def texts(self):
        return [("A position", "x[1]\n")] if self.found > 10 else []

    def remarks(self):
        return ["not much"] if self.found < 10 else []

    def data(self):
        return {"found": np.int64(self.found), "rest": np.array([np.nan, 1.0])}


GAME = ttt_envs.load("super_tic_tac_toe", won_boards="closed")


def test_a_report_that_cannot_be_written_is_not_lost(tmp_path, monkeypatch):
    def fail(*_):
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    report = count(GAME, ["random"], games=11)
    with monkeypatch.context() as patch:
        patch.setattr(os, "fsync", fail)
        words = (
            "the count is done, but its results are not saved: .*report.md cannot be written: No space left on device"
        )
        with pytest.raises(NotSaved, match=words) as raised:
            report.kept(tmp_path / "full")
    assert raised.value.errno == errno.ENOSPC
    assert raised.value.report is report
    assert report.folder is None, "the report names no files that are not there"
    report.save(str(tmp_path / "elsewhere"))
    assert (tmp_path / "elsewhere" / "results.json").exists()


def test_a_folder_with_results_is_complete(tmp_path, monkeypatch):
    report, names, replace = count(GAME, ["random"], games=11), [], Path.replace
    monkeypatch.setattr(Path, "replace", lambda path, new: (names.append(new.name), replace(path, new)))
    report.save(tmp_path)
    assert names == ["report.md", "results.json"]

    def killed(folder):
        raise KeyboardInterrupt

    monkeypatch.setattr(report, "save_others", killed)
    with pytest.raises(KeyboardInterrupt):
        report.save(tmp_path)
    assert [path.name for path in tmp_path.iterdir()] == ["report.md"]


def test_a_report_is_written_and_shown(tmp_path):
    report = count(GAME, ["random"], games=11, at=0.5)
    command = "ttt count super_tic_tac_toe --agents random --games 11 --at 0.5 --option won_boards=closed"
    assert report.command == command
    assert report.kept(None).folder is None
    report.kept(tmp_path / "new")
    text = (tmp_path / "new" / "report.md").read_text()
    assert text.startswith("# Counting: Super Tic-Tac-Toe\n\nOptions: `")
    assert f".\nCalled from Python with objects, which the command cannot name: x.\n\n```\n{command}\n```\n" in text
    assert "## All\n\n|  | n |\n| :-- | --: |\n| a\\|b | 11 |\n\na note\n" in text
    assert "### A position\n\n```\nx[1]\n```\n" in text
    assert "Partial" not in text
    data = json.loads((tmp_path / "new" / "results.json").read_text())
    assert data["version"] == ttt_envs.__version__
    assert (data["found"], data["rest"], data["games"], data["strict"]) == (11, [None, 1.0], 11, False)
    assert not {"out", "quiet"} & set(data)
    console = Console(file=io.StringIO(), width=100)
    report.show(console)
    shown = console.file.getvalue()
    assert "x[1]" in shown
    assert f"report.md and results.json are in {tmp_path / 'new'}" in shown
    assert "Partial" not in shown


def test_what_is_missing_is_said():
    report = count(GAME, ["random"], games=3)
    report.complete = False
    assert "- Partial: it was interrupted. Only the games finished by then count.\n" in report.markdown()
    assert "- not much\n" in report.markdown()
    console = Console(file=io.StringIO(), width=100)
    report.show(console)
    assert "not much" in console.file.getvalue()
    assert "Partial: it was interrupted. Only the games" in console.file.getvalue()


def test_command_lines():
    defaults = {"games": 10, "strict": False, "at": None}
    settings = {"agents": ("a b", "c"), "games": 10, "max_games": 2, "strict": True, "at": None, "option": {"x": 1}}
    words = "ttt v --agents 'a b' c --max-games 2 --strict --option x=1"
    assert command_line(["ttt", "v"], settings, defaults) == words
    assert command_line(["v"], {"strict": False, "option": {}, "agents": ()}, {"strict": True}) == "v --no-strict"


@pytest.mark.parametrize(("game_id", "options"), [(k, each) for k, sets in OPTIONS.items() for each in sets])
def test_the_options_of_a_game_are_read_as_they_are_written(game_id, options):
    game = ttt_envs.load(game_id, **options)
    texts = [f"{name}={as_text(value)}" for name, value in game.options.items()]
    assert ttt_envs.load(game_id, **parse_options(game_id, texts)).options == game.options
    words = count(game, ["random"]).command.partition(" --option ")[2].split()
    assert ttt_envs.load(game_id, **parse_options(game_id, words)).options == game.options


def test_unused_folders(tmp_path):
    folder = tmp_path / "runs" / "x"
    assert unused(folder) == unused(folder, numbered=True) == folder
    folder.mkdir(parents=True)
    assert unused(folder) == folder
    (folder / "file").touch()
    with pytest.raises(FileExistsError, match="x exists"):
        unused(folder)
    assert unused(folder, numbered=True) == tmp_path / "runs" / "x-2"
    (tmp_path / "runs" / "x-2").mkdir()
    (tmp_path / "runs" / "x-2" / "file").touch()
    (tmp_path / "runs" / "x-3").touch()
    assert unused(folder, numbered=True) == tmp_path / "runs" / "x-4"


@pytest.mark.parametrize("error", [KeyboardInterrupt, SystemExit])
def test_interrupted_work_keeps_what_was_found(error):
    found = [1]
    with Work(found, "games", 3, hidden=True) as work:
        time.sleep(0.01)
        raise error
    assert not work.complete
    assert work.seconds >= 0.01
    with Work(found, "games", 3, hidden=True) as work:
        work.part(1, "second")(2)
    assert work.complete
    with pytest.raises(error), Work([], "games", hidden=True) as work:
        raise error
    with pytest.raises(ZeroDivisionError), Work(found, "games", hidden=True):
        raise ZeroDivisionError


def test_a_narrow_column_breaks_names_between_their_parts():
    """simulations=4000, cut after its 400, was read as the row above it."""
    numbers = ["0.0045 (0.0040 to 0.0053)"] * 2 + ["5.6 %"] * 2
    names = "mcts:simulations=400", "mcts:simulations=4000", "network:runs/dice,symmetric=true", "a" * 30
    table = Table(
        "Regret", ["agent", "a game", "a decision", "not best", "measured"], [[name, *numbers] for name in names]
    )
    console = Console(width=80)
    with console.capture() as shown:
        console.print(table)
    found = [line[:21].rstrip() for line in shown.get().splitlines()[3:]]
    assert found == [
        *("mcts:simulations=400", "", "mcts:", "simulations=4000"),
        *("network:runs/dice,", "symmetric=true", "a" * 20, "a" * 10),
    ]
