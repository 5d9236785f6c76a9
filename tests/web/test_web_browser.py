"""The page of `ttt serve` in Debian's chromium: games played by clicks and keys, and what a browser is sent."""

import hashlib
import json
import random
import re
import secrets
import shutil

import numpy as np
import pytest

import ttt_envs
from tools.serving import Served
from ttt_envs import agents
from ttt_envs.core import jit
from ttt_envs.core.live import LiveGame
from ttt_envs.drawing.theme import COLOURS
from ttt_envs.evaluation import records
from ttt_envs.evaluation.arena.play import game_seeds, play_games
from ttt_envs.web.store import Seat, Store, StoredGame

api = pytest.importorskip("playwright.sync_api")
pytest.importorskip("starlette")
pytest.importorskip("uvicorn")

CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")

pytestmark = [
    pytest.mark.skipif(CHROMIUM is None, reason="no chromium on this machine: apt-get install chromium"),
    pytest.mark.skipif(jit.DISABLED, reason="the server runs compiled, as users run it"),
]

#: All games, with options that make them short.
KINDS = {
    "super_tic_tac_toe": {},
    "martian_tic_tac_toe": {},
    "tic_tac_dice": {"rounds": "single"},
    "big_tic_tac_dice": {"rounds": "single"},
    "tic_tac_super_dice": {"rounds": "single"},
    "tic_tac_match": {"max_turns": "12"},
    "operation_tic_tac_toe": {"mode": "round"},
}

#: Games that take long even so, each with a seed of a shorter one; and those that are like another one.
LONG = {"super_tic_tac_toe": 1, "martian_tic_tac_toe": 7}
LIKE_OTHERS = {"big_tic_tac_dice", "tic_tac_super_dice"}

# What the picture shows in the colours of what can be chosen: the middle of each, on the screen, and the name of the
# spot that reacts there; and the names of all spots that react.
LIT = """(colours) => {
  const image = document.querySelector(".board img");
  image.scrollIntoView({ block: "center" });
  const svg = decodeURIComponent(image.src.slice(image.src.indexOf(",") + 1));
  const [left, top, width, height] = svg.match(/viewBox="([^"]+)"/)[1].split(" ").map(Number);
  const place = image.getBoundingClientRect();
  const lit = [];
  for (const [rect] of svg.matchAll(/<rect [^>]*>/g)) {
    const of = (name) => (rect.match(new RegExp(` ${name}="([^"]*)"`)) ?? [])[1];
    if (!colours.includes(of("fill")) || of("x") === undefined) continue;
    const x = place.x + place.width * (Number(of("x")) + Number(of("width")) / 2 - left) / width;
    const y = place.y + place.height * (Number(of("y")) + Number(of("height")) / 2 - top) / height;
    lit.push([x, y, document.elementFromPoint(x, y)?.closest("button.spot")?.dataset.spot ?? null]);
  }
  return [lit, [...document.querySelectorAll("button.spot")].map((spot) => spot.dataset.spot)];
}"""
YELLOW = [COLOURS[name][0] for name in ("open", "card_open")]

NEXT = "button.spot:not(.chosen), .banner:not([hidden]) button, h1[data-state=over]"


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """A folder with the file of the server's games, and with a file of two recorded games."""
    folder = tmp_path_factory.mktemp("serve")
    game = ttt_envs.load("tic_tac_dice", rounds="single")
    names, seeds = ["random", "greedy"], game_seeds(0, 2)
    games = play_games(game, [agents.load(name) for name in names], seats=(0, 1), seeds=seeds, keep=range(2))
    (folder / "records").mkdir()
    records.write(folder / "records" / "games.jsonl", records.of_games(game, games, names, (0, 1), seeds))
    return folder


@pytest.fixture(scope="module")
def server(folder):
    server = Served(folder / "games.sqlite", "--records", str(folder / "records"))
    yield server
    assert server.stop() == 0


@pytest.fixture(scope="module")
def chromium():
    with api.sync_playwright() as playwright:
        chromium = playwright.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox"])
        yield chromium
        chromium.close()


