"""The check that a request comes from this server's own page, and the headers of every response.

A page of another site must not use this server through the user's browser: neither by requests of its own (the check of
`Origin`), nor by DNS rebinding, that is, under the name of its own site (the check of `Host`).
"""

import asyncio
import re

from starlette.datastructures import Headers, MutableHeaders
from starlette.responses import JSONResponse
from starlette.types import ASGIApp, Message, Receive, Scope, Send

#: The host names of the local machine, with any port.
_OURS = re.compile(r"(localhost|127\.0\.0\.1|\[::1\])(:\d+)?", re.ASCII | re.IGNORECASE)

#: The page loads only files of this server, and other pages cannot embed it. Pictures are data URLs.
_POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; connect-src 'self'; "
    "base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
)

_HEADERS = {
    "content-security-policy": _POLICY,
    "cross-origin-resource-policy": "same-origin",
    "x-content-type-options": "nosniff",
}


class LocalOnly:
    """ASGI middleware that refuses requests with another host name and requests from pages of other sites."""

    def __init__(self, app: ASGIApp) -> None:
        self.app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass a request on, or refuse it."""
        if scope["type"] != "http":
            await self.app(scope, receive, send)
            return

        started = False

        async def send_with_headers(message: Message) -> None:
            nonlocal started
            if message["type"] == "http.response.start":
                started = True
                headers = MutableHeaders(scope=message)
                headers.update(_HEADERS)
                headers.setdefault("cache-control", "no-store")
            await send(message)

        headers = Headers(scope=scope)
        host = headers.get("host", "")
        app = self.app
        if not _OURS.fullmatch(host):
            app = _refusal("this server is not called by that name: open the address that it printed")
        elif headers.get("origin") not in (None, f"http://{host}"):
            app = _refusal("requests from pages of other sites are not answered")
        try:
            await app(scope, receive, send_with_headers)
        except asyncio.CancelledError:
            if started:
                raise
            await _refusal("the server has ended", 503)(scope, receive, send)


def _refusal(reason: str, status: int = 403) -> JSONResponse:
    return JSONResponse({"error": reason}, status)
