"""The pseudo-random function behind all seeds is SipHash-2-4."""

import numpy as np
import pytest
import slow_siphash

from ttt_envs.core.rng import siphash

KEY = bytes(range(16))

#: Length of the message 00 01 02 ... -> output, by the reference implementation; 15 is the paper's example.
VECTORS = {
    0: "310e0edd47db6f72",
    1: "fd67dc93c539f874",
    8: "6224939a79f5f593",
    15: "e545be4961ca29a1",
    16: "db9bc2577fcc2a3f",
}


@pytest.mark.parametrize(("length", "output"), VECTORS.items())
def test_the_slow_version_gives_the_published_vectors(length: int, output: str) -> None:
    assert slow_siphash.siphash(KEY, bytes(range(length))).to_bytes(8, "little").hex() == output


def test_the_kernel_gives_the_published_vector() -> None:
    first, second = np.frombuffer(KEY, "<u8").astype(np.uint64)
    message = np.frombuffer(bytes(range(16)), "<u8").astype(np.uint64)
    assert int(siphash(first, second, *message)).to_bytes(8, "little").hex() == VECTORS[16]


def test_the_kernel_is_the_slow_version() -> None:
    generator = np.random.default_rng(0)
    for _ in range(50):
        key, words = generator.integers(0, 2**64, (2, 2), np.uint64)
        wanted = slow_siphash.siphash(key.astype("<u8").tobytes(), words.astype("<u8").tobytes())
        assert int(siphash(*key, *words)) == wanted
