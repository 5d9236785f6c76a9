"""SVG rasterised by resvg."""

import io
from pathlib import Path

import numpy as np

from ttt_envs.core.extras import require


def rasterise(svg: str, width: int | None = None) -> np.ndarray:
    """SVG text as an image: uint8 (height, width, 3). `width` in pixels; None keeps the drawing's own.

    Raises ImportError with the command that installs the extra `render` if it is missing.
    """
    require("render", "PIL")
    from PIL import Image

    return np.asarray(Image.open(io.BytesIO(png(svg, width))).convert("RGB"))


def png(svg: str, width: int | None = None) -> bytes:
    """SVG text as a PNG file; arguments and errors as for `rasterise`."""
    require("render", "resvg_py", "pygame")
    import resvg_py

    # Text looks the same on every machine: the font is the one that pygame-ce carries.
    found = resvg_py.svg_to_bytes(
        svg_string=svg, width=width, background="#ffffff", skip_system_fonts=True, font_files=[str(_font())]
    )
    return bytes(found)


def _font() -> Path:
    from importlib.util import find_spec

    spec = find_spec("pygame")  # located, not imported: importing it starts SDL
    assert spec is not None
    assert spec.origin is not None
    return Path(spec.origin).parent / "freesansbold.ttf"
