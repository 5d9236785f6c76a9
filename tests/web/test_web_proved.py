"""Proved values and estimates on the page of `ttt serve`, and addresses and clicks that lead nowhere."""

import re
from itertools import pairwise

import pytest
from web_people import NEEDED

pytestmark = NEEDED

SUPER = "super_tic_tac_toe"


def after(people, *moves):
    """A page on which a person has played these moves of Super Tic-Tac-Toe for both sides, with the thoughts shown."""
    me = people()
    me.begin(SUPER, "me", "me")
    for move in moves:
        lift = me.page.locator(".curtain:visible button")
        if lift.count():
            lift.click()
        spots = me.page.locator(f"button.spot[data-spot='cell {move}']")
        spots.click()
        me.page.locator(".log li").nth(moves.index(move)).wait_for()
    if me.page.locator(".curtain:visible button").count():
        me.page.locator(".curtain:visible button").click()
    me.page.get_by_label("Show what the oracle or a search thinks").check()
    me.page.locator(".thoughts table").wait_for()
    return me


def test_beside_a_proved_win_other_moves_are_not_proved(people):
    me = after(people, "4/4", "4/6")
    rows = [row.inner_text() for row in me.page.locator(".thoughts tr").all()[1:]]
    assert sum("+1.00" in row for row in rows) >= 1
    others = [row for row in rows if "+1.00" not in row]
    assert others
    assert all("not proved" in row for row in others)
    assert not any("≈" in row for row in rows)
    assert me.page.locator(".unproved .loss").count() == 0
    marks = me.page.locator(".mark")
    assert {marks.nth(k).inner_text() for k in range(marks.count())} == {"0.00", "?"}
    assert set(me.page.locator(".mark.best").all_inner_texts()) == {"0.00"}
    assert me.page.locator(".mark.unproved").count() == len(others)
    assert "not proved" in me.page.locator("button.spot:has(.mark.unproved)").first.get_attribute("aria-label")


def test_estimates_carry_a_sign_and_lie_in_their_own_cell(people):
    me = after(people, "4/0", "0/1")
    marks = me.page.locator("button.spot .mark")
    assert marks.count() == 9
    for k in range(marks.count()):
        assert re.match(r"≈(0\.00|−[01]\.\d\d)$", marks.nth(k).inner_text())
        spot, mark = (each.bounding_box() for each in (marks.nth(k).locator(".."), marks.nth(k)))
        assert spot["y"] <= mark["y"]
        assert mark["y"] + mark["height"] <= spot["y"] + spot["height"] / 2 + 2
        assert spot["x"] - 2 <= mark["x"]
        assert mark["x"] + mark["width"] <= spot["x"] + spot["width"] + 2
    me.page.get_by_label("Show what the oracle or a search thinks").uncheck()
    assert marks.count() == 0


def test_the_graph_joins_no_proved_values_with_estimates(people):
    """The review is that of a short game, all proved, of which every third decision is then said to be estimated.

    It is watched with pause and step, and can be saved.
    """
    pytest.importorskip("resvg_py")
    me = people()
    sources = []

    def answered(route):
        answer = route.fetch()
        found = answer.json()
        for each in found["decisions"][::3]:
            each["source"] = "mcts"
        sources.extend(each["source"] for each in found["decisions"])
        route.fulfill(response=answer, json=found)

    me.page.route("**/review", answered)
    me.begin("tic_tac_dice", "random", "random", rounds="single")
    me.page.get_by_label("one ply on").click()
    me.page.get_by_text("move 1 of 1").wait_for()
    assert me.page.get_by_role("button", name="Save film").is_hidden()
    me.page.get_by_label("pace").select_option("at once")
    me.page.get_by_role("button", name="Play", exact=True).click()
    me.page.locator("h1[data-state=over]").wait_for()
    me.page.get_by_text("How good the moves were").wait_for()
    me.page.locator(".chart").wait_for()
    for name, ending in (("Save film", ".gif"), ("Save record", ".jsonl")):
        with me.page.expect_download() as download:
            me.page.get_by_role("button", name=name).click()
        assert download.value.suggested_filename.endswith(ending)
    assert set(sources) == {"oracle", "mcts"}
    lines = me.page.locator(".chart polyline")
    assert lines.count() == 1 + sum(one != other for one, other in pairwise(sources))
    estimated = me.page.locator(".chart polyline.estimated").count()
    assert estimated == len(sources[::3])


def test_addresses_that_lead_nowhere_say_so(people):
    me = people()
    me.begin(SUPER, "me", "random")
    ident = me.page.url.rpartition("/")[2]
    for address in ("#/g/%", "#/g/100%25%zz", f"#/g/{ident}?x", f"#/g/{ident}%3Fx", "#/g/nothing", "#/new/%"):
        me.page.goto(f"{me.server.address}/{address}")
        me.page.locator("h1", has_text="This cannot be shown").wait_for()
    me.faults.clear()  # the browser names each answer 404
