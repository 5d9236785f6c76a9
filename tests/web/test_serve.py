"""The command `ttt serve`: what it says, and what it refuses."""

import logging
import queue
import re
import socket
import sys
import time
import webbrowser
from collections.abc import Iterator
from pathlib import Path

import pytest

from tools.serving import Served
from ttt_envs import cli
from ttt_envs.storage.files import locked_file

pytest.importorskip("starlette")
pytest.importorskip("uvicorn")
pytest.importorskip("httpx2")

import httpx2
import uvicorn
from starlette.testclient import TestClient

from ttt_envs.web.app import make_app
from ttt_envs.web.hall import Hall
from ttt_envs.web.recorded import Records

ROOT = Path(__file__).resolve().parents[2]


@pytest.fixture
def data(tmp_path: Path) -> Path:
    return tmp_path / "games.sqlite"


@pytest.fixture
def taken() -> Iterator[int]:
    """A port at which somebody else listens."""
    with socket.create_server(("127.0.0.1", 0)) as other:
        yield other.getsockname()[1]


def refused(capsys: pytest.CaptureFixture[str], *arguments: object) -> str:
    """The one line that a refused command says."""
    assert cli.main(["serve", *map(str, arguments)]) == 2
    shown = capsys.readouterr()
    assert not shown.out
    (line,) = shown.err.splitlines()
    return line.removeprefix("error: ")


def test_a_port_in_use_is_named(data: Path, taken: int, capsys: pytest.CaptureFixture[str]) -> None:
    assert refused(capsys, "--port", taken, "--data", data) == (
        f"the server cannot listen at 127.0.0.1, port {taken}: Address already in use; choose another --port, or 0 for "
        "any that is free"
    )
    assert not data.exists()


def test_a_host_or_a_port_that_is_none_is_named(
    data: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    # An address for documentation (RFC 5737), which no machine has.
    line = refused(capsys, "--host", "192.0.2.1", "--data", data)
    assert line.startswith("the server cannot listen at 192.0.2.1, port 8000: ")
    assert refused(capsys, "--port", 65536, "--data", data) == "port must be from 0 to 65535, not 65536"

    def unknown(*_: object, **__: object) -> None:
        raise socket.gaierror(socket.EAI_NONAME, "Name or service not known")

    monkeypatch.setattr(socket, "getaddrinfo", unknown)
    line = refused(capsys, "--host", "nowhere", "--data", data)
    assert line == "there is no host 'nowhere': --host takes an address or a name of this machine"
    assert not data.exists()


@pytest.mark.parametrize("missing", [["uvicorn"], ["starlette", "uvicorn"]])
def test_the_extra_is_named_if_it_is_missing(
    missing: list[str], data: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    for name in missing:
        monkeypatch.setitem(sys.modules, name, None)
    are = f"{' and '.join(missing)} {'is' if len(missing) == 1 else 'are'}"
    line = refused(capsys, "--port", 0, "--data", data)
    assert line == f"{are} not installed; install the extra 'web': pip install 'ttt-envs[web]'"
    assert not data.exists()


def test_games_that_another_server_keeps_are_left_alone(data: Path, capsys: pytest.CaptureFixture[str]) -> None:
    with locked_file(data):
        assert str(data) in refused(capsys, "--port", 0, "--data", data)


@pytest.fixture
def served(monkeypatch: pytest.MonkeyPatch) -> list[uvicorn.Server]:
    """The servers that were ready to answer: each ends at once."""
    found: list[uvicorn.Server] = []
    monkeypatch.setattr(uvicorn.Server, "run", lambda self, sockets: found.append(self))
    return found


def test_by_default_nobody_else_reaches_it_and_nobody_is_warned(
    data: Path, served: list[uvicorn.Server], capsys: pytest.CaptureFixture[str]
) -> None:
    for host in ((), ("--host", "localhost")):
        assert cli.main(["serve", "--port", "0", "--data", str(data), *host]) == 0
        shown = capsys.readouterr()
        name = "localhost" if host else "127.0.0.1"
        assert re.fullmatch(
            rf"Play at http://{name}:\d+/ \(Ctrl-C ends the server; its games are kept in {re.escape(str(data))}\)\n",
            shown.out,
        )
        assert not shown.err
    assert len(served) == 2


def test_the_browser_is_opened_if_asked_for(
    data: Path, served: list[uvicorn.Server], monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    opened: queue.Queue[str] = queue.Queue()
    monkeypatch.setattr(webbrowser, "open", opened.put)
    assert cli.main(["serve", "--port", "0", "--data", str(data)]) == 0
    assert cli.main(["serve", "--port", "0", "--data", str(data), "--open"]) == 0
    address = opened.get(timeout=10)
    assert f"Play at {address} (" in capsys.readouterr().out.splitlines()[1]
    assert opened.empty()


def test_handlers_of_others_stay_open(data: Path, served: list[uvicorn.Server], capsys: pytest.CaptureFixture) -> None:
    closed = []

    class Other(logging.Handler):
        def close(self) -> None:
            closed.append(self)

    other = Other()
    assert cli.main(["serve", "--port", "0", "--data", str(data)]) == 0
    assert closed == []
    assert other.level == logging.NOTSET


def test_who_can_play_beyond_this_machine_is_told_as_it_is_documented(
    data: Path, served: list[uvicorn.Server], capsys: pytest.CaptureFixture[str]
) -> None:
    assert cli.main(["serve", "--host", "0.0.0.0", "--port", "0", "--data", str(data)]) == 0
    shown = capsys.readouterr()
    port = re.match(r"Play at http://127\.0\.0\.1:(\d+)/ ", shown.out)[1]
    assert f"http://ADDRESS:{port}/" in shown.err
    assert "Everybody who can reach" in shown.err
    assert "not encrypted" in shown.err
    page = " ".join((ROOT / "docs" / "serve.md").read_text().split())
    assert "a password and without encryption, and the command says so" in page
    # It answers by any address that is a number, as documented, and by no other name.
    with TestClient(make_app(Hall(data), Records(None), names=["0.0.0.0"]), base_url="http://127.0.0.1") as client:
        for host, status in (
            ("127.0.0.1:8000", 200),
            ("192.168.0.7:8000", 200),
            ("[fe80::1]:8000", 200),
            ("evil.example", 403),
            ("10.0.0.1.evil.example", 403),
        ):
            assert client.get("/api/games", headers={"host": host}).status_code == status, host


def test_a_game_of_ones_own_is_served(data: Path) -> None:
    server = Served(data, "examples.connect_four:make")
    try:
        with httpx2.Client(base_url=server.address, timeout=180) as client:
            games = client.get("/api/games").json()["games"]
            assert [each["title"] for each in games if each["id"] == "connect_four"] == ["Connect Four"]
            seats = [{"kind": "me"}, {"kind": "agent", "agent": "greedy"}]
            made = client.post("/api/served", json={"game": "connect_four", "options": {"line": "3"}, "seats": seats})
            place = f"/api/served/{made.json()['id']}"
            move = {"player": 0, "ply": 0, "action": client.get(place).json()["actions"][0]["name"]}
            assert client.post(f"{place}/move", json=move).status_code == 200
            until = time.monotonic() + 120
            while client.get(place).json()["ply"] < 2:
                assert time.monotonic() < until
                time.sleep(0.1)
    finally:
        assert server.stop() == 0


def test_a_game_to_be_served_is_none_of_the_library(data: Path, capsys: pytest.CaptureFixture[str]) -> None:
    line = refused(capsys, "ttt_envs.games.tic_tac_dice:make", "--data", data)
    assert line.startswith("'tic_tac_dice' is a game of the library")
