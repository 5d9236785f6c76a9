"""The server of `ttt serve`: games played by requests, agents that fail, what the page may know, and saved games."""

import asyncio
import io
import json
import os
import re
import time

import kuhn_poker
import numpy as np
import pytest
import toy_rows

import ttt_envs
from ttt_envs import agents, registry
from ttt_envs.cli.saving import SavedGame
from ttt_envs.drawing.theme import unlit
from ttt_envs.evaluation import records
from ttt_envs.evaluation.arena.play import game_seeds, play_games
from ttt_envs.evaluation.records import replaying

pytest.importorskip("starlette")
pytest.importorskip("uvicorn")
pytest.importorskip("httpx2")

from web_games import COIN, KUHN, TURNS, Page, Slow

from ttt_envs.web.catalog import Agents, fields_of, levels_of, opponent
from ttt_envs.web.local import LocalOnly
from ttt_envs.web.server import PLAYED

pytestmark = pytest.mark.usefixtures("toys")


def test_a_game_is_played_to_its_end_and_judged(page):
    ident = page.begin("tic_tac_dice", None, "random", rounds="single")
    first = page.look(ident)
    assert not first["over"]
    now = page.play_on(ident, np.random.default_rng(0))
    assert now["over"]
    assert sum(now["result"]["rewards"]) == 0
    assert len(now["moves"]) == now["ply"]
    assert now["svg"].startswith("<svg")
    past = page.ask(f"/api/served/{ident}/positions/0")
    assert past["text"].splitlines()[1:] == first["text"].splitlines()[1:] or now["moves"][0][0][0] == 1
    review = page.ask(f"/api/served/{ident}/review")
    mine = [each for each in review["decisions"] if each["player"] == 0]
    assert [each["ply"] for each in mine] == [k for k, moves in enumerate(now["moves"]) if moves[0][0] == 0]
    assert all(each["source"] == "oracle" and each["regret"] >= 0 for each in mine)
    # Optimal play keeps the value; what is lost is lost of it.
    assert all(-1 <= each["value"] - each["regret"] <= each["value"] <= 1 for each in mine)


def test_a_move_is_taken_back_and_the_agent_answers_it_the_same_way(page):
    ident = page.begin(TURNS, None, "random")
    start = page.look(ident)
    assert not start["may_take_back"]
    page.ask(f"/api/served/{ident}/take_back", {}, 409)
    page.play(ident, "4/4")
    first = page.wait(ident)
    assert first["ply"] == 2
    again = page.ask(f"/api/served/{ident}/take_back", {})
    assert (again["ply"], again["text"]) == (0, start["text"])
    page.play(ident, "4/4")
    assert page.wait(ident)["text"] == first["text"]


@pytest.mark.parametrize(
    ("game", "seats", "may"),
    [("tic_tac_dice", (None, "random"), True), ("tic_tac_dice", (None, None), False), (TURNS, (None, None), True)],
)
def test_two_people_do_not_see_the_dice_by_taking_back(page, game, seats, may):
    ident = page.begin(game, *seats)
    page.play_on(ident, np.random.default_rng(0), plies=1)
    assert page.look(ident)["may_take_back"] is may
    page.ask(f"/api/served/{ident}/take_back", {}, 200 if may else 409)


def test_a_move_that_is_taken_back_while_the_agent_thinks_is_not_answered(page):
    ident = page.begin(TURNS, None, "slow")
    assert page.play(ident, "4/4")["thinking"]
    while not Slow.calls:
        time.sleep(0.01)
    page.ask(f"/api/served/{ident}/take_back", {})
    page.play(ident, "4/4")
    Slow.go.set()
    assert [moves[0][1] for moves in page.wait(ident)["moves"]] == ["4/4", "4/0"]


def test_an_agent_that_takes_long_keeps_no_other_game_waiting(page):
    stuck = [page.begin(TURNS, None, "slow") for _ in range(8)]
    for ident in stuck:
        page.play(ident, "4/4")
    page.play_on(page.begin(TURNS, None, "random"), np.random.default_rng(0), plies=3)
    assert all(page.look(ident)["thinking"] for ident in stuck)


