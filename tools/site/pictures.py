"""Directives for pictures: positions given as text, and films of games."""

import hashlib
from collections.abc import Sequence
from functools import cache
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
from docutils import nodes
from docutils.parsers.rst import directives
from sphinx.util.docutils import SphinxDirective

import ttt_envs
from ttt_envs.core.files import write_whole
from ttt_envs.core.game import Game
from ttt_envs.drawing.film import save_gif
from ttt_envs.evaluation import records
from ttt_envs.evaluation.replaying import replay
from ttt_envs.registry import parse_options

#: Folder of the pictures that are made, below that of the pages.
FOLDER = "generated"


def played(game: Game, text: str, plies: Sequence[str]) -> np.ndarray:
    """The position of a text after some plies: structured (1,).

    A ply is an action's name, or where several players act at once the names of their actions with "/" between them;
    "-" stands for a player who does not act. Raises ValueError for what is no position, or no legal action.
    """
    states = game.parse_state(text)
    for ply in plies:
        # An action's own name may hold a slash.
        names = ply.split("/") if game.simultaneous else [ply]
        chosen = [-1 if name.strip() == "-" else game.parse_action(name) for name in names]
        states = game.step(states, [chosen] if len(chosen) > 1 else chosen)
    return states


class Position(SphinxDirective):
    """A position, drawn: a game's id and options, the position as text, and a caption."""

    required_arguments = 1
    final_argument_whitespace = True
    has_content = True
    option_spec: ClassVar[dict[str, Any]] = {
        "play": directives.unchanged,
        "viewer": directives.nonnegative_int,
        "caption": directives.unchanged,
    }

    def run(self) -> list[nodes.Node]:
        """The figure; what is no position or no legal action is an error of the page."""
        game_id, *given = self.arguments[0].split()
        plies = [ply for ply in self.options.get("play", "").split(";") if ply.strip()]
        try:
            game = ttt_envs.load(game_id, **parse_options(game_id, given))
            state = played(game, "\n".join(self.content), plies)[0]
        except (ValueError, TypeError) as error:
            raise self.error(f"{game_id}: {error}") from None
        picture = game.draw(state, self.options.get("viewer"))
        name = hashlib.sha256(picture.encode()).hexdigest()[:16]
        path = Path(self.env.srcdir) / FOLDER / f"{name}.svg"
        path.parent.mkdir(exist_ok=True)
        write_whole(path, picture + "\n")
        said = game.format_state(state, self.options.get("viewer")).splitlines()[0]
        return [figure(self, f"{FOLDER}/{name}.svg", f"{game.title}: {said}", self.options.get("caption"), "position")]


class Film(SphinxDirective):
    """A recorded game as an animated picture: the first of a file of records, named from the folder of the pages."""

    required_arguments = 1
    option_spec: ClassVar[dict[str, Any]] = {"caption": directives.unchanged}

    def run(self) -> list[nodes.Node]:
        """The figure; a file that is missing, or no record of a game by these rules, is an error of the page."""
        source = Path(self.env.srcdir)
        record = source / self.arguments[0]
        self.env.note_dependency(str(record))
        try:
            (played,) = replay([next(records.read(record))])
        except (OSError, ValueError) as error:
            raise self.error(str(error)) from None
        name = hashlib.sha256(record.read_bytes() + _sources()).hexdigest()[:16]
        path = source / FOLDER / f"{name}.gif"
        path.parent.mkdir(exist_ok=True)
        if not path.exists():
            save_gif(path, played.game, played.states, played.actions)
        against = " against ".join(f"`{agent}`" for agent in played.record.agents)
        caption = self.options.get("caption", f"{against}, a game as it was recorded.")
        return [figure(self, f"{FOLDER}/{name}.gif", f"{played.game.title}: an animated game", caption, "film")]


@cache
def _sources() -> bytes:
    """A digest of the library: a film is made anew when it has changed."""
    digest = hashlib.sha256()
    for path in sorted(Path(ttt_envs.__file__).parent.rglob("*.py")):
        digest.update(path.read_bytes())
    return digest.digest()


def figure(directive: SphinxDirective, uri: str, alt: str, caption: str | None, kind: str) -> nodes.figure:
    """A picture with a caption."""
    found = nodes.figure(classes=[kind])
    found += nodes.image(uri=f"/{uri}", alt=alt)
    if caption:
        parsed, messages = directive.parse_inline(caption)
        found += nodes.caption("", "", *parsed)
        found += messages
    directive.set_source_info(found)
    return found


def setup(app: Any) -> None:
    """Called by Sphinx."""
    app.add_directive("position", Position)
    app.add_directive("film", Film)
