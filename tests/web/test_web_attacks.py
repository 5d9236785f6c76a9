"""The server of `ttt serve` against those who would keep it busy, fill its memory, or let it fail."""

import asyncio
import socket
import threading
from concurrent.futures import ThreadPoolExecutor

import pytest

pytest.importorskip("starlette")
pytest.importorskip("uvicorn")
pytest.importorskip("httpx2")

import uvicorn
from uvicorn.protocols.http import h11_impl
from web_games import COIN

import ttt_envs
from ttt_envs.core.machine_code import warn_once
from ttt_envs.web import app, catalog, connections, guard, hall, refusals
from ttt_envs.web.catalog import Agents
from ttt_envs.web.presence import Presence

pytestmark = pytest.mark.usefixtures("toys")


def test_a_ply_that_is_none_is_refused(server):
    me = server.browser()
    ident = me.begin(COIN, "me", "random")
    for path in ("positions", "thoughts"):
        for ply in ("9" * 5000, "-1", "1e3", "٣", "1.0", "10"):
            error = me.ask(f"/api/served/{ident}/{path}/{ply}", status=400)["error"]
            assert "ply must be a whole number from 0 to 0" in error


@pytest.mark.parametrize(
    ("header", "name"),
    [
        ("testserver", "testserver"),
        ("TestServer:8000", "testserver"),
        ("[::1]:8000", "::1"),
        ("10.0.0.1:80", "10.0.0.1"),
        *(
            (each, "")
            for each in ("", ":80", "a:b", "a:99999", "a:80:80", "[::1", "[::1]evil", "[x]", "a/b", "a@b", "a b")
        ),
    ],
)
def test_the_name_in_host(header, name):
    assert guard._name_of(header) == name


def test_a_body_that_does_not_come_is_not_waited_for(monkeypatch):
    monkeypatch.setattr(refusals, "PATIENCE", 0.01)

    async def receive():
        await asyncio.sleep(10)

    scope = {"type": "http", "method": "POST", "headers": [(b"content-type", b"application/json")]}
    with pytest.raises(refusals.Refused, match=r"did not come within 0\.01 s") as refused:
        asyncio.run(refusals.body_of(app.Request(scope, receive)))
    assert refused.value.status == 408


def test_idle_connections_are_closed(monkeypatch):
    """A connection that sends nothing, or half a request, is closed; one that waits for an answer is not."""
    monkeypatch.setattr(connections, "PATIENCE", 0.3)

    async def answer(scope, receive, send):
        await asyncio.sleep(1.0 if scope["path"] == "/slow" else 0)
        await send({"type": "http.response.start", "status": 204, "headers": []})
        await send({"type": "http.response.body"})

    async def talk(port, data):
        reader, writer = await asyncio.open_connection("127.0.0.1", port)
        writer.write(data)
        found = await asyncio.wait_for(reader.read(), 20)
        writer.close()
        return found

    async def run():
        config = uvicorn.Config(answer, http=connections.protocol(), log_level="error", lifespan="off")
        running = uvicorn.Server(config)
        with socket.create_server(("127.0.0.1", 0)) as listening:
            serving = asyncio.create_task(running.serve([listening]))
            request = b"GET %s HTTP/1.1\r\nHost: x\r\n\r\n"
            sent = (b"", b"GET / HTTP/1.1\r\nHo", request % b"/" + b"GET", request % b"/slow")
            found = await asyncio.gather(*(talk(listening.getsockname()[1], each) for each in sent))
            running.should_exit = True
            await serving
        return [each[:12] for each in found]

    assert asyncio.run(run()) == [b"", b"", b"HTTP/1.1 204", b"HTTP/1.1 204"]


@pytest.mark.parametrize("name", ["H11Protocol", "RequestResponseCycle"])
def test_a_uvicorn_without_the_inner_names_serves_by_its_own_protocol(name, monkeypatch):
    class Another:
        def __init__(self):
            self.loop = self.transport = None

        connection_made = None

    warn_once.cache_clear()
    monkeypatch.setattr(h11_impl, name, Another)
    lacking = {
        "H11Protocol": "H11Protocol.connection_lost",
        "RequestResponseCycle": "RequestResponseCycle.response_complete",
    }[name]
    with pytest.warns(RuntimeWarning, match=f"has no uvicorn.protocols.http.h11_impl:{lacking}: idle") as warned:
        assert [connections.protocol(), connections.protocol()] == ["auto", "auto"]
    assert len(warned) == 1
    monkeypatch.delattr(h11_impl, name)
    assert connections.missing() >= {f"uvicorn.protocols.http.h11_impl:{name}.__init__.__code__"}


