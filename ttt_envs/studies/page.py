"""The page of a study: curves, interquartile means, performance profiles, probability of improvement; CSV and LaTeX."""

import csv
import io
import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from ttt_envs.evaluation.reports.intervals import bootstrap, t_interval
from ttt_envs.learning.logs import FILE as LOG
from ttt_envs.learning.logs import read_log
from ttt_envs.learning.loop import PROCESSOR
from ttt_envs.learning.metrics import read_metrics
from ttt_envs.storage.files import write_whole
from ttt_envs.studies import grid, statistics
from ttt_envs.studies.grid import Plan
from ttt_envs.studies.tasks import Task, task_of

#: Files that a page consists of.
PICTURES = tuple(f"curves.{end}" for end in ("png", "svg", "pdf"))
FILES = ("study.md", "table.csv", "table.tex", *PICTURES, "study.json")

# Fewer seeds in all than this have no quarter to leave out.
_QUARTERS = 4

#: One run: steps, processor seconds, normalised scores, each float (points,), and the measure at the end.
Curve = tuple[np.ndarray, np.ndarray, np.ndarray, float]


def curves_of(plan: Plan, out: Path) -> dict[str, dict[str, list[Curve]]]:
    """The curves of the runs that are finished, by method and task."""
    found: dict[str, dict[str, list[Curve]]] = {label: {} for label in plan.labels}
    for run, folder in grid.folders(plan, out):
        points = np.array(read_metrics(folder)[run.task.metric], np.float64)
        points[:, 1] = run.task.measures(points[:, 1])
        log = [(line["steps"], line[PROCESSOR]) for line in read_log(folder / LOG) if PROCESSOR in line]
        times = np.array([(0, 0), *log], np.float64)
        seconds = np.interp(points[:, 0], times[:, 0], times[:, 1])
        curve = points[:, 0], seconds, run.task.score(points[:, 1]), float(points[-1, 1])
        found[run.label].setdefault(run.task.name, []).append(curve)
    return {label: tasks for label, tasks in found.items() if set(tasks) == set(plan.tasks)}


def write_page(plan: Plan, out: Path, complete: bool = True) -> str:
    """Write the page of what is finished; returns its text. ValueError if no method has finished a run of each task."""
    curves = curves_of(plan, out)
    if not curves:
        raise ValueError("no method has a finished run of each task yet: the same command goes on")
    tasks = [task_of(name) for name in plan.tasks]
    scores = {label: [np.array([c[2][-1] for c in mine[t.name]]) for t in tasks] for label, mine in curves.items()}
    text = _text(plan, tasks, curves, scores, complete)
    rows = _rows(tasks, curves)
    write_whole(out / "table.csv", _csv(rows))
    write_whole(out / "table.tex", _latex(tasks, curves))
    for name, data in _pictures(tasks, curves, scores).items():
        write_whole(out / name, data)
    write_whole(out / "study.json", json.dumps({"tasks": _tasks(tasks), "runs": rows}, indent=2) + "\n")
    write_whole(out / "study.md", text)
    return text


def _tasks(tasks: Sequence[Task]) -> list[dict[str, Any]]:
    return [{**vars(task), "options": {k: str(v) for k, v in task.options.items()}} for task in tasks]


def _rows(tasks: Sequence[Task], curves: Mapping[str, Mapping[str, list[Curve]]]) -> list[dict[str, Any]]:
    """All measurements, as the CSV has them."""
    return [
        {
            "task": task.name,
            "version": task.version,
            "method": label,
            "run": run,
            "steps": int(steps),
            "processor_seconds": round(float(seconds), 2),
            "score": float(score),
        }
        for label, mine in curves.items()
        for task in tasks
        for run, curve in enumerate(mine[task.name])
        for steps, seconds, score in zip(*curve[:3], strict=True)
    ]


def _csv(rows: Sequence[Mapping[str, Any]]) -> str:
    text = io.StringIO()
    writer = csv.DictWriter(text, fieldnames=list(rows[0]), lineterminator="\n")
    writer.writeheader()
    writer.writerows(rows)
    return text.getvalue()


def _cell(values: Sequence[float]) -> str:
    mean, width = t_interval(values)
    return f"{mean:.4f}" + (f" ± {width:.4f}" if len(values) > 1 else "")


def _latex(tasks: Sequence[Task], curves: Mapping[str, Mapping[str, list[Curve]]]) -> str:
    """The measures at the end as a table."""

    def words(text: str) -> str:
        return text.replace("_", r"\_").replace("±", r"$\pm$")

    lines = [rf"\begin{{tabular}}{{l{'r' * len(tasks)}}}", r"\hline"]
    lines += [" & ".join(["method", *(words(task.name) for task in tasks)]) + r" \\", r"\hline"]
    for label, mine in curves.items():
        lines.append(" & ".join([words(label), *(words(_cell([c[3] for c in mine[t.name]])) for t in tasks)]) + r" \\")
    return "\n".join([*lines, r"\hline", r"\end{tabular}", ""])


