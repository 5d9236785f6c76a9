"""Models of AEC and Parallel environments."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from tests.support.models.common import (
    CALLS,
    attempt,
    check,
    check_rewards,
    fault_of_number,
    fault_of_seed,
    masks_of,
    one_number,
)
from ttt_envs.core.batch import Batch
from ttt_envs.core.game import Game
from ttt_envs.core.illegal import IllegalAction
from ttt_envs.wrappers.aec import AECGame
from ttt_envs.wrappers.common import pack_state, unpack_state
from ttt_envs.wrappers.parallel import ParallelGame


class _Single:
    """The base of the models of AEC and Parallel."""

    env: AECGame | ParallelGame

    def __init__(self, game: Game, illegal: str, encoding: str) -> None:
        self.game, self.illegal = game, illegal
        self.live = False
        self.states = game.prototype.copy()
        self.committed = np.full(game.num_players, -1)
        self.names = [f"player_{p}" for p in range(game.num_players)]
        #: Whether the position has come up in play. A crafted one may pay anything, and may go on for too long.
        self.reached = True
        self.saved: list[tuple[bytes, bool]] = []
        self._planes = encoding == "planes"
        # The same seed gives a batch of one the same episodes.
        self._episodes: Batch | None = None

    def _start(self, seed: int | None) -> None:
        """Bring the model to the start of the next episode."""
        if seed is not None:
            self._episodes = Batch(self.game, 1, seed=int(seed))
        elif self._episodes is not None:
            self._episodes.reset()
        self.live = self.reached = True
        self.committed[:] = -1
        if self._episodes is None:
            self.states = unpack_state(self.game, self.env.get_state())[0]  # of a seed that nobody knows
            check(self.states["ply"][0] == self.game.new_state(0)["ply"][0], "a game begins in the middle")
        else:
            self.states = self._episodes.states.copy()

    def _forfeit(self, offenders: Sequence[int]) -> None:
        losing = [team for team in self.game.teams if set(team) & set(offenders)]
        losers = [player for team in losing for player in team]
        winners = [player for player in range(self.game.num_players) if player not in losers]
        self.states["done"] = True
        for players, whole in ((winners, 1.0), (losers, -1.0)):
            self.states["rewards"][0, players] = whole / len(players) if winners and players else 0

    def _expected_observation(self, player: int) -> np.ndarray:
        flat = np.full(self.game.observation_size, 7, np.int8)
        self.game.loops.observe_one(self.states, 0, player, flat)
        check(((flat == 0) | (flat == 1)).all(), "a feature is neither 0 nor 1")
        return self.game.to_planes(flat) if self._planes else flat

    def _check_position(self) -> None:
        """The environment stands where the model does, and that is a position."""
        states, committed, _ = unpack_state(self.game, self.env.get_state())
        check(states.tobytes() == self.states.tobytes(), "the position is not that of the model")
        check((committed == self.committed).all(), "the choices that wait for others are not those of the model")
        if self.reached:
            check_rewards(self.game, states)

    def save(self) -> None:
        """Keep the position for `set_state`."""
        found = attempt(self.env.get_state, None if self.live else RuntimeError, "get_state")
        if self.live:
            self.saved.append((found, self.reached))
        self.check()

    def crafted(self, field: str, entry: int, value: bytes) -> bytes:
        """The position as bytes with a right checksum, in which an entry of a field has been overwritten."""
        states = self.states.copy()
        raw = states[field].reshape(-1).view(np.uint8)
        size = states[field].dtype.itemsize
        start = entry % max(len(raw) // size, 1) * size
        place = raw[start : start + size]  # nothing, if the field is empty
        place[:] = np.frombuffer(value.ljust(size, b"\0")[: len(place)], np.uint8)
        states[field] = raw.view(states[field].dtype).reshape(states[field].shape)
        return pack_state(self.game, states[0], self.committed, np.uint64(0))

    def _fault_of_position(self, data: Any) -> type[Exception] | None:
        if not isinstance(data, (bytes, bytearray, memoryview)):
            return TypeError
        try:
            unpack_state(self.game, bytes(data))
        except ValueError:
            return ValueError
        return None

    def ask(self, name: Any) -> None:
        """Everything that can be asked about a player without changing anything; `name` may be garbage."""
        CALLS[type(self).__name__] += 1
        known = isinstance(name, str) and name in self.names
        wanted = RuntimeError if not self.live else None if known else ValueError
        view = attempt(lambda: self.env.view(name), wanted, f"view({name!r})")
        attempt(lambda: self.env.text(name), wanted, f"text({name!r})")
        shown = None if self.live and name is None else wanted
        drawn = attempt(lambda: self.env.render(name), shown, f"render({name!r})")
        check(shown is not None or isinstance(drawn, str), "render gives no text")
        if view is not None and not self.states["done"][0]:
            player = self.names.index(name)
            check((view.masks[0] == masks_of(self.game, self.states)[player]).all(), "a view has another mask")
            worlds = view.sample_worlds(1)
            if self.reached:
                self.game.check_states(worlds)
            seen = np.empty((1, self.game.observation_size), np.int8)
            self.game.loops.observe_rows(worlds, view.players, seen)
            check((seen == view.observations).all(), "a sampled world looks different to the player")
        self.check()

    def close(self) -> None:
        """`close` is allowed at any time, and changes nothing."""
        CALLS[type(self).__name__] += 1
        attempt(self.env.close, None, "close")
        self.check()

    def check(self) -> None:
        """Compare everything that can be seen with the model."""
        raise NotImplementedError


class AecModel(_Single):
    """An AEC environment and its model."""

    env: AECGame

    def __init__(self, game: Game, illegal: str = "lose", encoding: str = "flat") -> None:
        """`game`, and arguments of the environment."""
        super().__init__(game, illegal, encoding)
        self.env = AECGame(game, render_mode="ansi", encoding=encoding, illegal=illegal)
        self.agents: list[str] = []

    def _started(self) -> None:
        self.agents = self.names[:]

    def reset(self, seed: Any) -> None:
        """Call `reset`."""
        CALLS["AecModel"] += 1
        wanted = fault_of_seed(seed)
        attempt(lambda: self.env.reset(seed), wanted, f"reset({seed!r})")
        if wanted is None:
            self._start(seed)
            self._started()
        self.check()

    @property
    def mover(self) -> int:
        """The player to choose next, by the model."""
        masks = masks_of(self.game, self.states)
        return next(p for p in range(len(masks)) if self.committed[p] < 0 and masks[p].any())

    def legal(self) -> np.ndarray:
        """The legal actions of the player to choose next, int64 (k,); none before the start and after the end."""
        if not self.live or self.states["done"][0]:
            return np.zeros(0, np.int64)
        return np.flatnonzero(masks_of(self.game, self.states)[self.mover])

    def step(self, action: Any) -> None:
        """Call `step`."""
        CALLS["AecModel"] += 1
        over = self.live and bool(self.states["done"][0])
        wanted: type[Exception] | None
        if not self.live or not self.agents:
            wanted = RuntimeError
        elif over:
            wanted = None if action is None else ValueError
        else:
            wanted = fault_of_number(action, self.game.num_actions)
            illegal = wanted is None and int(one_number(action)) not in self.legal()
            wanted = IllegalAction if illegal and self.illegal == "raise" else wanted
        attempt(lambda: self.env.step(action), wanted, f"step({action!r})")
        if wanted is None and over:
            self.agents.pop(0)
        elif wanted is None and illegal:
            self._forfeit([self.mover])
        elif wanted is None:
            self._choose(int(one_number(action)))
        self.check()

    def _choose(self, action: int) -> None:
        masks = masks_of(self.game, self.states)
        self.committed[self.mover] = action
        if not masks[self.committed < 0].any():
            self.game.loops.step_one(self.states, 0, self.committed)
            self.committed[:] = -1

    def set_state(self, data: Any, reached: bool = False) -> None:
        """Call `set_state`; `reached`: the position is known to come up in play."""
        CALLS["AecModel"] += 1
        wanted = self._fault_of_position(data)
        attempt(lambda: self.env.set_state(data), wanted, "set_state")
        if wanted is None:
            self.states, self.committed, _ = unpack_state(self.game, bytes(data))
            self.live, self.reached = True, reached
            self._started()
        self.check()

    def observe(self, name: Any) -> None:
        """Call `observe`."""
        CALLS["AecModel"] += 1
        known = isinstance(name, str) and name in self.names
        wanted = RuntimeError if not self.live else None if known else ValueError
        attempt(lambda: self.env.observe(name), wanted, f"observe({name!r})")
        self.check()

    def check(self) -> None:
        """Compare everything that can be seen with the model."""
        env = self.env
        if not self.live:
            attempt(env.get_state, RuntimeError, "get_state before reset")
            return
        self._check_position()
        check(env.agents == self.agents, f"agents are {env.agents}, not {self.agents}")
        over = bool(self.states["done"][0])
        masks = np.zeros((len(self.names), self.game.num_actions), np.int8)
        if not over:
            check(env.agent_selection == self.names[self.mover], f"{env.agent_selection} is asked")
            masks[self.mover] = masks_of(self.game, self.states)[self.mover]
            check(masks.any(), "nobody can act")
        elif self.agents:
            check(env.agent_selection == self.agents[0], f"{env.agent_selection} is asked to leave")
        for player, name in enumerate(self.names):
            seen = env.observe(name)
            check((seen["action_mask"] == masks[player]).all(), f"the mask of {name}")
            check((seen["observation"] == self._expected_observation(player)).all(), f"the observation of {name}")
        for name in self.agents:
            player = self.names.index(name)
            paid = float(self.states["rewards"][0, player])
            check(env.terminations[name] == over and not env.truncations[name], f"{name} is out at the wrong time")
            check(env._cumulative_rewards[name] == paid, f"the reward of {name}")
            check((env.infos[name]["action_mask"] == masks[player]).all(), f"the mask in the info of {name}")
        if self.agents:
            _, reward, terminated, truncated, _ = env.last()
            check(reward == env._cumulative_rewards[env.agent_selection], "last() has another reward")
            check((terminated, truncated) == (over, False), "last() says otherwise whether it is over")


def fault_of_choice(value: Any, end: int) -> type[Exception] | None:
    """The error of an action in a parallel environment, where -1 is waiting, as is the last number below `end`."""
    fault = fault_of_number(value, end)
    return None if fault is ValueError and int(one_number(value)) == -1 else fault


class ParallelModel(_Single):
    """A Parallel environment and its model."""

    env: ParallelGame

    def __init__(self, game: Game, illegal: str = "lose", encoding: str = "flat") -> None:
        """`game`, and arguments of the environment."""
        super().__init__(game, illegal, encoding)
        self.env = ParallelGame(game, render_mode="ansi", encoding=encoding, illegal=illegal)

    @property
    def agents(self) -> list[str]:
        """Those who are still in the game."""
        return self.names if self.live and not self.states["done"][0] else []

    def reset(self, seed: Any) -> None:
        """Call `reset`."""
        CALLS["ParallelModel"] += 1
        wanted = fault_of_seed(seed)
        found = attempt(lambda: self.env.reset(seed), wanted, f"reset({seed!r})")
        if wanted is None:
            self._start(seed)
            self._check_given(*found)
        self.check()

    def legal(self) -> np.ndarray:
        """bool (players, num_actions + 1): legal answers; the last one is `wait`."""
        masks = masks_of(self.game, self.states)
        return np.hstack([masks, ~masks.any(axis=1, keepdims=True)])

    def step(self, actions: Any) -> None:
        """Call `step`."""
        CALLS["ParallelModel"] += 1
        wanted: type[Exception] | None = None
        offenders: list[int] = []
        if not self.agents:
            wanted = RuntimeError
        elif not isinstance(actions, dict) or set(actions) != set(self.names):
            wanted = ValueError
        else:
            end = self.game.num_actions + 1
            wanted = next((fault for name in self.names if (fault := fault_of_choice(actions[name], end))), None)
            if wanted is None:
                legal = self.legal()
                offenders = [p for p, name in enumerate(self.names) if not legal[p, int(one_number(actions[name]))]]
                wanted = IllegalAction if offenders and self.illegal == "raise" else None
        found = attempt(lambda: self.env.step(actions), wanted, f"step({actions!r})")
        if wanted is None:
            if offenders:
                self._forfeit(offenders)
            else:
                joint = np.array([int(one_number(actions[name])) for name in self.names])
                joint[joint == self.game.num_actions] = -1
                self.game.loops.step_one(self.states, 0, joint)
            observations, rewards, terminations, truncations, infos = found
            self._check_given(observations, infos)
            over = bool(self.states["done"][0])
            check(rewards == dict(zip(self.names, self.states["rewards"][0].tolist(), strict=True)), "the rewards")
            check(terminations == dict.fromkeys(self.names, over), "who is out")
            check(truncations == dict.fromkeys(self.names, False), "a truncation")
        self.check()

    def set_state(self, data: Any, reached: bool = False) -> None:
        """Call `set_state`; `reached`: the position is known to come up in play."""
        CALLS["ParallelModel"] += 1
        wanted = self._fault_of_position(data)
        if wanted is None and (unpack_state(self.game, bytes(data))[1] >= 0).any():
            wanted = ValueError
        found = attempt(lambda: self.env.set_state(data), wanted, "set_state")
        if wanted is None:
            self.states, _, _ = unpack_state(self.game, bytes(data))
            self.live, self.reached = True, reached
            self._check_given(*found)
        self.check()

    def _check_given(self, observations: dict[str, Any], infos: dict[str, Any]) -> None:
        check(list(observations) == list(infos) == self.names, "an agent is missing")
        legal = self.legal()
        for player, name in enumerate(self.names):
            seen = observations[name]
            check((seen["observation"] == self._expected_observation(player)).all(), f"the observation of {name}")
            for mask in (seen["action_mask"], infos[name]["action_mask"]):
                check((mask == legal[player]).all() and mask.any(), f"the mask of {name}")

    def check(self) -> None:
        """Compare everything that can be seen with the model."""
        if self.live:
            self._check_position()
        else:
            attempt(self.env.get_state, RuntimeError, "get_state before reset")
        check(self.env.agents == self.agents, f"agents are {self.env.agents}, not {self.agents}")
