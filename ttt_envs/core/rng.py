"""Random numbers: splitmix64, one generator in each state.

Steele, Lea and Flood, "Fast splittable pseudorandom number generators", OOPSLA 2014. A state's field `rng` contains the
generator. A copied state therefore repeats its future, and a game is the same for any batch size and number of threads.

SipHash derives seeds from a run's key in two steps. The key and the numbers of a game and an episode give the episode's
seed (`episode_seeds`). The episode's seed gives the seeds of the generator and of each decision (`derive`). An agent
receives only the seeds of its decisions.

A game's kernels draw only with `below(state, n)` and `pick(state, mask)`. If the field `script` is not 0, these take
their results from the script instead of the generator, so that `core.chance` can enumerate all draws. A script
contains:

- bits 0 to 31, the tape: the results of the draws in a mixed radix, the first draw as the lowest digit;
- bits 32 to 55, the product of the sizes of all draws so far, which is 1 / (probability of the outcome);
- bit 63, set if the product would have become too large: from this draw on, the generator is used.
"""

import operator
import secrets
from collections.abc import Callable
from enum import IntEnum
from functools import cache

import numpy as np

from ttt_envs.core.compile import jit
from ttt_envs.core.compile.bits import many, nth, read_set, set_size

GOLDEN = np.uint64(0x9E3779B97F4A7C15)
_M1 = np.uint64(0xBF58476D1CE4E5B9)
_M2 = np.uint64(0x94D049BB133111EB)
_S11, _S27, _S30, _S31, _S32 = np.uint64(11), np.uint64(27), np.uint64(30), np.uint64(31), np.uint64(32)
_ONE, _ZERO = np.uint64(1), np.uint64(0)

#: A script (see above) before its first draw, with no outcomes prescribed.
SCRIPT = np.uint64(1) << _S32

#: An outcome that a script enumerates has a probability of at least 1 / MOST_OUTCOMES.
MOST_OUTCOMES = 1 << 24

_TAPE, _LARGEST = np.uint64(2**32 - 1), np.uint64(MOST_OUTCOMES - 1)

#: Set in a script whose outcome would be less likely: the generator makes the remaining draws, so that the kernel ends.
BROKEN = np.uint64(1) << np.uint64(63)

# --- SipHash-2-4, a pseudo-random function with a 128-bit key ---

# J.-P. Aumasson and D. J. Bernstein, "SipHash: a fast short-input PRF", INDOCRYPT 2012; the tests use its test vectors.
# Without the key, the outputs are indistinguishable from random numbers. Messages here are two 64-bit words, read as
# little-endian bytes.
_INITIAL = np.array([0x736F6D6570736575, 0x646F72616E646F6D, 0x6C7967656E657261, 0x7465646279746573], np.uint64)
_FINAL = np.uint64(0xFF)

# The highest byte of a message's last word is the message's length, here 16 bytes.
_LENGTH = np.uint64(16 << 56)


@jit.wrapping_kernel
def rotate(x, by):  # type: ignore[no-untyped-def]
    """Return `x` uint64, rotated left by `by` bits, 1 to 63."""
    return (x << np.uint64(by)) | (x >> np.uint64(64 - by))


@jit.wrapping_kernel
def rounds(a, b, c, d, number):  # type: ignore[no-untyped-def]
    """Return SipHash's inner state (a, b, c, d), four uint64, after `number` SipRounds."""
    for _ in range(number):
        a, c = a + b, c + d
        b, d = rotate(b, 13) ^ a, rotate(d, 16) ^ c
        a = rotate(a, 32)
        c, a = c + b, a + d
        b, d = rotate(b, 17) ^ c, rotate(d, 21) ^ a
        c = rotate(c, 32)
    return a, b, c, d


