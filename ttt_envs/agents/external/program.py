"""Programs in any language as agents, which exchange lines of JSON; see docs/your_own_agent.md."""

import itertools
import json
import os
import shlex
import shutil
import threading
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any, ClassVar, TypeGuard

import numpy as np

from ttt_envs.agents.base import Agent, Fault, gathered
from ttt_envs.agents.external.processes import Broken, Process, TooSlow, environment
from ttt_envs.core.checks import explain
from ttt_envs.core.game import Game
from ttt_envs.core.options import within
from ttt_envs.core.version import __version__
from ttt_envs.core.view import View
from ttt_envs.storage.untrusted import brief, printable, read_json

#: The version of the protocol.
PROTOCOL = 1

# Attributes that a copy of the agent does not inherit.
_OWN = ("_lock", "_process", "_game", "_notes", "_spent", "_questions", "_open")

# After this many consecutive failed starts, a program is not started again.
_STARTS = 3


class GameRefused(ValueError):
    """Raised if the program declares that it cannot play the game."""


class Program(Agent):
    """Plays with a program in any language, which exchanges lines of JSON on its standard input and output.

    The program runs in its own process and receives only its player's view, without a seed. The process starts when a
    game is checked or an action is first requested, and receives one request at a time. A program that breaks a limit
    or the protocol is killed. This position then counts as an `AgentFailed` fault, and a new process gets the next
    request.
    """

    name = "program"
    takes_rest: ClassVar[str] = "command"

    def __init__(
        self,
        command: str,
        seconds: float = 10.0,
        game_seconds: float | None = None,
        start_seconds: float = 10.0,
    ) -> None:
        """Set the command and its limits.

        Args:
            command: the program and its arguments, split as by a shell, but without variables and pipes. In a spec it
                is the last parameter, which includes all following commas and colons.
            seconds: wall-clock time for a move. A program that takes longer loses the game.
            game_seconds: time for all moves of a player in one game.
            start_seconds: time to start and to report that it is ready.

        Raises:
            ValueError: no command, unbalanced quotes, or a limit out of range.
            FileNotFoundError: there is no such program.
            PermissionError: the file cannot be executed.
        """
        within(1e-3, 1e6, seconds=seconds, start_seconds=start_seconds)
        within(1e-3, 1e9, game_seconds=1.0 if game_seconds is None else game_seconds)
        self.seconds, self.game_seconds, self.start_seconds = seconds, game_seconds, start_seconds
        self.command = command
        self._words = _words(command)
        self._begin()

    def check(self, game: Game) -> None:
        """Start the process; raise ValueError if this fails or the program does not play the game."""
        try:
            with self._lock:
                self._ready(game)
        except Broken as broken:
            stderr = f"; it wrote:\n{broken.stderr}" if broken.stderr else ""
            raise ValueError(f"agent {self.name!r} {broken.reason}{stderr}") from None

    def act(self, view: View) -> np.ndarray:
        """Request one action after the other; return int64 (n,), -1 if the player has no legal action.

        Raises AgentFailed if the program failed in some positions, and ValueError if it does not play the game.
        """
        answers: dict[int, int | Fault] = {}
        for row in np.flatnonzero(view.masks.any(axis=1)).tolist():
            with self._lock:
                try:
                    answers[row] = self._asked(view, row)
                except Broken as broken:
                    answers[row] = Fault(broken.reason, broken.stderr)
        return gathered(self.name, len(view), answers)

    def episodes_over(self, episodes: np.ndarray, rewards: np.ndarray) -> None:
        """Queue messages that tell the program, before its next question, which of the games it knows are over."""
        for game, reward in zip(episodes.tolist(), rewards.tolist(), strict=True):
            self._spent.pop(game, None)
            if game in self._open:
                self._open.remove(game)
                self._notes.append({"type": "end", "game": game, "reward": reward})

    def close(self) -> None:
        """End the process. The next request starts another process."""
        with self._lock:
            self._spent.clear()
            self._stop()

    def __getstate__(self) -> dict[str, Any]:
        """Return the state for a copy, which starts its own process."""
        return {name: value for name, value in vars(self).items() if name not in _OWN}

    def __setstate__(self, state: Mapping[str, Any]) -> None:
        vars(self).update(state)
        self._begin()

    # --- questions ---

    def _begin(self) -> None:
        self._lock = threading.RLock()  # one request at a time
        self._process: Process | None = None
        self._game: Game | None = None
        self._notes: list[dict[str, Any]] = []  # messages without an answer, sent before the next request
        self._spent: dict[int, float] = {}  # game number -> seconds
        self._open: set[int] = set()  # numbers of the games that the process knows
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
        """Return the legal action in an answer; raise Broken if there is none."""
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

    def _question(self, view: View, row: int, seconds: float) -> dict[str, Any]:
        game, player = None if view.episodes is None else int(view.episodes[row]), int(view.players[row])
        if game is not None and game not in self._open:
            self._open.add(game)
            self._notes.append({"type": "start", "game": game, "player": player})
        legal = np.flatnonzero(view.masks[row]).tolist()
        return {
            "game": game,
            "player": player,
            "seconds": round(seconds, 3),
            "legal": legal,
            "names": [view.game.action_names[action] for action in legal],
            "observation": view.observations[row].tolist(),
            "position": view.text(row),
        }

    def _action(self, view: View, answer: dict[str, Any]) -> int:
        action, game = answer.get("action"), view.game
        if is_whole(action) and 0 <= action < game.num_actions:
            return action
        if isinstance(action, str):
            try:
                return game.parse_action(action)
            except ValueError as error:
                raise Broken(f"answered with an {brief(str(error), 500)}") from None
        shown = brief(ascii(action))
        most = game.num_actions - 1
        raise Broken(f"answered with the action {shown}, and not with a name or a number from 0 to {most}")

    # --- starts ---

    def _ready(self, game: Game) -> Process:
        """Return a process that has confirmed that it plays the game; raise Broken or GameRefused."""
        if self._process is not None and self._process.owner == os.getpid() and _same(self._game, game):
            return self._process
        self._stop()
        if self._failed_starts >= _STARTS:
            raise Broken(f"was not started again: its last {_STARTS} starts have failed")
        self._failed_starts += 1
        self._open.clear()
        process = Process(self._words, environment())
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
        """Check the answer to the first message; raise Broken or GameRefused."""
        if answer.get("type") == "refuse":
            reason = brief(printable(str(answer.get("reason"))), 500)
            raise GameRefused(f"agent {self.name!r} does not play {game}: {reason}")
        if answer.get("type") != "ready":
            raise Broken(f"answered 'hello' with {brief(repr(answer))} and not with 'ready' or 'refuse'")
        if answer.get("protocol") != PROTOCOL:
            theirs = brief(repr(answer.get("protocol")))
            raise Broken(f"speaks version {theirs} of the protocol, and not {PROTOCOL}")

    def _hello(self, game: Game) -> dict[str, Any]:
        return {
            "protocol": PROTOCOL,
            "library": f"ttt-envs {__version__}",
            "game": game.id,
            "options": dict(game.options),
            "players": game.num_players,
            "teams": game.teams,
            "actions": game.action_names,
            "observation": [{"name": b.name, "shape": b.shape, "meaning": b.meaning} for b in game.observation_layout],
            "seconds": self.seconds,
            "game_seconds": self.game_seconds,
        }


