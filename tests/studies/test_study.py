"""A study from one command: plan, grid, what goes on after a kill, statistics, page."""

import csv
import json
import re
import tarfile
from pathlib import Path

import numpy as np
import pytest

from ttt_envs import agents, cli, evaluation
from ttt_envs.agents.networks import load_network
from ttt_envs.core.compile import jit
from ttt_envs.learning import METHODS
from ttt_envs.learning.runs.measurements import read_metrics
from ttt_envs.learning.runs.settings import Settings
from ttt_envs.storage.files import locked_folder
from ttt_envs.studies import grid, page, statistics
from ttt_envs.studies.grid import plan_of, read_plan
from ttt_envs.studies.page import FILES, write_page, write_page_of_tables
from ttt_envs.studies.tasks import task_of, tasks

QUICK = {**grid.QUICK, "steps": 1500}
SHIPPED = Path(__file__).parents[2] / "docs/studies"
ONE = {"tasks": ["match-mini"], "seeds": 1, "steps": 300, "measurements": 1, "methods": {"mmd": {"num_envs": 32}}}


@pytest.fixture(scope="module")
def quick(tmp_path_factory) -> Path:
    out = tmp_path_factory.mktemp("study") / "quick"
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(grid, "QUICK", QUICK)
        assert cli.main(["study", "--quick", "--out", str(out), "--workers", "1"]) == 0
    return out


def test_quick_ends_in_a_page(quick):
    assert {path.name for path in quick.iterdir() if path.is_file()} == set(FILES)
    text = (quick / "study.md").read_text()
    assert "Partial" not in text
    for words in ("| mmd | 2 |", "| rnad over ppo |", "match-tiny", "fewer than four seeds"):
        assert words in text
    assert str(quick.parent) not in text
    assert (quick / "table.tex").read_text().startswith(r"\begin{tabular}{lrr}")
    rows = list(csv.DictReader((quick / "table.csv").open()))
    assert len(rows) == 12 * 3
    (first,) = [r for r in rows if (r["task"], r["method"], r["run"], r["steps"]) == ("match-tiny", "mmd", "0", "0")]
    assert float(first["score"]) == pytest.approx(0, abs=0.01), "an untrained policy is nearly the random one"
    assert float(first["processor_seconds"]) == 0
    last = [row for row in rows if int(row["steps"]) >= QUICK["steps"]]
    assert len(last) == 12
    assert all(0 < float(row["processor_seconds"]) < 100 for row in last)
    assert {row["task"] for row in rows} == set(QUICK["tasks"])


def test_each_method_has_a_colour_of_its_own():
    assert len(set(page._COLOURS)) == len(page._COLOURS) >= len(METHODS)


def test_a_finished_study_trains_nothing_again(quick, capsys, monkeypatch, undrawn):
    monkeypatch.setattr(grid, "QUICK", QUICK)
    before = {path: path.stat().st_mtime_ns for path in quick.glob("runs/*/*/*/network.safetensors")}
    assert len(before) == 12
    assert cli.main(["study", "--quick", "--out", str(quick)]) == 0
    assert "12 of 12 runs are finished" in capsys.readouterr().out
    assert before == {path: path.stat().st_mtime_ns for path in before}


