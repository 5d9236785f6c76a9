"""PettingZoo AEC: one environment class for all games."""

from typing import Any, ClassVar, NoReturn

import numpy as np
from pettingzoo import AECEnv

from ttt_envs.core.checks import IllegalAction, explain
from ttt_envs.wrappers.base_env import FIRST, INT8, Board
from ttt_envs.wrappers.common import as_action, forfeit


class AECGame(Board, AECEnv[str, dict[str, np.ndarray], int]):
    """A game whose agents `player_0`, `player_1`, ... act one after the other.

    Observations are `{"observation": int8, "action_mask": int8 (num_actions,)}`; `infos` has the same mask array. With
    `mask="info"` only `infos` has the mask, and the observation is the array. A waiting player's mask is all zeros.
    Players who choose simultaneously commit one after the other; nobody sees a choice before all have chosen. The class
    checks all input and needs no PettingZoo wrapper.
    """

    _FACTS: ClassVar[dict[str, Any]] = {"is_parallelizable": False}

    #: Of the player to move: the info until `infos` is first read, and the observation until it is read; then None.
    _info: dict[str, Any] | None = None
    _ready: np.ndarray | None = None
    _infos: dict[str, dict[str, Any]]

    @property
    def infos(self) -> dict[str, dict[str, Any]]:
        """Each agent's info, made on first access."""
        if self._info is not None:
            mover, own = self.agent_selection, self._info
            self._infos = {name: own if name == mover else self._told(name) for name in self.agents}
            self._info = None
        return self._infos

    @infos.setter
    def infos(self, infos: dict[str, dict[str, Any]]) -> None:
        self._infos, self._info, self._ready = infos, None, None

    def reset(self, seed: int | None = None, options: dict[str, Any] | None = None) -> None:
        """Start a game. `seed` determines it and all later games; None starts the next game. `options` are ignored."""
        self._next_game(seed, options)
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
        # The legal actions of the player to move, or one row per player; see `Game.move`.
        self._rows = np.zeros((*self.game.lookers, self.game.num_actions), np.bool_)
        self._legal = self._rows[0] if self.game.simultaneous else self._rows
        self._move(play=False)
        if self.game.simultaneous:  # in a restored position, some players may have chosen
            for player in np.flatnonzero(self._committed >= 0).tolist():
                self._acting &= ~(1 << player)
        if self._pay.has_rounds:
            self._rounds = self._pay.rounds_so_far(self._states)[0].tolist()
            self._rounds_told = self._rounds[:]
        self._select(self._states["rewards"][0] if self._states["done"][0] else None, played=False)
        if self.render_mode == "human":
            self.render()

    def _move(self, *, play: bool) -> None:
        """If `play`, play the ply that all players have chosen; then read the position."""
        if play and self._history:
            self._known.note(FIRST, self._states, self._committed[None])
        # New arrays, because they are handed to the user, who may change them.
        self._masks = masks = np.empty(self._rows.shape, INT8)
        self._looked = seen = np.empty((*self.game.lookers, self._size), INT8)
        self._acting = self.game.move(self._states, self._committed, play, self._rows, masks, seen)

    def _told(self, name: str, mask: np.ndarray | None = None) -> dict[str, Any]:
        """Return an agent's info: the mask (all 0 for None) and, in a match, its round rewards since it last acted."""
        own = np.zeros(self.game.num_actions, np.int8) if mask is None else mask
        if not self._pay.has_rounds:
            return {"action_mask": own}
        player = self._number[name]
        return {"action_mask": own, "round_reward": self._rounds[player] - self._rounds_told[player]}

    def _select(self, paid: np.ndarray | None, *, played: bool) -> None:
        """Select the next player to act; `paid`: the rewards of the step, float32 (players,), None for none."""
        if played and self._pay.has_rounds:
            self._rounds = self._pay.rounds_so_far(self._states)[0].tolist()
        if paid is not None:
            self.rewards = dict(zip(self.possible_agents, paid.tolist(), strict=True))
            self._accumulate_rewards()
        over = not self._acting
        if over or (self.max_plies is not None and self._cut_off()):
            names = self.possible_agents
            self.infos = {name: self._told(name) for name in names}
            ended = dict.fromkeys(names, True)
            self.terminations, self.truncations = (ended, self.truncations) if over else (self.terminations, ended)
            self._rows.fill(0)
            self._deads_step_first()
            return
        player, mask, seen = (self._acting & -self._acting).bit_length() - 1, self._masks, self._looked
        if self.game.simultaneous:  # every time, because in a copied environment the two arrays are no longer one
            self._legal, mask, seen = self._rows[player], mask[player], seen[player]
        self.agent_selection = name = self.possible_agents[player]
        self._info = self._told(name, mask)
        self._ready = self._with_past(player, seen) if self._history else seen

    def observe(self, agent: str) -> Any:
        """Return the observation of `agent`: a new array `observation`, and the `action_mask` of `infos`."""
        self._check_live("observe")
        player = self._player(agent)
        selected = agent == self.agent_selection
        if selected and self._ready is not None:
            out, self._ready = self._ready, None
        else:
            out = self._seen(player)
        info = self._info if selected and self._info is not None else self.infos.get(agent)
        # An agent that has left after the end of the game has no legal action.
        mask = np.zeros(self.game.num_actions, np.int8) if info is None else info["action_mask"]
        return self._encode.shown(out, mask)

    def last(self, observe: bool = True) -> tuple[Any, float, bool, bool, dict[str, Any]]:
        """Return observation, cumulative reward, termination, truncation and info of `agent_selection`.

        Raises RuntimeError before `reset`, or after the last agent has left.
        """
        if not self.agents:
            self._refuse("last")
        name, info, ready = self.agent_selection, self._info, self._ready
        if info is None:
            info = self.infos[name]
        observation = None
        if observe and ready is not None:
            observation, self._ready = self._encode.shown(ready, info["action_mask"]), None
        elif observe:
            observation = self.observe(name)
        return observation, self._cumulative_rewards[name], self.terminations[name], self.truncations[name], info

    def step(self, action: int | None) -> None:
        """Play `action` for `agent_selection`; after the end of the game, `action` must be None.

        Raises:
            RuntimeError: before `reset`, or after the last agent has left.
            TypeError, ValueError: `action` is no whole number, or no action of the game.
            IllegalAction: with illegal="raise", `action` is not legal now; nothing is changed.
        """
        if not self.agents:
            self._refuse("step")
        name = self.agent_selection
        if self.terminations[name] or self.truncations[name]:
            if action is not None:
                raise ValueError(f"the game is over: {name} can only step(None), or call reset()")
            self._was_dead_step(action)
            return
        player = self._number[name]
        action = as_action(action, self.game.num_actions, name)
        legal = self._legal[action]
        if not legal and self.illegal == "raise":
            raise IllegalAction(explain(self.game, name, action, self._legal))
        before = self._pay.before(self._states) if self._pay.by_step else None
        self._cumulative_rewards[name] = 0.0
        if self._pay.has_rounds:
            self._rounds_told[player] = self._rounds[player]
        if not legal:
            self._forfeit(player)
            self.infos[name]["illegal_action"] = action
        else:
            self._committed[player] = action
            self._acting &= ~(1 << player)
            if self._acting:
                self._select(np.zeros(len(self._committed), np.float32) if self._pay.by_step else None, played=False)
            else:
                self._move(play=True)
                self._select(
                    self._pay.of_all(self._states, before) if self._pay.by_step or not self._acting else None,
                    played=True,
                )
        if self.render_mode == "human":
            self.render()

    def _forfeit(self, player: int) -> None:
        before = self._pay.before(self._states)
        forfeit(self.game, self._states, 0, [player])
        self._acting = 0
        self._select(self._pay.of_all(self._states, before), played=True)

    def _refuse(self, what: str) -> NoReturn:
        self._check_live(what)
        raise RuntimeError(f"the game is over and all agents have left: call reset() before {what}()")

    def _mask_of(self, player: int) -> np.ndarray:
        acts = player == self._number[self.agent_selection] and not self._states["done"][0]
        return self._legal.copy() if acts else np.zeros(self.game.num_actions, np.bool_)

    def set_state(self, data: bytes) -> None:
        """Restore a position from `get_state`; raise ValueError with the reason if it is damaged or of another game."""
        self._go_to(data, waiting=True)
        self._begin()