def is_whole(value: Any) -> TypeGuard[int]:
    """Return whether a JSON value is a whole number."""
    return isinstance(value, int) and not isinstance(value, bool)


def _same(one: Game | None, other: Game) -> bool:
    return one is other or (one is not None and one.id == other.id and dict(one.options) == dict(other.options))


def _line(message: Mapping[str, Any]) -> bytes:
    """Return a message as one line of ASCII JSON, without blanks between its parts."""
    return json.dumps(message, separators=(",", ":"), allow_nan=False, default=str).encode() + b"\n"


def _message(line: bytes) -> dict[str, Any]:
    try:
        message = read_json(line)
    except ValueError:  # invalid JSON or UTF-8, or too deep
        message = None
    if not isinstance(message, dict):
        shown = brief(ascii(line.decode(errors="replace")))
        raise Broken(f"answered with {shown}, which is no object of JSON")
    return message


def _words(command: str) -> list[str]:
    """Split a command line into words; the first must be an executable file."""
    try:
        words = shlex.split(command)
    except ValueError as error:
        raise ValueError(f"agent program: the command {command!r} cannot be read: {error}") from None
    if not words:
        raise ValueError("agent program needs a command, such as 'program:./engine --fast'")
    try:
        program, is_file = shutil.which(words[0]), "/" in words[0] and Path(words[0]).is_file()
    except (OSError, ValueError) as error:  # for example a name that is too long
        raise FileNotFoundError(f"agent program: no program {brief(words[0])!r}: {error}") from None
    if program is not None:
        # Resolve the path now, because the current folder may change.
        return [str(Path(program).absolute()), *words[1:]]
    if is_file:
        raise PermissionError(f"agent program: {words[0]} cannot be executed; chmod +x {words[0]}")
    hint = "; limits stand before it, such as program:seconds=1,./engine" if "=" in words[0] else ""
    where = f"no program at {words[0]}" if "/" in words[0] else f"no program {words[0]!r} on the path"
    raise FileNotFoundError(f"agent program: {where}{hint}")
