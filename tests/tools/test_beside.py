"""The measurement beside another checkout."""

from pathlib import Path

import pytest

from tools import beside

ROOT = Path(__file__).resolve().parents[2]
QUICK = ("--seconds", "0.01", "--rounds", "1")


def test_a_checkout_beside_itself(capsys):
    assert beside.main([str(ROOT), "--games", "super_tic_tac_toe", "--only", "choice", "batch", "search", *QUICK]) == 0
    head, *lines = capsys.readouterr().out.splitlines()
    assert head.split() == ["game", "work", "other", "/s", "here", "/s", "ratio"]
    assert [line.split()[:2] for line in lines] == [["super_tic_tac_toe", w] for w in ("choice", "batch", "search")]
    assert all(float(line.split()[-1]) > 0 for line in lines)


def test_the_library_is_that_of_the_other_checkout(tmp_path, capfd):
    (tmp_path / "ttt_envs").mkdir()
    (tmp_path / "ttt_envs" / "__init__.py").write_text("raise SystemExit(7)")
    assert beside.main([str(tmp_path), "--only", "choice", *QUICK]) == 2
    assert "the process of this checkout ended, with status 7" in capfd.readouterr().err


@pytest.mark.parametrize(
    "name",
    [
        "aec",
        "parallel",
        "single",
        "greedy",
        "vector",
        "view",
        "tournament",
        pytest.param("start", marks=pytest.mark.slow),
    ],
)
def test_each_work_has_a_rate(name):
    assert beside.work(name, "tic_tac_dice")(0.01) > 0


def test_what_is_no_checkout_is_refused(tmp_path, capsys):
    assert beside.main([str(tmp_path)]) == 2
    assert "it has no folder ttt_envs" in capsys.readouterr().err
