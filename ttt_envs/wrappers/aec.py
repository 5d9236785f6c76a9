"""PettingZoo AEC: one environment class for all games."""

from typing import Any

import gymnasium
import numpy as np
from pettingzoo import AECEnv

from ttt_envs.core.game import Game, explain
from ttt_envs.core.illegal import IllegalAction
from ttt_envs.core.options import choice
from ttt_envs.core.rng import episode_seeds, new_key
from ttt_envs.core.state import SIMULTANEOUS
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


class AECGame(AECEnv[str, dict[str, np.ndarray], int]):
    """A game whose players, `player_0`, `player_1`, ..., act one after the other.

    Observations are `{"observation": int8, "action_mask": int8 (num_actions,)}`; the mask stands in `infos` too, as
    the same array. With `mask="info"` it stands there alone, and the observation is the array. A waiting player's mask
    is all zeros. Where players choose at once they commit one after the other, and nothing of a choice is seen before
    all have chosen. Checks everything itself and needs no PettingZoo wrapper.
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
        """An environment for `game`; call `reset` first.

        Args:
            game: from `ttt_envs.load`.
            render_mode: "human" (a window), "rgb_array", "ansi" or None.
            encoding: "flat" or "planes".
            illegal: an illegal action makes the offender "lose" (-1, the rest share +1) or is "raise"d.
            mask: "both" puts the action mask into the observation and into the infos, "info" into the infos alone, so
                that the observation is a plain array.
            max_cycles: plies after which a game is cut off: all agents are truncated, and paid nothing. None plays each
                game to its end.
        """
        super().__init__()
        self.game = game
        self.illegal = choice("illegal", illegal, ILLEGAL)
        self.render_mode = render_mode
        self._renderer = Renderer(game, render_mode)
        self._encode = Encoder(game, encoding, mask)
        self.max_cycles = check_max_cycles(max_cycles)
        self.state_space = state_space(game)
        self.metadata = {
            "name": game.id,
            "render_modes": list(RENDER_MODES),
            "render_fps": RENDER_FPS,
            "is_parallelizable": False,
        }
        self.possible_agents = [f"player_{p}" for p in range(game.num_players)]
        self._number = {name: p for p, name in enumerate(self.possible_agents)}
        space = self._encode.shown_space(game.num_actions)
        self.observation_spaces: dict[str, Any] = dict.fromkeys(self.possible_agents, space)
        self.action_spaces: dict[str, Any] = {
            name: gymnasium.spaces.Discrete(game.num_actions) for name in self.possible_agents
        }
        self.agents: list[str] = []
        self._key = new_key(None)
        self._episode = 0
        self._states = game.prototype.copy()
        self._committed = np.full(game.num_players, -1)
        self._legal = np.zeros(game.num_actions, np.bool_)
        self._live = False

    def observation_space(self, agent: str) -> gymnasium.spaces.Space[Any]:
        """The same object at each call."""
        return self.observation_spaces[agent]

    def action_space(self, agent: str) -> gymnasium.spaces.Space[Any]:
        """The same object at each call."""
        return self.action_spaces[agent]

    def reset(self, seed: int | None = None, options: dict[str, Any] | None = None) -> None:
        """Start a game. `seed` fixes it and all that follow; None goes on with the next. There are no `options`."""
        warn_of_options(options)
        if seed is not None:
            self._key, self._episode = new_key(seed), 0
        self._episode_seed = episode_seeds(self._key, np.zeros(1, np.uint64), np.array([self._episode], np.uint64))[0]
        self._episode += 1
        self.game.loops.reset_one(self._states, 0, self.game.prototype, self._episode_seed)
        self._committed[:] = -1
        self._begin()

    def _begin(self) -> None:
        """Set PettingZoo's attributes for the position in `_states`."""
        names = self.possible_agents
        self._live = True
        self.agents = names[:]
        self.rewards = dict.fromkeys(names, 0.0)
        self._cumulative_rewards = dict.fromkeys(names, 0.0)
        self.terminations = dict.fromkeys(names, False)
        self.truncations = dict.fromkeys(names, False)
        self.agent_selection = names[0]
        self._skip_agent_selection = None
        self._select()
        if self.render_mode == "human":
            self.render()

    def _select(self) -> None:
        """Find who acts next and fill their mask; at the end, pay."""
        names = self.possible_agents
        size = self.game.num_actions
        infos: dict[str, Any] = {}
        for name in names:
            infos[name] = {"action_mask": np.zeros(size, np.int8)}
        self.infos = infos
        state = self._states[0]
        if state["done"]:
            for p, name in enumerate(names):
                self.rewards[name] = float(state["rewards"][p])
                self.terminations[name] = True
            self._accumulate_rewards()
            self._deads_step_first()
            return
        if self.max_cycles is not None and state["ply"] >= self.max_cycles:
            self.truncations = dict.fromkeys(names, True)
            self._legal[:] = False
            self._deads_step_first()
            return
        player = int(state["to_move"])
        if player == SIMULTANEOUS:
            player = next(p for p in range(len(names)) if self._committed[p] < 0 and self._may_act(p))
        else:
            self.game.loops.mask_one(self._states, 0, player, self._legal)
        # A copy: what a user does to a mask does not change what is legal.
        infos[names[player]]["action_mask"] = self._legal.astype(np.int8)
        self.agent_selection = names[player]

    def _may_act(self, player: int) -> bool:
        """Whether the player has a choice now; leaves their legal actions in `_legal`."""
        self.game.loops.mask_one(self._states, 0, player, self._legal)
        return bool(self._legal.any())

    def observe(self, agent: str) -> Any:
        """The observation of `agent`: fresh `observation`, and the `action_mask` that stands in `infos`."""
        self._check_live("observe")
        player = self._player(agent)
        out = np.empty(self.game.observation_size, np.int8)
        self.game.loops.observe_one(self._states, 0, player, out)
        info = self.infos.get(agent)
        # An agent that has left after the end of the game has nothing to choose.
        mask = np.zeros(self.game.num_actions, np.int8) if info is None else info["action_mask"]
        return self._encode.shown(out, mask)

    def state(self) -> np.ndarray:
        """All players' observations, one after the other: int8, as in `state_space`; for centralised critics."""
        self._check_live("state")
        return everything(self.game, self._states)

    def step(self, action: int | None) -> None:
        """Play `action` for `agent_selection`; None for an agent whose game is over.

        Raises:
            RuntimeError: before `reset`, or after the last agent has left.
            TypeError, ValueError: no whole number, or no action of the game.
            IllegalAction: not legal now, with illegal="raise"; nothing is changed.
        """
        self._check_live("step")
        if not self.agents:
            raise RuntimeError("the game is over and all agents have left: call reset() before step()")
        name = self.agent_selection
        if self.terminations[name] or self.truncations[name]:
            if action is not None:
                raise ValueError(f"the game is over: {name} can only step(None), or call reset()")
            self._was_dead_step(action)
            return
        player = self._number[name]
        action = as_action(action, self.game.num_actions, name)
        if not self._legal[action]:
            words, played, legal = explain(self.game, name, action, self._legal)
            if self.illegal == "raise":
                raise IllegalAction(words)
            forfeit(self.game, self._states, 0, [player])
            self._select()
            self.infos[name].update(illegal_action=played, legal_actions=legal)
        else:
            self._committed[player] = action
            if not self._others_still_choose():
                self.game.loops.step_one(self._states, 0, self._committed)
                self._committed[:] = -1
            self._select()
        if self.render_mode == "human":
            self.render()

    def _others_still_choose(self) -> bool:
        return self._states[0]["to_move"] == SIMULTANEOUS and any(
            self._committed[p] < 0 and self._may_act(p) for p in range(len(self._committed))
        )

    def view(self, agent: str) -> View:
        """The view for an agent of this library, of this one game: `agents.load("random").act(env.view(name))`."""
        self._check_live("view")
        return View.unchecked(self.game, self._states, np.array([self._player(agent)]), np.array([self._episode_seed]))

    def get_state(self) -> bytes:
        """The whole position, hidden things and choices already committed included, for `set_state` of any such
        environment."""
        self._check_live("get_state")
        return pack_state(self.game, self._states[0], self._committed, self._episode_seed)

    def set_state(self, data: bytes) -> None:
        """Go to a position from `get_state`; raises ValueError saying why if it is damaged or of another game."""
        self._states, self._committed, self._episode_seed = unpack_state(self.game, data)
        self._begin()

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
        player = self._number.get(agent) if isinstance(agent, str) else None
        if player is None:
            raise ValueError(f"unknown agent {agent!r}; known: {', '.join(self.possible_agents)}")
        return player

    def _check_live(self, what: str) -> None:
        if not self._live:
            raise RuntimeError(f"call reset() before {what}()")
