"""The server: `serve` serves the page to browsers of this computer until it is interrupted."""

import socket
import threading
import webbrowser
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ttt_envs.core.options import within
from ttt_envs.storage.extras import require

if TYPE_CHECKING:
    import uvicorn

    from ttt_envs.web.games import Hall

#: The subfolder of the records folder in which games of the page are saved.
PLAYED = "played"


def serve(port: int = 8000, *, agents: Sequence[str] = (), records: Path | None = None, opening: bool = False) -> None:
    """Serve the page to this computer until interrupted, and print its address.

    Args:
        port: the port of the server; 0 for a free one.
        agents: further agents on offer besides the library's own, as texts for `agents.load`.
        records: folder of recorded games that the page lists; games of the page are saved in its subfolder `played`. By
            default a folder of the user's data.
        opening: whether to open the page in the user's browser.

    Raises:
        ImportError: the extra `web` is not installed; the message names the command.
        OSError: the port is in use, or the folder cannot be used; the message names it.
        ValueError: the port is wrong, or an agent cannot be loaded.
    """
    require("web", "starlette", "uvicorn")

    within(0, 65535, port=port)
    if records is None:
        from platformdirs import user_data_path

        records = user_data_path("ttt_envs", ensure_exists=True)
    with listening_at(port) as listening:
        server, hall = make_server(agents, records)
        address = f"http://127.0.0.1:{listening.getsockname()[1]}/"
        print(f"Play at {address} (Ctrl-C ends the server; games are saved in {hall.folder})", flush=True)
        if opening:  # what listens already answers as soon as the server runs
            threading.Thread(target=webbrowser.open, args=(address,), daemon=True).start()
        with suppress(KeyboardInterrupt):  # that is how it ends
            server.run(sockets=[listening])


def make_server(agents: Sequence[str], records: Path) -> "tuple[uvicorn.Server, Hall]":
    """Return a server that is not started yet, and its Hall of games; for arguments and errors see `serve`."""
    import uvicorn

    from ttt_envs.web.app import make_app
    from ttt_envs.web.games import Hall
    from ttt_envs.web.recorded import Records

    found = Records(records)
    hall = Hall(records / PLAYED, agents)
    config = uvicorn.Config(
        make_app(hall, found),
        log_level="warning",
        log_config=None,  # uvicorn's own would close all handlers that others have set up
        access_log=False,
        server_header=False,
        timeout_graceful_shutdown=3,
    )

    class Server(uvicorn.Server):
        async def shutdown(self, sockets: Any = None) -> None:
            hall.close()
            for task in self.server_state.tasks:  # answers that wait for an agent or a search: see `LocalOnly`
                task.cancel()
            await super().shutdown(sockets)

    return Server(config), hall


def listening_at(port: int) -> socket.socket:
    """Return a listening socket on 127.0.0.1; raises OSError, naming the port, if it is in use."""
    found = socket.socket()
    try:
        found.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        found.bind(("127.0.0.1", port))
        found.listen()
    except OSError as error:
        found.close()
        hint = "choose another --port, or 0 for any that is free"
        raise OSError(f"the server cannot listen at port {port}: {error.strerror}; {hint}") from None
    return found