@jit.wrapping_kernel
def siphash(first, second, one, two):  # type: ignore[no-untyped-def]
    """Return SipHash-2-4 of the words `one` and `two` under the key (`first`, `second`); all uint64."""
    a, b, c, d = first ^ _INITIAL[0], second ^ _INITIAL[1], first ^ _INITIAL[2], second ^ _INITIAL[3]
    for word in (one, two, _LENGTH):
        d ^= word
        a, b, c, d = rounds(a, b, c, d, 2)
        a ^= word
    c ^= _FINAL
    a, b, c, d = rounds(a, b, c, d, 4)
    return a ^ b ^ c ^ d


# --- splitmix64 ---


@jit.wrapping_kernel
def mix(x):  # type: ignore[no-untyped-def]
    """Return the bijective scrambling of a uint64: the output function of splitmix64."""
    x = np.uint64(x)
    x = (x ^ (x >> _S30)) * _M1
    x = (x ^ (x >> _S27)) * _M2
    return x ^ (x >> _S31)


@jit.wrapping_kernel
def fold(seed, index):  # type: ignore[no-untyped-def]
    """Return the `index`-th independent uint64 seed derived from `seed`."""
    return mix(mix(seed) + GOLDEN * (np.uint64(index) + _ONE))


@jit.wrapping_kernel
def start(state, seed):  # type: ignore[no-untyped-def]
    """Seed the generator of a state record, in place; do nothing if the state has a script."""
    if state["script"] == _ZERO:
        state["rng"] = mix(np.uint64(seed) + GOLDEN)


@jit.wrapping_kernel
def draw(state):  # type: ignore[no-untyped-def]
    """Return the next uint64 of a state's generator. Games must not use it, because a script cannot replace it."""
    state["rng"] = state["rng"] + GOLDEN
    return mix(state["rng"])


@jit.wrapping_kernel
def scale(x, n):  # type: ignore[no-untyped-def]
    """Map a random uint64 to 0..n-1, for n < 2**31; no value is favoured by more than n / 2**32."""
    return np.int64(((np.uint64(x) >> _S32) * np.uint64(n)) >> _S32)


@jit.kernel
def below(state, n):  # type: ignore[no-untyped-def]
    """Return a uniform integer in 0..n-1 from a state's generator or script."""
    if state["script"] != _ZERO:  # in the other order, the generator's path is slower by a fifth
        return read_script(state, n)
    return scale(draw(state), n)


@jit.kernel
def read_script(state, n):  # type: ignore[no-untyped-def]
    """Return the next digit of the tape, an integer in 0..n-1."""
    if n < 2:
        return np.int64(0)
    size = np.uint64(n)
    product = (state["script"] >> _S32) * size
    if product > _LARGEST:  # remains true for all later draws
        state["script"] |= BROKEN
        return scale(draw(state), n)
    tape = state["script"] & _TAPE
    state["script"] = product << _S32 | tape // size
    return np.int64(tape % size)


@jit.kernel
def script_product(state):  # type: ignore[no-untyped-def]
    """Return the product, float, of the sizes of all draws from a state's script; 0 if part of the tape is unused."""
    if state["script"] & _TAPE:
        return 0.0
    return np.float64((state["script"] & ~BROKEN) >> _S32)


@jit.kernel
@jit.allocates_nothing
def pick(state, mask):  # type: ignore[no-untyped-def]
    """Draw the index of a True entry of `mask` (bool, 1-d) uniformly, with `below`; return -1 if there is none."""
    return entry(mask, below(state, count(mask)))


@jit.kernel
@jit.inlined
@jit.allocates_nothing
def choose(mask, x):  # type: ignore[no-untyped-def]
    """Draw the index of a True entry of `mask` (bool, 1-d) uniformly, with `x` uint64; return -1 if there is none."""
    return entry(mask, scale(x, count(mask)))


@jit.kernel
@jit.inlined
@jit.allocates_nothing
def count(mask):  # type: ignore[no-untyped-def]
    """Return the number of True entries of `mask` (bool, 1-d)."""
    total = np.int64(0)
    if many(mask):
        for at in range(0, mask.shape[0], 64):
            total += np.int64(set_size(read_set(mask, at)))
        return total
    for i in range(mask.shape[0]):
        total += mask[i]
    return total


