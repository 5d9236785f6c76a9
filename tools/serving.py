"""The server of `ttt serve` in a thread of this process, for tests and screenshots of its page."""

import threading
import time
from collections.abc import Sequence
from pathlib import Path
from types import TracebackType

from ttt_envs.web.server import listening_at, make_server


class Served:
    """Runs a server inside a `with` statement; `records` is the server's folder of recorded games.

    Attributes:
        address: the URL of the page, without a slash at the end.
        hall: the server's games; the caller can add more.
    """

    def __init__(self, records: Path, agents: Sequence[str] = ()) -> None:
        """Prepare the server without starting it."""
        self._server, self.hall = make_server(agents, records)

    def __enter__(self) -> "Served":
        """Start the server; raise RuntimeError if that takes more than a minute."""
        self._socket = listening_at(0)
        self.address = f"http://127.0.0.1:{self._socket.getsockname()[1]}"
        self._thread = threading.Thread(target=self._server.run, kwargs={"sockets": [self._socket]}, daemon=True)
        self._thread.start()
        until = time.monotonic() + 60
        while not self._server.started:
            if time.monotonic() > until:
                raise RuntimeError("the server has not started")
            time.sleep(0.01)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        """Stop the server."""
        self._server.should_exit = True
        self._thread.join(20)
        self._socket.close()
