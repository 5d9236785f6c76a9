"""Ask hostile things of `ttt serve` from one address while somebody else plays, and measure what they notice.

    python -m tools.serve_soak

One address begins games with options that nobody has played, asks for hints and agents' moves in them, sends bodies
that are refused, and leaves before it is answered. Another one plays games with usual options all the while. All are
addresses of this machine, which Linux has many of. The exit status is 1 if a request of the one who plays took too
long, or if the server keeps more memory than the layouts that it takes of one address need.
"""

import http.client
import json
import random
import sys
import tempfile
import threading
import time
from collections import Counter
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import tyro

import ttt_envs
from tools.serving import Served
from ttt_envs.agents import search_for

#: Seconds that a request of somebody who plays may take.
MOST = 2.0

#: MiB that the server may hold more than before when all is over: machine code of the layouts that it has taken.
MORE = 32

_HOSTILE, _PLAYER = "127.0.0.2", "127.0.0.3"

#: Options of the hostile games: together they are laid out in many ways, each of which needs machine code of its own.
OPTIONS: dict[str, dict[str, Sequence[int | str]]] = {
    "martian_tic_tac_toe": {"size": range(3, 9), "repetition_limit": ("none", 2, 3), "max_plies": range(150, 400)},
    "tic_tac_dice": {"size": range(3, 6), "target_points": range(1, 100)},
    "tic_tac_match": {
        "colours": range(2, 5),
        "hand_size": range(2, 5),
        "max_turns": range(150, 400),
    },
}


@dataclass(frozen=True)
class Config:
    """Settings."""

    requests: int = 200
    """Hostile requests."""
    seconds: float = 60.0
    """Time over which they are spread."""
    rest: float = 90.0
    """Seconds after them before the memory is measured again."""
    seed: int = 0
    """Fixes the hostile requests."""
    game: str = "super_tic_tac_toe"
    """Id of the game that somebody plays."""
    hostile: tuple[str, ...] = tuple(OPTIONS)
    """Ids of the games that the other address begins."""


class Visitor:
    """A browser at an address of this machine."""

    def __init__(self, port: int, address: str) -> None:
        self.port, self.address, self.cookie = port, address, ""
        _, _, headers = self.ask("/api/games")
        self.cookie = headers["set-cookie"].partition(";")[0]

    def ask(self, path: str, body: Any = None, patience: float = 120.0) -> tuple[int, Any, Any]:
        """The status, the JSON and the headers of an answer; TimeoutError after `patience` seconds."""
        connection = http.client.HTTPConnection(
            "127.0.0.1", self.port, timeout=patience, source_address=(self.address, 0)
        )
        try:
            headers = {"content-type": "application/json", "cookie": self.cookie}
            data = body if body is None or isinstance(body, bytes) else json.dumps(body)
            connection.request("GET" if body is None else "POST", path, data, headers)
            answer = connection.getresponse()
            return answer.status, json.loads(answer.read()), answer.headers
        finally:
            connection.close()

    def begin(self, game: str, options: dict[str, str], simulations: int, patience: float = 120.0) -> tuple[int, Any]:
        """Begin a game against a tree search of that many simulations."""
        facts = ttt_envs.load(game)
        agent = f"{search_for(facts)}:simulations={simulations}"
        seats = [{"kind": "me"}, *([{"kind": "agent", "agent": agent}] * (facts.num_players - 1))]
        status, reply, _ = self.ask("/api/served", {"game": game, "options": options, "seats": seats}, patience)
        return status, reply


class Player(threading.Thread):
    """Somebody who plays one game after the other; `waits` has the seconds of each request, and what it was."""

    def __init__(self, port: int, game: str) -> None:
        super().__init__()
        self.visitor, self.game = Visitor(port, _PLAYER), game
        self.waits: list[tuple[float, str]] = []
        self.going, self.moves = True, 0

    def timed(self, what: str, path: str, body: Any = None) -> Any:
        """The answer to a request; raises RuntimeError for a refusal."""
        started = time.perf_counter()
        status, reply, _ = self.visitor.ask(path, body)
        self.waits.append((time.perf_counter() - started, what))
        if status >= 300:
            raise RuntimeError(f"{what}: {reply}")
        return reply

    def run(self) -> None:
        """Play until `going` is False."""
        choose = random.Random(1)
        while self.going:
            self.timed("the list of games", "/api/games")
            self.timed("a form", "/api/setup", {"game": self.game, "options": {}})
            started = time.perf_counter()
            status, reply = self.visitor.begin(self.game, {}, 100)
            self.waits.append((time.perf_counter() - started, "a new game"))
            if status != 201:
                raise RuntimeError(f"no new game: {reply}")
            path = f"/api/served/{reply['id']}"
            over = False
            while self.going and not over:
                started = time.perf_counter()
                now = self.timed("a look", path)
                while not now["actions"] and not now["over"]:
                    time.sleep(0.02)
                    now = self.timed("a look", path)
                self.waits.append((time.perf_counter() - started, "the agent's answer"))
                over = now["over"]
                if not over:
                    if self.moves % 5 == 0:
                        self.timed("a hint", f"{path}/thoughts/{now['ply']}")
                    action = choose.choice(now["actions"])["name"]
                    self.timed("a move", f"{path}/move", {"player": now["you"], "ply": now["ply"], "action": action})
                    self.moves += 1
                    time.sleep(0.2)


