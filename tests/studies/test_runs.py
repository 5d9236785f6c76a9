"""Runs on one page: what is read, how it is put together, what is written."""

import json
from pathlib import Path

import pytest
from PIL import Image

from ttt_envs import cli
from ttt_envs.learning.runs.measurements import RegretRow, ScoreRow, write_rows
from ttt_envs.studies.runs import compare, curve_of, read_runs


def make_run(
    folder: Path, scores: dict[int, float], game: str = "super_tic_tac_toe", regret: float | None = None
) -> None:
    """The files of a run with these scores against random by steps, and the wall time of a second for each step."""
    folder.mkdir(parents=True)
    (folder / "config.json").write_text(json.dumps({"settings": {"game": game, "options": {}}, "seconds": 1}))
    rows = [ScoreRow(steps, "random", score, 0, 1 - score, score, 0.01) for steps, score in scores.items()]
    write_rows(folder / "curve.csv", ScoreRow, rows)
    if regret is not None:
        write_rows(folder / "regret.csv", RegretRow, [RegretRow(steps, regret, 0, 0, 0, 0, 1) for steps in scores])
    lines = [json.dumps({"steps": steps, "seconds": 2.0 * steps}) for steps in scores]
    (folder / "log.jsonl").write_text("\n".join([*lines, ""]))


@pytest.fixture
def runs(tmp_path) -> Path:
    for seed, end in enumerate((0.6, 0.7, 0.8, 0.9, 0.1)):
        make_run(tmp_path / "many" / f"seed-{seed}", {0: 0.5, 100: end}, regret=0.25)
    make_run(tmp_path / "one", {0: 0.5, 40: 0.7, 80: 0.9})
    return tmp_path


def test_a_page(runs, capsys):
    out = runs / "page"
    assert cli.main(["study", str(runs / "many"), f"single={runs / 'one'}", "--out", str(out)]) == 0
    printed = capsys.readouterr().out
    assert printed.strip() == (out / "compare.md").read_text().strip()
    assert Image.open(out / "compare.png").size[0] > 1000
    found = json.loads((out / "compare.json").read_text())
    assert list(found) == ["eval/random", "eval/regret"]
    assert list(found["eval/random"]) == ["many", "single"]
    assert list(found["eval/regret"]) == ["many"], "the other run has not measured it"
    many = found["eval/random"]["many"]
    assert many["x"] == [0, 100]
    assert many["mean"] == pytest.approx([0.5, 0.7]), "the outlier is left out, and the best"
    assert 0 < many["half_width"][1] < 1
    single = found["eval/random"]["single"]
    assert (single["x"], single["mean"]) == ([0, 40, 80], pytest.approx([0.5, 0.7, 0.9]))
    assert single["half_width"] == [None] * 3
    assert "| score against random | single | 80 | 1 | 1 | 0.900 |" in printed
    assert "| score against random | many | 100 | 1 | 5 | 0.700 ± " in printed
    assert "| regret a game | many | 100 | 1 | 5 | all 5 seeds: 0.250 |" in printed


def test_games_of_one_label_are_tasks(tmp_path):
    for seed in range(3):
        make_run(tmp_path / "a" / f"seed-{seed}", {0: 0.1, 100: 0.2})
        make_run(tmp_path / "b" / f"seed-{seed}", {0: 0.9, 50: 0.7, 200: 0.8}, game="tic_tac_dice")
    labels = read_runs([f"ppo={tmp_path / 'a'}", f"ppo={tmp_path / 'b'}"])
    assert [(task.game, len(task.folders)) for task in labels["ppo"]] == [("super_tic_tac_toe", 3), ("tic_tac_dice", 3)]
    found = curve_of(labels["ppo"], "eval/random")
    assert (found.runs, found.games, found.x.tolist()) == (6, 2, [0, 100])
    # The other runs are read between their points: 0.7 + 50 / 150 * 0.1.
    assert found.mean == pytest.approx([0.5, (0.2 + 0.7 + 0.1 / 3) / 2])
    assert found.half_width == pytest.approx([0, 0]), "seeds are drawn, games are not"


def test_runs_of_one_label_and_game_are_seeds_however_they_are_named(runs):
    folders = [runs / "many" / f"seed-{seed}" for seed in range(5)]
    (one,) = read_runs([str(runs / "many")])["many"]
    for given in ([*folders, folders[0]], [runs / "many", folders[0]]):
        (task,) = read_runs([f"x={folder}" for folder in given])["x"]
        assert (task.game, task.folders, task.metrics) == (one.game, one.folders, one.metrics), "each counts once"


def test_wall_time_as_axis(runs):
    labels = read_runs([str(runs / "one")])
    found = curve_of(labels["one"], "eval/random", "seconds")
    assert found.x.tolist() == [0, 80, 160]
    (runs / "one" / "log.jsonl").unlink()
    assert curve_of(read_runs([str(runs / "one")])["one"], "eval/random", "seconds") is None


def test_runs_that_do_not_overlap_have_no_curve(tmp_path):
    make_run(tmp_path / "x" / "seed-0", {0: 0.5, 10: 0.5})
    make_run(tmp_path / "x" / "seed-1", {20: 0.5, 30: 0.5})
    assert curve_of(read_runs([str(tmp_path / "x")])["x"], "eval/random") is None


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["missing"], "no run folder at"),
        ([".", "--out", "x"], "no run: no file config.json"),
        (["{one}", "--x", "games"], "'games' must be one of 'steps', 'seconds'"),
        ([], "name at least one run folder"),
    ],
)
def test_what_cannot_be_compared_is_said(runs, words, message, capsys, monkeypatch):
    monkeypatch.chdir(runs)
    assert cli.main(["study", *(word.format(one=runs / "one") for word in words)]) == 2
    assert message in capsys.readouterr().err


def test_damaged_files_are_named(runs, capsys):
    (runs / "one" / "curve.csv").write_text("a,b\n1,2\n")
    assert cli.main(["study", str(runs / "one"), "--out", str(runs / "page")]) == 2
    assert "curve.csv is damaged" in capsys.readouterr().err
    assert not (runs / "page").exists()
    (runs / "one" / "config.json").write_text('{"settings": {}, "seconds": 1}')
    assert cli.main(["study", str(runs / "one"), "--out", str(runs / "page")]) == 2
    assert "config.json is damaged" in capsys.readouterr().err


def test_metrics_that_were_never_measured(tmp_path):
    make_run(tmp_path / "x", {})
    with pytest.raises(ValueError, match="no metric that was measured"):
        compare([str(tmp_path / "x")], tmp_path / "page")


def test_runs_that_were_measured_otherwise_are_refused(tmp_path):
    for name, games in (("a", 200), ("b", 100)):
        make_run(tmp_path / name, {0: 0.5, 100: 0.6})
        config = {"settings": {"game": "super_tic_tac_toe", "options": {}, "eval_games": games}, "seconds": 1}
        (tmp_path / name / "config.json").write_text(json.dumps(config))
    with pytest.raises(ValueError, match=r"b was measured otherwise than .*a: eval_games is 100 and 200"):
        read_runs([str(tmp_path / "a"), str(tmp_path / "b")])
