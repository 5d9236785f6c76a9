"""SipHash-2-4, a pseudo-random function with a 128-bit key, for the seeds of episodes and decisions.

J.-P. Aumasson and D. J. Bernstein, "SipHash: a fast short-input PRF", INDOCRYPT 2012, whose test vectors the tests use.
Without the key, its outputs cannot be told from random numbers. Messages here are two
64-bit words, read as little-endian bytes.
"""

# mypy: disable-error-code="no-untyped-def"

import numpy as np

from ttt_envs.core.jit import wrapping_kernel

_INITIAL = np.array([0x736F6D6570736575, 0x646F72616E646F6D, 0x6C7967656E657261, 0x7465646279746573], np.uint64)
_FINAL = np.uint64(0xFF)

# The last word of a message holds its length, here 16 bytes, in its highest byte.
_LENGTH = np.uint64(16 << 56)


@wrapping_kernel
def rotate(x, by):
    """`x` uint64, rotated left by `by` bits, 1 to 63."""
    return (x << np.uint64(by)) | (x >> np.uint64(64 - by))


@wrapping_kernel
def rounds(a, b, c, d, number):
    """The inner state of four uint64 after that many SipRounds."""
    for _ in range(number):
        a, c = a + b, c + d
        b, d = rotate(b, 13) ^ a, rotate(d, 16) ^ c
        a = rotate(a, 32)
        c, a = c + b, a + d
        b, d = rotate(b, 17) ^ c, rotate(d, 21) ^ a
        c = rotate(c, 32)
    return a, b, c, d


@wrapping_kernel
def siphash(first, second, one, two):
    """SipHash-2-4 of the words `one` and `two` under the key (`first`, `second`), all uint64: a uint64."""
    a, b, c, d = first ^ _INITIAL[0], second ^ _INITIAL[1], first ^ _INITIAL[2], second ^ _INITIAL[3]
    for word in (one, two, _LENGTH):
        d ^= word
        a, b, c, d = rounds(a, b, c, d, 2)
        a ^= word
    c ^= _FINAL
    a, b, c, d = rounds(a, b, c, d, 4)
    return a ^ b ^ c ^ d
