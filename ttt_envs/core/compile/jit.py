"""The one place that sets Numba's options.

Numba's disk cache notices changes in a function's own file, but not in other files with functions that it calls; it
would run stale machine code. Therefore every kernel's qualified name, which is part of the cache key, contains a digest
of all source that the kernel can call: its file and the files of this package that it imports, directly or indirectly.
For a kernel defined elsewhere (a game of your own), the digest also covers the file's folder.
"""

import gc
import hashlib
import itertools
import os
import re
import secrets
import types
from collections.abc import Callable, Iterable
from functools import cache, wraps
from pathlib import Path
from typing import Any, TypeVar

import numba
import numba.core.config
import numpy as np
from numba.core import event

from ttt_envs.core.compile.interrupts import HeldInterrupts
from ttt_envs.core.compile.kernel_cache import MachineCode, warn_once

Function = TypeVar("Function", bound=Callable[..., Any])

PACKAGE = Path(__file__).resolve().parents[2]

#: True if Numba is switched off (NUMBA_DISABLE_JIT=1), so that kernels are plain Python functions.
DISABLED: bool = bool(numba.core.config.DISABLE_JIT)  # type: ignore[attr-defined]


if not DISABLED:
    from numba.core.bytecode import FunctionIdentity

    from ttt_envs.core.compile.linking import Linking, Loading


def _number_kernels_apart() -> None:
    """Prevent two processes from using the same symbol for different machine code.

    Numba numbers the versions of a kernel for different states. Every process starts at the same number, which becomes
    part of the kernel's symbol name on disk. Two processes that compile at the same time may give different versions
    the same name. A third process that loads both would then run the wrong version.
    """
    FunctionIdentity._unique_ids = itertools.count(secrets.randbits(62))


if not DISABLED:
    _number_kernels_apart()
    if hasattr(os, "register_at_fork"):
        os.register_at_fork(after_in_child=_number_kernels_apart)


class _NoCollection(event.Listener):
    """Pauses Python's cyclic garbage collector while Numba compiles.

    Otherwise the collector scans Numba's objects again and again, which takes a twelfth of the compile time.
    Compilations may be nested. Numba holds a lock while it reports one, so these methods need none.
    """

    def __init__(self) -> None:
        self._depth, self._paused = 0, False

    def on_start(self, event: Any) -> None:
        if not self._depth:
            self._paused = gc.isenabled()
            gc.disable()
        self._depth += 1

    def on_end(self, event: Any) -> None:
        self._depth = max(self._depth - 1, 0)
        if not self._depth:
            self.resume()

    def resume(self) -> None:
        """Resume garbage collection."""
        if self._paused:
            gc.enable()
        self._depth, self._paused = 0, False


if not DISABLED:
    _collection = _NoCollection()
    event.register("numba:compile", _collection)
    _interrupts = HeldInterrupts()
    event.register("numba:compile", _interrupts)  # registered last, because it may raise
    if hasattr(os, "register_at_fork"):  # a thread may fork while another one compiles
        os.register_at_fork(after_in_child=_collection.resume)
        os.register_at_fork(after_in_child=_interrupts.forget)

# Marks a function decorated with `allocates_nothing`.
_ALLOCATES_NOTHING = "_allocates_nothing"

# Marks a function decorated with `inlined`.
_INLINED = "_inlined"
_KEEPS_GIL = "_keeps_gil"

# Marks a specialised kernel that is not cached on disk because it binds an uncached one.
_ANEW = "_compiled_anew"


# Finds imports without parsing, which would take 0.1 s in each process. It also finds text in a docstring that looks
# like an import, so the digest may change more often than necessary.
_IMPORT = re.compile(r"^[ \t]*(?:from[ \t]+(\S+)[ \t]+import[ \t]*(\([^)]*\)|.*)|import[ \t]+(.*))", re.MULTILINE)


@cache
def _imports(path: Path) -> frozenset[Path]:
    """Return the package's files that a Python file imports by name, and the file itself if it is in the package."""
    names = {".".join(path.relative_to(PACKAGE.parent).with_suffix("").parts)} if PACKAGE in path.parents else set()
    text = path.read_text(encoding="utf-8", errors="replace").replace("\\\n", " ")
    for module, members, modules in _IMPORT.findall(text):
        listed = re.findall(r"[\w.]+", modules) or [module]
        names.update(listed, (f"{module}.{member}" for member in re.findall(r"\w+", members)))
    files: set[Path] = set()
    for name in names:
        first, *rest = name.split(".")
        if first == PACKAGE.name:
            place = PACKAGE.joinpath(*rest)
            files.update(each for each in (place.with_suffix(".py"), place / "__init__.py") if each.is_file())
    return frozenset(files)


def _with_imports(paths: Iterable[Path]) -> set[Path]:
    """Return the files and all files of the package that they import, directly or indirectly."""
    files: set[Path] = set()
    waiting = set(paths)
    while waiting:
        path = waiting.pop()
        files.add(path)
        waiting |= _imports(path) - files
    return files


@cache
def source_digest(place: Path) -> str:
    """Return a hex digest of the names and contents of `place` and the package's files that it imports.

    `place` is a file of this package, or a folder elsewhere. In a folder that is a package, all Python files count; in
    other folders only those directly in it.
    """
    if place.is_file():
        files = {place}
    else:
        packaged = (place / "__init__.py").is_file()
        files = {path for path in (place.rglob("*.py") if packaged else place.glob("*.py")) if path.is_file()}
    digest = hashlib.sha256()
    for path in sorted(_with_imports(files)):
        base = PACKAGE if PACKAGE in path.parents else place
        digest.update(str(path.relative_to(base)).encode() + b"\0")
        digest.update(path.read_bytes() + b"\0")
    return digest.hexdigest()[:12]