class Person:
    """A person at a browser of their own. `received` is all that the server has sent to it."""

    def __init__(self, chromium, server: Served, **settings) -> None:
        self.context = chromium.new_context(**settings)
        self.server = server
        self.page = self.context.new_page()
        self.page.set_default_timeout(180_000)  # much may have to be compiled, on a busy machine
        self.faults: list[str] = []
        self.received: list[str] = []
        self.page.on("console", lambda message: self.faults.append(message.text))
        self.page.on("pageerror", lambda error: self.faults.append(str(error)))
        self.page.on("response", self._keep)
        # What comes as events is no response that ever ends: it is kept as the page is given it.
        self.page.expose_function("keepEvent", lambda text: self.received.append(text))
        self.page.add_init_script(
            """
            const Source = window.EventSource;
            window.EventSource = class extends Source {
              constructor(...given) {
                super(...given);
                this.addEventListener("message", (event) => window.keepEvent(event.data));
              }
            };
            """
        )
        self.page.goto(server.address)
        self.page.locator(".card-play").first.wait_for()

    def _keep(self, response) -> None:
        if "/events" not in response.url and "/api/" in response.url:
            try:
                self.received.append(response.text())
            except api.Error:  # the page has gone on
                self.received.append("")

    def begin(self, game: str, *seats: str, **options: str) -> None:
        """Choose a game, its options and its seats on the page."""
        self.page.goto(f"{self.server.address}/#/new/{game}")
        self.page.locator(f"[data-game={game}]").wait_for()
        if options:
            self.page.locator("summary", has_text="Options").click()
        for name, value in options.items():
            field = self.page.locator(f"[data-option][name={name}]")
            # The form is built anew with what the other options now allow.
            with self.page.expect_response("**/api/setup"):
                if field.evaluate("each => each.tagName") == "SELECT":
                    field.select_option(value)
                else:
                    field.fill(value)
                    field.blur()
        for player, seat in enumerate(seats):
            kind = {"kind": seat} if seat in ("me", "invited") else {"kind": "agent", "agent": seat}
            field = self.page.locator("select[name=seat]").nth(player)
            field.select_option(json.dumps(kind, separators=(",", ":")))
        self.page.get_by_role("button", name="Start the game").click()
        self.page.locator(".board img:visible, .curtain:visible").first.wait_for()

    @property
    def headline(self) -> str:
        return self.page.locator("h1").inner_text()

    def over(self) -> bool:
        return self.page.locator("h1[data-state=over]").count() > 0

    def play_a_move(self, rng: random.Random) -> None:
        """Click at random on what is yellow, and know nothing else, until an action is chosen or the game is over.

        Each click is answered, and all that reacts is yellow.
        """
        log = self.page.locator(".log li")
        before = log.count()
        # The move itself is waited for, too: after it the turn may be another person's, with nothing to click here.
        what_follows = self.page.locator(f"{NEXT}, .log li:nth-child({before + 1})")
        while not self.over() and log.count() == before:
            what_follows.first.wait_for(state="attached")
            following = self.page.locator(".banner:not([hidden]) button")
            if following.count():
                following.click()
                continue
            chosen = self.page.locator("button.spot.chosen").evaluate_all("all => all.map((spot) => spot.dataset.spot)")
            lit, react = self.page.evaluate(LIT, YELLOW)
            if not react or log.count() > before:
                continue
            assert {name for _, _, name in lit} == set(react)
            x, y, name = rng.choice([each for each in lit if each[2] not in chosen])
            self.page.mouse.click(x, y)
            if self.page.locator("h1[data-state=turn]").count():
                answered = f"button.spot.chosen[data-spot='{name}'], .log li:nth-child({before + 1}), .board.sent"
                self.page.locator(answered).first.wait_for(state="attached")

    def gone_on_with(self, file, game: str) -> list[list[str]]:
        """Open a game against `random` shortly before its end, which was kept in the server's file; the clicks left.

        Seeds make it certain: `random` answers the clicks so that the game ends as it ended before.
        """
        (token,) = (each["value"] for each in self.context.cookies() if each["name"].startswith("ttt_envs_"))
        me = hashlib.sha256(token.partition(".")[0].encode()).hexdigest()  # without the proof that the server made it
        other, rng = agents.load("random"), np.random.default_rng(0)
        live = LiveGame.begin(ttt_envs.load(game, **KINDS[game]), LONG[game])
        clicks, mine = [], []
        while not live.over:
            (player,) = live.asked()
            if player == 0:
                action = int(rng.choice(live.legal(0)))
                clicks.append(list(live.game.clicks(live.state[0], action)))
                mine.append(live.ply)
            else:
                action = int(other.act(live.view(player))[0])
            live.choose(player, action)
        live.take_back(mine[-3])
        ident, seats = secrets.token_urlsafe(16), [Seat(None, me), Seat("random")]
        store = Store(file)
        store.add(
            StoredGame(
                id=ident,
                game=game,
                options=KINDS[game],
                seed=LONG[game],
                library=ttt_envs.__version__,
                creator=me,
                seats=seats,
                actions=live.actions,
            )
        )
        store.close()
        self.page.reload()
        self.page.locator(f".own a[href='#/g/{ident}']").click()
        self.page.locator(".board img").wait_for()
        return clicks[-3:]

    def close(self) -> None:
        self.context.close()
        assert self.faults == []


