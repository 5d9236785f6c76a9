"""A notice for users that kernels are being compiled, which may take a minute; the command `ttt` prints it."""

import time
from collections.abc import Callable

# Seconds of compilation before the notice.
_LONG = 1.5


class Notice:
    """Calls a function once if the compilation of kernels takes long. Compilations may be nested."""

    def __init__(self, tell: Callable[[], None]) -> None:
        """`tell`: called at most once."""
        self._tell, self._told = tell, False
        self._depth, self._seconds, self._since = 0, 0.0, 0.0

    def begins(self) -> None:
        now = time.monotonic()
        self._depth += 1
        if self._depth == 1:
            self._since = now
        if not self._told and self._seconds + now - self._since > _LONG:
            self._told = True
            self._tell()

    def ends(self) -> None:
        self._depth = max(self._depth - 1, 0)
        if not self._depth:
            self._seconds += time.monotonic() - self._since


#: The listener for all compilation, or None.
notice: Notice | None = None


def announce(tell: Callable[[], None] | None) -> None:
    """Call `tell` when compilation takes long; None ends this."""
    global notice
    notice = None if tell is None else Notice(tell)
