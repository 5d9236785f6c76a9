"""SVG rasterised by resvg."""

import io
from pathlib import Path

import numpy as np

from ttt_envs.core.extras import require


def rasterise(svg: str, width: int | None = None) -> np.ndarray:
    """SVG text as an image: uint8 (height, width, 3). `width` in pixels; None keeps the drawing's own.

    Raises ImportError with the command that installs the extra `render` if it is missing.
    """
    require("render", "resvg_py", "PIL", "pygame")
    import resvg_py
    from PIL import Image

    # Text looks the same on every machine: the font is the one that pygame-ce carries.
    png = resvg_py.svg_to_bytes(
        svg_string=svg, width=width, background="#ffffff", skip_system_fonts=True, font_files=[str(_font())]
    )
    return np.asarray(Image.open(io.BytesIO(bytes(png))).convert("RGB"))


def _font() -> Path:
    from importlib.util import find_spec

    spec = find_spec("pygame")  # located, not imported: importing it starts SDL
    assert spec is not None
    assert spec.origin is not None
    return Path(spec.origin).parent / "freesansbold.ttf"
