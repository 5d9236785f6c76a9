"""A server of `ttt serve` in this process, a page that talks to it, and agents that are slow or fail."""

import asyncio
import threading
import time
from pathlib import Path

from starlette.testclient import TestClient

from ttt_envs.agents import Agent
from ttt_envs.web.app import make_app
from ttt_envs.web.games import Hall
from ttt_envs.web.recorded import Records
from ttt_envs.web.server import PLAYED

COIN, KUHN, TURNS = "toy_coin", "kuhn_poker", "super_tic_tac_toe"


class Slow(Agent):
    """Thinks until it is let go, and then plays the last legal action; from the second time on, the first one."""

    go = threading.Event()
    calls = 0

    def act(self, view):
        type(self).calls += 1
        first = self.calls == 1
        assert self.go.wait(30)
        masks = view.masks
        return masks.shape[1] - 1 - masks[:, ::-1].argmax(axis=1) if first else masks.argmax(axis=1)


class Broken(Agent):
    """Fails, with the error of that name."""

    def __init__(self, error: str = "RuntimeError") -> None:
        errors = (RuntimeError, SystemExit, GeneratorExit, KeyboardInterrupt, StopIteration, asyncio.CancelledError)
        self.error = {each.__name__: each for each in errors}[error]

    def act(self, view):
        raise self.error("no idea")


class Page:
    """What the page of a server asks for. Use it in a `with` statement."""

    def __init__(self, folder: Path, more: tuple[str, ...] = ()) -> None:
        self.hall = Hall(folder / PLAYED, more)
        self.client = TestClient(make_app(self.hall, Records(folder)), base_url="http://127.0.0.1:8000")

    def __enter__(self):
        self.client.__enter__()
        return self

    def __exit__(self, *error):
        self.client.__exit__(*error)

    def ask(self, path, body=None, status=200, **more):
        answer = self.client.get(path, **more) if body is None else self.client.post(path, json=body, **more)
        assert answer.status_code == status, answer.text
        return answer.json()

    def begin(self, game, *seats, status=201, **options):
        """Begin a game; None is the seat of a person."""
        return self.ask("/api/served", {"game": game, "options": options, "seats": seats}, status).get("id")

    def look(self, ident):
        return self.ask(f"/api/served/{ident}")

    def play(self, ident, action, status=200, **changes):
        now = self.look(ident)
        body = {"player": now["you"], "ply": now["ply"], "action": action, **changes}
        return self.ask(f"/api/served/{ident}/move", body, status)

    def wait(self, ident):
        """The game when it is a person's turn, or over, or in trouble."""
        now, until = self.look(ident), time.monotonic() + 120  # what it needs may have to be compiled
        while now["thinking"] and time.monotonic() < until:
            now = self.ask(f"/api/served/{ident}?after={now['version']}")
        assert not now["thinking"]
        return now

    def play_on(self, ident, rng, plies=10_000):
        """Play at random, so many moves or to the end."""
        now = self.wait(ident)
        for _ in range(plies):
            if now["over"]:
                break
            self.play(ident, rng.choice([each["name"] for each in now["actions"]]))
            now = self.wait(ident)
        return now
