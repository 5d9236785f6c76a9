"""SVG rasterised by resvg."""

import io
from pathlib import Path

import numpy as np

from ttt_envs.drawing.theme import Theme, themed
from ttt_envs.storage.extras import require


def rasterise(svg: str, width: int | None = None, theme: Theme = "light") -> np.ndarray:
    """Return SVG text as an image: uint8 (height, width, 3).

    Args:
        svg: the picture.
        width: width of the image in pixels; None for the drawing's own.
        theme: colours of a picture of this library, "light" or "dark"; "auto" is light.

    Raises ImportError with the command that installs the extra `render` if it is missing.
    """
    require("render", "PIL")
    from PIL import Image

    return np.asarray(Image.open(io.BytesIO(png(svg, width, theme))).convert("RGB"))


def png(svg: str, width: int | None = None, theme: Theme = "light") -> bytes:
    """Return SVG text as a PNG file; for arguments and errors see `rasterise`."""
    require("render", "resvg_py")
    import resvg_py

    # The letters of this library's pictures are outlines. Texts of other drawings use the font that pygame-ce contains,
    # so they also look the same on every machine.
    fonts = [str(_font())] if "<text" in svg else []
    image = resvg_py.svg_to_bytes(
        svg_string=themed(svg, "light" if theme == "auto" else theme),
        width=width,
        background="#ffffff",
        skip_system_fonts=True,
        font_files=fonts,
    )
    return bytes(image)


def _font() -> Path:
    from importlib.util import find_spec

    require("render", "pygame")
    spec = find_spec("pygame")  # located, not imported: importing it starts SDL
    assert spec is not None
    assert spec.origin is not None
    return Path(spec.origin).parent / "freesansbold.ttf"
