"""Truth values read eight at a time, as the bytes of one word, where the machine and the array allow it.

Compiled code has no such access by itself: these are intrinsics of Numba, each a few instructions. Where they do not
apply there are no words, `words` says 0, and a caller's loop over single entries does all of the work: with the JIT
off, on machines whose first byte is the highest, and for arrays with gaps.
"""

# mypy: disable-error-code="no-untyped-def"

import sys
from typing import Any

from llvmlite import ir
from numba import types
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


def _none(mask: Any, at: int = 0) -> int:
    """A replacement without the JIT, where there are no words."""
    return 0


def _intrinsic(function: Any) -> Any:
    return _none if jit.DISABLED else intrinsic(function)


words, word, lowest_bit = map(_intrinsic, (_words, _word, _lowest_bit))