@pytest.fixture
def people(chromium, server):
    found: list[Person] = []

    def come(**settings) -> Person:
        found.append(Person(chromium, server, **settings))
        return found[-1]

    yield come
    for each in found:
        each.close()


@pytest.mark.parametrize(
    "game",
    [pytest.param(each, marks=pytest.mark.slow if each in LONG or each in LIKE_OTHERS else ()) for each in KINDS],
)
def test_a_game_of_every_kind_is_played_from_start_to_end_by_clicks(people, game):
    me, rng = people(viewport={"width": 1400, "height": 1000}), random.Random(1)
    me.begin(game, "me", "random", **KINDS[game])
    while not me.over():
        me.play_a_move(rng)
    look_back(me)


@pytest.mark.parametrize(
    "game", [pytest.param(each, marks=pytest.mark.slow if each == "martian_tic_tac_toe" else ()) for each in LONG]
)
def test_a_long_game_is_gone_on_with_and_played_to_its_end_by_clicks(people, folder, game):
    me = people(viewport={"width": 1400, "height": 1000})
    for spots in me.gone_on_with(folder / "games.sqlite", game):
        before = me.page.locator(".log li").count()
        for spot in spots:  # the first is enough where it leaves one choice
            if not me.page.locator(f".board.sent, .log li:nth-child({before + 1})").count():
                me.page.get_by_label(spot, exact=True).click()
        me.page.locator(f".log li:nth-child({before + 2}), h1[data-state=over]").first.wait_for(state="attached")
    me.page.locator("h1[data-state=over]").wait_for()
    look_back(me)


def look_back(me):
    """After a game the page shows the result, what was lost, and all positions, and offers a new game."""
    assert re.match(r"You (win|lose): |Draw", me.headline)
    me.page.get_by_text("What your moves have lost").wait_for()
    # By luck the other one may have won before anybody was asked here.
    asked = me.page.locator(".log li", has_text="you:").count() > 0
    review = me.page.locator(".review").inner_text()
    assert review.count("You lost") == asked
    assert not {"0", "false"} & set(review.splitlines())
    graph = me.page.locator(".chart")
    assert graph.count() == ("against best play" in review)
    if graph.count():
        plies = me.page.locator(".log li").count()
        x, y, width = (graph.bounding_box()[each] for each in ("x", "y", "width"))
        me.page.mouse.click(x + width * 44 / 640 + 1, y + 5)  # where ply 0 is
        me.page.get_by_text(f"ply 0 of {plies}").wait_for()
    # Back to the start, and on again.
    me.page.get_by_label("ply", exact=True).focus()
    me.page.keyboard.press("Home")
    me.page.get_by_text(re.compile("^ply 0 of")).wait_for()
    me.page.get_by_label("one ply on").click()
    me.page.get_by_text(re.compile("^ply 1 of")).wait_for()
    before = me.page.url
    me.page.get_by_role("button", name="New game").click()
    me.page.wait_for_url(lambda url: url != before)
    me.page.reload()
    me.page.locator("h1[data-state=turn], h1[data-state=over]").wait_for()


