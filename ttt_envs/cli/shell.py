"""What all verbs share: how a command runs, fails and is interrupted."""

import os
import sys
from collections.abc import Callable
from pathlib import Path

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