@pytest.mark.parametrize("error", ["SystemExit", "KeyboardInterrupt", "StopIteration", "CancelledError"])
def test_whatever_an_agent_raises_is_shown_and_does_not_end_the_server(tmp_path, error):
    agent = f"broken:error={error}"
    with Page(tmp_path, more=(agent,)) as page:
        ident = page.begin(TURNS, None, agent)
        page.play(ident, "4/4")
        trouble = page.wait(ident)["trouble"]
        assert trouble.startswith(f"the agent {agent} failed as O, with ")
        assert error in trouble
        assert "no idea" in trouble
        # The move can be taken back, a game of two of them goes on, and so does everything else.
        assert page.ask(f"/api/served/{ident}/take_back", {})["trouble"] == ""
        watched = page.begin(TURNS, agent, agent)
        assert error in page.ask(f"/api/served/{watched}/step", {})["trouble"]
        page.play_on(page.begin(TURNS, None, "random"), np.random.default_rng(0), plies=2)


def test_a_new_game_keeps_the_seats(page):
    ident = page.begin(KUHN, None, "random")
    new = page.ask(f"/api/served/{ident}/again", {}, 201)["id"]
    assert new != ident
    assert page.look(new)["seats"] == page.look(page.begin(KUHN, None, "random"))["seats"]
    assert {each["id"] for each in page.ask("/api/games")["own"]} >= {ident, new}


def test_players_have_names(page):
    for seats, names in (
        ((None, "mcts:simulations=32"), ["You", "Medium"]),
        ((None, None), ["X", "O"]),
        (("random", "random"), ["random (X)", "random (O)"]),
    ):
        found = page.look(page.begin(TURNS, *seats))["seats"]
        assert [(seat["name"], seat["mark"]) for seat in found] == list(zip(names, "XO", strict=True))


def test_the_place_of_the_last_move_is_told(page):
    ident = page.begin("martian_tic_tac_toe", None, None)
    page.play(ident, "b2=1")
    game = ttt_envs.load("martian_tic_tac_toe")
    box = list(game.spots(game.new_state(seed=0)[0])["cell b2"])
    assert page.look(ident)["landed"] == [box], "and not its place in the stash, which the other one's now is"
    assert page.ask(f"/api/served/{ident}/positions/1")["landed"] == [box]
    assert page.ask(f"/api/served/{ident}/positions/0")["landed"] == []


def test_the_first_hint_is_worked_out_before_it_is_asked_for(page):
    ident, until = page.begin(TURNS, None, "random"), time.monotonic() + 120
    while not page.hall.games[ident].thoughts:
        assert time.monotonic() < until
        page.look(ident)
        time.sleep(0.05)
    (ahead,) = page.hall.games[ident].thoughts[0]
    assert page.ask(f"/api/served/{ident}/thoughts/0")["thoughts"][0]["source"] == ahead.source != ""


def test_the_card_of_an_agent_is_not_sent(page):
    ident = page.begin(KUHN, None, "random")
    served = page.hall.games[ident]
    state, game = served.live.state, served.game
    assert page.look(ident)["text"] == game.format_state(state[0], 0)
    # The same position with another card of the agent, which the person cannot tell apart.
    card = [kuhn_poker.JACK, kuhn_poker.QUEEN, kuhn_poker.KING]
    altered = state.copy()
    (altered["card"][0, 1],) = set(card) - set(state["card"][0].tolist())
    assert page.look(ident)["text"] == game.format_state(altered[0], 0)
    assert str(served.live.episode_seed) not in json.dumps(page.look(ident))


