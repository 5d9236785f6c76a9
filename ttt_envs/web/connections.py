"""Connections: those on which no request comes are closed, so that nobody can keep all others out by opening many."""

import asyncio
from typing import Any

import uvicorn

from ttt_envs.core.machine_code import warn_once
from ttt_envs.storage.extras import missing_names
from ttt_envs.web.refusals import PATIENCE

# What this needs of uvicorn, and is no documented part of it: methods, and attributes that are set by `__init__`.
_MODULE = "uvicorn.protocols.http.h11_impl"
_PROTOCOL, _CYCLE = f"{_MODULE}:H11Protocol", f"{_MODULE}:RequestResponseCycle"
_METHODS = (f"{_PROTOCOL}.connection_made", f"{_PROTOCOL}.connection_lost")
_ATTRIBUTES = {_PROTOCOL: ("loop", "transport", "cycle"), _CYCLE: ("response_complete",)}


def missing() -> set[str]:
    """The inner names that the installed version of uvicorn does not have."""
    found = missing_names((*_METHODS, *(f"{each}.__init__.__code__" for each in _ATTRIBUTES)))
    if not found:
        from uvicorn.protocols.http import h11_impl

        for place, names in _ATTRIBUTES.items():
            set_there = getattr(h11_impl, place.partition(":")[2]).__init__.__code__.co_names
            found |= {f"{place}.{name}" for name in names if name not in set_there}
    return found


def protocol() -> Any:
    """The HTTP protocol for `uvicorn.Config`: `Impatient`, or uvicorn's own where that cannot be, with a warning."""
    lacking = missing()
    if not lacking:
        return _impatient()
    warn_once(
        f"uvicorn {uvicorn.__version__} has no {', '.join(sorted(lacking))}: idle connections are not closed, so that "
        "somebody who opens many keeps others out"
    )
    return "auto"


def _impatient() -> type[asyncio.Protocol]:
    from uvicorn.protocols.http.h11_impl import H11Protocol

    class Impatient(H11Protocol):
        """HTTP connections as uvicorn has them, which waits for ever for the head of a request."""

        def connection_made(self, transport: Any) -> None:
            """Begin to wait."""
            super().connection_made(transport)
            self._waits_since = self.loop.time()
            self._look()

        def connection_lost(self, exc: Exception | None) -> None:
            """Wait no more."""
            self._timer.cancel()
            super().connection_lost(exc)

        def _look(self) -> None:
            """Close the connection if no request was answered, or is being, for too long; else look again later."""
            now = self.loop.time()
            if self.cycle is not None and not self.cycle.response_complete:
                self._waits_since = now
            if now - self._waits_since > PATIENCE:
                self.transport.close()
            self._timer: asyncio.TimerHandle = self.loop.call_later(PATIENCE / 4, self._look)

    return Impatient
