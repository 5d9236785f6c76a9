"""The site: every page is reached, every link leads somewhere, and what is generated says what the library says."""

import fnmatch
import json
import re
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest

import ttt_envs
from tools.site import games, pictures, reference
from ttt_envs.core.presentation import Lesson
from ttt_envs.evaluation import records
from ttt_envs.evaluation.records.replaying import replay
from ttt_envs.registry import options_of

ROOT = Path(__file__).resolve().parents[2]
DOCS = ROOT / "docs"
PAGES = sorted(DOCS.rglob("*.md"))
GAMES = sorted((DOCS / "games").glob("*.md"))

#: The template of a game's page: its headings, in this order.
HEADINGS = [
    "Rules",
    "Options",
    "Play",
    "Facts",
    "Actions",
    "Observation",
    "Rewards",
    "Optimal play",
    "What agents reach",
    "How to measure",
    "Pitfalls",
]

#: Parts of a game's page that are made from the game.
MADE = "facts", "rules", "actions", "observation", "options", "rewards"


def name_of(page: Path) -> str:
    return page.relative_to(DOCS).with_suffix("").as_posix()


def without_code(text: str) -> str:
    """A page without its blocks of code, in which # is a comment."""
    return re.sub(r"^(`{3,})[^`\n]*\n.*?^\1`*$", "", text, flags=re.MULTILINE | re.DOTALL)


def directives(page: Path, name: str) -> list[tuple[str, dict[str, str], str]]:
    """A directive's uses on a page: its argument, its options and its content."""
    found = re.findall(rf"^```\{{{name}\}} ?([^\n]*)\n(.*?)^```", page.read_text(), re.MULTILINE | re.DOTALL)
    parts = []
    for argument, inside in found:
        given, content = {}, []
        for line in inside.splitlines():
            option = None if content else re.fullmatch(r":([\w-]+):\s*(.*)", line)
            if option:
                given[option[1]] = option[2]
            else:
                content.append(line)
        parts.append((argument, given, "\n".join(content)))
    return parts


def entries_of(page: Path) -> list[str]:
    """The pages that a page's tables of contents name, patterns left as they are."""
    return [
        f"{page.parent.relative_to(DOCS).as_posix()}/{line}".removeprefix("./")
        for _, _, content in directives(page, "toctree")
        for line in content.splitlines()
        if line
    ]


def test_no_page_has_a_name_of_sphinx_own_pages() -> None:
    assert not {name_of(page) for page in PAGES} & {"search", "genindex", "modindex", "py-modindex"}


def test_every_page_is_in_one_table_of_contents() -> None:
    names = [name_of(page) for page in PAGES if page != DOCS / "index.md"]
    entries = [entry for page in PAGES for entry in entries_of(page)]
    for entry in entries:
        if not entry.startswith("notebooks/"):
            assert fnmatch.filter(names, entry), f"no page for the entry {entry!r}"
    for name in names:
        where = [entry for entry in entries if fnmatch.fnmatchcase(name, entry) and name.count("/") == entry.count("/")]
        assert len(where) == 1, f"{name} stands in the tables of contents {len(where)} times: {where}"


def anchors_of(page: Path) -> set[str]:
    """The places of a page that a link can name: headings, and names in brackets before them."""
    text = without_code(page.read_text())
    headings = re.findall(r"^#+ (.*)$", text, re.MULTILINE)
    plain = {re.sub(r"[^\w\- ]", "", each.lower()).replace(" ", "-") for each in headings}
    return plain | set(re.findall(r"^\(([\w-]+)\)=$", text, re.MULTILINE))


@pytest.mark.parametrize(
    "page", [ROOT / "README.md", ROOT / "CONTRIBUTING.md", ROOT / "agents" / "README.md", *PAGES], ids=lambda p: p.name
)
def test_links_lead_somewhere(page: Path) -> None:
    text = without_code(page.read_text())
    links = re.findall(r"\]\(([^)\s]+)\)", text) + re.findall(r'src="([^"]+)"', text)
    for link in links:
        path, _, anchor = link.partition("#")
        if re.match(r"[a-z]+:", link):
            assert link.startswith("https://"), link
            continue
        target = (page.parent / path).resolve() if path else page
        if DOCS in target.parents and target.parent.name == "notebooks":  # copied there when the site is built
            target = ROOT / "notebooks" / target.name
        assert target.exists(), f"{link} leads nowhere"
        if anchor:
            assert anchor in anchors_of(target), f"{link}: there is no such place"
    for included in (argument for argument, _, _ in directives(page, "include")):
        assert (page.parent / included).exists()
    for _, given, _ in directives(page, "film"):
        assert set(given) <= {"caption"}


def test_every_game_has_a_page_of_the_one_template() -> None:
    named = []
    for page in GAMES:
        assert re.findall(r"^## (.*)$", without_code(page.read_text()), re.MULTILINE) == HEADINGS, page.name
        ids = directives(page, "facts")[0][0].split()
        named += ids
        for part in MADE:
            ((argument, _, _),) = directives(page, part)
            assert set(argument.split()) <= set(ids), f"{page.name}: {part} of another game"
        ((game_id, _, _),) = directives(page, "lessons")
        assert len(ttt_envs.load(game_id).faces.lessons) >= 3
        assert len(directives(page, "film")) == 1
    assert sorted(named) == sorted(ttt_envs.GAMES)


def lessons() -> list[tuple[str, Lesson]]:
    return [(game_id, lesson) for game_id in ttt_envs.GAMES for lesson in ttt_envs.load(game_id).faces.lessons]


