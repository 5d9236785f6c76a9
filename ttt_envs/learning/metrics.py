"""The metrics of finished or running training runs, read from the curves in their folders."""

from itertools import groupby
from pathlib import Path
from typing import Any

from ttt_envs.learning import curves
from ttt_envs.learning.probes import Exploitability, Layouts, Mistakes, Probe, Regret, Score

#: The probes whose curves are read.
PROBES: tuple[type[Probe], ...] = (Score, Regret, Layouts, Mistakes, Exploitability)

#: Metric -> (steps, value), one for each time it was measured.
Metrics = dict[str, list[tuple[int, float]]]


def read_metrics(folder: Path) -> Metrics:
    """The metrics of a run folder, by the names of `Probe.scalars`; ValueError if a curve is damaged."""
    metrics: Metrics = {}
    for probe in PROBES:
        rows: list[Any] = curves.read_rows(folder / f"{probe.file or probe.name}.csv", probe.row)
        for steps, measured in groupby(rows, key=lambda row: row.steps):
            for name, value in probe.scalars(list(measured)).items():
                metrics.setdefault(name, []).append((steps, value))
    return metrics


def title_of(metric: str) -> str:
    """A metric's name for people."""
    name = metric.removeprefix("eval/")
    known = {
        "regret": "regret a game",
        "layouts": "regret on solved layouts",
        "mistakes": "mistakes in solved positions",
        "exploitability": "exploitability",
        "exploitability_of_average": "exploitability of the average",
    }
    return known.get(name, f"score against {name}")
