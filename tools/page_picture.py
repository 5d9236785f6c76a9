"""The picture of the page of `ttt serve` in docs/serve.md: a game in progress, with what the oracle thinks.

python -m tools.page_picture

It needs the extras `web` and `dev`, and Debian's chromium.
"""

import shutil
import tempfile
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

import tyro

from tools.serving import Served


@dataclass(frozen=True)
class Config:
    """Settings."""

    out: Path = Path("docs/serve.png")
    """File for the picture."""
    game: str = "super_tic_tac_toe"
    """Id of the game."""
    agent: str = "greedy"
    """The opponent."""
    moves: tuple[str, ...] = ("cell 4/4", "cell 0/4", "cell 8/4")
    """Spots to click, one after the other; in place of one that cannot be clicked the hint is followed."""
    width: int = 1200
    """Width of the window, in pixels."""
    scheme: Literal["light", "dark"] = "light"
    """Colours."""


def photograph(page: Any, address: str, config: Config) -> None:
    """Play some moves on a page of playwright, and write its picture."""
    page.goto(f"{address}/#/new/{config.game}")
    page.locator(f"[data-game={config.game}]").wait_for()
    page.locator("select[name=seat]").nth(1).select_option(f'{{"kind":"agent","agent":"{config.agent}"}}')
    page.get_by_role("button", name="Start the game").click()
    for k, move in enumerate(config.moves):
        page.locator("h1[data-state=turn]").wait_for()
        spot = page.get_by_label(move, exact=True)
        if not spot.count():
            page.get_by_role("button", name="Hint").click()
            spot = page.locator("button.hinted")
        spot.click()
        page.locator(".log li").nth(2 * k + 1).wait_for()
    page.locator("h1[data-state=turn]").wait_for()
    page.get_by_label("Show what the oracle or a search thinks").check()
    page.locator(".mark").first.wait_for()
    page.mouse.move(0, 0)
    config.out.parent.mkdir(parents=True, exist_ok=True)
    page.screenshot(path=config.out)


def main() -> None:
    """Command line."""
    config = tyro.cli(Config, description=__doc__)
    from playwright.sync_api import sync_playwright

    with tempfile.TemporaryDirectory() as folder, sync_playwright() as playwright:
        chromium = playwright.chromium.launch(executable_path=shutil.which("chromium"), args=["--no-sandbox"])
        served = Served(Path(folder) / "games.sqlite")
        try:
            size = {"width": config.width, "height": int(0.72 * config.width)}
            page = chromium.new_page(viewport=size, color_scheme=config.scheme)  # type: ignore[arg-type]
            page.set_default_timeout(120_000)
            photograph(page, served.address, config)
        finally:
            served.stop()
            chromium.close()
    print(config.out)


if __name__ == "__main__":
    main()
