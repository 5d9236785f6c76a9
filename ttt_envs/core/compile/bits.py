"""Vectorised reads and writes of bool arrays.

Numba does not vectorise such access, so this module has intrinsics of a few instructions each. With the JIT off, on
big-endian machines and for arrays with gaps, entries are read and written one by one instead. `many` says whether a
mask can be read eight entries at a time; if not, the caller reads it in a loop of its own.

A set is a uint64: bit k says whether k is a member.
"""

# mypy: disable-error-code="no-untyped-def"

import sys
from typing import Any

import numpy as np
from llvmlite import ir
from numba import types
from numba.core.cgutils import alloca_once_value, for_range, unpack_tuple
from numba.extending import intrinsic

from ttt_envs.core.compile import jit

_LITTLE_ENDIAN = sys.byteorder == "little"
_BIT, _BYTE, _WORD, _INT = map(ir.IntType, (1, 8, 32, 64))

#: The most entries for `up_to`.
MOST_AT_ONCE = 62

_NO_MEMBERS, _1, _2, _3, _4, _7, _8, _127, _255 = map(np.uint64, (0, 1, 2, 3, 4, 7, 8, 127, 255))
_PAIRS, _FOURS, _HALVES = (np.uint64(int(pattern * 8, 16)) for pattern in ("55", "33", "0f"))

# In the product of a uint64 and _BYTES, byte k is the sum of the uint64's bytes 0 to k.
_BYTES, _TOPS = np.uint64(0x0101010101010101), np.uint64(0x8080808080808080)

# _BIT_K: byte k holds only bit k. Adding _TO_TOP sets the top bit of each byte that is not 0.
_BIT_K, _TO_TOP = np.uint64(0x8040201008040201), np.uint64(0x7F7F7F7F7F7F7F7F)


def _at_once(*arrays):
    """Return whether several entries of these byte arrays can be read or written at once."""
    return _LITTLE_ENDIAN and all(array.layout == "C" for array in arrays)


def _length(context, builder, kind, array):
    return builder.extract_value(context.make_array(kind)(context, builder, array).shape, 0)


def _vector(context, builder, array, at, count):
    """Return a pointer to a vector of `count` entries, from `at` on, of a byte array (n,), given as (type, value)."""
    kind, value = array
    made = context.make_array(kind)(context, builder, value)
    stride = ir.Constant(_INT, 1) if kind.layout == "C" else unpack_tuple(builder, made.strides)[0]
    place = builder.gep(builder.bitcast(made.data, ir.PointerType(_BYTE)), [builder.mul(at, stride)])
    return builder.bitcast(place, ir.PointerType(ir.VectorType(_BYTE, count)))


def _known(kind):
    """Return the value of a constant, or the length of an array in a record, if the type includes it; else None."""
    if isinstance(kind, types.NestedArray):
        return kind.shape[0]
    return getattr(kind, "literal_value", None)


def _parts(builder, size, widths, do, known=None):
    """Generate calls of `do(first, count)` for all `size` entries, in parts as large as `widths` allow.

    The last part may overlap the one before it. If the size is known, the code has no branches and compiles faster.
    """
    if known is not None and known >= min(widths, default=np.inf):
        most = max(count for count in widths if count <= known)
        for first in sorted({*range(0, known - most + 1, most), known - most}):
            do(ir.Constant(_INT, first), most)
        return
    if not widths:
        with for_range(builder, size) as loop:
            do(loop.index, 1)
        return
    count, *fewer = widths
    many = ir.Constant(size.type, count)
    with builder.if_else(builder.icmp_signed(">=", size, many)) as (then, otherwise):
        with then:
            with for_range(builder, builder.udiv(size, many)) as loop:
                do(builder.mul(loop.index, many), count)
            with builder.if_then(builder.icmp_unsigned("!=", builder.urem(size, many), ir.Constant(size.type, 0))):
                do(builder.sub(size, many), count)
        with otherwise:
            _parts(builder, size, fewer, do)


def _taken(builder, entries, relation, value):
    """Return a vector of bits: whether each entry of a vector of bytes has this relation to a byte."""
    kind = entries.type
    one = builder.insert_element(ir.Constant(kind, ir.Undefined), value, ir.Constant(_WORD, 0))
    order = ir.Constant(ir.VectorType(_WORD, kind.count), [0] * kind.count)
    return builder.icmp_signed(relation, entries, builder.shuffle_vector(one, one, order))


def _is_few(builder, size):
    """Return whether `size` is from 9 to 16: `_sixteen` then reads the array."""
    return builder.icmp_unsigned("<", builder.sub(size, ir.Constant(_INT, 9)), ir.Constant(_INT, 8))


