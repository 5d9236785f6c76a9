"""Board: the base class of both PettingZoo environments: spaces, seeds, pictures and saved positions."""

from typing import Any, ClassVar

import gymnasium
import numpy as np
from numpy.typing import NDArray

from ttt_envs.core.game import Game
from ttt_envs.core.information import Known
from ttt_envs.core.rng import episode_seeds, new_key
from ttt_envs.core.state import read_only
from ttt_envs.core.view import View
from ttt_envs.wrappers.common import (
    RENDER_FPS,
    RENDER_MODES,
    Encoder,
    EnvSettings,
    Renderer,
    manual,
    pack_state,
    unpack_state,
    warn_of_options,
)
from ttt_envs.wrappers.rewards import Pay

#: Number of the environment's only game, as an argument for functions of several games.
FIRST = np.zeros(1, np.int64)

INT8 = np.dtype(np.int8)


class Board:
    """One game whose agents are `player_0`, `player_1`, ...; a subclass defines the turns.

    List it before PettingZoo's class among the bases.
    """

    #: Number of an agent's actions in addition to the game's, such as waiting.
    _MORE_ACTIONS: ClassVar[int] = 0
    #: Entries that a subclass adds to `metadata`.
    _FACTS: ClassVar[dict[str, Any]] = {}

    def __init__(self, game: Game, **settings: Any) -> None:
        """Make an environment; call `reset` first. `settings`: see `EnvSettings`; `reward` is called at each ply."""
        given = EnvSettings(**settings)
        self.game = game
        self.__doc__ = manual(game)  # tools that tell a language model the rules read them here
        self.illegal, self.render_mode, self.max_plies = given.illegal, given.render_mode, given.max_plies
        self._renderer = Renderer(game, given.render_mode)
        self._encode = Encoder(game, given)
        self._pay = Pay(game, 1, given.reward)
        self._known = Known(game, 1, digests=False, history=given.history)
        self._history = given.history
        self.state_space = gymnasium.spaces.Box(
            0, 1, (game.num_players * game.observation_size,), self._encode.dtype.type
        )
        self.metadata = {
            "name": game.id,
            "render_modes": list(RENDER_MODES),
            "render_fps": RENDER_FPS,
            **self._FACTS,
        }
        self.possible_agents = [f"player_{p}" for p in range(game.num_players)]
        self._size = game.observation_size
        self._number = {name: p for p, name in enumerate(self.possible_agents)}
        actions = game.num_actions + self._MORE_ACTIONS
        space = self._encode.shown_space(actions)
        self.observation_spaces: dict[str, Any] = dict.fromkeys(self.possible_agents, space)
        self.action_spaces: dict[str, Any] = {name: gymnasium.spaces.Discrete(actions) for name in self.possible_agents}
        self.agents: list[str] = []
        self._key = new_key(None)
        self._episode = 0
        self._episodes: np.ndarray | None = None  # the players' episode numbers, see `View.episodes`
        self._states = game.prototype.copy()
        self._committed = np.full(game.num_players, -1)
        self._live = False

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.game!r})"

    def observation_space(self, agent: str) -> gymnasium.spaces.Space[Any]:
        """Return the same object at each call."""
        return self.observation_spaces[agent]

    def action_space(self, agent: str) -> gymnasium.spaces.Space[Any]:
        """Return the same object at each call."""
        return self.action_spaces[agent]

    def _next_game(self, seed: int | None, options: dict[str, Any] | None) -> None:
        """Write the first position of the next episode to `_states`; `seed` begins a new sequence of episodes."""
        warn_of_options(options)
        if seed is not None:
            self._key, self._episode = new_key(seed), 0
        self._episode_seed = episode_seeds(self._key, np.zeros(1, np.uint64), np.array([self._episode], np.uint64))[0]
        self._episode += 1
        self.game.loops.reset_one(self._states, 0, self.game.prototype, self._episode_seed)
        self._committed[:] = -1
        if self._history:
            self._known.begin(FIRST)
        self._pay.begin(FIRST)
        self._episodes = None

    def _seen(self, player: int) -> np.ndarray:
        out = np.empty(self._size, np.int8)
        self.game.loops.observe_one(self._states, 0, player, out)
        return self._with_past(player, out) if self._history else out

    def _with_past(self, player: int, seen: np.ndarray) -> np.ndarray:
        return self._known.encoded(FIRST, np.array([player]), seen[None])[0]

    def _cut_off(self) -> bool:
        if self.max_plies is None:
            return False
        state = self._states[0]
        return bool(not state["done"] and state["ply"] >= self.max_plies)

    def state(self) -> np.ndarray:
        """Return all players' observations, concatenated as in `state_space`; for centralised critics."""
        self._check_live("state")
        players = np.arange(self.game.num_players)
        seen = self.game.observations(self._states.repeat(len(players)), players, check=False)
        return seen.reshape(-1).astype(self._encode.dtype, copy=False)

    @property
    def states(self) -> NDArray[Any]:
        """A read-only copy of the position with hidden information, structured (1,)."""
        self._check_live("states")
        return read_only(self._states)

    def action_masks(self, agent: str) -> NDArray[np.bool_]:
        """Return the legal actions of `agent`: bool, one entry per action of its space."""
        self._check_live("action_masks")
        return self._mask_of(self._player(agent))

    def _mask_of(self, player: int) -> np.ndarray:
        raise NotImplementedError

    def view(self, agent: str) -> View:
        """Return a view for an agent of this library: `agents.load("random").act(env.view(name))`."""
        self._check_live("view")
        player = self._player(agent)
        if self._episodes is None:
            # Drawn from the system's entropy, so that the numbers reveal nothing of the game; on demand: it takes long.
            self._episodes = np.random.default_rng().integers(2**53, size=self.game.num_players)
        by, seeds, episodes = np.array([player]), np.array([self._episode_seed]), self._episodes[player : player + 1]
        return View.unchecked(self.game, self._states, by, seeds, episodes=episodes, **self._known.of(FIRST, by))

    def get_state(self) -> bytes:
        """Return the position as bytes, with hidden information and committed choices, for `set_state`."""
        self._check_live("get_state")
        return pack_state(self.game, self._states[0], self._committed, self._episode_seed, self._known.past[0])

    def _go_to(self, data: bytes, *, waiting: bool) -> None:
        """Restore a position from `get_state`; raise ValueError with the reason. `waiting` allows committed choices."""
        saved = unpack_state(self.game, data, self._history)
        if not waiting and (saved.committed >= 0).any():
            raise ValueError("this position was saved by an AEC environment while some players had chosen already")
        self._states, self._committed, self._episode_seed = saved.states, saved.committed, saved.seed
        self._known.past[0] = saved.past
        self._pay.begin(FIRST)
        if not saved.states["done"][0]:
            self._pay.keep(FIRST, saved.states)
        self._episodes = None

    def render(self, viewer: str | None = None) -> np.ndarray | str | None:
        """Return text ("ansi"), uint8 (height, width, 3) ("rgb_array") or None ("human": a window shows it).

        The picture shows everything, including all hands: it is meant for spectators, not for players. With a `viewer`,
        such as "player_0", it shows that agent's view. In the mode "human" the environment calls `render` after each
        step, without a viewer.
        """
        self._check_live("render")
        return self._renderer(self._states[0], None if viewer is None else self._player(viewer))

    def _repr_svg_(self) -> str | None:
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