def _digest_for(function: Callable[..., Any]) -> str | None:
    """Return a digest of all source that the function can call; None for closures and functions without a file."""
    path = Path(function.__code__.co_filename)
    if function.__closure__ or not path.is_file():
        return None
    path = path.resolve()
    if PACKAGE in path.parents:
        return source_digest(path)
    folder = path.parent
    while (folder.parent / "__init__.py").is_file():
        folder = folder.parent
    return source_digest(folder)


def _compile(function: types.FunctionType, name: str | None) -> Callable[..., Any]:
    if name is not None:
        function.__qualname__ = f"{function.__qualname__}_{name}"
    if DISABLED:
        return function
    njit: Any = numba.njit  # its stubs lack some of the options
    options: dict[str, Any] = {
        "no_cfunc_wrapper": True,  # nothing calls a kernel from C, and that code takes time to compile
        "_nrt": not getattr(function, _ALLOCATES_NOTHING, False),
        "forceinline": getattr(function, _INLINED, False),
        "pipeline_class": Linking,
    }
    compiled = njit(nogil=not getattr(function, _KEEPS_GIL, False), **options)(function)
    # Most kernels are only called by kernels and need no code that unpacks Python objects.
    for_kernels = njit(nogil=True, no_cpython_wrapper=True, **options)(function)
    compiled.get_overload = for_kernels.get_overload
    compiled.get_call_template = _template(for_kernels.get_call_template)
    if name is not None:
        try:
            compiled._cache = MachineCode(function)
            for_kernels._cache = MachineCode(function, "for kernels", Loading)
        except RuntimeError:  # its text names the kernel: it would cause a warning per kernel
            warn_once("kernels are compiled in each process, as no folder for their machine code can be written")
    return compiled


def _template(template_for: Callable[..., Any]) -> Callable[..., Any]:
    """Wrap `template_for` to remove constants from types: Numba would compile a version per constant argument."""
    return lambda args, kws: template_for(tuple(map(numba.types.unliteral, args)), kws)


def allocates_nothing(function: Function) -> Function:
    """Declare that neither the function nor its callees make an array. A decorator below `kernel` or on a template.

    Numba then counts no references to the arguments, which saves a tenth of the time for short rows. For a template,
    all kernels that it names must be declared in the same way.
    """
    setattr(function, _ALLOCATES_NOTHING, True)
    return function


def inlined(function: Function) -> Function:
    """Inline the function in each caller. A decorator below `kernel` or on a template.

    Use it for short functions that are called very often: a call passes each array as seven numbers.
    """
    setattr(function, _INLINED, True)
    return function


def keeps_gil(function: Function) -> Function:
    """Keep the GIL during calls of a template that take less time than releasing the GIL. A decorator."""
    setattr(function, _KEEPS_GIL, True)
    return function


def kernel(function: Callable[..., Any]) -> Callable[..., Any]:
    """Compile `function` on its first call, without the GIL, and cache the machine code on disk. A decorator.

    A closure or a function from a notebook is compiled in each process.
    """
    assert isinstance(function, types.FunctionType)
    return _compile(function, _digest_for(function))


def wrapping_kernel(function: Callable[..., Any]) -> Callable[..., Any]:
    """Compile like `kernel`, for arithmetic that overflows on purpose: without the JIT, suppress NumPy's warnings."""
    if not DISABLED:
        return kernel(function)

    @wraps(function)
    def quiet(*args: Any) -> Any:
        with np.errstate(over="ignore"):
            return function(*args)

    return quiet


def specialise(template: Callable[..., Any], **kernels: Callable[..., Any]) -> Callable[..., Any]:
    """Compile a copy of the plain function `template` whose global names are bound to the given `kernels`.

    If a function takes kernels as arguments or closes over them, Numba recompiles it in every process. A copy with its
    own globals and qualified name is cached like other kernels. Kernels that the template does not name are ignored.
    """
    assert isinstance(template, types.FunctionType)
    kernels = {name: function for name, function in kernels.items() if name in template.__code__.co_names}
    copy = types.FunctionType(
        template.__code__, {**template.__globals__, **kernels}, template.__name__, template.__defaults__
    )
    copy.__qualname__ = template.__qualname__
    copy.__module__ = template.__module__
    sources = [getattr(function, "py_func", function) for function in (template, *kernels.values())]
    if all(getattr(source, _ALLOCATES_NOTHING, False) for source in sources):
        allocates_nothing(copy)
    for mark in (_KEEPS_GIL, _INLINED):
        if getattr(template, mark, False):
            setattr(copy, mark, True)
    digests = [_digest_for(template)]
    bound = hashlib.sha256()
    for name, function in sorted(kernels.items()):
        source = getattr(function, "py_func", function)
        digests.append(None if getattr(source, _ANEW, False) else _digest_for(source))
        bound.update(f"{name}={source.__module__}.{source.__qualname__};".encode())
    known = [digest for digest in digests if digest is not None]
    if len(known) < len(digests):
        setattr(copy, _ANEW, True)
        return _compile(copy, None)
    bound.update(";".join(known).encode())
    return _compile(copy, bound.hexdigest()[:12])


def entry(kernel: Callable[..., Any], *arguments: Any) -> Callable[..., Any]:
    """Compile a kernel for arguments of exactly these types; Python calls the result in half the time.

    A kernel checks the types of all arguments at each call. This function omits the check, so it would read an array of
    another dtype as if it had this one.
    """
    if DISABLED:
        return kernel
    compiled: Callable[..., Any] = kernel.compile(tuple(map(numba.typeof, arguments)))  # type: ignore[attr-defined]
    return compiled
