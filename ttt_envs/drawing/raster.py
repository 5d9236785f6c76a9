"""SVG rasterised by resvg."""

import io
from pathlib import Path

import numpy as np

MISSING = "pictures need the extra 'render': pip install 'ttt-envs[render]'"


def rasterise(svg: str, width: int | None = None) -> np.ndarray:
    """SVG text as an image: uint8 (height, width, 3). `width` in pixels; None keeps the drawing's own.

    Raises ImportError, naming the command that helps, if the extra `render` is not installed.
    """
    try:
        from PIL import Image
    except ImportError as error:
        raise ImportError(MISSING) from error
    return np.asarray(Image.open(io.BytesIO(png(svg, width))).convert("RGB"))


def png(svg: str, width: int | None = None) -> bytes:
    """SVG text as a PNG file; arguments and errors as for `rasterise`."""
    try:
        import resvg_py
    except ImportError as error:
        raise ImportError(MISSING) from error
    # Text looks the same on every machine: the font is the one that pygame-ce carries.
    found = resvg_py.svg_to_bytes(
        svg_string=svg, width=width, background="#ffffff", skip_system_fonts=True, font_files=[str(_font())]
    )
    return bytes(found)


def _font() -> Path:
    from importlib.util import find_spec

    spec = find_spec("pygame")  # located, not imported: importing it starts SDL
    if spec is None or spec.origin is None:
        raise ImportError(MISSING)
    return Path(spec.origin).parent / "freesansbold.ttf"