def test_what_is_pointed_at_explains_itself(people):
    me = people(has_touch=True)
    me.begin("tic_tac_match", "me", "invited", max_turns="8")
    me.page.locator(".tip").first.wait_for(state="attached")
    told = me.page.locator(".told")
    assert told.inner_text() == ""
    middle = [me.page.locator(".tip").nth(4).bounding_box()[each] for each in ("x", "y", "width", "height")]
    me.page.mouse.move(middle[0] + middle[2] / 2, middle[1] + middle[3] / 2)  # the card in the centre
    assert re.match(r"Cell E, a (red|blue|yellow|green) [XO]: ", told.inner_text())
    me.page.mouse.move(0, 0)
    assert told.inner_text() == ""
    me.page.locator(".tip").nth(4).tap()
    assert told.inner_text().startswith("Cell E, ")
    dice = people()
    dice.begin("tic_tac_dice", "me", "random", rounds="single")
    dice.page.locator("button.spot").first.hover()
    assert re.match(r"Card [A-I], rank \d, free\. \d+ of 36 rolls", dice.page.locator(".told").inner_text())
    dice.page.locator("button.spot").first.click()
    dice.page.locator(".log .aside", has_text=re.compile(r"^rolled \d and \d")).first.wait_for()
    assert "In a position as text" not in dice.page.locator("main").text_content()
    dice.page.locator("summary", has_text="Rules").click()
    dice.page.locator(".lessons img").nth(3).wait_for()
    assert dice.page.locator(".lessons img").nth(3).evaluate("each => each.decode().then(() => each.naturalWidth > 0)")


def test_the_overlay_shows_the_values_of_the_oracle(people):
    me = people()
    me.begin("tic_tac_dice", "me", "random", rounds="single")
    me.page.locator("button.spot").first.wait_for()
    me.page.get_by_label("Show what the oracle or a search thinks").check()
    me.page.locator(".mark").first.wait_for()
    spots = me.page.locator("button.spot")
    marks = [spots.nth(k).locator(".mark").inner_text() for k in range(spots.count())]
    values = [float(text.replace("−", "-")) for text in marks]
    assert all(-2 <= value <= 0 for value in values), "losses"
    # Several may look alike after rounding.
    best = [k for k in range(spots.count()) if spots.nth(k).locator(".mark.best").count() == 1]
    assert best
    assert all(values[k] == max(values) for k in best)
    best_spot = spots.nth(best[0])
    assert re.search(r", loss 0\.00$", best_spot.get_attribute("aria-label"))
    assert "Best play for X, by the oracle" in me.page.locator(".thoughts").inner_text()
    me.page.get_by_role("button", name="Hint").click()
    me.page.locator(".banner", has_text="Hint, by the oracle").wait_for()
    assert me.page.locator(".hinted .mark.best").count() == 1
    me.page.get_by_label("Show what the oracle or a search thinks").uncheck()
    assert me.page.locator(".mark").count() == 0


def invitation(person: Person) -> str:
    return person.page.locator(".invitation input").input_value()


def test_two_people_play_each_other_and_hands_stay_hidden(people):
    me, other, rng = people(), people(), random.Random(0)
    me.begin("tic_tac_match", "me", "invited", max_turns="8")
    link = invitation(me)
    other.page.goto(link)
    other.page.locator(".board img").wait_for()
    assert link.rsplit("/", 1)[1] not in other.page.url, "the key does not stay in the address"
    me.page.locator(".invitation").wait_for(state="detached")
    hands: list[set[str]] = [set(), set()]
    while not me.over():
        for seat, person in enumerate((me, other)):
            (hand,) = re.findall(rf"^hand {seat}: (.*)$", person.page.locator("pre").text_content(), re.M)
            hands[seat].add(hand)
        turns = [person for person in (me, other) if person.page.locator("h1[data-state=turn]").count()]
        if turns:
            turns[0].play_a_move(rng)
        else:
            me.page.wait_for_timeout(20)
    # Of all that was sent before the end, nothing tells what the other held.
    for seat, person in enumerate((me, other)):
        running = [each for each in person.received if re.search(r'"over": ?false', each)]
        own = re.findall(rf"hand {seat}: ([^\\]*)", "".join(running))
        shown = re.findall(rf"hand {1 - seat}: ([^\\]*)", "".join(running))
        assert len(running) > 4
        assert set(own) == hands[seat]
        assert all(re.fullmatch(r"\d hidden", each) for each in shown), shown
        # A hand that was wiped out begins the list of the discards, and may begin another hand: it ends there, too.
        secret = "|".join(map(re.escape, hands[1 - seat] - hands[seat]))
        assert not any(re.search(f": ({secret})(?!,)", each) for each in running)


