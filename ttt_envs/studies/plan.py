"""The plan of a study, a file in TOML: tasks, methods, budgets and seeds. docs/study.md describes it."""

import inspect
import itertools
import math
import tomllib
import zlib
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from importlib import import_module
from pathlib import Path
from typing import Any

import numpy as np

from ttt_envs import agents
from ttt_envs.core.options import unknown, within
from ttt_envs.learning import METHODS
from ttt_envs.learning.runs.measurements import LEAST
from ttt_envs.storage.files import existing
from ttt_envs.storage.untrusted import with_tuples
from ttt_envs.studies.tasks import Task, task_of, tasks

#: A plan that takes half a minute: three methods on a round of dice.
QUICK: dict[str, Any] = {
    "tasks": ["dice-round"],
    "seeds": 2,
    "steps": [10_000, 60_000],
    "agents": {"dice-round": ["random", "greedy"]},
    "methods": {
        "value_learning": {"hidden": [128, 128], "batch": 512, "average": 0.02, "worlds": 1, "warm_up": 2000},
        "mmd": {"num_envs": 128, "learning_rate": 3e-3, "magnet_final": 0.005},
        "ppo": {"anneal": True, "gamma": 1.0, "gae_lambda": 0.3, "entropy": 0.0005, "learning_rate": 5e-3},
    },
}

_NEEDED, _KNOWN = ("tasks", "seeds", "methods"), ("steps", "seconds", "first_seed", "search", "also", "agents")

# Settings of a learner that are fixed by the plan and its tasks.
_OF_A_STUDY = ("game", "options", "seed", "seeds", "out", "resume", "quiet", "steps", "eval_every", *LEAST)


@dataclass(frozen=True)
class Run:
    """One training.

    Attributes:
        task: what is measured at the end.
        label: the method's name in the plan.
        method: its name for `ttt train`, or the function that trains, such as "my.py:train".
        settings: of the method, as the plan gives them.
        seed: of the training.
        budget: seconds of processor time, or steps.
        unit: "seconds" or "steps".
        number: of the configuration in a search; None for a run of the study itself.
    """

    task: Task
    label: str
    method: str
    settings: Mapping[str, Any]
    seed: int
    budget: float
    unit: str
    number: int | None = None

    @property
    def place(self) -> Path:
        """The folder of its task, method and configuration within that of the study."""
        part = Path("runs" if self.number is None else "search", self.task.name, self.label)
        return part if self.number is None else part / f"configuration-{self.number}"

    def folder(self, out: Path) -> Path:
        """Its own folder."""
        return out / self.place / f"{self.budget:g}-{self.unit}" / f"seed-{self.seed}"

    @property
    def own(self) -> bool:
        """Whether a function of the user's trains."""
        return self.method not in METHODS

    def config(self, steps: int, out: Path = Path("runs"), resume: bool = False) -> Any:
        """The settings of a method of the library, which measures nothing on the way; ValueError if they are wrong."""
        kind = import_module(METHODS[self.method]).Config
        whole = {
            "game": self.task.game,
            "options": dict(self.task.options),
            "eval_every": steps,
            **LEAST,
            **self.settings,
        }
        if "save_every" in inspect.signature(kind).parameters:  # PPO saves after every rollout
            whole = {"save_every": steps, **whole}
        config = kind(**whole, eval_agents=("random",), steps=steps, seed=self.seed, out=out, resume=resume, quiet=True)
        config.check()
        return config


