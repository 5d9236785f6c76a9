"""Masks are read and written many entries at once: with the same results as an entry after the other."""

import numpy as np
import pytest

from ttt_envs.core import rng
from ttt_envs.core.compile import jit
from ttt_envs.core.compile.bits import (
    counted,
    mark_counts,
    mark_equal,
    total,
    where_above,
    where_equal,
    write_count,
    write_set,
)


def plainly(mask: np.ndarray, x: int) -> int:
    """`rng.choose`, an entry after the other."""
    legal = [i for i, entry in enumerate(mask) if entry]
    return legal[(x >> 32) * len(legal) >> 32] if legal else -1


def masks_of(size: int, generator: np.random.Generator) -> np.ndarray:
    """Masks bool (k, size): none, all, one alone, and some at random, dense and sparse."""
    alone = np.eye(size, dtype=np.bool_)
    drawn = [generator.random((8, size)) < share for share in (0.05, 0.5, 0.95)]
    return np.concatenate([np.zeros((1, size), np.bool_), np.ones((1, size), np.bool_), alone, *drawn])


@pytest.mark.parametrize("size", [0, 1, 7, 8, 9, 31, 32, 33, 64, 65, 127])
def test_the_same_draws_as_one_entry_after_the_other(size: int) -> None:
    generator = np.random.default_rng(size)
    masks = masks_of(size, generator)
    gaps = np.repeat(masks, 2, axis=1)[:, ::2]  # the same with gaps, which is read entry by entry
    shifted = np.concatenate([np.ones((len(masks), 3), np.bool_), masks], axis=1)[:, 3:]  # read at odd addresses
    for k in range(len(masks)):
        for x in (0, 2**64 - 1, *generator.integers(2**64, size=6, dtype=np.uint64)):
            wanted = plainly(masks[k], int(x))
            for each in (masks, gaps, shifted):
                assert rng.choose(each[k], np.uint64(x)) == wanted
        legal = np.flatnonzero(masks[k])
        assert rng.count(masks[k]) == rng.count(gaps[k]) == len(legal)
        assert [rng.entry(masks[k], skip) for skip in range(len(legal) + 1)] == [*legal, -1]


def test_rows_and_generators_draw_the_same() -> None:
    generator = np.random.default_rng(1)
    masks, seeds = masks_of(83, generator), generator.integers(2**64, size=109, dtype=np.uint64)
    out = np.empty(len(masks), np.int64)
    rng.choose_rows(masks, seeds[: len(masks)], out)
    assert out.tolist() == [plainly(m, int(rng.mix(s))) for m, s in zip(masks, seeds, strict=False)]


@jit.kernel
def write_sets(members, out, at):  # type: ignore[no-untyped-def]
    """`write_set` of so many entries as can be known when it is compiled: 1, 9 and 64."""
    write_set(members, 1, out[0], at)
    write_set(members, 9, out[1], at)
    write_set(members, 64, out[2], at)


@jit.kernel
def write_some(members, count, out, at):  # type: ignore[no-untyped-def]
    """The same of a number of entries that only a call tells."""
    write_set(members, count, out, at)


def test_a_set_is_written_as_its_members() -> None:
    generator = np.random.default_rng(2)
    for kind, step in ((np.int8, 1), (np.bool_, 1), (np.int8, 2)):  # with step 2, the array has gaps
        for members in (0, 2**63 - 1, *generator.integers(2**63, size=20)):
            out = np.ones((3, 70 * step), kind)[:, ::step]
            write_sets(members, out, 3)
            for row, count in zip(out, (1, 9, 64), strict=True):
                expected = np.ones(70, kind)
                expected[3 : 3 + count] = [int(members) >> k & 1 for k in range(count)]
                assert row.tolist() == expected.tolist()
                again = np.ones(70 * step, kind)[::step]
                write_some(members, count, again, 3)
                assert again.tolist() == expected.tolist()