def test_a_curtain_hides_the_board_from_the_other_person_at_one_browser(people):
    me = people()
    me.begin("operation_tic_tac_toe", "me", "me", mode="round")
    board, curtain = me.page.locator(".board"), me.page.locator(".curtain")
    for name in "XO":
        curtain.get_by_role("button", name=f"I am {name}").wait_for()
        assert board.is_hidden()
        assert me.page.locator("button.spot:visible, .names button:visible").count() == 0
        assert me.page.locator("pre").is_hidden()
        curtain.get_by_role("button").click()
        assert curtain.is_hidden()
        spots = me.page.locator("button.spot:not(.chosen)")
        spots.first.wait_for()
        assert me.page.locator(".log li").count() == 0, "nothing of the first choice is told"
        while curtain.is_hidden():
            me.page.locator("button.spot:not(.chosen):visible, .curtain:visible").first.wait_for()
            if curtain.is_hidden():
                spots.first.click()
            me.page.wait_for_timeout(100)
    me.page.locator(".log li").first.wait_for()


def test_a_finished_game_is_kept_and_its_address_copied(people, tmp_path):
    pytest.importorskip("resvg_py")
    me, rng = people(permissions=["clipboard-read", "clipboard-write"]), random.Random(1)
    me.begin("tic_tac_dice", "me", "random", rounds="single")
    assert me.page.get_by_role("button", name="Save film").is_hidden()
    while not me.over():
        me.play_a_move(rng)
    for kind, ending in (("film", ".gif"), ("record", ".jsonl")):
        with me.page.expect_download() as download:
            me.page.get_by_role("button", name=f"Save {kind}").click()
        download.value.save_as(tmp_path / kind)
        assert download.value.suggested_filename.endswith(ending)
    assert (tmp_path / "film").read_bytes()[:6] == b"GIF89a"
    (record,) = records.read(tmp_path / "record")
    assert record.agents == ("a person", "random")
    me.page.get_by_role("button", name="Copy link").click()
    assert me.page.evaluate("navigator.clipboard.readText()") == me.page.url


def test_choices_at_once_are_not_told_before_both_have_chosen(people):
    me, other, rng = people(), people(), random.Random(0)
    me.begin("operation_tic_tac_toe", "me", "invited", mode="round")
    other.page.goto(invitation(me))
    other.page.locator("button.spot").first.wait_for()
    me.page.locator("button.spot").first.wait_for()
    before = len(other.received)
    told, spots = me.page.locator("h1", has_text="You chose"), me.page.locator("button.spot:not(.chosen)")
    while not told.count():
        told.or_(spots).first.wait_for()
        if count := spots.count():
            spots.nth(rng.randrange(count)).click()
    chosen = re.match(r"You chose (.*)\. Waiting", me.headline)[1]
    other.page.locator("li", has_text="has chosen").wait_for()
    new = "".join(other.received[before:])
    assert new
    assert f'"chosen": "{chosen}"' not in new
    assert '"moves": []' in new
    other.play_a_move(rng)
    other.page.locator(".log li", has_text=chosen).wait_for()


def test_two_games_are_apart_and_others_cannot_move(people):
    me, other = people(), people()
    me.begin("super_tic_tac_toe", "me", "invited")
    first = me.page.url
    me.page.get_by_label("cell 4/4").click()
    me.page.locator(".log li").first.wait_for()
    other.begin("super_tic_tac_toe", "me", "random")
    assert other.page.locator(".log li").count() == 0
    other.page.goto(first)
    other.page.locator(".log li").first.wait_for()
    assert other.page.locator("button.spot").count() == 0
    assert other.page.locator(".invitation").count() == 0
    answer = other.page.evaluate(
        """async (id) => (await fetch(`/api/served/${id}/move`, {method: "POST", headers: {"content-type":
        "application/json"}, body: JSON.stringify({player: 1, ply: 1, action: "4/0"})})).status""",
        first.rsplit("/", 1)[1],
    )
    assert answer == 403
    other.faults = [each for each in other.faults if "403" not in each]


def test_a_reload_and_a_killed_server_lose_nothing(people, chromium, tmp_path):
    server = Served(tmp_path / "games.sqlite")
    me, rng = Person(chromium, server), random.Random(2)
    me.begin("super_tic_tac_toe", "me", "random")
    for _ in range(2):
        me.play_a_move(rng)
    me.page.locator("button.spot").first.wait_for()
    before = [each.inner_text() for each in me.page.locator(".log li").all()]
    me.page.reload()
    me.page.locator("button.spot").first.wait_for()
    assert [each.inner_text() for each in me.page.locator(".log li").all()] == before
    server.kill()
    me.page.get_by_text("The connection is lost").wait_for()
    server.start(server.port)
    me.page.get_by_text("The connection is lost").wait_for(state="hidden")
    me.play_a_move(rng)
    assert [each.inner_text() for each in me.page.locator(".log li").all()][: len(before)] == before
    me.context.close()
    server.stop()


