"""The server of `ttt serve`: games played by requests, what others may know of them, records and files."""

import io
import os
import re
import time
from contextlib import suppress
from dataclasses import replace

import numpy as np
import pytest
import toy_coin
import toy_kuhn
from option_sets import marked_games

import ttt_envs
from ttt_envs import agents, registry
from ttt_envs.core import jit
from ttt_envs.core.live import LiveGame
from ttt_envs.core.options import before
from ttt_envs.core.state import SPECTATOR
from ttt_envs.drawing.theme import unlit
from ttt_envs.evaluation import records
from ttt_envs.evaluation.arena.play import game_seeds, play_games
from ttt_envs.evaluation.records import replaying

pytest.importorskip("starlette")
pytest.importorskip("uvicorn")
pytest.importorskip("httpx2")

from web_games import COIN, KUHN, TURNS, Server, Slow

from ttt_envs.web import hall, recorded, store
from ttt_envs.web.catalog import Agents, fields_of, levels_of
from ttt_envs.web.recorded import Records

pytestmark = pytest.mark.usefixtures("toys")


# --- playing ---


@pytest.mark.skipif(jit.DISABLED, reason="the oracle's solver needs compiled arithmetic")
def test_a_game_is_played_to_its_end_and_judged(server):
    me = server.browser()
    ident = me.begin("tic_tac_dice", "me", "random", options={"rounds": "single"})
    first = me.look(ident)
    assert not first["over"]
    now = me.play_on(ident, np.random.default_rng(0))
    assert now["over"]
    assert sum(now["result"]["rewards"]) == 0
    assert len(now["moves"]) == now["ply"]
    assert now["svg"].startswith("<svg")
    past = me.ask(f"/api/served/{ident}/positions/0")
    assert past["text"].splitlines()[1:] == first["text"].splitlines()[1:] or now["moves"][0][0][0] == 1
    review = me.ask(f"/api/served/{ident}/review")
    mine = [each for each in review["decisions"] if each["player"] == 0]
    assert [each["ply"] for each in mine] == [k for k, moves in enumerate(now["moves"]) if moves[0][0] == 0]
    assert all(each["source"] == "oracle" and each["regret"] >= 0 for each in mine)
    # Best play keeps the value; what is lost is lost of it.
    assert all(-1 <= each["value"] - each["regret"] <= each["value"] <= 1 for each in mine)
    assert review["totals"].get("0", 0) == pytest.approx(sum(each["regret"] for each in mine), abs=1e-3)


def test_the_same_moves_are_played_after_a_restart_in_the_middle(tmp_path):
    path, rng = tmp_path / "games.sqlite", np.random.default_rng(1)
    with Server(path) as server:
        me = server.browser()
        ident = me.begin(TURNS, "me", "greedy")
        me.play_on(ident, rng, plies=4)
        before, cookies = me.look(ident), dict(me.client.cookies)
    with Server(path) as server:
        me = server.browser(cookies)
        assert [each["id"] for each in me.ask("/api/games")["own"]] == [ident]
        after = me.look(ident)
        assert after | {"version": 0} == before | {"version": 0}
        assert me.play_on(ident, rng)["over"]


def test_a_choice_that_waits_survives_a_restart(tmp_path):
    path = tmp_path / "games.sqlite"
    with Server(path) as server:
        me, other = server.browser(), server.browser()
        ident = me.begin(COIN, "me", "invited")
        key = me.look(ident)["invitations"]["1"]
        other.ask(f"/api/served/{ident}/join", {"player": 1, "key": key})
        action = me.look(ident)["actions"][0]["name"]
        me.play(ident, action)
        cookies = [dict(each.client.cookies) for each in (me, other)]
    with Server(path) as server:
        me, other = (server.browser(each) for each in cookies)
        now = me.look(ident)
        assert (now["chosen"], now["actions"], now["ply"]) == (action, [], 0)
        assert [seat["chosen"] for seat in other.look(ident)["seats"]] == [True, False]
        other.play(ident, other.look(ident)["actions"][0]["name"])
        assert me.look(ident)["ply"] == 1


