"""The page of a study: curves, interquartile means, performance profiles, probability of improvement; CSV and LaTeX."""

import io
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations, groupby
from pathlib import Path
from typing import Any

import numpy as np

from ttt_envs.evaluation.reports.intervals import Tasks, interquartile_interval, of_seeds, shown, t_interval
from ttt_envs.evaluation.reports.report import Table
from ttt_envs.learning.runs import measurements as files
from ttt_envs.learning.runs.logs import FILE as LOG
from ttt_envs.learning.runs.logs import read_log
from ttt_envs.learning.runs.loop import PROCESSOR
from ttt_envs.learning.runs.measurements import read_metrics
from ttt_envs.storage.files import existing, write_whole
from ttt_envs.studies import statistics
from ttt_envs.studies.grid import Plan
from ttt_envs.studies.tasks import MIXING, Task, task_of

#: Files that a page consists of.
PICTURES = tuple(f"curves.{end}" for end in ("png", "svg", "pdf"))
FILES = ("study.md", "table.csv", "table.tex", *PICTURES)

# One for each method that there is.
_COLOURS = (*(f"C{k}" for k in range(10)), "black", "gold")

_PICTURE = "![Curves](curves.png)\n"

# Fewer seeds in all than this have no quarter to leave out.
_QUARTERS = 4

#: One run: steps, processor seconds, normalised scores, each float (points,).
Curve = tuple[np.ndarray, np.ndarray, np.ndarray]

#: The runs of each method and task.
Curves = Mapping[str, Mapping[str, Sequence[Curve]]]


@dataclass(frozen=True)
class Row:
    """A measurement, as table.csv has it; `run` counts the seeds of a method in a task."""

    task: str
    version: int
    method: str
    run: int
    steps: int
    processor_seconds: float
    score: float


def curves_of(plan: Plan, out: Path) -> Curves:
    """The curves of finished runs, of methods that have one in every task of theirs."""
    planned = {label: {run.task.name for run in plan.runs if run.label == label} for label in plan.labels}
    found: dict[str, dict[str, list[Curve]]] = {label: {} for label in plan.labels}
    for run in plan.runs:
        if not run.finished(out):
            continue
        folder = run.folder(out)
        points = np.array(read_metrics(folder)[run.task.metric], np.float64)
        log = [(line["steps"], line[PROCESSOR]) for line in read_log(folder / LOG) if PROCESSOR in line]
        times = np.array([(0, 0), *log], np.float64)
        seconds = np.interp(points[:, 0], times[:, 0], times[:, 1])
        curve = points[:, 0], seconds, run.task.score(run.task.measures(points[:, 1]))
        found[run.label].setdefault(run.task.name, []).append(curve)
    return {label: mine for label, mine in found.items() if set(mine) == planned[label]}


def write_page(plan: Plan, out: Path, complete: bool = True) -> str:
    """Write the page of what is finished; returns its text. ValueError if no method has finished a run of each task."""
    curves = curves_of(plan, out)
    if not curves:
        raise ValueError("no method has a finished run of each task yet: the same command goes on")
    finished = sum(len(each) for mine in curves.values() for each in mine.values())
    partial = f"**Partial: {finished} of {len(plan.runs)} runs count, of methods with runs of every task.**"
    return _write(plan.tasks, curves, out, "" if complete and finished == len(plan.runs) else partial)


def write_page_of_tables(paths: Sequence[str | Path], out: Path) -> str:
    """Write one page of several studies, from the table.csv of each; returns its text.

    Raises FileNotFoundError, or ValueError naming the file that is damaged, holds another version of a task than there
    is now, or holds a method and task that another one has, too.
    """
    found: dict[str, dict[str, list[Curve]]] = {}
    for path in (existing(each, "table of a study") for each in paths):
        rows = files.read_rows(path, Row)
        for (name, method), mine in groupby(rows, key=lambda row: (row.task, row.method)):
            task = task_of(name)
            runs = [list(each) for _, each in groupby(mine, key=lambda row: row.run)]
            if wrong := {row.version for run in runs for row in run} - {task.version}:
                raise ValueError(f"{path} has version {wrong.pop()} of the task {name}, which is {task.version} now")
            if name in found.setdefault(method, {}):
                raise ValueError(f"{path}: there are runs of {method} in {name} already")
            points = [np.array([(row.steps, row.processor_seconds, row.score) for row in run]) for run in runs]
            found[method][name] = [(steps, seconds, scores) for steps, seconds, scores in (each.T for each in points)]
    if not found:
        raise ValueError("the tables have no measurements")
    return _write(tuple(dict.fromkeys(name for mine in found.values() for name in mine)), found, out)


