"""Words in memory by which threads wait for each other in compiled code, without Python's lock.

What waits here goes on within a tenth of a microsecond, as it never sleeps; to wake a thread takes a hundred.
"""

# mypy: disable-error-code="no-untyped-def"

import platform
from typing import Any, cast

import numpy as np
from llvmlite import ir
from numba import types
from numba.core.cgutils import get_or_insert_function
from numba.extending import intrinsic

#: Entries int64 between two words: no two processors share what they keep of memory, or fetch beside it.
APART = 16

#: The instruction that tells a processor of a loop which waits, by LLVM's name, and its operands.
_PAUSE: tuple[str, list[int]] | None = None
if platform.machine().lower() in ("x86_64", "amd64"):
    _PAUSE = "llvm.x86.sse2.pause", []
elif platform.machine().lower() in ("arm64", "aarch64"):
    _PAUSE = "llvm.aarch64.hint", [1]


def new_words(many: int) -> np.ndarray:
    """Words that are 0, int64 (many, APART): the first entry of each row; the others are not told between threads."""
    return np.zeros((many, APART), np.int64)


def _word(context, builder, signature, args):
    """A pointer to the word of row k, of arguments that begin with the words and k."""
    words = context.make_array(signature.args[0])(context, builder, args[0])
    return builder.gep(words.data, [builder.mul(args[1], ir.Constant(ir.IntType(64), APART))])


def _read(typingctx, words, k):
    """Word k; what the thread that wrote it had written before is seen from now on."""

    def generate(context, builder, signature, args):
        return builder.load_atomic(_word(context, builder, signature, args), "acquire", 8)

    return types.int64(words, types.int64), generate


def _write(typingctx, words, k, value):
    """Set word k, after all that this thread has written before."""

    def generate(context, builder, signature, args):
        builder.store_atomic(args[2], _word(context, builder, signature, args), "release", 8)
        return context.get_dummy_value()

    return types.void(words, types.int64, types.int64), generate


def _change(typingctx, words, k, old, new):
    """Set word k to `new` if it is `old`, and whether it was: of several threads that try, one does."""

    def generate(context, builder, signature, args):
        place = _word(context, builder, signature, args)
        found = builder.cmpxchg(place, args[2], args[3], "acq_rel", "acquire")
        return builder.extract_value(found, 1)

    return types.boolean(words, types.int64, types.int64, types.int64), generate


def _pause(typingctx):
    """Between two looks at a word: some ten nanoseconds in which the other threads of this core go on."""

    def generate(context, builder, signature, args):
        if _PAUSE is not None:
            name, numbers = _PAUSE
            given = [ir.Constant(ir.IntType(32), number) for number in numbers]
            kind = ir.FunctionType(ir.VoidType(), [each.type for each in given])
            builder.call(get_or_insert_function(builder.module, kind, name), given)
        return context.get_dummy_value()

    return types.void(), generate


# Numba tells mypy of the first argument that its own call does not take.
read, write, change, pause = (cast("Any", intrinsic(each)) for each in (_read, _write, _change, _pause))
