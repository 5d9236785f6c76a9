"""The plan of a study, a file in TOML: tasks, methods, budgets and seeds. docs/study.md describes it."""

import inspect
import itertools
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

#: The plan of `ttt study --quick`.
QUICK = Path(__file__).parent / "quick.toml"

_NEEDED, _KNOWN = ("tasks", "seeds", "methods"), ("steps", "seconds", "first_seed", "search", "also", "agents")

# Settings of a learner that the plan and its tasks determine.
_OF_A_STUDY = ("game", "options", "seed", "seeds", "out", "resume", "quiet", "steps", "eval_every", *LEAST)


@dataclass(frozen=True)
class Run:
    """One training.

    Attributes:
        task: the task.
        label: the name of the method's table in the plan.
        method: the method's name in `ttt train`, or a training function such as "my.py:train".
        settings: the method's settings in the plan.
        seed: seed of the training.
        budget: seconds of processor time, or steps.
        unit: "seconds" or "steps".
        ranges: setting -> values for a search; empty without a search.
        number: number of the configuration in a search; None for a run of the study itself.
    """

    task: Task
    label: str
    method: str
    settings: Mapping[str, Any]
    seed: int
    budget: float
    unit: str
    ranges: Mapping[str, Sequence[Any]]
    number: int | None = None

    @property
    def place(self) -> Path:
        """The folder of the run's task, method and configuration, relative to the study's folder."""
        part = Path("runs" if self.number is None else "search", self.task.name, self.label)
        return part if self.number is None else part / f"configuration-{self.number}"

    def folder(self, out: Path) -> Path:
        """Return the run's own folder, in the study's folder `out`."""
        return out / self.place / f"{self.budget:g}-{self.unit}" / f"seed-{self.seed}"

    @property
    def own(self) -> bool:
        """Whether the method is a function that the user has written."""
        return self.method not in METHODS

    def config(self, steps: int, out: Path = Path("runs"), resume: bool = False) -> Any:
        """Return the settings of a library method, with measurements only at the end; raise ValueError if wrong."""
        kind = import_module(METHODS[self.method]).Config
        task = {"game": self.task.game, "options": dict(self.task.options)}
        whole = {**task, "eval_every": steps, **LEAST, **self.settings}
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
        methods: maps each label to one run per task, with the seed `first_seed` and the largest budget.
        budgets: seconds of processor time or steps, ascending; each has its own runs.
        seeds, first_seed: number of training seeds, and the first seed.
        search: number of configurations to try for each method with ranges.
        also: name -> another way to play a trained network: an agent's text with {} for the run folder or network.
        agents: task -> the agents that are measured as its baselines.
    """

    tasks: tuple[str, ...]
    methods: Mapping[str, tuple[Run, ...]]
    budgets: tuple[float, ...]
    seeds: int
    first_seed: int
    search: int
    also: Mapping[str, str]
    agents: Mapping[str, tuple[str, ...]]

    def configurations(self, run: Run) -> list[Run]:
        """Return the configurations for a search for a run's method and task, drawn without replacement."""
        if not self.search or not run.ranges:
            return []
        every = list(itertools.product(*run.ranges.values()))
        # The draw depends only on the names of task and method, so that other changes of the plan do not change it.
        order = np.random.default_rng(zlib.crc32(f"{run.task.name} {run.label}".encode())).permutation(len(every))
        return [
            replace(run, settings={**run.settings, **dict(zip(run.ranges, every[k], strict=True))}, number=number)
            for number, k in enumerate(order[: self.search].tolist())
        ]


def read_plan(path: str | Path, named: Collection[str] = ()) -> Plan:
    """Read a plan; raise FileNotFoundError, or ValueError naming the file and the fault.

    `named`: functions and agents of the user's own that the plan may run, see `plan_of`.
    """
    path = existing(path, "plan of a study")
    try:
        return plan_of(tomllib.loads(path.read_text(encoding="utf-8")), named)
    except (tomllib.TOMLDecodeError, UnicodeDecodeError, TypeError, ValueError) as error:
        raise ValueError(f"{path}: {error}") from None


