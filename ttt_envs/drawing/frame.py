"""The frame that all pictures share, and the shapes in it.

A picture is `WIDTH` units wide. From the top it has a bar in the colour of the player to move or of the winners; the
game's title; a headline with the player to move or the result; a note on the choices or on the end of the game; the
game's own part; and a line with the last play. In every game, yellow marks the present choices, a dark frame the last
play, and a dark stroke a winning row. No information is given by colour alone.
"""

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from html import unescape
from typing import Any
from xml.sax.saxutils import escape

from ttt_envs.core.presentation import Box
from ttt_envs.drawing.lettering import text
from ttt_envs.drawing.theme import COLOURS, STYLE, lit

WIDTH, MARGIN = 480, 16
INNER = WIDTH - 2 * MARGIN

#: Sizes of text. In a picture of 300 pixels width, a LABEL is 9 pixels high.
HEADLINE, NOTE, LABEL = 26, 17, 15

#: The top of the game's own part, and the height of the footer.
TOP, FOOT = 102, 36

INK, SOFT, PAPER, PANEL, OPEN, GRID = (COLOURS[name][0] for name in ("ink", "soft", "paper", "panel", "open", "grid"))
SIGN, LIGHT, BLACK = (COLOURS[name][0] for name in ("sign", "light", "black"))

#: Colours of marks, of cells that a mark owns, and of a large mark in the background: each for neutral, X and O.
MARKS = ("draw", "x", "o")
MARK_COLOURS = tuple(COLOURS[name][0] for name in MARKS)
TINTS = (PANEL, COLOURS["tint_x"][0], COLOURS["tint_o"][0])
DEEP_TINTS = (PANEL, COLOURS["deep_x"][0], COLOURS["deep_o"][0])

_TOKEN = 15  # radius of the headline's token

#: The height that `without_words` cuts off at the top: games may draw slightly above `TOP`.
HEAD = TOP - 8

_OPENING = re.compile(rf'<svg ([^>]*) width="{WIDTH}" height="([\d.]+)" viewBox="0 0 {WIDTH} [\d.]+"><title>([^<]*)')


@dataclass(frozen=True)
class Caption:
    """The words of the frame.

    Attributes:
        title: the game.
        headline: the player to move, or the result.
        colours: the colours of the players to move, or of the winners.
        tokens: SVG of a piece of each of these players; piece k is drawn at `token_place(k)`.
        note: the present choices, or how the game was won.
        fact: the text in the upper right corner, such as the score of a match.
        last: the last play.
    """

    title: str
    headline: str
    colours: Sequence[str] = ()
    tokens: Sequence[str] = ()
    note: str = ""
    fact: str = ""
    last: str = ""

    @property
    def words(self) -> str:
        """The text for people who cannot see the picture."""
        parts = (self.headline, self.note, self.fact, f"last: {self.last}" if self.last else "")
        return f"{self.title}: " + "; ".join(part for part in parts if part)


def token_place(k: int = 0) -> tuple[float, float, float]:
    """Return the middle and radius of the headline's k-th token."""
    return MARGIN + _TOKEN + k * (2 * _TOKEN + 5), 55, _TOKEN


def picture(caption: Caption, height: float, parts: Iterable[str]) -> str:
    """Return the SVG of a frame around a game's `parts`, which have y from `TOP` to `height - FOOT`."""
    bars = caption.colours or (MARK_COLOURS[0],)
    part = WIDTH / len(bars)
    left = MARGIN + len(caption.tokens) * (2 * _TOKEN + 5) + (5 if caption.tokens else 0)
    frame = [
        f'<svg xmlns="http://www.w3.org/2000/svg" class="ttt" role="img" width="{WIDTH}" height="{height:g}" '
        f'viewBox="0 0 {WIDTH} {height:g}">',
        f"<title>{escape(caption.words)}</title>",
        STYLE,
        f'<rect width="{WIDTH}" height="{height:g}" fill="{PAPER}"/>',
        *(f'<rect x="{k * part:g}" width="{part:g}" height="8" fill="{bar}"/>' for k, bar in enumerate(bars)),
        text(caption.title, MARGIN, 30, LABEL, SOFT),
        *caption.tokens,
        text(caption.headline, left, 64, HEADLINE, INK, room=WIDTH - MARGIN - left),
    ]
    if caption.fact:
        frame.append(text(caption.fact, WIDTH - MARGIN, 30, LABEL, SOFT, "end"))
    if caption.note:
        frame.append(text(caption.note, MARGIN, 90, NOTE, INK, room=INNER))
    if caption.last:
        frame.append(text(f"last: {caption.last}", MARGIN, height - 12, NOTE, SOFT, room=INNER))
    return "".join((*frame, *parts, "</svg>"))


