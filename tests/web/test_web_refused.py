"""What the server of `ttt serve` refuses: other sites, wrong requests, what is none of its files, games or agents."""

import re

import pytest

pytest.importorskip("starlette")
pytest.importorskip("uvicorn")
pytest.importorskip("httpx2")

from web_games import TURNS

pytestmark = pytest.mark.usefixtures("toys")


def test_requests_of_other_sites_and_to_other_names_are_refused(page):
    body = {"game": TURNS, "options": {}}
    for host in ("127.0.0.1:8000", "localhost:8000", "LOCALHOST", "[::1]:8000"):
        page.ask("/api/setup", body, headers={"host": host, "origin": f"http://{host}"})
    for headers in (
        *({"host": host} for host in ("", "evil.example:8000", "127.0.0.1.evil.example", "192.168.0.7:8000", "a@b")),
        *({"origin": origin} for origin in ("http://evil.example", "null", "http://127.0.0.1:3000")),
    ):
        page.ask("/api/setup", body, 403, headers=headers)
        assert page.client.get("/api/games", headers=headers).status_code == 403
    assert page.client.get("/api/setup").status_code == 405


@pytest.mark.parametrize("path", ["", "/positions/0", "/thoughts/0", "/review"])
def test_unknown_games_are_refused(page, path):
    for ident in ("nothing", "..%2F..%2Fetc", "%00"):
        assert page.ask(f"/api/served/{ident}{path}", status=404)["error"]


def test_a_ply_that_is_none_is_refused(page):
    ident = page.begin(TURNS, None, "random")
    for path in ("positions", "thoughts"):
        for ply in ("9" * 5000, "-1", "1e3", "٣", "1.0", "10"):
            error = page.ask(f"/api/served/{ident}/{path}/{ply}", status=400)["error"]
            assert "ply must be a whole number from 0 to 0" in error


@pytest.mark.parametrize(
    "body",
    [
        b"{",
        b'{"player": 0}',
        b'{"player": 0, "ply": 0, "action": "4/4", "more": 1}',
        b'{"player": "0", "ply": 0, "action": "4/4"}',
        b'{"player": 2, "ply": 0, "action": "4/4"}',
        b'{"player": 0, "ply": 0, "action": "40"}',
        b"\xff\xfe",
    ],
)
def test_bodies_that_are_none_are_refused(page, body):
    ident = page.begin(TURNS, None, "random")
    answer = page.client.post(f"/api/served/{ident}/move", content=body)
    assert answer.status_code == 400
    assert answer.json()["error"]
    assert page.look(ident)["ply"] == 0


def test_moves_that_cannot_be_made_are_refused(page):
    ident = page.begin(TURNS, None, "random")
    page.play(ident, "4/4", player=1, status=409)  # the agent's seat
    page.play(ident, "0/0", status=409)  # not legal
    page.play(ident, "4/4", ply=3, status=409)
    page.ask(f"/api/served/{ident}/step", {}, 409)
    assert page.look(ident)["ply"] == 0


def test_games_options_and_agents_that_are_none_are_refused(page, tmp_path):
    code = tmp_path / "evil.py"
    code.write_text(f"open({str(tmp_path / 'run')!r}, 'w')\ndef f(observation, mask): return 0\n")
    for agent in (f"{code}:f", "program:touch x", "os:system", "human", "mcts:simulations=100000000", ""):
        page.begin(TURNS, None, agent, status=400)
    assert not (tmp_path / "run").exists()
    page.begin("toy_coin:make", None, "random", status=404)
    page.begin(TURNS, None, "random", nothing="1", status=400)
    page.begin(TURNS, None, "random", won_boards="ajar", status=400)
    page.begin(TURNS, None, status=400)
    body = {"game": TURNS, "options": {}, "seats": [None, 1]}
    page.ask("/api/served", body, 400)
    page.ask("/api/served", body | {"seats": 2}, 400)
    page.ask("/api/served", body | {"options": [1]}, 400)
    page.ask("/api/setup", {"game": 1, "options": {}}, 400)


def test_the_page_and_nothing_else_is_sent(page):
    found = page.client.get("/")
    assert "script-src 'self'" in found.headers["content-security-policy"]
    assert "unsafe" not in found.headers["content-security-policy"]
    assert found.headers["x-content-type-options"] == "nosniff"
    names = re.findall(r'(?:href|src)="/static/([^"]+)"', found.text)
    assert "app.js" in names
    for name in names:
        answer = page.client.get(f"/static/{name}")
        assert answer.status_code == 200
        for other in re.findall(r'from "\./([^"]+)"', answer.text):
            assert page.client.get(f"/static/{other}").status_code == 200
    for wrong in ("../app.py", "..%2Fapp.py", "%2Fetc%2Fpasswd", "app.py", ""):
        assert page.client.get(f"/static/{wrong}").status_code == 404
