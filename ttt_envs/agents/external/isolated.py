"""The library's agents, and Python agents of your own, in processes of their own."""

import base64
import os
import pickle
import secrets
import sys
from collections.abc import Mapping, Sequence
from typing import Any, ClassVar

import numpy as np

from ttt_envs.agents import APART
from ttt_envs.agents.base import Fault
from ttt_envs.agents.external.agent import PROTOCOL, GameRefused, ProcessAgent, is_whole
from ttt_envs.agents.external.processes import Broken, environment
from ttt_envs.core.game import Game
from ttt_envs.core.view import View
from ttt_envs.storage.outside import brief, printable

# What the library itself reads, beside what every program is given.
_VARIABLES = ("NUMBA_CACHE_DIR", "NUMBA_DISABLE_JIT", "OMP_NUM_THREADS", "TTT_ENVS_CACHE", "XDG_CACHE_HOME")

# Errors of loading an agent that are passed on as they are.
_ERRORS = {each.__name__: each for each in (FileNotFoundError, ImportError, ModuleNotFoundError, TypeError)}


class Isolated(ProcessAgent):
    """A Python agent in a process of its own, such as isolated:mcts:simulations=100.

    In the place of each position the process is handed a world that fits what the player knows, drawn for this purpose:
    all that an agent can ask of a view comes out as it would of the true position. It gets no seed, so that its random
    choices are not fixed by the seed of a tournament. It is asked for actions alone: `action_values` and `value` are
    NaN, and as it is shown no plies, episodes or ends of games, an agent with a memory plays as if it had none.
    """

    name = "isolated"
    takes_rest: ClassVar[str] = "agent"
    at_once = 32

    def __init__(
        self,
        agent: str,
        seconds: float = 60.0,
        game_seconds: float | None = None,
        start_seconds: float = 300.0,
        memory: float | None = 4096.0,
    ) -> None:
        """The agent is loaded by its process, when a game is checked or first asked about.

        Args:
            agent: a text for `agents.load`; the last parameter, with all commas and colons that follow.
            seconds: time for a move, by the clock. An agent that takes longer loses the game.
            game_seconds: time for all moves of a player in one game.
            start_seconds: time to import and load the agent, and to compile what it needs.
            memory: MiB that each process of the agent may use.

        Raises ValueError for no agent, for one that has a process of its own already, or a limit out of range.
        """
        super().__init__(seconds, game_seconds, start_seconds, memory)
        if not agent:
            raise ValueError("agent isolated needs an agent, such as 'isolated:mcts:simulations=100'")
        if agent.partition(":")[0] in APART:
            raise ValueError(f"agent {agent!r} has a process of its own already: leave out 'isolated:'")
        self.agent = agent

    def _command(self) -> tuple[Sequence[str], Mapping[str, str]]:
        variables = environment(*_VARIABLES)
        # Where this process finds modules: the library, games and agents may lie in any of these folders.
        variables["PYTHONPATH"] = os.pathsep.join(os.path.abspath(folder) for folder in sys.path)
        return [sys.executable, "-P", "-m", "ttt_envs.agents.external.runner"], variables

    def _hello(self, game: Game) -> dict[str, Any]:
        # A game is pickled as its factory and its options, nothing of its state. No answer is pickled.
        return {"protocol": PROTOCOL, "agent": self.agent, "game": base64.b64encode(pickle.dumps(game)).decode()}

    def _welcome(self, game: Game, answer: dict[str, Any]) -> None:
        if answer.get("type") == "refuse":
            kind, reason = answer.get("kind"), printable(str(answer.get("reason")))
            if isinstance(kind, str) and kind in _ERRORS:
                raise _ERRORS[kind](reason)
            raise GameRefused(reason if kind == "ValueError" else f"agent {self.agent!r}: {kind}: {reason}")
        super()._welcome(game, answer)

    def _question(self, view: View, rows: np.ndarray, seconds: float) -> dict[str, Any]:
        seeds = np.frombuffer(secrets.token_bytes(8 * len(rows)), np.uint64)
        worlds = view.take(rows).redrawn(seeds)
        return {"players": view.players[rows].tolist(), "states": base64.b64encode(worlds.tobytes()).decode()}

    def _actions(self, view: View, rows: np.ndarray, answer: dict[str, Any]) -> Sequence[int | Fault]:
        actions, most = answer.get("actions"), view.game.num_actions - 1
        if not isinstance(actions, list) or len(actions) != len(rows):
            raise Broken(f"answered with the actions {brief(repr(actions))}, and not with {len(rows)} of them")
        for action in actions:
            if not isinstance(action, str) and not (is_whole(action) and 0 <= action <= most):
                raise Broken(f"answered with the action {brief(repr(action))}, which is none from 0 to {most}")
        # For an action that the agent did not give, there is the reason.
        stderr = self._process.stderr if self._process is not None else ""
        return [Fault(brief(printable(each), 500), stderr) if isinstance(each, str) else each for each in actions]
