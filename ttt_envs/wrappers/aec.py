"""PettingZoo AEC: one environment class for all games."""

from typing import Any, ClassVar

import numpy as np
from pettingzoo import AECEnv

from ttt_envs.core.illegal import IllegalAction, explain
from ttt_envs.core.state import SIMULTANEOUS
from ttt_envs.wrappers.board import Board
from ttt_envs.wrappers.common import as_action, forfeit


class AECGame(Board, AECEnv[str, dict[str, np.ndarray], int]):
    """A game whose players, `player_0`, `player_1`, ..., act one after the other.

    Observations are `{"observation": int8, "action_mask": int8 (num_actions,)}`; the mask stands in `infos` too, as
    the same array. With `mask="info"` it stands there alone, and the observation is the array. A waiting player's mask
    is all zeros. Where players choose at once they commit one after the other, and nothing of a choice is seen before
    all have chosen. Checks everything itself and needs no PettingZoo wrapper.
    """

    _FACTS: ClassVar[dict[str, Any]] = {"is_parallelizable": False}

    #: The mover's info, and what they see if nobody has asked for it yet, after a move that told both; else None.
    _info: dict[str, Any] | None = None
    _ready: np.ndarray | None = None
    _infos: dict[str, dict[str, Any]]

    @property
    def infos(self) -> dict[str, dict[str, Any]]:
        """Each agent's info; a move of a game makes them when they are first read."""
        if self._info is not None:
            mover, size = self.agent_selection, self.game.num_actions
            waiting = {name: self._told(name, np.zeros(size, np.int8)) for name in self.agents if name != mover}
            self._infos = {name: waiting.get(name, self._info) for name in self.agents}
            self._info = None
        return self._infos

    @infos.setter
    def infos(self, infos: dict[str, dict[str, Any]]) -> None:
        self._infos, self._info, self._ready = infos, None, None

    def reset(self, seed: int | None = None, options: dict[str, Any] | None = None) -> None:
        """Start a game. `seed` fixes it and all that follow; None goes on with the next. There are no `options`."""
        self._next_game(seed, options)
        self._begin()

    def _begin(self) -> None:
        """Set PettingZoo's attributes for the position in `_states`."""
        names = self.possible_agents
        self._live = True
        self._legal = np.zeros(self.game.num_actions, np.bool_)
        self._size = self.game.observation_size
        self.agents = names[:]
        self.rewards = dict.fromkeys(names, 0.0)
        self._cumulative_rewards = dict.fromkeys(names, 0.0)
        self.terminations = dict.fromkeys(names, False)
        self.truncations = dict.fromkeys(names, False)
        self.agent_selection = names[0]
        self._skip_agent_selection = None
        # Whether one call can play a move and look as the next player.
        plain = self.max_plies is None and not self._known.history and not self._pay.by_step
        self._in_turn = plain and not self.game.simultaneous
        if self._pay.has_rounds:
            self._rounds_told = self._rounds = self._pay.rounds_so_far(self._states)[0].tolist()
        self._select(self._states["rewards"][0] if self._states["done"][0] else None)
        if self.render_mode == "human":
            self.render()

    def _told(self, name: str, mask: np.ndarray) -> dict[str, Any]:
        """An agent's info: its mask, and in a match what rounds have paid it since it acted last."""
        if not self._pay.has_rounds:
            return {"action_mask": mask}
        player = self._number[name]
        return {"action_mask": mask, "round_reward": self._rounds[player] - self._rounds_told[player]}

    def _select(self, paid: np.ndarray | None) -> None:
        """Find who acts next and fill their mask; `paid` float32 (players,) is what the step pays, None for nothing."""
        names = self.possible_agents
        size = self.game.num_actions
        if self._pay.has_rounds:
            self._rounds = self._pay.rounds_so_far(self._states)[0].tolist()
        infos: dict[str, Any] = {name: self._told(name, np.zeros(size, np.int8)) for name in names}
        self.infos = infos
        if paid is not None:
            self.rewards = dict(zip(names, paid.tolist(), strict=True))
            self._accumulate_rewards()
        state = self._states[0]
        if state["done"]:
            self.terminations = dict.fromkeys(names, True)
            self._deads_step_first()
            return
        if self.max_plies is not None and self._cut_off():
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
        if self._ready is not None and agent == self.agent_selection:
            out, self._ready = self._ready, None
        else:
            out = self._seen(player)
        mine = self._info if agent == self.agent_selection else None
        info = self.infos.get(agent) if mine is None else mine
        # An agent that has left after the end of the game has nothing to choose.
        mask = np.zeros(self.game.num_actions, np.int8) if info is None else info["action_mask"]
        return self._encode.shown(out, mask)

    def last(self, observe: bool = True) -> tuple[Any, float, bool, bool, dict[str, Any]]:
        """Observation, cumulative reward, termination, truncation and info of `agent_selection`."""
        name = self.agent_selection
        info = self._info
        observation = self.observe(name) if observe else None
        return (
            observation,
            self._cumulative_rewards[name],
            self.terminations[name],
            self.truncations[name],
            self.infos[name] if info is None else info,
        )

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
        if self._in_turn and self._legal[action]:
            self._move(player, action)
            if self.render_mode == "human":
                self.render()
            return
        before = self._pay.before(self._states)
        if not self._legal[action] and self.illegal == "raise":
            raise IllegalAction(explain(self.game, name, action, self._legal))
        self._cumulative_rewards[name] = 0.0
        if self._pay.has_rounds:
            self._rounds_told[player] = self._rounds[player]
        if not self._legal[action]:
            forfeit(self.game, self._states, 0, [player])
            self._select(self._paid(before))
            self.infos[name]["illegal_action"] = action
        else:
            self._committed[player] = action
            paid = np.zeros(len(self._committed), np.float32)
            if not self._others_still_choose():
                self._play(self._committed)
                self._committed[:] = -1
                paid = self._paid(before)
            self._select(paid)
        if self.render_mode == "human":
            self.render()

    def _move(self, player: int, action: int) -> None:
        """Play where one player acts at a time, and select the next."""
        if self._pay.has_rounds:
            self._rounds_told[player] = self._rounds[player]
        seen = np.empty(self._size, np.int8)
        self._committed[player] = action
        mover = self.game.loops.move_one(self._states, self._committed, self._legal, seen)
        self._committed[player] = -1
        if mover < 0:
            self._select(self._states["rewards"][0])
            return
        self.agent_selection = name = self.possible_agents[mover]
        mask = self._legal.astype(np.int8)
        if self._pay.has_rounds:
            self._rounds = self._pay.rounds_so_far(self._states)[0].tolist()
            self._info, self._ready = self._told(name, mask), seen
        else:
            self._info, self._ready = {"action_mask": mask}, seen

    def _mask_of(self, player: int) -> np.ndarray:
        acts = player == self._number[self.agent_selection] and not self._states["done"][0]
        return self._legal.copy() if acts else np.zeros(self.game.num_actions, np.bool_)

    def _others_still_choose(self) -> bool:
        return self._states[0]["to_move"] == SIMULTANEOUS and any(
            self._committed[p] < 0 and self._may_act(p) for p in range(len(self._committed))
        )

    def set_state(self, data: bytes) -> None:
        """Go to a position from `get_state`; raises ValueError saying why if it is damaged or of another game."""
        self._go_to(data, waiting=True)
        self._begin()
