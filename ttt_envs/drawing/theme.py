"""Colours of the pictures, light and dark.

A picture contains the light values of colours. `themed` replaces them by dark values, or adds a style sheet that makes
the picture dark if the browser prefers dark pages. Text and marks (INKS) have a contrast of at least 4.5 to their
backgrounds, in both themes.
"""

import re
from typing import Literal, get_args

from ttt_envs.core.options import choice

Theme = Literal["light", "dark", "auto"]

#: Name -> (light, dark). All light values are different, because `themed` recognises a colour by its light value.
GROUNDS = {
    "paper": ("#fbfaf6", "#15171c"),
    "panel": ("#efece4", "#242831"),
    "open": ("#ffe99a", "#f0d06a"),  # what can be chosen now; light in both themes, and so are the colours on it
    "tint_x": ("#f8ddd9", "#43232a"),  # what belongs to X
    "tint_o": ("#d9e5f6", "#1f3050"),
    "deep_x": ("#f3cbc5", "#5a2b31"),  # a large mark below others
    "deep_o": ("#c6d8f1", "#263f69"),
    "card": ("#fffefb", "#f4f1e8"),  # paper in both themes, and so are the colours on it
    "card_open": ("#ffe48a", "#ffe07a"),
    "back": ("#51617a", "#3c4a61"),
    "red": ("#b5271f", "#b5271f"),
    "blue": ("#1d59a8", "#2460b0"),
    "yellow": ("#f2c029", "#f2c029"),
    "green": ("#1f7341", "#1f7341"),
    "red_shade": ("#8f1c16", "#8f1c16"),
    "blue_shade": ("#154683", "#1a4c8c"),
    "yellow_shade": ("#d9a514", "#d9a514"),
    "green_shade": ("#165832", "#165832"),
    "dark": ("#5b6472", "#a7b0be"),  # below a light sign, of nobody's colour
    "violet": ("#5b3592", "#5b3592"),
}
INKS = {
    "ink": ("#22211e", "#f3f1ea"),
    "soft": ("#56534b", "#b9b6ad"),
    "x": ("#a6201a", "#ff9c92"),
    "o": ("#184f97", "#92bdff"),
    "draw": ("#57534c", "#b8b5ac"),
    "sign": ("#ffffff", "#14161a"),  # on a disc in a player's colour
    "light": ("#fefefe", "#fefefd"),  # on what is dark in both themes
    "black": ("#1c1b19", "#1c1b1a"),  # on what is light in both themes
    "card_soft": ("#5a564d", "#5a564e"),
    "card_x": ("#a5201b", "#a5201c"),
    "card_o": ("#174f98", "#174f99"),
}
#: Inks on yellow, which is light in both themes: see `lit`. They equal the light theme's up to invisible differences.
LIT = {
    "lit_ink": ("#22211f", "#22211f"),
    "lit_soft": ("#56534c", "#56534c"),
    "lit_x": ("#a6201b", "#a6201b"),
    "lit_o": ("#184f98", "#184f98"),
    "lit_sign": ("#fffffe", "#fffffe"),
    "lit_dark": ("#5b6473", "#5b6473"),
}
#: Lines that only divide.
LINES = {"grid": ("#8b877c", "#6d7482")}

COLOURS = {**GROUNDS, **INKS, **LIT, **LINES}

_TO_DARK = dict(COLOURS.values())
_USED = re.compile(r'\b(fill|stroke)="(#[0-9a-f]{6})"')


def dark_rules(scope: str) -> str:
    """Return style rules that make the pictures below a CSS selector dark, for pages with their own theme."""
    return "".join(
        f'{scope} [{name}="{light}"]{{{name}:{dark}}}'
        for light, dark in COLOURS.values()
        for name in ("fill", "stroke")
        if light != dark
    )


#: The style sheet in a picture with the theme "auto".
STYLE = f"<style>@media (prefers-color-scheme:dark){{{dark_rules('svg.ttt')}}}</style>"


_LIT = {COLOURS[name.removeprefix("lit_")][0]: light for name, (light, _) in LIT.items()}
_PLAIN = {there: plain for plain, there in _LIT.items()}


def lit(svg: str) -> str:
    """Return a part of a picture that is on yellow, with colours that stay those of the light theme in both themes."""
    return _USED.sub(lambda match: f'{match[1]}="{_LIT.get(match[2], match[2])}"', svg)


def unlit(svg: str) -> str:
    """Return a picture of this library without yellow, for viewers who cannot choose anything."""
    head, style, parts = svg.rpartition(STYLE)  # whose rules name the same colours
    for yellow, plain in (("open", "panel"), ("card_open", "card")):
        parts = parts.replace(f'fill="{COLOURS[yellow][0]}"', f'fill="{COLOURS[plain][0]}"')
    return head + style + _USED.sub(lambda match: f'{match[1]}="{_PLAIN.get(match[2], match[2])}"', parts)


def themed(svg: str, theme: str) -> str:
    """Return a picture of this library with the colours of a theme: "light", "dark", or "auto" for the viewer's own.

    Other drawings are not changed. Raises ValueError for an unknown theme.
    """
    choice("theme", theme, get_args(Theme))
    if STYLE not in svg or theme == "auto":
        return svg
    plain = svg.replace(STYLE, "")
    if theme == "light":
        return plain
    return _USED.sub(lambda match: f'{match[1]}="{_TO_DARK.get(match[2], match[2])}"', plain)
