"""The base of all agents in processes of their own: limits, faults, restarts."""

import itertools
import json
import os
import threading
import time
from collections.abc import Mapping, Sequence
from typing import Any, TypeGuard

import numpy as np

from ttt_envs.agents.base import Agent, AgentFailed, Fault
from ttt_envs.agents.external.processes import Broken, Process, TooSlow
from ttt_envs.core.checks import explain
from ttt_envs.core.game import Game
from ttt_envs.core.options import within
from ttt_envs.core.view import View
from ttt_envs.storage.untrusted import brief, printable, read_json

#: The version of the protocols.
PROTOCOL = 1

# Attributes that a copy does not share.
_OWN = ("_lock", "_process", "_game", "_notes", "_spent", "_questions")

# After this many failed starts in a row, a program is not started again.
_STARTS = 3


class GameRefused(ValueError):
    """Raised for a game that the process says it cannot play."""


class ProcessAgent(Agent):
    """An agent that asks one process, one question after the other.

    The process is started when a game is checked or first asked about. A program that breaks a limit or the protocol is
    killed; the position it was asked about is a fault, and a new process answers the next question.

    A subclass says how it is started and asked: `_command`, `_hello`, `_question`, `_action`.
    """

    def __init__(self, seconds: float, game_seconds: float | None, start_seconds: float) -> None:
        """Limits: see the subclasses."""
        within(1e-3, 1e6, seconds=seconds, start_seconds=start_seconds)
        within(1e-3, 1e9, game_seconds=1.0 if game_seconds is None else game_seconds)
        self.seconds, self.game_seconds, self.start_seconds = seconds, game_seconds, start_seconds
        self._begin()

    def check(self, game: Game) -> None:
        """Start the process and ask it; raise ValueError if it cannot be started or does not play the game."""
        try:
            with self._lock:
                self._ready(game)
        except Broken as broken:
            stderr = f"; it wrote:\n{broken.stderr}" if broken.stderr else ""
            raise ValueError(f"agent {self.name!r} {broken.reason}{stderr}") from None

    def act(self, view: View) -> np.ndarray:
        """int64 (n,), asked for one after the other; -1 where the player has no legal action.

        Raises AgentFailed if the process failed in some positions, and ValueError if it does not play the game.
        """
        actions, faults = np.full(len(view), -1), dict[int, Fault]()
        for row in np.flatnonzero(view.masks.any(axis=1)).tolist():
            with self._lock:
                try:
                    actions[row] = self._asked(view, row)
                except Broken as broken:
                    faults[row] = Fault(broken.reason, broken.stderr)
        if faults:
            raise AgentFailed(self.name, actions, faults)
        return actions

    def episodes_over(self, episodes: np.ndarray, rewards: np.ndarray) -> None:
        """Forget the time that these games have taken; int64 (k,), float32 (k,)."""
        for number in episodes.tolist():
            self._spent.pop(number, None)

    def close(self) -> None:
        """End the process. The next question starts another one."""
        with self._lock:
            self._spent.clear()
            self._stop()

    def __getstate__(self) -> dict[str, Any]:
        """A copy has a process of its own."""
        return {name: value for name, value in vars(self).items() if name not in _OWN}

    def __setstate__(self, state: Mapping[str, Any]) -> None:
        vars(self).update(state)
        self._begin()

    # --- what a subclass says ---

    def _command(self) -> tuple[Sequence[str], Mapping[str, str]]:
        raise NotImplementedError

    def _hello(self, game: Game) -> dict[str, Any]:
        raise NotImplementedError

    def _question(self, view: View, row: int, seconds: float) -> dict[str, Any]:
        """A question on a position; `seconds`: how long it may take."""
        raise NotImplementedError

    def _action(self, view: View, answer: dict[str, Any]) -> int:
        """The action of an answer, legal or not; raises Broken for a wrong answer."""
        raise NotImplementedError

    # --- questions ---

    def _begin(self) -> None:
        self._lock = threading.RLock()  # one question at a time
        self._process: Process | None = None
        self._game: Game | None = None
        self._notes: list[dict[str, Any]] = []  # messages without an answer, sent before the next question
        self._spent: dict[int, float] = {}  # number of a game: seconds
        self._questions = itertools.count(1)
        self._failed_starts = 0

    def _asked(self, view: View, row: int) -> int:
        process = self._ready(view.game)
        game = None if view.episodes is None else int(view.episodes[row])
        limit = self._limit(game)
        number = next(self._questions)
        question = {"type": "question", "id": number, **self._question(view, row, limit)}
        lines = b"".join(map(_line, [*self._notes, question]))
        started = time.monotonic()
        try:
            answer = process.ask(lines, limit)
            taken = time.monotonic() - started
            action = self._checked_answer(view, row, number, _message(answer))
        except BaseException as error:
            process.kill()
            self._process = None
            if isinstance(error, Broken):
                spent = isinstance(error, TooSlow) and limit < self.seconds
                reason = f"has used up its {self.game_seconds:g} s for the game" if spent else error.reason
                raise Broken(reason, process.stderr) from None
            raise
        self._notes = []
        if self.game_seconds is not None and game is not None:
            self._spent[game] = self._spent.get(game, 0.0) + taken
        return action

    def _checked_answer(self, view: View, row: int, number: int, answer: dict[str, Any]) -> int:
        """The legal action of an answer; raises Broken."""
        if answer.get("type") != "answer":
            raise Broken(f"answered a question with {brief(repr(answer))}, whose type is not 'answer'")
        if not is_whole(answer.get("id")) or answer["id"] != number:
            raise Broken(f"answered question {brief(repr(answer.get('id')))} when it was asked question {number}")
        action = self._action(view, answer)
        if not view.masks[row, action]:
            raise Broken(explain(view.game, f"as player {view.players[row]}", action, view.masks[row]))
        return action

    def _limit(self, game: int | None) -> float:
        if self.game_seconds is None or game is None:
            return self.seconds
        return max(min(self.seconds, self.game_seconds - self._spent.get(game, 0.0)), 1e-3)

    # --- starts ---

    def _ready(self, game: Game) -> Process:
        """The process, which has said that it plays the game; raises Broken or GameRefused."""
        if self._process is not None and self._process.owner == os.getpid() and _same(self._game, game):
            return self._process
        self._stop()
        if self._failed_starts >= _STARTS:
            raise Broken(f"was not started again: its last {_STARTS} starts have failed")
        self._failed_starts += 1
        process = Process(*self._command())
        try:
            answer = process.ask(_line({"type": "hello", **self._hello(game)}), self.start_seconds)
            self._welcome(game, _message(answer))
        except BaseException as error:
            process.kill()
            if isinstance(error, Broken):
                raise Broken(f"could not be started: it {error.reason}", process.stderr) from None
            raise
        self._process, self._game, self._failed_starts = process, game, 0
        return process

    def _stop(self) -> None:
        process, notes = self._process, self._notes
        self._process, self._game, self._notes = None, None, []
        if process is not None:
            process.quit(b"".join(map(_line, [*notes, {"type": "quit"}])))

    def _welcome(self, game: Game, answer: dict[str, Any]) -> None:
        """Check the answer to the first message; raises Broken or GameRefused."""
        if answer.get("type") == "refuse":
            reason = brief(printable(str(answer.get("reason"))), 500)
            raise GameRefused(f"agent {self.name!r} does not play {game}: {reason}")
        if answer.get("type") != "ready":
            raise Broken(f"answered 'hello' with {brief(repr(answer))} and not with 'ready' or 'refuse'")
        if answer.get("protocol") != PROTOCOL:
            theirs = brief(repr(answer.get("protocol")))
            raise Broken(f"speaks version {theirs} of the protocol, and not {PROTOCOL}")


def is_whole(value: Any) -> TypeGuard[int]:
    """Tell whether a value of JSON is a whole number."""
    return isinstance(value, int) and not isinstance(value, bool)


def _same(one: Game | None, other: Game) -> bool:
    return one is other or (one is not None and one.id == other.id and dict(one.options) == dict(other.options))


def _line(message: Mapping[str, Any]) -> bytes:
    """A message as it is sent: one line of ASCII, without blanks between its parts."""
    return json.dumps(message, separators=(",", ":"), allow_nan=False, default=str).encode() + b"\n"


def _message(line: bytes) -> dict[str, Any]:
    """The message of a line; raises Broken if it is none."""
    try:
        message = read_json(line)
    except ValueError:  # no JSON, no UTF-8, or too deep
        message = None
    if not isinstance(message, dict):
        shown = brief(ascii(line.decode(errors="replace")))
        raise Broken(f"answered with {shown}, which is no object of JSON")
    return message