def test_a_game_of_a_version_without_an_option_goes_on_as_it_was(tmp_path, monkeypatch):
    def newer(*, players: int = 2, tosses: int = 1, loud: bool = True):
        return replace(made := toy_coin.make(players=players, tosses=tosses), options={**made.options, "loud": loud})

    with Server(tmp_path / "games.sqlite") as server:
        me = server.browser()
        ident = me.begin(COIN, "me", "random")
        cookies = dict(me.client.cookies)
    monkeypatch.setitem(registry.GAMES, COIN, before(loud=False)(newer))
    with Server(tmp_path / "games.sqlite") as server:
        server.browser(cookies).look(ident)
        assert server.hall._served[ident].game.options["loud"] is False
        new = server.browser().begin(COIN, "me", "random")
        assert server.hall._served[new].game.options["loud"] is True
        assert server.hall.store.find(new).options == {"players": "2", "tosses": "1", "loud": "true"}


def test_a_move_is_taken_back_and_the_agent_answers_it_the_same_way(server):
    me = server.browser()
    ident = me.begin(TURNS, "me", "random")
    start = me.look(ident)
    assert not start["may"]["take_back"]
    me.ask(f"/api/served/{ident}/take_back", {}, 409)
    me.play(ident, "4/4")
    first = me.wait(ident)
    assert first["ply"] == 2
    me.ask(f"/api/served/{ident}/take_back", {})
    again = me.look(ident)
    assert (again["ply"], again["text"]) == (0, start["text"])
    me.play(ident, "4/4")
    assert me.wait(ident)["text"] == first["text"]


@pytest.mark.parametrize(("game", "seats", "may"), [
    ("tic_tac_dice", ("me", "random"), True),
    ("tic_tac_dice", ("me", "me"), False),
    (TURNS, ("me", "me"), True),
])  # fmt: skip
def test_two_people_at_one_browser_do_not_see_the_dice_by_taking_back(server, game, seats, may):
    me = server.browser()
    ident = me.begin(game, *seats)
    me.play_on(ident, np.random.default_rng(0), plies=1)
    assert me.look(ident)["may"]["take_back"] is may
    answer = me.ask(f"/api/served/{ident}/take_back", {}, 200 if may else 403)
    assert may or answer["error"] == "while people play each other, and dice are rolled, no move is taken back"


def test_a_move_that_is_taken_back_while_the_agent_thinks_is_not_answered(server):
    me = server.browser()
    ident = me.begin(TURNS, "me", "slow")
    me.play(ident, "4/4")
    while not Slow.calls:
        time.sleep(0.01)
    me.ask(f"/api/served/{ident}/take_back", {})
    me.play(ident, "4/4")
    Slow.go.set()
    now = me.wait(ident)
    assert [moves[0][1] for moves in now["moves"]] == ["4/4", "4/0"]


def test_a_search_that_takes_long_does_not_keep_others_waiting(server):
    me = server.browser()
    stuck = [me.begin(TURNS, "me", "slow") for _ in range(8)]
    for ident in stuck:
        me.play(ident, "4/4")
    # The first move of an agent is not known to be quick: it is asked for before all threads are taken.
    quick = me.begin(TURNS, "me", "random")
    Slow.go.set()
    for ident in stuck:
        me.wait(ident)
    me.play_on(quick, np.random.default_rng(0), plies=2)
    Slow.go.clear()
    for ident in stuck:
        me.play(ident, me.look(ident)["actions"][0]["name"])
    started = time.perf_counter()
    me.play_on(quick, np.random.default_rng(0), plies=3)
    assert time.perf_counter() - started < 5
    assert all(me.look(ident)["actions"] == [] for ident in stuck)


def test_agents_among_themselves_play_ply_by_ply(server):
    me, other = server.browser(), server.browser()
    ident = me.begin(COIN, "random", "random")
    now = me.look(ident)
    assert now["watching"]
    assert now["may"]["step"]
    assert not other.look(ident)["may"]["step"]
    other.ask(f"/api/served/{ident}/step", {}, 403)
    for ply in range(1, 100):
        me.ask(f"/api/served/{ident}/step", {})
        now = other.look(ident)
        assert now["ply"] == ply
        if now["over"]:
            break
    assert now["over"]


def test_an_agent_that_fails_is_named_and_nothing_more_is_told(server, caplog):
    me = server.browser()
    ident = me.begin(TURNS, "me", "broken")
    me.play(ident, "4/4")
    now = me.wait(ident)
    assert now["trouble"] == "the agent broken failed as player 1; the server's log says why"
    assert "a secret" not in "".join(me.received)
    assert "a secret of the server" in caplog.text
    me.ask(f"/api/served/{ident}/take_back", {})
    assert me.look(ident)["trouble"] == ""


