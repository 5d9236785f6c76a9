"""Random numbers: splitmix64, one generator in each state.

Steele, Lea and Flood, "Fast splittable pseudorandom number generators", OOPSLA 2014. A state's field `rng` holds the
generator, so that a copied state repeats its future and a game is the same for any batch size and number of threads.

A game's kernels draw by `below(state, n)` and `pick(state, mask)` only. Where the field `script` is not 0 these take
what they return from the script and leave the generator alone, so that `core.chance` can let a game's kernels meet all
that may be drawn. A script holds:

- bits 0 to 31, the tape: what is to be drawn, in a mixed radix, the first draw its lowest digit;
- bits 32 to 55, the product of the sizes of all draws so far: the outcome has one chance in that many.
"""

import secrets
from collections.abc import Callable
from enum import IntEnum
from functools import wraps
from typing import Any

import numpy as np

from ttt_envs.core import jit

GOLDEN = np.uint64(0x9E3779B97F4A7C15)
_M1 = np.uint64(0xBF58476D1CE4E5B9)
_M2 = np.uint64(0x94D049BB133111EB)
_S11, _S27, _S30, _S31, _S32 = np.uint64(11), np.uint64(27), np.uint64(30), np.uint64(31), np.uint64(32)
_ONE, _ZERO = np.uint64(1), np.uint64(0)

#: A script with an empty tape, before the first draw.
SCRIPT = np.uint64(1) << _S32

#: A script tells of no outcome with a smaller chance than one in so many.
MOST_OUTCOMES = 1 << 24

_TAPE, _LARGEST = np.uint64(2**32 - 1), np.uint64(MOST_OUTCOMES - 1)

#: A script whose outcome has a smaller chance. What follows is drawn from the generator, so that it comes to an end.
BROKEN = np.uint64(2**64 - 1)


def _wrapping(function: Callable[..., Any]) -> Callable[..., Any]:
    """Compile, or, with the JIT off, silence NumPy's warnings of the intended 64-bit overflow."""
    if not jit.DISABLED:
        return jit.kernel(function)

    @wraps(function)
    def quiet(*args: Any) -> Any:
        with np.errstate(over="ignore"):
            return function(*args)

    return quiet


@_wrapping
def mix(x):  # type: ignore[no-untyped-def]
    """Bijective scrambling of a uint64: the output function of splitmix64."""
    x = np.uint64(x)
    x = (x ^ (x >> _S30)) * _M1
    x = (x ^ (x >> _S27)) * _M2
    return x ^ (x >> _S31)


@_wrapping
def fold(seed, index):  # type: ignore[no-untyped-def]
    """The `index`-th independent uint64 seed derived from `seed`."""
    return mix(mix(seed) + GOLDEN * (np.uint64(index) + _ONE))


@_wrapping
def one_way(seed):  # type: ignore[no-untyped-def]
    """A uint64 that does not lead back to `seed`, as `mix` and `fold` would: rounds, then the seed itself once more.

    The form is that of Davies and Meyer's hash functions. It keeps what an agent is given apart from what it must not
    know; it is not meant to withstand an attack.
    """
    x = np.uint64(seed)
    for k in range(4):
        x = mix(x + GOLDEN * np.uint64(k + 1))
    return x ^ np.uint64(seed)


@_wrapping
def start(state, seed):  # type: ignore[no-untyped-def]
    """Seed the generator of a state record, in place. A script goes on."""
    if state["script"] == _ZERO:
        state["rng"] = mix(np.uint64(seed) + GOLDEN)


@_wrapping
def draw(state):  # type: ignore[no-untyped-def]
    """Next uint64 of a state's generator; not for the kernels of a game, as no script can tell what it returns."""
    state["rng"] = state["rng"] + GOLDEN
    return mix(state["rng"])


@_wrapping
def scale(x, n):  # type: ignore[no-untyped-def]
    """Map a random uint64 to 0..n-1, for n < 2**31; no value is favoured by more than n / 2**32."""
    return np.int64(((np.uint64(x) >> _S32) * np.uint64(n)) >> _S32)


@jit.kernel
def below(state, n):  # type: ignore[no-untyped-def]
    """Uniform integer in 0..n-1 from a state's generator or script."""
    if state["script"] != _ZERO:  # asked first: the other way round the generator's path is slower by a fifth
        return read_script(state, n)
    return scale(draw(state), n)


@jit.kernel
def read_script(state, n):  # type: ignore[no-untyped-def]
    """Integer in 0..n-1: the next digit of the tape."""
    if n < 2:
        return np.int64(0)
    size = np.uint64(n)
    product = (state["script"] >> _S32) * size
    if product > _LARGEST:
        state["script"] = BROKEN
        return scale(draw(state), n)
    tape = state["script"] & _TAPE
    state["script"] = product << _S32 | tape // size
    return np.int64(tape % size)


