"""Pages of `ttt serve` in Debian's chromium: what they show, explain and keep, on large screens and small ones."""

import random
import re
from datetime import datetime

from web_people import KINDS, LIKE_OTHERS, NEEDED

pytestmark = NEEDED


def test_what_is_pointed_at_explains_itself(people):
    me = people(has_touch=True)
    me.begin("tic_tac_dice", "me", "random", rounds="single")
    told, spot = me.page.locator(".told"), me.page.locator("button.spot").first
    explained = re.compile(r"Card [A-I], rank \d, free\. \d+ of 36 rolls")
    assert told.inner_text() == ""
    spot.hover()
    assert explained.match(told.inner_text())
    me.page.mouse.move(0, 0)
    assert told.inner_text() == ""
    spot.click()
    me.page.locator(".log small", has_text=re.compile(r"^rolled \d and \d")).first.wait_for()
    assert "In a position as text" not in me.page.locator("main").text_content()
    me.page.locator("summary", has_text="Rules").click()
    me.page.locator(".lessons img").nth(3).wait_for()
    assert me.page.locator(".lessons img").nth(3).evaluate("each => each.decode().then(() => each.naturalWidth > 0)")


def test_a_curtain_hides_the_board_from_the_other_person(people):
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


def test_one_click_plays_against_the_level_chosen(people):
    me = people()
    cards = me.page.locator(".card")
    assert cards.count() == 7
    for image in me.page.locator(".card img").all():
        assert image.evaluate("each => each.decode().then(() => each.naturalWidth > 0)")
    levels = {card.get_attribute("data-game"): card.locator(".levels").inner_text().split() for card in cards.all()}
    assert levels["martian_tic_tac_toe"] == ["easy", "medium", "strong", "perfect"]
    assert levels["tic_tac_dice"] == levels["big_tic_tac_dice"] == ["easy", "medium", "strong"], "strong is perfect"
    me.page.locator("[data-game=tic_tac_dice]").get_by_role("button", name="strong").click()
    me.page.locator("button.spot").first.wait_for()
    you, other = me.page.locator(".seats li").all()
    assert you.locator("b").inner_text() == "You"
    assert other.locator("b").inner_text() == "Strong"
    assert other.locator("small").inner_text() == "O · Q network with two plies of search"
    me.page.locator("button.spot").first.click()
    me.page.locator(".log li", has_text=re.compile("You: card|Strong: card")).first.wait_for()


def test_the_board_fits_and_the_slider_and_the_hint_stay_in_sight(people):
    me = people()
    for game in ("super_tic_tac_toe", "tic_tac_dice", "operation_tic_tac_toe"):
        me.begin(game, "me", "random")
        me.page.get_by_role("button", name="Hint").click()
        me.page.locator(".banner:not([hidden])", has_text=re.compile("Hint|one choice")).wait_for()
        for width, height in ((375, 667), (1280, 860)):
            me.page.set_viewport_size({"width": width, "height": height})
            for spot in me.page.locator("button.spot").all():
                box = spot.bounding_box()
                assert min(box["width"], box["height"]) >= 30, (game, box)
                assert 0 <= box["x"] <= box["x"] + box["width"] <= width
            for seen in (me.page.get_by_label("ply", exact=True), me.page.get_by_role("button", name="Hint")):
                seen.click(trial=True)  # nothing lies over it
                box = seen.bounding_box()
                assert box["y"] + box["height"] <= height


def test_the_last_move_glows_unless_motion_is_reduced(people):
    for reduced, ends in (("no-preference", [1000]), ("reduce", [])):
        me = people(reduced_motion=reduced)
        me.begin("super_tic_tac_toe", "me", "random")
        me.page.locator("button.spot[data-spot='cell 4/4']").click()
        me.page.locator(".log li").nth(1).wait_for()
        times = "each => each.getAnimations().map((motion) => motion.effect.getComputedTiming().endTime)"
        assert me.page.locator(".landed").evaluate(times) == ends


