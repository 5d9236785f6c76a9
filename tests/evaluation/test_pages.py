"""Reports as pages: self-contained, escaped, and readable in a real browser, where one is installed."""

import html.parser
import re
import shutil
from pathlib import Path

import numpy as np
import pytest
import toy_coin
from stubborn import Stubborn, Wrong

from ttt_envs import evaluation
from ttt_envs.core.game import Game
from ttt_envs.drawing.parts import split
from ttt_envs.evaluation.reports.charts import Whisker, Whiskers, ticks
from ttt_envs.evaluation.reports.page import html_table
from ttt_envs.evaluation.reports.report import Table

#: Names of agents are arbitrary text.
EVIL = "<script>alert('x')</script>\n|\"&amp;</td>"


@pytest.fixture(scope="module")
def game() -> Game:
    return toy_coin.make()


@pytest.fixture(scope="module")
def folder(game: Game, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The files of a tournament with an agent of an evil name, and one that fails."""
    folder = tmp_path_factory.mktemp("t") / "t"
    lineup = ["random", Stubborn(name=EVIL), Wrong(np.array([0]))]
    evaluation.tournament(game, lineup, games=20, quiet=True, out=folder)
    return folder


class Outline(html.parser.HTMLParser):
    """The tags and texts of a page; notes tags that are closed in another order than opened."""

    EMPTY = {"meta", "link", "input", "br", "i"}

    def __init__(self, text: str) -> None:
        super().__init__()
        self.tags: list[tuple[str, dict[str, str | None]]] = []
        self.texts: list[str] = []
        self.open: list[str] = []
        self.feed(text)
        self.close()

    def handle_starttag(self, tag, attributes):
        self.tags.append((tag, dict(attributes)))
        if tag not in self.EMPTY:
            self.open.append(tag)

    def handle_startendtag(self, tag, attributes):
        self.tags.append((tag, dict(attributes)))

    def handle_endtag(self, tag):
        if tag not in self.EMPTY:
            assert self.open.pop() == tag

    def handle_data(self, data):
        self.texts.append(data)


def test_a_page_is_well_formed_and_needs_nothing_else(folder: Path) -> None:
    text = (folder / "report.html").read_text()
    found = Outline(text)
    assert found.open == []
    assert not re.search(r"""(src|href)=["'](?!data:|\#)|url\(|@import""", text)
    assert "default-src 'none'" in text
    titles = [text for text in found.texts if text in ("Ratings", "Crosstable", "As player_0", "Pairings", "Time")]
    assert titles == ["Ratings", "Crosstable", "As player_0", "Pairings", "Time"]
    assert len(text) < 200_000


def test_names_are_escaped(folder: Path) -> None:
    text = (folder / "report.html").read_text()
    found = Outline(text)
    assert not any(tag == "script" for tag, _ in found.tags)
    assert "<script>alert" not in text
    assert any("<script>alert('x')</script>" in each for each in found.texts)
    lines = (folder / "report.md").read_text().splitlines()
    rows = [line for line in lines if "alert" in line and line.startswith("|")]
    assert rows
    for line in rows:
        assert "&lt;script>alert('x')&lt;/script> \\|" in line
        assert line.endswith("|")


def test_parts_put_together_are_the_drawing(game: Game) -> None:
    drawing = split(game.draw(game.new_state(0)[0], None))
    assert drawing.size == (64, 64)
    again = split("".join([drawing.opening(), *drawing.elements, "</svg>"]))
    assert again.elements == drawing.elements
    for wrong in ("no picture", "<svg>", "<svg/>"):
        with pytest.raises(ValueError, match="the drawing"):
            split(wrong)


def test_heat_colours_shares_alone() -> None:
    rows = [["a", "0.750 (.6–.9)", "–", "0.500", "1.000", "1/2"]]
    found = html_table(Table("t", ["", *"12345"], rows, heat=True))
    assert 'class="more" style="--much:30%">0.750 <small>(.6–.9)</small>' in found
    assert 'class="more" style="--much:60%">1.000' in found
    assert found.count("--much") == 3
    assert "--much" not in html_table(Table("t", ["", *"12345"], rows))


def test_charts_show_what_is_known() -> None:
    rows = [Whisker("a<b", 1, 2, 3, "2 (1 to 3)"), Whisker("b", np.nan, np.nan, np.nan, "–")]
    found = Whiskers("t", rows).html()
    assert found.count('class="whisker"') == 1
    assert "a&lt;b: 2 (1 to 3)" in found
    assert Whiskers("t", rows[1:]).html() == ""
    assert Whiskers("t", [Whisker("a", 1, 1, 1, "1")]).html()
    assert ticks(-137, 260) == [-100, 0, 100, 200]
    assert ticks(0.01, 0.06) == [0.01, 0.02, 0.03, 0.04, 0.05, 0.06]


CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")


@pytest.mark.skipif(CHROMIUM is None, reason="no chromium on this machine: apt-get install chromium")
def test_a_page_works_in_a_browser(folder: Path) -> None:
    api = pytest.importorskip("playwright.sync_api")
    said: list[str] = []
    with api.sync_playwright() as playwright:
        page = playwright.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox"]).new_page()
        page.on("console", lambda message: said.append(message.text))
        page.on("pageerror", lambda error: said.append(str(error)))
        page.on("request", lambda request: said.extend([request.url] * request.url.startswith("http")))
        page.on("dialog", lambda dialog: said.append("a dialog"))
        page.goto((folder / "report.html").as_uri())
        for width, scheme in ((400, "light"), (1400, "dark")):
            page.set_viewport_size({"width": width, "height": 900})
            page.emulate_media(color_scheme=scheme)
            assert page.evaluate("document.documentElement.scrollWidth") == width, "nothing is wider than the page"
            background = page.evaluate("getComputedStyle(document.body).backgroundColor")
            assert (sum(map(int, re.findall(r"\d+", background))) > 384) == (scheme == "light")
        page.context.browser.close()
    assert said == []
