"""The settings that all methods share, and their command line."""

import argparse
import inspect
import types
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, fields, replace
from importlib.util import find_spec
from pathlib import Path
from typing import Annotated, Any, ClassVar, TypeVar, Union, get_args, get_origin, get_type_hints

import numpy as np
import tyro
from tyro.constructors import PrimitiveConstructorSpec

from ttt_envs.agents import as_agent, stranger
from ttt_envs.core.game import Game
from ttt_envs.core.options import Within as Within
from ttt_envs.core.options import as_text, within
from ttt_envs.learning.runs import checkpoint
from ttt_envs.learning.runs.measurements import MEASURES, Measurement, MeasuringSettings, Point
from ttt_envs.registry import GAMES, full_id, parse_options, resolve

# The type of settings that list agents: texts on the command line; in Python also Agent objects.
Agents = Annotated[
    tuple[Any, ...],
    PrimitiveConstructorSpec(
        nargs="*",
        metavar="[AGENT ...]",
        instance_from_str=tuple,
        is_instance=lambda given: isinstance(given, tuple),
        str_from_instance=lambda given: [each if isinstance(each, str) else as_agent(each).name for each in given],
    ),
]

# The type of the setting for a game's options: name=value on the command line, a dict in Python.
Options = Annotated[
    Mapping[str, Any],
    PrimitiveConstructorSpec(
        nargs="*",
        metavar="[NAME=VALUE ...]",
        instance_from_str=lambda texts: {"": texts},  # their types are the game's, see `command_line`
        is_instance=lambda given: isinstance(given, Mapping),
        str_from_instance=lambda given: [f"{name}={as_text(value)}" for name, value in given.items()],
    ),
    tyro.conf.arg(name="option"),
]


# The lines of the help on the measurements: each one's files and the setting that requests it.
_CURVES = "\n".join(
    f"    {f'{kind.file}.csv, .png':26} {kind.unit}: --{kind.setting.replace('_', '-')}" for kind in MEASURES.values()
)

#: The last lines of every method's help.
RUN_FOLDER = f"""The run folder holds:

    config.json                the settings, the command, versions of libraries, wall time so far
    network.safetensors        the agent, as said above
    resume.safetensors         what --resume needs: networks, optimisers, the number of steps
    snapshots/                 past networks, of methods that play against them
{_CURVES}
    log.jsonl, tensorboard/    losses and metrics over steps and wall time
"""

Share = Annotated[float, Within(0.0, 1.0)]


def _count(texts: list[str]) -> int:
    with suppress(ValueError, OverflowError):
        if (number := float(texts[0])) == int(number):
            return int(number)
    raise ValueError(f"{texts[0]!r} is not a whole number")


# A whole number on the command line, which may be written as 3e6.
_COUNT = PrimitiveConstructorSpec(
    nargs=1,
    metavar="INT",
    instance_from_str=_count,
    is_instance=lambda given: isinstance(given, int),
    str_from_instance=lambda given: [str(given)],
)
Steps = Annotated[int, Within(1, 10**15), _COUNT]


@dataclass(frozen=True, kw_only=True)
class RunSettings:
    """Settings of a training run: the game, the length, and the folder."""

    game: Annotated[tyro.conf.Positional[str], tyro.conf.arg(metavar="GAME")]
    """Id of the game; `ttt games` lists them."""
    options: Options = field(default_factory=dict)
    """Options of the game, such as size=3; `ttt describe GAME` lists them."""
    steps: Steps = 3_000_000
    """Total steps, those before --resume included: decisions of the learner, or what the method counts instead."""
    out: Path = Path("runs/training")
    """Run folder."""
    resume: bool = False
    """Continue the run in the folder. Unspecified settings are taken from that run."""
    seed: Annotated[int, Within(0, 2**32 - 1)] = 0
    """Seed of all random numbers."""
    seeds: Annotated[int, Within(1, 1000)] = 1
    """Number of seeds to train with, from --seed on, one after the other, each in OUT/seed-K; ends with a summary."""
    eval_every: Annotated[int | None, Within(1, 10**15)] = None
    """Steps between two measurements of score and regret; by default a tenth of --steps."""
    eval_agents: Agents = ("random", "greedy")
    """Agents that the score is measured against."""


