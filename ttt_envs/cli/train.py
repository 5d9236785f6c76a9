"""`ttt train`: train an agent by a learning method."""

import inspect
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from importlib import import_module
from typing import Any

from ttt_envs.cli.shell import DONE, INTERRUPTED, folded, parse, summary_of
from ttt_envs.learning import METHODS
from ttt_envs.storage.extras import require


@dataclass(frozen=True, kw_only=True)
class Train:
    """Train an agent by a learning method; `ttt train METHOD --help` explains a method and its settings.

    It needs the extra `train`.
    """

    @classmethod
    def narrowed(cls, arguments: Sequence[str]) -> "Training":
        """Return the training that the words after the verb name; raise SystemExit for help or an unknown method."""
        method = arguments[0] if arguments else ""
        if method not in METHODS:
            places = {name: summary_of(f"{module}:") for name, module in METHODS.items()}
            parse(places, arguments, "ttt train", inspect.getdoc(cls) or "")
        require("train", "torch", "stable_baselines3", "sb3_contrib", "matplotlib")
        from ttt_envs.learning.runs.settings import command_line

        module = import_module(METHODS[method])
        with folded(arguments):
            settings = command_line(module.Config, method, module.__doc__, arguments[1:])
        return Training(method, settings, module.train)


@dataclass(frozen=True)
class Training:
    """A training run to begin or to resume.

    Attributes:
        method: name of the method.
        settings: the method's settings. train: the method's function `train`.
    """

    method: str
    settings: Any
    train: Callable[[Any], Any]

    def run(self) -> int:
        """Train; return the exit status of success or of an interrupt."""
        from ttt_envs.learning.runs.loop import train_all

        return DONE if train_all(self.settings, self.train, self.method) else INTERRUPTED
