"""The files with which a run can be repeated and resumed: config.json and resume.safetensors."""

import sys
import time
from collections.abc import Callable, Collection, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import fields
from functools import cached_property
from pathlib import Path
from typing import Any, TypeVar

import torch

from ttt_envs.agents import as_agent, check_named
from ttt_envs.core.game import Game
from ttt_envs.core.options import as_text, command_line
from ttt_envs.learning import METHODS
from ttt_envs.registry import GAMES, game_of_file
from ttt_envs.storage.files import locked_folder
from ttt_envs.storage.runs import CONFIG, check_same, plain_options, read_config, write_config
from ttt_envs.storage.tensors import BadTensorFile, read_tensors, write_tensors
from ttt_envs.storage.untrusted import brief, with_tuples

RESUME = "resume.safetensors"
RESUME_FORMAT = "ttt-envs resume 2"

#: Installed packages whose versions may change the results: module -> distribution.
_LIBRARIES = {
    "ttt_envs": "ttt-envs",
    "numpy": "numpy",
    "numba": "numba",
    "torch": "torch",
    "stable_baselines3": "stable-baselines3",
    "sb3_contrib": "sb3-contrib",
}

# Settings of a single call, which are not settings of the run.
_OF_A_CALL = ("out", "resume", "quiet", "log")

# These settings must be given again to resume a run. A run folder may come from someone else, so it must not decide
# where the run is logged.
_NAMED_AGAIN = ("wandb",)


Config = TypeVar("Config", bound=Any)  # of a method
Parts = Mapping[str, torch.nn.Module | torch.optim.Optimizer]


