"""Faces of a game: its texts, pictures and clicks for human players."""

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
        """Return whether the point is inside; the left and the top edge belong to the box."""
        return self.x <= x < self.x + self.width and self.y <= y < self.y + self.height


@dataclass(frozen=True, kw_only=True)
class Lesson:
    """A position that illustrates a rule.

    Attributes:
        said: the explanation in one or two sentences; Markdown without links.
        position: the position as text, as `Faces.format_state` writes it.
        play: the plies after it, separated by ";": each an action's name, or names of simultaneous actions, separated
            by "/".
        options: the game's options that differ from their defaults, as texts.
        viewer: the player whose view is drawn; None shows everything.
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
    """Texts, pictures and clicks of a game for human players. The most common ones are also attributes of `Game`.

    Attributes:
        format_state: (state record, viewer) -> text; see `Game.format_state`.
        read_state: text with all information -> structured (1,); raises ValueError naming the wrong part. See
            `Game.parse_state`.
        draw: (state record, viewer) -> SVG text.
        action_format: an explanation of the actions' names for players.
        short_action_names: abbreviated names as in the game's texts and pictures, one per action; or none.
        spoken_action_names: names in plain words, one per action, if the names themselves are codes; or none. The web
            page shows them, and `Game.parse_action` reads them.
        rules_text: the rules with these options for a player: Markdown paragraphs and lists, one line per paragraph and
            item; empty if there are none.
        legend: sentences that explain the abbreviations of `format_state`; `Game.rules_text` ends with them.
        ending: (state record) -> the reason why a finished game, or the round of `finished_round`, ended. The reason
            follows "Draw:" or "You win:", for example "a row of three on the diagonal". None if the text's first line
            says it.
        lessons: positions that illustrate the rules, each with its options.
        pitch: a description in one or two sentences, for people who choose a game.
        player_names: the players' names in rules and positions, such as ("X", "O"); by default "player 0", ...
        text_styles: highlights in positions as text: pairs of a regular expression and a style of rich.
        spots: (state record, viewer=None) -> the clickable areas of `draw`'s picture for that viewer, by readable names
            such as "cell 4/4"; they do not overlap. None in a game whose actions are chosen by name.
        clicks: (state record, legal action) -> the names of the spots that are clicked to choose this action. People
            click them in any order, so no two legal actions of a player have the same set of spots, and no action's
            list begins with the whole list of another.
        finished_round: (state record, actions int (players,), the state record after them) -> structured (1,): the
            final board of a round that this step ended inside a match; None if the step ended no round. Use it only
            for `format_state` and `draw`: it is no position of the game.
        aside: (state record, actions int (players,), the state record after them) -> a public remark on the actions
            for logs, such as the roll; "" for none.
        tips: (state record, viewer) -> explanations of the parts of `draw`'s picture: rectangles, each with one or two
            sentences; where rectangles overlap, the last one counts.
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
    """Finds the action with a given name; see `Game.parse_action`."""

    def __init__(self, names: Sequence[str], faces: Faces) -> None:
        """`names`: the names of all actions."""
        self._names, self._format = names, faces.action_format
        self._actions: dict[tuple[str, ...], set[int]] = {}
        for each in (names, faces.short_action_names, faces.spoken_action_names):
            for action, name in enumerate(each):
                self._actions.setdefault(_words(name), set()).add(action)

    def read(self, text: str) -> int:
        """Return the action; raise ValueError naming the closest names, TypeError for anything but text."""
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
    """Return the names most similar to `text`, at most three, ignoring case."""
    lower = {name.lower(): name for name in names}
    return [lower[name] for name in get_close_matches(text.strip().lower(), lower, n=3)]


def _words(name: str) -> tuple[str, ...]:
    words = re.findall(r"[^\W_]+", name.lower())
    return tuple(word for word in words if word not in ("to", "and")) or tuple(words)