@jit.kernel
@jit.inlined
@jit.allocates_nothing
def entry(mask, skip):  # type: ignore[no-untyped-def]
    """Return the index of the True entry of `mask` (bool, 1-d) that `skip` others precede; -1 if there is none."""
    if many(mask):
        found, first, left = _ZERO, np.int64(0), np.int64(0)
        for at in range(0, mask.shape[0], 64):  # without branches on random values
            members = read_set(mask, at)
            found, first, left = (members, np.int64(at), skip) if skip >= 0 else (found, first, left)
            skip -= np.int64(set_size(members))
        return first + nth(found, left) if skip < 0 else np.int64(-1)
    for i in range(mask.shape[0]):
        skip -= mask[i]  # without branches on random values
        if skip < 0:
            return i
    return -1


@jit.kernel
@jit.allocates_nothing
def choose_rows(masks, seeds, out):  # type: ignore[no-untyped-def]
    """Call `choose` for each row: masks bool (n, k), seeds uint64 (n,), out int64 (n,)."""
    for i in range(masks.shape[0]):
        out[i] = choose(masks[i], mix(seeds[i]))


@jit.kernel
def sample_rows(policy, seeds, out):  # type: ignore[no-untyped-def]
    """Draw one action per row from `policy` with the row's seed; -1 if the row is all zeros.

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
    """Set out[i] to fold(seeds[i], indices[i]); all uint64 (n,)."""
    for i in range(seeds.shape[0]):
        out[i] = fold(seeds[i], indices[i])


@jit.kernel
def fold_all(seeds, index, out):  # type: ignore[no-untyped-def]
    """Set out[i] to fold(seeds[i], index); both uint64 (n,)."""
    for i in range(seeds.shape[0]):
        out[i] = fold(seeds[i], index)


def _check_uint64(name: str, array: np.ndarray, length: int | None = None) -> None:
    """Raise TypeError or ValueError unless `array` is uint64 (n,): kernels do not check lengths."""
    if not isinstance(array, np.ndarray) or array.dtype != np.uint64:
        raise TypeError(f"{name} must be an array of uint64, not {getattr(array, 'dtype', type(array).__name__)}")
    if array.ndim != 1 or (length is not None and len(array) != length):
        raise ValueError(f"{name} must have shape ({'n' if length is None else length},), not {array.shape}")


class Stream(IntEnum):
    """The kinds of draws that an agent makes from a decision's seed. Each kind has its own, independent stream."""

    WORLD = 0  # the worlds that a view samples
    CHOICE = 1  # an action drawn from a policy
    OTHERS = 2  # the assumed simultaneous choices of other players
    SEARCH = 3  # all draws of a search
    FUTURE = 4  # the futures of a lookahead
    MIXTURE = 5  # the agent, of several, that chooses


def stream_seeds(seeds: np.ndarray, stream: Stream, index: int = 0) -> np.ndarray:
    """Derive the seeds with number `index` of a stream, uint64 (n,), from `View.seeds` uint64 (n,).

    Raises TypeError or ValueError for invalid seeds or streams, and for an index outside 0 to 2**32-1.
    """
    _check_uint64("seeds", seeds)
    if not isinstance(stream, Stream):
        raise TypeError(f"stream must be a Stream, such as Stream.CHOICE, not {stream!r}")
    if not 0 <= (index := operator.index(index)) < 2**32:
        raise ValueError(f"index must be from 0 to 2**32-1, not {index}")
    out = np.empty(len(seeds), np.uint64)
    _fold_all()(seeds, (int(stream) << 32) + index, out)
    return out


@cache
def _fold_all() -> Callable[..., None]:
    words = np.zeros(4, np.uint64)[::2]  # not contiguous: the kernel then accepts arrays of any strides
    return jit.entry(fold_all, words, 0, words)


class Purpose(IntEnum):
    """The purposes of the seeds that are derived from an episode's seed, see `derive`."""

    GAME = 0  # the state's generator; numbers above 0 are for positions without one, see `Batch.set_states`
    OPPONENT = 1  # the choice of a learner's opponent
    LEARNER = 2  # the choice of a learner's first seat
    DECISION = 3  # the decisions of player 0; DECISION + p for player p, so this must be the last purpose


