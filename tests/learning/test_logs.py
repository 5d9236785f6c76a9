"""The log of a run: lines, going on, TensorBoard, Weights & Biases."""

import json
import re
import sys
import textwrap
from dataclasses import replace
from pathlib import Path
from types import ModuleType, SimpleNamespace

import pytest
from small_training import tiny

from ttt_envs.learning.ppo import train
from ttt_envs.learning.runs import checkpoint
from ttt_envs.learning.runs.logs import FILE, Log, read_log


def test_a_run_s_log(run: Path):
    lines = read_log(run / FILE)
    assert [line["steps"] for line in lines if "eval/random" in line] == [0, 256, 512]
    assert [line["steps"] for line in lines if "train/loss" in line] == [128, 256, 384, 512]
    seconds = [line["seconds"] for line in lines]
    assert seconds == sorted(seconds)
    assert seconds[0] > 0


def make(folder: Path, start: int = 0, **changes) -> Log:
    this = checkpoint.Run(tiny(folder, **changes), "ppo")
    this.start = start
    return Log(this)


def test_numbers_of_one_time_are_one_line(tmp_path):
    log = make(tmp_path)
    log.write(0)
    assert not list(tmp_path.iterdir()), "nothing was recorded"
    log.record("a", 1)
    log.record("b", float("nan"))
    log.write(10)
    log.record("a", 2.5)
    log.write(20)
    log.write(30)
    log.close()
    found = read_log(tmp_path / FILE)
    assert [{**line, "seconds": 0} for line in found] == [
        {"steps": 10, "seconds": 0, "a": 1.0, "b": None},
        {"steps": 20, "seconds": 0, "a": 2.5},
    ]
    assert list((tmp_path / "tensorboard").glob("events*"))


def test_a_resumed_run_goes_on_from_what_was_saved(tmp_path):
    config = tiny(tmp_path / "x", steps=256)
    train(config)
    path = config.out / FILE
    with path.open("a") as file:  # of a killed process, after it had saved for the last time
        file.write('{"steps": 384, "seconds": 9.0, "lost": 1}\n{"steps": 38')
    before = [line for line in read_log(path) if line["steps"] <= 256]
    train(replace(config, resume=True, steps=384))
    after = read_log(path)
    assert after[: len(before)] == before
    assert not any("lost" in line for line in after)
    assert after[-1]["steps"] == 384
    assert after[-1]["seconds"] > before[-1]["seconds"]


@pytest.mark.parametrize("text", ["{", '{"steps": "1", "seconds": 2}', "[" * 100_000])
def test_a_damaged_line_is_named(tmp_path, text):
    (tmp_path / FILE).write_text(f'{{"steps": 1, "seconds": 2}}\n{text}\n')
    with pytest.raises(ValueError, match=r"log\.jsonl is damaged in line 2"):
        read_log(tmp_path / FILE)


def test_weights_and_biases_if_asked_for(tmp_path, monkeypatch):
    events = []

    class FakeRun:
        def log(self, numbers, step):
            events.append((step, numbers))

        def finish(self):
            events.append("finished")

    fake = ModuleType("wandb")
    fake.__spec__ = object()  # looked for, as that of an installed module
    fake.init = lambda **given: (events.append(given), FakeRun())[1]
    monkeypatch.setitem(sys.modules, "wandb", fake)
    config = tiny(tmp_path / "x", steps=128, wandb="mine")
    train(config)
    first, *rest, last = events
    assert (first["project"], first["name"], first["config"]["hidden"]) == ("mine", "x", [16])
    assert {step for step, _ in rest} == {0, 128}
    assert "eval/random" in rest[0][1]
    assert last == "finished"
    # It is of a call: the run is the same without it.
    assert train(replace(config, wandb=None, resume=True)).finished


def test_weights_and_biases_that_are_missing(tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "wandb", None)
    with pytest.raises(ImportError, match="wandb is not installed, which --wandb needs: pip install wandb"):
        train(tiny(tmp_path / "x", wandb="mine"))
    assert not (tmp_path / "x").exists()


def test_a_function_is_told_all_that_is_logged(tmp_path):
    told = []
    train(tiny(tmp_path / "x", steps=128, log=lambda steps, numbers: told.append((steps, numbers))))
    lines = read_log(tmp_path / "x" / FILE)
    assert [steps for steps, _ in told] == [line["steps"] for line in lines]
    for (_, numbers), line in zip(told, lines, strict=True):
        assert {name: value for name, value in numbers.items() if name != "seconds"} == {
            name: value for name, value in line.items() if name not in ("steps", "seconds")
        }
        assert line["seconds"] <= numbers["seconds"] + 0.001 < line["seconds"] + 5
    assert "log" not in json.loads((tmp_path / "x" / "config.json").read_text())["settings"]


def recipes() -> list[str]:
    page = (Path(__file__).parents[2] / "docs/train_and_rate.md").read_text()
    part = page.partition("To log to MLflow")[2].partition("\n## ")[0]
    return [textwrap.dedent(each) for each in re.findall(r"(?:^ {4}.*\n|^\n(?= {4}))+", part, re.MULTILINE)]


def test_the_recipes_for_trackers(tmp_path, monkeypatch):
    class Pruned(Exception):
        pass

    class Trial:
        number = 7

        def __init__(self):
            self.reports = []

        def suggest_float(self, name, low, high, log):
            return (low * high) ** 0.5

        def report(self, value, step):
            self.reports.append((step, value))

        def should_prune(self):
            return len(self.reports) == 2

    logged, fakes = [], {name: ModuleType(name) for name in ("mlflow", "trackio", "optuna")}
    fakes["mlflow"].log_metrics = lambda numbers, step: logged.append((step, numbers))
    fakes["trackio"].init = lambda project: None
    fakes["trackio"].log = lambda numbers: logged.append((numbers.pop("steps"), numbers))
    fakes["optuna"].TrialPruned = Pruned
    for name, module in fakes.items():
        monkeypatch.setitem(sys.modules, name, module)
    mlflow, trackio, optuna = recipes()
    for number, recipe in enumerate((mlflow, trackio)):
        names: dict = {}
        exec(recipe, names)
        train(tiny(tmp_path / str(number), steps=128, log=names["log"]))
        assert [steps for steps, _ in logged] == [line["steps"] for line in read_log(tmp_path / str(number) / FILE)]
        assert any("eval/random" in numbers for _, numbers in logged)
        logged.clear()

    def config(game, out, **settings):
        return tiny(tmp_path / "trial", eval_every=128, eval_agents=("greedy",), **settings)

    trial = Trial()
    study = SimpleNamespace(optimize=lambda objective, n_trials: objective(trial))
    fakes["optuna"].create_study = lambda direction: study
    with pytest.raises(Pruned):
        exec(optuna, {"ppo": SimpleNamespace(Config=config, train=train), "Path": Path})
    assert len(trial.reports) == 2
    assert read_log(tmp_path / "trial" / FILE)[-1]["steps"] == trial.reports[-1][0]