class Run:
    """A training run: its settings, its game, its folder, the command that repeats it, and the time spent so far.

    Attributes:
        config, method: the settings, and the method's name.
        folder: the run folder.
        start: number of steps in earlier calls; 0 until `restore` is called.
    """

    def __init__(self, config: Any, method: str, needs: str = RESUME) -> None:
        """Check the folder `config.out` without writing to it.

        Args:
            config: a dataclass with the fields of `ttt_envs.learning.runs.settings.Settings`.
            method: name of the method in `ttt train`.
            needs: name of the file without which the run cannot be resumed.

        Raises:
            FileExistsError: the folder holds a run, and `resume` is not set.
            FileNotFoundError: `resume` is set, and there is nothing to resume.
            ValueError: the run was started with other settings, its files are damaged, or the settings have several
                seeds, each of which has a run of its own.
        """
        if needs == RESUME and config.seeds > 1:
            raise ValueError("a run has one seed: learning.runs.loop.train_seeds trains with several")
        self.config, self.method, self.folder, self.start = config, method, config.out, 0
        self._clock, self._before, self._asked, self._done = time.perf_counter(), 0.0, 0, 0.0
        if config.resume:
            begun = read_config(self.folder)
            self._before = seconds if isinstance(seconds := begun.get("seconds"), (int, float)) else 0.0
            now, then = self.settings, begun["settings"]
            if then.get("game") == now["game"]:
                then["options"] = plain_options(game_of_file(self.game, then["options"]).options)
            check_same(f"the run in {self.folder}", then, now, config.MAY_CHANGE)
            self._asked = then["steps"] if isinstance(then["steps"], int) else 0
            if not (self.folder / needs).is_file():
                raise FileNotFoundError(f"nothing to resume: no file {self.folder / needs}")
        elif (self.folder / needs).exists() or (needs == RESUME and any(self.folder.glob("seed-*"))):
            raise FileExistsError(
                f"{self.folder} holds a run already: add --resume, or choose another folder with --out"
            )

    @cached_property
    def game(self) -> Game:
        """The game of the run; raises the errors of `Settings.load`."""
        game: Game = self.config.load()
        return game

    def restore(self, parts: Parts) -> int:
        """If the run is resumed, load into `parts` what an earlier call saved; return the number of steps so far.

        Raises the errors of the function `restore`, and ValueError if `config.steps` is less than both the steps
        trained and the earlier setting.
        """
        if self.config.resume:
            self.start, self._done = restore(self.folder, parts)
        if self.config.steps < min(self.start, self._asked):
            raise ValueError(
                f"the run in {self.folder} has been trained on {self.start:,} {self.config.UNIT} already, "
                f"more than --steps, {self.config.steps:,}"
            )
        return self.start

    def done(self, steps: int) -> float:
        """Return the finished share of the training after `steps` steps, for schedules of learning rates and others.

        It is at least the share at the last save: a learning rate that has fallen stays low if a finished run is
        continued for more steps.
        """
        return max(self._done, min(steps / self.config.steps, 1.0))

    @property
    def warm_up(self) -> int:
        """Number of rows that this call collects before it learns: what the setting still lacks, at least a batch."""
        config = self.config
        return int(min(config.warm_up, max(config.warm_up - self.start, config.batch)))

    def count_seconds(self, logged: float) -> None:
        """Take the log's wall time of earlier calls if it is longer: a killed call did not update `config.json`."""
        self._before = max(self._before, logged)

    @property
    def seconds(self) -> float:
        """Wall time of the run, including earlier calls."""
        return self._before + time.perf_counter() - self._clock

    @cached_property
    def settings(self) -> dict[str, Any]:
        """The settings as JSON types, without those of a single call, such as `out`."""
        return {**_settings(self.config), "options": plain_options(self.game.options)}

    @cached_property
    def command(self) -> str:
        """The command that repeats the training."""
        config = self.config
        defaults = {each.name: each.default for each in fields(config)}
        given = {name: value for name, value in _settings(config).items() if name not in ("game", "options")}
        options = {name: as_text(value) for name, value in config.options.items()}
        words = [*program_of(self.method), config.game]
        plain = {name: list(value) if isinstance(value, tuple) else value for name, value in defaults.items()}
        return command_line(words, {"option": options, **given, "out": config.out}, {**plain, "option": {}})

    @property
    def resume_command(self) -> str:
        """The command that continues the run."""
        words = program_of(self.method)
        again = {name: value for name in _NAMED_AGAIN if (value := getattr(self.config, name, None)) is not None}
        again |= {name: getattr(self.config, name) for name in self.config.strangers()}
        words += [again.pop("game")] if "game" in again else []
        defaults = {each.name: each.default for each in fields(self.config)}
        given = {name: self.settings[name] for name in again if again[name] != defaults[name]}
        return command_line([*words, "--resume", "--out", str(self.folder)], given, {})

    def write_config(self) -> None:
        """Update config.json."""
        used = {module: name for module, name in _LIBRARIES.items() if module in sys.modules}
        write_config(self.folder, self.settings, used, command=self.command, seconds=round(self.seconds, 1))


def saved(kind: Callable[..., Config], folder: Path, named: Collection[str] = ()) -> Config:
    """Return the settings of the run in a folder, with `resume` set; those of a single call have their defaults.

    Args:
        kind: the method's settings.
        folder: the run folder.
        named: everything that the user has named, such as the words of a command line.

    Raises FileNotFoundError; ValueError if the folder is damaged, or if the run uses an agent or a game that is not
    among `named` and may do more than use the library's own data.
    """
    begun = read_config(folder)
    settings = with_tuples(begun["settings"])
    settings = {name: value for name, value in settings.items() if name not in _NAMED_AGAIN}
    try:
        if settings.get("game") in GAMES:
            settings["options"] = dict(game_of_file(settings["game"], settings.get("options", {})).options)
        again = kind(**settings, out=folder, resume=True)
        again.check()
    except (TypeError, ValueError) as error:
        made = brief(str(begun.get("command")))
        raise ValueError(
            f"{folder / CONFIG} is damaged, or of another method: {error}; it was made by {made}"
        ) from None
    for name, texts in again.strangers().items():
        if name != "game":
            how = f"name all agents of --{name.replace('_', '-')} beside --resume"
            check_named(texts, str(folder / CONFIG), how, named)
        elif not set(texts) <= set(named):
            raise ValueError(
                f"{folder / CONFIG} names {brief(texts[0])!r}, which may run programs or open files: if you want it "
                "to be run, name the game beside --resume"
            )
    return again


