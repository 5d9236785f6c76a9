"""Lessons: positions that show a rule, each with a sentence."""

from collections.abc import Mapping
from dataclasses import dataclass, field


@dataclass(frozen=True, kw_only=True)
class Lesson:
    """A position that shows a rule.

    Attributes:
        said: what it shows, in a sentence or two; Markdown without links.
        position: the position as text, as `Faces.format_state` writes it.
        play: the plies that follow it, with ";" between them: each an action's name, or with "/" between them the names
            of all who act at once.
        options: the game's options that are not as they are by default, as texts.
        viewer: the player through whose eyes it is drawn; None shows everything.
    """

    said: str
    position: str
    play: str = ""
    options: Mapping[str, str] = field(default_factory=dict)
    viewer: int | None = None
