"""Games played on the page of `ttt serve` in Debian's chromium, by clicks and keys."""

import random
import re

import pytest
from web_people import KINDS, LIKE_OTHERS, LONG, NEEDED, Person

from tools.serving import Served

pytestmark = NEEDED


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
def test_a_long_game_is_gone_on_with_and_played_to_its_end_by_clicks(people, game):
    me = people(viewport={"width": 1400, "height": 1000})
    for spots in me.gone_on_with(game):
        before = me.page.locator(".log li").count()
        for spot in spots:  # the first is enough where it leaves one choice
            if not me.page.locator(f".board.sent, .log li:nth-child({before + 1})").count():
                me.page.get_by_label(spot, exact=True).click()
        me.page.locator(f".log li:nth-child({before + 2}), h1[data-state=over]").first.wait_for(state="attached")
    me.page.locator("h1[data-state=over]").wait_for()
    look_back(me)


def look_back(me):
    """After a game the page shows the result, what was lost, and all positions, and offers a new game."""
    assert re.match(r"You win: |Random wins: |Draw", me.headline)
    me.page.get_by_text("How good your moves were").wait_for()
    # By luck the other one may have won before anybody was asked here.
    moves = me.page.locator(".log li", has_text="You:").count()
    review = me.page.locator(".review").inner_text()
    graph = me.page.locator(".chart")
    assert (
        graph.count()
        == len(
            re.findall(r"^You: (no mistakes|\d+ .*) in \d+ moves?(; \d+ more w(?:as|ere) not judged)?$", review, re.M)
        )
        <= moves
    )
    assert not {"0", "false"} & set(review.splitlines())
    if graph.count():
        plies = me.page.locator(".log li").count()
        x, y, width = (graph.bounding_box()[each] for each in ("x", "y", "width"))
        me.page.mouse.click(x + width * 44 / 640 + 1, y + 5)  # where ply 0 is
        me.page.get_by_text(f"move 0 of {plies}").wait_for()
    # Back to the start, and on again.
    me.page.get_by_label("ply", exact=True).focus()
    me.page.keyboard.press("Home")
    me.page.get_by_text(re.compile("^move 0 of")).wait_for()
    me.page.get_by_label("one ply on").click()
    me.page.get_by_text(re.compile("^move 1 of")).wait_for()
    before = me.page.url
    me.page.get_by_role("button", name="New game").click()
    me.page.wait_for_url(lambda url: url != before)
    me.page.reload()
    me.page.locator("h1[data-state=turn], h1[data-state=over]").wait_for()


def test_a_game_is_played_by_keys_alone(people):
    me, rng = people(), random.Random(0)
    me.page.get_by_role("link", name="Options and players").first.focus()
    me.page.keyboard.press("Enter")
    me.page.locator("[data-game=super_tic_tac_toe]").wait_for()  # the form comes when the game is compiled
    for _ in range(40):
        if me.page.evaluate("document.activeElement.textContent") == "Start the game":
            break
        me.page.keyboard.press("Tab")
    me.page.locator("select[name=seat]").nth(1).select_option("random")
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
    me.gone_on_with("super_tic_tac_toe")
    me.page.locator("button.spot").first.focus()
    for _ in range(40):
        me.page.locator("button.spot:focus, h1[data-state=over]").first.wait_for()
        if me.over():
            break
        before = me.page.locator(".log li").count()
        me.page.keyboard.press("Enter")
        me.page.locator(f".log li:nth-child({before + 2}), h1[data-state=over]").first.wait_for()
    said = me.page.locator("#said").inner_text()
    assert re.search("You win|Random wins|Draw", said)


def test_a_reload_and_a_new_server_lose_nothing_and_a_stopped_one_and_a_broken_agent_are_named(chromium, tmp_path):
    (tmp_path / "mine.py").write_text("class Mine:\n    def act(self, view):\n        raise SystemExit('enough')\n")
    mine = f"{tmp_path}/mine.py:Mine"
    with Served(tmp_path) as server:
        me, rng = Person(chromium, server), random.Random(2)
        me.begin("super_tic_tac_toe", "me", "random")
        for _ in range(2):
            me.play_a_move(rng)
        me.page.locator("button.spot").first.wait_for()
        before = [each.inner_text() for each in me.page.locator(".log li").all()]
        me.page.reload()
        me.page.locator("button.spot").first.wait_for()
        assert [each.inner_text() for each in me.page.locator(".log li").all()] == before
    me.page.locator("button.spot").first.click()
    me.page.get_by_text("The server does not answer").wait_for()
    with Served(tmp_path, agents=[mine]) as server:
        me.page.goto(f"{server.address}/#/records")
        me.page.locator("td a").first.click()
        me.page.get_by_text(f"move {len(before)} of {len(before)}").wait_for()
        me.play_a_move(rng)
        assert [each.inner_text() for each in me.page.locator(".log li").all()][: len(before)] == before
        me.server = server
        me.begin("super_tic_tac_toe", "me", mine)
        me.page.locator("button.spot").first.click()
        me.page.locator("h1", has_text="with SystemExit: enough").wait_for()
        me.page.get_by_role("button", name="Take back").click()
        me.page.locator("h1[data-state=turn]").wait_for()
    me.context.close()
