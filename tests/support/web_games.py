"""A server of `ttt serve` in this process, browsers that talk to it, and agents that are slow or fail."""

import threading
import time
from pathlib import Path

from starlette.testclient import TestClient

from ttt_envs.agents import Agent
from ttt_envs.web.app import make_app
from ttt_envs.web.guard import Rates
from ttt_envs.web.hall import Hall
from ttt_envs.web.recorded import Records

COIN, KUHN, TURNS = "toy_coin", "toy_kuhn", "super_tic_tac_toe"


class Slow(Agent):
    """Thinks until it is let go, and then plays the last legal action; from the second time on, the first one."""

    go = threading.Event()
    calls = 0

    def act(self, view):
        type(self).calls += 1
        first = self.calls == 1
        assert self.go.wait(30)
        time.sleep(0.1)  # never known to be quick
        masks = view.masks
        return masks.shape[1] - 1 - masks[:, ::-1].argmax(axis=1) if first else masks.argmax(axis=1)


class Broken(Agent):
    """Fails."""

    def act(self, view):
        raise RuntimeError("a secret of the server")


class Server:
    """A server in this process, and browsers that talk to it."""

    def __init__(self, path: Path, folder: Path | None = None, more: tuple[str, ...] = (), rates: Rates | None = None):
        self.hall = Hall(path, more)
        self.app = make_app(self.hall, Records(folder), names=["testserver"], rates=rates or Rates(1e6, 1e6))

    def __enter__(self):
        self._client = TestClient(self.app).__enter__()
        return self

    def __exit__(self, *error):
        self._client.__exit__(*error)

    def browser(self, cookies=None) -> "Browser":
        # All through one event loop, each with cookies of its own.
        return Browser(self, cookies)


class Browser:
    def __init__(self, server: Server, cookies=None):
        self.client = TestClient(server.app, cookies=cookies)
        self.client.portal = server._client.portal
        self.received: list[str] = []
        self.ask("/api/games")

    def ask(self, path, body=None, status=200, **more):
        answer = self.client.get(path, **more) if body is None else self.client.post(path, json=body, **more)
        self.received.append(answer.text)
        assert answer.status_code == status, answer.text
        return answer.json()

    def begin(self, game, *seats, options=None, status=201):
        kinds = [{"kind": each} if each in ("me", "invited") else {"kind": "agent", "agent": each} for each in seats]
        return self.ask("/api/served", {"game": game, "options": options or {}, "seats": kinds}, status).get("id")

    def look(self, ident, player=None):
        return self.ask(f"/api/served/{ident}" + ("" if player is None else f"?player={player}"))

    def play(self, ident, action, player=None, status=200, ply=None):
        now = self.look(ident, player)
        body = {"player": now["you"] if player is None else player, "ply": now["ply"] if ply is None else ply}
        return self.ask(f"/api/served/{ident}/move", {**body, "action": action}, status)

    def wait(self, ident, player=None):
        """The game when it is this browser's turn, or over."""
        until = time.monotonic() + 120  # what it needs may have to be compiled
        while time.monotonic() < until:
            now = self.look(ident, player)
            if now["actions"] or now["over"] or now["trouble"]:
                return now
            time.sleep(0.01)
        raise AssertionError("nothing happens")

    def play_on(self, ident, rng, plies=10_000):
        """Play at random, so many moves or to the end."""
        now = self.wait(ident)
        for _ in range(plies):
            if now["over"]:
                break
            self.play(ident, rng.choice([each["name"] for each in now["actions"]]))
            now = self.wait(ident)
        return now
