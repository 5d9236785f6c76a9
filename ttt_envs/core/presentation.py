"""Faces of a game: text, pictures and clicks, by which people see it and choose."""

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from difflib import get_close_matches
from typing import Any, NamedTuple

import numpy as np

from ttt_envs.storage.untrusted import brief


class Box(NamedTuple):
    """A rectangle on a picture, in the units of its viewBox; (x, y) is its top left corner."""

    x: float
    y: float
    width: float
    height: float

    def contains(self, x: float, y: float) -> bool:
        """Tell whether the point is inside; the left and the top edge belong to it."""
        return self.x <= x < self.x + self.width and self.y <= y < self.y + self.height


@dataclass(frozen=True, kw_only=True)
class Lesson:
    """A position that shows a rule.

    Attributes:
        said: what it shows, in a sentence or two; Markdown without links.
        position: the position as text, as `Faces.format_state` writes it.
        play: the plies that follow it, with ";" between them: each an action's name, or with "/" between them the names
            of all who act simultaneously.
        options: the game's options that differ from their defaults, as texts.
        viewer: the player through whose eyes it is drawn; None shows everything.
    """

    said: str
    position: str
    play: str = ""
    options: Mapping[str, str] = field(default_factory=dict)
    viewer: int | None = None


def _no_round(before: Any, actions: np.ndarray, after: Any) -> None:
    return None


@dataclass(frozen=True, kw_only=True)
class Faces:
    """Faces of a game, by which people see it and choose: text, pictures, clicks. `Game` has what is asked for most.

    Attributes:
        format_state: (state record, viewer) -> text; see `Game.format_state`.
        read_state: text of everything -> structured (1,); raises ValueError naming the wrong part. See
            `Game.parse_state`.
        draw: (state record, viewer) -> SVG text.
        action_format: how to read and write the actions' names, for people.
        short_action_names: these names as the game's texts and pictures abbreviate them, one per action; or none.
        spoken_action_names: these names as people say them, one per action, where the names themselves are codes; or
            none. The page shows them, and `Game.parse_action` reads them.
        rules_text: the rules with these options for a player: Markdown paragraphs and lists, each paragraph and item on
            a line of its own; empty if there are none.
        legend: how to read the abbreviations of `format_state`, as sentences; `Game.rules_text` ends with them.
        ending: (state record) -> how a finished game, or the round of `finished_round`, ended, to stand after "Draw:"
            or "You win:", such as "a row of three on the diagonal"; None where the text's first line says it.
        lessons: positions that show the rules, with the options that each names.
        pitch: what it is about, in a sentence or two, for people who choose a game.
        player_names: what the rules and the positions call each player, such as ("X", "O"); by default "player 0", ...
        text_styles: what stands out in positions as text: pairs of a regular expression and a style of rich.
        spots: (state record, viewer=None) -> the places on `draw`'s picture for that viewer that can be clicked, by
            their names for people, such as "cell 4/4"; they do not overlap. None in a game without any: then actions
            are chosen by name.
        clicks: (state record, legal action) -> the names of the spots to be clicked to choose this action. People click
            them in any order, so no two legal actions of a player have the same ones; and in the order given, none's
            are the beginning of another's.
        finished_round: (state record, actions int (players,), the state record after them) -> structured (1,): the
            board of a round that this step has ended inside a match, as it was before the next one was dealt; None
            where the step ended no round. It is for `format_state` and `draw` only, and no position of the game.
        aside: (state record, actions int (players,), the state record after them) -> a log's remark on the actions,
            public, such as the roll; "" for none.
        tips: (state record, viewer) -> what the parts of `draw`'s picture are and do: rectangles, each with a sentence
            or two, of which the last one on a point counts.
    """

    format_state: Callable[[Any, int | None], str]
    read_state: Callable[[str], np.ndarray]
    draw: Callable[[Any, int | None], str]
    action_format: str
    short_action_names: tuple[str, ...] = ()
    spoken_action_names: tuple[str, ...] = ()
    rules_text: str = ""
    legend: str = ""
    lessons: tuple[Lesson, ...] = ()
    pitch: str = ""
    ending: Callable[[Any], str] | None = None
    player_names: tuple[str, ...] = ()
    text_styles: tuple[tuple[str, str], ...] = ()
    spots: Callable[..., Mapping[str, Box]] | None = None
    clicks: Callable[[Any, int], tuple[str, ...]] | None = None
    finished_round: Callable[[Any, np.ndarray, Any], np.ndarray | None] = _no_round
    aside: Callable[[Any, np.ndarray, Any], str] = lambda before, actions, after: ""
    tips: Callable[[Any, int | None], Sequence[tuple[Box, str]]] = lambda state, viewer: ()


class ActionReader:
    """Finds the action that a text names; see `Game.parse_action`."""

    def __init__(self, names: Sequence[str], faces: Faces) -> None:
        """`names`: of all actions."""
        self._names, self._format = names, faces.action_format
        self._actions: dict[tuple[str, ...], set[int]] = {}
        for each in (names, faces.short_action_names, faces.spoken_action_names):
            for action, name in enumerate(each):
                self._actions.setdefault(_words(name), set()).add(action)

    def read(self, text: str) -> int:
        """Return the action; ValueError naming the closest names, TypeError for no text."""
        if not isinstance(text, str):
            raise TypeError(f"the name of an action is text, not {type(text).__name__}")
        for action, name in enumerate(self._names):
            if name.lower() == text.strip().lower():
                return action
        actions = self._actions.get(_words(text), set())
        if len(actions) == 1:
            return next(iter(actions))
        close = closest(text, self._names)
        hint = f"; did you mean {' or '.join(close)}?" if close else ";"
        raise ValueError(f"unknown action {brief(text.strip())!r}{hint} wanted: {self._format}")


def closest(text: str, names: Sequence[str]) -> list[str]:
    """Return the names most like `text`, three at most, whatever the case."""
    lower = {name.lower(): name for name in names}
    return [lower[name] for name in get_close_matches(text.strip().lower(), lower, n=3)]


def _words(name: str) -> tuple[str, ...]:
    words = re.findall(r"[^\W_]+", name.lower())
    return tuple(word for word in words if word not in ("to", "and")) or tuple(words)
