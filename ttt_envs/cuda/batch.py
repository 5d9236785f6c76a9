"""DeviceBatch: many games on a GPU, stepped at once; `Batch(..., device="cuda")` makes one."""

import operator
import warnings
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ttt_envs.core.checks import IllegalAction
from ttt_envs.cuda.arrays import columns, from_others, on_device, put, room, seat
from ttt_envs.cuda.kernels import BLOCK, BRANCH, LOOK, PLAY, SIMULATED, Inputs, Outputs, Restart, cuda, kernel_for
from ttt_envs.storage.extras import require


class DeviceBatch:
    """`n` games of `game` with all arrays on a GPU. The same seed gives the same games as in a `Batch`.

    Arrays on the GPU support `__cuda_array_interface__` and DLPack, so torch, JAX and CuPy use them without a copy;
    `np.asarray` copies them to the host. Every step overwrites these arrays in place. Calls are queued on `stream` and
    return before the GPU has finished, unless their docstring says that they wait.

    Attributes:
        game: the game.
        n: number of games.
        auto_reset: whether a game that ends restarts within the same step.
        rewards: float32 (n, players), what the last step paid each player.
        done: bool (n,), games that have ended; with `auto_reset`, games that the last step ended.
        to_move: int8 (n,), the acting player, or SIMULTANEOUS.
        illegal: bool (n,), games that, since the last `reset` or `set_states`, got an illegal action or in `branch` the
            index of a game that does not exist. Such a step leaves the game unchanged. See `check`.
        episode_seeds: uint64 (n,), the seed of each game's episode.
    """

    def __init__(self, host: Any) -> None:
        """Take over the games of a `Batch`, which must not be used elsewhere; waits for the GPU.

        Raises ImportError without the extra `cuda`, RuntimeError without an NVIDIA GPU, and ValueError for a Batch with
        `history` or `recall`, which only the CPU supports.
        """
        if not SIMULATED:
            require("cuda", "numba_cuda")
            if not cuda.is_available():
                raise RuntimeError(
                    "no NVIDIA GPU is available: run nvidia-smi to check the GPU and its driver, or use device='cpu'"
                )
        if host._known is not None:
            raise ValueError("history and recall need device='cpu'")
        self._host = host  # resets and checks positions, so that seeds and errors are those of a Batch
        self.game, self.n, self.auto_reset = host.game, host.n, host.auto_reset
        game, n = host.game, host.n
        players = range(game.num_players) if game.simultaneous else (0,)
        self._outputs = Outputs(
            words=on_device(_words_of(host.states)),
            observations=room((n, len(players), game.observation_size), np.int8),
            masks=room((n, len(players), game.num_actions), np.bool_),
            rewards=on_device(host.rewards),
            done=on_device(host.done),
            to_move=on_device(host.to_move),
            illegal=on_device(np.zeros(n, np.bool_)),
        )
        self._restart = Restart(
            key=on_device(host._key),
            prototype=on_device(_words_of(game.prototype)),
            episodes=on_device(host._episodes),
            seeds=on_device(host.episode_seeds),
        )
        self.rewards, self.done, self.to_move, self.illegal = self._outputs[3:]
        self.episode_seeds = self._restart.seeds
        self._seen = [(seat(self._outputs.observations, each), seat(self._outputs.masks, each)) for each in players]
        self._no_rows, self._no_actions = room((1,), np.int64), room((1, 1), np.int64)
        self._kernel = kernel_for(game.kernels, game.prototype.dtype, game.num_players)
        self.stream = 0
        self._launch(LOOK, self._outputs.words, None, None)

    def __len__(self) -> int:
        return self.n

    def __repr__(self) -> str:
        return f"Batch({self.game!r}, {self.n}, auto_reset={self.auto_reset}, device='cuda')"

    @property
    def stream(self) -> int:
        """Handle of the CUDA stream on which calls are queued; 0, the default, is the default stream.

        To capture steps in a CUDA graph of torch, set `stream` to `torch.cuda.current_stream().cuda_stream` during the
        capture.
        """
        return self._stream

    @stream.setter
    def stream(self, handle: int) -> None:
        self._stream = handle
        threads = min(self.n, BLOCK)  # the simulator runs every thread, even those without a game
        shape = -(-self.n // threads), threads
        with warnings.catch_warnings():  # Numba warns if the games do not fill the GPU
            warnings.simplefilter("ignore")
            self._launcher = self._kernel[(*shape, cuda.external_stream(handle)) if handle else shape]

    def observations(self, player: int | None = None) -> Any:
        """Return observations of the mover, or of `player` if simultaneous: int8 (n, observation size) on the GPU."""
        return self._seen[self._viewer(player)][0]

    def masks(self, player: int | None = None) -> Any:
        """Return legal actions on the GPU, bool (n, num_actions): the mover's, or `player`'s if simultaneous."""
        return self._seen[self._viewer(player)][1]

    def step(self, actions: Any) -> None:
        """Play in all games.

        Args:
            actions: int32 or int64 on the GPU, (n,) for the player to move, or (n, players). Entries of players who do
                not act and of finished games are ignored.

        Raises TypeError or ValueError for another type, dtype or shape. An illegal action does not raise, because that
        would require waiting for the GPU. It leaves the game unchanged and sets `illegal`.
        """
        self._launch(PLAY, self._outputs.words, None, self._acts(actions))

    def branch(self, source: "DeviceBatch", rows: Any, actions: Any) -> None:
        """Replace all games by copies of games of another batch, and step the copies.

        Args:
            source: a batch of the same game and options on the GPU.
            rows: int64 (n,) on the GPU, the index in `source` of each copied game.
            actions: as for `step`.
        """
        if not isinstance(source, DeviceBatch) or source.game != self.game:
            raise ValueError(f"source must be a batch of {self.game!r} on the GPU, not {source!r}")
        rows = from_others(rows)
        if rows.shape != (self.n,) or rows.dtype != np.int64:
            raise ValueError(f"rows must be int64 of shape {(self.n,)}, not {rows.dtype} of {rows.shape}")
        self._launch(BRANCH, source._outputs.words, rows, self._acts(actions))

    def reset(self, seed: int | None = None) -> None:
        """Restart all games from `seed`; None continues with each game's next episode. Waits for the GPU."""
        self._host._episodes[:] = np.asarray(self._restart.episodes)
        self._host.reset(seed)
        self._send()

    def get_states(self) -> NDArray[Any]:
        """Return a copy of the states on the host: structured (n,). Waits for the GPU."""
        words = np.ascontiguousarray(np.asarray(self._outputs.words))
        return words.view(self.game.prototype.dtype)[:, 0]

    def set_states(self, states: NDArray[Any], *, episode_seeds: NDArray[np.uint64] | None = None) -> None:
        """Replace all positions, as `Batch.set_states` does; waits for the GPU."""
        seeds = np.asarray(self.episode_seeds) if episode_seeds is None else episode_seeds
        self._host._episodes[:] = np.asarray(self._restart.episodes)
        self._host.set_states(states, episode_seeds=seeds)
        self._send()

    def check(self) -> None:
        """Raise IllegalAction if `illegal` is True for any game. Waits for the GPU."""
        wrong = np.flatnonzero(np.asarray(self.illegal))
        if len(wrong):
            raise IllegalAction(
                f"game {wrong[0]} got an illegal action and was left unchanged, as were {len(wrong)} of {self.n} "
                "games; masks() has the legal actions"
            )

    def _send(self) -> None:
        host, restart = self._host, self._restart
        put(self._outputs.words, _words_of(host.states))
        for array, values in (
            (restart.key, host._key), (restart.episodes, host._episodes), (restart.seeds, host.episode_seeds),
            (self.rewards, host.rewards), (self.done, host.done), (self.illegal, np.zeros(self.n, np.bool_)),
        ):  # fmt: skip
            put(array, values)
        self._launch(LOOK, self._outputs.words, None, None)

    def _launch(self, what: int, words: Any, rows: Any, actions: Any) -> None:
        rows = self._no_rows if rows is None else rows
        actions = self._no_actions if actions is None else actions
        self._launcher(what, self.auto_reset, Inputs(words, rows, actions), self._restart, self._outputs)

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
                raise ValueError("on the GPU only the player to move is observed: leave `player` out")
            return 0
        if player is None:
            raise ValueError("several players act at once: say whose part is wanted, by a player's number")
        if not 0 <= (player := operator.index(player)) < self.game.num_players:
            raise ValueError(f"player must be from 0 to {self.game.num_players - 1}, not {player}")
        return player


def _words_of(states: np.ndarray) -> np.ndarray:
    return states.view(np.uint64).reshape(len(states), -1)
