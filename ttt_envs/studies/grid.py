"""A grid of training runs: tasks x methods x seeds, side by side in processes, killed and gone on with without loss.

A plan is a file in TOML::

    tasks = ["match-tiny", "match-small"]
    seeds = 5
    steps = 400_000
    measurements = 10

    [methods.mmd]

    [methods.ppo-magnet]
    method = "ppo"
    magnet = 0.1

Each table under `methods` names a method of `ttt train`, or has its name as `method`, and gives settings in the place
of their defaults; `steps` too. Each run is an ordinary run folder, OUT/runs/TASK/METHOD/seed-K.
"""

import os
import tomllib
from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import ProcessPoolExecutor, as_completed
from dataclasses import dataclass
from importlib import import_module
from multiprocessing import get_context
from pathlib import Path
from typing import Any

from ttt_envs.core.options import unknown, within
from ttt_envs.learning import METHODS
from ttt_envs.learning.metrics import read_metrics
from ttt_envs.storage.files import existing, locked_folder
from ttt_envs.studies.tasks import Task, task_of

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

# Libraries of matrix products would share each process's work among threads that get in each other's way.
_ONE_THREAD = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS")


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
        """Whether it was trained and measured to the end."""
        measured = read_metrics(self.folder(out)).get(self.task.metric, [])
        return bool(measured) and measured[-1][0] >= self.settings["steps"]

    def config(self, out: Path, resume: bool = False) -> Any:
        """The learner's settings; ValueError or TypeError for what makes none."""
        kind = import_module(METHODS[self.method]).Config
        config = kind(**self.settings, seed=self.seed, out=self.folder(out), resume=resume, quiet=True)
        config.check()
        return config


@dataclass(frozen=True)
class Plan:
    """The runs that a study compares.

    Attributes:
        tasks, labels: names of tasks, and of methods as the plan calls them.
        seeds: number of seeds, from 0 on.
        runs: all trainings, seed after seed, so that an early page has all methods.
    """

    tasks: tuple[str, ...]
    labels: tuple[str, ...]
    seeds: int
    runs: tuple[Run, ...]


def read_plan(path: str | Path) -> Plan:
    """The plan of a file; FileNotFoundError, or ValueError naming the file and what is wrong in it."""
    path = existing(path, "plan of a study")
    try:
        return plan_of(tomllib.loads(path.read_text(encoding="utf-8")))
    except (tomllib.TOMLDecodeError, UnicodeDecodeError, TypeError, ValueError) as error:
        raise ValueError(f"{path}: {error}") from None


def plan_of(given: Mapping[str, Any]) -> Plan:
    """The plan of a file's contents; ValueError or TypeError naming what is wrong."""
    known = ("tasks", "seeds", "steps", "measurements", "methods")
    for name in given:
        if name not in known:
            raise ValueError(unknown("entry", name, list(known)))
    for name in known:
        if name not in given:
            raise ValueError(f"a plan needs {', '.join(known)}: there is no {name}")
    within(1, 1000, seeds=given["seeds"])
    within(1, 10**15, steps=given["steps"])
    within(1, 10_000, measurements=given["measurements"])
    if not isinstance(given["tasks"], list) or not given["tasks"]:
        raise TypeError(f"tasks must be a list of names, not {given['tasks']!r}")
    if not isinstance(given["methods"], dict) or not given["methods"]:
        raise TypeError("methods must be tables, such as [methods.ppo]")
    tasks, runs = [task_of(name) for name in given["tasks"]], []
    for seed in range(given["seeds"]):
        for task in tasks:
            for label, settings in given["methods"].items():
                runs.append(_run_of(task, label, settings, seed, given))
    if len({run.folder(Path()) for run in runs}) < len(runs):
        raise ValueError("a task is named twice")
    return Plan(tuple(given["tasks"]), tuple(given["methods"]), given["seeds"], tuple(runs))


def _run_of(task: Task, label: str, settings: Any, seed: int, given: Mapping[str, Any]) -> Run:
    if not isinstance(settings, dict):
        raise TypeError(f"methods.{label} must be a table of settings, not {settings!r}")
    if not label.replace("-", "").replace("_", "").replace(".", "").isalnum() or label.startswith("."):
        raise ValueError(f"methods: a name has letters, digits, '-', '_' and '.', not {label!r}")
    own = {name: tuple(value) if isinstance(value, list) else value for name, value in settings.items()}
    method = own.pop("method", label)
    if method not in METHODS:
        raise ValueError(f"methods.{label}: {unknown('method', method, list(METHODS))}")
    steps = own.pop("steps", given["steps"])
    within(1, 10**15, steps=steps)
    every = max(steps // given["measurements"], 1)
    run = Run(task, label, method, seed, {**task.settings(every), "save_every": every, "steps": steps, **own})
    if method == "ppo":  # saves after every rollout
        run = Run(task, label, method, seed, {k: v for k, v in run.settings.items() if k != "save_every"})
    try:
        run.config(Path("runs"))
    except (TypeError, ValueError) as error:
        raise ValueError(f"methods.{label}: {error}") from None
    return run


def train(plan: Plan, out: Path, workers: int = 0, say: Callable[[str], None] = lambda text: None) -> bool:
    """Train what is not finished yet; False if it was interrupted, and the same call goes on.

    Args:
        plan: the grid.
        out: the study's folder, which is locked meanwhile.
        workers: processes; 0: one a processor.
        say: gets a line for each run that is finished.

    Raises:
        InUse: another process is writing the folder.
        ValueError: a run cannot be trained, such as a game that a method is not for; the error names it.
    """
    within(0, 10_000, workers=workers)
    with locked_folder(out):
        left = [run for run in plan.runs if not run.finished(out)]
        done = len(plan.runs) - len(left)
        if done:
            say(f"{done} of {len(plan.runs)} runs are finished")
        with _OneThread(), ProcessPoolExecutor(workers or os.cpu_count(), mp_context=get_context("spawn")) as pool:
            waiting = {pool.submit(_train, run, out): run for run in left}
            try:
                for future in as_completed(waiting):
                    run = waiting[future]
                    if not future.result():
                        raise KeyboardInterrupt
                    done += 1
                    say(f"{done} of {len(plan.runs)}: {run.task.name}, {run.label}, seed {run.seed}")
            except KeyboardInterrupt:
                pool.shutdown(cancel_futures=True)
                return False
            except BaseException:
                pool.shutdown(cancel_futures=True)
                raise
    return True


def _train(run: Run, out: Path) -> bool:
    """Train one run in a process of its own, or go on with it."""
    resume = (run.folder(out) / "resume.safetensors").is_file()
    try:
        found = import_module(METHODS[run.method]).train(run.config(out, resume=resume))
    except ValueError as error:
        raise ValueError(f"{run.task.name}, {run.label}, seed {run.seed}: {error}") from None
    return bool(found.finished)


class _OneThread:
    """A context in which new processes have one thread for matrix products."""

    def __enter__(self) -> None:
        self._before = {name: os.environ.get(name) for name in _ONE_THREAD}
        os.environ.update(dict.fromkeys(_ONE_THREAD, "1"))

    def __exit__(self, *_: object) -> None:
        for name, value in self._before.items():
            if value is None:
                os.environ.pop(name, None)
            else:
                os.environ[name] = value


def folders(plan: Plan, out: Path) -> Iterator[tuple[Run, Path]]:
    """The runs that are finished, and their folders."""
    return ((run, run.folder(out)) for run in plan.runs if run.finished(out))
