"""Errands: work on one game that may need machine code which is not on disk; then a process apart does it first.

What the process compiles is kept on disk, where the server finds it. So compiling takes neither the server's lock nor
its memory, which Numba never gives back, and it can be ended.

    python -m ttt_envs.web.errands < ERRAND.json
"""

import json
import os
import subprocess
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from typing import Any

from ttt_envs.core.game import Game
from ttt_envs.core.live import LiveGame
from ttt_envs.core.view import View
from ttt_envs.evaluation.thoughts import Take, Thoughts, review, think
from ttt_envs.registry import GAMES, load, parse_options
from ttt_envs.web.shelf import Shelf

# Decisions that are thought about for one review.
_REVIEWED = 400

# Seconds that a process may take.
_PATIENCE = 600.0


class NotDone(Exception):
    """Raised where the process has failed; the message says how."""


@dataclass(frozen=True)
class Errand:
    """What is to be worked out, as data.

    Attributes:
        work: "begin", "decide", "think" or "review", see the functions of these names.
        game: id of the game.
        options: as texts.
        episode_seed, actions, waiting: what was played, see `LiveGame`.
        players: whose decisions it is about.
        agents: the texts of these players' agents; None for people.
        ply: the position to think about.
    """

    work: str
    game: str
    options: Mapping[str, str]
    episode_seed: int
    actions: Sequence[Sequence[int]] = ()
    waiting: Mapping[int, int] = field(default_factory=dict)
    players: Sequence[int] = ()
    agents: Sequence[str | None] = ()
    ply: int = 0


def begin(game: Game) -> None:
    """Play a ply of a game, so that its kernels are there before the server needs them."""
    live = LiveGame.begin(game, 0)
    while not live.ply:
        player = live.asked()[0]
        live.view(player).sample_worlds()
        live.choose(player, live.legal(player)[0])


def thoughts(views: Sequence[View], seats: Sequence[str | None], take: Take) -> list[Thoughts]:
    """The thoughts on the decisions in these views, which these agents, or people, take."""
    return [think(view, agent, take=take) for view, agent in zip(views, seats, strict=True)]


def decisions(live: LiveGame, players: Sequence[int]) -> list[tuple[int, View, int]]:
    """The first decisions of these players in a game, as `review` takes them."""
    return [
        (ply, live.view(player, ply), joint[player])
        for ply, joint in enumerate(live.actions)
        for player in players
        if joint[player] >= 0
    ][:_REVIEWED]


def do(errand: Errand) -> None:
    """Do the work of an errand; raises what it raises."""
    game = load(errand.game, **parse_options(errand.game, [f"{k}={v}" for k, v in errand.options.items()]))
    begin(game)
    live = LiveGame(game, errand.episode_seed, errand.actions, {int(k): v for k, v in errand.waiting.items()})
    shelf = Shelf()
    if errand.work == "decide":
        for player, agent in zip(errand.players, errand.agents, strict=True):
            assert agent is not None
            shelf.decide(agent, live.view(player))
    elif errand.work == "think":
        thoughts([live.view(player, errand.ply) for player in errand.players], errand.agents, shelf.take)
    elif errand.work == "review":
        review(decisions(live, errand.players), take=shelf.take)


class Messenger:
    """A process that does an errand."""

    def __init__(self, errand: Errand) -> None:
        """Start nothing yet."""
        self._errand = errand
        self._process: subprocess.Popen[str] | None = None
        self._ended = False

    def run(self) -> None:
        """Have it done; raises NotDone if that fails or takes too long, and nothing if it was ended."""
        entry = GAMES[self._errand.game]
        if not isinstance(entry, str):
            raise NotDone("a game that is a function of this process is known to no other")
        # What this process imports from, it does, too.
        place = {**os.environ, "PYTHONPATH": os.pathsep.join(path for path in sys.path if path)}
        command = [sys.executable, "-m", "ttt_envs.web.errands"]
        pipe = subprocess.PIPE
        with subprocess.Popen(
            command, stdin=pipe, stdout=subprocess.DEVNULL, stderr=pipe, text=True, env=place
        ) as process:
            self._process = process
            if self._ended:
                process.kill()
            try:
                _, said = process.communicate(json.dumps({**asdict(self._errand), "entry": entry}), _PATIENCE)
            except subprocess.TimeoutExpired:
                process.kill()
                raise NotDone(f"it took longer than {_PATIENCE:g} s") from None
        if process.returncode and not self._ended:
            raise NotDone((said.strip().splitlines() or [f"status {process.returncode}"])[-1])

    def end(self) -> None:
        """End it, as nobody waits for it any more."""
        self._ended = True
        if self._process is not None:
            self._process.kill()


def main(read: Callable[[], str] = sys.stdin.read) -> None:
    """Do the errand of the standard input."""
    told: dict[str, Any] = json.loads(read())
    GAMES.setdefault(told["game"], told.pop("entry"))
    do(Errand(**told))


if __name__ == "__main__":
    main()