class Hostile:
    """Requests of one address that cost much; `answers` counts their statuses, and errors.

    It leaves without the rest of its answers at the time `until` of `time.monotonic`.
    """

    def __init__(self, port: int, config: Config, until: float) -> None:
        self.visitor, self.random, self.until = Visitor(port, _HOSTILE), random.Random(config.seed), until
        self.games = config.hostile
        self.answers: Counter[str] = Counter()

    def attack(self, k: int) -> None:
        """One request."""
        try:
            self.answers[str(self._attack(k))] += 1
        except (OSError, http.client.HTTPException) as error:
            self.answers[type(error).__name__] += 1

    def _attack(self, k: int) -> int:
        game = self.games[k % len(self.games)]
        options = {name: str(self.random.choice(values)) for name, values in OPTIONS[game].items()}
        kind = k % 8
        if kind == 6:
            return self.visitor.ask("/api/setup", b" " * (1 << 20))[0]
        if kind == 7:
            return self.visitor.ask("/api/setup", {"game": game, "options": options})[0]
        # Half of these leave before anything is done.
        patience = 0.2 if kind % 2 else max(self.until - time.monotonic(), 0.1)
        status, reply = self.visitor.begin(game, options, 10_000, patience)
        if status == 201 and kind == 0:
            patience = max(self.until - time.monotonic(), 0.1)
            return self.visitor.ask(f"/api/served/{reply['id']}/thoughts/0", patience=patience)[0]
        return status


def memory(process: int) -> tuple[int, int]:
    """MiB that a process holds in memory, and all those together that it has started."""
    own = others = 0
    for place in Path("/proc").iterdir():
        if place.name.isdigit():
            with suppress(OSError):  # it has ended meanwhile
                parent = int((place / "stat").read_text().rpartition(")")[2].split()[1])
                size = int((place / "statm").read_text().split()[1]) * 4096 >> 20
                if int(place.name) == process:
                    own = size
                elif parent == process:
                    others += size
    return own, others


@dataclass(frozen=True)
class Result:
    """The measurements of a soak.

    Attributes:
        waits: seconds of each request of the one who plays, and what it was; the longest first.
        moves: moves that they made.
        answers: statuses of the hostile requests, with their numbers.
        before, most, after: MiB that the server held, and all processes together that it had started: when the games
            had been played with their usual options, at most, and after the rest.
    """

    waits: list[tuple[float, str]]
    moves: int
    answers: Counter[str]
    before: tuple[int, int]
    most: tuple[int, int]
    after: tuple[int, int]


def warm(port: int, game: str) -> None:
    """Begin a game with its usual options, and ask for a hint: what anybody does."""
    visitor = Visitor(port, _PLAYER)
    status, reply = visitor.begin(game, {}, 100, 600)
    if status == 201:
        status, reply, _ = visitor.ask(f"/api/served/{reply['id']}/thoughts/0", patience=600)
    if status >= 300:
        raise RuntimeError(f"{game}: {reply}")


def soak(config: Config) -> Result:
    """Start a server, attack it, and end it."""
    with tempfile.TemporaryDirectory() as folder:
        served = Served(Path(folder) / "games.sqlite")
        try:
            for game in config.hostile:
                warm(served.port, game)
            player = Player(served.port, config.game)
            player.start()
            while player.is_alive() and player.moves < 7:  # what they need is compiled and loaded
                time.sleep(0.1)
            warmed, before = len(player.waits), memory(served.process)
            hostile = Hostile(served.port, config, time.monotonic() + config.seconds)
            seen = [before]
            for k in range(config.requests):
                threading.Thread(target=hostile.attack, args=(k,), daemon=True).start()
                time.sleep(config.seconds / config.requests)
                seen.append(memory(served.process))
            player.going = False
            player.join()
            time.sleep(config.rest)
            after = memory(served.process)
        finally:
            served.stop()
    waits = sorted(player.waits[warmed:], reverse=True)
    most = max(own for own, _ in seen), max(others for _, others in seen)
    return Result(waits, player.moves, hostile.answers, before, most, after)


def main() -> int:
    """Command line; returns the exit status."""
    config = tyro.cli(Config, prog="python -m tools.serve_soak", description=__doc__)
    result = soak(config)
    slow, what = result.waits[0]
    median = result.waits[len(result.waits) // 2][0]
    print(
        f"{config.requests} hostile requests in {config.seconds:g} s ({dict(result.answers)}), while another address "
        f"made {result.moves} moves in {len(result.waits)} requests: half of them within {median:.3f} s, the slowest "
        f"took {slow:.2f} s ({what}). MiB of the server, and of processes that compile: {result.before} before, "
        f"{result.most} at most, {result.after} {config.rest:g} s after"
    )
    return 1 if slow > MOST or result.after[0] > result.before[0] + MORE else 0


if __name__ == "__main__":
    sys.exit(main())