def test_a_new_game_keeps_the_seats(server):
    me, other = server.browser(), server.browser()
    ident = me.begin(KUHN, "me", "invited")
    other.ask(f"/api/served/{ident}/join", {"player": 1, "key": me.look(ident)["invitations"]["1"]})
    new = me.ask(f"/api/served/{ident}/again", {}, 201)["id"]
    assert other.look(ident)["successor"] == new
    assert other.ask(f"/api/served/{ident}/again", {}, 201)["id"] == new
    assert [seat["yours"] for seat in other.look(new)["seats"]] == [False, True]
    server.browser().ask(f"/api/served/{ident}/again", {}, 403)


# --- what others may know ---


def test_a_hidden_card_is_not_sent_to_the_other_player(server):
    me, other, third = server.browser(), server.browser(), server.browser()
    ident = me.begin(KUHN, "me", "invited")
    other.ask(f"/api/served/{ident}/join", {"player": 1, "key": me.look(ident)["invitations"]["1"]})
    served = server.hall._served[ident]
    card = [toy_kuhn.JACK, toy_kuhn.QUEEN, toy_kuhn.KING]
    hands = [card.index(int(each)) for each in served.live.state[0]["card"]]
    game = served.game
    assert me.look(ident)["text"] == game.format_state(served.live.state[0], 0)
    assert other.look(ident)["text"] == game.format_state(served.live.state[0], 1)
    # The same position with another card of the other player, which this player cannot tell apart.
    for browser, player in ((me, 0), (other, 1)):
        altered = served.live.state.copy()
        altered["card"][0, 1 - player] = 3 - hands[0] - hands[1]
        assert browser.look(ident, 1 - player)["text"] == game.format_state(altered[0], player)
    for k, browser in ((0, me), (1, other)):
        browser.ask(f"/api/served/{ident}/thoughts/0", status=403)
        assert str(served.stored.seed) not in "".join(browser.received)
        assert browser.look(ident)["you"] == k
    seen = third.look(ident)
    assert seen["you"] is None
    assert seen["text"] == game.format_state(served.live.state[0], SPECTATOR)
    assert not re.search("jack|queen|king", seen["text"], re.IGNORECASE)


@pytest.mark.parametrize("game", [each for each in marked_games() if each.values[0].hidden_information])
def test_a_spectator_sees_nothing_that_a_player_does_not_know(game):
    rng = np.random.default_rng(0)
    for seed in range(3):
        live = LiveGame.begin(game, seed)
        for _ in range(6):
            if live.over:
                break
            hidden = live.state.copy()
            for player in range(game.num_players):  # all that anybody does not know is drawn anew
                game.loops.resample_rows(hidden, np.array([player]), np.array([seed], np.uint64))
            for show in (game.format_state, game.draw):
                assert show(live.state[0], SPECTATOR) == show(hidden[0], SPECTATOR)
            player = live.asked()[0]
            live.choose(player, int(rng.choice(live.legal(player))))


def test_a_choice_is_not_told_before_all_have_chosen(server):
    me, other = server.browser(), server.browser()
    ident = me.begin(COIN, "me", "invited")
    other.ask(f"/api/served/{ident}/join", {"player": 1, "key": me.look(ident)["invitations"]["1"]})
    before = [other.look(ident, player) for player in (None, 0, 1)]
    me.play(ident, me.look(ident)["actions"][1]["name"])
    first = [other.look(ident, player) for player in (None, 0, 1)]
    me.ask(f"/api/served/{ident}/take_back", {}, 403)
    for old, new in zip(before, first, strict=True):
        told = [{key: seat[key] for key in ("asked", "chosen")} for seat in new["seats"]]
        assert told == [{"asked": False, "chosen": True}, {"asked": True, "chosen": False}]
        assert old | {"version": 0, "seats": 0} == new | {"version": 0, "seats": 0}


def test_thoughts_on_an_agents_present_choice_are_not_told(server):
    me = server.browser()
    ident = me.begin(COIN, "me", "random")
    me.wait(ident)
    found = me.ask(f"/api/served/{ident}/thoughts/0")["thoughts"]
    assert [each["player"] for each in found] == [0]
    ident = me.begin(KUHN, "me", "random")
    me.play(ident, "pass")
    me.wait(ident)
    assert me.ask(f"/api/served/{ident}/thoughts/1")["thoughts"] == [] or me.look(ident)["over"]


def test_an_invitation_to_a_secret_game_is_for_another_browser(server):
    me = server.browser()
    for game in (KUHN, COIN):
        ident = me.begin(game, "me", "invited")
        assert not me.look(ident)["shared"]
        key = me.look(ident)["invitations"]["1"]
        me.ask(f"/api/served/{ident}/join", {"player": 1, "key": key}, 409)