@jit.kernel
def compare(numbers, value, out):  # type: ignore[no-untyped-def]
    """The three comparisons, which only a kernel can ask for."""
    mark_equal(numbers, value, out, 2)
    return where_equal(numbers, value), where_above(numbers, value)


@pytest.mark.parametrize("size", [1, 7, 8, 9, 16, 25, 64])
def test_many_numbers_are_compared_as_one_after_the_other(size: int) -> None:
    generator = np.random.default_rng(size)
    for step in (1, 2):  # with step 2, the arrays have gaps
        for _ in range(20):
            numbers = generator.integers(-3, 3, 2 * size).astype(np.int8)[:: 3 - step][:size]
            value = int(generator.integers(-3, 3))
            out = np.full((size + 4) * step, 7, np.int8)[::step]
            for members, wanted in zip(compare(numbers, value, out), (numbers == value, numbers > value), strict=True):
                assert [k for k in range(64) if int(members) >> k & 1] == np.flatnonzero(wanted).tolist()
            assert out.tolist() == [7, 7, *(numbers == value).astype(int).tolist(), 7, 7]


@jit.kernel
def tell(counts, most, row, out):  # type: ignore[no-untyped-def]
    """What is told of counts: how many things there are, the kinds of all in a row, and a row for each number."""
    for skip in range(total(counts)):
        row[skip] = counted(counts, skip)
    mark_counts(counts, most, out, 2)
    return total(counts)


@pytest.mark.parametrize("size", [1, 7, 8, 9, 15, 16, 17])
def test_counts_tell_how_many_things_there_are_and_of_which_kinds(size: int) -> None:
    generator = np.random.default_rng(size)
    for step in (1, 2):  # with step 2, the arrays have gaps
        for most in (0, 1, 2, 7):
            counts = (generator.integers(8, size=2 * size) * generator.integers(2, size=2 * size)).astype(np.int8)
            counts = counts[:: 3 - step][:size]
            kinds = np.repeat(np.arange(size), counts)
            row, out = np.full(127, 7), np.full((most * size + 4) * step, 7, np.int8)[::step]
            assert tell(counts, most, row, out) == len(kinds)
            assert row.tolist() == [*kinds.tolist(), *[7] * (127 - len(kinds))]
            wanted = (counts > np.arange(most)[:, None]).astype(int)
            assert out.tolist() == [7, 7, *wanted.flatten().tolist(), 7, 7]


@jit.kernel
def compare_field(state, value, out):  # type: ignore[no-untyped-def]
    """Of an array in a record, whose size is known when this is compiled."""
    mark_equal(state["numbers"], value, out, 2)
    return where_equal(state["numbers"], value), where_above(state["numbers"], value)


@pytest.mark.parametrize("size", [7, 8, 9, 25])
def test_numbers_in_a_record_are_compared_likewise(size: int) -> None:
    generator = np.random.default_rng(size)
    states = np.zeros(20, [("before", np.int8), ("numbers", np.int8, (size,)), ("after", np.int8)])
    states["before"] = states["after"] = 1
    states["numbers"] = generator.integers(-3, 3, (20, size))
    for state in states:
        for value in range(-3, 3):
            out = np.full(size + 4, 7, np.int8)
            equal, above = map(int, compare_field(state, value, out))
            assert equal == sum(1 << k for k in np.flatnonzero(state["numbers"] == value).tolist())
            assert above == sum(1 << k for k in np.flatnonzero(state["numbers"] > value).tolist())
            assert out.tolist() == [7, 7, *(state["numbers"] == value).astype(int).tolist(), 7, 7]


@pytest.mark.parametrize("most", [1, 8, 62, 63, 99])
def test_a_count_is_written_as_so_many_entries(most: int) -> None:
    for number in {0, 1, most // 2, most - 1, most, most + 5}:
        out = np.full(most + 4, 7, np.int8)
        write_count(number, most, out, 2)
        assert out.tolist() == [7, 7, *(int(number > k) for k in range(most)), 7, 7]
