"""Stable-Baselines3 VecEnv: many games with one learner each. One call returns the masks of the whole batch."""

import time
from collections.abc import Iterable, Sequence
from typing import Any

import gymnasium
import numpy as np
from numpy.typing import NDArray
from stable_baselines3.common.vec_env import VecEnv

from ttt_envs.core.game import Game
from ttt_envs.core.options import choice
from ttt_envs.drawing.raster import rasterise
from ttt_envs.wrappers.common import Encoder, EnvSettings, warn_of_options
from ttt_envs.wrappers.self_play import LooksAtMany, PlayerGames

#: Methods that return one entry per game.
_GAME_BY_GAME = ("action_masks", "get_images", "get_state")


class SB3PlayerEnv(LooksAtMany, VecEnv):
    """`num_envs` games for one player each, for MaskablePPO: observations are a Box; `action_masks` returns masks."""

    def __init__(
        self, game: Game, num_envs: int, *, opponent: Any, player: int | str = "alternate", **settings: Any
    ) -> None:
        """Make the games. For arguments and errors see `ttt_envs.make_sb3`; for `opponent`, `PlayerEnv`."""
        given = EnvSettings(**settings)
        self.game = game
        self._encode = Encoder(game, given, masked=False)
        self._games = PlayerGames(game, num_envs, opponent=opponent, player=player, settings=given)
        self.render_mode = choice("render_mode", given.render_mode, (None, "rgb_array"))
        self._start_time = time.perf_counter()
        super().__init__(num_envs, self._encode.space, gymnasium.spaces.Discrete(game.num_actions))

    def reset(self) -> np.ndarray:
        """Start all games, from the seed of a preceding `seed(number)` if any; return int8 (num_envs, ...)."""
        warn_of_options(self._options[0])
        self._games.reset(self._seeds[0])
        self._live, self._returns = True, np.zeros(self.num_envs)
        self._reset_seeds()
        self._reset_options()
        self.reset_infos = [{} for _ in range(self.num_envs)]
        return self._encode(self._games.observations())

    def step_async(self, actions: np.ndarray) -> None:
        """Store the actions for `step_wait`."""
        self._actions = actions

    def step_wait(
        self,
    ) -> tuple[NDArray[Any], NDArray[np.float32], NDArray[np.bool_], list[dict[str, Any]]]:
        """Play the step; return observations, rewards, dones, infos. Finished games have restarted."""
        self._check_live("step")
        offences = self._games.step(self._actions)
        infos: list[dict[str, Any]] = [{} for _ in range(self.num_envs)]
        done = self._games.done
        self._returns += self._games.rewards
        for k, i in enumerate(np.flatnonzero(done).tolist()):
            infos[i] = {
                "terminal_observation": self._encode(self._games.final_observations[k]),
                "TimeLimit.truncated": bool(self._games.truncated[i]),
                "player": int(self._games.final_players[k]),
                "opponent": self._games.final_opponents[k].tolist(),
                # The entry that VecMonitor would add, without its loop over all games.
                "episode": {
                    "r": float(self._returns[i]),
                    "l": int(self._games.final_lengths[k]),
                    "t": round(time.perf_counter() - self._start_time, 3),
                },
            }
        self._returns[done] = 0.0
        if self._games.round_rewards is not None:
            for i in np.flatnonzero(self._games.round_rewards).tolist():
                infos[i]["round_reward"] = float(self._games.round_rewards[i])
        for i, action in offences:
            infos[i]["illegal_action"] = action
        return self._encode(self._games.observations()), self._games.rewards, done, infos

    def get_images(self) -> list[np.ndarray | None]:
        """Return a picture per game from the learner's view, uint8 (height, width, 3); None without render mode."""
        self._check_live("get_images")
        if self.render_mode is None:
            return [None] * self.num_envs
        states = self._games.batch.states
        return [rasterise(self.game.draw(states[i], int(self._games.players[i]))) for i in range(self.num_envs)]

    def set_state(self, saved: Sequence[bytes]) -> np.ndarray:
        """Restore positions from `get_state` of any environments, one per game; return what `reset` returns.

        Raises TypeError or ValueError, with the reason, for invalid bytes.
        """
        self._games.set_states(saved)
        self._live, self._returns = True, np.zeros(self.num_envs)
        return self._encode(self._games.observations())

    def close(self) -> None:
        """Do nothing: the environments hold no resources."""

    def has_attr(self, attr_name: str) -> bool:
        """Return whether the environment, which holds all games, has this attribute."""
        return hasattr(self, attr_name)

    def get_attr(self, attr_name: str, indices: int | Iterable[int] | None = None) -> list[Any]:
        """Return the attribute, once per game in `indices`."""
        value = getattr(self, attr_name)
        return [value for _ in self._get_indices(indices)]

    def set_attr(self, attr_name: str, value: Any, indices: int | Iterable[int] | None = None) -> None:
        """Set the attribute for all games, because they are one object."""
        setattr(self, attr_name, value)

    def env_method(
        self,
        method_name: str,
        *method_args: Any,
        indices: int | Iterable[int] | None = None,
        **method_kwargs: Any,
    ) -> list[Any]:
        """Call a method once for all games and return a result for each game in `indices`.

        Per-game results (such as `get_images`) are returned per index; other results are repeated for each index.
        Without `indices`, `action_masks` is an exception: it returns [bool (num_envs, num_actions)], because
        sb3-contrib stacks the list, and stacking row by row would take longer than the games.
        """
        result = getattr(self, method_name)(*method_args, **method_kwargs)
        if method_name == "action_masks" and indices is None:
            return [result]
        shared = method_name in _GAME_BY_GAME
        return [result[i] if shared else result for i in self._get_indices(indices)]

    def env_is_wrapped(
        self,
        wrapper_class: type[gymnasium.Wrapper[Any, Any, Any, Any]],
        indices: int | Iterable[int] | None = None,
    ) -> list[bool]:
        """Return False for each environment: none is wrapped."""
        return [False for _ in self._get_indices(indices)]