def test_a_refused_body_is_not_read_on(server, monkeypatch):
    """Of the many bytes that a client wants to send, a server that has refused them takes few."""
    wanted = 64 << 20

    def send(port):
        with socket.create_connection(("127.0.0.1", port), 20) as sending:
            head = "POST /api/setup HTTP/1.1\r\nHost: testserver\r\nContent-Type: application/json\r\n"
            sending.sendall(f"{head}Content-Length: {wanted}\r\n\r\n".encode())
            sent = 0
            try:
                while sent < wanted:
                    sent += sending.send(b" " * (1 << 16))
            except OSError:
                pass
            return sent

    async def run():
        config = uvicorn.Config(server.app, http=connections.protocol(), log_level="error", lifespan="off")
        running = uvicorn.Server(config)
        with socket.create_server(("127.0.0.1", 0)) as listening:
            serving = asyncio.create_task(running.serve([listening]))
            sent = await asyncio.to_thread(send, listening.getsockname()[1])
            running.should_exit = True
            await serving
        return sent

    assert asyncio.run(run()) < wanted / 2  # what the system's buffers hold


def test_what_was_asked_for_by_a_client_that_has_gone_is_not_done():
    ended = []

    async def work(scope, receive, send):
        assert (await receive())["body"] == b"x"
        try:
            await asyncio.sleep(20)
        except asyncio.CancelledError:
            ended.append("dropped")
            raise

    async def run():
        messages = [{"type": "http.request", "body": b"x", "more_body": False}, {"type": "http.disconnect"}]

        async def receive():
            await asyncio.sleep(0.01)
            return messages.pop(0)

        await asyncio.wait_for(Presence(work)({"type": "http", "headers": []}, receive, None), 10)

    asyncio.run(run())
    assert ended == ["dropped"]


def test_one_address_follows_so_many_games(server, monkeypatch):
    monkeypatch.setattr(app, "_FOLLOWED", 0)
    me = server.browser()
    ident = me.begin(COIN, "me", "random")
    assert "too many" in me.ask(f"/api/served/{ident}/events", status=503)["error"]


def test_a_game_that_needs_much_memory_is_refused(server):
    me = server.browser()
    options = {"size": "6", "repetition_limit": "3", "max_plies": "65535"}
    body = {"game": "martian_tic_tac_toe", "options": options, "seats": [{"kind": "me"}, {"kind": "me"}]}
    assert "needs up to 9 MiB for its positions" in me.ask("/api/served", body, 400)["error"]
    for game_id in set(ttt_envs.GAMES) - {COIN, "toy_kuhn"}:
        game = ttt_envs.load(game_id)
        assert game.state_dtype.itemsize * min(game.max_plies, hall.MOST_PLIES) < hall._LARGEST / 4


def test_options_are_not_remembered_for_ever(monkeypatch):
    monkeypatch.setattr(catalog, "_KNOWN", 2)
    monkeypatch.setattr(catalog, "_plays", lambda spec, game: True)
    found = Agents()
    for plies in range(152, 160):
        assert found.offers(ttt_envs.load("martian_tic_tac_toe", max_plies=plies))
    assert len(found._known) == 2


def at_once(work, times):
    with ThreadPoolExecutor(times) as pool:
        return list(pool.map(lambda _: work(), range(times)))


def test_a_game_is_reviewed_by_one_thread_however_many_ask(server, monkeypatch):
    now, most, lock = 0, 0, threading.Lock()
    done = []

    def slow(decided, **given):
        nonlocal now, most
        with lock:
            now, most = now + 1, max(most, now + 1)
        threading.Event().wait(0.05)
        with lock:
            now -= 1
        done.append(decided)
        return []

    monkeypatch.setattr(hall, "review", slow)
    me = server.browser()
    ident = me.begin("tic_tac_dice", "random", "random", options={"rounds": "single"})
    while not me.look(ident)["over"]:
        me.ask(f"/api/served/{ident}/step", {})
    at_once(lambda: me.ask(f"/api/served/{ident}/review"), 4)
    assert (most, len(done)) == (1, 1)


def test_both_players_who_play_again_meet_in_one_game(server, monkeypatch):
    usual = hall.Hall.open

    async def slow(*given):
        await asyncio.sleep(0.1)
        return await usual(*given)

    me = server.browser()
    ident = me.begin(COIN, "me", "random")
    monkeypatch.setattr(hall.Hall, "open", slow)
    found = at_once(lambda: me.ask(f"/api/served/{ident}/again", {}, 201)["id"], 4)
    assert len(set(found)) == 1
