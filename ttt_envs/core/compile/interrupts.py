"""Postpone Ctrl-C while Numba compiles.

LLVM calls back to Python, which prints and drops exceptions there. A function is then missing, and the code that called
LLVM raises RuntimeError instead of KeyboardInterrupt.
"""

import signal
import threading
from typing import Any

from numba.core import event


class HeldInterrupts(event.Listener):
    """Postpones SIGINT until the current function is compiled, then calls the handler.

    It does so only in the main thread, because signals reach no other, and only if the handler is a Python function.
    Compilations may be nested.
    """

    def __init__(self) -> None:
        self._depth = 0
        self._before: Any = None
        self._asked: tuple[Any, ...] | None = None

    def on_start(self, event: Any) -> None:
        if not self._depth and threading.current_thread() is threading.main_thread():
            handler = signal.getsignal(signal.SIGINT)
            if callable(handler) and not isinstance(handler, signal.Handlers):
                self._asked, self._before = None, handler
                signal.signal(signal.SIGINT, self._note)
        self._depth += 1

    def on_end(self, event: Any) -> None:
        self._depth = max(self._depth - 1, 0)
        if self._before is not None and (self._asked or not self._depth):
            self.let_go()

    def let_go(self) -> None:
        """Restore the handler, unless another one was set meanwhile, and call it if there was a signal."""
        before, asked = self._before, self._asked
        self._before = self._asked = None
        if before is not None and signal.getsignal(signal.SIGINT) == self._note:
            signal.signal(signal.SIGINT, before)
        if asked:
            before(*asked)  # called directly: a second signal would also wake asyncio a second time

    def forget(self) -> None:
        """Reset the state in a forked process, which compiles nothing yet."""
        self._depth = 0
        self._asked = None
        self.let_go()

    def _note(self, *given: Any) -> None:
        self._asked = given
