"""The server: `serve` answers browsers until it is interrupted."""

import ipaddress
import socket
import sys
import threading
import webbrowser
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

from ttt_envs.storage.extras import require
from ttt_envs.storage.files import locked_file


def default_data() -> Path:
    """The file of games that is used where no other is named."""
    from platformdirs import user_data_path

    return user_data_path("ttt_envs") / "games.sqlite"


def is_loopback(host: str) -> bool:
    """True if only this machine can reach the address."""
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"


def _is_any(host: str) -> bool:
    """True for 0.0.0.0 and ::, all addresses of this machine."""
    try:
        return ipaddress.ip_address(host).is_unspecified
    except ValueError:
        return False


def serve(
    host: str = "127.0.0.1",
    port: int = 8000,
    *,
    agents: Sequence[str] = (),
    records: Path | None = None,
    data: Path | None = None,
    opening: bool = False,
) -> None:
    """Serve the page until interrupted; the address is printed.

    Args:
        host: address or name to listen at; others than this machine's own are warned of.
        port: its port; 0 for one that is free.
        agents: agents that may be asked for beside the library's own, as texts for `agents.load`.
        records: folder with files of recorded games that may be looked at.
        data: file that keeps the games; by default one in the user's data folder.
        opening: open the page in the user's browser.

    Raises:
        ImportError: the extra `web` is not installed; it names the command that does it.
        OSError: the port is in use, or the host or a file is none; it names them.
        InUse: another server uses the file of games.
        ValueError: a wrong port, an agent that cannot be loaded, or a file that is no file of games.
    """
    require("web", "starlette", "uvicorn")
    import uvicorn

    from ttt_envs.web.app import make_app
    from ttt_envs.web.connections import protocol
    from ttt_envs.web.guard import LARGEST_PORT
    from ttt_envs.web.hall import Hall
    from ttt_envs.web.recorded import Records

    if not 0 <= port <= LARGEST_PORT:
        raise ValueError(f"port must be from 0 to {LARGEST_PORT}, not {port}")
    path = default_data() if data is None else data
    found = Records(records)
    listening = _listening(host, port)
    with listening, locked_file(path):
        hall = Hall(path, agents)
        number = listening.getsockname()[1]
        # A page that is open would be waited for: streams are ended first.
        config = uvicorn.Config(
            make_app(hall, found, names=[host]),
            log_level="warning",
            log_config=None,  # uvicorn's own would close all handlers that others have set up
            access_log=False,
            server_header=False,
            timeout_graceful_shutdown=3,
            limit_concurrency=1000,
            http=protocol(),
        )

        class Server(uvicorn.Server):
            async def shutdown(self, sockets: Any = None) -> None:
                hall.close()
                await super().shutdown(sockets)

        here = host if not _is_any(host) else "::1" if ":" in host else "127.0.0.1"
        shown = f"[{here}]" if ":" in here else here
        print(f"Play at http://{shown}:{number}/ (Ctrl-C ends the server; its games are kept in {path})", flush=True)
        if opening:  # what listens already answers as soon as the server runs
            threading.Thread(target=webbrowser.open, args=(f"http://{shown}:{number}/",), daemon=True).start()
        if not is_loopback(host):
            where = f" at http://ADDRESS:{number}/, with its address" if _is_any(host) else ""
            print(
                f"Everybody who can reach this machine{where} can play, and let agents think on it. The connection is "
                "not encrypted: in a network that you do not trust, put a server with TLS before it.",
                file=sys.stderr,
            )
        with suppress(KeyboardInterrupt):  # that is how it ends
            Server(config).run(sockets=[listening])


def _listening(host: str, port: int) -> socket.socket:
    """A socket that listens there; raises OSError saying what is wrong with the host or the port."""
    try:
        family, kind, protocol, _, address = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)[0]
    except OSError:
        raise OSError(f"there is no host {host!r}: --host takes an address or a name of this machine") from None
    found = socket.socket(family, kind, protocol)
    try:
        found.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        found.bind(address)
        found.listen()
    except OSError as error:
        found.close()
        hint = "choose another --port, or 0 for any that is free"
        raise OSError(f"the server cannot listen at {host}, port {port}: {error.strerror}; {hint}") from None
    return found
