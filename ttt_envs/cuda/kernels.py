"""The kernel that plays games on a GPU: one thread per game, around the same functions that a `Batch` calls.

A thread copies its game to its own memory, plays, looks, and copies it back. States lie in words of 8 bytes, and in all
arrays the index of the games runs fastest, so that neighbouring threads read and write neighbouring addresses.
"""

# mypy: disable-error-code="no-untyped-def"

from functools import cache
from importlib import import_module
from typing import Any, NamedTuple

import numba
import numpy as np

from ttt_envs.core.loops import Kernels, kernels_of
from ttt_envs.core.rng import Purpose, derive, siphash
from ttt_envs.storage.extras import require

try:
    # By name: numba-cuda takes its place, with other types.
    cuda: Any = import_module("numba.cuda")
except ModuleNotFoundError:  # of a Numba that has none of its own
    require("cuda", "numba_cuda")
    raise

#: Whether Numba simulates the GPU: NUMBA_ENABLE_CUDASIM=1.
SIMULATED = bool(numba.config.ENABLE_CUDASIM)  # type: ignore[attr-defined]

#: Threads in a block.
BLOCK = 128

#: What a launch does before it looks: nothing, play, or play in copies of other games.
LOOK, PLAY, BRANCH = range(3)

_GAME = int(Purpose.GAME)


class Origin(NamedTuple):
    """Where games come from.

    Attributes:
        words: uint64 (games, words of a state), the states.
        rows: int64 (n,), for BRANCH: the game in `words` that each game becomes.
        actions: int32 or int64, (n, players), or (n, 1) for the player to move.
    """

    words: Any
    rows: Any
    actions: Any


class Restart(NamedTuple):
    """What games start anew from, see `Batch`.

    Attributes:
        key: uint64 (2,), the key of the run.
        prototype: uint64 (1, words of a state), the record that a new game begins as.
        episodes: uint64 (n,), the number of each game's next episode.
        seeds: uint64 (n,), the seed of each game's episode.
    """

    key: Any
    prototype: Any
    episodes: Any
    seeds: Any


class Told(NamedTuple):
    """What a step tells. `viewers` is 1, the player to move, or in simultaneous games the number of players.

    Attributes:
        words: uint64 (n, words of a state), the states.
        observations: int8 (n, viewers, observation size).
        masks: bool (n, viewers, num_actions).
        rewards: float32 (n, players).
        done: bool (n,).
        to_move: int8 (n,).
        illegal: bool (n,).
    """

    words: Any
    observations: Any
    masks: Any
    rewards: Any
    done: Any
    to_move: Any
    illegal: Any


@cache
def kernel_for(kernels: Kernels, record: np.dtype, players: int) -> Any:
    """The kernel of one game: (what to do, whether games that end start anew, Origin, Restart, Told).

    It is compiled when it is first launched, for seconds.
    """
    bound = kernels_of(kernels)
    reset, step, look = bound["reset"], bound["step"], bound["look"]
    size = record.itemsize // 8

    def play(what, again, origin, anew, told):
        i = cuda.grid(1)
        if i >= told.done.shape[0]:
            return
        words = cuda.local.array(size, np.uint64)
        state = words.view(record)[0]
        row = origin.rows[i] if what == BRANCH else i
        if not 0 <= row < origin.words.shape[0]:
            row, told.illegal[i] = 0, True
        for word in range(size):
            words[word] = origin.words[row, word]
        if what != LOOK:
            before = cuda.local.array(players, np.float32)
            joint = cuda.local.array(players, np.int64)
            for player in range(players):
                before[player] = state["rewards"][player]
            if not state["done"]:
                for player in range(players):  # entries of those who do not act are ignored
                    joint[player] = origin.actions[i, min(player, origin.actions.shape[1] - 1)]
                ply = state["ply"]
                step(state, joint)
                told.illegal[i] |= state["ply"] == ply
            for player in range(players):
                told.rewards[i, player] = state["rewards"][player] - before[player]
            told.done[i] = state["done"]
            if again and state["done"]:
                for word in range(size):
                    words[word] = anew.prototype[0, word]
                anew.seeds[i] = siphash(anew.key[0], anew.key[1], np.uint64(i), anew.episodes[i])
                anew.episodes[i] += np.uint64(1)
                reset(state, derive(anew.seeds[i], _GAME, 0))
        told.to_move[i] = state["to_move"]
        if told.masks.shape[1] == 1:
            look(state, max(np.int64(state["to_move"]), 0), told.masks[i, 0], told.observations[i, 0])
        else:
            for player in range(players):
                look(state, player, told.masks[i, player], told.observations[i, player])
        for word in range(size):
            told.words[i, word] = words[word]

    return cuda.jit(play)
