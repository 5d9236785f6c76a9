"""On-disk cache of compiled kernels: one file per kernel and signature.

It replaces Numba's own cache, which raises an error for a damaged file, and loses or mixes up entries when two
processes write the index of one kernel. This cache has no index: a file's name is a digest of everything that its
contents depend on. The first bytes are a digest of the rest; if they do not match, the kernel is recompiled and the
file replaced.

A file contains a pickle, which can run code when it is loaded. docs/reliability.md says who may write to the folder.
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
    """Warn, at most once per message and process."""
    warnings.warn(message, RuntimeWarning, stacklevel=3)


class MachineCode:
    """The cached files of one kernel, with the methods that Numba's dispatcher expects of a cache.

    Attributes:
        compiled: for each kernel that this process compiled, because it was not on disk, the folder of its files.
    """

    compiled: ClassVar[list[Path]] = []

    def __init__(
        self, function: Callable[..., Any], version: str = "", loading: Callable[[Any], Any] | None = None
    ) -> None:
        """Find the folder: NUMBA_CACHE_DIR, the source's `__pycache__`, or the user's cache.

        `version` distinguishes compilations of one function with different options. `loading` wraps the Numba target
        with which files are read, see `linking.Loading`.

        Raises RuntimeError if none of the folders is writeable.
        """
        from numba.core.caching import CompileResultCacheImpl

        self._version, self._loading = version, loading
        self._results = CompileResultCacheImpl(function)
        self._folder = Path(self._results.locator.get_cache_path())

    @property
    def cache_path(self) -> str:
        return str(self._folder)

    def _path(self, signature: Any, codegen: Any) -> Path:
        # The kernel's name, and with it the file's name, contains the digest of all its source, see `jit`.
        key = repr((numba.__version__, llvmlite.__version__, codegen.magic_tuple(), signature, self._version))
        return self._folder / f"{self._results.filename_base}.{_DIGEST(key.encode()).hexdigest()[:32]}.nbc"

    def load_overload(self, signature: Any, target: Any) -> Any:
        """Return the compiled code for a signature; None if its file is missing or damaged."""
        try:
            data = self._path(signature, target.codegen()).read_bytes()
        except OSError:
            data = b""
        if data[:_SIZE] != _DIGEST(data[_SIZE:]).digest():
            if notice.notice is not None:
                notice.notice.begins()
            return None
        target.refresh()
        return self._results.rebuild(self._loading(target) if self._loading else target, pickle.loads(data[_SIZE:]))

    def save_overload(self, signature: Any, result: Any) -> None:
        """Write the compiled code for a signature."""
        from numba.core.serialize import dumps

        if notice.notice is not None:
            notice.notice.ends()
        MachineCode.compiled.append(self._folder)
        if self._results.check_cachable(result):
            data = dumps(self._results.reduce(result))
            try:
                write_whole(self._path(signature, result.codegen), _DIGEST(data).digest() + data, wait=False)
            except OSError as error:  # its text names the file: it would cause a warning per file
                fault = os.strerror(error.errno) if error.errno else type(error).__name__
                warn_once(f"kernels are compiled in each process, as none can be kept in {self._folder}: {fault}")

    def flush(self) -> None:
        """Delete the kernel's files for all signatures."""
        for path in self._folder.glob(f"{self._results.filename_base}.*.nbc"):
            path.unlink(missing_ok=True)