def _sixteen(context, builder, array):
    """Return an array of 9 to 16 entries as a vector, padded with zeros; and its last 8 entries as another vector."""
    size = _length(context, builder, *array)
    low, high = (
        builder.load(_vector(context, builder, array, at, 8), align=1)
        for at in (ir.Constant(_INT, 0), builder.sub(size, ir.Constant(_INT, 8)))
    )
    known = builder.mul(builder.sub(ir.Constant(_INT, 16), size), ir.Constant(_INT, 8))  # bits that `low` also has
    rest = builder.bitcast(builder.lshr(builder.bitcast(high, _INT), known), high.type)
    order = ir.Constant(ir.VectorType(_WORD, 16), list(range(16)))
    return builder.shuffle_vector(low, rest, order), high


def _few(typingctx, numbers, out):
    """Return whether `numbers` has 9 to 16 entries and both arrays can be accessed several entries at a time."""
    whole = _at_once(numbers, out)

    def generate(context, builder, signature, args):
        if not whole:
            return context.get_constant(types.boolean, False)
        return _is_few(builder, _length(context, builder, numbers, args[0]))

    return types.boolean(numbers, out), generate


def _sum(typingctx, numbers):
    def generate(context, builder, signature, args):
        entries, _ = _sixteen(context, builder, (numbers, args[0]))
        words = builder.bitcast(entries, ir.VectorType(_INT, 2))
        low, high = (builder.extract_element(words, ir.Constant(_WORD, k)) for k in range(2))
        # The top byte of this product is the sum of all bytes; no byte overflows.
        sums = builder.mul(builder.add(low, high), ir.Constant(_INT, int(_BYTES)))
        return builder.lshr(sums, ir.Constant(_INT, 56))

    return types.int64(numbers), generate


def _passed(typingctx, numbers, skip):
    """Return how many of the running sums of `numbers`, which has 9 to 16 entries, are at most `skip`."""

    def generate(context, builder, signature, args):
        sums, _ = _sixteen(context, builder, (numbers, args[0]))
        zeros = ir.Constant(sums.type, None)
        for step in (1, 2, 4, 8):
            order = ir.Constant(ir.VectorType(_WORD, 16), [16 - step + k for k in range(16)])
            sums = builder.add(sums, builder.shuffle_vector(zeros, sums, order))
        taken = _taken(builder, sums, "<=", builder.trunc(args[1], _BYTE))
        return builder.ctpop(builder.zext(builder.bitcast(taken, ir.IntType(16)), _INT))

    return types.int64(numbers, types.int64), generate


def _mark_few(typingctx, numbers, most, out, at):
    """Do the same as `mark_counts`, for 9 to 16 `numbers`; `most` is at least 1."""

    def generate(context, builder, signature, args):
        entries, high = _sixteen(context, builder, (numbers, args[0]))
        size = _length(context, builder, numbers, args[0])
        zero, last = ir.Constant(_INT, 0), builder.sub(args[1], ir.Constant(_INT, 1))

        def mark(entries, c, first):
            taken = builder.zext(_taken(builder, entries, ">", builder.trunc(c, _BYTE)), entries.type)
            place = builder.add(builder.add(args[3], builder.mul(c, size)), first)
            builder.store(taken, _vector(context, builder, (out, args[2]), place, entries.type.count), align=1)

        with for_range(builder, last) as loop:  # the next part overwrites surplus entries
            mark(entries, loop.index, zero)
        order = ir.Constant(ir.VectorType(_WORD, 8), list(range(8)))
        mark(builder.shuffle_vector(entries, entries, order), last, zero)
        mark(high, last, builder.sub(size, ir.Constant(_INT, 8)))
        return context.get_dummy_value()

    return types.void(numbers, types.int64, out, types.int64), generate


def _many(typingctx, mask):
    """Return whether the entries of a bool array (n,) can be read eight at a time."""
    whole = _at_once(mask)

    def generate(context, builder, signature, args):
        if not whole:
            return context.get_constant(types.boolean, False)
        size = _length(context, builder, mask, args[0])
        return builder.icmp_signed(">=", size, ir.Constant(size.type, 8))

    return types.boolean(mask), generate


def _read_part(typingctx, mask, at, size):
    """Return the `size` entries from `at` on as a set. `size` is a constant: 8, 32 or 64; all entries must exist."""
    count = size.literal_value

    def generate(context, builder, signature, args):
        at = context.cast(builder, args[1], signature.args[1], types.int64)
        entries = builder.load(_vector(context, builder, (signature.args[0], args[0]), at, count), align=1)
        taken = builder.icmp_unsigned("!=", entries, ir.Constant(entries.type, None))
        return builder.zext(builder.bitcast(taken, ir.IntType(count)), _INT)

    return types.uint64(mask, at, size), generate


