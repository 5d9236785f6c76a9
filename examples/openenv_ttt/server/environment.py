"""The environment: a model plays one player by prompts and answers, an agent of the library all others."""

from typing import Any
from uuid import uuid4

from openenv.core.env_server.interfaces import Environment
from openenv.core.env_server.types import State

import ttt_envs

try:
    from ..models import TttAction, TttObservation
except ImportError:  # where the server's folder is the path, as in a container
    from models import TttAction, TttObservation

#: Opponents that a client may choose: no others, as an agent's name may be a file or a program.
OPPONENTS = ("random", "greedy", "search", "trained", "oracle")


class TttEnvironment(Environment[TttAction, TttObservation, State]):
    """One session; each reset may be another game."""

    SUPPORTS_CONCURRENT_SESSIONS = True

    def __init__(self) -> None:
        """No game yet."""
        super().__init__()
        self._state = State(episode_id=str(uuid4()), step_count=0)
        self._game: Any = None

    def reset(
        self,
        seed: int | None = None,
        episode_id: str | None = None,
        *,
        game: str = "super_tic_tac_toe",
        options: dict[str, Any] | None = None,
        opponent: str = "random",
        player: int | str = "alternate",
        retries: int = 2,
        **unknown: Any,
    ) -> TttObservation:
        """Start a game.

        Args:
            seed: fixes the game; None draws it.
            episode_id: a name for the episode.
            game: an id of `ttt_envs.GAMES`.
            options: of the game.
            opponent: one of `OPPONENTS`; "search" is the tree search that plays the game.
            player: the model's number, or "alternate": drawn from the seed.
            retries: further answers that the model may give where one names no legal action; then it loses.
            unknown: refused.

        Raises ValueError or TypeError naming a wrong value.
        """
        if unknown:
            raise TypeError(f"unknown arguments: {', '.join(unknown)}")
        if game not in ttt_envs.GAMES:
            raise ValueError(f"unknown game {game!r}; known: {', '.join(ttt_envs.GAMES)}")
        if opponent not in OPPONENTS:
            raise ValueError(f"unknown opponent {opponent!r}; known: {', '.join(OPPONENTS)}")
        made = ttt_envs.load(game, **(options or {}))
        if opponent == "search":
            from ttt_envs.agents import search_for

            opponent = search_for(made) or "greedy"
        elif opponent == "trained":
            opponent = f"trained:{game}"
        self._game = ttt_envs.make_text(made, opponent=opponent, player=player, retries=retries)
        prompt, _ = self._game.reset(seed=seed)
        self._state = State(episode_id=episode_id or str(uuid4()), step_count=0)
        return self._observed(prompt)

    def step(self, action: TttAction, timeout_s: float | None = None, **_: Any) -> TttObservation:
        """Answer; where the answer names no legal action, the same question comes again, with the reason."""
        if self._game is None:
            raise RuntimeError("reset() must be called first")
        self._state.step_count += 1
        prompt, reward, _, _, info = self._game.step(action.message)
        return self._observed(prompt, reward, info["illegal"])

    @property
    def state(self) -> State:
        """The episode and the number of its steps."""
        return self._state

    def _observed(self, prompt: str, reward: float = 0.0, illegal: str | None = None) -> TttObservation:
        game = self._game
        return TttObservation(
            prompt=prompt, player=game.player, legal_actions=game.legal, illegal=illegal, done=game.done, reward=reward
        )
