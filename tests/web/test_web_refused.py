"""What the server of `ttt serve` refuses: what is not a player's, other sites, wrong requests, too many of them."""

import json
import re

import pytest

pytest.importorskip("starlette")
pytest.importorskip("uvicorn")
pytest.importorskip("httpx2")

from starlette.testclient import TestClient
from web_games import TURNS, Server

from ttt_envs.web import guard, hall
from ttt_envs.web.app import make_app
from ttt_envs.web.guard import Rates
from ttt_envs.web.hall import Hall
from ttt_envs.web.recorded import Records

pytestmark = pytest.mark.usefixtures("toys")


def test_seats_belong_to_browsers(server):
    me, other = server.browser(), server.browser()
    ident = me.begin(TURNS, "me", "invited")
    key = me.look(ident)["invitations"]["1"]
    assert other.look(ident)["invitations"] == {}
    assert other.look(ident)["actions"] == []
    other.play(ident, "4/4", player=0, status=403)
    me.play(ident, "4/4", player=1, status=403)
    for wrong in ("", "0" * 32, key[:-1], key + "0", "é"):
        other.ask(f"/api/served/{ident}/join", {"player": 1, "key": wrong}, 403)
    other.ask(f"/api/served/{ident}/join", {"player": 0, "key": key}, 403)
    other.ask(f"/api/served/{ident}/join", {"player": 9, "key": key}, 403)
    other.ask(f"/api/served/{ident}/join", {"player": 1, "key": key})
    server.browser().ask(f"/api/served/{ident}/join", {"player": 1, "key": key}, 409)
    assert me.look(ident)["invitations"] == {}
    other.play(ident, "4/4", player=1, status=409)  # not their turn
    me.play(ident, "0/0", status=409)  # not legal
    me.play(ident, "4/4", ply=3, status=409)
    me.play(ident, "4/4")
    other.play(ident, "4/0", player=1)
    # Another game's key is of no use.
    second = me.begin(TURNS, "me", "invited")
    other.ask(f"/api/served/{second}/join", {"player": 1, "key": key}, 403)


@pytest.mark.parametrize("path", ["", "/events", "/positions/0", "/thoughts/0", "/review"])
def test_unknown_games_are_refused(server, path):
    me = server.browser()
    for ident in ("nothing", "..%2F..%2Fetc", "%00", "x" * 300, "' OR 1=1 --"):
        assert me.ask(f"/api/served/{ident}{path}", status=404)["error"]


@pytest.mark.parametrize(
    ("body", "status"),
    [
        (b"", 400),
        (b"{", 400),
        (b"[]", 400),
        (b"null", 400),
        (b'{"player": 0}', 400),
        (b'{"player": 0, "ply": 0, "action": "4/4", "more": 1}', 400),
        (b'{"player": "0", "ply": 0, "action": "4/4"}', 400),
        (b'{"player": true, "ply": 0, "action": "4/4"}', 400),
        (b'{"player": -1, "ply": 0, "action": "4/4"}', 400),
        (b'{"player": 0, "ply": 1e400, "action": "4/4"}', 400),
        (b'{"player": 0, "ply": NaN, "action": "4/4"}', 400),
        (b'{"player": 0, "ply": 0, "action": 40}', 400),
        (b'{"player": 0, "ply": 0, "action": "40"}', 400),
        (b'{"player": 0, "ply": 0, "action": "' + b"4" * 300 + b'"}', 400),
        (b'{"player": 0, "ply": 0, "action": "\\ud800"}', 400),
        (b"[" * 10_000, 400),
        (b"1" * 10_000, 400),
        (b"\xff\xfe", 400),
        (b" " * 20_000, 413),
    ],
)
def test_bodies_that_are_none_are_refused(server, body, status):
    me = server.browser()
    ident = me.begin(TURNS, "me", "random")
    headers = {"content-type": "application/json"}
    answer = me.client.post(f"/api/served/{ident}/move", content=body, headers=headers)
    assert answer.status_code == status
    assert answer.json()["error"]
    assert me.look(ident)["ply"] == 0


def test_games_options_and_agents_that_are_none_are_refused(server, tmp_path):
    me = server.browser()
    code = tmp_path / "evil.py"
    code.write_text(f"open({str(tmp_path / 'run')!r}, 'w')\ndef f(observation, mask): return 0\n")
    for agent in (f"{code}:f", "program:touch x", "os:system", "human", "mcts:simulations=100000000", "network:/", ""):
        me.begin(TURNS, "me", agent, status=400)
    assert not (tmp_path / "run").exists()
    me.begin("nothing", "me", "random", status=404)
    me.begin("toy_coin:make", "me", "random", status=404)
    me.begin(TURNS, "me", "random", options={"nothing": "1"}, status=400)
    me.begin(TURNS, "me", "random", options={"won_boards": "ajar"}, status=400)
    me.begin(TURNS, "me", status=400)
    me.begin(TURNS, "me", "random", "random", status=400)
    body = {"game": TURNS, "options": {}, "seats": [{"kind": "me"}, {"kind": "king"}]}
    me.ask("/api/served", body, 400)
    me.ask("/api/served", body | {"seats": 2}, 400)
    me.ask("/api/served", body | {"options": [1]}, 400)
    me.ask("/api/setup", {"game": 1, "options": {}}, 400)


