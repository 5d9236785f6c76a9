"""The window, headless: pictures of any size, the close button, and games played by clicks."""

import os
from collections.abc import Iterator

import numpy as np
import pytest
import toy_coin

import ttt_envs
from ttt_envs import cli
from ttt_envs.cli.play_window import play_in_window
from ttt_envs.cli.saving import SavedGame
from ttt_envs.core.game import Game
from ttt_envs.core.live import LiveGame
from ttt_envs.drawing.choosing import Chooser
from ttt_envs.drawing.parts import split
from ttt_envs.drawing.raster import rasterise
from ttt_envs.drawing.theme import COLOURS, themed
from ttt_envs.drawing.window import Window
from ttt_envs.testing.positions import random_play

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


def test_it_can_have_any_size_and_the_picture_keeps_its_shape() -> None:
    window = opened()
    for size in ((300, 300), (900, 500), (200, 800)):
        window._window.size = size
        pygame.event.post(pygame.event.Event(pygame.WINDOWRESIZED, window=window._window, x=size[0], y=size[1]))
        window.show(picture())
        left, top, scale = window._image
        surface = window._window.get_surface()
        assert surface.get_size() == size
        assert left >= 0
        assert top >= 0
        assert left == 0 or top == 0, "it is as large as it can be"
        shown = pygame.surfarray.array3d(surface)
        assert len(np.unique(shown.reshape(-1, 3), axis=0)) > 20, "a blank window"
        # A click comes out at the place in the picture that it was made at.
        at = round(left + 100 * scale), round(top + 50 * scale)
        pygame.event.post(pygame.event.Event(pygame.MOUSEBUTTONDOWN, window=window._window, pos=at, button=1))
        assert window.click() == pytest.approx((100, 50), abs=3)
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


def test_on_a_high_dpi_screen_all_pixels_are_used_and_clicks_are_in_points(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pygame, "Window", Dense)
    drawn = []
    monkeypatch.setattr("ttt_envs.drawing.window.rasterise", lambda *given: drawn.append(given[1]) or rasterise(*given))
    window = opened()
    dense, (width, _) = window._window, split(picture()).size
    for pixels in (2, 3, 1):  # moved from one screen to another
        dense.pixels = pixels
        pygame.event.post(pygame.event.Event(pygame.WINDOWDISPLAYCHANGED, window=dense, display_index=1))
        points = dense.size[0] / width
        at = round(100 * points), round(50 * points)
        pygame.event.post(pygame.event.Event(pygame.MOUSEBUTTONDOWN, window=dense, pos=at, button=1))
        assert window.click() == pytest.approx((100, 50), abs=2 / points)
        assert drawn[-1] == pytest.approx(pixels * dense.size[0], abs=pixels)
        shown = pygame.surfarray.array3d(dense.surface)
        paper = np.array(pygame.Color(COLOURS["paper"][0])[:3])
        inked = np.flatnonzero((shown != paper).any(axis=(1, 2)))
        assert inked.max() > 0.9 * pixels * dense.size[0], "the picture fills the window"
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
    window._window.size = (640, 360)
    pygame.event.post(pygame.event.Event(pygame.WINDOWRESIZED, window=window._window, x=640, y=360))
    pygame.event.post(pygame.event.Event(pygame.KEYDOWN, window=window._window, key=pygame.K_a))
    assert window.click() == "a"
    assert window._image[2] == pytest.approx(360 / float(split(picture()).size[1]))


def test_the_close_button_closes_it_for_good() -> None:
    window = opened()
    pygame.event.post(pygame.event.Event(pygame.WINDOWCLOSE, window=window._window))
    assert window.click() is None
    assert window.closed
    window.show(picture())
    assert window._window is None
    window.wait()
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
    """The seconds for which windows are told to wait for events, from now on."""
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


# --- games played by clicks ---


