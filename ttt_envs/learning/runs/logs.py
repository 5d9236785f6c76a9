"""The log of a run, as lines of JSON and for trackers, and its progress bar."""

import json
import math
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from importlib import import_module
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

from ttt_envs.learning.runs.checkpoint import Run
from ttt_envs.storage.files import write_whole

#: Name of the file in a run folder; each line is an object with "steps", "seconds" (wall time) and numbers by name.
FILE = "log.jsonl"

#: A function that is called with the number of steps and with the numbers, by name, to be logged.
Tracker = Callable[[int, dict[str, float]], None]


class Log:
    """The log of a training run. It writes `log.jsonl` and sends the same numbers to all trackers: TensorBoard, in the
    folder `tensorboard`; Weights & Biases, if the settings request it; and the function `log` of the settings, if there
    is one. Numbers logged after the last save of an interrupted call are dropped when the run is resumed.
    """

    def __init__(self, this: Run) -> None:
        """Prepare the log; the first `write` creates the files."""
        self.this = this
        self.path = this.folder / FILE
        self._numbers: dict[str, float] = {}
        self._trackers: list[Tracker] = []
        self._closers: list[Callable[[], None]] = []

    def latest(self, name: str) -> float:
        """Return the last value of the number `name` up to the step at which this call resumes; 0 without a value."""
        return next((each[name] for each in reversed(self._earlier()) if name in each), 0.0)

    def record(self, name: str, value: float) -> None:
        """Keep a number until the next `write`."""
        self._numbers[name] = float(value)

    def write(self, steps: int) -> None:
        """Write the numbers that were recorded since the last `write`, if any, as those after `steps` steps."""
        if not self._numbers:
            return
        if not self._trackers:
            self._open()
        # JSON cannot contain infinite numbers or nan: they become null.
        numbers = {name: value if math.isfinite(value) else None for name, value in self._numbers.items()}
        line = json.dumps({"steps": steps, "seconds": round(self.this.seconds, 3), **numbers})
        with self.path.open("a", encoding="utf-8") as file:
            file.write(f"{line}\n")
        told, self._numbers = {**self._numbers, "seconds": self.this.seconds}, {}
        for tracker in self._trackers:
            tracker(steps, told)

    def close(self) -> None:
        """Close the log; numbers that were not written are lost."""
        for close in self._closers:
            close()

    def _earlier(self) -> list[dict[str, Any]]:
        lines = read_log(self.path) if self.this.config.resume else []
        return [each for each in lines if each["steps"] <= self.this.start]

    def _open(self) -> None:
        # Imported late, because a resumed run without remaining steps does not need it.
        from torch.utils.tensorboard import SummaryWriter

        config = self.this.config
        write_whole(self.path, "".join(f"{json.dumps(each)}\n" for each in self._earlier()))
        purge = {"purge_step": self.this.start + 1} if config.resume else {}
        board = SummaryWriter(str(self.this.folder / "tensorboard"), **purge)

        def to_board(steps: int, numbers: dict[str, float]) -> None:
            for name, value in numbers.items():
                board.add_scalar(name, value, steps)
            board.flush()

        self._trackers, self._closers = [to_board], [board.close]
        if config.wandb is not None:
            run = import_module("wandb").init(
                project=config.wandb, name=config.out.name, dir=str(config.out), config=self.this.settings
            )
            self._trackers.append(lambda steps, numbers: run.log(numbers, step=steps))
            self._closers.append(run.finish)
        if config.log is not None:
            self._trackers.append(config.log)


def read_log(path: Path) -> list[dict[str, Any]]:
    """Return the lines of a log, without an unfinished last line of a killed process; an empty list if there is no
    file. Raises ValueError naming the damaged line.
    """
    if not path.is_file():
        return []
    *lines, _ = path.read_text(encoding="utf-8").split("\n")  # the last is empty, or not finished
    rows: list[dict[str, Any]] = []
    for number, text in enumerate(lines, 1):
        try:
            row = json.loads(text)
            if not all(isinstance(row[name], (int, float)) for name in ("steps", "seconds")):
                raise TypeError("steps and seconds must be numbers")
        except (KeyError, RecursionError, TypeError, ValueError) as error:
            raise ValueError(f"{path} is damaged in line {number}: {error}") from None
        rows.append(row)
    return rows


class Bar:
    """A context that shows the progress of a training run."""

    def __init__(self, total: int, start: int = 0, *, unit: str = "decisions", quiet: bool = False) -> None:
        """`total`: number of steps of the whole run; `start`: steps of earlier calls; `unit`: the name of a step."""
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
        """Return a context for training; `speed` counts only the time spent in it, not measurements and saving."""
        self._since = time.perf_counter()
        try:
            yield
        finally:
            self.seconds += time.perf_counter() - self._since
            self._since = None

    @property
    def speed(self) -> float:
        """Steps per second of training time; 0 before the first step."""
        seconds = self.seconds + (time.perf_counter() - self._since if self._since else 0.0)
        return (self.steps - self.start) / seconds if seconds else 0.0

    def update(self, steps: int) -> None:
        """Show the number of finished steps."""
        self.steps = steps
        self._progress.update(
            self._task,
            completed=min(steps, self.total),
            speed=f"{self.speed:,.0f} {self.unit}/s" if self.speed else "",
        )

    def say(self, text: str) -> None:
        """Print a line, above the bar if it is shown."""
        self.console.print(text, highlight=False, markup=False, soft_wrap=True)
