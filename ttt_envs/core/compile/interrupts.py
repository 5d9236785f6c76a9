"""Ctrl-C while Numba compiles: LLVM calls back to Python, where an exception would be printed and dropped.

Code that calls LLVM then misses a function, and raises RuntimeError instead of KeyboardInterrupt.
"""

import signal
import threading
from typing import Any

from numba.core import event


class HeldInterrupts(event.Listener):
    """Holds SIGINT back until the function that is being compiled is done; its handler is then called.

    In the main thread, the only one that signals reach, and where the handler is a function of Python.
    """

    def __init__(self) -> None:
        self._depth = 0
        self._before: Any = None
        self._asked: tuple[Any, ...] | None = None

    def on_start(self, event: Any) -> None:
        """A function is compiled now, which may be for another one that is."""
        if not self._depth and threading.current_thread() is threading.main_thread():
            handler = signal.getsignal(signal.SIGINT)
            if callable(handler) and not isinstance(handler, signal.Handlers):
                self._asked, self._before = None, handler
                signal.signal(signal.SIGINT, self._note)
        self._depth += 1

    def on_end(self, event: Any) -> None:
        """A function has been compiled, or could not be."""
        self._depth = max(self._depth - 1, 0)
        if self._before is not None and (self._asked or not self._depth):
            self.let_go()

    def let_go(self) -> None:
        """Put the handler back, unless another one was set meanwhile, and call it if there was a signal."""
        before, asked = self._before, self._asked
        self._before = self._asked = None
        if before is not None and signal.getsignal(signal.SIGINT) == self._note:
            signal.signal(signal.SIGINT, before)
        if asked:
            before(*asked)  # no second signal: one that is told of signals by a file, as asyncio is, has been told

    def forget(self) -> None:
        """In a forked process, where nothing is being compiled."""
        self._depth = 0
        self._asked = None
        self.let_go()

    def _note(self, *given: Any) -> None:
        self._asked = given
