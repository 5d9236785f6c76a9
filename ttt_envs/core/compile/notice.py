"""Word for people that machine code is being compiled, which the command `ttt` passes on: it may take a minute."""

import time
from collections.abc import Callable

# Seconds of compiling after which it is worth a word.
_LONG = 1.5


class Notice:
    """Tells once that kernels are being compiled, if that takes long."""

    def __init__(self, tell: Callable[[], None]) -> None:
        """`tell`: called once at most."""
        self._tell, self._told = tell, False
        self._depth, self._seconds, self._since = 0, 0.0, 0.0

    def begins(self) -> None:
        """A kernel is compiled now, which may be for another one that is."""
        now = time.monotonic()
        self._depth += 1
        if self._depth == 1:
            self._since = now
        if not self._told and self._seconds + now - self._since > _LONG:
            self._told = True
            self._tell()

    def ends(self) -> None:
        """A kernel has been compiled."""
        self._depth = max(self._depth - 1, 0)
        if not self._depth:
            self._seconds += time.monotonic() - self._since


#: The listener for all compilation, or None.
notice: Notice | None = None


def announce(tell: Callable[[], None] | None) -> None:
    """Have `tell` called when compiling takes long; None for no more."""
    global notice
    notice = None if tell is None else Notice(tell)
