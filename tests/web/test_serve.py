"""The command `ttt serve`: what it says, and what it refuses."""

import queue
import re
import signal
import socket
import subprocess
import sys
import time
import webbrowser
from collections.abc import Iterator
from pathlib import Path

import pytest

from ttt_envs import cli

pytest.importorskip("starlette")
pytest.importorskip("uvicorn")
pytest.importorskip("httpx2")

import httpx2
import uvicorn

ROOT = Path(__file__).resolve().parents[2]


@pytest.fixture
def taken() -> Iterator[int]:
    with socket.create_server(("127.0.0.1", 0)) as other:
        yield other.getsockname()[1]


def refused(capsys: pytest.CaptureFixture[str], *arguments: object) -> str:
    assert cli.main(["serve", *map(str, arguments)]) == 2
    shown = capsys.readouterr()
    assert not shown.out
    (line,) = shown.err.splitlines()
    return line.removeprefix("error: ")


def test_a_port_in_use_or_none_is_named(tmp_path: Path, taken: int, capsys: pytest.CaptureFixture[str]) -> None:
    assert f"port {taken}: Address already in use; choose another --port" in refused(
        capsys, "--port", taken, "--records", tmp_path
    )
    assert "port" in refused(capsys, "--port", 65536, "--records", tmp_path)
    assert str(tmp_path / "missing") in refused(capsys, "--port", 0, "--records", tmp_path / "missing")


@pytest.mark.parametrize("missing", [["uvicorn"], ["starlette", "uvicorn"]])
def test_the_extra_is_named_if_it_is_missing(
    missing: list[str], monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    for name in missing:
        monkeypatch.setitem(sys.modules, name, None)
    are = f"{' and '.join(missing)} {'is' if len(missing) == 1 else 'are'}"
    line = refused(capsys, "--port", 0)
    assert line == f"{are} not installed; install the extra 'web': pip install 'ttt-envs[web]'"


@pytest.fixture
def served(monkeypatch: pytest.MonkeyPatch) -> list[tuple[str, int]]:
    """The addresses of the servers that were ready to answer: each ends at once."""
    found: list[tuple[str, int]] = []
    monkeypatch.setattr(uvicorn.Server, "run", lambda self, sockets: found.append(sockets[0].getsockname()))
    return found


def test_it_listens_to_this_computer_alone_and_keeps_games_among_the_records(
    tmp_path: Path, served: list[tuple[str, int]], monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path / "data"))
    (tmp_path / "mine").mkdir()
    for records in ((), ("--records", str(tmp_path / "mine"))):
        assert cli.main(["serve", "--port", "0", *records]) == 0
        shown = re.fullmatch(
            r"Play at http://127\.0\.0\.1:(\d+)/ \(Ctrl-C ends the server; games are saved in (.*)\)\n",
            capsys.readouterr().out,
        )
        assert served[-1] == ("127.0.0.1", int(shown[1]))
        assert Path(shown[2]).parent.is_dir()
        assert Path(shown[2]).is_relative_to(tmp_path / ("mine" if records else "data"))
        assert Path(shown[2]).name == "played"


def test_the_browser_is_opened_if_asked_for(
    tmp_path: Path, served: list[object], monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    opened: queue.Queue[str] = queue.Queue()
    monkeypatch.setattr(webbrowser, "open", opened.put)
    assert cli.main(["serve", "--port", "0", "--records", str(tmp_path)]) == 0
    assert cli.main(["serve", "--port", "0", "--records", str(tmp_path), "--open"]) == 0
    address = opened.get(timeout=10)
    assert f"Play at {address} (" in capsys.readouterr().out.splitlines()[1]
    assert opened.empty()


AGENTS = """
import time

class Endless:
    def act(self, view):
        while True:
            time.sleep(1)
"""


def test_a_game_and_an_agent_of_ones_own_are_served_and_ctrl_c_ends_it_at_once(tmp_path: Path) -> None:
    (tmp_path / "mine.py").write_text(AGENTS)
    endless = f"{tmp_path}/mine.py:Endless"
    command = [sys.executable, "-m", "ttt_envs", "serve", "examples.connect_four:make", "--port", "0"]
    command += ["--records", str(tmp_path), "--agents", endless]
    process = subprocess.Popen(command, cwd=ROOT, stdout=subprocess.PIPE, text=True)
    try:
        address = re.match(r"Play at (\S+)/ ", process.stdout.readline())[1]
        with httpx2.Client(base_url=address, timeout=180) as client:
            games = client.get("/api/games").json()["games"]
            assert [each["title"] for each in games if each["id"] == "connect_four"] == ["Connect Four"]

            def begin(agent: str) -> str:
                body = {"game": "connect_four", "options": {"line": "3"}, "seats": [None, agent]}
                place = f"/api/served/{client.post('/api/served', json=body).json()['id']}"
                move = {"player": 0, "ply": 0, "action": client.get(place).json()["actions"][0]["name"]}
                assert client.post(f"{place}/move", json=move).status_code == 200
                return place

            thinking = begin(endless)
            place = begin("greedy")
            until = time.monotonic() + 120
            while client.get(place).json()["ply"] < 2:
                assert time.monotonic() < until
                time.sleep(0.1)
            assert client.get(thinking).json()["thinking"]
    finally:
        process.send_signal(signal.SIGINT)
        process.stdout.close()
        assert process.wait(20) == 0


def test_a_game_to_be_served_is_none_of_the_library(capsys: pytest.CaptureFixture[str]) -> None:
    line = refused(capsys, "ttt_envs.games.tic_tac_dice:make")
    assert line.startswith("'tic_tac_dice' is a game of the library")
