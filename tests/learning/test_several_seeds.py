"""Several training seeds: their folders, going on, and what they have in common."""

import csv
import json
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from scipy import stats
from small_training import tiny

from ttt_envs.cli import main
from ttt_envs.evaluation.reports.intervals import of_seeds, t_interval
from ttt_envs.learning import ppo
from ttt_envs.learning.runs.loop import SUMMARY, folders_of, train_seeds
from ttt_envs.learning.runs.measurements import Point, read_metrics, write_rows
from ttt_envs.learning.runs.settings import Result


def small(out: Path, **changes):
    return tiny(out, **{"steps": 256, "eval_agents": ("random",), "eval_games": 20, "seed": 9, "seeds": 2, **changes})


@pytest.fixture(scope="module")
def group(tmp_path_factory) -> Path:
    path = tmp_path_factory.mktemp("runs") / "x"
    results = train_seeds(small(path), ppo.train, "ppo")
    assert [(result.finished, result.steps) for result in results] == [(True, 256)] * 2
    return path


def rows_of(group: Path) -> list[dict[str, str]]:
    with (group / SUMMARY).open(newline="") as file:
        return list(csv.DictReader(file))


def test_each_seed_has_a_run_of_its_own(group, tmp_path):
    assert [path.name for path in folders_of(group)] == ["seed-9", "seed-10"]
    for path in folders_of(group):
        settings = json.loads((path / "config.json").read_text())["settings"]
        assert (settings["seed"], settings["seeds"]) == (int(path.name[5:]), 1)
    one, other = ((path / "network.safetensors").read_bytes() for path in folders_of(group))
    assert one != other
    # It is the run that the same command makes with that seed alone.
    ppo.train(small(tmp_path / "alone", seed=10, seeds=1))
    assert (tmp_path / "alone" / "network.safetensors").read_bytes() == other


def test_the_summary_is_the_mean_over_seeds(group):
    (row,) = rows_of(group)
    last = [read_metrics(path)["eval/random"][-1] for path in folders_of(group)]
    values = [value for _, value in last]
    assert (row["metric"], row["seeds"], row["steps"]) == ("eval/random", "2", "256")
    assert float(row["mean"]) == pytest.approx(np.mean(values))
    assert float(row["half_width"]) == pytest.approx(stats.t.ppf(0.975, 1) * stats.sem(values), rel=1e-3)


def test_an_interrupted_group_goes_on_and_seeds_can_be_added(tmp_path, monkeypatch, capsys):
    out, calls = tmp_path / "x", []

    def train(config):
        calls.append((config.seed, config.resume, config.steps))
        if len(calls) == 2:
            monkeypatch.setattr(ppo.Interrupts, "check", interrupted)
        return ppo.train(config)

    def interrupted(self):
        raise KeyboardInterrupt

    results = train_seeds(small(out, quiet=False), train, "ppo")
    assert [result.finished for result in results] == [True, False]
    assert not (out / SUMMARY).exists()
    assert f"ttt train ppo --resume --out {out}\n" in capsys.readouterr().out.replace("\n ", " ")
    monkeypatch.undo()
    with pytest.raises(FileExistsError, match="--resume"):
        train_seeds(small(out), ppo.train, "ppo")
    calls.clear()
    assert main(["train", "ppo", "--resume", "--out", str(out), "--seeds", "3"]) == 0
    assert "Mean over 3 seeds; its interval covers 95 % of normally" in capsys.readouterr().out
    assert [path.name for path in folders_of(out)] == ["seed-9", "seed-10", "seed-11"]
    (row,) = rows_of(out)
    assert row["seeds"] == "3"
    with pytest.raises(ValueError, match=r"has other settings: gamma is 0\.99 there and 0\.5 here"):
        train_seeds(small(out, gamma=0.5, resume=True), ppo.train, "ppo")
    before = (out / "config.json").read_bytes()
    with pytest.raises(ValueError, match="more than --steps, 100"):
        train_seeds(small(out, steps=100, resume=True, seeds=3), ppo.train, "ppo")
    assert (out / "config.json").read_bytes() == before


def test_a_folder_of_one_run_takes_no_seeds_beside_it(tmp_path):
    config = small(tmp_path / "x", seeds=1)
    ppo.train(config)
    for resume in (False, True):
        with pytest.raises(ValueError, match="holds a run of one seed"):
            train_seeds(replace(config, seeds=2, resume=resume), ppo.train, "ppo")
    with pytest.raises(ValueError, match="a run has one seed"):
        ppo.train(replace(config, seeds=2, out=tmp_path / "y"))


def test_settings_that_are_refused_leave_nothing_to_go_on_with(tmp_path):
    def refuse(config):
        raise ValueError("the game is too large")

    with pytest.raises(ValueError, match="too large"):
        train_seeds(small(tmp_path / "x"), refuse, "ppo")
    assert not (tmp_path / "x").exists()


def test_one_run_does_not_begin_in_a_folder_of_several_seeds(group):
    before = (group / "config.json").read_bytes()
    with pytest.raises(FileExistsError, match="holds a run already"):
        ppo.train(small(group, seeds=1))
    assert (group / "config.json").read_bytes() == before


def test_a_measure_that_is_the_same_for_all_seeds_has_no_interval(tmp_path, monkeypatch, capsys):
    def train(config):
        write_rows(config.out / "curve.csv", Point, [Point(256, "eval/random", 1.0, 0.1)])
        return Result(config.out, 256, 1.0, True, {}, f"network:{config.out}")

    train_seeds(small(tmp_path / "x", seeds=5, quiet=False), train, "ppo")
    assert "score against random: all 5 seeds: 1.000\n" in capsys.readouterr().out


def test_too_few_seeds_have_no_interval():
    assert t_interval([0.3])[0] == 0.3
    assert np.isnan(t_interval([0.3])[1])
    assert np.isnan(t_interval([])).all()


def test_where_all_seeds_agree_there_is_no_interval():
    assert of_seeds(t_interval([1.0] * 5), 5) == "all 5 seeds: 1.000"
    assert of_seeds(t_interval([0.7, 0.70001]), 2) == "all 2 seeds: 0.700"
    assert of_seeds(t_interval([0.1, 0.2, 0.4]), 3, 2) == "0.23 ± 0.38"
    assert of_seeds(t_interval([0.3]), 1) == "0.300"
