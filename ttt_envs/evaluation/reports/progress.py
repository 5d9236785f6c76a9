"""Progress of long work, with the results so far after an interrupt."""

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
    """Long work under way: `with Work(results, "games", 100) as work:` shows a progress bar on stderr meanwhile.

    If it is interrupted (Ctrl-C, or a person who quits), the code behind it continues with the results so far; without
    any, the interrupt is raised again.

    Attributes:
        complete: whether it was not interrupted, known afterwards.
        seconds: the time that it took, known afterwards.
    """

    def __init__(self, results: Sized, unit: str, total: float | None = None, *, hidden: bool = False) -> None:
        """`results`: filled by the work; `unit`: the name of a step, up to `total`; None if the end is not known."""
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
        """Show the progress, and the current work."""
        if not self._bar.disable:  # a hidden bar would take the time, too
            self._bar.update(self._task, completed=done, description=what)

    def part(self, before: float, what: str) -> Callable[..., None]:
        """Return a callback for the progress of one part of the work, called `what`, which begins after `before`."""
        return lambda done, *_: self.update(before + done, what)
