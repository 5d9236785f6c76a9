"""SVG rasterised by resvg."""

import io
from pathlib import Path

import numpy as np

MISSING = "pictures need the extra 'render': pip install 'ttt-envs[render]'"


def rasterise(svg: str, width: int | None = None) -> np.ndarray:
    """SVG text as an image: uint8 (height, width, 3). `width` in pixels; None keeps the drawing's own.

    Raises ImportError in words if the extra `render` is not installed.
    """
    try:
        import resvg_py
        from PIL import Image
    except ImportError as error:
        raise ImportError(MISSING) from error
    # Text looks the same on every machine: the font is the one that pygame-ce carries.
    png = resvg_py.svg_to_bytes(
        svg_string=svg, width=width, background="#ffffff", skip_system_fonts=True, font_files=[str(_font())]
    )
    return np.asarray(Image.open(io.BytesIO(bytes(png))).convert("RGB"))


def _font() -> Path:
    from importlib.util import find_spec

    spec = find_spec("pygame")  # located, not imported: importing it starts SDL
    if spec is None or spec.origin is None:
        raise ImportError(MISSING)
    return Path(spec.origin).parent / "freesansbold.ttf"