def _write(names: Sequence[str], curves: Curves, out: Path, partial: str = "") -> str:
    tasks = [task_of(name) for name in names]
    text = _text(tasks, curves, partial)
    files.write_rows(out / "table.csv", Row, _rows(tasks, curves))
    write_whole(out / "table.tex", _latex(tasks, curves))
    for name, data in _pictures(tasks, curves).items():
        write_whole(out / name, data)
    write_whole(out / "study.md", text)
    return text


def _rows(tasks: Sequence[Task], curves: Curves) -> list[Row]:
    """All measurements."""
    return [
        Row(task.name, task.version, label, run, int(steps), round(float(seconds), 2), float(score))
        for label, mine in curves.items()
        for task in tasks
        for run, curve in enumerate(mine.get(task.name, ()))
        for steps, seconds, score in zip(*curve, strict=True)
    ]


def _ends(runs: Sequence[Curve]) -> np.ndarray:
    """The scores at the end."""
    return np.array([scores[-1] for _, _, scores in runs])


def _scores(curves: Curves, label: str, tasks: Sequence[Task]) -> Tasks:
    return [_ends(curves[label][task.name]) for task in tasks]


def _common(tasks: Sequence[Task], *methods: Mapping[str, Any]) -> list[Task]:
    """The tasks that all these methods have."""
    return [task for task in tasks if all(task.name in mine for mine in methods)]


def _cell(task: Task, runs: Sequence[Curve]) -> str:
    """The measure at the end."""
    return of_seeds(t_interval((1 - _ends(runs)) * task.random), len(runs), 4) if runs else "–"


def _shares(task: Task) -> str:
    """What pure policies lose."""
    return ", ".join(f"{name} {share:.2f}" for name, share in task.pure.items()) or "–"


def _latex(tasks: Sequence[Task], curves: Curves) -> str:
    """The measures at the end as a table."""

    def words(text: str) -> str:
        return text.replace("_", r"\_").replace("±", r"$\pm$").replace("–", "--")

    lines = [rf"\begin{{tabular}}{{l{'r' * len(tasks)}}}", r"\hline"]
    lines += [" & ".join(["method", *(words(task.name) for task in tasks)]) + r" \\", r"\hline"]
    for label, mine in curves.items():
        lines.append(" & ".join([words(label), *(words(_cell(t, mine.get(t.name, ()))) for t in tasks)]) + r" \\")
    return "\n".join([*lines, r"\hline", r"\end{tabular}", ""])