@contextmanager
def opened(config: Any, method: str) -> Iterator[Run]:
    """Return a context with the run `Run(config, method)`, whose settings are checked and whose folder is locked.

    Raises:
        ValueError, TypeError: settings that are invalid or differ from those of the run to be resumed.
        FileExistsError: the folder holds a run, and `resume` is not set.
        FileNotFoundError, BadTensorFile: there is nothing to resume, or it is damaged.
        InUse: another process is writing the folder.
        OSError: a file cannot be written; what was saved before can be resumed.
    """
    config.check()
    with locked_folder(config.out):
        yield Run(config, method)


def save(folder: Path, steps: int, parts: Parts, done: float) -> None:
    """Write the state of training atomically: modules and optimisers by name; `done` as returned by `Run.done`."""
    tensors: dict[str, torch.Tensor] = {}
    for part, stateful in parts.items():
        if isinstance(stateful, torch.nn.Module):
            tensors.update({f"{part}.{name}": tensor for name, tensor in stateful.state_dict().items()})
        else:
            for index, state in stateful.state_dict()["state"].items():
                tensors.update({f"{part}.{index}.{name}": tensor for name, tensor in state.items()})
    arrays = {name: tensor.detach().cpu().numpy() for name, tensor in tensors.items()}
    write_tensors(folder / RESUME, RESUME_FORMAT, {"steps": steps, "done": done}, arrays)


def restore(folder: Path, parts: Parts) -> tuple[int, float]:
    """Load into `parts` what `save` wrote; return the arguments `steps` and `done` that it had.

    Raises FileNotFoundError, or BadTensorFile if the file is damaged.
    """
    path = folder / RESUME
    if not path.is_file():
        raise FileNotFoundError(f"nothing to resume: no file {path}")
    facts, arrays = read_tensors(path, RESUME_FORMAT)
    try:
        tensors = {name: torch.from_numpy(array) for name, array in arrays.items()}
        for part, stateful in parts.items():
            mine = {k.removeprefix(f"{part}."): v for k, v in tensors.items() if k.startswith(f"{part}.")}
            if isinstance(stateful, torch.nn.Module):
                stateful.load_state_dict(mine)
                continue
            state: dict[int, dict[str, torch.Tensor]] = {}
            for key, tensor in mine.items():
                index, _, name = key.partition(".")
                state.setdefault(int(index), {})[name] = tensor
            parameters = [each for group in stateful.param_groups for each in group["params"]]
            for number, kept in state.items():
                shape = parameters[number].shape
                if any(each.ndim and each.shape != shape for each in kept.values()):
                    raise ValueError(f"{part} does not fit the parameters")
            stateful.load_state_dict({**stateful.state_dict(), "state": state})
        return int(facts["steps"]), float(facts["done"])
    except (IndexError, KeyError, RuntimeError, TypeError, ValueError) as error:
        raise BadTensorFile(f"{path} is damaged, or does not fit this run's {CONFIG}: {error}") from None


def program_of(method: str) -> list[str]:
    """Return the words of the command that starts a method of the library or, if `method` is a path, a script."""
    return ["ttt", "train", method] if method in METHODS else ["python", method]


def _settings(config: Any) -> dict[str, Any]:
    """Return settings as JSON types, without those of a single call; an agent becomes its name."""

    def plain(value: Any) -> Any:
        if isinstance(value, Mapping):
            return {name: plain(each) for name, each in value.items()}
        if isinstance(value, (list, tuple)):
            return [plain(each) for each in value]
        return value if value is None or isinstance(value, (str, int, float)) else as_agent(value).name

    values = {each.name: getattr(config, each.name) for each in fields(config) if each.name not in _OF_A_CALL}
    return {name: plain(value) for name, value in values.items()}
