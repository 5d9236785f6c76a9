"""Write the outlines of a font's characters, which drawings use for text, to ttt_envs/drawing/glyphs.json.

python -m tools.glyphs Roboto-Medium.ttf

The script needs fontTools, which Matplotlib installs. The font is in the PyPI package `font-roboto`.
"""

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import tyro
from fontTools.pens.basePen import BasePen
from fontTools.ttLib import TTFont

from ttt_envs.drawing.lettering import EM
from ttt_envs.storage.files import write_whole

#: Printable ASCII, and the other characters in the texts of drawings.
CHARACTERS = "".join(map(chr, range(32, 127))) + "×–—…·’•"


@dataclass(frozen=True)
class Config:
    """Settings."""

    font: tyro.conf.Positional[Path]
    """TrueType font whose outlines are taken."""
    out: Path = Path("ttt_envs/drawing/glyphs.json")
    """File to write."""


class _Contours(BasePen):
    """Records contours as relative SVG path commands, in integer units, with y pointing down."""

    def __init__(self, glyphs: Any, scale: float) -> None:
        super().__init__(glyphs)
        self.scale = scale
        self.found: list[list[Any]] = []
        self._at = (0, 0)

    def _point(self, point: tuple[float, float]) -> tuple[int, int]:
        return round(point[0] * self.scale), -round(point[1] * self.scale)

    def _command(self, letter: str, *points: tuple[float, float]) -> None:
        ends = [self._point(point) for point in points]
        steps = [f"{x - self._at[0]} {y - self._at[1]}" for x, y in ends]
        self._at = ends[-1]
        self.found[-1][2] += letter + " ".join(steps).replace(" -", "-")

    def _moveTo(self, point: tuple[float, float]) -> None:  # noqa: N802
        self._at = self._point(point)
        self.found.append([*self._at, ""])

    def _lineTo(self, point: tuple[float, float]) -> None:  # noqa: N802
        self._command("l", point)

    def _curveToOne(self, *points: tuple[float, float]) -> None:  # noqa: N802
        self._command("c", *points)

    def _qCurveToOne(self, *points: tuple[float, float]) -> None:  # noqa: N802
        self._command("q", *points)


def outlines(font_file: Path) -> dict[str, list[Any]]:
    """Return character -> [advance width, contours], as `ttt_envs.drawing.lettering` reads them."""
    font = TTFont(font_file)
    glyphs, names = font.getGlyphSet(), font.getBestCmap()
    scale = EM / font["head"].unitsPerEm
    outlines = {}
    for character in CHARACTERS:
        name = names[ord(character)]
        pen = _Contours(glyphs, scale)
        glyphs[name].draw(pen)
        outlines[character] = [round(glyphs[name].width * scale), pen.found]
    return outlines


def main() -> None:
    """Run the command line."""
    config = tyro.cli(Config, description=__doc__)
    data = json.dumps(outlines(config.font), ensure_ascii=False, separators=(",", ":"))
    write_whole(config.out, data + "\n")
    print(config.out)


if __name__ == "__main__":
    main()
