"""Gymnasium environment: one player learns, agents play the others."""

from typing import Any

import gymnasium
import numpy as np
from numpy.typing import NDArray

from ttt_envs.core.game import Game
from ttt_envs.core.rng import new_key
from ttt_envs.wrappers.common import (
    RENDER_FPS,
    RENDER_MODES,
    Encoder,
    EnvSettings,
    Renderer,
    as_action,
    manual,
    warn_of_options,
)
from ttt_envs.wrappers.one_game import OneGame
from ttt_envs.wrappers.self_play import LooksAtGames


class PlayerEnv(LooksAtGames, gymnasium.Env[Any, int]):
    """One game for one player; the others move inside `step`.

    Observations are `{"observation": int8, "action_mask": int8 (num_actions,)}`; `info` has the same mask. With
    `mask="info"` only `info` has the mask, and the observation is the array. The keys of `info` are "action_mask";
    "player", the learner's number; "opponent", see `opponent_names`; "illegal_action", the action that lost the game,
    or -1; and in matches "round_reward".
    """

    _games: OneGame
    metadata = {"render_modes": list(RENDER_MODES), "render_fps": RENDER_FPS}

    def __init__(self, game: Game, *, opponent: Any, player: int | str = "alternate", **settings: Any) -> None:
        """Make an environment; call `reset` first. For arguments and errors see `ttt_envs.make_single`.

        `opponent`: an `Opponents`, or agents in the form for `Opponents.replace`, as objects instead of texts.
        """
        given = EnvSettings(**settings)
        self.game = game
        self.__doc__ = manual(game)  # tools that tell a language model the rules read them here
        self.render_mode = given.render_mode
        self._renderer = Renderer(game, given.render_mode)
        self._encode = Encoder(game, given)
        self._games = OneGame(game, opponent=opponent, player=player, settings=given)
        self._legal = np.zeros(game.num_actions, np.bool_)
        self.observation_space: gymnasium.Space[Any] = self._encode.shown_space(game.num_actions)
        self.action_space: gymnasium.Space[Any] = gymnasium.spaces.Discrete(game.num_actions)

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.game!r})"

    __str__ = __repr__

    def reset(self, *, seed: int | None = None, options: dict[str, Any] | None = None) -> tuple[Any, dict[str, Any]]:
        """Start a game. `seed`, up to 128 bits, determines it and all later games; None starts the next game. `options`
        are ignored. Raises ValueError or TypeError for a wrong seed."""
        warn_of_options(options)
        if seed is not None:
            new_key(seed)  # raises for a list, which `PlayerGames` would accept
        self._games.reset(seed)
        super().reset(seed=None if seed is None else int(seed))
        return self._started()

    def _started(self) -> tuple[Any, dict[str, Any]]:
        """Return observation and info of a position that was not reached by a step."""
        self._live = True
        self._opponent = self._games.opponents[0].tolist()
        return self._look()

    def step(self, action: int) -> tuple[Any, float, bool, bool, dict[str, Any]]:
        """Play the step; return observation, reward, terminated, truncated, info.

        Raises:
            RuntimeError: before `reset`, or when the game is over.
            TypeError, ValueError: `action` is no whole number, or no action of the game.
            IllegalAction: with illegal="raise", `action` is not legal now; nothing is changed.
        """
        self._check_live("step")
        action = as_action(action, self.game.num_actions, "the learner")
        offences = []
        seen = None
        if not self._legal[action] or self._games.history:
            offences = self._games.step(np.array([action]))
        elif self._games.at_random:
            looks = np.empty((1, self.game.observation_size), np.int8)
            self._games.reply_one(action, self._legal[None], looks)
            (seen,) = looks
        else:
            seen = self._games.play_one(action, self._legal)
        observation, info = self._look() if seen is None else self._told(seen)
        if offences:
            info["illegal_action"] = action
        done, truncated = bool(self._games.done[0]), bool(self._games.truncated[0])
        return observation, float(self._games.rewards[0]), done and not truncated, truncated, info

    def _look(self) -> tuple[Any, dict[str, Any]]:
        states, player, loops = self._games.batch.states, int(self._games.players[0]), self.game.loops
        loops.mask_one(states, 0, player, self._legal)
        if self._games.truncated[0]:
            self._legal[:] = False
        if self._games.history:
            return self._told(self._games.observations()[0])
        flat = np.empty(self.game.observation_size, np.int8)
        loops.observe_one(states, 0, player, flat)
        return self._told(flat)

    def _told(self, flat: np.ndarray) -> tuple[Any, dict[str, Any]]:
        """Return observation and info, from the learner's flat observation int8 (features,) and `_legal`."""
        mask = self._legal.astype(np.int8)  # a copy, because the user may change it
        if self.render_mode == "human":
            self.render()
        player, opponent = int(self._games.players[0]), self._opponent
        info = {"action_mask": mask, "player": player, "opponent": opponent, "illegal_action": -1}
        if self._games.round_rewards is not None:
            info["round_reward"] = float(self._games.round_rewards[0])
        return self._encode.shown(flat, mask), info

    def action_masks(self) -> NDArray[np.bool_]:
        """Return the legal actions, bool (num_actions,), as sb3-contrib's MaskablePPO requires."""
        self._check_live("action_masks")
        return self._legal.copy()

    def get_state(self) -> bytes:
        """Return the position as bytes, with hidden information and the learner's number, for `set_state`."""
        self._check_live("get_state")
        return self._games.get_state(0)

    def set_state(self, data: bytes) -> tuple[Any, dict[str, Any]]:
        """Restore a position from `get_state`; return what `reset` returns. Opponents are drawn as in the saved
        episode.

        Raises TypeError or ValueError, with the reason, for invalid bytes.
        """
        self._games.set_states([data])
        return self._started()

    def render(self) -> Any:
        """Return text ("ansi"), uint8 (height, width, 3) ("rgb_array") or None ("human": a window shows it).

        The picture shows the learner's view, or everything when the game is over.
        """
        self._check_live("render")
        return self._renderer(*self._shown())

    def _repr_svg_(self) -> str | None:
        return self.game.draw(*self._shown()) if self._live else None

    def _shown(self) -> tuple[Any, int | None]:
        """Return the position and the viewer: the learner, or None (everything) when the game is over."""
        state = self._games.batch.states[0]
        return state, None if state["done"] else int(self._games.players[0])

    def close(self) -> None:
        """Close the window, if there is one."""
        self._renderer.close()