def plan_of(given: Mapping[str, Any], named: Collection[str] = ()) -> Plan:
    """Return the plan from a file's contents; raise ValueError or TypeError naming the fault.

    `named`: functions and agents that may do more than use the library's own data; others raise an error.
    """
    for name in given:
        if name not in _NEEDED + _KNOWN:
            raise ValueError(unknown("entry", name, [*_NEEDED, *_KNOWN]))
    for name in _NEEDED:
        if name not in given:
            raise ValueError(f"a plan needs {', '.join(_NEEDED)}: there is no {name}")
    unit, budgets = _budgets(given)
    seeds, first, search = given["seeds"], given.get("first_seed", 0), given.get("search", 0)
    within(1, 1000, seeds=seeds)
    within(0, 2**31, first_seed=first)
    within(0, 10_000, search=search)
    chosen = _names("tasks", given["tasks"], list(tasks()), "task")
    if not chosen or len(set(chosen)) < len(chosen):
        raise ValueError(f"tasks must be one name or several different ones, not {given['tasks']!r}")
    also, players, tables = (_table(name, given.get(name, {})) for name in ("also", "agents", "methods"))
    for name, text in also.items():
        if "{}" not in str(text) or agents.stranger(str(text).format("FOLDER"), own=("FOLDER",)) is not None:
            raise ValueError(f"also.{name}: {text!r} is no agent of the library with {{}} for the network")
    for name in _names("agents", list(players), chosen, "task of the plan"):
        agents.check_named(_names(f"agents.{name}", players[name]), "the plan", "name it behind --trust", named)
    if not tables:
        raise ValueError("a plan needs methods, such as [methods.ppo]")
    methods: dict[str, tuple[Run, ...]] = {}
    plan = Plan(chosen, methods, tuple(budgets), seeds, first, search, also, players)
    for label, table in tables.items():
        try:
            own = _names("tasks", _table(label, table).get("tasks", list(chosen)), chosen, "task of the plan")
            methods[label] = tuple(
                _run_of(task_of(each), label, table, (first, budgets[-1], unit), named) for each in own
            )
            for run in methods[label]:
                for tried in plan.configurations(run) or [run]:
                    if not tried.own:
                        tried.config(steps=10_000).load()  # raises unless the method takes the settings and the game
        except (TypeError, ValueError) as error:
            raise type(error)(f"methods.{label}: {error}") from None
    return plan


def _budgets(given: Mapping[str, Any]) -> tuple[str, list[float]]:
    if ("steps" in given) == ("seconds" in given):
        raise ValueError("a plan needs either steps or seconds of processor time")
    unit, least, most = ("steps", 1, 10**15) if "steps" in given else ("seconds", 0.1, 1e9)
    budgets = given[unit] if isinstance(given[unit], list) else [given[unit]]
    for budget in budgets:
        within(least, most, **{unit: budget})
    if not budgets or sorted(set(budgets)) != budgets:
        raise ValueError(f"{unit} must be one number or several in ascending order, not {given[unit]}")
    return unit, budgets


def _table(name: str, given: Any) -> dict[str, Any]:
    if not isinstance(given, dict):
        raise TypeError(f"{name} must be a table, not {given!r}")
    return given


def _names(name: str, given: Any, allowed: Sequence[str] = (), kind: str = "") -> tuple[str, ...]:
    if not isinstance(given, list) or not all(isinstance(each, str) for each in given):
        raise TypeError(f"{name} must be a list of names, not {given!r}")
    for each in given if kind else ():
        if each not in allowed:
            raise ValueError(f"{name}: {unknown(kind, each, allowed)}")
    return tuple(given)


def _run_of(
    task: Task, label: str, table: Mapping[str, Any], how: tuple[int, float, str], named: Collection[str]
) -> Run:
    if not label.replace("-", "").replace("_", "").replace(".", "").isalnum() or label.startswith("."):
        raise ValueError(f"a name has letters, digits, '-', '_' and '.', not {label!r}")
    settings = {name: value for name, value in table.items() if name not in ("tasks", *tasks())}
    settings |= _table(task.name, table.get(task.name, {}))
    ranges = _table("ranges", settings.pop("ranges", {}))
    if not all(isinstance(each, list) and each for each in ranges.values()):
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
    return Run(task, label, method, with_tuples(settings), *how, with_tuples(ranges))