def test_a_page_of_the_tables_of_several_studies(quick, tmp_path, capsys, request):
    head, *lines = (quick / "table.csv").read_text().splitlines()
    parts = tmp_path / "a.csv", tmp_path / "b.csv"
    parts[0].write_text("\n".join([head, *(line for line in lines if line.startswith("match-mini"))]) + "\n")
    parts[1].write_text("\n".join([head, *(line for line in lines if line.startswith("match-tiny"))]) + "\n")
    assert cli.main(["study", *map(str, parts), "--out", str(tmp_path / "whole")]) == 0
    assert capsys.readouterr().out.startswith((quick / "study.md").read_text())
    for name in FILES:
        assert (tmp_path / "whole" / name).is_file()

    request.getfixturevalue("undrawn")
    # A method that is not in every task is compared where it is.
    rows = [line.split(",") for line in parts[1].read_text().splitlines()]
    parts[1].write_text("\n".join(",".join(row) for row in rows if row[2] != "ppo") + "\n")
    text = write_page_of_tables(parts, tmp_path / "some")
    assert "| ppo | 1 |" in text
    assert "| – | " in next(line for line in text.splitlines() if line.startswith("| ppo | 2 |"))
    assert "| mmd over ppo | 1 |" in text
    assert "| mmd over rnad | 2 |" in text
    assert "& --" in (tmp_path / "some" / "table.tex").read_text()

    with pytest.raises(ValueError, match="there are runs of mmd in match-mini already"):
        write_page_of_tables([parts[0], parts[0]], tmp_path / "twice")
    parts[0].write_text(parts[0].read_text().replace("match-mini,1", "match-mini,7"))
    with pytest.raises(ValueError, match="has version 7 of the task match-mini, which is 1 now"):
        write_page_of_tables(parts, tmp_path / "old")
    parts[0].write_text(head + "\n")
    with pytest.raises(ValueError, match="no measurements"):
        write_page_of_tables(parts[:1], tmp_path / "none")
    assert cli.main(["study", str(parts[0]), "runs/x"]) == 2


def test_the_shipped_table_says_what_the_logs_of_the_runs_do():
    plan, found = read_plan(SHIPPED / "minute.toml"), {}
    with tarfile.open(SHIPPED / "minute_logs.tar.gz") as archive:
        for path in archive.getnames():
            if path.endswith("/log.jsonl"):
                name, method, seed, _ = path.split("/")
                task = task_of(name)
                lines = [json.loads(line) for line in archive.extractfile(path)]
                measured = {line["steps"]: line[task.metric] for line in lines if task.metric in line}
                scores = task.score(task.measures(np.array(list(measured.values()))))
                found[name, method, int(seed.removeprefix("seed-"))] = dict(zip(measured, scores, strict=True))
    table = {}
    with (SHIPPED / "minute.csv").open() as file:
        for row in csv.DictReader(file):
            key = row["task"], row["method"], int(row["run"])
            table.setdefault(key, {})[int(row["steps"])] = pytest.approx(float(row["score"]))
    assert set(found) == {(run.task.name, run.label, run.seed) for run in plan.runs}
    assert found == table


@pytest.mark.slow  # trains in processes of its own
def test_what_a_killed_study_left_is_gone_on_with(tmp_path):
    plan = plan_of({**ONE, "steps": 900, "measurements": 3})
    (run,) = plan.runs
    early = plan_of({**ONE, "steps": 300, "measurements": 1}).runs[0]
    assert grid._train(tmp_path, early)
    with pytest.raises(ValueError, match="the same command goes on"):
        write_page(plan, tmp_path)
    assert grid.train(plan, tmp_path, 2)
    steps = [step for step, _ in read_metrics(run.folder(tmp_path))["eval/exploitability"]]
    assert steps[0] == 0
    assert steps[-1] >= 900
    assert sorted(steps) == steps


def test_an_interrupt_before_the_first_finished_run_is_one(tmp_path, monkeypatch, capsys):
    monkeypatch.setattr(grid, "train", lambda *given: False)
    assert cli.main(["study", "--quick", "--out", str(tmp_path)]) == 130
    assert "interrupted: no method has a finished run of each task yet" in capsys.readouterr().err


@pytest.mark.parametrize("text", ["{", "[]", '{"secs": 2}'])
def test_damaged_steps_are_named(tmp_path, text):
    plan = plan_of({**{name: value for name, value in ONE.items() if name != "steps"}, "seconds": 2.0})
    (tmp_path / grid.STEPS).write_text(text)
    with pytest.raises(ValueError, match=r"steps\.json is damaged"):
        grid.budgeted(plan, tmp_path)


def test_what_was_trained_otherwise_is_refused(tmp_path):
    plan = plan_of(ONE)
    assert grid.train(plan, tmp_path, 1)
    for changes, words in (
        ({"methods": {"mmd": {"num_envs": 32, "magnet": 0.5}}}, "has other settings: magnet is 0.2 there and 0.5 here"),
        ({"steps": 200, "methods": {"mmd": {"num_envs": 32, "save_every": 300}}}, "is one of 300 steps, not 200"),
    ):
        with pytest.raises(ValueError, match=words):
            grid.train(plan_of({**ONE, **changes}), tmp_path, 1)
        with pytest.raises(ValueError, match=words):
            write_page(plan_of({**ONE, **changes}), tmp_path)


