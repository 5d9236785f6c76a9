"""Interrupts that arrive at a moment of the training loop's choice."""

import signal
import threading
from typing import Any


class Interrupts:
    """A context in which SIGINT and SIGTERM are noted, and `check` raises KeyboardInterrupt.

    Raised by the signal itself, the exception could fall into the callback of a weak reference, where Python drops
    exceptions. A second signal does not wait for `check`. Outside the main thread, which alone receives signals, the
    context does nothing.
    """

    def __init__(self) -> None:
        self.asked = False
        self._previous: dict[signal.Signals, Any] = {}

    def __enter__(self) -> "Interrupts":
        if threading.current_thread() is threading.main_thread():
            self._previous = {number: signal.signal(number, self._note) for number in (signal.SIGINT, signal.SIGTERM)}
        return self

    def __exit__(self, *_: Any) -> None:
        for number, handler in self._previous.items():
            signal.signal(number, handler)

    def _note(self, *_: Any) -> None:
        if self.asked:
            raise KeyboardInterrupt
        self.asked = True

    def check(self) -> None:
        """Raise KeyboardInterrupt if a signal came."""
        if self.asked:
            raise KeyboardInterrupt
