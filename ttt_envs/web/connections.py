"""Connections: those on which no request comes are closed, so that nobody can keep all others out by opening many."""

import asyncio
from typing import Any

from uvicorn.protocols.http.h11_impl import H11Protocol

from ttt_envs.web.refusals import PATIENCE


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
