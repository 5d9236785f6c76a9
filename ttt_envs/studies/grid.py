"""A grid of training runs: tasks x methods x seeds, side by side in processes, killed and gone on with without loss.

docs/study.md says what a plan, a file in TOML, holds. Each run is an ordinary run folder, OUT/runs/TASK/METHOD/seed-K.
If the plan gives processor time, OUT/steps.json has the steps that pilot runs made of it.
"""

import json
import math
import shutil
import tomllib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from importlib import import_module
from pathlib import Path
from typing import Any

from ttt_envs.core.options import unknown, within
from ttt_envs.evaluation import pool
from ttt_envs.learning import METHODS
from ttt_envs.learning.runs import checkpoint
from ttt_envs.learning.runs.logs import FILE as LOG
from ttt_envs.learning.runs.logs import read_log
from ttt_envs.learning.runs.loop import PROCESSOR
from ttt_envs.learning.runs.measurements import LEAST, read_metrics
from ttt_envs.storage.files import existing, locked_folder, write_whole
from ttt_envs.storage.runs import CONFIG, read_config
from ttt_envs.storage.untrusted import read_json
from ttt_envs.studies.tasks import Task, task_of, tasks

#: A plan of two tasks and three methods that takes seconds, to see that all works.
QUICK: dict[str, Any] = {
    "tasks": ["match-mini", "match-tiny"],
    "seeds": 2,
    "steps": 6000,
    "measurements": 2,
    "methods": {
        "mmd": {"num_envs": 128, "hidden": [32], "learning_rate": 3e-3},
        "rnad": {"num_envs": 128, "hidden": [32], "learning_rate": 3e-3, "target_share": 0.1},
        "ppo": {"num_envs": 64, "hidden": [32], "entropy": 0.1},
    },
}

#: In a study's folder: the steps of each method in each task, where the plan gives processor time.
STEPS = "steps.json"

# Settings of a learner that are the same for all methods.
_OF_A_STUDY = ("game", "options", "seed", "seeds", "out", "resume", "quiet")

# A pilot run is long enough once it has taken this share of the processor time of a run.
_PILOT = 0.15

# Steps of the first pilot run.
_FIRST = 4096


@dataclass(frozen=True)
class Run:
    """One training of a grid.

    Attributes:
        task: what is measured.
        label: the method's name in the plan.
        method: its name for `ttt train`.
        seed: of the training.
        settings: of the learner, all but folder and resumption.
    """

    task: Task
    label: str
    method: str
    seed: int
    settings: Mapping[str, Any]

    def folder(self, out: Path) -> Path:
        """The run's folder."""
        return out / "runs" / self.task.name / self.label / f"seed-{self.seed}"

    def finished(self, out: Path) -> bool:
        """Whether it was trained and measured to the end.

        Raises ValueError if what stands in its folder was trained or measured otherwise than the plan says.
        """
        folder = self.folder(out)
        if not (folder / CONFIG).is_file():
            return False
        checkpoint.Run(self.config(out, resume=True), self.method, needs=CONFIG)
        steps = read_config(folder)["settings"].get("steps")
        if steps is None or steps > self.settings["steps"]:
            raise ValueError(f"the run in {folder} is one of {steps} steps, not {self.settings['steps']}")
        measured = read_metrics(folder).get(self.task.metric, [])
        return bool(measured) and measured[-1][0] >= self.settings["steps"]

    def config(self, out: Path, resume: bool = False) -> Any:
        """The learner's settings; ValueError or TypeError for what makes none."""
        kind = import_module(METHODS[self.method]).Config
        config = kind(**self.settings, seed=self.seed, out=self.folder(out), resume=resume, quiet=True)
        config.check()
        return config


#: Gets a line of text when something is finished.
Progress = Callable[[str], None]

_GOES_ON = "the same command goes on with all runs"


@dataclass(frozen=True)
class Plan:
    """The runs that a study compares.

    Attributes:
        tasks, labels: names of tasks, and of methods as the plan calls them.
        runs: all trainings, seed after seed, so that an early page has all methods.
        seconds: processor time of a run, whose steps `budgeted` finds; None where the plan gives steps.
        given: the contents of its file.
    """

    tasks: tuple[str, ...]
    labels: tuple[str, ...]
    runs: tuple[Run, ...]
    seconds: float | None
    given: Mapping[str, Any]


def read_plan(path: str | Path) -> Plan:
    """The plan of a file; FileNotFoundError, or ValueError naming the file and what is wrong in it."""
    path = existing(path, "plan of a study")
    try:
        return plan_of(tomllib.loads(path.read_text(encoding="utf-8")))
    except (tomllib.TOMLDecodeError, UnicodeDecodeError, TypeError, ValueError) as error:
        raise ValueError(f"{path}: {error}") from None


