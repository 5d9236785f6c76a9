"""Text as outlines, so that it has the same look and size on every machine.

The outlines are from Roboto Medium (Apache License 2.0, see `NOTICE` in this folder), written to `glyphs.json` by
`python -m tools.glyphs`.
"""

import json
from functools import cache, lru_cache
from importlib import resources
from typing import Any
from xml.sax.saxutils import quoteattr

#: Units of the outlines per unit of a text's size.
EM = 250

#: Height of a capital letter, and depth below the baseline, as shares of a text's size.
CAPITAL, DESCENT = 0.711, 0.21


def width_of(words: str, size: float) -> float:
    """Return the width of `words` in letters of this size."""
    return _outlined(words)[1] * size / EM


def text(
    words: str, x: float, y: float, size: float, colour: str, anchor: str = "start", *, room: float | None = None
) -> str:
    """Return a line of text as an SVG element with the words as its `aria-label`.

    Args:
        words: the text; a character without an outline is drawn as a question mark.
        x: the text's left end, middle or right end, for the `anchor` "start", "middle" or "end".
        y: the text's base line.
        size: size of the letters, which is reduced if the text is wider than `room`.
        colour: `#rrggbb`.
        anchor: see `x`.
        room: the largest width; None for no limit.
    """
    outline, wide = _outlined(words)
    if room is not None and wide:
        size = min(size, room * EM / wide)
    scale = size / EM
    left = x - {"start": 0.0, "middle": 0.5, "end": 1.0}[anchor] * wide * scale
    return (
        f'<path aria-label={quoteattr(words)} transform="translate({left:.5g} {y:.5g})scale({scale:.4g})" '
        f'fill="{colour}" d="{outline}"/>'
    )


@cache
def _glyphs() -> dict[str, Any]:
    """Return character -> [advance width, [[x, y, relative path commands], ...]], with an entry per contour."""
    data = resources.files("ttt_envs.drawing").joinpath("glyphs.json").read_text(encoding="utf-8")
    glyphs: dict[str, Any] = json.loads(data)
    return glyphs


@lru_cache(maxsize=4096)
def _outlined(words: str) -> tuple[str, int]:
    """Return the path commands of a text that begins at 0, and its width."""
    parts, x, glyphs = [], 0, _glyphs()
    for letter in words:
        advance, contours = glyphs.get(letter, glyphs["?"])
        parts += [f"M{x + left} {top}{commands}z" for left, top, commands in contours]
        x += advance
    return "".join(parts), x
