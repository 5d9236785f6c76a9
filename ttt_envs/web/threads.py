"""Run agents in threads, so that the server can answer requests meanwhile."""

import asyncio
import threading
import traceback
from collections.abc import Callable
from contextlib import suppress
from typing import Any, TypeVar

from ttt_envs.storage.untrusted import printable

T = TypeVar("T")


class Ended(Exception):
    """Raised instead of an exception such as SystemExit, which would end the server."""


def said(error: BaseException) -> str:
    """Return an error as text, such as "ValueError: no move", even if its own `str` fails."""
    what = error.__cause__ if isinstance(error, Ended) else error
    return printable("".join(traceback.format_exception_only(what)))


def in_thread(work: Callable[..., T], *arguments: Any) -> "asyncio.Future[T]":
    """Run `work` in a daemon thread; raises the errors of `work`, or Ended."""
    loop = asyncio.get_running_loop()
    future: asyncio.Future[T] = loop.create_future()

    def tell(give: Callable[[Any], None], found: Any) -> None:
        with suppress(RuntimeError):  # the server has ended meanwhile
            loop.call_soon_threadsafe(lambda: None if future.done() else give(found))

    def run() -> None:
        try:
            found = work(*arguments)
        except BaseException as error:
            # Wrap what a future cannot hold (StopIteration), and what would end the event loop (such as SystemExit).
            if not isinstance(error, Exception) or isinstance(error, StopIteration):
                ended = Ended()
                ended.__cause__ = error
                error = ended
            tell(future.set_exception, error)
        else:
            tell(future.set_result, found)

    threading.Thread(target=run, daemon=True).start()
    return future
