"""The reference of the command `ttt`: what each verb says with --help."""

import io
import os
import re
from collections.abc import Iterator
from contextlib import redirect_stdout, suppress
from typing import Any
from unittest import mock

from docutils import nodes
from sphinx.util.docutils import SphinxDirective

import ttt_envs
from ttt_envs import cli

#: Columns that the help is laid out for.
WIDTH = 84

_COLOUR = re.compile(r"\x1b\[[0-9;]*m")


def help_of(*words: str) -> str:
    """What `ttt WORDS --help` prints, without colours."""
    printed = io.StringIO()
    # The help is laid out for the terminal's width, which the environment gives where there is no terminal.
    with mock.patch.dict(os.environ, COLUMNS=str(WIDTH), NO_COLOR="1"), redirect_stdout(printed), suppress(SystemExit):
        cli.main([*words, "--help"])
    lines = [line.rstrip() for line in _COLOUR.sub("", printed.getvalue()).splitlines()]
    return "\n".join(lines).strip("\n")


def lines() -> Iterator[tuple[str, ...]]:
    """The words of every command that has a help of its own, without `ttt`."""
    yield ()
    for verb in cli.VERBS:
        yield (verb,)
    for game_id in ttt_envs.GAMES:
        for command in ttt_envs.load(game_id).solve_commands:
            yield ("solve", game_id, command)


class Commands(SphinxDirective):
    """A section for each command, with its help."""

    def run(self) -> list[nodes.Node]:
        """The sections."""
        found: list[nodes.Node] = []
        for words in lines():
            title = f"`{' '.join(('ttt', *words))}`"
            found += self.parse_text_to_nodes(
                f"## {title}\n\n```text\n{help_of(*words)}\n```\n", allow_section_headings=True
            )
        return found


def setup(app: Any) -> None:
    """Called by Sphinx."""
    app.add_directive("commands", Commands)
