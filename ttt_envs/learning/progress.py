"""The terminal output of a training script: lines of text above a progress bar with its speed."""

import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn


class Bar:
    """The progress of a training run; a context, within which it is shown."""

    def __init__(self, total: int, start: int = 0, *, unit: str = "decisions", quiet: bool = False) -> None:
        """`total`: steps of the whole run; `start`: those of earlier calls; `unit`: what a step is called."""
        self.total, self.start, self.steps, self.unit = total, start, start, unit
        self.seconds = 0.0
        self._since: float | None = None
        self.console = Console(quiet=quiet)
        self._progress = Progress(
            TextColumn("{task.description}"),
            BarColumn(),
            MofNCompleteColumn(),
            TextColumn("{task.fields[speed]}"),
            TimeRemainingColumn(),
            console=self.console,
            disable=quiet,  # a notebook would show an empty widget
        )
        self._task = self._progress.add_task("training", total=total, completed=min(start, total), speed="")

    def __enter__(self) -> "Bar":
        self._progress.start()
        return self

    def __exit__(self, *_: Any) -> None:
        self._progress.stop()

    @contextmanager
    def training(self) -> Iterator[None]:
        """A context whose time counts as training, for `speed`; measurements and saving stay outside."""
        self._since = time.perf_counter()
        try:
            yield
        finally:
            self.seconds += time.perf_counter() - self._since
            self._since = None

    @property
    def speed(self) -> float:
        """Steps a second of training; 0 before the first."""
        seconds = self.seconds + (time.perf_counter() - self._since if self._since else 0.0)
        return (self.steps - self.start) / seconds if seconds else 0.0

    def update(self, steps: int) -> None:
        """Show how many steps are done."""
        self.steps = steps
        self._progress.update(
            self._task,
            completed=min(steps, self.total),
            speed=f"{self.speed:,.0f} {self.unit}/s" if self.speed else "",
        )

    def say(self, text: str) -> None:
        """Print a line, above the bar while there is one."""
        self.console.print(text, highlight=False, markup=False, soft_wrap=True)
