"""PettingZoo Parallel: one environment class for all games."""

from typing import Any, ClassVar

import numpy as np
from pettingzoo import ParallelEnv

from ttt_envs.core.checks import IllegalAction, explain
from ttt_envs.wrappers.base_env import FIRST, Board
from ttt_envs.wrappers.common import as_action, forfeit


class ParallelGame(Board, ParallelEnv[str, dict[str, np.ndarray], int]):
    """A game whose agents `player_0`, `player_1`, ... all act in each step.

    The last action is `wait`, the only legal one of a player who does not act now, so that no mask is all zeros.
    Observations are `{"observation": int8, "action_mask": int8 (num_actions + 1,)}`; `infos` has the same mask array.
    With `mask="info"` only `infos` has the mask, and the observation is the array. The value -1, as answered by agents
    that use `view`, also means `wait`.
    """

    _MORE_ACTIONS: ClassVar[int] = 1

    @property
    def wait(self) -> int:
        """The action of a player who does not act now."""
        return self.game.num_actions

    def reset(
        self, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[dict[str, Any], dict[str, dict[str, Any]]]:
        """Start a game. `seed` determines it and all later games; None starts the next game. `options` are ignored."""
        self._next_game(seed, options)
        return self._begin()

    def _begin(self) -> tuple[dict[str, Any], dict[str, dict[str, Any]]]:
        self._live = True
        self.agents = [] if self._states[0]["done"] or self._cut_off() else self.possible_agents[:]
        if self._pay.has_rounds:
            self._rounds = self._pay.rounds_so_far(self._states)[0].tolist()
        return self._look(self._committed, play=False)

    def _look(self, joint: np.ndarray, *, play: bool) -> tuple[dict[str, Any], dict[str, dict[str, Any]]]:
        """If `play`, play the actions `joint`, int64 (players,); return all agents' observations and infos."""
        players = len(self.possible_agents)
        legal, seen = np.empty((players, self.wait), np.bool_), np.empty((players, self._size), np.int8)
        if play and self._history:
            self._known.note(FIRST, self._states, joint[None])
        masks = self._masks = np.empty((players, self.wait + 1), np.int8)
        acting = self.game.move_all(self._states, joint, play, legal, masks, seen)
        masks[:, -1] = [not acting >> player & 1 for player in range(players)]
        observations, infos = {}, {}
        # The user gets a copy of the masks, because `step` checks actions by `_masks`.
        for player, (name, given) in enumerate(zip(self.possible_agents, masks.copy(), strict=True)):
            own = self._with_past(player, seen[player]) if self._history else seen[player]
            observations[name] = self._encode.shown(own, given)
            infos[name] = {"action_mask": given}
        if self._pay.has_rounds:
            before, self._rounds = self._rounds, self._pay.rounds_so_far(self._states)[0].tolist()
            for name, old, new in zip(self.possible_agents, before, self._rounds, strict=True):
                infos[name]["round_reward"] = new - old
        if self.render_mode == "human":
            self.render()
        return observations, infos

    def step(self, actions: dict[str, int]) -> tuple[Any, Any, Any, Any, Any]:
        """Play one action per agent, -1 or `wait` if it does not act; return what `ParallelEnv.step` returns.

        Raises:
            RuntimeError: before `reset`, or when the game is over.
            TypeError, ValueError: an agent has no action, or its action is no whole number or no action of the game.
            IllegalAction: with illegal="raise", an action is not legal now; nothing is changed.
        """
        self._check_live("step")
        if not self.agents:
            raise RuntimeError("the game is over: call reset() before step()")
        if not isinstance(actions, dict) or set(actions) != set(self.agents):
            given = ", ".join(map(str, actions)) if isinstance(actions, dict) else repr(actions)
            raise ValueError(f"step() needs a dict with one action each for {', '.join(self.agents)}; given: {given}")
        wait, before = self.wait, self._pay.before(self._states)
        # -1 also means `wait`: agents of this library return it if they do not act.
        chosen = [as_action(actions[name], wait + 1, name, least=-1) % (wait + 1) for name in self.agents]
        offences = {p: action for p, action in enumerate(chosen) if not self._masks[p, action]}
        if offences and self.illegal == "raise":
            faults = [explain(self.game, self.agents[p], each, self._masks[p]) for p, each in offences.items()]
            raise IllegalAction("; ".join(faults))
        if offences:
            forfeit(self.game, self._states, 0, list(offences))
        joint = np.array([-1 if action == wait else action for action in chosen])
        observations, infos = self._look(joint, play=not offences)
        for player, action in offences.items():
            infos[self.possible_agents[player]]["illegal_action"] = action
        done, cut_off = bool(self._states[0]["done"]), self._cut_off()
        names = self.possible_agents
        rewards = dict(zip(names, self._pay.of_all(self._states, before).tolist(), strict=True))
        if done or cut_off:
            self.agents = []
        return observations, rewards, dict.fromkeys(names, done), dict.fromkeys(names, cut_off), infos

    def _mask_of(self, player: int) -> np.ndarray:
        return self._masks[player].astype(np.bool_)

    def set_state(self, data: bytes) -> tuple[dict[str, Any], dict[str, dict[str, Any]]]:
        """Restore a position from `get_state`; return what `reset` returns. Raises ValueError with the reason."""
        self._go_to(data, waiting=False)
        return self._begin()
