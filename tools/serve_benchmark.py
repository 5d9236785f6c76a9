"""Measure how quickly `ttt serve` answers: many games at once, each against an agent.

python -m tools.serve_benchmark

Each game has a browser of its own, which plays a random legal move as soon as it is its turn. An answer is complete
when the browser has been sent the position in which it is its turn again, or the end of the game; then it begins a new
one. Server and browsers share the machine.
"""

import http.client
import json
import random
import tempfile
import threading
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import tyro

import ttt_envs
from tools.serving import Served


@dataclass(frozen=True)
class Config:
    """Settings."""

    game: str = "super_tic_tac_toe"
    """Id of the game."""
    agent: str = "random"
    """Agent in the other seats."""
    games: int = 50
    """Games at once."""
    seconds: float = 20.0
    """Time to measure for."""
    think: float = 1.0
    """Seconds between an answer and the next move, on average; 0 for moves without a pause."""


class Browser:
    """One browser with one game after the other; `answers` are the seconds of its moves."""

    def __init__(self, port: int, config: Config, number: int) -> None:
        self.port, self.config, self.random = port, config, random.Random(number)
        self.players = ttt_envs.load(config.game).num_players
        self.answers: list[float] = []
        self.posts = http.client.HTTPConnection("127.0.0.1", port)
        self.posts.request("GET", "/api/games")
        answer = self.posts.getresponse()
        answer.read()
        self.cookie = answer.headers["set-cookie"].partition(";")[0]

    def post(self, path: str, body: Any) -> Any:
        """The JSON answer to a POST; raises RuntimeError for a refusal."""
        headers = {"content-type": "application/json", "cookie": self.cookie}
        self.posts.request("POST", path, json.dumps(body), headers)
        answer = self.posts.getresponse()
        reply = json.loads(answer.read())
        if answer.status >= 300:
            raise RuntimeError(reply["error"])
        return reply

    def positions(self, path: str) -> Iterator[Any]:
        """The positions that the server sends of its own accord."""
        stream = http.client.HTTPConnection("127.0.0.1", self.port)
        stream.request("GET", f"{path}/events", headers={"cookie": self.cookie})
        for line in stream.getresponse():
            if line.startswith(b"data: "):
                yield json.loads(line[6:])

    def play(self, until: float) -> None:
        """Play until a time of `time.perf_counter`."""
        while time.perf_counter() < until:
            others = [{"kind": "agent", "agent": self.config.agent}] * (self.players - 1)
            body = {"game": self.config.game, "options": {}, "seats": [{"kind": "me"}, *others]}
            path = f"/api/served/{self.post('/api/served', body)['id']}"
            asked = None
            for now in self.positions(path):
                if not (now["actions"] or now["over"]):
                    continue
                if asked is not None:
                    self.answers.append(time.perf_counter() - asked)
                if now["over"] or time.perf_counter() > until:
                    break
                time.sleep(self.random.random() * 2 * self.config.think)
                asked = time.perf_counter()
                action = self.random.choice(now["actions"])["name"]
                self.post(f"{path}/move", {"player": now["you"], "ply": now["ply"], "action": action})


def main() -> None:
    """Command line."""
    config = tyro.cli(Config, description=__doc__)
    with tempfile.TemporaryDirectory() as folder:
        served = Served(Path(folder) / "games.sqlite")
        try:
            Browser(served.port, Config(config.game, config.agent), 0).play(time.perf_counter() + 0.1)  # compiles
            browsers = [Browser(served.port, config, number) for number in range(config.games)]
            until = time.perf_counter() + config.seconds
            threads = [threading.Thread(target=each.play, args=(until,)) for each in browsers]
            for thread in threads:
                thread.start()
            for thread in threads:
                thread.join()
        finally:
            served.stop()
    milliseconds = 1000 * np.array([seconds for each in browsers for seconds in each.answers])
    median, slow, worst = np.percentile(milliseconds, (50, 95, 100))
    print(
        f"{config.games} games of {config.game} at once, {len(milliseconds)} moves in {config.seconds:g} s answered by "
        f"{config.agent}: median {median:.0f} ms, 95 % within {slow:.0f} ms, the slowest {worst:.0f} ms"
    )


if __name__ == "__main__":
    main()
