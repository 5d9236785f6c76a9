"""A window (pygame-ce) that shows images."""

from typing import Any

import numpy as np

from ttt_envs.core.extras import require


class Window:
    """A window that shows one image after the other, slowly enough to be followed."""

    def __init__(self, title: str, fps: float) -> None:
        """Make the window; it opens with the first image. `fps`: images a second at most.

        Raises ImportError with the command that installs the extra `render` if it is missing.
        """
        require("render", "pygame")
        import pygame

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
