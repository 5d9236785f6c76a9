"""Batch: many games of one kind, stepped at once."""

import os
import threading
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ttt_envs.core.checks import check_actions, check_players, check_rows, refusal
from ttt_envs.core.game import Game
from ttt_envs.core.information import Known, own_actions
from ttt_envs.core.observation_layout import check_history
from ttt_envs.core.options import MOST, choice, within
from ttt_envs.core.rng import Purpose, derive_rows, episode_seeds, new_key
from ttt_envs.core.state import SIMULTANEOUS
from ttt_envs.core.view import View

#: The games to step, int64 (k,); their plies before the step; and the digests and past that `Known.after` returns.
_Noted = tuple[np.ndarray, np.ndarray, np.ndarray | None, np.ndarray]


class Position:
    """A position for display, with hidden information: `print` shows its text, a notebook its picture.

    Attributes:
        game: the game.
        state: the record.
    """

    def __init__(self, game: Game, state: Any) -> None:
        """`state` is a record of the game."""
        self.game, self.state = game, state

    def __repr__(self) -> str:
        return self.game.format_state(self.state, None)

    def _repr_svg_(self) -> str:
        return self.game.draw(self.state, None)


class Batch:
    """`n` games of `game`.

    Game i of a batch with seed s is the same for every `n`: its episodes' seeds depend only on s, i and the episode.

    Every argument is checked before it reaches a kernel. A Batch serves one thread at a time; the other threads wait.
    Call `reset()` after Ctrl-C has interrupted a call.

    Attributes:
        rewards: float32 (n, players), each player's reward for the last step; 0 in games that were already over.
        done: bool (n,), games that have ended; with `auto_reset`, games that the last step ended.
    """

    def __new__(cls, *args: Any, device: str = "cpu", **kwargs: Any) -> Any:
        """`device="cuda"` makes an `ttt_envs.cuda.DeviceBatch`."""
        if choice("device", device, ("cpu", "cuda")) == "cpu":
            return super().__new__(cls)
        from ttt_envs.cuda import DeviceBatch

        return DeviceBatch(Batch(*args, **kwargs))

    def __init__(
        self,
        game: Game,
        n: int,
        *,
        seed: int | None = None,
        auto_reset: bool = False,
        history: int = 0,
        recall: bool = False,
        device: str = "cpu",
    ) -> None:
        """Make and reset the games.

        Args:
            game: from `ttt_envs.load`.
            n: number of games, at least 1.
            seed: whole number; None for a random one from the system.
            auto_reset: a game that ends restarts within the same step.
            history: 0 to 100, the number of past decisions in each player's observations, see `Game.layout`.
            recall: track the players' information states, for `info_state_keys`. All players then observe each
                position, which takes longer than a step.
                device: "cpu", or "cuda" for a `DeviceBatch`, whose arrays all stay on an NVIDIA GPU.
        """
        if not isinstance(game, Game):
            raise TypeError(f"game must be a Game from ttt_envs.load, not {type(game).__name__}")
        within(1, MOST, n=n)
        for name, value in (("auto_reset", auto_reset), ("recall", recall)):
            choice(name, value, (False, True))
        self._game = game
        self.auto_reset = auto_reset
        self._in_use = threading.RLock()
        self._rows = np.arange(int(n))
        self._states = np.repeat(game.prototype, int(n))
        self.rewards: NDArray[np.float32] = np.zeros((self.n, game.num_players), np.float32)
        self.done: NDArray[np.bool_] = np.zeros(self.n, np.bool_)
        self._key = new_key(seed)
        self._numbers: np.ndarray | None = None  # the players' episode numbers, see `View.episodes`
        keeps = check_history(history) or recall
        self._known = Known(game, self.n, digests=recall, history=history) if keeps else None
        self._placed = 0  # number of calls of `set_states`
        self._episodes, self._episode_seeds = np.zeros(self.n, np.uint64), np.zeros(self.n, np.uint64)
        self._begin(self._rows)

    def __len__(self) -> int:
        return self.n

    def __repr__(self) -> str:
        return f"Batch({self.game!r}, {self.n}, auto_reset={self.auto_reset})"

    @property
    def game(self) -> Game:
        """The game."""
        return self._game

    @property
    def n(self) -> int:
        """The number of games."""
        return len(self._rows)

    @property
    def states(self) -> NDArray[Any]:
        """Structured (n,): the positions. Reading is safe; write in place with care, or use `set_states`."""
        return self._states

    @property
    def episode_seeds(self) -> NDArray[np.uint64]:
        """uint64 (n,): the seed of each game's episode."""
        return self._episode_seeds

    @property
    def past(self) -> NDArray[np.int8] | None:
        """int8 (n, players, history, features): the last decisions, see `Known.past`; None without `history`."""
        return None if self._known is None or not self._known.history else self._known.past

    @property
    def to_move(self) -> NDArray[np.int8]:
        """int8 (n,): the acting player, or SIMULTANEOUS."""
        found: NDArray[np.int8] = self.states["to_move"]
        return found

    def reset(self, seed: int | None = None) -> None:
        """Restart all games from `seed`; None continues with each game's next episode."""
        key = self._key if seed is None else new_key(seed)
        with self._in_use:
            numbers = self._episodes if seed is None else np.zeros(self.n, np.uint64)
            self._placed = self._placed if seed is None else 0
            self._begin(self._rows, key, numbers, reward=0)

    def reset_rows(self, rows: Any) -> None:
        """Start the next episode of some games: `rows` as for `step`."""
        with self._in_use:
            self._begin(check_rows(rows, self._rows, once=True))

    def reset_each(self, seeds: Sequence[int | None]) -> None:
        """Restart each game with its own seed; it then continues like game 0 of a batch with that seed.

        `seeds` has an entry per game; an entry None starts the game's next episode. Raises TypeError or ValueError for
        an invalid seed, before any game changes.
        """
        keys, goes_on = keys_of(self._key, seeds), np.array([seed is None for seed in seeds])
        with self._in_use:
            self._placed = self._placed if goes_on.any() else 0
            self._begin(self._rows, keys, np.where(goes_on, self._episodes, np.uint64(0)), reward=0)

    def step(self, actions: Any, rows: Any = None, *, check: bool = True) -> None:
        """Play one step in all games, or only in some.

        With `auto_reset`, a step of all games restarts the games that are over. After a step of some `rows`, finished
        games wait for the next step of all games or for `reset_rows`.

        Args:
            actions: int (k,), the actions of the players to move; or int (k, players). Entries of players who do not
                act and of finished games are ignored; they may be -1.
            rows: game numbers, int (k,), each at most once; or bool (n,), or a slice. None selects all games.
            check: False skips the legality check, which saves time. An illegal action then leaves the game unchanged,
                provided that its kernel `step` keeps the contract of `core.loops.Kernels`.

        Raises:
            TypeError, ValueError: entries that are no whole numbers, a wrong shape, or an action or game that does not
                exist.
            IllegalAction: an action is not legal now; a ValueError that names the first such game.

        After an error no game has changed.
        """
        with self._in_use:
            rows = self._rows if rows is None else check_rows(rows, self._rows, once=check)
            joint = self._check_actions(rows, actions)
            if check:
                self._check_legal(rows, joint)
            self._play(rows, joint)

    def branch(self, source: "Batch", rows: Any, actions: Any) -> None:
        """Replace all games with copies of games of another Batch, then play one step in them.

        Args:
            source: a Batch of the same game and options.
            rows: int (n,), the game of `source` that each game becomes.
            actions: as for `step`.

        Raises ValueError if `source` plays another game, and the errors of `step`. If `actions` are refused, the games
        are the copies, and no step was played.
        """
        if not isinstance(source, Batch) or source.game != self.game:
            raise ValueError(f"source must be a Batch of {self.game!r}, not {source!r}")
        rows = check_rows(rows, source._rows)
        if len(rows) != self.n:
            raise ValueError(f"rows must have shape {(self.n,)}, not {(len(rows),)}")
        with self._in_use:
            self._states[:] = source._states.take(rows)
            self.done[:] = self._states["done"]
            self._forget(self._rows)
            self.step(actions)

    def set_states(self, states: NDArray[Any], *, episode_seeds: NDArray[np.uint64] | None = None) -> None:
        """Replace all positions, and set `done` and `rewards` to match; rewards are 0 in unfinished games.

        A position that was parsed from text has no generator. It gets a generator from the seed of the game's episode,
        a different one at each call.

        Args:
            states: structured (n,).
            episode_seeds: uint64 (n,), the seeds of the positions' episodes; None keeps the games' own seeds.

        Raises TypeError or ValueError for a wrong number of states, for an invalid position, see `Game.check_states`,
        and for invalid seeds, before any game changes.
        """
        checked = self.game.check_states(states)
        if len(checked) != self.n:
            raise ValueError(f"states must have shape {(self.n,)}, not {checked.shape}")
        checked, placed = checked.copy(), self._placed + 1
        seeds = self._episode_seeds if episode_seeds is None else np.array(episode_seeds)
        if seeds.dtype != np.uint64 or seeds.shape != (self.n,):
            raise ValueError(f"episode_seeds must be uint64 of shape {(self.n,)}, not {seeds.dtype} of {seeds.shape}")
        without = np.flatnonzero(checked["rng"] == 0)
        if self.game.chance == "play" and len(without):
            drawn = np.empty(len(without), np.uint64)
            derive_rows(seeds[without], int(Purpose.GAME), placed, drawn)
            checked["rng"][without] = drawn

        with self._in_use:
            self._placed = placed
            self._states[:], self._episode_seeds[:] = checked, seeds
            self.rewards[:], self.done[:] = checked["rewards"] * checked["done"][:, None], checked["done"]
            self._forget(self._rows)

    def acting(self, player: int) -> NDArray[np.bool_]:
        """Return bool (n,): the games in which `player` acts now."""
        if player is None:
            raise TypeError("player must be a whole number, not None")
        acts = self.to_move == self._players(player)
        if self.game.simultaneous:
            acts |= (self.to_move == SIMULTANEOUS) & self.masks(player).any(axis=1)
        return acts & ~self.states["done"]

    def masks(
        self, player: int | NDArray[np.integer] | None = None, out: NDArray[np.bool_] | None = None
    ) -> NDArray[np.bool_]:
        """Return the legal actions of `player`, bool (n, num_actions); `player` is int, int (n,) or None (to move).

        With `out`, fill and return that array, which must be contiguous.
        """
        with self._in_use:
            out = self._room(out, self.game.num_actions, np.bool_)
            self.game.loops.mask_rows(self.states, self._players(player), out)
        return out

    def observations(
        self, player: int | NDArray[np.integer] | None = None, out: NDArray[np.int8] | None = None
    ) -> NDArray[np.int8]:
        """Return the observations of `player`, int8 (n, observation size); `player` and `out` as in `masks`.

        With `history`, they include the player's last decisions: int8 (n, game.encoded_size(history)).
        """
        with self._in_use:
            players, known = self._players(player), self._known
            if known is None or not known.history:
                out = self._room(out, self.game.observation_size, np.int8)
                self.game.loops.observe_rows(self.states, players, out)
                return out
            out = self._room(out, self.game.encoded_size(known.history), np.int8)
            seen = np.empty((self.n, self.game.observation_size), np.int8)
            self.game.loops.observe_rows(self.states, players, seen)
            out[:] = known.encoded(self._rows, players, seen)
        return out

    def info_state_keys(self, player: int | NDArray[np.integer] | None = None) -> NDArray[np.uint64]:
        """Return the keys of the information states of `player` with perfect recall, uint64 (n, 2).

        `player` is as in `masks`. Two games have the same key if and only if the player has observed and done the same
        at every ply. In a finished game, the key is that of the position before the last ply.

        Raises ValueError if the Batch was made without `recall=True`.
        """
        with self._in_use:
            if self._known is None or self._known.digests is None:
                raise ValueError("what players know is kept with Batch(..., recall=True)")
            return self._known.digests[self._rows, self._players(player)]

    def position(self, i: int) -> "Position":
        """Return game `i` for display, as text or as a picture in notebooks. Raises IndexError if there is none."""
        if not -self.n <= i < self.n:
            raise IndexError(f"game {i} does not exist: there are {self.n}, numbered from 0")
        return Position(self.game, self.states[i].copy())

    def view(self, player: int | NDArray[np.integer] | None = None, rows: Any = None) -> View:
        """Return the `View` of `player` (as in `masks`) for an agent: of all games, or of `rows` (as in `step`).

        If you play an agent with such views, also call its `observe` and `episodes_over`; see `ttt_envs.agents.Agent`.
        For whole games, `evaluation.play_games` does all of this.
        """
        with self._in_use:
            if self._numbers is None:
                self._numbers = np.zeros((self.n, self.game.num_players), np.int64)
                self._number(self._rows)
            if rows is None:
                players, seeds = self._players(player), self.episode_seeds
                known = {} if self._known is None else self._known.of(self._rows, players)
                episodes = self._numbers.take(self._rows * self.game.num_players + players)
                return View.unchecked(self.game, self.states, players, seeds, episodes=episodes, **known)
            rows = check_rows(rows, self._rows)
            players = self._players(player, rows)[rows]
            known = {} if self._known is None else self._known.of(rows, players)
            episodes, seeds = self._numbers[rows, players], self.episode_seeds[rows]
            return View.unchecked(
                self.game, self.states.take(rows), players, seeds, episodes=episodes, copy=False, **known
            )

    def _number(self, rows: np.ndarray) -> None:
        if self._numbers is not None:
            drawn = np.frombuffer(os.urandom(8 * len(rows) * self.game.num_players), np.uint64)
            self._numbers[rows] = (drawn >> np.uint64(11)).reshape(-1, self.game.num_players)

    # --- what the kernels do ---

    def _begin(
        self,
        rows: np.ndarray,
        key: np.ndarray | None = None,
        numbers: np.ndarray | None = None,
        *,
        done: bool = False,
        reward: float | None = None,
    ) -> None:
        """Start the next episodes of the games `rows`, int64 (k,), or the episodes with `numbers`, uint64 (k,)."""
        key = self._key if key is None else key
        numbers = self._episodes[rows] if numbers is None else numbers
        seeds = episode_seeds(key, rows.astype(np.uint64), numbers)
        self._key = key.copy()
        self._episodes[rows], self._episode_seeds[rows], self.done[rows] = numbers + np.uint64(1), seeds, done
        if reward is not None:
            self.rewards[rows] = reward
        self.game.loops.reset_rows(self.states, rows, self.game.prototype, seeds)
        self._number(rows)
        self._forget(rows)

    def _play(self, rows: np.ndarray, joint: np.ndarray) -> None:
        noted = self._noted(rows, joint)
        self.game.loops.play_rows(self._states, self.rewards, self.done, rows, joint)
        if noted is not None:
            self._learn(noted)
        if self.auto_reset and rows is self._rows:
            ended = self.done.nonzero()[0]  # `flatnonzero` takes several times as long for one game
            if len(ended):
                self._begin(ended, done=True)

    def _forget(self, rows: np.ndarray) -> None:
        """Reset the players' information in these games: it begins with the present positions."""
        if self._known is not None:
            self._known.begin(rows)
            rows = rows[~self._states["done"][rows]]
            self._known.show(rows, self._states[rows])

    def _noted(self, rows: np.ndarray, joint: np.ndarray) -> _Noted | None:
        """Return the players' information after a step in the unfinished games among `rows`."""
        if self._known is None:
            return None
        going = np.flatnonzero(~self._states["done"][rows])
        rows, states = rows[going], self._states[rows[going]]
        return rows, states["ply"], *self._known.after(rows, states, own_actions(self.game, states, joint[going]))

    def _learn(self, noted: _Noted) -> None:
        """Store the players' information and show them the new positions; games whose ply is unchanged are skipped."""
        assert self._known is not None
        rows, plies, digests, past = noted
        moved = self._states["ply"][rows] != plies
        rows = rows[moved]
        self._known.put(rows, None if digests is None else digests[moved], past[moved])
        rows = rows[~self._states["done"][rows]]
        self._known.show(rows, self._states[rows])

    # --- checks ---

    def _check_actions(self, rows: np.ndarray, actions: Any) -> np.ndarray:
        """Return `actions` for `rows` as int64 (k, players), or (k, 1) for the movers; legality is not checked."""
        array = np.asarray(actions)
        wanted = (len(rows),) if array.ndim != 2 else (len(rows), self.game.num_players)
        if array.dtype.kind != "i" or array.shape != wanted:
            # Convert unusual arguments, which takes longer. Unsigned numbers must be checked before they become signed.
            array = check_actions(array, wanted, self.game.num_actions)
        joint = np.ascontiguousarray(array, np.int64)
        return joint if joint.ndim == 2 else joint[:, None]

    def _check_legal(self, rows: np.ndarray, joint: np.ndarray) -> None:
        """Raise the error for the first game of `rows` in which `joint`, from `_check_actions`, is illegal."""
        mask = np.empty(self.game.num_actions, np.bool_)
        wrong = int(self.game.loops.find_illegal(self.states, rows, joint, mask))
        if wrong >= 0:
            check_actions(joint, joint.shape, self.game.num_actions)
            raise refusal(self.game, self.states, wrong, joint[np.flatnonzero(rows == wrong)[0]], len(rows))

    def _room(self, out: np.ndarray | None, columns: int, dtype: Any) -> np.ndarray:
        """Return `out`, or a new array for None; raise TypeError or ValueError if `out` does not fit the arguments."""
        shape = (self.n, columns)
        if out is None:
            return np.empty(shape, dtype)
        if type(out) is not np.ndarray:  # a row of an np.matrix is a matrix again
            raise TypeError(f"out must be an array, not {type(out).__name__}")
        if out.dtype != dtype:
            raise TypeError(f"out must have dtype {np.dtype(dtype)}, not {out.dtype}")
        if out.shape != shape:
            raise ValueError(f"out must have shape {shape}, not {out.shape}")
        if not (out.flags.c_contiguous and out.flags.writeable):
            raise ValueError("out must be contiguous and writeable")
        if np.may_share_memory(out, self.states):
            raise ValueError("out must not share memory with the states")
        return out

    def _players(self, player: int | np.ndarray | None, rows: np.ndarray | None = None) -> np.ndarray:
        if player is None:
            movers = self.to_move.astype(np.int64)
            if not self.game.simultaneous:
                return movers
            at_once = (movers == SIMULTANEOUS) & ~self.states["done"]
            if (at_once if rows is None else at_once[rows]).any():
                raise ValueError("several players act at once: say whose part is wanted, by a player's number")
            return np.maximum(movers, 0)
        return check_players(player, self.n, self.game.num_players)

    def __getstate__(self) -> dict[str, Any]:
        with self._in_use:  # no copy in the middle of a step
            return {name: value for name, value in self.__dict__.items() if name != "_in_use"}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state, _in_use=threading.RLock())


def keys_of(key: np.ndarray, seeds: Sequence[int | None]) -> np.ndarray:
    """Return the keys of games with individual seeds, uint64 (n, 3), for `episode_seeds`.

    A game with a seed equals game 0 of a batch of size one with that seed; a game with None keeps its part of `key`.
    """
    keys = np.empty((len(seeds), 3), np.uint64)
    keys[:, : key.shape[-1]] = key
    if key.ndim == 1:
        keys[:, 2] = np.arange(len(seeds))
    for i, seed in enumerate(seeds):
        if seed is not None:
            keys[i] = (*new_key(seed), 0)
    return keys