@pytest.mark.slow  # trains for seconds, several times
def test_a_plan_of_processor_time(tmp_path, monkeypatch):
    given = {name: value for name, value in ONE.items() if name != "steps"}
    given |= {
        "seconds": 2.0,
        "methods": {"mmd": {}, "mmd-large": {"method": "mmd", "hidden": [512, 512]}},
    }
    plan = plan_of(given)
    assert grid.budgeted(plan_of(ONE), tmp_path) == plan_of(ONE)
    said: list[str] = []
    found = grid.budgeted(plan, tmp_path, 1, said.append)
    steps = {run.label: run.settings["steps"] for run in found.runs}
    assert steps["mmd"] > 2 * steps["mmd-large"] > 2000
    assert len(said) == 2
    assert "2 s of processor time" in said[0]
    assert not list((tmp_path / "pilots").glob("*/*")), "pilot runs are thrown away"
    monkeypatch.setattr(grid, "_pilot", lambda *given: pytest.fail("what is known is measured again"))
    assert grid.budgeted(plan, tmp_path, 1) == found
    with pytest.raises(ValueError, match=r"is for 2\.0 seconds a run, not 3\.0"):
        grid.budgeted(plan_of({**given, "seconds": 3.0}), tmp_path)
    assert grid.train(found, tmp_path, 1)
    write_page(found, tmp_path)
    rows = list(csv.DictReader((tmp_path / "table.csv").open()))
    last = [float(row["processor_seconds"]) for row in rows if int(row["steps"]) >= steps[row["method"]]]
    assert len(last) == 2
    assert all(0.7 < seconds < 6 for seconds in last)


@pytest.mark.slow  # starts a cluster
def test_on_ray_the_same_is_learned(tmp_path):
    pytest.importorskip("ray")
    plan = plan_of({**ONE, "seeds": 2})
    said: list[str] = []
    assert grid.train(plan, tmp_path / "ray", "ray", said.append)
    assert said[-1].startswith("2 of 2: match-mini, mmd, seed ")
    assert grid.train(plan, tmp_path / "here", 1)
    for run in plan.runs:
        ours, theirs = (load_network(run.folder(tmp_path / where)).tensors for where in ("here", "ray"))
        assert all(np.array_equal(ours[name], theirs[name]) for name in ours)


def test_settings_of_one_task_and_other_seeds():
    own = {"mmd": {"num_envs": 32, "magnet": 0.3, "match-tiny": {"magnet": 0.4}}}
    plan = plan_of({**ONE, "tasks": ["match-mini", "match-tiny"], "first_seed": 7, "methods": own})
    assert [(run.seed, run.settings["magnet"], run.settings["num_envs"]) for run in plan.runs] == [
        (7, 0.3, 32),
        (7, 0.4, 32),
    ]


@pytest.fixture
def undrawn(monkeypatch):
    """Pages without pictures, which take most of the time."""
    monkeypatch.setattr(page, "_pictures", lambda *given: {})


def test_a_method_may_be_for_some_tasks_alone(quick, undrawn):
    own = {"mmd": QUICK["methods"]["mmd"], "ppo": {**QUICK["methods"]["ppo"], "tasks": ["match-tiny"]}}
    plan = plan_of({**QUICK, "methods": own})
    assert len(plan.runs) == 2 * (2 + 1)
    text = write_page(plan, quick)
    assert "Partial" not in text
    assert re.search(r"\| ppo \| 2 \| – \| 0\.\d+ ± ", text)
    assert "| mmd over ppo | 1 |" in text


def test_there_are_never_two_writers(tmp_path):
    with locked_folder(tmp_path / "x"), pytest.raises(OSError, match="being written by process"):
        grid.train(plan_of(ONE), tmp_path / "x", 1)


