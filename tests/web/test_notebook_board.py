"""The board in a notebook: games in the kernel, and clicks on the widget in a browser."""

import json
import random
import shutil

import pytest

import ttt_envs
from ttt_envs.core.checks import IllegalAction

pytest.importorskip("anywidget")

from ttt_envs.web.notebook import Board

CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")

# What a notebook does: it gives the module a model and an element.
HOST = """async ([source, style, state]) => {
  const sheet = document.createElement("style");
  sheet.textContent = style;
  document.head.append(sheet);
  const listeners = {};
  window.model = {
    get: (name) => state[name],
    set: (name, value) => { state[name] = value; },
    save_changes: () => window.kernel(JSON.stringify({ values: state.values })),
    send: (message) => window.kernel(JSON.stringify(message)),
    on: (name, listener) => { listeners[name] = listener; },
    off: (name) => { delete listeners[name]; },
    take: (name, value) => { state[name] = value; listeners[`change:${name}`]?.(); },
  };
  const module = await import(URL.createObjectURL(new Blob([source], { type: "text/javascript" })));
  window.leave = module.default.render({ model: window.model, el: document.body });
}"""


@pytest.mark.parametrize(
    ("game", "options"),
    [("operation_tic_tac_toe", {"mode": "round"}), ("tic_tac_match", {"max_turns": 6})],
)
def test_a_game_is_played_to_its_end(game, options):
    board, rng = Board(game, "greedy", player=1, seed=3, **options), random.Random(0)
    while not board.live.over:
        names = [each["name"] for each in board.position["actions"]]
        assert sorted(names) == sorted(board.live.game.action_names[action] for action in board.live.legal(1))
        before = board.live.ply
        board._told(board, {"do": "choose", "action": rng.choice(names)}, [])
        assert board.live.ply > before
    json.dumps(board.position)
    picture = board._repr_mimebundle_()[0]["image/svg+xml"]
    assert picture == board.live.game.draw(board.live.state[0], 1)
    assert board.position["over"]["rewards"] == board.live.state["rewards"][0].tolist()
    assert board.position["actions"] == []
    assert board.hint() == ""
    first = board.live.states[0]
    board.again()
    assert board.live.states[0] != first, "the next seed"
    assert Board(game, "greedy", player=1, seed=3, **options).live.states[0] == first


def test_values_are_those_of_the_oracle_and_of_nobody_until_asked_for():
    board = Board("tic_tac_dice", seed=0, rounds="single")
    assert board.position["thoughts"] is None
    board.values = True
    thoughts, live = board.position["thoughts"], board.live
    assert thoughts["source"] == "oracle"
    values = live.game.oracle().action_values(live.state, 0)[0]
    known = {live.game.action_names[action]: values[action] for action in live.legal(0)}
    assert thoughts["values"] == pytest.approx(known, abs=1e-4)
    assert board.hint() in thoughts["best"]
    board.choose(board.hint())
    assert board.position["thoughts"]["losses"] != thoughts["losses"]


def test_the_hidden_hand_is_not_sent():
    board = Board("tic_tac_match", seed=0)
    assert "2 hidden" not in board.position["text"].splitlines()[0]
    assert "hidden" in board.position["text"]


def test_wrong_input_is_refused_and_late_clicks_are_left():
    board = Board("super_tic_tac_toe", seed=0)
    with pytest.raises(ValueError, match="9/9"):
        board.choose("9/9")
    with pytest.raises(IllegalAction, match="0/0"):
        board.choose("0/0")
    assert board.live.ply == 0
    board.choose("4/4")
    for late in ({"do": "choose", "action": "4/4"}, {"do": "choose"}, {"do": "walk"}, "choose", None):
        board._told(board, late, [])
    assert board.live.ply == 2
    with pytest.raises(ValueError, match="player"):
        Board("super_tic_tac_toe", player=2)
    with pytest.raises(ValueError, match="sooper"):
        Board("super_tic_tac_toe", "sooper")
    assert Board(ttt_envs.load("super_tic_tac_toe"), lambda observation, mask: mask.argmax()).live.ply == 0


def test_an_opponent_that_fails_is_shown():
    def fails(observation, mask):
        raise SystemExit("no idea")

    board = Board("super_tic_tac_toe", fails, seed=1)
    with pytest.raises(SystemExit):
        board._told(board, {"do": "choose", "action": "4/4"}, [])
    assert board.position["last"] == [["X", "4/4"]], "the board shows what was chosen"
    assert "failed, with SystemExit: no idea" in board.position["trouble"]
    board.again()
    assert board.position["trouble"] == ""


@pytest.mark.skipif(CHROMIUM is None, reason="no chromium on this machine: apt-get install chromium")
def test_the_widget_is_clicked_in_a_browser():
    api = pytest.importorskip("playwright.sync_api")
    board, rng = Board("tic_tac_dice", "greedy", seed=1, rounds="single"), random.Random(1)
    with api.sync_playwright() as playwright:
        chromium = playwright.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox"])
        page = chromium.new_page()
        faults: list[str] = []
        page.on("pageerror", lambda error: faults.append(str(error)))
        told: list[dict] = []
        page.expose_function("kernel", lambda text: told.append(json.loads(text)))
        page.evaluate(HOST, [board._esm, board._css, {"position": board.position, "values": False}])

        def answer() -> None:
            """What the kernel does with all that the widget has told it."""
            while not told:
                page.wait_for_timeout(10)
            message = told.pop(0)
            if "values" in message:
                board.values = message["values"]
            else:
                board._told(board, message, [])
            page.evaluate("(position) => window.model.take('position', position)", board.position)

        assert page.locator(".mark").count() == 0
        page.get_by_label("Show what each move loses").check()
        answer()
        assert page.locator(".mark.best").count() >= 1
        page.get_by_role("button", name="Hint").click()
        answer()
        assert page.locator(".hinted .mark.best").count() == 1
        while not board.live.over:
            spots = page.locator("button.spot")
            spots.nth(rng.randrange(spots.count())).click()
            answer()
        assert page.locator(".doing").inner_text().startswith(("You win: ", "O wins: ", "Draw"))
        page.get_by_role("button", name="New game").click()
        answer()
        assert page.locator("button.spot").count() >= 1
        page.evaluate("window.leave()")
        assert faults == []
        chromium.close()
