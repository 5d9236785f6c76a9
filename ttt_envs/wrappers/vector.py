"""Gymnasium VectorEnv: many games, one seat of each learns."""

from collections.abc import Sequence
from typing import Any

import gymnasium
import numpy as np
from gymnasium.vector.utils import batch_space

from ttt_envs.core.game import Game
from ttt_envs.core.view import Actor
from ttt_envs.wrappers.common import Encoder
from ttt_envs.wrappers.seats import SeatGames


class SeatVectorEnv(gymnasium.vector.VectorEnv[dict[str, np.ndarray], np.ndarray, np.ndarray]):
    """`num_envs` games from one seat each. A game that ends starts anew in the same step (AutoresetMode.SAME_STEP)."""

    metadata = {"render_modes": [], "autoreset_mode": gymnasium.vector.AutoresetMode.SAME_STEP}

    def __init__(
        self,
        game: Game,
        num_envs: int,
        *,
        opponent: Actor | Sequence[Actor],
        seat: int | str = "alternate",
        encoding: str = "flat",
        illegal: str = "lose",
        threads: int = 1,
    ) -> None:
        """Environments for `game`; call `reset` first. Arguments as for the single one; `threads` share the work."""
        self.game = game
        self.num_envs = num_envs
        self.render_mode = None
        self._encode = Encoder(game, encoding)
        self._games = SeatGames(game, num_envs, opponent=opponent, seat=seat, illegal=illegal, threads=threads)
        self._live = False
        self.single_observation_space = self._encode.masked_space(game.num_actions)
        self.single_action_space = gymnasium.spaces.Discrete(game.num_actions)
        self.observation_space = batch_space(self.single_observation_space, num_envs)
        self.action_space = batch_space(self.single_action_space, num_envs)

    def set_opponents(self, opponents: Actor | Sequence[Actor], weights: Sequence[float] | None = None) -> None:
        """Draw opponents from these from now on, at each game's next reset; `weights` are relative chances."""
        self._games.set_opponents(opponents, weights)

    def reset(
        self, *, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[dict[str, np.ndarray], dict[str, Any]]:
        """Start all games. `seed` fixes them and all that follow; None goes on. `options` are ignored.

        Observations are `{"observation": int8 (num_envs, ...), "action_mask": int8 (num_envs, num_actions)}`.
        """
        self._games.reset(seed)
        self._live = True
        return self._look()

    def step(self, actions: Any) -> tuple[dict[str, np.ndarray], np.ndarray, np.ndarray, np.ndarray, dict[str, Any]]:
        """Play int (num_envs,); returns observations, rewards, terminated, truncated, infos.

        `infos` holds the last observation of each game that ended under "final_obs", as Gymnasium's own do.

        Raises:
            RuntimeError: before `reset`.
            TypeError, ValueError: not whole numbers, a wrong shape, or numbers that are no action.
            IllegalAction: not legal now, with illegal="raise"; nothing is changed.
        """
        if not self._live:
            raise RuntimeError("call reset() before step()")
        offences = self._games.step(actions)
        done = self._games.done
        observations, infos = self._look()
        for k, i in enumerate(np.flatnonzero(done).tolist()):
            final = {
                "observation": self._encode(self._games.final_observations[k]),
                "action_mask": np.zeros(self.game.num_actions, np.int8),
            }
            infos = self._add_info(
                infos, {"final_obs": final, "final_info": {"seat": int(self._games.final_seats[k])}}, i
            )
        for i, played, _ in offences:
            infos = self._add_info(infos, {"illegal_action": played}, i)
        return observations, self._games.rewards.copy(), done.copy(), np.zeros_like(done), infos

    def _look(self) -> tuple[dict[str, np.ndarray], dict[str, Any]]:
        masks = self._games.masks().astype(np.int8)
        observations = {"observation": self._encode(self._games.observations()), "action_mask": masks}
        return observations, {"action_mask": masks, "seat": self._games.seats.copy()}