def without_words(svg: str) -> tuple[str, str]:
    """Return a picture of this frame without bar, title, headline, note and last line; and the headline and note. A
    page that shows the headline and note itself can draw the game larger. Other drawings are not changed.
    """
    found = _OPENING.match(svg)
    if found is None:
        return svg, ""
    about, words = found[1], found[3]
    height = f"{float(found[2]) - HEAD - FOOT:g}"
    opening = f'<svg {about} width="{WIDTH}" height="{height}" viewBox="0 {HEAD} {WIDTH} {height}"><title>{words}'
    said = unescape(words).partition(": ")[2].partition("; last: ")[0]
    return opening + svg[found.end() :], said


# --- shapes ---


def rect(box: Box, fill: str, edge: str = "none", thick: float = 0, corner: float = 6) -> str:
    """Return a rectangle with round corners; its edge, if it has one, is inside the box."""
    x, y, width, height = box
    line = ""
    if thick:
        half = thick / 2
        x, y, width, height = x + half, y + half, width - thick, height - thick
        line = f' stroke="{edge}" stroke-width="{thick:g}"'
    return f'<rect x="{x:g}" y="{y:g}" width="{width:g}" height="{height:g}" rx="{corner:g}" fill="{fill}"{line}/>'


def line(x1: float, y1: float, x2: float, y2: float, colour: str, width: float) -> str:
    """Return a line with round ends."""
    return f'<path d="M{x1:g} {y1:g}L{x2:g} {y2:g}" stroke="{colour}" stroke-width="{width:g}" stroke-linecap="round"/>'


def disc(x: float, y: float, radius: float, fill: str, edge: str = "none", thick: float = 0) -> str:
    """Return a disc; the middle of its edge, if it has one, is on its rim."""
    rim = f' stroke="{edge}" stroke-width="{thick:g}"' if thick else ""
    return f'<circle cx="{x:g}" cy="{y:g}" r="{radius:g}" fill="{fill}"{rim}/>'


def cross(x: float, y: float, radius: float, width: float, colour: str) -> str:
    """X's mark."""
    a, b, c, d = (f"{each:g}" for each in (x - radius, y - radius, x + radius, y + radius))
    return (
        f'<path d="M{a} {b}L{c} {d}M{a} {d}L{c} {b}" stroke="{colour}" stroke-width="{width:g}" '
        'stroke-linecap="round"/>'
    )


def ring(x: float, y: float, radius: float, width: float, colour: str) -> str:
    """O's mark."""
    return f'<circle cx="{x:g}" cy="{y:g}" r="{radius:g}" fill="none" stroke="{colour}" stroke-width="{width:g}"/>'


def mark(kind: int, x: float, y: float, radius: float, width: float, colour: str = "") -> str:
    """Return X's mark for 1 and O's mark for 2, in their own colour or in another one."""
    shape = cross if kind == 1 else ring
    return shape(x, y, radius, width, colour or MARK_COLOURS[kind])


def chip(kind: int, x: float, y: float, radius: float) -> str:
    """Return a marker: a square with X's mark for 1, a thick ring for 2."""
    if kind == 2:
        return ring(x, y, 0.7 * radius, 0.56 * radius, MARK_COLOURS[2])
    square = rect(Box(x - radius, y - radius, 2 * radius, 2 * radius), MARK_COLOURS[1], corner=0.3 * radius)
    return square + cross(x, y, 0.46 * radius, 0.25 * radius, SIGN)


def turn_chips(kinds: Sequence[int]) -> dict[str, Any]:
    """Return the arguments `colours` and `tokens` of a `Caption` for these marks, 1 for X and 2 for O."""
    return {
        "colours": [MARK_COLOURS[kind] for kind in kinds],
        "tokens": [chip(kind, *token_place(k)) for k, kind in enumerate(kinds)],
    }


def emblem(colour: int, x: float, y: float, radius: float, fill: str) -> str:
    """Return a colour's sign: a disc for red (0), square for blue, triangle for yellow, diamond for green (3)."""
    corners = (
        (),
        ((-0.9, -0.9), (0.9, -0.9), (0.9, 0.9), (-0.9, 0.9)),
        ((0, -1.15), (1.1, 0.9), (-1.1, 0.9)),
        ((0, -1.35), (1.05, 0), (0, 1.35), (-1.05, 0)),
    )[colour]
    if not corners:
        return disc(x, y, radius, fill)
    points = " ".join(f"{x + radius * across:.5g},{y + radius * down:.5g}" for across, down in corners)
    return f'<polygon points="{points}" fill="{fill}"/>'


def framed(box: Box, corner: float = 6, thick: float = 4) -> str:
    """Return the frame that marks the last play."""
    return rect(box, "none", INK, thick, corner)


def struck(x1: float, y1: float, x2: float, y2: float) -> str:
    """Return the stroke through a winning row: a dark line with a light edge."""
    return line(x1, y1, x2, y2, PAPER, 12) + line(x1, y1, x2, y2, INK, 6)


def button(box: Box, words: str) -> str:
    """Return a button for an action that has no place on the board."""
    middle = box.x + box.width / 2, box.y + box.height / 2 + 6
    return rect(box, OPEN, INK, 2, 8) + lit(text(words, *middle, NOTE, INK, "middle", room=box.width - 12))