def test_thoughts_on_an_agents_present_choice_are_not_told(page):
    ident = page.begin(COIN, None, "random")
    page.wait(ident)
    found = page.ask(f"/api/served/{ident}/thoughts/0")["thoughts"]
    assert [each["player"] for each in found] == [0]
    ident = page.begin(
        "operation_tic_tac_toe", None, "random", mode="round"
    )  # nothing is hidden but the present choice
    page.wait(ident)
    found = page.ask(f"/api/served/{ident}/thoughts/0")["thoughts"]
    assert [each["player"] for each in found] == [0]
    ident = page.begin(KUHN, None, "random")
    page.play(ident, "pass")
    page.wait(ident)
    assert page.ask(f"/api/served/{ident}/thoughts/1")["thoughts"] == [] or page.look(ident)["over"]


@pytest.mark.parametrize(("game", "shared"), [(KUHN, True), (COIN, True), (TURNS, False)])
def test_two_people_see_with_the_eyes_of_who_is_asked(page, game, shared):
    ident = page.begin(game, None, None)
    seen = []
    while not (now := page.look(ident))["over"] and len(seen) < 6:
        assert now["shared"] is shared
        assert [seat["asked"] for seat in now["seats"]][now["you"]]
        if shared:
            assert not now["may_take_back"]
        page.play(ident, now["actions"][0]["name"])
        seen.append(now)
    assert {now["you"] for now in seen} == {0, 1}
    if game == COIN:
        assert seen[1]["chosen"] is None, "what the first has chosen is not told to the second"
        assert seen[1]["moves"] == []
    if game == KUHN:
        texts = [now["text"].splitlines()[1:] for now in seen[:2]]
        assert texts[0] != texts[1], "each sees their own card alone"


def test_a_finished_game_is_kept_as_a_record_and_as_a_film(page, tmp_path):
    pytest.importorskip("resvg_py")
    image = pytest.importorskip("PIL.Image")
    ident = page.begin("tic_tac_dice", None, "random", rounds="single")
    for what in ("record", "film", "review"):
        page.ask(f"/api/served/{ident}/{what}", status=409)
    now = page.play_on(ident, np.random.default_rng(0))
    answer = page.client.get(f"/api/served/{ident}/record")
    assert re.fullmatch(r'attachment; filename="tic_tac_dice-[\w-]+\.jsonl"', answer.headers["content-disposition"])
    (tmp_path / "game.jsonl").write_bytes(answer.content)
    (played,) = replaying.replay(records.read(tmp_path / "game.jsonl"))
    assert played.game == ttt_envs.load("tic_tac_dice", rounds="single")
    assert [float(each) for each in played.states[-1]["rewards"]] == now["result"]["rewards"]
    assert played.record.agents == ("human", "random")
    for theme, dark in (("", False), ("?theme=dark", True)):
        answer = page.client.get(f"/api/served/{ident}/film{theme}")
        assert answer.headers["content-type"] == "image/gif"
        with image.open(io.BytesIO(answer.content)) as film:
            assert film.n_frames == now["ply"] + 1
            assert (np.mean(film.convert("L")) < 128) == dark


def test_a_game_is_saved_after_each_ply_and_the_next_server_goes_on_with_it(page, tmp_path):
    ident, rng = page.begin(TURNS, None, "greedy"), np.random.default_rng(1)
    path = tmp_path / PLAYED / f"{TURNS}-{ident}.jsonl"
    assert not path.exists(), "nothing has been played"
    page.play_on(ident, rng, plies=2)
    live = page.hall.games[ident].live
    saved = SavedGame.read(path)  # as `ttt play --load` goes on with it
    assert (saved.actions, saved.agents) == (live.actions, ("human", "greedy"))
    assert saved.state == live.state
    with Page(tmp_path) as later:
        later.ask(f"/api/served/{ident}", status=404)
        (listed,) = later.ask("/api/records")
        assert listed["agents"] == ["a person", "greedy, one move ahead"]
        assert later.ask("/api/records/open", {"file": listed["file"], "game": 0})["id"] == ident
        assert later.look(ident)["text"] == page.look(ident)["text"]
        assert later.play_on(ident, rng)["over"]
        (record,) = records.read(path)
        assert len(record.actions) == later.look(ident)["ply"]
        assert [each["id"] for each in later.ask("/api/games")["own"]] == [ident]