@dataclass(frozen=True)
class Plan:
    """What a study compares.

    Attributes:
        tasks: names of tasks.
        methods: of each label the first run in each of its tasks, of seed `first_seed` and the largest budget.
        ranges: values to choose from by setting, of each label and task; empty where nothing is searched for.
        budgets: seconds of processor time or steps, ascending; each is a set of runs of its own.
        seeds, first_seed: number of training seeds, and the first of them.
        search: configurations that are tried of each method with ranges.
        also: other ways to play what was trained, by name: an agent's text with {} for the run folder or network.
        agents: baselines of each task.
    """

    tasks: tuple[str, ...]
    methods: Mapping[str, tuple[Run, ...]]
    ranges: Mapping[tuple[str, str], Mapping[str, Sequence[Any]]]
    budgets: tuple[float, ...]
    seeds: int
    first_seed: int
    search: int
    also: Mapping[str, str]
    agents: Mapping[str, tuple[str, ...]]

    def configurations(self, run: Run) -> list[Run]:
        """The configurations that a search tries of a run's method and task, drawn without replacement."""
        ranges = self.ranges[run.label, run.task.name]
        if not self.search or not ranges:
            return []
        every = list(itertools.product(*ranges.values()))
        # The draw depends on nothing but the names, so that it is the same whatever else is in the plan.
        order = np.random.default_rng(zlib.crc32(f"{run.task.name} {run.label}".encode())).permutation(len(every))
        return [
            replace(run, settings={**run.settings, **dict(zip(ranges, every[k], strict=True))}, number=number)
            for number, k in enumerate(order[: self.search].tolist())
        ]


def read_plan(path: str | Path, named: Collection[str] = ()) -> Plan:
    """The plan of a file; FileNotFoundError, or ValueError naming the file and what is wrong in it.

    `named`: functions and agents of the user's own that the plan may run, see `plan_of`.
    """
    path = existing(path, "plan of a study")
    try:
        return plan_of(tomllib.loads(path.read_text(encoding="utf-8")), named)
    except (tomllib.TOMLDecodeError, UnicodeDecodeError, TypeError, ValueError) as error:
        raise ValueError(f"{path}: {error}") from None


def plan_of(given: Mapping[str, Any], named: Collection[str] = ()) -> Plan:
    """The plan of a file's contents; ValueError or TypeError naming what is wrong.

    `named`: functions and agents that may do more than use the library's own data; others are refused.
    """
    for name in given:
        if name not in _NEEDED + _KNOWN:
            raise ValueError(unknown("entry", name, [*_NEEDED, *_KNOWN]))
    for name in _NEEDED:
        if name not in given:
            raise ValueError(f"a plan needs {', '.join(_NEEDED)}: there is no {name}")
    unit, budgets = _budgets(given)
    first = given.get("first_seed", 0)
    within(1, 1000, seeds=given["seeds"])
    within(0, 2**31, first_seed=first)
    within(0, 10_000, search=given.get("search", 0))
    also = given.get("also", {})
    if not isinstance(also, dict) or not all(isinstance(each, str) and "{}" in each for each in also.values()):
        raise TypeError(f"also must be a table of agents with {{}} for the network, not {also!r}")
    for name, text in also.items():
        if agents.stranger(text.format("FOLDER"), own=("FOLDER",)) is not None:
            raise ValueError(f"also.{name}: {text!r} is no agent of the library with {{}} for the network")
    chosen = _texts("tasks", given["tasks"])
    if not chosen or len(set(chosen)) < len(chosen):
        raise ValueError(f"tasks must be one name or several different ones, not {given['tasks']!r}")
    if not isinstance(players := given.get("agents", {}), dict):
        raise TypeError(f"agents must be a table of lists, one for each task, not {players!r}")
    for name, texts in players.items():
        if name not in chosen:
            raise ValueError(f"agents: {unknown('task of the plan', name, chosen)}")
        agents.check_named(_texts(f"agents.{name}", texts), "the plan", "name it behind --trust", named)
    if not isinstance(given["methods"], dict) or not given["methods"]:
        raise TypeError("methods must be tables, such as [methods.ppo]")
    methods: dict[str, tuple[Run, ...]] = {}
    ranges: dict[tuple[str, str], Mapping[str, Sequence[Any]]] = {}
    for label, table in given["methods"].items():
        try:
            runs = [
                _run_of(task_of(name), label, table, (first, budgets[-1], unit), named)
                for name in _tasks_of(table, chosen)
            ]
        except (TypeError, ValueError) as error:
            raise type(error)(f"methods.{label}: {error}") from None
        methods[label] = tuple(run for run, _ in runs)
        ranges |= {(label, run.task.name): of for run, of in runs}
    numbers = given["seeds"], first, given.get("search", 0)
    plan = Plan(chosen, methods, ranges, tuple(budgets), *numbers, also, players)
    for run in itertools.chain(*methods.values()):
        for each in plan.configurations(run) or [run]:
            if not each.own:
                _checked(each)
    return plan