class Robot(Window):
    """A window with somebody at it who clicks on random spots that can be clicked, by events as a mouse makes them."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch, seed: int = 0) -> None:
        super().__init__("a game", 1000)
        self.generator, self.clicked, self.covers, self.shown = np.random.default_rng(seed), [], 0, []
        self.chooser: Chooser | None = None
        begin = Chooser.__init__

        def begun(chooser: Chooser, *args: object) -> None:
            begin(chooser, *args)
            self.chooser = chooser

        monkeypatch.setattr(Chooser, "__init__", begun)

    def click(self) -> tuple[float, float] | str | None:
        self.shown.append(self._svg)
        if "takes the seat" in self._svg:
            self.covers += 1
            self._press(100, 100)
            return super().click()
        if self.chooser is None or self.chooser.picture != self._svg:  # the end: the person closes the window
            pygame.event.post(pygame.event.Event(pygame.WINDOWCLOSE, window=self._window))
            return super().click()
        spot = self.generator.choice(self.chooser.next_spots)
        box = self.chooser._spots[spot]
        self.clicked.append(spot)
        self._press(box.x + box.width / 2, box.y + box.height / 2)
        return super().click()

    def _press(self, x: float, y: float) -> None:
        left, top, scale = self._image
        at = round(left + x * scale), round(top + y * scale)
        pygame.event.post(pygame.event.Event(pygame.MOUSEBUTTONDOWN, window=self._window, pos=at, button=1))


GAMES = [
    ("super_tic_tac_toe", {"won_boards": "closed"}, ["human", "random"]),
    ("martian_tic_tac_toe", {"max_plies": 152}, ["human", "human"]),
    ("tic_tac_dice", {"rounds": "single"}, ["random", "human"]),
    ("tic_tac_match", {"max_turns": 12}, ["human", "human"]),
    ("operation_tic_tac_toe", {"rounds_to_win": 1, "max_rounds": 1}, ["human", "human"]),
]


@pytest.mark.parametrize(("game_id", "options", "agents"), GAMES)
def test_a_game_is_played_to_its_end_by_clicks(
    game_id: str, options: dict, agents: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    game = ttt_envs.load(game_id, **options)
    live, robot = LiveGame.begin(game, 3), Robot(monkeypatch)
    play_in_window(live, agents, robot)
    assert live.over
    assert robot.closed
    assert robot._svg == game.draw(live.state[0], None), "the last position is shown to the end"
    assert len(robot.clicked) >= live.ply // 2
    assert (robot.covers > 0) == (agents == ["human", "human"] and (game.hidden_information or game.simultaneous))


def test_a_game_without_spots_is_played_by_buttons(monkeypatch: pytest.MonkeyPatch) -> None:
    live, robot = LiveGame.begin(toy_coin.make(players=2, tosses=1), 1), Robot(monkeypatch)
    play_in_window(live, ["human", "random"], robot)
    assert live.over
    assert robot.clicked


def test_a_hidden_hand_is_not_shown_to_others(monkeypatch: pytest.MonkeyPatch) -> None:
    game = ttt_envs.load("tic_tac_match", max_turns=6)
    for agents in (["random", "human"], ["human", "human"]):
        robot = Robot(monkeypatch)
        play_in_window(LiveGame.begin(game, 3), agents, robot)
        asked = [svg for svg in robot.shown[:-1] if "takes the seat" not in svg]
        assert asked
        for svg in asked:
            backs = themed(svg, "light").count(f'fill="{COLOURS["back"][0]}"')
            assert backs == game.options["hand_size"], "the other hand, face down"
        assert COLOURS["back"][0] not in themed(robot.shown[-1], "light"), "all is shown at the end"


def test_closing_the_window_leaves_the_game(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture) -> None:
    window = opened()
    pygame.event.post(pygame.event.Event(pygame.WINDOWCLOSE, window=window._window))
    with pytest.raises(SystemExit):
        play_in_window(LiveGame.begin(SUPER, 0), ["human", "random"], window)
    assert "game left" in capsys.readouterr().out
    with pytest.raises(ValueError, match="2 players and needs as many agents, not 1: human"):
        play_in_window(LiveGame.begin(SUPER, 0), ["human"], window)


def test_the_command_plays_in_a_window(monkeypatch: pytest.MonkeyPatch, tmp_path) -> None:
    robots = []

    def make(*_: object) -> Robot:
        robots.append(Robot(monkeypatch))
        return robots[-1]

    monkeypatch.setattr("ttt_envs.cli.play_window.Window", make)
    out = tmp_path / "final.svg"
    arguments = ["play", "tic_tac_dice", "--option", "rounds=single", "--agents", "human", "random"]
    assert cli.main([*arguments, "--window", "--seed", "1", "--out", str(out)]) == 0
    assert robots[0].clicked
    assert out.read_text() == robots[0]._svg
    # A saved game goes on.
    live = SavedGame.begin(ttt_envs.load("tic_tac_dice", rounds="single"), 1)
    live.agents = ("random", "human")
    live.choose(0, live.legal(0)[0])
    assert live.asked() == [1]
    live.save(tmp_path / "game.json")
    out.unlink()
    assert cli.main(["play", "--load", str(tmp_path / "game.json"), "--window", "--out", str(out)]) == 0
    assert robots[1].shown[0] == live.game.draw(live.state[0], 1)
    assert out.read_text() == robots[1]._svg


# --- what a click means ---


def cells_of_two_pieces(game: Game, state: np.void) -> dict[int, tuple[str, ...]]:
    """The clicks of the actions in cells where several pieces fit."""
    paths = {
        int(action): game.clicks(state, int(action)) for action in np.flatnonzero(game.masks(np.array([state]))[0])
    }
    cells = [path[1] for path in paths.values()]
    return {action: path for action, path in paths.items() if cells.count(path[1]) > 1}


def test_a_choice_of_two_clicks_can_be_begun_anew() -> None:
    game = ttt_envs.load("martian_tic_tac_toe")
    state = game.new_state(0)[0]
    chooser = Chooser(game, state, 0, np.flatnonzero(game.masks(np.array([state]))[0]).tolist())

    def at(spot: str) -> int | None:
        box = game.spots(state)[spot]
        return chooser.click(box.x + box.width / 2, box.y + box.height / 2)

    plain = chooser.picture
    assert at("stash large") is None
    assert chooser.chosen == (), "no large piece can be placed"
    assert at("stash small") is None
    assert chooser.chosen == ("stash small",)
    assert len(chooser.next_spots) == 9
    assert chooser.picture != plain
    assert at("stash small") is None
    assert chooser.chosen == (), "a second click takes it back"
    assert chooser.click(-5, 1000) is None
    at("stash small")
    assert game.action_names[at("cell b2")] == "b2=1"
    assert game.action_names[at("cell c3")] == "c3=1", "where one piece fits, the place is enough"
    # Where pieces of two sizes can be put, one can be chosen instead of the other.
    state = random_play(game, 1).states[8, 0]
    mover = int(state["to_move"])
    chooser = Chooser(game, state, mover, np.flatnonzero(game.masks(np.array([state]))[0]).tolist())
    one, two = [spot for spot in chooser.next_spots if spot.startswith("stash")][:2]
    for spot in (one, two):
        at(spot)
        assert chooser.chosen == (spot,)
    # The place first, then the piece: the same action.
    several, steps = {}, iter(random_play(game, 1).states[:, 0])
    while not several:
        state = next(steps)
        mover = int(state["to_move"])
        several = cells_of_two_pieces(game, state)
    chooser = Chooser(game, state, mover, np.flatnonzero(game.masks(np.array([state]))[0]).tolist())
    for action, (piece, cell) in several.items():
        chooser.chosen = ()
        assert at(cell) is None
        assert chooser.chosen == (cell,)
        assert piece in chooser.next_spots
        assert at(piece) == action