def test_lessons_are_drawn_without_what_reacts(page):
    for game_id in set(ttt_envs.GAMES) - {COIN, KUHN}:
        found = page.ask(f"/api/games/{game_id}/lessons")
        assert len(found) == len(ttt_envs.load(game_id).faces.lessons)
        for each in found:
            assert each["svg"].startswith("<svg")
            assert each["svg"] == unlit(each["svg"])
    page.ask("/api/games/go/lessons", status=404)


def test_forms_have_what_games_allow():
    fields = {each["name"]: each for each in fields_of(ttt_envs.load(TURNS))}
    assert fields["won_boards"]["choices"] == ["open", "closed"]
    assert (fields["random_opening_plies"]["low"], fields["random_opening_plies"]["high"]) == (0, 16)
    for game_id, low, high in (({"size": 3}, 2, 3), ({"size": 5}, 2, 4)):
        (players,) = (
            each for each in fields_of(ttt_envs.load("martian_tic_tac_toe", **game_id)) if each["name"] == "players"
        )
        assert (players["kind"], players["low"], players["high"]) == ("int", low, high)
    for game_id in set(ttt_envs.GAMES) - {COIN, KUHN}:
        for field in fields_of(ttt_envs.load(game_id)):
            assert field["meaning"]
            assert not re.search("True|False|None|_|`", field["meaning"]), "it is for people, beside a field"
            assert field["kind"] in ("bool", "choice", "int", "text")


def test_trained_agents_come_first_and_those_of_the_owner_next():
    offers = [each.agent for each in Agents(["mcts:simulations=7"]).offers(ttt_envs.load(TURNS))]
    trained = [agent for agent in offers if agent.startswith("trained:")]
    assert trained
    assert offers[: len(trained) + 1] == [*trained, "mcts:simulations=7"]
    assert {"random", "greedy", "oracle"} <= set(offers)
    assert not {"human", "program", "network", "smm"} & set(offers)
    with pytest.raises(ValueError, match="unknown agent 'nobody'"):
        Agents(["nobody"])


@pytest.fixture
def folder(tmp_path):
    """A folder with recorded games, and things that are none."""
    place = tmp_path / "records"
    (place / "deep").mkdir(parents=True)
    game = ttt_envs.load("tic_tac_dice", rounds="single")
    lineup = [agents.load("random"), agents.load("greedy")]
    seeds = game_seeds(0, 3)
    games = play_games(game, lineup, seats=(0, 1), seeds=seeds, keep=range(3))
    (place / "bad.jsonl").write_text("{}\n")
    os.utime(place / "bad.jsonl", (1, 1))
    records.write(place / NAME, list(records.of_games(game, games, ["random", "greedy"], (0, 1), seeds)))
    (place / "other.txt").write_text("no")
    return place


NAME = "deep/games.jsonl.gz"


def test_recorded_games_are_listed_and_stepped_through(folder):
    with Page(folder) as page:
        good, bad = page.ask("/api/records")
        assert (bad["file"], good["file"]) == ("bad.jsonl", NAME), "the latest first"
        assert "bad.jsonl, line 1: this is no record" in bad["error"]
        assert good["games"] == [{"id": "tic_tac_dice", "title": "Tic-Tac-Dice"}]
        assert good["agents"] == ["random", "greedy, one move ahead"]
        assert (good["count"], good["more"]) == (3, False)
        assert good["touched"] == (folder / NAME).stat().st_mtime
        listed = page.ask(f"/api/records/games?file={NAME}")
        assert [each["number"] for each in listed] == [0, 1, 2]
        assert listed[0]["agents"] == ["random", "greedy, one move ahead"]
        assert "line 1" in page.ask("/api/records/games?file=bad.jsonl", status=400)["error"]
        for wrong in ("other.txt", "../outside.jsonl", "/etc/passwd", "", str(folder / NAME), "deep"):
            page.ask(f"/api/records/games?file={wrong}", status=404)
            page.ask("/api/records/open", {"file": wrong, "game": 0}, 404)


