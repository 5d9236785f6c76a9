"""On-disk cache of compiled kernels: one file per kernel and signature.

It takes the place of Numba's own cache, which raises an error for a damaged file, and loses or mixes up entries when
two processes write the index of one kernel. Here there is no index: a file's name is a digest of all that its contents
depend on. Its first bytes are a digest of the rest; if they do not match, the kernel is recompiled and the file
replaced.

A file holds a pickle, which runs code when it is loaded. See docs/reliability.md for who may write the folder.
"""

import hashlib
import os
import pickle
import warnings
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any, ClassVar

import llvmlite
import numba

from ttt_envs.core.compile import notice
from ttt_envs.storage.files import write_whole

_DIGEST = hashlib.sha256
_SIZE = _DIGEST().digest_size


@cache
def warn_once(message: str) -> None:
    """Warn, once a process for each message."""
    warnings.warn(message, RuntimeWarning, stacklevel=3)


class MachineCode:
    """One kernel's files, as Numba's dispatcher asks for them: the methods have the names of Numba's caches.

    Attributes:
        compiled: the folder of each kernel that this process has compiled, as it was not on disk.
    """

    compiled: ClassVar[list[Path]] = []

    def __init__(
        self, function: Callable[..., Any], version: str = "", loading: Callable[[Any], Any] | None = None
    ) -> None:
        """Find the folder: NUMBA_CACHE_DIR, the source's `__pycache__`, or the user's cache.

        `version` tells apart what is compiled from one function with different options. `loading` makes of Numba's
        target the one for which files are read.

        Raises RuntimeError if none can be written.
        """
        from numba.core.caching import CompileResultCacheImpl

        self._version, self._loading = version, loading
        self._results = CompileResultCacheImpl(function)
        self._folder = Path(self._results.locator.get_cache_path())

    @property
    def cache_path(self) -> str:
        return str(self._folder)

    def _path(self, signature: Any, codegen: Any) -> Path:
        # The kernel's name, and so that of its files, holds the digest of all its source: see `jit`.
        key = repr((numba.__version__, llvmlite.__version__, codegen.magic_tuple(), signature, self._version))
        return self._folder / f"{self._results.filename_base}.{_DIGEST(key.encode()).hexdigest()[:32]}.nbc"

    def load_overload(self, signature: Any, target: Any) -> Any:
        """Return the result of compiling for a signature; None if there is none or not a whole one."""
        target.refresh()
        try:
            data = self._path(signature, target.codegen()).read_bytes()
        except OSError:
            data = b""
        if data[:_SIZE] != _DIGEST(data[_SIZE:]).digest():
            if notice.notice is not None:
                notice.notice.begins()
            return None
        return self._results.rebuild(self._loading(target) if self._loading else target, pickle.loads(data[_SIZE:]))

    def save_overload(self, signature: Any, result: Any) -> None:
        """Keep the result of compiling for a signature."""
        from numba.core.serialize import dumps

        if notice.notice is not None:
            notice.notice.ends()
        MachineCode.compiled.append(self._folder)
        if self._results.check_cachable(result):
            data = dumps(self._results.reduce(result))
            try:
                write_whole(self._path(signature, result.codegen), _DIGEST(data).digest() + data, wait=False)
            except OSError as error:  # its text names the file, and would make a warning for each
                fault = os.strerror(error.errno) if error.errno else type(error).__name__
                warn_once(f"kernels are compiled in each process, as none can be kept in {self._folder}: {fault}")

    def flush(self) -> None:
        """Forget what is on disk, for any signature."""
        for path in self._folder.glob(f"{self._results.filename_base}.*.nbc"):
            path.unlink(missing_ok=True)
