"""A window (pygame-ce) that shows pictures."""

import os
import time
from typing import Any
from weakref import WeakSet

import numpy as np

from ttt_envs.drawing.parts import split
from ttt_envs.drawing.raster import rasterise
from ttt_envs.drawing.theme import COLOURS
from ttt_envs.storage.extras import require

#: Size of a new window: _TIMES the picture's size, but at least the share _LEAST and at most _MOST of the desktop.
_TIMES, _LEAST, _MOST = 1.4, 0.5, 0.85


class Window:
    """A window that shows pictures one after the other, slowly enough for a viewer.

    The picture is redrawn for any size of the window. While the window is minimised, and after it is closed by its
    button, `show` neither draws nor waits, so that the program runs at full speed. On a high-DPI screen the window's
    size is in points, and the picture is drawn with all pixels.

    Attributes:
        closed: whether the window was closed by its button; it then stays closed.
    """

    _all: "WeakSet[Window]" = WeakSet()

    def __init__(self, title: str, fps: float) -> None:
        """Create the window, which opens with the first picture. `fps`: the most pictures per second.

        Raises ImportError with the command that installs the extra `render` if it is missing.
        """
        require("render", "pygame", "resvg_py", "PIL")
        import pygame

        self._pygame = pygame
        self._title = title
        self._seconds = 1 / fps
        self._window: Any = None
        self._svg = ""
        self._next = 0.0
        self._minimised = False
        self.closed = False

    def show(self, svg: str) -> None:
        """Show a picture for at least `1 / fps` seconds."""
        self._svg = svg
        if self.closed:
            return
        self._open()
        self._handle_events(0)
        while self._looked_at() and time.monotonic() < self._next:
            self._handle_events(self._next - time.monotonic())
        if self._looked_at():
            self._draw()
            self._next = time.monotonic() + self._seconds

    def close(self) -> None:
        """Close the window; a second call does nothing."""
        if self._window is not None:
            self._window.destroy()
            self._window = None
            Window._all.discard(self)

    # --- the screen ---

    def _looked_at(self) -> bool:
        return self._window is not None and not self._minimised

    def _open(self) -> None:
        if self._window is not None or self.closed:
            return
        pygame = self._pygame
        # Without this variable, SDL 2 ignores `allow_high_dpi` on Windows and enlarges a blurred picture.
        os.environ.setdefault("SDL_WINDOWS_DPI_SCALING", "1")
        pygame.display.init()
        width, height = split(self._svg).size
        room = min(desk / side for desk, side in zip(_desktop(pygame), (width, height), strict=True))
        times = min(max(_TIMES, _LEAST * room), _MOST * room)
        self._window = pygame.Window(
            self._title, (round(width * times), round(height * times)), resizable=True, allow_high_dpi=True
        )
        Window._all.add(self)

    def _draw(self) -> None:
        if not self._looked_at():
            return
        surface = self._window.get_surface()
        width, height = split(self._svg).size
        across, down = surface.get_size()
        scale = max(min(across / width, down / height), 1 / width)
        image = rasterise(self._svg, max(int(width * scale), 1))
        left, top = (across - image.shape[1]) // 2, (down - image.shape[0]) // 2
        surface.fill(COLOURS["paper"][0])
        surface.blit(self._pygame.surfarray.make_surface(np.ascontiguousarray(image.swapaxes(0, 1))), (left, top))
        self._window.flip()

    # --- events ---

    def _handle_events(self, seconds: float) -> None:
        """Wait for an event, at most `seconds`, and pass all events to their windows."""
        pygame = self._pygame
        first = pygame.event.wait(max(int(1000 * seconds), 1)) if seconds > 0 else pygame.event.poll()
        for event in [first, *pygame.event.get()]:
            given = getattr(event, "window", None)
            for each in list(Window._all):
                if each._window is given or (event.type == pygame.QUIT and given is None):
                    each._handle(event)

    def _handle(self, event: Any) -> None:
        pygame = self._pygame
        # Events that change the size in pixels; another display may have more pixels per point.
        resized = (pygame.WINDOWRESIZED, pygame.WINDOWSIZECHANGED, pygame.WINDOWDISPLAYCHANGED)
        if event.type in (pygame.WINDOWCLOSE, pygame.QUIT):
            self.closed = True
            self.close()
        elif event.type == pygame.WINDOWMINIMIZED:
            self._minimised = True
        elif event.type in (pygame.WINDOWRESTORED, pygame.WINDOWMAXIMIZED):
            self._minimised = False
            self._draw()
        elif event.type in (*resized, pygame.WINDOWEXPOSED):
            self._draw()


def _desktop(pygame: Any) -> tuple[int, int]:
    sizes = pygame.display.get_desktop_sizes()
    return sizes[0] if sizes else (1280, 800)
