"""The kernel that plays games on a GPU: one thread per game, which calls the same functions as a `Batch`.

A thread copies its game to local memory, plays, writes observations and masks, and copies the game back. States are
stored as 8-byte words. In all arrays the index of the game varies fastest, so neighbouring threads access neighbouring
addresses.
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
    # Import by name, so that mypy does not check against Numba's own module, which numba-cuda replaces.
    cuda: Any = import_module("numba.cuda")
except ModuleNotFoundError:  # a Numba without CUDA
    require("cuda", "numba_cuda")
    raise

#: Whether Numba simulates the GPU: NUMBA_ENABLE_CUDASIM=1.
SIMULATED = bool(numba.config.ENABLE_CUDASIM)  # type: ignore[attr-defined]

#: Threads in a block.
BLOCK = 128

#: What a launch does before it writes observations: nothing (LOOK), a step (PLAY), or copies of other games and then a
#: step (BRANCH).
LOOK, PLAY, BRANCH = range(3)

_GAME = int(Purpose.GAME)


class Inputs(NamedTuple):
    """The input of a step.

    Attributes:
        words: uint64 (games, words of a state), the states.
        rows: int64 (n,), for BRANCH: the index in `words` of the game to copy.
        actions: int32 or int64, (n, players), or (n, 1) for the player to move.
    """

    words: Any
    rows: Any
    actions: Any


class Restart(NamedTuple):
    """The input of a reset, see `Batch`.

    Attributes:
        key: uint64 (2,), the key of the run.
        prototype: uint64 (1, words of a state), the record before `reset`.
        episodes: uint64 (n,), the number of each game's next episode.
        seeds: uint64 (n,), the seed of each game's episode.
    """

    key: Any
    prototype: Any
    episodes: Any
    seeds: Any


class Outputs(NamedTuple):
    """The output of a step. `viewers` is the number of players in simultaneous games, otherwise 1: the player to move.

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
    """Return one game's kernel. Its arguments are: LOOK, PLAY or BRANCH; auto_reset; Inputs; Restart; Outputs.

    The first launch compiles it, which takes seconds.
    """
    bound = kernels_of(kernels)
    reset, step, look = bound["reset"], bound["step"], bound["look"]
    size = record.itemsize // 8

    def play(what, again, inputs, restart, outputs):
        i = cuda.grid(1)
        if i >= outputs.done.shape[0]:
            return
        words = cuda.local.array(size, np.uint64)
        state = words.view(record)[0]
        row = inputs.rows[i] if what == BRANCH else i
        if not 0 <= row < inputs.words.shape[0]:
            row, outputs.illegal[i] = 0, True
        for word in range(size):
            words[word] = inputs.words[row, word]
        if what != LOOK:
            before = cuda.local.array(players, np.float32)
            joint = cuda.local.array(players, np.int64)
            for player in range(players):
                before[player] = state["rewards"][player]
            if not state["done"]:
                for player in range(players):  # entries of those who do not act are ignored
                    joint[player] = inputs.actions[i, min(player, inputs.actions.shape[1] - 1)]
                ply = state["ply"]
                step(state, joint)
                outputs.illegal[i] |= state["ply"] == ply
            for player in range(players):
                outputs.rewards[i, player] = state["rewards"][player] - before[player]
            outputs.done[i] = state["done"]
            if again and state["done"]:
                for word in range(size):
                    words[word] = restart.prototype[0, word]
                restart.seeds[i] = siphash(restart.key[0], restart.key[1], np.uint64(i), restart.episodes[i])
                restart.episodes[i] += np.uint64(1)
                reset(state, derive(restart.seeds[i], _GAME, 0))
        outputs.to_move[i] = state["to_move"]
        if outputs.masks.shape[1] == 1:
            look(state, max(np.int64(state["to_move"]), 0), outputs.masks[i, 0], outputs.observations[i, 0])
        else:
            for player in range(players):
                look(state, player, outputs.masks[i, player], outputs.observations[i, player])
        for word in range(size):
            outputs.words[i, word] = words[word]

    return cuda.jit(play)
