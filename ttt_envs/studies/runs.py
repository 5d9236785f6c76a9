"""Compare training runs: the curves of several learners, games and seeds on one page, with intervals over seeds.

`ttt study ppo=runs/ppo dqn=runs/dqn --out runs/compare` writes compare.png, compare.md and compare.json. Runs of one
label in several games count together, each game as a task.

Source: Agarwal et al., "Deep reinforcement learning at the edge of the statistical precipice", NeurIPS 2021. Their
library, rliable, would bring arch, pandas, seaborn, SciPy and absl; the method is a few lines, in
`ttt_envs.evaluation.reports.intervals`.
Only scores are on one scale in all games: regret of several games together is seldom of use.
"""

import io
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from ttt_envs.core.options import as_text, choice
from ttt_envs.evaluation.reports.intervals import interquartile_interval, of_seeds
from ttt_envs.learning.runs.logs import FILE as LOG
from ttt_envs.learning.runs.logs import read_log
from ttt_envs.learning.runs.loop import folders_of
from ttt_envs.learning.runs.measurements import MEASURES, Metrics, read_metrics, title_of
from ttt_envs.learning.runs.settings import Settings
from ttt_envs.registry import GAMES, game_of_file
from ttt_envs.storage.files import existing, write_whole
from ttt_envs.storage.runs import CONFIG, read_config

#: The horizontal axes to choose from.
AXES = {"steps": "steps trained on", "seconds": "wall time, s"}

#: Settings that say how a run was measured: runs of one game are compared only where they agree.
MEASURED = [each.setting for each in MEASURES.values() if each.setting not in Settings.MAY_CHANGE]


@dataclass(frozen=True)
class Task:
    """The runs of one label in one game: one for each seed.

    Attributes:
        game: the game with its options, as text.
        folders: the run folders.
        metrics: those of each run.
        seconds: steps and wall time of each run, as its log has them, (k, 2) each.
    """

    game: str
    folders: tuple[Path, ...]
    metrics: tuple[Metrics, ...]
    seconds: tuple[np.ndarray, ...]


@dataclass(frozen=True)
class Curve:
    """A metric of a label along the axis, arrays (points,), with the half width of its interval, nan for one run."""

    x: np.ndarray
    mean: np.ndarray
    half_width: np.ndarray
    runs: int
    games: int


def read_runs(texts: Sequence[str]) -> dict[str, list[Task]]:
    """The tasks of each label; raises FileNotFoundError for a folder without a run, ValueError for a damaged file."""
    folders: dict[str, dict[str, list[Path]]] = {}  # of each label and game
    measured: dict[str, tuple[Path, dict[str, Any]]] = {}  # how each game's first run was
    for text in texts:
        label, equals, place = text.rpartition("=")
        path = existing(place if equals else text, "run folder")
        for folder in folders_of(path) or [path]:
            settings = read_config(folder, "no run")["settings"]
            options = settings.get("options")
            if not isinstance(settings.get("game"), str) or not isinstance(options, dict):
                raise ValueError(f"{folder / CONFIG} is damaged: it names no game and options")
            if settings["game"] in GAMES:
                options = game_of_file(settings["game"], options).chosen
            game = " ".join([settings["game"], *(f"{name}={as_text(value)}" for name, value in options.items())])
            here = {name: settings.get(name) for name in MEASURED}
            first, there = measured.setdefault(game, (folder, here))
            if here != there:
                differing = [name for name in MEASURED if here[name] != there[name]]
                words = "; ".join(f"{name} is {here[name]} and {there[name]}" for name in differing)
                raise ValueError(f"{folder} was measured otherwise than {first}: {words}")
            mine = folders.setdefault(label or path.name, {}).setdefault(game, [])
            if folder not in mine:
                mine.append(folder)
    return {label: [_task(game, mine) for game, mine in of_label.items()] for label, of_label in folders.items()}


def _task(game: str, folders: Sequence[Path]) -> Task:
    logs = [[(line["steps"], line["seconds"]) for line in read_log(folder / LOG)] for folder in folders]
    seconds = tuple(np.array(log, np.float64).reshape(-1, 2) for log in logs)
    return Task(game, tuple(folders), tuple(read_metrics(folder) for folder in folders), seconds)


def curve_of(tasks: Sequence[Task], metric: str, x: str = "steps") -> Curve | None:
    """The curve of a label along an axis `x`; None if not all of its runs have the metric, or axes do not overlap.

    The runs are read between the points of the first of them by linear interpolation, as far as all of them reach.
    """
    runs = []
    for task in tasks:
        for metrics, seconds in zip(task.metrics, task.seconds, strict=True):
            if metric not in metrics:
                return None
            steps, values = np.array(metrics[metric], np.float64).T
            if x == "seconds":
                if not len(seconds):
                    return None
                steps = np.interp(steps, seconds[:, 0], seconds[:, 1])
            known = np.isfinite(values)
            runs.append((steps[known], values[known]))
    if not all(len(steps) for steps, _ in runs):
        return None
    low, high = max(steps[0] for steps, _ in runs), min(steps[-1] for steps, _ in runs)
    if low > high:
        return None
    points = np.unique([low, *(x for x in runs[0][0] if low <= x <= high), high])
    rows = iter(np.interp(points, steps, values) for steps, values in runs)
    table = [np.stack([next(rows) for _ in task.folders]) for task in tasks]
    return Curve(points, *interquartile_interval(table), len(runs), len(tasks))