@dataclass(frozen=True, kw_only=True)
class Settings(MeasuringSettings, RunSettings):
    """Settings of a training run that do not depend on the method."""

    #: Settings that may differ when a run is resumed.
    MAY_CHANGE: ClassVar[tuple[str, ...]] = (
        *("steps", "out", "resume", "seeds", "quiet", "eval_every", "exploitability_every", "wandb"),
    )
    #: The unit of the method's steps.
    UNIT: ClassVar[str] = "decisions"

    wandb: str | None = None
    """Project of Weights & Biases to log to as well; needs the package wandb."""
    log: Annotated[Callable[[int, dict[str, float]], None] | None, tyro.conf.Suppress] = None
    """A function of the steps and of numbers by name, called with all that is logged; in Python only."""
    quiet: bool = False
    """Print nothing."""

    def __post_init__(self) -> None:
        """Store the game as its full id, the folder as a path, and lists as tuples."""
        for name, value in list(vars(self).items()):
            if isinstance(value, list) or (name == "out" and isinstance(value, str)):
                object.__setattr__(self, name, tuple(value) if isinstance(value, list) else Path(value))
        with suppress(TypeError, ValueError):  # `check` and `load` say what is wrong
            object.__setattr__(self, "game", full_id(self.game))

    def check(self) -> None:
        """Raise ValueError or TypeError, naming the setting, for an invalid value."""
        noted = get_type_hints(type(self), include_extras=True)
        for name, kind in get_type_hints(type(self)).items():
            if get_origin(kind) is ClassVar:
                continue
            value = getattr(self, name)
            if not _is_a(value, kind):
                raise TypeError(f"{name} must be of type {inspect.formatannotation(kind)}, not {value!r}")
            for each in getattr(noted[name], "__metadata__", ()):
                if isinstance(each, Within) and value is not None:
                    within(*each, **{name: value})
        if self.seed + self.seeds > 2**32:
            raise ValueError(f"seed + seeds must be at most {2**32:,}")
        if self.wandb is not None and find_spec("wandb") is None:
            raise ImportError("wandb is not installed, which --wandb needs: pip install wandb")
        if self.regret_games == 1:
            raise ValueError("regret_games must be 0, or at least 2 for an interval, not 1")

    def strangers(self) -> dict[str, tuple[str, ...]]:
        """Return setting -> its untrusted values: a game or agents that may use more than the library's own data."""
        named = {
            name: tuple(each for each in getattr(self, name) if isinstance(each, str) and stranger(each) is not None)
            for name, kind in get_type_hints(type(self), include_extras=True).items()
            if kind == Agents
        }
        named["game"] = () if self.game in GAMES else (self.game,)
        return {name: texts for name, texts in named.items() if texts}

    def load(self) -> Game:
        """Return the game with its options; raise the errors of `ttt_envs.load` and `Game.check_rewards`."""
        game = resolve(self.game, self.options)
        game.check_rewards("training")
        return game

    @property
    def measure_every(self) -> int:
        """Steps between two measurements."""
        return self.eval_every or max(self.steps // 10, 1)

    def measurements(self, game: Game, average: Any = None) -> list[Measurement]:
        """Return the measurements that the settings request; for `average` see `Exploitability`. Raises ValueError if
        the game cannot be measured, or if an agent is unknown or cannot play the game.
        """
        return [each for kind in MEASURES.values() if (each := kind.asked(self, game, average)) is not None]


@dataclass(frozen=True, kw_only=True)
class SelfPlay(Settings):
    """Settings of a learner that plays one seat of each game against opponents that are drawn for the other seats."""

    self_weight: Share = 0.6
    """Share of games against the current self."""
    past_weight: Share = 0.2
    """Share of games against past snapshots, once there are any."""
    snapshot_every: Steps = 200_000
    """Decisions between two snapshots."""
    opponents: Agents = ("random",)
    """Agents that play the remaining share of the games."""


def _is_a(value: Any, kind: Any) -> bool:
    """Return whether a value has the type of a setting; a whole number counts as a float."""
    origin, inner = get_origin(kind), get_args(kind)
    if kind is Any:
        return True
    if origin in (Union, types.UnionType):
        return any(_is_a(value, each) for each in inner)
    if origin is tuple:  # of any length
        return isinstance(value, tuple) and all(_is_a(each, inner[0]) for each in value)
    if kind in (int, float):
        return isinstance(value, (int, np.integer) if kind is int else (int, float, np.number)) and not isinstance(
            value, bool
        )
    return isinstance(value, origin or kind)


@dataclass
class Result:
    """The result of a call of `train`.

    Attributes:
        folder: the run folder.
        steps: number of steps, in the method's unit, including earlier calls.
        steps_per_second: steps of this call per second of training; time for measuring and saving does not count.
        finished: False if it was interrupted.
        points: name of a measurement, such as "score" -> its points, including those of earlier calls.
        plays_as: argument of `agents.load` for the agent that uses the saved file, with the settings of the
            measurements.
    """

    folder: Path
    steps: int
    steps_per_second: float
    finished: bool
    points: dict[str, list[Point]]
    plays_as: str


def check_sizes(**layers: tuple[int, ...]) -> None:
    """Raise ValueError, naming the setting, unless each value is a list of the sizes of one to a hundred layers."""
    for name, sizes in layers.items():
        if not 1 <= len(sizes) <= 100:
            raise ValueError(f"{name} must be one or more sizes, at most 100, not {len(sizes)}")
        for size in sizes:
            within(1, 2**16, **{name: size})


AnySettings = TypeVar("AnySettings", bound=Settings)


def command_line(
    kind: type[AnySettings], method: str, description: str | None, arguments: Sequence[str]
) -> AnySettings:
    """Return the settings of a command line; with --resume, settings that it does not name come from the run in --out.

    Args:
        kind: the method's settings.
        method: its name.
        description: the text of --help.
        arguments: the words after the method.

    Raises FileNotFoundError if there is no run to resume, and ValueError for an unknown game or option, or if the run
    to be resumed has another game.
    """
    early = argparse.ArgumentParser(add_help=False, allow_abbrev=False)
    early.add_argument("--resume", action="store_true")
    early.add_argument("--out", type=Path, default=next(each.default for each in fields(kind) if each.name == "out"))
    known, _ = early.parse_known_args(arguments)
    named = [*arguments, *(word.partition("=")[2] for word in arguments)]
    default = checkpoint.saved(kind, known.out, named) if known.resume else tyro.MISSING_NONPROP
    told = f"{inspect.cleandoc(description or '')}\n\n{RUN_FOLDER}"
    settings = tyro.cli(
        kind, prog=" ".join(checkpoint.program_of(method)), args=arguments, description=told, default=default
    )
    if known.resume and settings.game != default.game:
        raise ValueError(f"the run in {known.out} is of {default.game}, not of {settings.game}")
    texts = settings.options.get("")
    return settings if texts is None else replace(settings, options=parse_options(settings.game, texts))