@pytest.mark.parametrize(("game", "shared"), [(KUHN, True), (COIN, True), (TURNS, False)])
def test_two_people_at_one_browser_see_with_the_eyes_of_who_is_asked(server, game, shared):
    me = server.browser()
    ident = me.begin(game, "me", "me")
    seen = []
    while not (now := me.look(ident))["over"]:
        assert now["shared"] is shared
        assert [seat["asked"] for seat in now["seats"]][now["you"]]
        if shared:
            assert not now["may"]["take_back"]
        me.play(ident, now["actions"][0]["name"])
        seen.append(now)
        if len(seen) == 6:
            break
    assert {now["you"] for now in seen} == {0, 1}
    if game == COIN:
        assert seen[1]["chosen"] is None, "what the first has chosen is not told to the second"
        assert seen[1]["moves"] == []
    if game == KUHN:
        texts = [below_caption(now) for now in seen[:2]]
        assert texts[0] != texts[1], "each sees their own card alone"


def below_caption(now):
    return now["text"].splitlines()[1:]


def test_a_finished_game_is_kept_as_a_record_and_as_a_film(server, tmp_path):
    pytest.importorskip("resvg_py")
    image = pytest.importorskip("PIL.Image")
    me, game = server.browser(), ttt_envs.load("tic_tac_dice", rounds="single")
    ident = me.begin("tic_tac_dice", "me", "random", options={"rounds": "single"})
    for what in ("record", "film"):
        me.ask(f"/api/served/{ident}/{what}", status=409)
    now = me.play_on(ident, np.random.default_rng(0))
    answer = me.client.get(f"/api/served/{ident}/record")
    assert re.fullmatch(r'attachment; filename="tic_tac_dice-[\w-]{8}\.jsonl"', answer.headers["content-disposition"])
    (tmp_path / "game.jsonl").write_bytes(answer.content)
    (played,) = replaying.replay(records.read(tmp_path / "game.jsonl"))
    assert played.game == game
    assert [float(each) for each in played.states[-1]["rewards"]] == now["result"]["rewards"]
    assert played.record.agents == ("a person", "random")
    answer = me.client.get(f"/api/served/{ident}/film")
    assert answer.headers["content-type"] == "image/gif"
    with image.open(io.BytesIO(answer.content)) as film:
        assert film.n_frames == now["ply"] + 1


def test_a_long_game_has_no_film_but_a_record(server, monkeypatch):
    me = server.browser()
    ident = me.begin("tic_tac_dice", "me", "random", options={"rounds": "single"})
    me.play_on(ident, np.random.default_rng(0))
    monkeypatch.setattr(hall, "MOST_FILMED", 3)
    assert "save its record" in me.ask(f"/api/served/{ident}/film", status=409)["error"]
    assert me.client.get(f"/api/served/{ident}/record").status_code == 200


# --- options and agents ---


def test_lessons_are_drawn_without_what_reacts(server):
    me = server.browser()
    for game_id in set(ttt_envs.GAMES) - {COIN, KUHN}:
        found = me.ask(f"/api/games/{game_id}/lessons")
        assert len(found) == len(ttt_envs.load(game_id).faces.lessons)
        for each in found:
            assert each["svg"].startswith("<svg")
            assert each["svg"] == unlit(each["svg"])
    me.ask("/api/games/go/lessons", status=404)


def test_forms_have_what_games_allow():
    fields = {each["name"]: each for each in fields_of(ttt_envs.load(TURNS))}
    assert fields["won_boards"]["choices"] == ("open", "closed")
    assert (fields["random_opening_plies"]["low"], fields["random_opening_plies"]["high"]) == (0, 16)
    for game_id, low, high in (({"size": 3}, 2, 3), ({"size": 5}, 2, 4)):
        (players,) = (
            each for each in fields_of(ttt_envs.load("martian_tic_tac_toe", **game_id)) if each["name"] == "players"
        )
        assert (players["kind"], players["low"], players["high"]) == ("int", low, high)
    for game_id in set(ttt_envs.GAMES) - {COIN, KUHN}:
        for field in fields_of(ttt_envs.load(game_id)):
            assert field["meaning"]
            assert field["kind"] in ("bool", "choice", "int", "text")


