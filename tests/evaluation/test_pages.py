"""Reports as pages: self-contained, escaped, and readable in a real browser, where one is installed."""

import html.parser
import json
import re
import shutil
from pathlib import Path

import numpy as np
import pytest
import toy_coin
from stubborn import Stubborn, Wrong

from ttt_envs import evaluation
from ttt_envs.core.game import Game
from ttt_envs.drawing.parts import Parts, split
from ttt_envs.evaluation.reports.charts import ShareBars, Whisker, Whiskers, ticks
from ttt_envs.evaluation.reports.leaderboard import leaderboard
from ttt_envs.evaluation.reports.page import html_table
from ttt_envs.evaluation.reports.report import Table

#: Names of agents are arbitrary text.
EVIL = "<script>alert('x')</script>\n|\"&amp;</td>"


@pytest.fixture(scope="module")
def game() -> Game:
    """A game that compiles quickly."""
    return toy_coin.make()


@pytest.fixture(scope="module")
def folder(game: Game, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The files of a tournament with an agent of an evil name, and one that fails."""
    folder = tmp_path_factory.mktemp("t") / "t"
    lineup = ["random", Stubborn(name=EVIL), Wrong(np.array([0]))]
    evaluation.tournament(game, lineup, games=20, quiet=True, record=True, out=folder)
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
    assert sum(tag == "script" for tag, _ in found.tags) == 2, "the data of the games, and the script that shows them"
    assert "<script>alert" not in text
    assert any("<script>alert('x')</script>" in each for each in found.texts)
    lines = (folder / "report.md").read_text().splitlines()
    rows = [line for line in lines if "alert" in line and line.startswith("|")]
    assert rows
    for line in rows:
        assert "&lt;script>alert('x')&lt;/script> \\|" in line
        assert line.endswith("|")


def test_the_sample_games_are_whole(folder: Path, game: Game) -> None:
    text = (folder / "report.html").read_text()
    (data,) = re.findall(r'<script type="application/json" id="games">(.*?)</script>', text, re.S)
    found = json.loads(data)
    recorded = [json.loads(line) for line in (folder / "games.jsonl").read_text().splitlines()]
    firsts = {number: each for each in recorded if (number := each["number"]) in (0, 20, 40)}
    assert len(found["games"]) == 3
    titles = re.findall(r'<h3>([^<]*)</h3><p class="note">(Game.*?)</p>', text, re.S)
    for each, (title, words) in zip(found["games"], titles, strict=True):
        number = int(re.findall(r"Game (\d+)", words)[0])
        assert len(each["pictures"]) == len(each["captions"]) == len(firsts[number]["actions"]) + 1
        assert "random" in title or number == 40
        for picture in each["pictures"]:
            svg = "".join(found["parts"][k] for k in picture) + "</svg>"
            assert split(svg).size == (64, 64)
    assert len(found["parts"]) == len(set(found["parts"]))


def test_parts_put_together_are_the_drawing(game: Game) -> None:
    svg = game.draw(game.new_state(0)[0], None)
    parts = Parts()
    first, again = parts.add(svg), parts.add(svg)
    assert first == again == list(range(len(parts.texts)))
    assert [split(svg).elements] == [[parts.texts[k] for k in first[1:]]]
    assert parts.texts[0].startswith("<svg ")
    assert 'viewBox="0 0 64 64"' in parts.texts[0]
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
    shares = ShareBars("s", ["x", "drawn"], [("row", [0.25, 0.75])]).html()
    assert 'x="25.00%" width="75.00%"' in shares
    assert "row: x 25.0 %, drawn 75.0 %" in shares


# --- in a browser ---

CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")


@pytest.fixture(scope="module")
def browser():
    """Debian's chromium, driven by playwright."""
    api = pytest.importorskip("playwright.sync_api")
    if CHROMIUM is None:
        pytest.skip("no chromium on this machine: apt-get install chromium")
    with api.sync_playwright() as playwright:
        chromium = playwright.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox"])
        yield chromium
        chromium.close()


@pytest.mark.parametrize("width", [400, 1400])
@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_a_page_works_in_a_browser(browser, folder: Path, width: int, scheme: str) -> None:
    page = browser.new_page(viewport={"width": width, "height": 900}, color_scheme=scheme)
    said: list[str] = []
    page.on("console", lambda message: said.append(message.text))
    page.on("pageerror", lambda error: said.append(str(error)))
    page.on("request", lambda request: said.extend([request.url] * request.url.startswith("http")))
    page.on("dialog", lambda dialog: said.append("a dialog"))
    page.goto((folder / "report.html").as_uri())
    assert page.evaluate("document.documentElement.scrollWidth") == width, "nothing is wider than the page"
    background = page.evaluate("getComputedStyle(document.body).backgroundColor")
    assert (sum(map(int, re.findall(r"\d+", background))) > 384) == (scheme == "light")
    game = page.locator("figure.game").first
    caption, board = game.locator(".caption"), game.locator(".board")
    start = board.inner_html()
    assert caption.inner_text() == "ply 0: start"
    game.get_by_label("next ply").click()
    assert caption.inner_text().startswith("ply 1: ")
    assert board.inner_html() != start
    game.focus()
    page.keyboard.press("End")
    end = board.inner_html()
    assert game.get_by_label("next ply").is_disabled()
    page.keyboard.press("ArrowLeft")
    page.keyboard.press("Home")
    assert board.inner_html() == start
    slider = game.get_by_label("position in the game")
    slider.focus()
    page.keyboard.press("End")
    assert board.inner_html() == end
    assert said == []
    page.close()


# --- the leaderboard ---


@pytest.fixture
def results(folder: Path, tmp_path: Path) -> Path:
    """A folder with results of all kinds, and files that are none."""
    shared = {"game": "toy_coin", "options": {"players": 2, "tosses": 1}, "version": "0.1.0"}
    (tmp_path / "all" / "deep").mkdir(parents=True)
    shutil.copy(folder / "results.json", tmp_path / "all" / "deep" / "t.json")
    ladder = {"agent": EVIL, "rating": 120, "interval": [100, 141], "games_played": 900, "ladder": {"version": 3}}
    regret = {
        "agent": "random",
        "opponent": None,
        "per_game": 0.5,
        "per_game_half_width": None,
        "measured": 1,
        "games": 9,
    }
    little = regret | {"agent": "a", "per_game": 0.0, "per_game_interval": [0.0, 0.2], "measured": 0.018}
    partly = little | {"agent": "b", "per_game": 0.1, "measured": 0.5}
    for each in (little, partly):
        del each["per_game_half_width"]
    # The first one is as earlier versions wrote it.
    exploited = {"agent": "random", "exploitability": 0.25, "half_width": 0.0, "samples": 0}
    learned = {"agent": "a", "reward": 0.5, "interval": [0.4, 0.6], "minutes": 2.5, "steps": None, "games": 40}
    share = {"agent": "a", "share": 0.25, "interval": [0.2, 0.3], "mean_loss": 0.01, "positions": 50}
    asked = [{"set": "coins", "version": version, "agent": "a", "questions": share} for version in (1, 2)]
    files = {
        "m": {
            "verb": "mistakes",
            **shared,
            "least": 0.05,
            "measurements": [share, share | {"agent": "b", "share": 0.2}],
        },
        "q": {"verb": "llm-eval", "version": "0.1.0", "rows": asked},
        "l": {"verb": "ladder", **shared, **ladder},
        "l2": {"verb": "ladder", **shared, **ladder, "agent": "better", "rating": 200, "interval": [180, 220]},
        "r": {"verb": "regret", **shared, "measurements": [little, partly, regret]},
        "e": {"verb": "exploitability", **shared, "measurements": [exploited]},
        "x": {"verb": "exploit", **shared, **learned},
        "x2": {
            "verb": "exploit",
            **shared,
            **learned,
            "agent": "b",
            "reward": -0.1,
            "interval": [-0.2, 0],
            "steps": 9000,
        },
        "other": {"verb": "ladder", **shared, **ladder, "options": {"tosses": 1, "players": 3}},
        "bad": {"verb": "regret", **shared, "measurements": [{"agent": "x"}]},
        "huge": {"verb": "ladder", **shared, **ladder, "rating": 10**400},
        "unknown": {"verb": "dance"},
        "config": [1, 2],  # the settings of a run, as a folder of results has them
    }
    for name, data in files.items():
        (tmp_path / "all" / f"{name}.json").write_text(json.dumps(data))
    (tmp_path / "all" / "cut.json").write_text("{")
    return tmp_path / "all"


def test_a_leaderboard_has_all_results_and_names_what_it_left_out(results: Path, tmp_path: Path) -> None:
    board = leaderboard(results, out=tmp_path / "board")
    assert [heading for heading, _ in board.tables()] == [
        "coins",
        "toy_coin (players=2 tosses=1)",
        "toy_coin (players=3 tosses=1)",
    ]
    left_out = dict(board.left_out)
    assert set(left_out) == {"bad.json", "unknown.json", "cut.json", "huge.json"}
    assert "damaged: int too large" in left_out["huge.json"]
    assert left_out["bad.json"] == "the results of `ttt regret` are damaged: the key 'per_game' is missing"
    assert "its key 'verb' must be one of ladder, tournament" in left_out["unknown.json"]
    assert left_out["cut.json"].startswith("it is no JSON")
    (_, asked), (_, tables), _ = board.tables()
    assert [(table.title, table.rows) for table, _ in asked] == [
        (
            "Questions",
            [
                ["a", "0.250 (0.200 to 0.300)", "0.0100", "50", "2", "q.json"],
                ["a", "0.250 (0.200 to 0.300)", "0.0100", "50", "1 (older)", "q.json"],
            ],
        )
    ]
    shown = {table.title: table.rows for table, _ in tables}
    known = "Rating on the ladder", "Tournaments", "Regret", "Exploitability", "Learned best response", "Mistakes"
    assert tuple(shown) == known
    assert shown["Rating on the ladder"][0][:2] == ["better", "200 (180 to 220)"]
    assert shown["Regret"] == [
        ["b", "≥ 0.1000 (0.0000 to 0.2000)", "itself", "50.0 %", "9", "r.json"],
        ["random", "0.5000", "itself", "100.0 %", "9", "r.json"],
        ["a", "1.8 % measured: ≥ 0.0000 (0.0000 to 0.2000)", "itself", "1.8 %", "9", "r.json"],
    ], "what was hardly measured stands last"
    assert shown["Exploitability"] == [["random", "0.2500", "exact policy", "e.json"]]
    assert shown["Learned best response"] == [
        ["b", "≥ -0.1000 (-0.2000 to 0.0000)", "9,000 decisions", "40", "x2.json"],
        ["a", "≥ 0.5000 (0.4000 to 0.6000)", "2.5 minutes", "40", "x.json"],
    ]
    assert shown["Mistakes"] == [
        ["b", "0.200 (0.200 to 0.300)", "0.0100", "50", "0.05", "m.json"],
        ["a", "0.250 (0.200 to 0.300)", "0.0100", "50", "0.05", "m.json"],
    ]
    assert len(shown["Tournaments"]) == 3
    text = (tmp_path / "board" / "leaderboard.html").read_text()
    assert Outline(text).open == []
    assert "<script>alert" not in text
    assert "<script>alert" not in (tmp_path / "board" / "leaderboard.md").read_text()


def test_a_tournament_shows_what_was_measured_elsewhere(results: Path, game: Game, tmp_path: Path) -> None:
    given = {"games": 4, "quiet": True}
    lineup = ["random", Stubborn()]
    report = evaluation.tournament(game, lineup, measured=[results / "r.json", results / "e.json"], **given)
    titles = [table.title for table in report.tables()]
    assert titles[titles.index("Regret") :][:2] == ["Regret", "Exploitability"]
    assert ">0.2500<" in report.html()
    assert "| random | 0.5000 | itself |" in report.markdown()
    assert f"--measured {results / 'r.json'} {results / 'e.json'}" in report.command
    for name, words in (
        ("other.json", r"other.json is of toy_coin players=3 tosses=1, not of toy_coin players=2 tosses=1"),
        ("q.json", r"q.json is of coins, not of toy_coin players=2 tosses=1"),
        ("bad.json", "bad.json: the results of `ttt regret` are damaged"),
        ("missing", "no file of results at .*missing"),
    ):
        with pytest.raises((ValueError, FileNotFoundError), match=words):
            evaluation.tournament(game, lineup, measured=str(results / name), out=tmp_path / "t", **given)
    assert not (tmp_path / "t").exists()


@pytest.mark.parametrize(
    ("rating", "interval", "words"),
    [(1500.0, [1600, 1400], "an interval begins at 1600 and ends at 1400"), (1e300, [0, 1e301], "not 1e+301")],
)
def test_a_leaderboard_leaves_out_numbers_that_nothing_measures(
    results: Path, rating: float, interval: list[float], words: str
) -> None:
    facts = {"verb": "ladder", "game": "super_tic_tac_toe", "options": {}, "agent": "me", "games_played": 9}
    found = {**facts, "rating": rating, "interval": interval, "ladder": {"version": 1}}
    (results / "forged.json").write_text(json.dumps(found))
    board = evaluation.leaderboard(results)
    assert words in dict(board.left_out)["forged.json"]
    assert board.html()


def test_ratings_on_an_older_ladder_stand_below_and_are_said_to_be_older(results: Path) -> None:
    old = json.loads((results / "l2.json").read_text())
    (results / "l0.json").write_text(json.dumps({**old, "agent": "before", "ladder": {"version": 2}, "rating": 210}))
    _, (_, tables), _ = leaderboard(results).tables()
    table, chart = tables[0]
    assert [row[0] for row in table.rows] == ["better", table.rows[1][0], "before"]
    assert [row[3] for row in table.rows] == ["3", "3", "2 (older)"]
    assert [bar.name.endswith("(older)") for bar in chart.rows] == [False, False, True]


def test_a_leaderboard_of_nothing_is_refused(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match=r"there are no results in .*leaderboard_of_nothing\w+$"):
        leaderboard(tmp_path)
    (tmp_path / "x.json").write_text("1")
    with pytest.raises(ValueError, match=r"no results in .*: of 1 files none could be read"):
        leaderboard(tmp_path, out=tmp_path / "board")
    with pytest.raises(FileNotFoundError, match="no folder of results at"):
        leaderboard(tmp_path / "missing")
    with pytest.raises(NotADirectoryError, match="is a file: name the folder"):
        leaderboard(tmp_path / "x.json")
    assert not (tmp_path / "board").exists()