def test_requests_of_other_sites_are_refused(server):
    me = server.browser()
    body = {"game": TURNS, "options": {}}
    me.ask("/api/setup", body, headers={"origin": "http://testserver", "sec-fetch-site": "same-origin"})
    for headers in (
        {"host": "evil.example"},
        {"host": "evil.example:8000"},
        {"host": "10.0.0.1.evil.example"},
        {"host": ""},
        {"origin": "http://evil.example"},
        {"origin": "null"},
        {"origin": "http://testserver:3000"},
        {"sec-fetch-site": "cross-site"},
        {"sec-fetch-site": "same-site"},
    ):
        me.ask("/api/setup", body, 403, headers=headers)
        assert me.client.get("/api/games", headers=headers).status_code == 403
    # Somebody follows a link from another page.
    visit = {"sec-fetch-site": "cross-site", "sec-fetch-mode": "navigate", "sec-fetch-dest": "document"}
    assert me.client.get("/", headers=visit).status_code == 200
    answer = me.client.post("/api/setup", content=json.dumps(body), headers={"content-type": "text/plain"})
    assert answer.status_code == 415
    assert me.client.get("/api/setup").status_code == 405


def test_a_server_on_this_machine_alone_has_no_other_address(tmp_path):
    app = make_app(Hall(tmp_path / "games.sqlite"), Records(None))
    with TestClient(app, base_url="http://127.0.0.1:8000") as client:
        assert client.get("/api/games").status_code == 200
        assert client.get("/api/games", headers={"host": "[::1]:8000"}).status_code == 200
        assert client.get("/api/games", headers={"host": "192.168.0.7:8000"}).status_code == 403


def test_a_browser_without_a_cookie_begins_no_game(server):
    client = TestClient(server.app)
    client.portal = server._client.portal
    body = {"game": TURNS, "options": {}, "seats": [{"kind": "me"}, {"kind": "me"}]}
    assert client.post("/api/served", json=body).status_code == 403
    answer = client.get("/api/games")
    cookie = answer.headers["set-cookie"].lower()
    assert "httponly" in cookie
    assert "samesite=strict" in cookie
    assert "set-cookie" not in client.get("/api/games").headers


def test_a_cookie_is_one_that_this_server_made(server, tmp_path):
    me = server.browser()
    ident = me.begin(TURNS, "me", "random")
    ((name, mine),) = dict(me.client.cookies).items()
    token, _, proof = mine.partition(".")
    with Server(tmp_path / "another.sqlite") as other_server:
        ((_, elsewhere),) = dict(other_server.browser().client.cookies).items()
    forged = ("x" * 43, "x" * 43 + "." + proof, token, f"{token}.{proof[:-1]}", f"{token}.{'0' * 32}", elsewhere, "")
    for value in forged:
        client = TestClient(server.app, headers={"cookie": f"{name}={value}"})
        client.portal = server._client.portal
        body = {"game": TURNS, "options": {}, "seats": [{"kind": "me"}, {"kind": "me"}]}
        assert client.post("/api/served", json=body).status_code == 403
        assert not client.get(f"/api/served/{ident}").json()["seats"][0]["yours"]
        # The page gives a browser that has none of this server a new one.
        assert "set-cookie" in client.get("/api/games").headers
    assert server.browser({name: mine}).look(ident)["seats"][0]["yours"]


def test_the_page_and_nothing_else_is_sent(server):
    me = server.browser()
    page = me.client.get("/")
    assert "script-src 'self'" in page.headers["content-security-policy"]
    assert "unsafe" not in page.headers["content-security-policy"]
    assert page.headers["x-content-type-options"] == "nosniff"
    names = re.findall(r'(?:href|src)="/static/([^"]+)"', page.text)
    assert "app.js" in names
    for name in names:
        answer = me.client.get(f"/static/{name}")
        assert answer.status_code == 200
        for other in re.findall(r'from "\./([^"]+)"', answer.text):
            assert me.client.get(f"/static/{other}").status_code == 200
    for wrong in ("../app.py", "..%2Fapp.py", "%2Fetc%2Fpasswd", "app.py", ""):
        assert me.client.get(f"/static/{wrong}").status_code == 404


def test_limits(tmp_path, monkeypatch):
    monkeypatch.setattr(hall, "MOST_GAMES", 3)
    with Server(tmp_path / "games.sqlite", rates=Rates(0.001, 40)) as server:
        me = server.browser()
        for _ in range(3):
            ident = me.begin(TURNS, "me", "random")
        me.begin(TURNS, "me", "random", status=503)
        # Games that nobody has touched for a week make room.
        server.hall.store._db.execute("UPDATE games SET touched = 0 WHERE id != ?", (ident,))
        me.begin(TURNS, "me", "random")
        monkeypatch.setattr(hall, "MOST_PLIES", 1)
        me.play(ident, "4/4")
        while True:
            answer = me.client.get("/api/games")
            if answer.status_code != 200:
                break
        assert answer.status_code == 429
        assert int(answer.headers["retry-after"]) > 1


def test_rates():
    rates = Rates(per_second=0.001, at_once=3)
    assert [rates.seconds_to_wait("a") > 0 for _ in range(5)] == [False] * 3 + [True] * 2
    assert rates.seconds_to_wait("b") == 0


def test_an_address_that_was_idle_sends_no_more_at_once(monkeypatch):
    now = 0.0
    monkeypatch.setattr(guard.time, "monotonic", lambda: now)
    rates = Rates(per_second=1.0, at_once=3)
    assert rates.seconds_to_wait("a") == 0
    now = 1e6
    assert [rates.seconds_to_wait("a") > 0 for _ in range(5)] == [False] * 3 + [True] * 2


def test_rates_of_many_addresses_are_forgotten(monkeypatch):
    monkeypatch.setattr(guard, "_ADDRESSES", 10)
    rates = Rates(1.0, 1.0)
    for k in range(100):
        rates.seconds_to_wait(str(k))
    assert len(rates._buckets) == 10
