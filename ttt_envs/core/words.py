"""Truth values read and written many at a time, where the machine and the array allow it.

Compiled code has no such access by itself: these are intrinsics of Numba, each a few instructions. Where they do not
apply, single entries are read and written: with the JIT off, on machines whose first byte is the highest, and for
arrays with gaps. Then there are no words, `words` says 0, and a caller's loop does all of the reading.
"""

# mypy: disable-error-code="no-untyped-def"

import sys
from typing import Any

import numpy as np
from llvmlite import ir
from numba import types
from numba.core.cgutils import for_range, unpack_tuple
from numba.extending import intrinsic

from ttt_envs.core import jit

_LITTLE_ENDIAN = sys.byteorder == "little"


def _words(typingctx, mask):
    """The number of whole words in a bool array (n,)."""
    whole = _LITTLE_ENDIAN and mask.layout == "C"

    def generate(context, builder, signature, args):
        if not whole:
            return context.get_constant(types.intp, 0)
        array = context.make_array(signature.args[0])(context, builder, args[0])
        size = builder.extract_value(array.shape, 0)
        return builder.lshr(size, ir.Constant(size.type, 3))

    return types.intp(mask), generate


def _word(typingctx, mask, at):
    """The eight entries from `at` on as a uint64, the first one its lowest byte; there must be that many."""

    def generate(context, builder, signature, args):
        array = context.make_array(signature.args[0])(context, builder, args[0])
        place = builder.gep(array.data, [context.cast(builder, args[1], signature.args[1], types.intp)])
        return builder.load(builder.bitcast(place, ir.PointerType(ir.IntType(64))), align=1)

    return types.uint64(mask, at), generate


def _lowest_bit(typingctx, x):
    """The number of zeros below the lowest bit of a uint64 that is not 0."""

    def generate(context, builder, signature, args):
        return builder.cttz(args[0], ir.Constant(ir.IntType(1), 1))

    return types.uint64(types.uint64), generate


def _put(typingctx, members, count, out, at):
    """See `write_set`. A constant `count` is written in pieces of 32, 16, ... entries, another one entry by entry."""
    at_once = _LITTLE_ENDIAN and out.layout == "C" and isinstance(count, types.IntegerLiteral)
    byte, bits = ir.IntType(8), ir.IntType(64)

    def generate(context, builder, signature, args):
        array = context.make_array(signature.args[2])(context, builder, args[2])
        data = builder.bitcast(array.data, ir.PointerType(byte))
        stride = ir.Constant(bits, 1) if at_once else unpack_tuple(builder, array.strides)[0]

        def store(first, size):
            """Write `size` entries from `first` on, of as many bits."""
            part = builder.trunc(builder.lshr(args[0], first), ir.IntType(size))
            place = builder.gep(data, [builder.mul(builder.add(args[3], first), stride)])
            many = ir.VectorType(byte, size)
            entries = builder.zext(builder.bitcast(part, ir.VectorType(ir.IntType(1), size)), many)
            builder.store(entries, builder.bitcast(place, ir.PointerType(many)), align=1)

        if at_once:
            wanted, done = count.literal_value, 0
            while done < wanted:
                size = min(32, 1 << ((wanted - done).bit_length() - 1))
                store(ir.Constant(bits, done), size)
                done += size
        else:
            with for_range(builder, context.cast(builder, args[1], signature.args[1], types.int64)) as loop:
                store(loop.index, 1)
        return context.get_dummy_value()

    return types.void(types.uint64, count, out, types.int64), generate


def _none(mask: Any, at: int = 0) -> int:
    """A replacement without the JIT, where there are no words."""
    return 0


def _put_each(members: Any, count: int, out: np.ndarray, at: int) -> None:
    """Likewise."""
    for k in range(count):
        out[at + k] = int(members) >> k & 1


def _intrinsic(function: Any, without: Any = _none) -> Any:
    if jit.DISABLED:
        return without
    compiled: Any = intrinsic(prefer_literal=True)(function)
    compiled.py_func = without  # as kernels have it
    return compiled


words, word, lowest_bit = map(_intrinsic, (_words, _word, _lowest_bit))
_write = _intrinsic(_put, _put_each)


@jit.kernel
@jit.inlined
@jit.allocates_nothing
@jit.each_constant
def write_set(members, count, out, at):
    """Write `count` entries, at most 63, of an int8 or bool array (n,) from `at` on: whether 0, 1, ... are in the set.

    The set is a number of which bit k says whether k is in it. Not into a slice of `out`: Numba counts references to
    it, which takes longer than the writing.
    """
    _write(members, count, out, at)
