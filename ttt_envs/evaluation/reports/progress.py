"""Progress of long computations, which keep their results after an interrupt."""

import time
from collections.abc import Callable, Sized
from types import TracebackType

from rich.console import Console
from rich.progress import (
    BarColumn,
    MofNCompleteColumn,
    Progress,
    ProgressColumn,
    TextColumn,
    TimeElapsedColumn,
    TimeRemainingColumn,
)


class Work:
    """A context for a long computation: `with Work(results, "games", 100) as work:` shows a progress bar on stderr.

    After an interrupt (Ctrl-C, or a person who quits), the code after the context continues with the results so far;
    without results, the interrupt is raised again.

    Attributes:
        complete: after the context, whether the computation was not interrupted.
        seconds: after the context, the time that the computation took.
    """

    def __init__(self, results: Sized, unit: str, total: float | None = None, *, hidden: bool = False) -> None:
        """`results`: the computation fills it; `unit`: name of a step; `total`: number of steps, None if unknown."""
        self._results, self._unit = results, unit
        columns: list[ProgressColumn] = [TextColumn("{task.description}"), BarColumn()]
        columns += [MofNCompleteColumn(), TextColumn(unit)] if isinstance(total, int) else []
        columns.append(TimeElapsedColumn() if total is None else TimeRemainingColumn())
        self._bar = Progress(*columns, console=Console(stderr=True), disable=hidden, transient=True)
        self._task = self._bar.add_task("", total=total)
        self.complete, self.seconds = False, 0.0

    def __enter__(self) -> "Work":
        self._started = time.perf_counter()
        self._bar.start()
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, _: TracebackType | None) -> bool:
        self._bar.stop()
        self.seconds = time.perf_counter() - self._started
        self.complete = kind is None
        if isinstance(error, KeyboardInterrupt) and not self._results:
            raise KeyboardInterrupt(f"no {self._unit} were finished, and nothing is written") from None
        return isinstance(error, (KeyboardInterrupt, SystemExit)) and bool(self._results)

    def update(self, done: float, what: str | None = None) -> None:
        """Show the progress and the name of the current part."""
        if not self._bar.disable:  # saves the time that a hidden bar takes, too
            self._bar.update(self._task, completed=done, description=what)

    def part(self, before: float, what: str) -> Callable[..., None]:
        """Return a callback for the progress of the part named `what`, which begins after `before` steps."""
        return lambda done, *_: self.update(before + done, what)