def compare(runs: Sequence[str], out: Path, x: str = "steps") -> str:
    """Read runs and write the page; returns its text.

    Args:
        runs: run folders, or folders of several seeds; a label before each, or its folder's name.
        out: folder for the page.
        x: horizontal axis: steps, or seconds of wall time, which is fair between learners that count different steps.

    Raises:
        ValueError: an unknown axis, runs without a common metric, damaged files.
        FileNotFoundError: a folder that holds no run.
    """
    choice("x", x, tuple(AXES))
    if not runs:
        raise ValueError("name at least one run folder")
    labels = read_runs(runs)
    found: dict[str, dict[str, Curve]] = {}
    for metric in dict.fromkeys(name for tasks in labels.values() for task in tasks for name in task.metrics[0]):
        curves = {label: curve_of(tasks, metric, x) for label, tasks in labels.items()}
        if any(curves.values()):
            found[metric] = {label: curve for label, curve in curves.items() if curve is not None}
    if not found:
        raise ValueError("the runs have no metric that was measured")
    text = page(labels, found, x)
    write_whole(out / "compare.png", picture(found, AXES[x]))
    write_whole(out / "compare.md", text)
    write_whole(out / "compare.json", json.dumps(_as_json(found), indent=2) + "\n")
    return text


def picture(found: Mapping[str, Mapping[str, Curve]], xlabel: str) -> bytes:
    """A PNG with a panel for each metric and a line for each label."""
    from matplotlib.figure import Figure
    from matplotlib.ticker import EngFormatter

    columns = min(len(found), 2)
    rows = -(-len(found) // columns)
    figure = Figure(figsize=(6 * columns, 3.6 * rows), dpi=120, layout="constrained")
    panels = figure.subplots(rows, columns, squeeze=False).ravel()
    names = dict.fromkeys(label for curves in found.values() for label in curves)
    colours = {label: f"C{k % 10}" for k, label in enumerate(names)}
    for axes, (metric, curves) in zip(panels, found.items(), strict=False):
        axes.set(title=title_of(metric), xlabel=xlabel)
        axes.xaxis.set_major_formatter(EngFormatter(sep=" "))
        axes.grid(alpha=0.3)
        for label, curve in curves.items():
            axes.plot(curve.x, curve.mean, color=colours[label], marker="o", markersize=3, label=label)
            low, high = curve.mean - curve.half_width, curve.mean + curve.half_width
            axes.fill_between(curve.x, low, high, color=colours[label], alpha=0.2, linewidth=0)
        axes.legend()
    for axes in panels[len(found) :]:
        axes.set_visible(False)
    out = io.BytesIO()
    figure.savefig(out, format="png")
    return out.getvalue()


def page(labels: Mapping[str, Sequence[Task]], found: Mapping[str, Mapping[str, Curve]], x: str) -> str:
    """The page in Markdown: what was compared, the picture, a table of the values at the end."""
    lines = ["# Training runs compared", "", "| label | game | seeds | runs |", "|:--|:--|--:|:--|"]
    for label, tasks in labels.items():
        for task in tasks:
            where = ", ".join(f"`{folder}`" for folder in task.folders)
            lines.append(f"| {label} | {task.game} | {len(task.folders)} | {where} |")
    lines += ["", "![Curves](compare.png)", ""]
    lines.append(
        "At the end, that is at the last point that all runs of a label reach: the interquartile mean (IQM) over the "
        "seeds of a game, averaged over the games, with its 95 % interval over seeds, for labels of which one run in "
        "five fails at most; with fewer than four seeds of a game no run may fail."
    )
    lines += ["", f"| metric | label | {x} | games | runs | IQM |", "|:--|:--|--:|--:|--:|:--|"]
    for metric, curves in found.items():
        for label, curve in curves.items():
            iqm = of_seeds((curve.mean[-1], curve.half_width[-1]), curve.runs // curve.games)
            cells = (title_of(metric), label, f"{curve.x[-1]:,.0f}", curve.games, curve.runs, iqm)
            lines.append(f"| {' | '.join(map(str, cells))} |")
    return "\n".join([*lines, ""])


def _as_json(found: Mapping[str, Mapping[str, Curve]]) -> dict[str, Any]:
    def plain(value: Any) -> Any:
        return [None if np.isnan(each) else each for each in value.tolist()] if isinstance(value, np.ndarray) else value

    return {
        metric: {label: {name: plain(each) for name, each in vars(curve).items()} for label, curve in curves.items()}
        for metric, curves in found.items()
    }
