"""Programs in any language as agents: they speak lines of JSON, see docs/your_own_agent.md."""

import shlex
import shutil
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, ClassVar

import numpy as np

from ttt_envs.agents.external.agent import PROTOCOL, ProcessAgent, is_whole
from ttt_envs.agents.external.processes import Broken, environment
from ttt_envs.core.game import Game
from ttt_envs.core.version import __version__
from ttt_envs.core.view import View
from ttt_envs.storage.untrusted import brief


class Program(ProcessAgent):
    """A program in any language, which speaks lines of JSON on its standard input and output.

    It runs in its own process, receives what its player may know, and gets no seed.
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
        """The program is started when a game is checked or first asked about.

        Args:
            command: the program and its arguments, as a shell splits them; the last parameter, with all commas and
                colons that follow. There is no shell: no variables, no pipes.
            seconds: time for a move, by the clock. A program that takes longer loses the game.
            game_seconds: time for all moves of a player in one game.
            start_seconds: time to start and to say that it is ready.

        Raises:
            ValueError: no command, quotes that do not match, or a limit out of range.
            FileNotFoundError: no program of that name.
            PermissionError: the file cannot be executed.
        """
        super().__init__(seconds, game_seconds, start_seconds)
        self.command = command
        self._words = _words(command)
        self._open: set[int] = set()

    def episodes_over(self, episodes: np.ndarray, rewards: np.ndarray) -> None:
        """Tell the program, with its next question, of the games that it knows; int64 (k,), float32 (k,)."""
        super().episodes_over(episodes, rewards)
        for game, reward in zip(episodes.tolist(), rewards.tolist(), strict=True):
            if game in self._open:
                self._open.remove(game)
                self._notes.append({"type": "end", "game": game, "reward": reward})

    def _command(self) -> tuple[Sequence[str], Mapping[str, str]]:
        self._open = set()
        return self._words, environment()

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


def _words(command: str) -> list[str]:
    """The words of a command line, the first one an executable file."""
    try:
        words = shlex.split(command)
    except ValueError as error:
        raise ValueError(f"agent program: the command {command!r} cannot be read: {error}") from None
    if not words:
        raise ValueError("agent program needs a command, such as 'program:./engine --fast'")
    try:
        program, is_file = shutil.which(words[0]), "/" in words[0] and Path(words[0]).is_file()
    except (OSError, ValueError) as error:  # such as a name that is too long
        raise FileNotFoundError(f"agent program: no program {brief(words[0])!r}: {error}") from None
    if program is not None:
        # As it is now: the folder may change.
        return [str(Path(program).absolute()), *words[1:]]
    if is_file:
        raise PermissionError(f"agent program: {words[0]} cannot be executed; chmod +x {words[0]}")
    hint = "; limits stand before it, such as program:seconds=1,./engine" if "=" in words[0] else ""
    where = f"no program at {words[0]}" if "/" in words[0] else f"no program {words[0]!r} on the path"
    raise FileNotFoundError(f"agent program: {where}{hint}")
