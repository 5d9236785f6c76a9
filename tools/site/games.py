"""Directives for the parts of a game's page."""

from collections.abc import Callable, Sequence
from typing import Any

from docutils import nodes
from sphinx.util.docutils import SphinxDirective

import ttt_envs
from tools.site import parts


class Part(SphinxDirective):
    """A part of a page, made from the games that the directive names by their ids."""

    required_arguments = 1
    final_argument_whitespace = True
    make: Callable[[Sequence[str]], str]

    def run(self) -> list[nodes.Node]:
        """The nodes of the part; an unknown id is an error of the page."""
        ids = self.arguments[0].split()
        for each in ids:
            if each not in ttt_envs.GAMES:
                raise self.error(f"unknown game {each!r}; known: {', '.join(ttt_envs.GAMES)}")
        return self.parse_text_to_nodes(type(self).make(ids))


def setup(app: Any) -> None:
    """Called by Sphinx."""
    for make in (parts.facts, parts.rules, parts.actions, parts.observation, parts.options, parts.rewards):
        app.add_directive(make.__name__, type(make.__name__.title(), (Part,), {"make": staticmethod(make)}))