def test_one_click_plays_against_the_level_chosen(people):
    me = people()
    cards = me.page.locator(".card-play")
    assert cards.count() == 5
    for k in range(5):
        assert cards.nth(k).locator("img").evaluate("each => each.complete && each.naturalWidth > 0")
        assert cards.nth(k).locator("span:not(.shown)").inner_text().endswith(".")
    assert me.page.get_by_label("medium").is_checked()
    note = me.page.locator(".card .note").nth(2)
    assert re.fullmatch(r"greedy, one move ahead, \d+ Elo on its ladder", note.inner_text())
    me.page.locator(".level", has_text="perfect").click()
    assert re.fullmatch(r"best play, \d+ Elo on its ladder", note.inner_text())
    assert "the strongest there is: " in me.page.locator(".card .note").first.inner_text()
    cards.nth(2).click()
    me.page.locator("button.spot").first.wait_for()
    assert "best play" in me.page.locator(".seats").inner_text()
    me.page.locator(".home").click()
    assert me.page.get_by_label("perfect").is_checked(), "the level stays"


def test_on_a_phone_what_follows_a_game_is_in_reach(people):
    me, rng = people(viewport={"width": 390, "height": 800}, has_touch=True), random.Random(0)
    me.begin("tic_tac_dice", "me", "random", rounds="single")
    while not me.over():
        me.play_a_move(rng)
    for name in ("Copy link", "Save film", "Save record", "New game"):
        me.page.get_by_role("button", name=name).click(trial=True)  # nothing lies over it
    box = me.page.get_by_role("button", name="New game").bounding_box()
    assert box["y"] + box["height"] <= 800, "in reach of a thumb"


def test_on_a_phone_fingers_hit_the_cells_and_reach_the_hint(people):
    me = people(viewport={"width": 400, "height": 800}, has_touch=True)
    for game in ("super_tic_tac_toe", "tic_tac_dice", "operation_tic_tac_toe"):
        me.begin(game, "me", "random")
        me.page.locator("button.spot").first.wait_for()
        for spot in me.page.locator("button.spot[data-spot^=c], button.spot[data-spot^=r]").all():
            box = spot.bounding_box()
            assert min(box["width"], box["height"]) >= 43.9, (game, box)
            assert box["x"] >= 0, "what is lit is in view"
            assert box["x"] + box["width"] <= 400
        hint = me.page.get_by_role("button", name="Hint").bounding_box()
        assert hint["y"] + hint["height"] <= 800
        assert hint["height"] >= 44


def test_a_board_fits_a_window_that_grows_and_a_hint_moves_nothing_out_of_sight(people):
    me = people(viewport={"width": 400, "height": 800})
    me.begin("super_tic_tac_toe", "me", "random")
    me.page.locator("button.spot").first.wait_for()
    assert me.page.locator(".board-inner").evaluate("each => each.style.width"), "enlarged for fingers"
    me.page.set_viewport_size({"width": 1280, "height": 860})
    me.page.wait_for_function("() => document.querySelector('.board-inner').style.width === ''")
    me.page.get_by_role("button", name="Hint").click()
    me.page.locator(".banner:not([hidden])", has_text="Hint").wait_for()
    slider = me.page.locator(".history").bounding_box()
    assert slider["y"] + slider["height"] <= 860


@pytest.mark.parametrize("scheme", ["light", pytest.param("dark", marks=pytest.mark.slow)])
def test_on_a_phone_nothing_is_wider_than_the_page(people, scheme):
    me, rng = people(viewport={"width": 360, "height": 740}, color_scheme=scheme, has_touch=True), random.Random(0)
    width = "document.documentElement.scrollWidth"
    assert me.page.evaluate(width) == 360
    for game, options in KINDS.items():
        me.begin(game, "me", "random", **options)
        for _ in range(2):
            me.play_a_move(rng)
        for each in me.page.locator("details:not([open]) > summary").all():
            if each.is_visible():
                each.click()
        assert me.page.evaluate(width) == 360, game
    background = me.page.evaluate("getComputedStyle(document.body).backgroundColor")
    assert (sum(map(int, re.findall(r"\d+", background))) > 384) == (scheme == "light")


