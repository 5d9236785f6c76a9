"""What all verbs share: how a command runs, fails and is interrupted, and the command line that repeats it."""

import os
import shlex
import sys
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from rich.console import Console

#: Exit statuses: done, a user's error, interrupted (as a shell reports SIGINT).
DONE, ERROR, INTERRUPTED = 0, 2, 130


def run(function: Callable[[], int | None]) -> int:
    """Call a command; returns its exit status.

    What a user can mend (wrong values, files that do not exist, missing extras) is printed as one line, without a
    traceback.
    """
    errors = Console(stderr=True)
    try:
        return function() or DONE
    except BrokenPipeError:
        # The reader of the output has left; Python must not write the rest at its end.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return ERROR
    except (ValueError, TypeError, NotImplementedError, OSError, ImportError) as error:
        errors.print(f"error: {error}", style="red", markup=False, highlight=False, soft_wrap=True)
        return ERROR
    except KeyboardInterrupt as error:
        errors.print(f"interrupted{f': {error}' if str(error) else ''}", highlight=False, markup=False, soft_wrap=True)
        return INTERRUPTED


def python() -> str:
    """How to call this Python from the current folder, for commands that are suggested to people."""
    here, program = Path.cwd(), Path(sys.executable)
    return str(program.relative_to(here)) if here in program.parents else "python"


def command_line(program: Sequence[str], settings: Mapping[str, Any], defaults: Mapping[str, Any]) -> str:
    """The command line that has these settings: `program`, then each setting that differs from its default.

    Names become options (`max_games` becomes `--max-games`); True is a flag, a sequence several values, and a mapping
    several `name=value`.
    """
    words = list(program)
    for name, value in settings.items():
        if name in defaults and value == defaults[name]:
            continue
        flag = f"--{name.replace('_', '-')}"
        if isinstance(value, bool):
            words.append(flag if value else f"--no-{name.replace('_', '-')}")
        elif isinstance(value, Mapping):
            words += [flag, *(f"{key}={each}" for key, each in value.items())]
        elif isinstance(value, (list, tuple)):
            words += [flag, *map(str, value)]
        else:
            words += [flag, str(value)]
    return shlex.join(words)
