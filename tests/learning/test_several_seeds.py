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
from ttt_envs.evaluation.reports.intervals import bootstrap, interquartile_mean, t_interval
from ttt_envs.learning import ppo
from ttt_envs.learning.runs.loop import SUMMARY, folders_of, train_seeds
from ttt_envs.learning.runs.measurements import read_metrics, title_of


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
    assert main(["train", "ppo", "--resume", "--out", str(out), "--seeds", "3", "--quiet"]) == 0
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


@pytest.mark.parametrize("kind", [ValueError, FileNotFoundError, ImportError])
def test_settings_that_are_refused_leave_nothing_to_go_on_with(tmp_path, kind):
    def refuse(config):
        raise kind("the game is too large")

    with pytest.raises(kind, match="too large"):
        train_seeds(small(tmp_path / "x"), refuse, "ppo")
    assert not (tmp_path / "x").exists()


def test_one_run_does_not_begin_in_a_folder_of_several_seeds(group):
    before = (group / "config.json").read_bytes()
    with pytest.raises(FileExistsError, match="holds a run already"):
        ppo.train(small(group, seeds=1))
    assert (group / "config.json").read_bytes() == before


def test_command_line(tmp_path, capsys):
    words = ["super_tic_tac_toe", "--out", str(tmp_path / "x"), "--steps", "128", "--seeds", "2", "--num-envs", "16"]
    words += ["--rollout", "8", "--hidden", "8", "--eval-games", "4", "--eval-agents", "random", "--batch", "64"]
    assert main(["train", "ppo", *words]) == 0
    assert "Mean and 95 % interval over 2 seeds" in capsys.readouterr().out
    assert (tmp_path / "x" / SUMMARY).exists()
    assert main(["train", "ppo", *words[:5], "--seeds", "0"]) == 2
    assert "seeds must be a whole number from 1 to 1,000, not 0" in capsys.readouterr().err


# --- intervals ---


@pytest.mark.parametrize("n", [2, 3, 5, 20, 31, 32, 100])
def test_student_s_interval(n):
    values = np.random.default_rng(n).normal(0.5, 0.2, n)
    mean, half_width = t_interval(values)
    low, high = stats.t.interval(0.95, n - 1, values.mean(), stats.sem(values))
    assert (mean - half_width, mean + half_width) == pytest.approx((low, high), abs=2e-4)


def test_too_few_seeds_have_no_interval():
    assert t_interval([0.3])[0] == 0.3
    assert np.isnan(t_interval([0.3])[1])
    assert np.isnan(t_interval([])).all()


def test_the_interquartile_mean_is_scipy_s_trimmed_mean():
    for n in range(1, 14):
        values = np.random.default_rng(n).normal(size=(3, n))
        assert interquartile_mean(values) == pytest.approx(stats.trim_mean(values, 0.25, axis=1))


def test_the_bootstrap_keeps_the_tasks_apart():
    """Seeds of a task alike: nothing varies, however different the tasks are."""
    tasks = [np.full((4, 2), 0.1), np.full((4, 2), 0.9)]
    mean, low, high = bootstrap(tasks, 200)
    assert mean == pytest.approx([0.5, 0.5])
    assert low == pytest.approx(mean)
    assert high == pytest.approx(mean)


def test_the_bootstrap_is_as_wide_as_theory():
    values = np.random.default_rng(0).normal(0.5, 0.1, (40, 1))
    _, low, high = bootstrap([values], 4000)
    expected = stats.bootstrap(
        (values[:, 0],), lambda x, axis: stats.trim_mean(x, 0.25, axis=axis), method="percentile", rng=0
    ).confidence_interval
    assert (low[0], high[0]) == pytest.approx((expected.low, expected.high), abs=0.004)


def test_metrics_have_names_for_people():
    assert title_of("eval/random") == "score against random"
    assert title_of("eval/regret") == "regret a game"