@jit.kernel
def script_chance(state):  # type: ignore[no-untyped-def]
    """The chance of what a state's script led to; 0 if some of its tape is left, -1 if it is broken."""
    if state["script"] == BROKEN:
        return -1.0
    if state["script"] & _TAPE:
        return 0.0
    return 1.0 / np.float64(state["script"] >> _S32)


@jit.kernel
def pick(state, mask):  # type: ignore[no-untyped-def]
    """Index of a uniformly chosen True entry of `mask` (bool, 1-d), by `below`; -1 if there is none."""
    return entry(mask, below(state, count(mask)))


@jit.kernel
def choose(mask, x):  # type: ignore[no-untyped-def]
    """Index of a uniformly chosen True entry of `mask` (bool, 1-d), by the random uint64 `x`; -1 if there is none."""
    return entry(mask, scale(x, count(mask)))


@jit.kernel
def count(mask):  # type: ignore[no-untyped-def]
    """Number of True entries of `mask` (bool, 1-d)."""
    found = 0
    for i in range(mask.shape[0]):
        found += mask[i]
    return found


@jit.kernel
def entry(mask, skip):  # type: ignore[no-untyped-def]
    """Index of the True entry of `mask` (bool, 1-d) after `skip` others; -1 if there is none."""
    for i in range(mask.shape[0]):
        skip -= mask[i]  # no branch on what is random
        if skip < 0:
            return i
    return -1


@jit.kernel
@jit.allocates_nothing
def choose_rows(masks, seeds, out):  # type: ignore[no-untyped-def]
    """`choose` for each row: masks bool (n, k), seeds uint64 (n,), out int64 (n,)."""
    for i in range(masks.shape[0]):
        out[i] = choose(masks[i], mix(seeds[i]))


@jit.kernel
def sample_rows(policy, seeds, out):  # type: ignore[no-untyped-def]
    """One action a row, drawn from `policy` by the row's seed; -1 where the row is all zeros.

    policy float64 (n, num_actions), whose rows need not sum to 1; seeds uint64 (n,); out int64 (n,).
    """
    for i in range(policy.shape[0]):
        total = 0.0
        for a in range(policy.shape[1]):
            total += policy[i, a]
        left = np.float64(mix(seeds[i]) >> _S11) / 9007199254740992.0 * total
        out[i] = -1
        for a in range(policy.shape[1]):
            if policy[i, a] > 0:
                out[i] = a
                left -= policy[i, a]
                if left < 0:
                    break


@jit.kernel
def fold_rows(seeds, indices, out):  # type: ignore[no-untyped-def]
    """out[i] = fold(seeds[i], indices[i]); all uint64 (n,)."""
    for i in range(seeds.shape[0]):
        out[i] = fold(seeds[i], indices[i])


class Stream(IntEnum):
    """What seeds are drawn for: each purpose has a stream of its own, so that no two draws are the same by accident.

    The first is derived from an episode's seed, the others from a decision's (`View.seeds`).
    """

    OPPONENT = 0  # which opponent a learner meets in the episode
    WORLD = 1  # the worlds that a view samples
    CHOICE = 2  # the draw of an action from a policy
    OTHERS = 3  # what other players are assumed to choose at the same time
    SEARCH = 4  # all that a search draws
    FUTURE = 5  # the futures of a look ahead


def stream_seeds(seeds: np.ndarray, stream: Stream, index: int = 0) -> np.ndarray:
    """uint64 (n,): the seeds number `index`, below 2**32, of a stream, derived from `seeds` uint64 (n,)."""
    out = np.empty(len(seeds), np.uint64)
    fold_rows(seeds, np.full(len(seeds), (stream << 32) + index, np.uint64), out)
    return out


def episode_seeds(seed: np.uint64, games: np.ndarray, episodes: np.ndarray) -> np.ndarray:
    """uint64 (k,): the seed of each episode, both numbers counted from 0.

    Args:
        seed: of the run, by `new_seed`.
        games: uint64 (k,), numbers of games in a batch; a single environment is game 0.
        episodes: uint64 (k,), numbers of episodes of each of these games.
    """
    out = np.empty(len(games), np.uint64)
    fold_rows(np.full(len(games), seed), games, out)
    fold_rows(out.copy(), episodes, out)
    return out


def new_seed(seed: int | np.integer | None) -> np.uint64:
    """A uint64 seed from a user's `seed`: a whole number from 0 to 2**64-1, or None for one from the system.

    Raises TypeError or ValueError for anything else.
    """
    if seed is None:
        return np.uint64(secrets.randbits(64))
    if isinstance(seed, bool) or not isinstance(seed, (int, np.integer)):
        raise TypeError(f"seed must be a whole number or None, not {seed!r} of type {type(seed).__name__}")
    if not 0 <= int(seed) < 2**64:
        raise ValueError(f"seed must be from 0 to 2**64-1, not {seed}")
    return np.uint64(seed)
