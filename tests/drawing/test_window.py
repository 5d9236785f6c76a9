"""The window, headless: pictures of any size, and the close button."""

import os
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

import ttt_envs
from ttt_envs.core.game import Game
from ttt_envs.drawing.parts import split
from ttt_envs.drawing.raster import rasterise
from ttt_envs.drawing.theme import COLOURS
from ttt_envs.drawing.window import Window

pygame = pytest.importorskip("pygame")

SUPER = ttt_envs.load("super_tic_tac_toe")


@pytest.fixture(autouse=True)
def _headless(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    monkeypatch.setenv("SDL_VIDEODRIVER", "dummy")
    monkeypatch.setattr("ttt_envs.drawing.window._TIMES", 0.4)  # quicker to draw
    monkeypatch.setattr("ttt_envs.drawing.window._LEAST", 0.0)
    yield
    pygame.display.quit()


def picture(game: Game = SUPER) -> str:
    return game.draw(game.new_state(0)[0], None)


def opened(fps: float = 100) -> Window:
    window = Window("a game", fps)
    window.show(picture())
    return window


def resized(window: Window, size: tuple[int, int]) -> None:
    window._window.size = size
    pygame.event.post(pygame.event.Event(pygame.WINDOWRESIZED, window=window._window, x=size[0], y=size[1]))


def inked(surface: Any) -> tuple[int, int]:
    """The pixels across and down that the picture takes of the surface, whose rest is paper."""
    shown = pygame.surfarray.array3d(surface)
    other = (shown != np.array(pygame.Color(COLOURS["paper"][0])[:3])).any(axis=2)
    columns, rows = np.flatnonzero(other.any(axis=1)), np.flatnonzero(other.any(axis=0))
    return int(np.ptp(columns)) + 1, int(np.ptp(rows)) + 1


def test_it_can_have_any_size_and_the_picture_keeps_its_shape() -> None:
    window = opened()
    width, height = split(picture()).size
    for size in ((300, 300), (900, 500), (200, 800)):
        resized(window, size)
        window.show(picture())
        surface = window._window.get_surface()
        assert surface.get_size() == size
        scale = min(size[0] / width, size[1] / height)
        assert inked(surface)[0] == pytest.approx(scale * width, abs=2), (
            "as wide as the bar, which is as large as it can be"
        )
    window.close()


class Dense:
    """A window on a screen of so many pixels a point: its size is in points, its surface in pixels."""

    def __init__(self, title: str, size: tuple[int, int], resizable: bool, allow_high_dpi: bool) -> None:
        assert allow_high_dpi
        self.size = size
        self.pixels = 2
        self.surface = pygame.Surface((0, 0))

    def get_surface(self):
        size = tuple(self.pixels * side for side in self.size)
        if self.surface.get_size() != size:
            self.surface = pygame.Surface(size)
        return self.surface

    def flip(self) -> None:
        pass

    def destroy(self) -> None:
        pass


def test_on_a_high_dpi_screen_all_pixels_are_used(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pygame, "Window", Dense)
    window = opened()
    dense = window._window
    for pixels in (2, 3, 1):  # moved from one screen to another
        dense.pixels = pixels
        pygame.event.post(pygame.event.Event(pygame.WINDOWDISPLAYCHANGED, window=dense, display_index=1))
        window._handle_events(0)
        assert inked(dense.surface)[0] > 0.9 * pixels * dense.size[0], "the picture fills the window"
    assert "SDL_WINDOWS_DPI_SCALING" in os.environ
    window.close()


def test_a_new_window_fits_the_desktop(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.undo()
    monkeypatch.setenv("SDL_VIDEODRIVER", "dummy")
    monkeypatch.setattr("ttt_envs.drawing.window.rasterise", lambda *_: np.zeros((1, 1, 3), np.uint8))
    width, height = split(picture()).size
    for desk, times in (((1920, 1080), 1.4), ((3840, 2160), 0.5 * 2160 / height), ((800, 480), 0.85 * 480 / height)):
        monkeypatch.setattr(pygame.display, "get_desktop_sizes", lambda desk=desk: [desk])
        window = opened()
        assert window._window.size == pytest.approx((times * width, times * height), abs=1)
        window.close()


def test_resizing_draws_anew_without_a_new_picture() -> None:
    window = opened()
    resized(window, (640, 360))
    window._handle_events(0)
    width, height = split(picture()).size
    assert inked(window._window.get_surface())[0] == pytest.approx(width * 360 / height, abs=2)


def test_the_close_button_closes_it_for_good() -> None:
    window = opened()
    pygame.event.post(pygame.event.Event(pygame.WINDOWCLOSE, window=window._window))
    window.show(picture())
    assert window.closed
    window.show(picture())
    assert window._window is None
    window.close()


def test_the_button_of_one_window_leaves_the_other_open() -> None:
    one, two = opened(), opened()
    pygame.event.post(pygame.event.Event(pygame.WINDOWCLOSE, window=one._window))
    two.show(picture())
    assert (one.closed, two.closed) == (True, False)
    pygame.event.post(pygame.event.Event(pygame.QUIT))
    two.show(picture())
    assert two.closed


def counted_waits(monkeypatch: pytest.MonkeyPatch) -> list[float]:
    waited, handle = [], Window._handle_events
    monkeypatch.setattr(Window, "_handle_events", lambda self, seconds: waited.append(seconds) or handle(self, seconds))
    return waited


def test_pictures_follow_each_other_slowly_but_cost_nothing_when_nobody_looks(monkeypatch: pytest.MonkeyPatch) -> None:
    drawn, waited = [], counted_waits(monkeypatch)
    monkeypatch.setattr("ttt_envs.drawing.window.rasterise", lambda *given: drawn.append(1) or rasterise(*given))
    window = opened(fps=1)
    assert (len(drawn), waited) == (1, [0])
    window.show(picture())
    assert len(drawn) == 2
    assert max(waited) > 0.1, "the first picture stays for a second"
    for event in (pygame.WINDOWMINIMIZED, pygame.WINDOWCLOSE):
        pygame.event.post(pygame.event.Event(event, window=window._window))
        waited.clear()
        for _ in range(20):
            window.show(picture())
        assert len(drawn) == 2, "pictures that nobody sees"
        assert not any(waited)


def test_an_environment_plays_on_when_its_window_is_closed(monkeypatch: pytest.MonkeyPatch) -> None:
    env = ttt_envs.make_aec(SUPER, render_mode="human")
    env.reset(seed=0)
    env.render()
    pygame.event.post(pygame.event.Event(pygame.WINDOWCLOSE, window=env._renderer._window._window))
    waited = counted_waits(monkeypatch)
    for _ in range(20):
        env.step(int(env.observe(env.agent_selection)["action_mask"].argmax()))
    assert not any(waited)
    assert env._renderer._window.closed
    env.close()