def _pictures(tasks: Sequence[Task], curves: Curves) -> dict[str, bytes]:
    """The curves of each task over processor time and over steps, and the performance profiles."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=(11, 3.2 * (len(tasks) + 1)), dpi=110, layout="constrained")
    panels = figure.subplots(len(tasks) + 1, 2, squeeze=False)
    for row, task in zip(panels, tasks, strict=False):
        for axes, which, label in ((row[0], 1, "processor time, s"), (row[1], 0, "steps")):
            axes.set(title=task.name, xlabel=label, ylabel="score (1: best play, 0: random)")
            axes.grid(alpha=0.3)
            for k, (method, mine) in enumerate(curves.items()):
                colour = _COLOURS[k % len(_COLOURS)]
                for number, curve in enumerate(mine.get(task.name, ())):
                    name = method if number == 0 else None
                    axes.plot(curve[which], curve[2], color=colour, alpha=0.7, marker=".", label=name)
        row[0].legend(fontsize=8)
    limits = np.linspace(-0.2, 1, 121)
    profiles, unused = panels[-1]
    unused.set_visible(False)
    profiles.set(title="performance profiles", xlabel="score", ylabel="share of runs above it")
    profiles.grid(alpha=0.3)
    for k, (method, mine) in enumerate(curves.items()):
        if own := _common(tasks, mine):
            name = method if len(own) == len(tasks) else f"{method} ({len(own)} of {len(tasks)} tasks)"
            shares = statistics.profile(_scores(curves, method, own), limits)
            profiles.plot(limits, shares, color=_COLOURS[k % len(_COLOURS)], label=name)
    profiles.legend(fontsize=8)
    made = {}
    for name in PICTURES:
        out = io.BytesIO()
        figure.savefig(out, format=name.rpartition(".")[2], metadata={} if name.endswith("png") else {"Creator": None})
        made[name] = out.getvalue()
    return made


def _text(tasks: Sequence[Task], curves: Curves, partial: str) -> str:
    """The page in Markdown."""
    facts = [
        [t.name, str(t.version), t.measure, f"{t.random:.4f}", _shares(t), f"{t.seconds:g} s", t.title] for t in tasks
    ]
    measures, scores, compared = list[list[str]](), list[list[str]](), list[list[str]]()
    for label, mine in curves.items():
        seconds = np.mean([curve[1][-1] for each in mine.values() for curve in each])
        seeds = min(map(len, mine.values()))
        measures.append([label, str(seeds), *(_cell(t, mine.get(t.name, ())) for t in tasks), f"{seconds:.0f} s"])
        found = _scores(curves, label, _common(tasks, mine))
        mean = np.mean([task.mean() for task in found])
        scores.append(
            [label, str(len(found)), str(seeds), of_seeds(interquartile_interval(found), seeds), f"{mean:.3f}"]
        )
    for one, other in combinations(curves, 2):
        if not (both := _common(tasks, curves[one], curves[other])):
            continue
        first, second = (_scores(curves, each, both) for each in (one, other))
        runs = [min(map(len, each)) for each in (first, second)]
        probability = shown(*statistics.improvement(first, second), 3)
        difference = of_seeds(interquartile_interval(first, second), min(runs))
        compared.append([f"{one} over {other}", str(len(both)), " and ".join(map(str, runs)), probability, difference])
    of_scores = (
        "The score of a run is 1 - measure / measure of random play. The interquartile mean leaves out the quarter of "
        "a task's seeds with the highest and that with the lowest scores, and is averaged over the tasks. The 95 % "
        "intervals are over seeds, for methods of which one run in five fails at most; they say nothing of other tasks."
    )
    if min(len(each) for mine in curves.values() for each in mine.values()) < _QUARTERS:
        of_scores += " With fewer than four seeds of a task no quarter is left out, and no run may fail."
    tables = [
        Table(
            "Tasks", ["task", "version", "measure", "of random play", "of pure play", "takes", "what it is"], facts,
            "Of pure play: the share of that of random play which a best response to random play loses, and the "
            f"likeliest actions of an equilibrium. A task about mixing has more than {MIXING:.0%} of both.",
        ),
        Table(
            "The measure at the end", ["method", "seeds", *(t.name for t in tasks), "processor time"], measures,
            "Mean over training seeds; 0 is best play. Its interval by Student's t covers 95 % if results are normally "
            "distributed, and less if a few runs fail. Processor time: that of a run, its training alone, in the mean.",
        ),
        Table("Over all tasks", ["method", "tasks", "seeds", "interquartile mean", "mean"], scores, of_scores),
        Table(
            "One method over another", ["methods", "tasks", "seeds", "probability", "difference"], compared,
            "The probability of improvement, that a run of the first method scores more than one of the second, and "
            "the difference of their interquartile means, over the tasks that both have, with 95 % intervals.",
        ),
    ]  # fmt: skip
    texts = [each.markdown() for each in tables if each.rows]
    return "\n".join(["# A study of learning methods\n", *([f"{partial}\n"] if partial else []), *texts, _PICTURE])