def plan_of(given: Mapping[str, Any], steps: Mapping[str, int] | None = None) -> Plan:
    """The plan of a file's contents; ValueError or TypeError naming what is wrong.

    `steps`: of each "TASK/METHOD", where the contents give processor time; without them the plan is checked only.
    """
    needed, known = ("tasks", "seeds", "measurements", "methods"), ("steps", "seconds", "first_seed")
    for name in given:
        if name not in needed + known:
            raise ValueError(unknown("entry", name, [*needed, *known]))
    for name in needed:
        if name not in given:
            raise ValueError(f"a plan needs {', '.join(needed)}: there is no {name}")
    if ("steps" in given) == ("seconds" in given):
        raise ValueError("a plan needs either steps or seconds of processor time")
    first = given.get("first_seed", 0)
    within(1, 1000, seeds=given["seeds"])
    within(0, 2**31, first_seed=first)
    within(1, 10_000, measurements=given["measurements"])
    if "steps" in given:
        within(1, 10**15, steps=given["steps"])
    else:
        within(0.1, 1e9, seconds=given["seconds"])
    names = given["tasks"]
    if not isinstance(names, list) or not names or not all(isinstance(each, str) for each in names):
        raise TypeError(f"tasks must be a list of names, not {names!r}")
    if not isinstance(given["methods"], dict) or not given["methods"]:
        raise TypeError("methods must be tables, such as [methods.ppo]")
    named, runs = [task_of(name) for name in names], []
    for seed in range(first, first + given["seeds"]):
        for task in named:
            for label, settings in given["methods"].items():
                if task.name not in _tasks_of(label, settings, given["tasks"]):
                    continue
                number = (steps or {}).get(f"{task.name}/{label}", given.get("steps", given["measurements"]))
                runs.append(_run_of(task, label, settings, seed, given, number))
    if len({run.folder(Path()) for run in runs}) < len(runs):
        raise ValueError("a task is named twice")
    return Plan(tuple(given["tasks"]), tuple(given["methods"]), tuple(runs), given.get("seconds"), given)


def _tasks_of(label: str, settings: Any, named: Sequence[str]) -> Sequence[str]:
    """The tasks of a method: those that its table names, or all of the plan."""
    if not isinstance(settings, dict):
        raise TypeError(f"methods.{label} must be a table of settings, not {settings!r}")
    own = settings.get("tasks", named)
    if not isinstance(own, list) or not own:
        raise TypeError(f"methods.{label}: tasks must be a list of names, not {own!r}")
    for name in own:
        if name not in named:
            raise ValueError(f"methods.{label}: {unknown('task of the plan', name, named)}")
    return own