def test_trained_agents_come_first_and_those_of_the_owner_next():
    offers = [each.agent for each in Agents(["mcts:simulations=7"]).offers(ttt_envs.load(TURNS))]
    trained = [agent for agent in offers if agent.startswith("trained:")]
    assert trained
    assert offers[: len(trained) + 1] == [*trained, "mcts:simulations=7"]
    assert {"random", "greedy", "oracle"} <= set(offers)
    assert not {"human", "program", "isolated", "network", "smm"} & set(offers)
    with pytest.raises(ValueError, match="unknown agent 'nobody'"):
        Agents(["nobody"])


# --- records ---


@pytest.fixture
def folder(tmp_path):
    """A folder with recorded games, and things that are none."""
    place = tmp_path / "records"
    (place / "deep").mkdir(parents=True)
    game = ttt_envs.load("tic_tac_dice", rounds="single")
    lineup = [agents.load("random"), agents.load("greedy")]
    seeds = game_seeds(0, 3)
    games = play_games(game, lineup, seats=(0, 1), seeds=seeds, keep=range(3))
    found = list(records.of_games(game, games, ["random", "greedy"], (0, 1), seeds))
    records.write(place / "deep" / "games.jsonl.gz", found)
    (place / "bad.jsonl").write_text("{}\n")
    (place / "other.txt").write_text("no")
    (tmp_path / "outside.jsonl").write_text("secret\n")
    (place / "link.jsonl").symlink_to(tmp_path / "outside.jsonl")
    return place


def test_recorded_games_are_listed_and_stepped_through(tmp_path, folder):
    with Server(tmp_path / "games.sqlite", folder) as server:
        me = server.browser()
        name = "deep/games.jsonl.gz"
        bad, good = me.ask("/api/records")
        assert (bad["file"], good["file"]) == ("bad.jsonl", name)
        assert bad["error"].startswith("bad.jsonl, line 1: this is no record")
        assert good["games"] == [{"id": "tic_tac_dice", "title": "Tic-Tac-Dice"}]
        assert good["agents"] == ["random", "greedy, one move ahead"]
        assert (good["count"], good["more"]) == (3, False)
        assert good["touched"] == (folder / name).stat().st_mtime
        with suppress(OSError):  # a system may not have such names
            (folder / os.fsdecode(b"\xff.jsonl")).write_text("no Unicode\n")
        assert me.ask("/api/records") == [bad, good]
        listed = me.ask(f"/api/records/games?file={name}")
        assert [each["number"] for each in listed["games"]] == [0, 1, 2]
        assert listed["games"][0]["agents"] == ["random", "greedy, one move ahead"]
        first = me.ask(f"/api/records/frame?file={name}&game=1&frame=0")
        assert (first["ply"], first["move"]) == (0, "start")
        last = me.ask(f"/api/records/frame?file={name}&game=1&frame={first['frames'] - 1}")
        assert last["ply"] == listed["games"][1]["plies"]
        assert sum(last["result"]["rewards"]) == 0
        me.ask(f"/api/records/frame?file={name}&game=1&frame={first['frames']}", status=404)
        me.ask(f"/api/records/frame?file={name}&game=3&frame=0", status=404)
        for wrong in ("link.jsonl", "other.txt", "../outside.jsonl", "/etc/passwd", "", str(folder / name), "deep"):
            for path in ("games", "frame", "review"):
                me.ask(f"/api/records/{path}?file={wrong}&game=0&frame=0", status=404)
        error = me.ask("/api/records/games?file=bad.jsonl", status=400)["error"]
        assert error.startswith("bad.jsonl, line 1: this is no record")
        me.ask(f"/api/records/games?file={name}&first=-1", status=400)


def test_a_recorded_game_is_reviewed(tmp_path, folder):
    record = list(records.read(folder / "deep" / "games.jsonl.gz"))[2]
    with Server(tmp_path / "games.sqlite", folder) as server:
        found = server.browser().ask("/api/records/review?file=deep/games.jsonl.gz&game=2")
    assert [each["played"] for each in found["decisions"]] == list(record.actions)
    assert {each["source"] for each in found["decisions"]} == {"oracle"}
    assert found["frames"] == list(range(len(record.actions) + 1))
    lost = [sum(each["regret"] for each in found["decisions"] if each["player"] == player) for player in range(2)]
    assert [found["totals"][str(player)] for player in range(2)] == pytest.approx(lost, abs=1e-3)
    assert sum(lost) > 0


def test_what_a_file_of_records_holds_is_read_anew_when_it_changes(tmp_path, folder, monkeypatch):
    monkeypatch.setattr(recorded, "COUNTED", 2)
    listed, path = Records(folder), folder / "deep" / "games.jsonl.gz"
    assert [(each["count"], each["more"]) for each in listed.list()[1:]] == [(2, True)]
    records.write(path, list(records.read(path))[:1])
    os.utime(path, (1, 1))
    assert [(each["count"], each["more"], each["touched"]) for each in listed.list()[1:]] == [(1, False, 1)]


