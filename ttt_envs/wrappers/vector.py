"""Gymnasium VectorEnv: many games with one learner each."""

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
    """`num_envs` games for one player each. Finished games restart according to `autoreset_mode`.

    Attributes:
        autoreset_mode: with AutoresetMode.SAME_STEP, the step that ends a game returns the first observation of the
            next game, and the last observation in `infos["final_obs"]`. With NEXT_STEP, that step returns the last
            observation; the next step ignores its action, starts the next game and pays 0.
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
        """Make the games; call `reset` first. For arguments and errors see `ttt_envs.make_vec` and `PlayerEnv`."""
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
        """Start all games. `seed` determines them and all later games; None starts the next games. No `options`.

        Observations are `{"observation": int8 (num_envs, ...), "action_mask": int8 (num_envs, num_actions)}`, or only
        the first array with mask="info".

        Args:
            seed: a seed of up to 128 bits, from which each game gets its own. Neighbouring seeds share no games, unlike
                in environments that give game i the seed + i. Or a list of `num_envs` seeds, as Gymnasium's vector
                environments accept. Game i is then that of a single environment with the i-th seed; None as a seed
                starts the next game.

        Raises ValueError or TypeError for a wrong seed.
        """
        warn_of_options(options)
        self._games.reset(seed)
        # Seed Gymnasium's generator, which is unused here and accepts only a single number.
        super().reset(seed=int(seed) if isinstance(seed, (int, np.integer)) else None)
        self._live = True
        return self._look()

    def step(
        self, actions: Any
    ) -> tuple[Any, NDArray[np.float32], NDArray[np.bool_], NDArray[np.bool_], dict[str, Any]]:
        """Play actions int (num_envs,); return observations, rewards, terminated, truncated, infos.

        With SAME_STEP `infos` contains the last observation of each finished game under "final_obs", and its last info
        under "final_info", as in Gymnasium's vector environments.

        Raises:
            RuntimeError: before `reset`.
            TypeError, ValueError: entries that are no whole numbers, a wrong shape, or numbers that are no action.
            IllegalAction: with illegal="raise", an action is not legal now; nothing is changed.
        """
        self._check_live("step")
        offences = self._games.step(actions)
        done, truncated = self._games.done, self._games.truncated
        observations, infos = self._look()
        for i, action in offences:
            infos["illegal_action"][i] = action
        same_step = self.autoreset_mode is AutoresetMode.SAME_STEP
        if same_step and done.any():
            # Gymnasium's `_add_info` for each game would give the same, but take longer than the games' own steps.
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
        """Restore positions from `get_state` of any environments, one per game; return what `reset` returns.

        Raises TypeError or ValueError, with the reason, for invalid bytes.
        """
        self._games.set_states(saved)
        self._live = True
        return self._look()

    def render(self) -> tuple[Any, ...] | None:
        """Return each game from its learner's view: text ("ansi") or uint8 (height, width, 3) ("rgb_array")."""
        self._check_live("render")
        if self.render_mode is None:
            self._renderer(None)  # warns
            return None
        players = self._games.players.tolist()
        return tuple(
            self._renderer(state, player) for state, player in zip(self._games.batch.states, players, strict=True)
        )
