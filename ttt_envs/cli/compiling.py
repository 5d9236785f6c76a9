"""Ctrl-C while Numba compiles: LLVM calls back to Python, where an exception would be printed and dropped."""

import signal
import threading
from functools import cache
from typing import Any

from numba.core import event

from ttt_envs.core.jit import DISABLED  # which has a listener that must be told first: this one may raise


class HeldInterrupts(event.Listener):
    """Holds SIGINT back until the function that is being compiled is done."""

    def __init__(self) -> None:
        self._depth, self._asked = 0, False
        self._before: Any = None

    def on_start(self, event: Any) -> None:
        """A function is compiled now, which may be for another one that is."""
        if not self._depth and threading.current_thread() is threading.main_thread():
            self._asked, self._before = False, signal.signal(signal.SIGINT, self._note)
        self._depth += 1

    def on_end(self, event: Any) -> None:
        """A function has been compiled, or could not be."""
        self._depth -= 1
        if self._before is not None and (self._asked or not self._depth):
            signal.signal(signal.SIGINT, self._before)
            self._before = None
            if self._asked:
                signal.raise_signal(signal.SIGINT)

    def _note(self, *_: Any) -> None:
        self._asked = True


@cache
def hold_interrupts() -> None:
    """Hold SIGINT back while a function is compiled, from now on."""
    if not DISABLED:
        event.register("numba:compile", HeldInterrupts())
