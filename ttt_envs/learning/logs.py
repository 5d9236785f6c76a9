"""The log of a run: numbers by name over steps and time, as lines of JSON, for TensorBoard, for others."""

import json
import math
from importlib import import_module
from pathlib import Path
from typing import Any

from ttt_envs.learning.checkpoint import Run
from ttt_envs.storage.files import write_whole
from ttt_envs.storage.outside import read_json

#: Name of the file in a run folder; each line is an object with "steps", "seconds" (wall time) and numbers by name.
FILE = "log.jsonl"

_MUST = "steps", "seconds"


class Log:
    """The log of a run that is being trained.

    It writes `log.jsonl`, the folder `tensorboard`, and to Weights & Biases if the settings ask for it, and calls the
    function `log` of the settings, if there is one, when all that is done. What an
    interrupted call logged after it had saved for the last time is dropped when the run is resumed.
    """

    def __init__(self, this: Run, start: int) -> None:
        """Nothing is written yet. `start`: steps of earlier calls."""
        self.this, self.start = this, start
        self.path = this.folder / FILE
        self._numbers: dict[str, float] = {}
        self._writer: Any = None
        self._wandb: Any = None

    def latest(self, name: str) -> float:
        """A number as earlier calls wrote it last, up to the steps that this one begins with; 0 if there is none."""
        earlier = read_log(self.path) if self.this.config.resume else []
        return next((each[name] for each in reversed(earlier) if name in each and self.start >= each["steps"]), 0.0)

    def record(self, name: str, value: float) -> None:
        """Keep a number for the next `write`."""
        self._numbers[name] = float(value)

    def write(self, steps: int) -> None:
        """Write the numbers recorded since the last time, if there are any, as those of so many steps."""
        if not self._numbers:
            return
        if self._writer is None:
            self._open()
        # JSON has no numbers that are not finite.
        numbers = {name: value if math.isfinite(value) else None for name, value in self._numbers.items()}
        line = json.dumps({"steps": steps, "seconds": round(self.this.seconds, 3), **numbers})
        with self.path.open("a", encoding="utf-8") as file:
            file.write(f"{line}\n")
        for name, value in self._numbers.items():
            self._writer.add_scalar(name, value, steps)
        self._writer.flush()
        if self._wandb is not None:
            self._wandb.log({**self._numbers, "seconds": self.this.seconds}, step=steps)
        told, self._numbers = self._numbers, {}
        if self.this.config.log is not None:
            self.this.config.log(steps, {**told, "seconds": self.this.seconds})

    def close(self) -> None:
        """End what is open; numbers that were not written are lost."""
        if self._writer is not None:
            self._writer.close()
        if self._wandb is not None:
            self._wandb.finish()

    def _open(self) -> None:
        # Imported late: a resumed run with nothing left to do writes nothing, and need not wait for it.
        from torch.utils.tensorboard import SummaryWriter

        config = self.this.config
        earlier = read_log(self.path) if config.resume else []
        write_whole(self.path, "".join(f"{json.dumps(each)}\n" for each in earlier if each["steps"] <= self.start))
        purge = {"purge_step": self.start + 1} if config.resume else {}
        self._writer = SummaryWriter(str(self.this.folder / "tensorboard"), **purge)
        if config.wandb is not None:
            self._wandb = import_module("wandb").init(
                project=config.wandb, name=config.out.name, dir=str(config.out), config=self.this.settings
            )


def read_log(path: Path) -> list[dict[str, Any]]:
    """The lines of a log; without a last one that a killed process has not finished. None if there is no file.

    Raises ValueError naming the line that is damaged.
    """
    if not path.is_file():
        return []
    *lines, rest = path.read_text(encoding="utf-8").split("\n")
    del rest  # empty, or not finished
    rows = []
    for number, text in enumerate(lines, 1):
        try:
            line = read_json(text)
            if not isinstance(line, dict) or not all(isinstance(line[name], (int, float)) for name in _MUST):
                raise ValueError(f"it must be an object with {' and '.join(_MUST)}")
        except (KeyError, ValueError) as error:
            raise ValueError(f"{path} is damaged in line {number}: {error}") from None
        rows.append(line)
    return rows
