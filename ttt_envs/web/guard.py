"""Guard: the checks that every request must pass before anything is done for it, and the headers of every answer.

A page of another site must not use this server by way of the browser of somebody who may: neither by requests of its
own (the checks of `Origin` and `Sec-Fetch-Site`), nor by pretending to be this server (DNS rebinding: the check of
`Host`). The cookie is `SameSite=Strict` beside that, since browsers count all ports of a host as one site.
"""

import ipaddress
import math
import re
import time
from collections import OrderedDict
from collections.abc import Collection
from contextvars import ContextVar

from starlette.datastructures import Headers, MutableHeaders
from starlette.responses import JSONResponse
from starlette.types import ASGIApp, Message, Receive, Scope, Send

#: Nothing but what this server sends is loaded, and nothing of it runs elsewhere. Pictures are given as data.
POLICY = "; ".join(
    (
        "default-src 'none'",
        "script-src 'self'",
        "style-src 'self'",
        "img-src 'self' data:",
        "connect-src 'self'",
        "base-uri 'none'",
        "form-action 'none'",
        "frame-ancestors 'none'",
    )
)

_HEADERS = {
    "content-security-policy": POLICY,
    "cross-origin-opener-policy": "same-origin",
    "cross-origin-resource-policy": "same-origin",
    "referrer-policy": "no-referrer",
    "x-content-type-options": "nosniff",
    "x-frame-options": "DENY",
}

#: The address that a request comes from, and so that of all that is done for it: tasks that it begins have it, too.
ASKER: ContextVar[str] = ContextVar("asker", default="")

#: Requests of one address a second, and how many may come at once.
PER_SECOND, AT_ONCE = 100.0, 400.0

# Addresses whose rates are remembered.
_ADDRESSES = 10_000

#: The largest number of a port.
LARGEST_PORT = 65535

# The header `Host`: a name, or an address that is numbers, in brackets if it has colons; and perhaps a port.
_HOST = re.compile(r"(?:\[(?P<numbers>[0-9a-f:.]+)\]|(?P<name>[^\s\[\]:/?#@\\]+))(?::(?P<port>[0-9]{0,5}))?", re.ASCII)

_LOOPBACK = ("localhost", "127.0.0.1", "::1")


class Rates:
    """Token buckets, one an address: so many requests a second, and so many at once."""

    def __init__(self, per_second: float, at_once: float) -> None:
        self.per_second, self.at_once = per_second, at_once
        self._buckets: OrderedDict[str, tuple[float, float]] = OrderedDict()

    def seconds_to_wait(self, address: str, cost: float = 1.0) -> float:
        """0 if a request is granted, which is counted; else the seconds after which it would be."""
        now = time.monotonic()
        left, since = self._buckets.pop(address, (self.at_once, now))
        left = min(left + (now - since) * self.per_second, self.at_once)
        granted = left >= cost
        self._buckets[address] = (left - cost if granted else left, now)
        if len(self._buckets) > _ADDRESSES:
            self._buckets.popitem(last=False)
        return 0.0 if granted else (cost - left) / self.per_second


class Guard:
    """ASGI middleware with these checks."""

    def __init__(self, app: ASGIApp, names: Collection[str], rates: Rates) -> None:
        """`names`: hosts by which the server may be called, beside this machine's own; addresses that are numbers
        are accepted where one of them is not of this machine, since no other site can pretend to have those.
        """
        self.app = app
        self.names = {*_LOOPBACK, *(name.lower() for name in names)}
        self.numbers = not self.names <= set(_LOOPBACK)
        self.rates = rates

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer a request, or refuse it."""
        if scope["type"] != "http":
            await self.app(scope, receive, send)
            return

        async def send_with_headers(message: Message) -> None:
            if message["type"] == "http.response.start":
                headers = MutableHeaders(scope=message)
                for name, value in _HEADERS.items():
                    headers[name] = value
                headers.setdefault("cache-control", "no-store")
            await send(message)

        headers = Headers(scope=scope)
        refusal = self._refusal(scope["method"], headers)
        if refusal is not None:
            await JSONResponse({"error": refusal}, 403)(scope, receive, send_with_headers)
            return
        ASKER.set(address_of(scope))
        wait = self.rates.seconds_to_wait(ASKER.get())
        if wait:
            again = {"retry-after": str(math.ceil(wait))}
            error = {"error": "too many requests at once; try again in a moment"}
            await JSONResponse(error, 429, again)(scope, receive, send_with_headers)
            return
        await self.app(scope, receive, send_with_headers)

    def _refusal(self, method: str, headers: Headers) -> str | None:
        """The reason why a request is not answered; None if nothing speaks against it."""
        host = headers.get("host", "")
        if not self._is_ours(host):
            return "this server is not called by that name: open the address that it printed"
        origin = headers.get("origin")
        if origin is not None and origin not in (f"http://{host}", f"https://{host}"):
            return "requests from pages of other sites are not answered"
        if headers.get("sec-fetch-site", "none") not in ("none", "same-origin") and not _is_visit(method, headers):
            return "requests from pages of other sites are not answered"
        return None

    def _is_ours(self, host: str) -> bool:
        name = _name_of(host)
        if name in self.names:
            return True
        if not self.numbers:
            return False
        try:
            ipaddress.ip_address(name)
        except ValueError:
            return False
        return True


def address_of(scope: Scope) -> str:
    """The address that a request comes from; of IPv6 the first 64 bits, as whoever has one has all with these."""
    address = (scope.get("client") or ("",))[0]
    try:
        found = ipaddress.ip_address(address)
    except ValueError:
        return str(address)
    if found.version == 4:
        return str(found)
    return str(found.ipv4_mapped or ipaddress.ip_network((int(found) >> 64 << 64, 64)))


def _name_of(host: str) -> str:
    """The name or address in the header `Host`, without the port; "" for what is none."""
    found = _HOST.fullmatch(host.lower())
    if found is None or int(found["port"] or 0) > LARGEST_PORT:
        return ""
    return found["numbers"] or found["name"] or ""


def _is_visit(method: str, headers: Headers) -> bool:
    """True if somebody follows a link to the page."""
    return (
        method == "GET" and headers.get("sec-fetch-mode") == "navigate" and headers.get("sec-fetch-dest") == "document"
    )
