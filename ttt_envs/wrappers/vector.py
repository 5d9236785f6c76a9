"""Gymnasium VectorEnv: many games, one player of each learns."""

from collections.abc import Sequence
from typing import Any, get_args

import gymnasium
import numpy as np
from gymnasium.vector import AutoresetMode
from gymnasium.vector.utils import batch_space
from numpy.typing import NDArray

from ttt_envs.core.game import Game
from ttt_envs.core.options import choice
from ttt_envs.wrappers.common import RENDER_FPS, Encoder, EnvSettings, Renderer, warn_of_options
from ttt_envs.wrappers.self_play import Autoreset, LooksAtMany, PlayerGames, Seed

_RENDER_MODES = ("rgb_array", "ansi")


class PlayerVectorEnv(LooksAtMany, gymnasium.vector.VectorEnv[Any, np.ndarray, np.ndarray]):
    """`num_envs` games for one player each. A finished game restarts, as `autoreset_mode` says.

    Attributes:
        autoreset_mode: AutoresetMode.SAME_STEP: the step that ends a game gives the next one's first observation, and
            the last one in `infos["final_obs"]`. NEXT_STEP: it returns the last observation, and the next step starts
            the next game, with any action and reward 0.
    """

    def __init__(
        self,
        game: Game,
        num_envs: int,
        *,
        opponent: Any,
        player: int | str = "alternate",
        autoreset_mode: AutoresetMode | str = AutoresetMode.SAME_STEP,
        **settings: Any,
    ) -> None:
        """Environments for `game`; call `reset` first. Arguments and errors as `ttt_envs.make_vec` and `PlayerEnv`."""
        given = EnvSettings(**settings)
        self.game = game
        self.num_envs = num_envs
        self.render_mode = choice("render_mode", given.render_mode, (None, *_RENDER_MODES))
        self._renderer = Renderer(game, given.render_mode)
        self._encode = Encoder(game, given)
        mode = autoreset_mode.name.lower() if isinstance(autoreset_mode, AutoresetMode) else autoreset_mode
        mode = choice("autoreset_mode", mode, get_args(Autoreset))
        self._games = PlayerGames(game, num_envs, opponent=opponent, player=player, autoreset=mode, settings=given)
        self.autoreset_mode = AutoresetMode[mode.upper()]
        self.metadata = {
            "render_modes": list(_RENDER_MODES),
            "render_fps": RENDER_FPS,
            "autoreset_mode": self.autoreset_mode,
        }
        self.single_observation_space = self._encode.shown_space(game.num_actions)
        self.single_action_space = gymnasium.spaces.Discrete(game.num_actions)
        self.observation_space = batch_space(self.single_observation_space, num_envs)
        self.action_space = batch_space(self.single_action_space, num_envs)

    def reset(self, *, seed: Seed = None, options: dict[str, Any] | None = None) -> tuple[Any, dict[str, Any]]:
        """Start all games. `seed` fixes them and all that follow; None goes on. There are no `options`.

        Observations are `{"observation": int8 (num_envs, ...), "action_mask": int8 (num_envs, num_actions)}`, or the
        first alone with mask="info".

        Args:
            seed: up to 128 bits, from which each game gets a seed of its own by its number, so that neighbouring seeds
                share no game, as they do where game i gets seed + i. Or a list of `num_envs`, as Gymnasium's vectors
                take it: game i is then the game of a single environment with that seed; with None it goes on.

        Raises ValueError or TypeError for a wrong seed.
        """
        warn_of_options(options)
        self._games.reset(seed)
        # Gymnasium's own generator, which nothing here draws from, and which takes one number alone.
        super().reset(seed=int(seed) if isinstance(seed, (int, np.integer)) else None)
        self._live = True
        return self._look()

    def step(
        self, actions: Any
    ) -> tuple[Any, NDArray[np.float32], NDArray[np.bool_], NDArray[np.bool_], dict[str, Any]]:
        """Play int (num_envs,); returns observations, rewards, terminated, truncated, infos.

        With SAME_STEP `infos` holds the last observation of each finished game under "final_obs", and its last info
        under "final_info", as Gymnasium's vectors do.

        Raises:
            RuntimeError: before `reset`.
            TypeError, ValueError: not whole numbers, a wrong shape, or numbers that are no action.
            IllegalAction: not legal now, with illegal="raise"; nothing is changed.
        """
        self._check_live("step")
        offences = self._games.step(actions)
        done, truncated = self._games.done, self._games.truncated
        observations, infos = self._look()
        for i, action in offences:
            infos["illegal_action"][i] = action
        same_step = self.autoreset_mode is AutoresetMode.SAME_STEP
        if same_step and done.any():
            # As `_add_info` would game by game, which takes longer than the games.
            ended, last_seen = done.nonzero()[0], np.full(self.num_envs, None, object)
            nothing = np.zeros((len(ended), self.game.num_actions), np.int8)
            for i, seen, mask in zip(ended.tolist(), self._games.final_observations, nothing, strict=True):
                last_seen[i] = self._encode.shown(seen, mask)
            last = {name: each.copy() for name, each in infos.items()}
            last["action_mask"][:] = 0
            last["player"][ended], last["opponent"][ended] = self._games.final_players, self._games.final_opponents
            last |= {f"_{name}": done.copy() for name in last}
            infos |= {"final_obs": last_seen, "_final_obs": done.copy()}
            infos |= {"final_info": last, "_final_info": done.copy()}
        return observations, self._games.rewards.copy(), done & ~truncated, truncated.copy(), infos

    def _look(self) -> tuple[Any, dict[str, Any]]:
        masks = self._games.masks().astype(np.int8)
        infos = {
            "action_mask": masks,
            "player": self._games.players.copy(),
            "opponent": self._games.opponents,
            "illegal_action": np.full(self.num_envs, -1),
        }
        if self._games.round_rewards is not None:
            infos["round_reward"] = self._games.round_rewards.copy()
        return self._encode.shown(self._games.observations(), masks), infos

    def set_state(self, saved: Sequence[bytes]) -> tuple[Any, dict[str, Any]]:
        """Go to positions from `get_state` of any environments, one per game; returns as `reset` does.

        Raises TypeError or ValueError, saying why, for bytes that are no such positions.
        """
        self._games.set_states(saved)
        self._live = True
        return self._look()

    def render(self) -> tuple[Any, ...] | None:
        """Return each game as its learner may see it: text ("ansi") or uint8 (height, width, 3) ("rgb_array")."""
        self._check_live("render")
        if self.render_mode is None:
            self._renderer(None)  # says so
            return None
        players = self._games.players.tolist()
        return tuple(
            self._renderer(state, player) for state, player in zip(self._games.batch.states, players, strict=True)
        )
