"""Pictures: a game's SVG rasterised (resvg), or shown in a window (pygame-ce). Imported only when asked for."""

import io
from pathlib import Path
from typing import Any

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


class Window:
    """A window that shows one image after the other, slowly enough to be followed."""

    def __init__(self, title: str, fps: float) -> None:
        """Opens with the first image. `fps`: images a second at most.

        Raises ImportError in words if the extra `render` is not installed.
        """
        try:
            import pygame
        except ImportError as error:
            raise ImportError(MISSING) from error
        self._pygame = pygame
        self._title = title
        self._fps = fps
        self._clock = pygame.time.Clock()
        self._screen: Any = None

    def show(self, image: np.ndarray) -> None:
        """Show uint8 (height, width, 3)."""
        pygame = self._pygame
        if self._screen is None or self._screen.get_size() != image.shape[1::-1]:
            pygame.display.init()
            self._screen = pygame.display.set_mode(image.shape[1::-1])
            pygame.display.set_caption(self._title)
        pygame.event.pump()  # or the desktop takes the window for dead
        self._screen.blit(pygame.surfarray.make_surface(image.swapaxes(0, 1)), (0, 0))
        pygame.display.flip()
        self._clock.tick(self._fps)

    def close(self) -> None:
        """Close the window; calling it twice does no harm."""
        if self._screen is not None:
            self._pygame.display.quit()
            self._screen = None
