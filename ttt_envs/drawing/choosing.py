"""Choosing an action on a picture: what a click on it means."""

from collections.abc import Mapping, Sequence
from typing import Any

from ttt_envs.core.game import Game
from ttt_envs.core.spots import Box
from ttt_envs.drawing.frame import INK, LABEL, MARGIN, OPEN, PAPER, WIDTH, button, rect
from ttt_envs.drawing.lettering import text
from ttt_envs.drawing.parts import split
from ttt_envs.drawing.theme import STYLE, lit

_BUTTON_HEIGHT, _COLUMNS = 40, 3


class Chooser:
    """The clicks by which one player chooses one action, in any order: the piece first, or the place.

    Where one choice is left, it is made. A game without spots gets a button for each legal action below its picture.
    The page of `ttt serve` does the same, in web/static/board.js.

    Attributes:
        chosen: the spots clicked so far.
    """

    def __init__(self, game: Game, state: Any, player: int, legal: Sequence[int]) -> None:
        """Begin a choice of `player` among the actions `legal` of the record `state`; shows what the player may see."""
        self.chosen: tuple[str, ...] = ()
        self._svg = game.draw(state, player)
        if game.spots is not None and game.clicks is not None:
            self._spots: Mapping[str, Box] = game.spots(state, player)
            self._paths = {game.clicks(state, int(action)): int(action) for action in legal}
        else:
            self._paths = {(game.action_names[action],): int(action) for action in legal}
            self._svg, self._spots = _with_buttons(self._svg, [name for (name,) in self._paths])

    def _open(self, chosen: Sequence[str]) -> list[tuple[str, ...]]:
        """The clicks of the actions that all of these spots belong to."""
        return [path for path in self._paths if set(chosen) <= set(path)]

    @property
    def next_spots(self) -> list[str]:
        """The spots that go on with what is chosen. A click on another one that is lit begins anew with it."""
        return list(dict.fromkeys(spot for path in self._open(self.chosen) for spot in path if spot not in self.chosen))

    @property
    def picture(self) -> str:
        """SVG: the position, with a frame around the chosen spots and marks at those that can follow."""
        if not self.chosen:
            return self._svg
        marks = [rect(self._spots[name], "none", INK, 5, 8) for name in self.chosen]
        for name in self.next_spots:
            x, y, width, height = self._spots[name]
            marks.append(rect(Box(x + 2, y + 2, width - 4, height - 4), "none", PAPER, 7, 7))
            marks.append(rect(Box(x + 3, y + 3, width - 6, height - 6), "none", INK, 3, 6))
        return self._svg.removesuffix("</svg>") + "".join(marks) + "</svg>"

    def click(self, x: float, y: float) -> int | None:
        """A click at a point in the picture's units; the action, if it completes one or leaves one only.

        A click on a chosen spot lets it go; one on a spot that cannot follow begins anew with that spot.
        """
        spot = next((name for name, box in self._spots.items() if box.contains(x, y)), "")
        if spot in self.chosen:
            self.chosen = tuple(each for each in self.chosen if each != spot)
            return None
        goes_on = bool(self._open((*self.chosen, spot)))
        wanted = (*self.chosen, spot) if goes_on else (spot,)
        opened = self._open(wanted)
        whole = next((path for path in opened if len(path) == len(wanted)), None)
        if whole is None and goes_on and len(opened) == 1:
            whole = opened[0]
        self.chosen = wanted if opened and whole is None else ()
        return None if whole is None else self._paths[whole]


def _with_buttons(svg: str, names: Sequence[str]) -> tuple[str, dict[str, Box]]:
    """A picture with a button for each name below it, and the places of these."""
    drawing = split(svg)
    across, down = drawing.size
    height = WIDTH * down / across
    width = (WIDTH - MARGIN) / _COLUMNS
    places = {
        name: Box(
            MARGIN + k % _COLUMNS * width,
            height + MARGIN + k // _COLUMNS * (_BUTTON_HEIGHT + 8),
            width - 16,
            _BUTTON_HEIGHT,
        )
        for k, name in enumerate(names)
    }
    low = height + MARGIN + -(-len(names) // _COLUMNS) * (_BUTTON_HEIGHT + 8) + MARGIN / 2
    inner = drawing.opening(x="0", y="0", width=f"{WIDTH}", height=f"{height:g}") + "".join(drawing.elements) + "</svg>"
    parts = [button(box, name) for name, box in places.items()]
    return _plain(low, [inner, *parts]), places


def cover(words: Sequence[str]) -> str:
    """A picture that shows lines of text only, for the time in which people change seats."""
    lines = [
        text(line, WIDTH / 2, 120 + 34 * k, LABEL + 5, INK, "middle", room=WIDTH - 20) for k, line in enumerate(words)
    ]
    return _plain(320, [rect(Box(20, 70, WIDTH - 40, 34 * len(words) + 40), OPEN, corner=10), *map(lit, lines)])


def _plain(height: float, parts: Sequence[str]) -> str:
    """SVG of a page that is as wide as all pictures."""
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" class="ttt" width="{WIDTH}" height="{height:g}" '
        f'viewBox="0 0 {WIDTH} {height:g}">{STYLE}<rect width="{WIDTH}" height="{height:g}" fill="{PAPER}"/>'
        f"{''.join(parts)}</svg>"
    )