def test_an_interrupted_run_leaves_a_partial_page(quick, undrawn):
    plan = plan_of({**QUICK, "seeds": 3})
    assert "**Partial: 12 of 18 runs count" in write_page(plan, quick, complete=False)


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"tasks": ["chess"]}, "unknown task 'chess'"),
        ({"tasks": []}, "tasks must be a list"),
        ({"tasks": ["match-mini", "match-mini"]}, "a task is named twice"),
        ({"seeds": 0}, "seeds must be"),
        ({"seed": 1}, "unknown entry 'seed'"),
        ({"methods": {}}, "methods must be tables"),
        ({"methods": {"sarsa": {}}}, r"methods.sarsa: unknown method 'sarsa'"),
        ({"methods": {"../x": {"method": "mmd"}}}, "a name has letters"),
        ({"methods": {"mmd": {"tasks": ["match-tiny"]}}}, "methods.mmd: unknown task of the plan 'match-tiny'"),
        ({"methods": {"mmd": {"tasks": []}}}, "methods.mmd: tasks must be a list"),
        ({"methods": {"mmd": {"magnet": -1.0}}}, "methods.mmd: magnet must be"),
        ({"methods": {"mmd": {"magnetism": 1.0}}}, "methods.mmd: .*magnetism"),
        ({"methods": {"mmd": {"steps": 0}}}, "steps must be"),
        ({"methods": {"mmd": {"match-mini": 3}}}, "methods.mmd.match-mini must be a table of settings, not 3"),
        ({"methods": {"mmd": {"method": {"a": 1}}}}, "methods.mmd: unknown method {'a': 1}"),
        ({"methods": {"mmd": {"game": "tic_tac_dice"}}}, "methods.mmd: game is for the plan and its tasks to say"),
        ({"methods": {"mmd": {"seeds": 2}}}, "methods.mmd: seeds is for the plan and its tasks to say"),
        ({"tasks": [["match-mini"]]}, "tasks must be a list of names"),
        ({"seconds": 5}, "either steps or seconds"),
        ({"first_seed": -1}, "first_seed must be"),
    ],
)
def test_a_wrong_plan_is_refused(changes, words):
    with pytest.raises((ValueError, TypeError), match=words):
        plan_of({**ONE, **changes})


def test_a_plan_in_a_file(tmp_path, capsys):
    path = tmp_path / "plan.toml"
    path.write_text('tasks = ["match-mini"]\nseeds = 2\nsteps = 10\nmeasurements = 5\n[methods.x]\nmethod = "nfsp"\n')
    plan = read_plan(path)
    assert [(run.label, run.method, run.seed) for run in plan.runs] == [("x", "nfsp", 0), ("x", "nfsp", 1)]
    assert plan.runs[0].settings["exploitability_every"] == 2
    path.write_text("tasks = [")
    assert cli.main(["study", str(path)]) == 2
    assert "plan.toml:" in capsys.readouterr().err
    assert cli.main(["study", str(tmp_path / "missing.toml")]) == 2
    assert cli.main(["study", str(path), "more"]) == 2
    assert "give one plan" in capsys.readouterr().err


def test_what_random_play_loses_is_exact():
    for name in ("match-mini", "match-tiny"):
        task = task_of(name)
        (found,) = evaluation.exploitability(task.game, ["random"], **task.options, quiet=True).measurements
        assert found.exploitability == pytest.approx(task.random, abs=1e-6)
        assert task.score(np.array([0.0, task.random])).tolist() == [1, 0]
    assert len(tasks()) >= 4


def measured(task, agent) -> float:
    """The measure of an agent, by the measurements that a learner of the task has."""
    config = Settings(**task.settings(every=1), quiet=True)
    config.check()
    found = {}
    for each in config.measurements(config.load()):
        for row in each.measure(agents.load(agent), 0, lambda: None):
            found |= each.values(row)
    return float(task.measures(np.array([found[task.metric][0]]))[0])


LONG = (
    *("operation-sniper-ninja", "operation-courier-hacker", "operation-mole-pusher"),
    *("big-dice-layouts", "match-medium"),
)


def quick_tasks(names):
    """Names of tasks as parameters: those that are measured for long are slow."""
    return [pytest.param(name, marks=[pytest.mark.slow] if name in LONG else []) for name in names]


@pytest.mark.skipif(jit.DISABLED, reason="games are walked through compiled")
@pytest.mark.parametrize("name", quick_tasks(tasks()))
def test_random_play_scores_nothing(name):
    task = task_of(name)
    assert float(task.score(np.array(measured(task, "random")))) == pytest.approx(0, abs=0.1)
    assert task.seconds > 0