def _lowest_bit(typingctx, x):
    """Return the position of the lowest set bit of a uint64 that is not 0."""

    def generate(context, builder, signature, args):
        return builder.cttz(args[0], ir.Constant(ir.IntType(1), 1))

    return types.uint64(types.uint64), generate


def _size(typingctx, x):
    def generate(context, builder, signature, args):
        return builder.ctpop(args[0])

    return types.uint64(types.uint64), generate


def _put(typingctx, members, count, out, at):
    widths = (32, 16, 8) if _at_once(out) else ()

    def generate(context, builder, signature, args):
        def put(first, size):
            part = builder.trunc(builder.lshr(args[0], first), ir.IntType(size))
            entries = builder.zext(builder.bitcast(part, ir.VectorType(_BIT, size)), ir.VectorType(_BYTE, size))
            place = _vector(context, builder, (signature.args[2], args[2]), builder.add(args[3], first), size)
            builder.store(entries, place, align=1)

        size = context.cast(builder, args[1], signature.args[1], types.int64)
        _parts(builder, size, widths, put, _known(count))
        return context.get_dummy_value()

    return types.void(types.uint64, count, out, types.int64), generate


def _where(relation):
    """Return an intrinsic for the set of indices at which int8 (n,) has this relation to a number."""

    def where(typingctx, numbers, value):
        widths = (32, 16, 8) if _at_once(numbers) else ()

        def generate(context, builder, signature, args):
            byte, size = builder.trunc(args[1], _BYTE), _length(context, builder, numbers, args[0])
            members = alloca_once_value(builder, ir.Constant(_INT, 0))

            def add(entries, first):
                taken = builder.bitcast(_taken(builder, entries, relation, byte), ir.IntType(entries.type.count))
                here = builder.shl(builder.zext(taken, _INT), first)
                builder.store(builder.or_(builder.load(members), here), members)

            def at_once():
                add(_sixteen(context, builder, (numbers, args[0]))[0], ir.Constant(_INT, 0))
                there = builder.sub(builder.shl(ir.Constant(_INT, 1), size), ir.Constant(_INT, 1))
                builder.store(builder.and_(builder.load(members), there), members)

            def part(first, count):
                place = _vector(context, builder, (numbers, args[0]), first, count)
                add(builder.load(place, align=1), first)

            known = _known(numbers)
            if not widths or (known is not None and not 8 < known <= 16):
                _parts(builder, size, widths, part, known)
            elif known is not None:
                at_once()
            else:
                with builder.if_else(_is_few(builder, size)) as (then, otherwise):
                    with then:
                        at_once()
                    with otherwise:
                        _parts(builder, size, widths, part)
            return builder.load(members)

        return types.int64(numbers, types.int64), generate

    return where


def _mark(typingctx, numbers, value, out, at):
    widths = (32, 16, 8) if _at_once(numbers, out) else ()

    def generate(context, builder, signature, args):
        byte = builder.trunc(args[1], _BYTE)

        def put(first, size):
            entries = builder.load(_vector(context, builder, (numbers, args[0]), first, size), align=1)
            taken = builder.zext(_taken(builder, entries, "==", byte), entries.type)
            builder.store(taken, _vector(context, builder, (out, args[2]), builder.add(args[3], first), size), 1)

        _parts(builder, _length(context, builder, numbers, args[0]), widths, put, _known(numbers))
        return context.get_dummy_value()

    return types.void(numbers, types.int64, out, types.int64), generate


def _intrinsic(function: Any, plainly: Any) -> Any:
    """Return `function` as an intrinsic; without the JIT, return `plainly`, which does the same in Python."""
    if jit.DISABLED:
        return plainly
    compiled: Any = intrinsic(prefer_literal=True)(function)
    compiled.py_func = plainly  # kernels have this attribute
    return compiled


def _put_plainly(members: Any, count: int, out: np.ndarray, at: int) -> None:
    for k in range(count):
        out[at + k] = int(members) >> k & 1


def _as_set(taken: np.ndarray) -> Any:
    return np.uint64(sum(1 << int(k) for k in np.flatnonzero(taken))).astype(np.int64)


many = _intrinsic(_many, lambda mask: False)
_read = _intrinsic(_read_part, None)

#: (members, count, out, at): write whether 0, 1, ... count-1 are in the set, to int8 or bool (n,) from `at` on; `count`
#: is at most 64. Pass `at` instead of a slice: Numba counts references to slices, which takes longer than the writing.
write_set = _intrinsic(_put, _put_plainly)
lowest_bit = _intrinsic(_lowest_bit, lambda x: np.uint64((int(x) & -int(x)).bit_length() - 1))
set_size = _intrinsic(_size, lambda x: int(x).bit_count())

