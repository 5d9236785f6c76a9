"""Take screenshots of the pages of `ttt serve` for review: every game, on desktop and phone, light and dark.

python -m tools.page_pictures            writes them to build/pages
python -m tools.page_pictures --serve    writes docs/serve.png, the picture of docs/serve.md

It needs the extras `web` and `dev`, and Debian's package chromium.
"""

import re
import shutil
import tempfile
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

import tyro

import ttt_envs
from tools.serving import Served
from ttt_envs import agents
from ttt_envs.core.played_game import PlayedGame
from ttt_envs.evaluation import records
from ttt_envs.evaluation.arena.play import game_seeds, play_games

Form = Literal["desktop-light", "desktop-dark", "phone-light", "phone-dark"]

#: Window sizes, in pixels.
SIZES = {"desktop": (1280, 860), "phone": (390, 844)}

#: Game -> number of plies to play before its screenshot.
GAMES = {
    "super_tic_tac_toe": 14,
    "martian_tic_tac_toe": 10,
    "tic_tac_dice": 4,
    "big_tic_tac_dice": 6,
    "tic_tac_super_dice": 6,
    "tic_tac_match": 12,
    "operation_tic_tac_toe": 5,
}

_OPPONENT = {"super_tic_tac_toe": "mcts:simulations=100", "tic_tac_match": "greedy"}


@dataclass(frozen=True)
class Config:
    """Settings."""

    out: Path = Path("build/pages")
    """Folder for the pictures."""
    games: tuple[str, ...] = tuple(GAMES)
    """Ids of the games to draw; without any, only the other pages."""
    forms: tuple[Form, ...] = ("desktop-light", "desktop-dark", "phone-light", "phone-dark")
    """Windows and colours to draw in."""
    over: str = "tic_tac_dice"
    """Id of the game to show at its end, with its rules, and as a recorded game."""
    setup: str = "martian_tic_tac_toe"
    """Id of the game whose options are shown."""
    pictured: str = "tic_tac_dice"
    """Id of the game in docs/serve.png, which shows the oracle's values."""
    serve: bool = False
    """Write docs/serve.png and nothing else."""


class Photographer:
    """A browser that takes screenshots of a server's pages, in all windows and colours of `config.forms`."""

    def __init__(self, chromium: Any, served: Served, config: Config) -> None:
        self.served, self.config = served, config
        self.context = chromium.new_context()
        self.page = self.context.new_page()
        self.page.set_default_timeout(300_000)
        self.page.goto(served.address)
        self.page.locator(".card-play").first.wait_for()

    def keep(self, game_id: str, plies: int | None, seed: int = 1) -> str:
        """Play `plies` plies, and on until player 0 must choose (None: to the end); return the address of the page."""
        game = ttt_envs.load(game_id)
        other = _OPPONENT.get(game_id, "greedy")
        live, chosen = PlayedGame.begin(game, seed), agents.load("greedy")
        while not live.over and (plies is None or live.ply < plies or 0 not in live.asked()):
            for player in live.asked():
                live.choose(player, int(chosen.act(live.view(player))[0]))
        return f"g/{self.served.hall.keep(live, [None, *[other] * (game.num_players - 1)]).id}"

    def go(self, address: str, ready: str) -> None:
        """Load a page, and wait for an element that matches the selector `ready`."""
        self.page.goto("about:blank")
        self.page.goto(f"{self.served.address}/#/{address}")
        self.page.locator(ready).first.wait_for()

    def overlay(self, hint: bool) -> None:
        """Switch on the values of moves in the page; if `hint`, also ask for a hint."""
        self.page.get_by_label("Show what the oracle or a search thinks").check()
        self.page.locator(".mark, .thoughts .note").first.wait_for(state="attached")
        if hint:
            self.page.get_by_role("button", name="Hint").click()
            self.page.locator(".banner", has_text=re.compile("Hint|one choice")).wait_for()

    def draw(self, name: str, top: Any = None) -> None:
        """Save screenshots of the current page in all forms, scrolled to its top or to the element `top`."""
        for form in self.config.forms:
            size, scheme = form.split("-")
            width, height = SIZES[size]
            self.page.set_viewport_size({"width": width, "height": height})
            self.page.emulate_media(color_scheme=scheme)
            self.page.mouse.move(0, 0)
            if top is None:
                self.page.evaluate("scrollTo(0, 0)")
            else:
                top.evaluate("each => each.scrollIntoView()")
            self.page.wait_for_timeout(150)
            self.page.screenshot(path=self.config.out / f"{name}-{form}.png", full_page=size == "phone")

    def draw_all(self) -> None:
        """Save screenshots of all pages."""
        self.draw("start")
        for game in self.config.games:
            address = self.keep(game, GAMES[game])
            self.go(address, ".board img:visible")
            self.page.locator("h1[data-state=turn]").wait_for()
            self.draw(f"{game}-turn")
            self.overlay(hint=True)
            self.draw(f"{game}-hint")
        self.go(self.keep(self.config.over, None), ".review .chart")
        self.draw("over")
        rules = self.page.locator("summary", has_text="Rules")
        rules.click()
        self.page.locator(".lessons img").nth(3).wait_for()
        self.draw("rules", rules)
        self.go(f"new/{self.config.setup}", f"[data-game={self.config.setup}]")
        self.page.locator("summary", has_text="Options").click()
        self.draw("setup")
        self.go("records", "td a")
        self.draw("records")
        self.go(f"records/{self.config.over}.jsonl/1", ".review .chart")
        self.draw("recorded")


def recorded(folder: Path, game_id: str) -> None:
    """Write a file of two recorded games, for the pages that show recorded games."""
    folder.mkdir(exist_ok=True)
    game, names, seeds = ttt_envs.load(game_id), ["random", "greedy"], game_seeds(0, 2)
    games = play_games(game, [agents.load(name) for name in names], seats=(0, 1), seeds=seeds, keep=range(2))
    records.write(folder / f"{game_id}.jsonl", records.of_games(game, games, names, (0, 1), seeds))


def main() -> None:
    """Run the command line."""
    config = tyro.cli(Config, description=__doc__)
    from playwright.sync_api import sync_playwright

    config.out.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory() as name, sync_playwright() as playwright:
        folder = Path(name)
        for game in dict.fromkeys((config.over, config.setup)):
            recorded(folder / "records", game)
        chromium = playwright.chromium.launch(executable_path=shutil.which("chromium"), args=["--no-sandbox"])
        with Served(folder / "records") as served:
            photographer = Photographer(chromium, served, config)
            if config.serve:
                photographer.go(photographer.keep(config.pictured, GAMES[config.pictured]), ".board img:visible")
                photographer.overlay(hint=False)
                photographer.page.set_viewport_size({"width": 1200, "height": 864})
                photographer.page.mouse.move(0, 0)
                photographer.page.screenshot(path="docs/serve.png")
            else:
                photographer.draw_all()
        chromium.close()
    print("docs/serve.png" if config.serve else config.out)


if __name__ == "__main__":
    main()