@pytest.mark.skipif(jit.DISABLED, reason="games are played compiled")
@pytest.mark.parametrize(
    ("name", "agent", "least"),
    [("dice-round", "oracle", 1), ("martian-3x3", "oracle", 1), ("super", "oracle", 1), ("dice-round", "greedy", 0.4)],
)
def test_best_play_scores_one_and_what_is_between_is_between(name, agent, least):
    task = task_of(name)
    score = float(task.score(np.array(measured(task, agent))))
    assert score == 1 if least == 1 else least < score < 0.65


@pytest.mark.skipif(jit.DISABLED, reason="games are played compiled")
@pytest.mark.parametrize("name", quick_tasks(read_plan(SHIPPED / "minute.toml").tasks))
def test_the_best_network_of_a_shipped_task_plays_as_the_table_says(name):
    with (SHIPPED / "minute.csv").open() as file:
        rows = [row for row in csv.DictReader(file) if row["task"] == name]
    ends = {(row["method"], row["run"]): float(row["score"]) for row in rows}  # the last row of a run counts
    best = max(ends, key=lambda run: ends[run])
    played = {"alphazero": "guided:{},simulations=32", "ntuple": "alphabeta:{},depth=3"}
    agent = played.get(best[0], "network:{}").format(SHIPPED / f"best/{name}.safetensors")
    task = task_of(name)
    score = float(task.score(np.array(measured(task, agent))))
    # Exploitability is exact; the other measures are of games or positions that the seed of the run has drawn.
    assert score == pytest.approx(ends[best], abs=1e-6 if task.measure == "exploitability" else 0.06)


@pytest.mark.parametrize(
    ("ends", "cells"),
    [
        ([0.9], "| one | 1 | 1 | 0.900 | 0.900 |"),
        ([1.0] * 5, "| one | 1 | 5 | all 5 seeds: 1.000 | 1.000 |"),
        ([0.8, 0.9, 0.95], "| one | 1 | 3 | 0.883 ± 0.190 | 0.883 |"),
    ],
)
def test_no_interval_has_a_width_of_0(ends, cells):
    """One seed, seeds that agree, and others; the other method is far behind in all runs."""
    curves = {
        label: {"match-mini": [(np.array([0, 10]), np.array([0.0, 1.0]), np.array([0.0, end])) for end in some]}
        for label, some in (("one", ends), ("other", [end - 0.5 for end in ends]))
    }
    text = page._text([task_of("match-mini")], curves, "")
    assert cells in text
    (compared,) = [line for line in text.splitlines() if line.startswith("| one over other | 1 |")]
    n = len(ends)
    assert compared.startswith(f"| one over other | 1 | {n} and {n} | 1.000" + (" (0." if n > 1 else " |"))
    assert not re.search(r"± 0\.0+ |(\d\.\d+) to \1", text)


def test_statistics_by_hand():
    first, second = [np.array([0.5, 0.7]), np.array([0.2, 0.2])], [np.array([0.6, 0.4]), np.array([0.2, 0.1])]
    # 0.5 beats one of two, 0.7 both; equal scores count half.
    assert statistics.improvement(first, second)[0] == pytest.approx((0.75 + 0.75) / 2)
    assert statistics.profile(first, np.array([0.0, 0.5, 0.9])).tolist() == pytest.approx([1, 0.25, 0])


def test_a_method_that_is_ahead_in_all_few_runs_may_not_always_be():
    ends = {}
    for n in (2, 3, 5, 30):
        value, (ends[n], high) = statistics.improvement([np.ones(n)], [np.zeros(n)])
        assert (value, high) == (1, 1)
    assert ends[2] < ends[3] < 0.5 < ends[5] < 0.7 < 0.9 < ends[30] < 1
    assert statistics.improvement([np.ones(5)] * 4, [np.zeros(5)] * 4)[1][0] > ends[5] + 0.1
    assert np.isnan(statistics.improvement([np.ones(1)], [np.zeros(1)])[1]).all()
    value, (low, high) = statistics.improvement([np.ones(3)], [np.ones(3)])
    assert (value, low) == (0.5, pytest.approx(1 - high))
