"""Compile internal kernels to bitcode only; they are optimised inside their callers.

Numba optimises each function by itself, and again inside each caller, which takes a quarter of the time until a game's
first move. This module uses undocumented parts of Numba.
"""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, cast

import llvmlite.binding as llvm
from numba.core.codegen import JITCodeLibrary
from numba.core.compiler import Compiler
from numba.core.types import Function


def _known_call(self: Any, context: Any, args: tuple[Any, ...], kws: dict[str, Any]) -> Any:
    """Return the cached signature of a call, such as of `+`. The cache is in `self`, which new templates replace."""
    known, call = vars(self).setdefault("_known_calls", {}), (context, args, *kws.items())
    if call not in known:
        known[call] = super(Function, self).get_call_type(context, args, kws)
    return known[call]


@contextmanager
def _shortcuts() -> Iterator[None]:
    """Cache the signatures of calls during a compilation, which saves an eighth of the time until a first move."""
    function = cast(Any, Function)
    usual, function.get_call_type = function.get_call_type, _known_call
    try:
        yield
    finally:
        function.get_call_type = usual


class Linked(JITCodeLibrary):
    """The bitcode of one internal kernel and of its callees."""

    @classmethod
    def read(cls, codegen: Any, name: str, code: bytes) -> "Linked":
        """Return a library made from the bitcode that `serialize_using_object_code` returned."""
        self = cls(codegen, name)
        self._final_module = self._shared_module = llvm.parse_bitcode(code)
        self._settle()
        return self

    def serialize_using_object_code(self) -> tuple[str, bytes]:
        return self.name, self._get_module_for_linking().as_bitcode()

    def finalize(self) -> None:
        for library in dict.fromkeys(self._linking_libraries):
            if hasattr(self, "_reload_init"):  # not in Numba 0.61
                self._reload_init.update(library._reload_init)
            self._final_module.link_in(library._get_module_for_linking(), preserve=True)
        self._settle()

    def _settle(self) -> None:
        self._finalize_dynamic_globals()
        self._finalized = True

    def get_pointer_to_function(self, name: str) -> int:
        """Return 0: there is no machine code."""
        self._ensure_finalized()
        return 0

    @property
    def codegen(self) -> "Linked":
        return self

    def set_env(self, name: str, env: Any) -> None:
        """Do nothing: `Linking` sets the environments in the libraries of the callers."""


class Linking(Compiler):
    """Numba's compiler, which makes `Linked` libraries for functions that Python cannot call."""

    @_shortcuts()
    def compile_extra(self, func: Callable[..., Any]) -> Any:
        if self.state.flags.no_cpython_wrapper:
            self.state.library = Linked(self.state.targetctx.codegen(), func.__qualname__)
            return super().compile_extra(func)
        result = super().compile_extra(func)
        for env in result._find_referenced_environments():
            result.library.codegen.set_env(env.env_name, env)
        return result


class Loading:
    """A Numba target that reads `Linked` libraries from disk."""

    def __init__(self, target: Any) -> None:
        self._target = target

    def __getattr__(self, name: str) -> Any:
        return getattr(self._target, name)

    def codegen(self) -> "Loading":
        return self

    def unserialize_library(self, state: tuple[str, bytes]) -> Linked:
        return Linked.read(self._target.codegen(), *state)