def _pictures(
    tasks: Sequence[Task], curves: Mapping[str, Mapping[str, list[Curve]]], scores: Mapping[str, statistics.Scores]
) -> dict[str, bytes]:
    """The curves of each task over processor time and over steps, and the performance profiles."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=(11, 3.2 * (len(tasks) + 1)), dpi=110, layout="constrained")
    panels = figure.subplots(len(tasks) + 1, 2, squeeze=False)
    for row, task in zip(panels, tasks, strict=False):
        for axes, which, label in ((row[0], 1, "processor time, s"), (row[1], 0, "steps")):
            axes.set(title=task.name, xlabel=label, ylabel="score (1: best play, 0: random)")
            axes.grid(alpha=0.3)
            for k, (method, mine) in enumerate(curves.items()):
                for number, curve in enumerate(mine[task.name]):
                    name = method if number == 0 else None
                    axes.plot(curve[which], curve[2], color=f"C{k % 10}", alpha=0.7, marker=".", label=name)
        row[0].legend(fontsize=8)
    limits = np.linspace(-0.2, 1, 121)
    profiles, unused = panels[-1]
    unused.set_visible(False)
    profiles.set(title="performance profiles", xlabel="score", ylabel="share of runs above it")
    profiles.grid(alpha=0.3)
    for k, (method, found) in enumerate(scores.items()):
        profiles.plot(limits, statistics.profile(found, limits), color=f"C{k % 10}", label=method)
    profiles.legend(fontsize=8)
    made = {}
    for name in PICTURES:
        out = io.BytesIO()
        figure.savefig(out, format=name.rpartition(".")[2], metadata={} if name.endswith("png") else {"Creator": None})
        made[name] = out.getvalue()
    return made


def _text(
    plan: Plan,
    tasks: Sequence[Task],
    curves: Mapping[str, Mapping[str, list[Curve]]],
    scores: Mapping[str, statistics.Scores],
    complete: bool,
) -> str:
    """The page in Markdown."""
    lines = ["# A study of learning methods", ""]
    finished = sum(len(each) for mine in curves.values() for each in mine.values())
    if not complete or finished < len(plan.runs):
        lines += [f"**Partial: {finished} of {len(plan.runs)} runs count, of methods with runs of every task.**", ""]
    lines += ["| task | version | measure | of random play | takes | what it is |", "|:--|--:|:--|--:|--:|:--|"]
    lines += [f"| {t.name} | {t.version} | {t.measure} | {t.random:.4f} | {t.seconds:g} s | {t.title} |" for t in tasks]
    lines += ["", "## The measure at the end", ""]
    lines.append(
        "Mean over training seeds with the 95 % interval by Student's t; 0 is best play. Beside it the mean processor "
        "time of a run, its training alone."
    )
    lines.append("")
    lines += [f"| method | seeds | {' | '.join(t.name for t in tasks)} | processor time |"]
    lines += [f"|:--|--:|{'--:|' * len(tasks)}--:|"]
    for label, mine in curves.items():
        seconds = np.mean([c[1][-1] for each in mine.values() for c in each])
        number = min(len(each) for each in mine.values())
        cells = [_cell([c[3] for c in mine[t.name]]) for t in tasks]
        lines.append(f"| {label} | {number} | {' | '.join(cells)} | {seconds:.0f} s |")
    few = min(len(each) for mine in curves.values() for each in mine.values()) < _QUARTERS
    lines += ["", "![Curves](curves.png)", "", "## Over all tasks", ""]
    lines.append(
        "The score of a run is 1 - measure / measure of random play. The interquartile mean is over all tasks and "
        "seeds; intervals of 95 % are those of the stratified bootstrap over seeds."
    )
    if few:
        lines[-1] += (
            " With fewer than four seeds of a task these are too narrow, and there is no quarter of the seeds to leave "
            "out: what the interquartile mean leaves out may be whole tasks."
        )
    lines += ["", "| method | interquartile mean | 95 % interval |", "|:--|--:|:--|"]
    for label, found in scores.items():
        mean, low, high = (float(each[0]) for each in bootstrap([task[:, None] for task in found]))
        lines.append(f"| {label} | {mean:.3f} | {low:.3f} to {high:.3f} |")
    if len(scores) > 1:
        lines += [
            "",
            "The probability that a run of the first method scores more than one of the second, and the difference",
        ]
        lines += ["of their mean scores, with 95 % intervals:", ""]
        lines += ["| methods | probability of improvement | difference |", "|:--|:--|:--|"]
    labels = list(scores)
    for k, first in enumerate(labels):
        for second in labels[k + 1 :]:
            cells = []
            for of in (statistics.improvement, statistics.difference):
                value, low, high = statistics.bootstrapped(of, scores[first], scores[second])
                cells.append(f"{value:.3f} ({low:.3f} to {high:.3f})")
            lines.append(f"| {first} over {second} | {' | '.join(cells)} |")
    return "\n".join([*lines, ""])
