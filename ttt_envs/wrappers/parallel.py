"""PettingZoo Parallel: one environment class for all games."""

from typing import Any

import gymnasium
import numpy as np
from pettingzoo import ParallelEnv

from ttt_envs.core.game import Game, explain
from ttt_envs.core.illegal import IllegalAction
from ttt_envs.core.options import choice
from ttt_envs.core.rng import episode_seeds, new_key
from ttt_envs.core.view import View
from ttt_envs.wrappers.common import (
    ILLEGAL,
    RENDER_FPS,
    RENDER_MODES,
    Encoder,
    Renderer,
    as_action,
    check_max_cycles,
    everything,
    forfeit,
    pack_state,
    state_space,
    unpack_state,
    warn_of_options,
)


class ParallelGame(ParallelEnv[str, dict[str, np.ndarray], int]):
    """A game whose players, `player_0`, `player_1`, ..., all answer in each step.

    The last action is `wait`, the only legal one of a player who does not act now, so that no mask is all zeros.
    Observations are `{"observation": int8, "action_mask": int8 (num_actions + 1,)}`; the mask stands in the infos too,
    as the same array. With `mask="info"` it stands there alone, and the observation is the array.
    """

    def __init__(
        self,
        game: Game,
        *,
        render_mode: str | None = None,
        encoding: str = "flat",
        illegal: str = "lose",
        mask: str = "both",
        max_cycles: int | None = None,
    ) -> None:
        """An environment for `game`; arguments as for the AEC environment."""
        self.game = game
        self.illegal = choice("illegal", illegal, ILLEGAL)
        self.render_mode = render_mode
        self._renderer = Renderer(game, render_mode)
        self._encode = Encoder(game, encoding, mask)
        self.max_cycles = check_max_cycles(max_cycles)
        self.state_space = state_space(game)
        self.metadata = {"name": game.id, "render_modes": list(RENDER_MODES), "render_fps": RENDER_FPS}
        self.wait = game.num_actions
        self.possible_agents = [f"player_{p}" for p in range(game.num_players)]
        space = self._encode.shown_space(self.wait + 1)
        self.observation_spaces: dict[str, Any] = dict.fromkeys(self.possible_agents, space)
        self.action_spaces: dict[str, Any] = {
            name: gymnasium.spaces.Discrete(self.wait + 1) for name in self.possible_agents
        }
        self.agents: list[str] = []
        self._key = new_key(None)
        self._episode = 0
        self._states = game.prototype.copy()
        self._live = False

    def observation_space(self, agent: str) -> gymnasium.spaces.Space[Any]:
        """The same object at each call."""
        return self.observation_spaces[agent]

    def action_space(self, agent: str) -> gymnasium.spaces.Space[Any]:
        """The same object at each call."""
        return self.action_spaces[agent]

    def reset(
        self, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[dict[str, Any], dict[str, dict[str, Any]]]:
        """Start a game. `seed` fixes it and all that follow; None goes on with the next. There are no `options`."""
        warn_of_options(options)
        if seed is not None:
            self._key, self._episode = new_key(seed), 0
        self._episode_seed = episode_seeds(self._key, np.zeros(1, np.uint64), np.array([self._episode], np.uint64))[0]
        self.game.loops.reset_one(self._states, 0, self.game.prototype, self._episode_seed)
        self._episode += 1
        return self._begin()

    def _cut_off(self) -> bool:
        """Tell whether the game is cut off before its end."""
        state = self._states[0]
        return bool(self.max_cycles is not None and not state["done"] and state["ply"] >= self.max_cycles)

    def _begin(self) -> tuple[dict[str, Any], dict[str, dict[str, Any]]]:
        self._live = True
        self.agents = [] if self._states[0]["done"] or self._cut_off() else self.possible_agents[:]
        return self._look()

    def _look(self) -> tuple[dict[str, Any], dict[str, dict[str, Any]]]:
        loops = self.game.loops
        observations, infos = {}, {}
        self._masks = np.zeros((len(self.possible_agents), self.wait + 1), np.int8)
        for player, name in enumerate(self.possible_agents):
            mask = self._masks[player]
            loops.mask_one(self._states, 0, player, mask[:-1].view(np.bool_))
            mask[-1] = not mask.any()
            flat = np.empty(self.game.observation_size, np.int8)
            loops.observe_one(self._states, 0, player, flat)
            given = mask.copy()  # what a user does to a mask does not change what is legal
            observations[name] = self._encode.shown(flat, given)
            infos[name] = {"action_mask": given}
        if self.render_mode == "human":
            self.render()
        return observations, infos

    def step(self, actions: dict[str, int]) -> tuple[Any, Any, Any, Any, Any]:
        """Play one action an agent; returns observations, rewards, terminations, truncations, infos.

        Raises:
            RuntimeError: before `reset`, or when the game is over.
            TypeError, ValueError: an agent without an action, no whole number, or no action of the game.
            IllegalAction: not legal now, with illegal="raise"; nothing is changed.
        """
        self._check_live("step")
        if not self.agents:
            raise RuntimeError("the game is over: call reset() before step()")
        if not isinstance(actions, dict) or set(actions) != set(self.agents):
            given = ", ".join(map(str, actions)) if isinstance(actions, dict) else repr(actions)
            raise ValueError(f"step() needs a dict with one action each for {', '.join(self.agents)}; given: {given}")
        joint = np.array([as_action(actions[name], self.wait + 1, name) for name in self.agents])
        offences = {}
        for player, name in enumerate(self.possible_agents):
            if not self._masks[player, joint[player]]:
                offences[player] = explain(self.game, name, int(joint[player]), self._masks[player])
        if offences and self.illegal == "raise":
            raise IllegalAction("; ".join(words for words, _, _ in offences.values()))
        if offences:
            forfeit(self.game, self._states, 0, list(offences))
        else:
            joint[joint == self.wait] = -1
            self.game.loops.step_one(self._states, 0, joint)
        observations, infos = self._look()
        for player, (_, played, legal) in offences.items():
            infos[self.possible_agents[player]].update(illegal_action=played, legal_actions=legal)
        done, cut_off = bool(self._states[0]["done"]), self._cut_off()
        names = self.possible_agents
        rewards = {name: float(self._states[0]["rewards"][p]) for p, name in enumerate(names)}
        if done or cut_off:
            self.agents = []
        return observations, rewards, dict.fromkeys(names, done), dict.fromkeys(names, cut_off), infos

    def state(self) -> np.ndarray:
        """All players' observations, one after the other: int8, as in `state_space`; for centralised critics."""
        self._check_live("state")
        return everything(self.game, self._states)

    def view(self, agent: str) -> View:
        """The view for an agent of this library, of this one game. Its answer -1 stands for `wait`."""
        self._check_live("view")
        return View.unchecked(self.game, self._states, np.array([self._player(agent)]), np.array([self._episode_seed]))

    def get_state(self) -> bytes:
        """The whole position, hidden things included, for `set_state` of any such environment."""
        self._check_live("get_state")
        return pack_state(self.game, self._states[0], np.full(self.game.num_players, -1), self._episode_seed)

    def set_state(self, data: bytes) -> tuple[dict[str, Any], dict[str, dict[str, Any]]]:
        """Go to a position from `get_state`; returns what `reset` does. Raises ValueError saying why not."""
        states, committed, seed = unpack_state(self.game, data)
        if (committed >= 0).any():
            raise ValueError("this position was saved by an AEC environment while some players had chosen already")
        self._states, self._episode_seed = states, seed
        return self._begin()

    def render(self, viewer: str | None = None) -> np.ndarray | str | None:
        """Text ("ansi"), uint8 (height, width, 3) ("rgb_array") or None ("human": a window shows it).

        Shows everything, all hands included: a picture for spectators, and not for a player of a game with hidden
        information. With a `viewer`, such as "player_0", it shows what that agent may see. In the mode "human" the
        environment itself calls it after each step, without a viewer.
        """
        self._check_live("render")
        return self._renderer(self._states[0], None if viewer is None else self._player(viewer))

    def text(self, agent: str) -> str:
        """The position as text, as `agent` may see it, in any render mode."""
        self._check_live("text")
        return self.game.format_state(self._states[0], self._player(agent))

    def _repr_svg_(self) -> str | None:
        """The position with all that is hidden, for notebooks; None before the first reset."""
        return self.game.draw(self._states[0], None) if self._live else None

    def close(self) -> None:
        """Close the window, if there is one."""
        self._renderer.close()

    def _player(self, agent: str) -> int:
        if agent not in self.possible_agents:
            raise ValueError(f"unknown agent {agent!r}; known: {', '.join(self.possible_agents)}")
        return self.possible_agents.index(agent)

    def _check_live(self, what: str) -> None:
        if not self._live:
            raise RuntimeError(f"call reset() before {what}()")
