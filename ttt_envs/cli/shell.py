"""The shell of all verbs: it reads the command line, runs the command, and reports errors and interrupts."""

import ast
import io
import os
import re
import sys
import textwrap
from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext, redirect_stdout
from dataclasses import fields, is_dataclass
from importlib.util import find_spec
from pathlib import Path
from typing import Any, TextIO, get_type_hints

import tyro

from ttt_envs.cli.layout import width
from ttt_envs.core.options import unknown
from ttt_envs.storage.files import reason_of
from ttt_envs.storage.untrusted import printable

#: Exit statuses: success, an error, an interrupt, and closed output (as shells report SIGINT and SIGPIPE).
DONE, ERROR, INTERRUPTED, LEFT = 0, 2, 130, 141


def parse(
    commands: Mapping[str, Any], arguments: Sequence[str], program: str, description: str, default: Any = None
) -> Any:
    """Return an object of the dataclass that the first word names, from the other words and `default`. Raises
    ValueError for an unknown first word or option, with a suggestion, and SystemExit for other errors and for help.
    """
    # Optional values are left out, because None has no form on the command line. An option that is off by default needs
    # no flag for it.
    config = (tyro.conf.DisallowNone, tyro.conf.FlagCreatePairsOff)
    word = arguments[0] if arguments else ""
    if word and not word.startswith("-") and word not in commands:
        raise ValueError(f"{program}: {unknown('command', word, list(commands))}")
    with folded(arguments):
        if is_dataclass(commands.get(word)):
            program, words = f"{program} {word}", list(arguments[1:])
            _check_options(program, options_of(commands[word]), words)
            if default is not None:  # a flag that is on already may be given again
                return tyro.cli(commands[word], prog=program, args=words, config=config[:1], default=default)
            return tyro.cli(commands[word], prog=program, args=words, config=config)
        return tyro.extras.subcommand_cli_from_dict(
            dict(commands), args=list(arguments), prog=program, description=description, config=config
        )


def folded(arguments: Sequence[str]) -> AbstractContextManager[Any]:
    """Return a context in which help that `arguments` request wraps between words; tyro does not do so."""
    return redirect_stdout(_Folded(sys.stdout)) if {"-h", "--help"} & set(arguments) else nullcontext()


class _Folded:
    def __init__(self, stream: TextIO) -> None:
        self._stream = stream

    def write(self, text: str) -> int:
        return self._stream.write("\n".join(map(_folded, text.split("\n"))))

    def __getattr__(self, name: str) -> Any:
        return getattr(self._stream, name)


def _folded(line: str) -> str:
    if len(line) <= width() or "\033" in line or "│" in line:
        return line
    hanging = re.match(r"- | +\S.*?  +", line)  # a list item, or a name with what it means beside it
    return textwrap.fill(line, width(), subsequent_indent=" " * len(hanging[0]) if hanging else "")


def options_of(command: Any) -> list[str]:
    """Return the command-line options of a dataclass."""
    found = []
    for name, kind in get_type_hints(command, include_extras=True).items():
        if name not in (each.name for each in fields(command)):
            continue
        given = [each for each in getattr(kind, "__metadata__", ()) if getattr(each, "name", None)]
        if tyro.conf.Positional not in getattr(kind, "__metadata__", ()):
            found.append(f"--{(given[0].name if given else name).replace('_', '-')}")
    return [*found, "--help"]


def _check_options(program: str, known: Sequence[str], words: Sequence[str]) -> None:
    for word in words:
        if word == "--":
            return
        name = word.partition("=")[0].replace("_", "-")
        if name.startswith("--") and name not in known and name.replace("--no-", "--", 1) not in known:
            reason = unknown("option", name, known).partition("; known:")[0].partition("? known:")[0]
            hint = "?" if "did you mean" in reason else ";"
            raise ValueError(f"{program}: {reason}{hint} `{program} --help` lists them")


def summary_of(place: str) -> Callable[[], None]:
    """Return an empty function for a command: its docstring is the command's summary in the help. Nothing is imported.

    `place` is "module:class", or "module:" for the module's own docstring.
    """
    module, name = place.split(":")
    spec = find_spec(module)
    assert spec is not None
    assert spec.origin is not None
    tree: ast.Module | ast.ClassDef = ast.parse(Path(spec.origin).read_text(encoding="utf-8"))
    if name:
        (tree,) = (node for node in tree.body if isinstance(node, ast.ClassDef) and node.name == name)

    def nothing() -> None: ...

    nothing.__doc__ = (ast.get_docstring(tree) or "").partition("\n\n")[0]
    return nothing


def run(function: Callable[[], int | None]) -> int:
    """Call a command; return its exit status.

    An error that the user can correct (wrong values, files that do not exist, missing extras) is printed as one line,
    without a traceback.
    """
    for name, mode in (("stdin", "r"), ("stdout", "w"), ("stderr", "w")):  # None where it is closed
        if getattr(sys, name) is None:
            setattr(sys, name, Path(os.devnull).open(mode, encoding="utf-8"))  # noqa: SIM115
    if isinstance(sys.stdout, io.TextIOWrapper):
        sys.stdout.reconfigure(errors="replace")  # a terminal without some sign shows "?"
    try:
        status = function() or DONE
        sys.stdout.flush()  # flush here, where a closed pipe is no error
        return status
    except (BrokenPipeError, SystemExit) as error:
        if isinstance(error, SystemExit) and not isinstance(error.__context__, BrokenPipeError):  # as rich raises it
            raise
        # The reader of the output, such as `head`, has ended; Python must not write the rest when it exits.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return LEFT
    except (ValueError, TypeError, NotImplementedError, OSError, ImportError, MemoryError) as error:
        said, terminal = f"error: {printable(_text_of(error))}", sys.stderr.isatty()
        red, plain = ("\033[31m", "\033[0m") if terminal and "NO_COLOR" not in os.environ else ("", "")
        print(f"{red}{_folded(said) if terminal else said}{plain}", file=sys.stderr)
        return ERROR
    except KeyboardInterrupt as error:
        print(f"interrupted{f': {error}' if str(error) else ''}", file=sys.stderr)
        return INTERRUPTED


def _text_of(error: Exception) -> str:
    if isinstance(error, OSError):
        return reason_of(error)
    if isinstance(error, MemoryError):
        return f"there is not enough memory for this{f': {error}' if str(error) else ''}"
    return str(error)
