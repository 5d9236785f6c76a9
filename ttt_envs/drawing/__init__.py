"""Pictures: SVG rasterised, shown in a window, or played as a film. Needs the extra `render`."""