#: (numbers int8 (n,), value): return the set of all k with numbers[k] == value; n is at most 64.
where_equal = _intrinsic(_where("=="), lambda numbers, value: _as_set(numbers == value))

#: (numbers int8 (n,), value): return the set of all k with numbers[k] > value; n is at most 64.
where_above = _intrinsic(_where(">"), lambda numbers, value: _as_set(numbers > value))

#: (numbers int8 (n,), value, out, at): write whether each number equals the value, to int8 or bool (m,) from `at` on.
mark_equal = _intrinsic(_mark, lambda numbers, value, out, at: np.copyto(out[at : at + len(numbers)], numbers == value))

_are_few = _intrinsic(_few, lambda numbers, out: False)
_sum_few, _passed_few, _mark_few_counts = (_intrinsic(each, None) for each in (_sum, _passed, _mark_few))


@jit.kernel
@jit.inlined
@jit.allocates_nothing
def total(counts):
    """Return the sum of counts int8 (n,), which must be at most 127."""
    if _are_few(counts, counts):
        return _sum_few(counts)
    result = np.int64(0)
    for k in range(counts.shape[0]):
        result += counts[k]
    return result


@jit.kernel
@jit.inlined
@jit.allocates_nothing
def counted(counts, skip):
    """Return the kind of item number `skip` of items sorted by kind; counts: int8 (n,), the number of each kind."""
    if _are_few(counts, counts):
        return _passed_few(counts, skip)
    kind, passed = np.int64(0), np.int64(0)
    for k in range(counts.shape[0]):  # a branch on random values would be mispredicted
        passed += counts[k]
        kind += passed <= skip
    return kind


@jit.kernel
@jit.inlined
@jit.allocates_nothing
def mark_counts(counts, most, out, at):
    """Write whether counts int8 (n,) are greater than c, for c from 0 to most-1, to int8 or bool (m,) from `at` on."""
    if _are_few(counts, out) and most > 0:
        _mark_few_counts(counts, most, out, at)
        return
    for c in range(most):
        for k in range(counts.shape[0]):
            out[at] = counts[k] > c
            at += 1


@jit.wrapping_kernel
@jit.inlined
@jit.allocates_nothing
def read_set(mask, at):
    """Return at most 64 entries from `at` on as a set, of a mask bool (n,) for which `many` is true.

    `at` is a multiple of 64. The last read may overlap the entries before it.
    """
    size = mask.shape[0]
    if at + 64 <= size:
        return _read(mask, at, 64)
    if size >= 64:
        return _read(mask, size - 64, 64) >> np.uint64(64 - size + at)
    if size >= 32:
        return _read(mask, 0, 32) | _read(mask, size - 32, 32) << np.uint64(size - 32)
    members = _NO_MEMBERS
    for each in range(0, size, 8):
        first = min(each, size - 8)
        members |= _read(mask, first, 8) << np.uint64(first)
    return members


@jit.wrapping_kernel
@jit.inlined
@jit.allocates_nothing
def nth(members, skip):
    """Return the member of a set that `skip` members precede; it must exist. No branch depends on random values."""
    members, left = np.uint64(members), np.uint64(skip)
    sums = members - (members >> _1 & _PAIRS)
    sums = (sums & _FOURS) + (sums >> _2 & _FOURS)
    sums = ((sums + (sums >> _4)) & _HALVES) * _BYTES  # in byte k: the number of members in bytes 0 to k
    first = lowest_bit(_above(sums, left)) & ~_7
    byte = members >> first & _255
    left -= (sums << _8) >> first & _255
    # Move each bit of the byte into a byte of its own.
    sums = (((byte * _BYTES & _BIT_K) + _TO_TOP) >> _7 & _BYTES) * _BYTES
    return np.int64(first + (lowest_bit(_above(sums, left)) >> _3))


@jit.wrapping_kernel
@jit.inlined
@jit.allocates_nothing
def _above(sums, left):
    """Return the top bit of each byte of `sums` that is greater than `left`; bytes are at most 64, `left` below 64."""
    return (sums + (_127 - left) * _BYTES) & _TOPS


@jit.kernel
@jit.inlined
@jit.allocates_nothing
def up_to(number, most):
    """Return the set of the numbers 0, 1, ... below both `number` and `most`, which is at most `MOST_AT_ONCE`."""
    return (np.int64(1) << min(np.int64(number), np.int64(most))) - 1


@jit.kernel
@jit.inlined
@jit.allocates_nothing
def write_count(number, most, out, at):
    """Write whether the number is greater than c, for c from 0 to most-1, to int8 or bool (n,) from `at` on."""
    for first in range(0, most, MOST_AT_ONCE):
        here = min(np.int64(most) - first, MOST_AT_ONCE)
        write_set(up_to(max(np.int64(number) - first, 0), here), here, out, at + first)
