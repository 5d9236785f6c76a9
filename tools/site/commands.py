"""The reference of the command `ttt`: what each verb says with --help."""

import io
import os
import re
import textwrap
from collections.abc import Iterator
from contextlib import redirect_stdout, suppress
from unittest import mock

import ttt_envs
from ttt_envs import cli

#: Columns that the help is laid out for.
WIDTH = 84

_COLOUR = re.compile(r"\x1b\[[0-9;]*m")


def help_of(*words: str) -> str:
    """The text that `ttt WORDS --help` prints, without colours."""
    printed = io.StringIO()
    # Where there is no terminal, its width is that of the environment.
    with mock.patch.dict(os.environ, COLUMNS=str(WIDTH), NO_COLOR="1"), redirect_stdout(printed), suppress(SystemExit):
        cli.main([*words, "--help"])
    # The description of a command is one line, however long.
    lines = [
        part
        for line in _COLOUR.sub("", printed.getvalue()).splitlines()
        for part in (textwrap.wrap(line, WIDTH) if len(line) > WIDTH else [line.rstrip()])
    ]
    return "\n".join(lines).strip("\n")


def words_of_commands() -> Iterator[tuple[str, ...]]:
    """The words of every command that has a help of its own, without `ttt`."""
    yield ()
    for verb in cli.VERBS:
        yield (verb,)
    yield from (("game", "new"), ("game", "check"))
    for game_id in ttt_envs.GAMES:
        for command in ttt_envs.load(game_id).solve_commands:
            yield ("solve", game_id, command)


def reference() -> str:
    """A section for each command, with its help."""
    return "\n".join(
        f"## `{' '.join(('ttt', *words))}`\n\n```text\n{help_of(*words)}\n```\n" for words in words_of_commands()
    )