def _budgets(given: Mapping[str, Any]) -> tuple[str, list[float]]:
    """The unit of the budgets, and the budgets in that unit."""
    if ("steps" in given) == ("seconds" in given):
        raise ValueError("a plan needs either steps or seconds of processor time")
    unit = "steps" if "steps" in given else "seconds"
    budgets = given[unit] if isinstance(given[unit], list) else [given[unit]]
    for budget in budgets:
        if unit == "steps":
            within(1, 10**15, steps=budget)
        else:
            within(0.1, 1e9, seconds=budget)
    if not budgets or sorted(set(budgets)) != budgets:
        raise ValueError(f"{unit} must be one number or several in ascending order, not {given[unit]}")
    return unit, budgets


def _texts(what: str, given: Any) -> tuple[str, ...]:
    if not isinstance(given, list) or not all(isinstance(each, str) for each in given):
        raise TypeError(f"{what} must be a list of names, not {given!r}")
    return tuple(given)


def _tasks_of(table: Any, chosen: Sequence[str]) -> Sequence[str]:
    """The tasks of a method: named in its table, or all of the plan."""
    if not isinstance(table, dict):
        raise TypeError(f"a method is a table of settings, not {table!r}")
    own = _texts("tasks", table.get("tasks", list(chosen)))
    for name in own:
        if name not in chosen:
            raise ValueError(unknown("task of the plan", name, chosen))
    return own


def _run_of(
    task: Task, label: str, table: Mapping[str, Any], how: tuple[int, float, str], named: Collection[str]
) -> tuple[Run, Mapping[str, Sequence[Any]]]:
    """The run of a method in a task by (seed, budget, unit), and the values to choose its settings from."""
    if not label.replace("-", "").replace("_", "").replace(".", "").isalnum() or label.startswith("."):
        raise ValueError(f"a name has letters, digits, '-', '_' and '.', not {label!r}")
    of_task = table.get(task.name, {})
    if not isinstance(of_task, dict):
        raise TypeError(f"{task.name} must be a table of settings, not {of_task!r}")
    settings = {name: value for name, value in table.items() if name not in ("tasks", *tasks())} | of_task
    ranges = settings.pop("ranges", {})
    if not isinstance(ranges, dict) or not all(isinstance(each, list) and each for each in ranges.values()):
        raise TypeError(f"ranges must be a table of lists, not {ranges!r}")
    method = settings.pop("method", settings.get("train", label))
    if "train" in settings:
        if settings.keys() != {"train"} or ranges:
            raise ValueError("a function that trains has no settings: give it values of its own")
        if method not in named:
            raise ValueError(f"{method} is a program of its own: if you want it to be run, name it behind --trust")
    elif not isinstance(method, str) or method not in METHODS:
        raise ValueError(unknown("method", method, list(METHODS)))
    for name in (*settings, *ranges):
        if name in _OF_A_STUDY:
            raise ValueError(f"{name} is for the plan and its tasks to decide, not for a method")
    return Run(task, label, method, with_tuples(settings), *how), with_tuples(ranges)


def _checked(run: Run) -> None:
    """Raise ValueError unless the method takes these settings and this game."""
    try:
        run.config(steps=10_000).load()
    except (TypeError, ValueError) as error:
        raise ValueError(f"methods.{run.label}: {error}") from None


def rounded(number: float) -> int:
    """A number to two digits, at least 1."""
    return max(int(round(number, 1 - int(math.log10(number)))), 1) if number >= 1 else 1
