"""Curves over training: rows in a CSV file, and a picture of them."""

import csv
import io
from collections.abc import Callable, Sequence
from dataclasses import asdict, fields
from pathlib import Path
from typing import Any, TypeVar

import numpy as np

from ttt_envs.core.options import within
from ttt_envs.storage.files import write_whole
from ttt_envs.storage.outside import brief

Row = TypeVar("Row")


def write_rows(path: Path, kind: type, rows: Sequence[Any]) -> None:
    """Write rows, dataclasses of type `kind`, as CSV."""
    text = io.StringIO()
    writer = csv.DictWriter(text, fieldnames=[each.name for each in fields(kind)])
    writer.writeheader()
    writer.writerows(asdict(row) for row in rows)
    write_whole(path, text.getvalue())


def read_rows(path: Path, kind: type[Row]) -> list[Row]:
    """The rows of an earlier run, none if there is no file; ValueError if the file cannot be read."""
    if not path.is_file():
        return []
    convert: dict[str, Any] = {each.name: each.type for each in fields(kind)}  # type: ignore[arg-type]
    try:
        with path.open(newline="", encoding="utf-8") as file:
            header, *lines = csv.reader(file)
    except (csv.Error, ValueError) as error:
        reason = "it is empty" if path.stat().st_size == 0 else str(error)
        raise ValueError(f"{path} is damaged: {reason}") from None
    if header != list(convert):
        wrong = brief(", ".join(header))
        raise ValueError(f"{path} is damaged: its columns are {wrong}, and must be {', '.join(convert)}")
    rows = []
    for number, texts in enumerate(lines, 2):
        try:
            values = {name: convert[name](text) for (name, text) in zip(convert, texts, strict=True)}
            within(0, 10**15, steps=values["steps"])
        except ValueError as error:
            raise ValueError(f"{path} is damaged in line {number}: {error}") from None
        rows.append(kind(**values))
    return rows


def write_picture(path: Path, title: str, xlabel: str, ylabel: str, draw: Callable[[Any], None]) -> None:
    """Write a PNG of a curve over steps; `draw(axes)` fills Matplotlib's axes."""
    from matplotlib.figure import Figure
    from matplotlib.ticker import EngFormatter

    figure = Figure(figsize=(7, 4), dpi=120, layout="constrained")
    axes = figure.subplots()
    axes.set(title=plain(title), xlabel=plain(xlabel), ylabel=plain(ylabel))
    axes.xaxis.set_major_formatter(EngFormatter(sep=" "))
    axes.grid(alpha=0.3, which="both")
    draw(axes)
    picture = io.BytesIO()
    figure.savefig(picture, format="png")
    write_whole(path, picture.getvalue())


def plain(text: str) -> str:
    """A text for Matplotlib, which takes what stands between dollars for a formula, and fails at one that is wrong."""
    return text.replace("$", r"\$")


def line(
    axes: Any,
    steps: Sequence[int],
    means: np.ndarray,
    half_widths: np.ndarray,
    label: str,
    *,
    low: float = 0.0,
    high: float = np.inf,
) -> None:
    """A line with its interval as a band, which is cut off at `low` and `high`."""
    axes.plot(steps, means, marker="o", markersize=4, label=plain(label))
    axes.fill_between(
        steps, np.maximum(means - half_widths, low), np.minimum(means + half_widths, high), alpha=0.2, linewidth=0
    )


def scale_to_zero(axes: Any, lowest: np.ndarray, means: np.ndarray) -> None:
    """The scale for a curve that falls toward 0: logarithmic where it falls far, or all but its start looks flat."""
    from matplotlib.ticker import LogLocator, NullFormatter

    if not (means.size and lowest.min() > 0 and means.max() >= 10 * means.min()):  # also where one is nan
        axes.set_ylim(bottom=0)
        return
    axes.set_yscale("log")
    axes.yaxis.set_major_locator(LogLocator(subs=(1, 2, 5)))
    axes.yaxis.set_major_formatter("{x:g}")
    axes.yaxis.set_minor_formatter(NullFormatter())
