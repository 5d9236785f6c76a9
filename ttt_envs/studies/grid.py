"""Carry out a plan: search for settings, train, and measure. Runs train in parallel; a killed study can be resumed.

Each run has its own folder, OUT/runs/TASK/METHOD/BUDGET/seed-K, and is measured once, at its end. Its measures are in
the file result.json. The runs of a search are in OUT/search. If budgets are processor time, OUT/speeds.json has the
steps per second that pilot runs reached.
"""

import hashlib
import json
import shutil
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from importlib import import_module
from pathlib import Path
from typing import Any

import numpy as np

from ttt_envs import agents
from ttt_envs.evaluation import pool
from ttt_envs.learning import METHODS
from ttt_envs.learning.runs import checkpoint
from ttt_envs.learning.runs.logs import FILE as LOG
from ttt_envs.learning.runs.logs import read_log
from ttt_envs.learning.runs.loop import PROCESSOR
from ttt_envs.registry import load
from ttt_envs.storage.files import locked_folder, write_whole
from ttt_envs.storage.runs import check_same
from ttt_envs.storage.untrusted import read_json
from ttt_envs.studies.plan import Plan, Run
from ttt_envs.studies.tasks import measure

RESULT, SPEEDS = "result.json", "speeds.json"

#: Called with a line of text for each finished part.
Progress = Callable[[str], None]

# In a search, the _AGAIN best configurations are tried again with _SEEDS other seeds each.
_AGAIN, _SEEDS = 3, 3

# A pilot run must take at least the share _PILOT of a run's processor time; the first pilot run has _FIRST steps.
_PILOT, _FIRST = 0.15, 4096

_GOES_ON = "the same command goes on with all runs"


def result_of(run: Run, out: Path) -> dict[str, Any] | None:
    """Return a run's result (measure, processor seconds, steps, and `also` by name), or None if it is unfinished.
    Raises ValueError if the file is damaged, or if the run in the folder had other settings.
    """
    path, names = run.folder(out) / RESULT, ("settings", "measure", "seconds", "steps", "also")
    found: dict[str, Any] | None = _read(path, lambda found: {name: found[name] for name in names})
    if found is not None:
        check_same(f"the run in {path.parent}", found["settings"], _settings_of(run), ())
    return found


def _read(path: Path, part: Callable[[Any], Any]) -> Any:
    """Return `part` of a JSON file's contents, None without a file; raise ValueError if the file is damaged."""
    if not path.is_file():
        return None
    try:
        return part(read_json(path.read_bytes()))
    except (AttributeError, KeyError, TypeError, ValueError) as error:
        raise ValueError(f"{path} is damaged ({type(error).__name__}: {error})") from None


def _complete(run: Run, out: Path, also: Mapping[str, str]) -> bool:
    """Return whether a run has ended and is measured with its own agent and in all ways of `also`."""
    found = result_of(run, out)
    return found is not None and (run.own or also.keys() <= found["also"].keys())


def _settings_of(run: Run) -> dict[str, Any]:
    settings: dict[str, Any] = json.loads(json.dumps(dict(run.settings)))
    if run.own:  # a function in a changed file is another method
        place = run.method.split(":")[0]
        file = Path(place).expanduser() if place.endswith(".py") else Path(str(import_module(place).__file__))
        settings["digest of the code"] = hashlib.sha256(file.read_bytes()).hexdigest()[:12]
    return {"method": run.method, "task version": run.task.version, **settings}


def runs_of(plan: Plan, out: Path) -> list[Run]:
    """Return the runs of the study itself, seed after seed, with the settings that the search has found so far."""
    found = [_best(plan, run, out) for runs in plan.methods.values() for run in runs]
    return [
        replace(run, seed=seed, budget=budget)
        for seed in range(plan.first_seed, plan.first_seed + plan.seeds)
        for budget in plan.budgets
        for run in found
        if run is not None
    ]


def _best(plan: Plan, run: Run, out: Path) -> Run | None:
    """Return the run with the settings that its search has found; None until the search has ended."""
    tried = plan.configurations(run)
    if not tried:
        return run
    again = _again(plan, run, out)
    if (values := _measures(again, out)) is None:
        return None
    return replace(again[int(values.reshape(-1, _SEEDS).mean(axis=1).argmin()) * _SEEDS], number=None)


def _first(plan: Plan, run: Run) -> list[Run]:
    return [replace(each, seed=plan.first_seed + plan.seeds) for each in plan.configurations(run)]


def _again(plan: Plan, run: Run, out: Path) -> list[Run]:
    tried = _first(plan, run)
    if (values := _measures(tried, out)) is None:
        return []
    best = np.argsort(values, kind="stable")[:_AGAIN]
    return [replace(tried[k], seed=tried[k].seed + 1 + more) for k in best for more in range(_SEEDS)]


def _measures(runs: Sequence[Run], out: Path) -> np.ndarray | None:
    found = [result_of(run, out) for run in runs]
    return np.array([each["measure"] for each in found if each]) if found and None not in found else None


