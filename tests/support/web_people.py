"""People at browsers of their own, who play on the page of `ttt serve` by clicks and know only what is lit."""

import random
import shutil

import numpy as np
import pytest

import ttt_envs
from tools.serving import Served
from ttt_envs import agents
from ttt_envs.core.played_game import PlayedGame
from ttt_envs.drawing.theme import COLOURS

api = pytest.importorskip("playwright.sync_api")
pytest.importorskip("starlette")
pytest.importorskip("uvicorn")

CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")

#: What a file of tests in the browser needs.
NEEDED = [
    pytest.mark.skipif(CHROMIUM is None, reason="no chromium on this machine: apt-get install chromium"),
]

#: All games, with options that make them short.
KINDS = {
    "super_tic_tac_toe": {},
    "martian_tic_tac_toe": {},
    "tic_tac_dice": {"rounds": "single"},
    "big_tic_tac_dice": {"rounds": "single"},
    "tic_tac_super_dice": {"rounds": "single"},
    "tic_tac_match": {"max_turns": "6"},
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

# The button that shows the next round; not the one beside it that ends the waiting for what the moves have lost.
FOLLOWING = ".banner:not([hidden], [role=status]) button"
NEXT = f"button.spot:not(.chosen), {FOLLOWING}, h1[data-state=over]"


class Person:
    """A person at a browser of their own."""

    def __init__(self, chromium, server: Served, **settings) -> None:
        self.context = chromium.new_context(**settings)
        self.server = server
        self.page = self.context.new_page()
        self.page.set_default_timeout(180_000)  # much may have to be compiled, on a busy machine
        self.faults: list[str] = []
        self.page.on("console", lambda message: self.faults.append(message.text))
        self.page.on("pageerror", lambda error: self.faults.append(str(error)))
        self.page.goto(server.address)
        self.page.locator(".card-play").first.wait_for()

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
            self.page.locator("select[name=seat]").nth(player).select_option("" if seat == "me" else seat)
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
            following = self.page.locator(FOLLOWING)
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

    def gone_on_with(self, game: str) -> list[list[str]]:
        """Open a game against `random` shortly before its end; the clicks left.

        Seeds make it certain: `random` answers the clicks so that the game ends as it ended before.
        """
        other, rng = agents.load("random"), np.random.default_rng(0)
        live = PlayedGame.begin(ttt_envs.load(game, **KINDS[game]), LONG[game])
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
        served = self.server.hall.keep(live, [None, "random"])
        self.page.goto(f"{self.server.address}/#/")
        self.page.reload()
        self.page.locator(f".own a[href='#/g/{served.id}']").click()
        self.page.locator(".board img").wait_for()
        return clicks[-3:]

    def close(self) -> None:
        self.context.close()
        assert self.faults == [], self.faults