def test_a_choice_outlives_whatever_else_changes_on_the_page(people):
    me, sent = people(), []
    me.begin("tic_tac_match", "me", "random", max_turns="6")
    me.page.route("**/move", lambda route: sent.append(route))
    overlay, chosen = me.page.get_by_label("Show what the oracle"), me.page.locator("button.spot.chosen")
    free, log = me.page.locator("button.spot:not(.chosen)").first, me.page.locator(".log li")
    free.click()
    overlay.check()
    assert chosen.count() == 1
    before = log.count()
    with me.page.expect_request("**/move"):
        me.page.locator("button.spot.next").first.click()
    overlay.uncheck()
    assert chosen.count() == 2
    free.click()
    me.page.get_by_text("Choose by name").click()
    me.page.locator(".names button").first.click()
    sent[0].continue_()
    log.nth(before).wait_for()
    assert len(sent) == 1
    assert chosen.count() == 0


def test_on_a_phone_nothing_is_wider_than_the_page(people):
    me, rng = people(viewport={"width": 360, "height": 740}, has_touch=True), random.Random(0)
    width = "document.documentElement.scrollWidth"
    assert me.page.evaluate(width) == 360
    for game in [game for game in KINDS if game not in LIKE_OTHERS]:
        me.begin(game, "me", "random", **KINDS[game])
        me.play_a_move(rng)
        for each in me.page.locator("details:not([open]) > summary").all():
            if each.is_visible():
                each.click()
        assert me.page.evaluate(width) == 360, game
    for scheme in ("light", "dark"):
        me.page.emulate_media(color_scheme=scheme)
        background = me.page.evaluate("getComputedStyle(document.body).backgroundColor")
        assert (sum(map(int, re.findall(r"\d+", background))) > 384) == (scheme == "light")


def test_recorded_games_are_opened_and_stepped_through(people):
    me = people()
    me.page.get_by_role("link", name="Recorded games").click()
    row = me.page.locator("tr", has_text="random · greedy, one move ahead").last
    game, who, number, written, file = row.inner_text().split("\t")
    assert (game, who, number, file) == ("Tic-Tac-Dice", "random · greedy, one move ahead", "2", "games.jsonl")
    assert str(datetime.now().year) in written
    row.get_by_role("link").click()
    me.page.get_by_role("link", name="All files").wait_for()
    rows = me.page.locator("tr:has(td)")
    assert [row.inner_text().split("\t")[1] for row in rows.all()] == ["random – greedy, one move ahead"] * 2
    plies = int(rows.nth(1).locator("td").nth(3).inner_text())
    me.page.get_by_role("link", name="game 1").click()
    me.page.get_by_text(f"move {plies} of {plies}").wait_for()
    assert re.match("Random wins|Greedy wins|Draw", me.headline)
    graph = me.page.locator(".review .chart")
    graph.wait_for()
    found = re.findall(r"^(.*): .* in \d+ moves?\b", me.page.locator(".review").inner_text(), re.M)
    assert found == ["random", "greedy"]
    me.page.get_by_label("ply", exact=True).focus()
    me.page.keyboard.press("Home")
    me.page.get_by_text(f"move 0 of {plies}").wait_for()
    pictures = set()
    for ply in (1, 2, 3):
        pictures.add(me.page.locator(".board img").get_attribute("src"))
        me.page.get_by_label("one ply on").click()
        me.page.get_by_text(f"move {ply} of {plies}").wait_for()
    assert len(pictures) == 3, "each position has its picture"
    me.page.get_by_label("pace").select_option("at once")
    me.page.get_by_role("button", name="Play", exact=True).click()
    me.page.get_by_text(f"move {plies} of {plies}").wait_for()
    assert me.page.get_by_label("one ply on").is_disabled()
    me.page.go_back()
    rows.nth(1).wait_for()