def carry_out(plan: Plan, out: Path, workers: int | str = 0, progress: Progress = lambda text: None) -> bool:
    """Search for settings if the plan says so, and train all unfinished runs.

    Args:
        plan: the plan.
        out: the study's folder, which is locked; all nodes of a cluster need it under the same path.
        workers: where to train runs, see `ttt_envs.evaluation.pool.run`; by default one process per processor.
        progress: called with a line for each finished run.

    Returns: False if it was interrupted; the same call continues it.

    Raises:
        InUse: another process is writing the folder.
        ValueError: a run cannot be trained, or its folder has a run with other settings; the error names the run.
        ConnectionError, ChildProcessError: see `pool.run`.
    """
    pool.check(workers)
    every = [run for runs in plan.methods.values() for run in runs]
    with locked_folder(out):
        stages: list[tuple[str, Callable[[], Iterable[Run]]]] = [
            ("search", lambda: (each for run in every for each in _first(plan, run))),
            ("search, other seeds", lambda: (each for run in every for each in _again(plan, run, out))),
            ("study", lambda: runs_of(plan, out)),
        ]
        try:
            for name, stage in stages:
                runs = list(stage())
                speeds = _speeds(runs, out, workers, progress)
                also = plan.also if name == "study" else {}
                left = [run for run in runs if not _complete(run, out, also)]
                done = len(runs) - len(left)
                work = partial(_train, out, speeds, also)
                for number, measured in pool.run(work, left, workers=workers, goes_on=_GOES_ON):
                    if measured is None:
                        return False
                    run, done = left[number], done + 1
                    progress(
                        f"{name} {done} of {len(runs)}: {run.place.relative_to(run.place.parts[0])}, {run.budget:g} "
                        f"{run.unit}, seed {run.seed}: {run.task.measure} {measured:.4f}"
                    )
        except KeyboardInterrupt:
            return False
    return True


def _speeds(runs: Sequence[Run], out: Path, workers: int | str, progress: Progress) -> dict[str, float]:
    """Return run folder -> steps per second, from the file or from pilot runs; only if budgets are processor time."""
    path = out / SPEEDS
    speeds = _read(path, lambda found: {str(name): float(speed) for name, speed in found.items()}) or {}
    longest = {str(run.place): run for run in sorted(runs, key=lambda run: run.budget)}
    left = [run for place, run in longest.items() if run.unit == "seconds" and not run.own and place not in speeds]
    for number, speed in pool.run(partial(_pilot, out / "pilots"), left, workers=workers, goes_on=_GOES_ON):
        place = str(left[number].place)
        speeds[place] = speed
        write_whole(path, json.dumps(speeds, indent=2) + "\n")
        progress(f"{place}: {speed:,.0f} steps a second")
    return speeds


def _pilot(out: Path, run: Run) -> float:
    folder = out / run.place

    def spent_on(steps: int) -> tuple[int, float]:
        shutil.rmtree(folder, ignore_errors=True)
        result = import_module(METHODS[run.method]).train(run.config(steps, folder))
        if not result.finished:
            raise KeyboardInterrupt
        return result.steps, _processor_seconds(folder)

    spent_on(_FIRST)  # loads what was compiled: that time counts for nothing
    made, spent = spent_on(_FIRST)
    while spent < _PILOT * run.budget:
        made, spent = spent_on(made * max(2, min(8, int(1.3 * _PILOT * run.budget / max(spent, 1e-3)))))
    shutil.rmtree(folder)
    return made / spent


def _processor_seconds(folder: Path) -> float:
    return float(next(line[PROCESSOR] for line in reversed(read_log(folder / LOG)) if PROCESSOR in line))


def _train(out: Path, speeds: Mapping[str, float], also: Mapping[str, str], run: Run) -> float | None:
    """Train or resume one run and measure it; return None if it was interrupted."""
    folder = run.folder(out)
    try:
        if run.own:
            agent, steps, seconds = _by_function(run)
        else:
            steps = int(run.budget) if run.unit == "steps" else max(int(run.budget * speeds[str(run.place)]), 1)
            config = run.config(steps, folder, resume=(folder / checkpoint.RESUME).is_file())
            result = import_module(METHODS[run.method]).train(config)
            if not result.finished:
                return None
            agent, steps, seconds = agents.load(result.plays_as), result.steps, _processor_seconds(folder)
        measured = measure(run.task.name, agent, run.seed)
    except ValueError as error:
        raise ValueError(f"{run.task.name}, {run.label}, seed {run.seed}: {error}") from None
    others = {name: None if run.own else _played(run, text.format(folder)) for name, text in also.items()}
    found = {"measure": measured, "seconds": round(seconds, 3), "steps": steps, "also": others}
    write_whole(folder / RESULT, json.dumps({**found, "settings": _settings_of(run)}, indent=2) + "\n")
    return measured


def _by_function(run: Run) -> tuple[agents.Agent, int, float]:
    """Return the agent that the user's function trains, 0 as its unknown number of steps, and the processor time."""
    function, _ = agents.find(run.method)
    game = load(run.task.game, **run.task.options)
    began = time.process_time()
    agent = agents.load(function(game, run.seed, run.budget))
    return agent, 0, time.process_time() - began


def _played(run: Run, text: str) -> float | None:
    """Return the measure of `text`, another agent that plays the trained network; None if it cannot."""
    try:
        return measure(run.task.name, text, run.seed)
    except (TypeError, ValueError):
        return None
