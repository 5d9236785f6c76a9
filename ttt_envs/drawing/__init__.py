"""Pictures: SVG rasterised, shown in a window, or played as a film. Needs the extra `render`."""

from ttt_envs.drawing.raster import png, rasterise
from ttt_envs.drawing.theme import themed

__all__ = ["png", "rasterise", "themed"]