def test_lessons_are_positions_and_are_drawn(tmp_path: Path) -> None:
    for game_id, lesson in lessons():
        picture = pictures.lesson(tmp_path, game_id, lesson)
        assert picture.path.read_text().startswith("<svg")
        assert lesson.said.endswith(".")


def test_what_a_caption_says_of_a_result_is_so(tmp_path: Path) -> None:
    said = {
        each.said: pictures.lesson(tmp_path, game_id, replace(each, viewer=None)).said for game_id, each in lessons()
    }
    over = {caption: text for caption, text in said.items() if "over:" in text}
    assert len(over) == 6
    for caption, text in over.items():
        assert re.search(r"\bwon\b|\bwin\b|has a row|five markers", caption), (caption, text)
    assert "X wins, 5 markers to 4" in over[next(each for each in over if "five markers" in each)]


@pytest.mark.parametrize("path", sorted((DOCS / "films").glob("*.jsonl")), ids=lambda path: path.stem)
def test_films_are_games_by_these_rules(path: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (record,) = records.read(path)
    (game,) = replay([record])  # refuses what is no game by these rules
    assert game.states[-1]["done"]
    drawn = []
    monkeypatch.setattr(pictures, "save_film", lambda path, *_: drawn.append(path.touch()))
    picture = pictures.film(tmp_path, path)
    assert picture.said.startswith(game.game.title)
    assert pictures.film(tmp_path, path) == picture
    assert len(drawn) == 1, "what is drawn already is not drawn again"


@pytest.mark.parametrize("game_id", ttt_envs.GAMES)
def test_tables_say_what_the_game_says(game_id: str) -> None:
    game = ttt_envs.load(game_id)
    made = {part: getattr(games, part)([game_id]) for part in MADE}
    assert f"| actions | {game.num_actions:,} |" in made["facts"]
    assert f"| observation | {game.observation_size:,} features of 0 and 1 |" in made["facts"]
    assert made["rules"] == game.rules_text
    for option in options_of(game_id):
        assert f"| `{option.name}` |" in made["options"]
        assert option.meaning, f"option {option.name} has no meaning"
    for block in game.observation_layout:
        assert f"| {block.name} |" in made["observation"]
    assert game.action_names[-1] in made["actions"].splitlines()[-1]
    for text in made.values():
        widths = {len(re.findall(r"(?<!\\)\|", line)) for line in text.splitlines() if line.startswith("|")}
        assert len(widths) <= 1, "rows of a table have as many cells as its head"


def test_games_that_differ_are_told_apart() -> None:
    several = games.actions(["tic_tac_dice", "big_tic_tac_dice", "tic_tac_super_dice"])
    assert several.startswith("`tic_tac_dice`:\n\n")
    assert "`big_tic_tac_dice` and `tic_tac_super_dice`:\n\n" in several
    assert "`3` in `tic_tac_dice`, `4` in `big_tic_tac_dice`" in games.options(["tic_tac_dice", "big_tic_tac_dice"])


def test_the_reference_has_every_public_module() -> None:
    listed = {"ttt_envs", "ttt_envs.dev", "ttt_envs.registry"}
    for page in sorted((DOCS / "api").glob("*.md")):
        for argument, given, _ in directives(page, "modules"):
            for package in argument.split():
                listed |= set(reference.modules(package, "packages-only" in given))
    # The command has a page of its own; the inner modules of a game may change without notice.
    beside = re.compile(r"ttt_envs\.(cli|__main__)\b|ttt_envs\.games\.\w+\.")
    for path in (ROOT / "ttt_envs").rglob("*.py"):
        name = ".".join(path.relative_to(ROOT).with_suffix("").parts).removesuffix(".__init__")
        if not beside.match(name) and not re.search(r"\._(?!_)", name):
            assert name in listed, f"{name} is on no page of docs/api"


def test_the_citation_is_that_of_the_file() -> None:
    page, file = (DOCS / "project.md").read_text(), (ROOT / "CITATION.cff").read_text()
    (title,) = re.findall(r'^title: "(.*)"$', file, re.MULTILINE)
    (version,) = re.findall(r"^version: (.*)$", file, re.MULTILINE)
    assert f"title   = {{{title}}}" in page
    assert f"version = {{{version}}}" in page
    assert version == ttt_envs.__version__


def test_the_readme_is_short() -> None:
    assert len((ROOT / "README.md").read_text().splitlines()) < 150


@pytest.mark.slow
def test_the_site_is_built_without_warnings_and_asks_no_other_host(tmp_path: Path) -> None:
    pytest.importorskip("furo", reason="Sphinx is not installed: pip install -e '.[docs]'")
    done = subprocess.run(
        [
            sys.executable,
            "-m",
            "sphinx",
            "-W",
            "--keep-going",
            "-q",
            "-d",
            tmp_path / "doctrees",
            "docs",
            tmp_path / "site",
        ],
        cwd=ROOT,
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stderr
    pages = list((tmp_path / "site").rglob("*.html"))
    assert len(pages) > 40
    for page in pages:
        text = page.read_text()
        loaded = re.findall(r'<(?:img|script|iframe|source)[^>]*\ssrc="([^"]*)"', text)
        loaded += re.findall(r'<link[^>]*rel="(?:stylesheet|preload|icon)"[^>]*href="([^"]*)"', text)
        assert not [each for each in loaded if re.match(r"(https?:)?//", each)], page
    index = json.dumps((tmp_path / "site" / "searchindex.js").read_text())
    assert "wipe" in index