def _run_of(task: Task, label: str, settings: Any, seed: int, given: Mapping[str, Any], steps: int) -> Run:
    if not label.replace("-", "").replace("_", "").replace(".", "").isalnum() or label.startswith("."):
        raise ValueError(f"methods: a name has letters, digits, '-', '_' and '.', not {label!r}")
    of_all = {name: value for name, value in settings.items() if name not in ("tasks", *tasks())}
    of_task = settings.get(task.name, {})
    if not isinstance(of_task, dict):
        raise TypeError(f"methods.{label}.{task.name} must be a table of settings, not {of_task!r}")
    given_here = {**of_all, **of_task}
    own = {name: tuple(value) if isinstance(value, list) else value for name, value in given_here.items()}
    method = own.pop("method", label)
    if not isinstance(method, str) or method not in METHODS:
        raise ValueError(f"methods.{label}: {unknown('method', method, list(METHODS))}")
    for name in own:
        if name in _OF_A_STUDY:
            raise ValueError(f"methods.{label}: {name} is for the plan and its tasks to say, not for a method")
    if "steps" in own and "seconds" in given:
        raise ValueError(f"methods.{label}: the plan gives seconds of processor time, and so no steps")
    number: Any = own.pop("steps", steps)
    within(1, 10**15, steps=number)
    every = max(number // given["measurements"], 1)
    saving = {} if method == "ppo" else {"save_every": every}  # PPO saves after every rollout
    run = Run(task, label, method, seed, {**task.settings(every), **saving, "steps": number, **own})
    try:
        run.config(Path("runs"))
    except (TypeError, ValueError) as error:
        raise ValueError(f"methods.{label}: {error}") from None
    return run


def budgeted(plan: Plan, out: Path, workers: int | str = 0, progress: Progress = lambda text: None) -> Plan:
    """The plan with the steps that its processor time makes; of a plan that gives steps, itself.

    Arguments and errors are those of `train`; ValueError also if the folder's steps are for another processor time. An
    interrupt keeps the pilot runs that are finished.
    """
    if plan.seconds is None:
        return plan
    path, steps = out / STEPS, dict[str, int]()
    with locked_folder(out):
        if path.is_file():
            steps = _steps_of(path, plan.seconds)
        pilots = {f"{run.task.name}/{run.label}": run for run in plan.runs if run.seed == plan.runs[0].seed}
        left = [name for name in pilots if name not in steps]
        pilot = partial(_pilot, pilots, out / "pilots", plan.seconds)
        for number, found in pool.run(pilot, left, workers=workers, goes_on=_GOES_ON):
            name = left[number]
            steps[name] = max(found, plan.given["measurements"])
            write_whole(path, json.dumps({"seconds": plan.seconds, "steps": steps}, indent=2) + "\n")
            progress(f"{name}: {steps[name]:,} steps in {plan.seconds:g} s of processor time")
    return plan_of(plan.given, steps)


def _steps_of(path: Path, seconds: float) -> dict[str, int]:
    """The steps that a study's folder has; ValueError if they are damaged, or for another processor time."""
    try:
        known = read_json(path.read_bytes())
        of, steps = known["seconds"], dict(known["steps"])
    except (KeyError, TypeError, ValueError) as error:
        raise ValueError(f"{path} is damaged ({type(error).__name__}: {error})") from None
    if of != seconds:
        raise ValueError(f"{path} is for {of} seconds a run, not {seconds}: choose another folder")
    return steps


def _pilot(pilots: Mapping[str, Run], out: Path, seconds: float, name: str) -> int:
    """The steps that a run makes of its processor time, two digits of them."""
    run, folder = pilots[name], out / name

    def spent_on(steps: int) -> float:
        shutil.rmtree(folder, ignore_errors=True)
        often = {name: steps for name in ("steps", "eval_every", "save_every") if name in run.settings}
        settings = {**run.settings, **LEAST, **often}
        config = replace(Run(run.task, run.label, run.method, run.seed, settings).config(Path()), out=folder)
        if not import_module(METHODS[run.method]).train(config).finished:
            raise KeyboardInterrupt
        made.append(read_log(folder / LOG)[-1]["steps"])
        return float(next(line[PROCESSOR] for line in reversed(read_log(folder / LOG)) if PROCESSOR in line))

    made: list[int] = []
    spent_on(_FIRST)  # loads what was compiled: that time counts for nothing
    steps, spent = _FIRST, spent_on(_FIRST)
    while spent < _PILOT * seconds:
        steps *= max(2, min(8, int(1.3 * _PILOT * seconds / max(spent, 1e-3))))
        spent = spent_on(steps)
    shutil.rmtree(folder)
    number = made[-1] / spent * seconds
    return int(round(number, 1 - int(math.log10(number))))


def train(plan: Plan, out: Path, workers: int | str = 0, progress: Progress = lambda text: None) -> bool:
    """Train what is not finished yet; False if it was interrupted, and the same call goes on.

    Args:
        plan: the grid, see `budgeted`.
        out: the study's folder, which is locked meanwhile; all nodes of a cluster have it under the same path.
        workers: where runs are trained, as of `ttt_envs.evaluation.pool.run`; by default a process a processor.
        progress: gets a line for each run that is finished.

    Raises:
        InUse: another process is writing the folder.
        ValueError: a run cannot be trained, such as a game that a method is not for; the error names it.
        FileNotFoundError: a run is not in the folder, as the node that trained it has another one.
        ConnectionError, ChildProcessError: as of `pool.run`.
    """
    pool.check(workers)
    with locked_folder(out):
        left = [run for run in plan.runs if not run.finished(out)]
        done = len(plan.runs) - len(left)
        if done:
            progress(f"{done} of {len(plan.runs)} runs are finished")
        try:
            for number, finished in pool.run(partial(_train, out), left, workers=workers, goes_on=_GOES_ON):
                run = left[number]
                if not finished:
                    return False
                if not (folder := run.folder(out)).is_dir():
                    raise FileNotFoundError(f"there is no {folder}: all nodes of a cluster must share that path")
                done += 1
                progress(f"{done} of {len(plan.runs)}: {run.task.name}, {run.label}, seed {run.seed}")
        except KeyboardInterrupt:
            return False
    return True


def _train(out: Path, run: Run) -> bool:
    """Train one run, or go on with it."""
    resume = (run.folder(out) / checkpoint.RESUME).is_file()
    try:
        found = import_module(METHODS[run.method]).train(run.config(out, resume=resume))
    except ValueError as error:
        raise ValueError(f"{run.task.name}, {run.label}, seed {run.seed}: {error}") from None
    return bool(found.finished)