def test_a_game_is_played_by_keys_alone(people, folder):
    me, rng = people(), random.Random(0)
    me.page.get_by_role("link", name="Options and seats").first.focus()
    me.page.keyboard.press("Enter")
    me.page.get_by_label("Super Tic-Tac-Toe").focus()
    for _ in range(40):
        if me.page.evaluate("document.activeElement.textContent") == "Start the game":
            break
        me.page.keyboard.press("Tab")
    me.page.locator("select[name=seat]").nth(1).select_option('{"kind":"agent","agent":"random"}')
    me.page.keyboard.press("Enter")
    me.page.locator("button.spot").first.wait_for()
    for _ in range(20):
        if me.page.evaluate("document.activeElement.classList.contains('spot')"):
            break
        me.page.keyboard.press("Tab")
    assert me.page.evaluate("document.activeElement.getAttribute('aria-label')").startswith("cell 4/")
    me.page.keyboard.press("ArrowRight")
    me.page.keyboard.press("ArrowDown")
    assert me.page.evaluate("document.activeElement.getAttribute('aria-label')") == "cell 4/4"
    for turn in range(1, 4):
        me.page.locator("button.spot:focus").wait_for()  # after each answer the focus is on the board again
        me.page.keyboard.press(rng.choice(["ArrowLeft", "ArrowRight", "ArrowUp", "ArrowDown"]))
        me.page.keyboard.press("Enter")
        me.page.locator(f".log li:nth-child({2 * turn})").wait_for()
    me.page.goto(f"{me.server.address}/#/")
    me.gone_on_with(folder / "games.sqlite", "super_tic_tac_toe")
    me.page.locator("button.spot").first.focus()
    for _ in range(40):
        me.page.locator("button.spot:focus, h1[data-state=over]").first.wait_for()
        if me.over():
            break
        before = me.page.locator(".log li").count()
        me.page.keyboard.press("Enter")
        me.page.locator(f".log li:nth-child({before + 2}), h1[data-state=over]").first.wait_for()
    said = me.page.locator("#said").inner_text()
    assert re.search("You (win|lose)|Draw", said)


def test_recorded_games_are_opened_and_stepped_through(people):
    me = people()
    me.page.get_by_role("link", name="Recorded games").click()
    me.page.get_by_role("link", name="games.jsonl").click()
    rows = me.page.locator("tbody tr")
    rows.nth(1).wait_for()
    assert [row.inner_text().split("\t")[1] for row in rows.all()] == ["random – greedy, one move ahead"] * 2
    plies = int(rows.nth(1).locator("td").nth(2).inner_text())
    me.page.get_by_role("link", name="game 1").click()
    back, on = me.page.get_by_label("back", exact=True), me.page.get_by_label("on", exact=True)
    me.page.get_by_text("ply 0", exact=True).wait_for()
    assert me.headline == "Start."
    assert back.is_disabled()
    pictures = set()
    for ply in range(1, plies + 1):
        pictures.add(me.page.locator(".board img").get_attribute("src"))
        on.click()
        me.page.get_by_text(f"ply {ply}", exact=True).wait_for()
    assert len(pictures) == plies, "each position has its picture"
    assert re.match("X wins|O wins|Draw", me.headline)
    assert on.is_disabled()
    back.click()
    me.page.get_by_text(f"ply {plies - 1}", exact=True).wait_for()
    assert re.match(r"[XO]: ", me.headline)
    me.page.get_by_label("position", exact=True).focus()
    me.page.keyboard.press("Home")
    me.page.get_by_text("ply 0", exact=True).wait_for()
    me.page.get_by_role("button", name="Play").click()
    me.page.get_by_text("ply 1", exact=True).wait_for()
    me.page.get_by_role("button", name="Pause").click()
    me.page.get_by_role("link", name="All games of this file").click()
    rows.nth(1).wait_for()


def test_agents_are_watched_with_pause_and_step(people):
    me = people()
    me.begin("tic_tac_dice", "random", "greedy", rounds="single")
    me.page.get_by_role("button", name="One ply", exact=True).click()
    me.page.get_by_text("ply 1 of 1").wait_for()
    me.page.get_by_label("pace").select_option("at once")
    me.page.get_by_role("button", name="Play", exact=True).click()
    me.page.locator("h1[data-state=over]").wait_for()
    assert me.page.get_by_role("button", name="Play", exact=True).is_hidden()
