"""DeviceBatch: many games of one kind on a GPU, stepped at once; what `Batch(..., device="cuda")` makes."""

import operator
import warnings
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ttt_envs.core.checks import IllegalAction
from ttt_envs.cuda.arrays import columns, from_others, on_device, put, room, seat
from ttt_envs.cuda.kernels import BLOCK, BRANCH, LOOK, PLAY, SIMULATED, Origin, Restart, Told, cuda, kernel_for
from ttt_envs.storage.extras import require


class DeviceBatch:
    """`n` games of `game` whose arrays lie on a GPU. The same seed gives the same games as in a `Batch`.

    Arrays on the GPU have `__cuda_array_interface__` and DLPack, so that torch, JAX and CuPy use them without a copy;
    `np.asarray` copies them to the host. Each is filled anew by every step, in place. Calls are queued on `stream` and
    do not wait for the GPU, apart from those that are said to.

    Attributes:
        game: the game.
        n: number of games.
        auto_reset: whether a game that ends starts anew within the same step.
        rewards: float32 (n, players), what the last step paid each player.
        done: bool (n,), games that have ended; with `auto_reset`, games that the last step ended.
        to_move: int8 (n,), the acting player, or SIMULTANEOUS.
        illegal: bool (n,), games in which an action was not legal, or that were to become a game that does not exist,
            since all games were last reset or replaced. Such a game stays as it is. See `check`.
        episode_seeds: uint64 (n,), the seed of each game's episode.
    """

    def __init__(self, host: Any) -> None:
        """Take over the games of a `Batch` that nobody else uses; waits for the GPU.

        Raises ImportError without the extra `cuda`, RuntimeError without a GPU of NVIDIA; ValueError for a Batch with
        `history` or `recall`, which are kept on the CPU alone.
        """
        if not SIMULATED:
            require("cuda", "numba_cuda")
            if not cuda.is_available():
                raise RuntimeError(
                    "no GPU of NVIDIA can be used: the command nvidia-smi shows whether a GPU and its driver are "
                    "there; with device='cpu' games are played without one"
                )
        if host._known is not None:
            raise ValueError("history and recall are for device='cpu' alone")
        self._host = host  # starts and takes in positions, so that all checks and seeds are those of a Batch
        self.game, self.n, self.auto_reset = host.game, host.n, host.auto_reset
        game, n = host.game, host.n
        players = range(game.num_players) if game.simultaneous else (0,)
        self._told = Told(
            words=on_device(_words_of(host.states)),
            observations=room((n, len(players), game.observation_size), np.int8),
            masks=room((n, len(players), game.num_actions), np.bool_),
            rewards=on_device(host.rewards),
            done=on_device(host.done),
            to_move=on_device(host.to_move),
            illegal=on_device(np.zeros(n, np.bool_)),
        )
        self._anew = Restart(
            key=on_device(host._key),
            prototype=on_device(_words_of(game.prototype)),
            episodes=on_device(host._episodes),
            seeds=on_device(host.episode_seeds),
        )
        self.rewards, self.done, self.to_move, self.illegal = self._told[3:]
        self.episode_seeds = self._anew.seeds
        self._seen = [(seat(self._told.observations, each), seat(self._told.masks, each)) for each in players]
        self._no_rows, self._no_actions = room((1,), np.int64), room((1, 1), np.int64)
        self._kernel = kernel_for(game.kernels, game.prototype.dtype, game.num_players)
        self.stream = 0
        self._launch(LOOK, self._told.words, None, None)

    def __len__(self) -> int:
        return self.n

    def __repr__(self) -> str:
        return f"Batch({self.game!r}, {self.n}, auto_reset={self.auto_reset}, device='cuda')"

    @property
    def stream(self) -> int:
        """The handle of the CUDA stream that calls are queued on; 0, the default stream, unless set.

        To capture steps in a CUDA graph of torch, set it to `torch.cuda.current_stream().cuda_stream` within.
        """
        return self._stream

    @stream.setter
    def stream(self, handle: int) -> None:
        self._stream = handle
        threads = min(self.n, BLOCK)  # the simulator starts each, also those without a game
        shape = -(-self.n // threads), threads
        with warnings.catch_warnings():  # Numba warns of numbers of games that do not fill a GPU
            warnings.simplefilter("ignore")
            self._launcher = self._kernel[(*shape, cuda.external_stream(handle)) if handle else shape]

    def observations(self, player: int | None = None) -> Any:
        """int8 (n, observation size) on the GPU: what the player to move sees; in simultaneous games, `player`."""
        return self._seen[self._viewer(player)][0]

    def masks(self, player: int | None = None) -> Any:
        """bool (n, num_actions) on the GPU: legal actions of the player to move; in simultaneous games, of `player`."""
        return self._seen[self._viewer(player)][1]

    def step(self, actions: Any) -> None:
        """Play in all games.

        Args:
            actions: int32 or int64 on the GPU, (n,) for the player to move, or (n, players). Entries of players who do
                not act and of finished games are ignored.

        Raises TypeError or ValueError for another type, dtype or shape. That an action is not legal cannot be raised
        without waiting: the game stays as it is, and `illegal` says so.
        """
        self._launch(PLAY, self._told.words, None, self._acts(actions))

    def branch(self, source: "DeviceBatch", rows: Any, actions: Any) -> None:
        """Put copies of games of another batch into the place of all, and play in them.

        Args:
            source: a batch of the same game and options on the GPU.
            rows: int64 (n,) on the GPU, the number of the game in `source` that each becomes.
            actions: as for `step`.
        """
        if not isinstance(source, DeviceBatch) or source.game != self.game:
            raise ValueError(f"source must be a batch of {self.game!r} on the GPU, not {source!r}")
        rows = from_others(rows)
        if rows.shape != (self.n,) or rows.dtype != np.int64:
            raise ValueError(f"rows must be int64 of shape {(self.n,)}, not {rows.dtype} of {rows.shape}")
        self._launch(BRANCH, source._told.words, rows, self._acts(actions))

    def reset(self, seed: int | None = None) -> None:
        """Start all games anew, from `seed`; None continues with each game's next episode. Waits for the GPU."""
        self._host._episodes[:] = np.asarray(self._anew.episodes)
        self._host.reset(seed)
        self._send()

    def get_states(self) -> NDArray[Any]:
        """Structured (n,): a copy of the games on the host. Waits for the GPU."""
        words = np.ascontiguousarray(np.asarray(self._told.words))
        return words.view(self.game.prototype.dtype)[:, 0]

    def set_states(self, states: NDArray[Any], *, episode_seeds: NDArray[np.uint64] | None = None) -> None:
        """Put positions into the place of all games, as `Batch.set_states`; waits for the GPU."""
        seeds = np.asarray(self.episode_seeds) if episode_seeds is None else episode_seeds
        self._host._episodes[:] = np.asarray(self._anew.episodes)
        self._host.set_states(states, episode_seeds=seeds)
        self._send()

    def check(self) -> None:
        """Raise IllegalAction if an action was not legal, see `illegal`. Waits for the GPU."""
        wrong = np.flatnonzero(np.asarray(self.illegal))
        if len(wrong):
            raise IllegalAction(
                f"game {wrong[0]} was given an action that is not legal, and stayed as it was, as did {len(wrong)} of "
                f"{self.n} games; masks() has the legal actions"
            )

    def _send(self) -> None:
        """Copy the games of the host to the GPU."""
        host, anew = self._host, self._anew
        put(self._told.words, _words_of(host.states))
        for array, values in (
            (anew.key, host._key), (anew.episodes, host._episodes), (anew.seeds, host.episode_seeds),
            (self.rewards, host.rewards), (self.done, host.done), (self.illegal, np.zeros(self.n, np.bool_)),
        ):  # fmt: skip
            put(array, values)
        self._launch(LOOK, self._told.words, None, None)

    def _launch(self, what: int, words: Any, rows: Any, actions: Any) -> None:
        rows = self._no_rows if rows is None else rows
        actions = self._no_actions if actions is None else actions
        self._launcher(what, self.auto_reset, Origin(words, rows, actions), self._anew, self._told)

    def _acts(self, actions: Any) -> Any:
        array = from_others(actions)
        shapes = (
            [(self.n, self.game.num_players)]
            if self.game.simultaneous
            else [(self.n,), (self.n, self.game.num_players)]
        )
        if array.dtype not in (np.int32, np.int64):
            raise TypeError(f"actions must be int32 or int64, not {array.dtype}")
        if array.shape not in shapes:
            raise ValueError(f"actions must have shape {' or '.join(map(str, shapes))}, not {array.shape}")
        return columns(array)

    def _viewer(self, player: int | None) -> int:
        if not self.game.simultaneous:
            if player is not None:
                raise ValueError("on the GPU the player to move is shown alone: leave `player` out")
            return 0
        if player is None:
            raise ValueError("several players act at once: say whose part is wanted, by a player's number")
        if not 0 <= (player := operator.index(player)) < self.game.num_players:
            raise ValueError(f"player must be from 0 to {self.game.num_players - 1}, not {player}")
        return player


def _words_of(states: np.ndarray) -> np.ndarray:
    """uint64 (n, words of a state)."""
    return states.view(np.uint64).reshape(len(states), -1)