def test_an_option_is_explained_beside_a_field_that_shows_its_range():
    said = {each["name"]: each["meaning"] for game in registry.GAMES for each in fields_of(registry.load(game))}
    assert said["same_size_swap"] == "a piece may also be swapped for one of its own size."
    assert said["win_length"] == "markers in a row that win a round."
    assert said["rounds"].startswith('"match" (rounds until a player has target points)')
    assert "; empty: never for that reason." in said["repetition_limit"]
    assert not [each for each in said.values() if re.search("True|False|None|_|`", each)]


def test_pages_of_recorded_games(tmp_path, folder, monkeypatch):
    monkeypatch.setattr(recorded, "PAGE", 2)
    found = Records(folder).games("deep/games.jsonl.gz", 0)
    assert ([each["index"] for each in found["games"]], found["more"]) == ([0, 1], True)
    found = Records(folder).games("deep/games.jsonl.gz", 2)
    assert ([each["index"] for each in found["games"]], found["more"]) == ([2], False)


def test_a_folder_of_records_must_be_one(tmp_path):
    with pytest.raises(FileNotFoundError, match="no folder of records"):
        Records(tmp_path / "missing")
    (tmp_path / "file").touch()
    with pytest.raises(NotADirectoryError):
        Records(tmp_path / "file")


# --- the file of games ---


def test_a_file_that_is_none_is_refused(tmp_path):
    (tmp_path / "text").write_text("no database " * 100)
    with pytest.raises(ValueError, match="is no file of games"):
        store.Store(tmp_path / "text")
    old = store.Store(tmp_path / "old")
    old._db.execute("PRAGMA user_version = 99")
    old.close()
    with pytest.raises(ValueError, match="no file of games of this version"):
        store.Store(tmp_path / "old")


def test_others_cannot_read_the_file(tmp_path):
    store.Store(tmp_path / "deep" / "games.sqlite").close()
    assert (tmp_path / "deep" / "games.sqlite").stat().st_mode & 0o077 == 0


def test_a_game_of_other_rules_is_not_gone_on_with(tmp_path):
    path = tmp_path / "games.sqlite"
    with Server(path) as server:
        me = server.browser()
        ident = me.begin(TURNS, "me", "random")
        server.hall.store._db.execute("UPDATE games SET actions = '[[80, -1]]', library = '0.0.1'")
    with Server(path) as server:
        assert "begun with ttt-envs 0.0.1" in server.browser().ask(f"/api/served/{ident}", status=410)["error"]


def test_agents_of_a_file_of_games_are_run_only_if_they_are_named(tmp_path, toys):
    """Such a file may come from somebody else; nobody sits at the server's terminal either."""
    path, marker = tmp_path / "games.sqlite", tmp_path / "ran"
    (tmp_path / "mine.py").write_text(
        f"open({str(marker)!r}, 'a')\nfrom ttt_envs.agents.random import RandomAgent as Mine\n"
    )
    mine = f"{tmp_path}/mine.py:Mine"
    with Server(path) as server:
        ident = server.browser().begin(TURNS, "me", "random")
    for agent in (mine, f"oracle:fallback={mine}", "human", "nobody"):
        with Server(path) as server:
            server.hall.store._db.execute("UPDATE seats SET agent = ? WHERE agent IS NOT NULL", (agent,))
            said = server.browser().ask(f"/api/served/{ident}", status=403)["error"]
            assert "is none that this server runs: it goes on with the game if it is started with --agents" in said
    assert not marker.exists()
    for agent, more in ((mine, (mine,)), ("mixed:greedy,random=0.5", ())):
        with Server(path, more=more) as server:
            server.hall.store._db.execute("UPDATE seats SET agent = ? WHERE agent IS NOT NULL", (agent,))
            assert server.browser().look(ident)["ply"] == 0
    assert marker.exists()


@pytest.mark.parametrize("game_id", registry.GAMES)
def test_levels_are_different_agents_from_the_weakest_on(game_id):
    levels = levels_of(ttt_envs.load(game_id))
    assert [each.name for each in levels][:3] == ["easy", "medium", "strong"]
    assert 0 < levels[0].elo < levels[1].elo
    assert levels[2].elo is None or levels[2].elo > levels[1].elo
