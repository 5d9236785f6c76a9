"""Sphinx directives for Markdown pages. The extension also copies the notebooks to the pages.

- `{facts}`, `{rules}`, `{actions}`, `{observation}`, `{options}` and `{rewards}` describe games, given by their ids;
- `{lessons}` draws the positions that explain a game's rules, and `{film}` draws a recorded game;
- `{agents}` lists all named agents, and `{modules}` writes the reference of the library.
"""

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, ClassVar

from docutils import nodes
from docutils.parsers.rst import directives
from sphinx.util.docutils import SphinxDirective

import ttt_envs
from tools.site import agents, games, pictures, reference
from ttt_envs.storage.files import write_whole

#: Folder of the generated pictures, inside the folder of the pages.
GENERATED = "generated"


class Part(SphinxDirective):
    """Generates a part of a page from games; the directive's arguments are their ids."""

    required_arguments = 1
    final_argument_whitespace = True
    make: Callable[[Sequence[str]], str]

    def run(self) -> list[nodes.Node]:
        """Return the nodes of the part; raise the directive's error for an unknown id."""
        ids = self.arguments[0].split()
        for each in ids:
            if each not in ttt_envs.GAMES:
                raise self.error(f"unknown game {each!r}; known: {', '.join(ttt_envs.GAMES)}")
        return self.parse_text_to_nodes(type(self).make(ids))


class Figure(SphinxDirective):
    """Base class of directives that draw pictures for a page."""

    required_arguments = 1
    final_argument_whitespace = True
    option_spec: ClassVar[dict[str, Any]] = {"caption": directives.unchanged}

    def make(self, folder: Path) -> list[tuple[pictures.Picture, str]]:
        """Return pictures and captions; raise ValueError, TypeError or OSError if a picture cannot be drawn."""
        raise NotImplementedError

    def run(self) -> list[nodes.Node]:
        """Return the figures; raise the directive's error if a picture cannot be drawn."""
        folder = Path(self.env.srcdir) / GENERATED
        folder.mkdir(exist_ok=True)
        shown: list[nodes.Node] = []
        try:
            for picture, caption in self.make(folder):
                figure = nodes.figure(classes=[type(self).__name__.lower()])
                figure += nodes.image(uri=f"/{GENERATED}/{picture.path.name}", alt=picture.said)
                parsed, messages = self.parse_inline(caption)
                figure += nodes.caption("", "", *parsed)
                self.set_source_info(figure)
                shown += [figure, *messages]
        except (ValueError, TypeError, OSError) as error:
            raise self.error(str(error)) from None
        return shown


class Film(Figure):
    """Draws the first recorded game of a file as an animation; the path is relative to the folder of the pages."""

    def make(self, folder: Path) -> list[tuple[pictures.Picture, str]]:
        """Return the picture."""
        record = Path(self.env.srcdir) / self.arguments[0]
        self.env.note_dependency(str(record))
        film = pictures.film(folder, record)
        return [(film, self.options.get("caption", f"{film.said}."))]


class Lessons(Figure):
    """Draws the positions that explain a game's rules; the argument is the game's id."""

    def make(self, folder: Path) -> list[tuple[pictures.Picture, str]]:
        """Return the pictures."""
        game = ttt_envs.load(self.arguments[0])
        return [(pictures.lesson(folder, game.id, each), each.said) for each in game.faces.lessons]


class Agents(SphinxDirective):
    """Writes a section for each named agent."""

    def run(self) -> list[nodes.Node]:
        """Return the sections."""
        return self.parse_text_to_nodes(agents.listed(), allow_section_headings=True)


class Modules(SphinxDirective):
    """Writes a section for each public module of the packages in its arguments."""

    required_arguments = 1
    final_argument_whitespace = True
    option_spec: ClassVar[dict[str, Any]] = {"packages-only": directives.flag}

    def run(self) -> list[nodes.Node]:
        """Return the sections."""
        text = reference.sections(self.arguments[0].split(), "packages-only" in self.options)
        return self.parse_text_to_nodes(text, allow_section_headings=True)


def copy_notebooks(app: Any) -> None:
    """Copy new and changed notebooks to the folder of the pages, and delete copies whose notebook is gone."""
    source = Path(app.srcdir)
    pages = source / "notebooks"
    pages.mkdir(exist_ok=True)
    wanted = {path.name: path.read_bytes() for path in (source.parent / "notebooks").glob("*.ipynb")}
    for path in pages.glob("*.ipynb"):
        if path.name not in wanted:
            path.unlink()
    for name, data in wanted.items():
        path = pages / name
        if not path.exists() or path.read_bytes() != data:
            write_whole(path, data)


def setup(app: Any) -> dict[str, Any]:
    """Register the directives; Sphinx calls this function."""
    for part in (games.facts, games.rules, games.actions, games.observation, games.options, games.rewards):
        app.add_directive(part.__name__, type(part.__name__.title(), (Part,), {"make": staticmethod(part)}))
    for directive in (Agents, Lessons, Film, Modules):
        app.add_directive(directive.__name__.lower(), directive)
    app.connect("builder-inited", copy_notebooks)
    return {"parallel_read_safe": True}
