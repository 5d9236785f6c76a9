"""The generator of `rng`, with a script in the place of luck: what `core.chance` enumerates outcomes with.

A copy of a game's kernels finds these functions under the names of those in `rng`. A state's field `rng` then holds:

- bits 0 to 31, the tape: what is to be drawn, in a mixed radix, the first draw its lowest digit;
- bits 32 to 55, the product of the sizes of all draws so far: the outcome has one chance in that many;
- bits 56 to 63, the raw draws whose size is not known yet.
"""

import numpy as np

from ttt_envs.core.jit import kernel
from ttt_envs.core.rng import fold as fold
from ttt_envs.core.rng import mix as mix
from ttt_envs.core.rng import one_way as one_way

#: An outcome with a smaller chance than one in so many is not looked for.
MOST = 1 << 24

_S32, _S56 = np.uint64(32), np.uint64(56)
_TAPE, _PRODUCT, _RAW = np.uint64(2**32 - 1), np.uint64(MOST - 1), np.uint64(1) << _S56

#: The field `rng` before the first draw, but for the tape.
START = np.uint64(1) << _S32


@kernel
def start(state, seed):  # type: ignore[no-untyped-def]
    """The script is in the state already."""


@kernel
def below(state, n):  # type: ignore[no-untyped-def]
    """Integer in 0..n-1: the next digit of the tape. OverflowError once there were too many outcomes."""
    if n < 2:
        return np.int64(0)
    script, size = state["rng"], np.uint64(n)
    product = ((script >> _S32) & _PRODUCT) * size
    if product > _PRODUCT:
        raise OverflowError("too many outcomes")
    tape = script & _TAPE
    state["rng"] = (script >> _S56) << _S56 | product << _S32 | tape // size
    return np.int64(tape % size)


@kernel
def draw(state):  # type: ignore[no-untyped-def]
    """In the place of a random number, the state itself: `scale` and `choose` will know how many numbers are wanted.

    If a copy of it came back, or nobody asked for the number, the raw draw would stay open, which is noticed.
    """
    state["rng"] = state["rng"] + _RAW
    return state


@kernel
def scale(state, n):  # type: ignore[no-untyped-def]
    """What `draw` left open. Anything but a state is no draw, and does not compile."""
    state["rng"] = state["rng"] - _RAW
    return below(state, n)


@kernel
def choose(mask, state):  # type: ignore[no-untyped-def]
    """Index of a True entry of `mask` (bool, 1-d), by what `draw` left open; -1 if there is none."""
    count = 0
    for i in range(mask.shape[0]):
        count += mask[i]
    skip = scale(state, count)
    for i in range(mask.shape[0]):
        skip -= mask[i]
        if skip < 0:
            return i
    return -1