# Second half of the 128-bit key whose first half is an episode's seed.
_EPISODE = np.uint64(0x7474745F656E7673)
_DECISION = int(Purpose.DECISION)


@jit.wrapping_kernel
def derive(episode, purpose, number):  # type: ignore[no-untyped-def]
    """Derive a uint64 from an episode's seed for one purpose, with SipHash keyed by the seed.

    An output reveals neither the seed nor other outputs, such as other players' random choices, dice and cards.
    """
    return siphash(np.uint64(episode), _EPISODE, np.uint64(purpose), np.uint64(number))


@jit.kernel
def derive_rows(episodes, purpose, number, out):  # type: ignore[no-untyped-def]
    """Set out[i] to derive(episodes[i], purpose, number); both uint64 (n,)."""
    for i in range(episodes.shape[0]):
        out[i] = derive(episodes[i], purpose, number)


@jit.kernel
def episode_rows(key, games, episodes, out):  # type: ignore[no-untyped-def]
    """Write the seed of each episode to `out`; for the arguments see `episode_seeds`."""
    for i in range(games.shape[0]):
        if key.ndim == 1:
            out[i] = siphash(key[0], key[1], games[i], episodes[i])
        else:
            game = games[i]
            out[i] = siphash(key[game, 0], key[game, 1], key[game, 2], episodes[i])


def episode_seeds(key: np.ndarray, games: np.ndarray, episodes: np.ndarray) -> np.ndarray:
    """Return the seed of each episode, uint64 (k,). Games and episodes are numbered from 0.

    Args:
        key: uint64 (2,), the key of the run, from `new_key`; or (n, 3): for each game of the batch, a key and the
            game's number under that key.
        games: uint64 (k,), game numbers in a batch; a single environment is game 0.
        episodes: uint64 (k,), the episode number of each.

    Raises:
        TypeError, ValueError: other dtypes or shapes.
    """
    _check_uint64("games", games)
    _check_uint64("episodes", episodes, len(games))
    out = np.empty(len(games), np.uint64)
    if getattr(key, "shape", ())[1:] != (3,) or key.dtype != np.uint64 or (games >= len(key)).any():
        _check_uint64("key", key, 2)
    episode_rows(key, games, episodes, out)
    return out


def first_episode_seed(seed: int | None) -> int:
    """Return the seed of the first episode of `Batch(game, 1, seed=seed)`; raise the errors of `new_key`."""
    first = np.zeros(1, np.uint64)
    return int(episode_seeds(new_key(seed), first, first)[0])


@jit.kernel
def decision_rows(seeds, players, plies, out):  # type: ignore[no-untyped-def]
    """Write each decision's seed to `out`, uint64 (n,), derived from the episode's seed, the player and the ply."""
    for i in range(out.shape[0]):
        out[i] = derive(seeds[i], _DECISION + players[i], np.int64(plies[i]))


def settled(seed: int | None) -> int:
    """Return `seed`; for None, a seed of 128 bits from the system's entropy, which the caller can record."""
    return secrets.randbits(128) if seed is None else seed


def new_key(seed: int | None) -> np.ndarray:
    """Return the key of a run, uint64 (2,).

    Args:
        seed: a whole number from 0 to 2**128-1, or None for 128 bits of the system's entropy. A player who sees cards
            or dice can find a small seed by brute force, but not one of 128 bits.

    Raises:
        TypeError, ValueError: for anything else.
    """
    seed = settled(seed)
    if isinstance(seed, bool) or not isinstance(seed, (int, np.integer)):
        raise TypeError(f"seed must be a whole number or None, not {seed!r} of type {type(seed).__name__}")
    if not 0 <= int(seed) < 2**128:
        raise ValueError(f"seed must be from 0 to 2**128-1, not {seed}")
    return np.array([int(seed) % 2**64, int(seed) >> 64], np.uint64)