def opened(page, name, k):
    return page.ask("/api/records/open", {"file": name, "game": k})["id"]


def test_a_recorded_game_is_shown_like_one_that_was_played_here(folder):
    record = list(records.read(folder / NAME))[2]
    with Page(folder) as page:
        ident = opened(page, NAME, 2)
        assert opened(page, NAME, 2) == ident != opened(page, NAME, 1)
        now = page.look(ident)
        assert (now["over"], now["watching"], now["ply"]) == (True, True, len(record.actions))
        assert [name for ((_, name),) in now["moves"]] == list(record.actions)
        assert now["result"]["rewards"] == list(record.rewards)
        assert page.ask(f"/api/served/{ident}/positions/0")["ply"] == 0
        found = page.ask(f"/api/served/{ident}/review")
        assert page.ask("/api/games")["own"] == [], "it is none of those that are played"
        page.ask("/api/records/open", {"file": NAME, "game": 3}, 404)
        page.ask("/api/records/open", {"file": "bad.jsonl", "game": 0}, 400)
    assert [each["played"] for each in found["decisions"]] == list(record.actions)
    assert {each["source"] for each in found["decisions"]} == {"oracle"}
    assert sum(each["regret"] for each in found["decisions"]) > 0


def test_agents_that_a_file_names_are_run_only_if_they_are_offered(tmp_path):
    (tmp_path / "mine.py").write_text(
        f"open({str(tmp_path / 'ran')!r}, 'a')\nfrom ttt_envs.agents.random import RandomAgent as Mine\n"
    )
    mine = f"{tmp_path}/mine.py:Mine"
    live = SavedGame.begin(ttt_envs.load(TURNS), 0)
    live.choose(0, live.legal(0)[0])
    live.agents = ("human", mine)
    live.save(tmp_path / "game.jsonl")
    with Page(tmp_path) as page:
        ident = opened(page, "game.jsonl", 0)
        assert f"there is no agent {mine[:60]!r}" in page.wait(ident)["trouble"]
        page.ask(f"/api/served/{ident}/thoughts/0")
        page.ask(f"/api/served/{ident}/again", {}, 400)
        assert not (tmp_path / "ran").exists()
    with Page(tmp_path, more=(mine,)) as page:
        assert page.wait(opened(page, "game.jsonl", 0))["ply"] == 2


@pytest.mark.parametrize("game_id", registry.GAMES)
def test_levels_are_different_agents_from_the_weakest_on(game_id):
    levels = levels_of(ttt_envs.load(game_id))
    assert [each.name for each in levels][:3] == ["easy", "medium", "strong"]
    assert opponent(ttt_envs.load(game_id), levels[1].agent) == ("Medium", levels[1].about)
    assert 0 < levels[0].elo < levels[1].elo
    assert levels[2].elo is None or levels[2].elo > levels[1].elo


def test_a_game_without_a_ladder_has_the_level_of_its_oracle():
    assert [(each.name, each.agent) for each in levels_of(toy_rows.make())] == [("perfect", "oracle")]
    assert levels_of(kuhn_poker.make()) == []


def test_a_request_that_the_end_of_the_server_cuts_off_is_told_so():
    async def cut_off(scope, receive, send):
        if scope["path"] == "/begun":
            await send({"type": "http.response.start", "status": 200, "headers": []})
        raise asyncio.CancelledError

    async def send(message):
        sent.append(message)

    sent: list[dict] = []
    scope = {"type": "http", "headers": [(b"host", b"localhost")]}
    asyncio.run(LocalOnly(cut_off)({**scope, "path": "/"}, None, send))
    assert sent[0]["status"] == 503
    assert json.loads(sent[1]["body"]) == {"error": "the server has ended"}
    with pytest.raises(asyncio.CancelledError):
        asyncio.run(LocalOnly(cut_off)({**scope, "path": "/begun"}, None, send))
    assert [each.get("status") for each in sent] == [503, None, 200]
