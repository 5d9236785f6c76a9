"""Presence: what is done for a request ends when its client goes, and what it sends beyond a refusal is not read."""

import asyncio

from starlette.datastructures import MutableHeaders
from starlette.types import ASGIApp, Message, Receive, Scope, Send


class Presence:
    """ASGI middleware for that."""

    def __init__(self, app: ASGIApp) -> None:
        self.app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer a request, unless its client goes away before."""
        if scope["type"] != "http":
            await self.app(scope, receive, send)
            return
        # One part, so that no more of a body is read than the application takes.
        parts: asyncio.Queue[Message] = asyncio.Queue(1)
        body_read = answered = False

        async def read() -> None:
            nonlocal body_read
            while (message := await receive())["type"] != "http.disconnect":
                body_read = not message.get("more_body", False)
                await parts.put(message)
            if not answered:
                answering.cancel()

        async def receive_part() -> Message:
            return await parts.get()

        async def send_part(message: Message) -> None:
            nonlocal answered
            if message["type"] == "http.response.start" and not body_read and has_body(scope):
                MutableHeaders(scope=message)["connection"] = "close"
            answered = message["type"] == "http.response.body" and not message.get("more_body", False)
            await send(message)

        reading = asyncio.create_task(read())
        answering = asyncio.ensure_future(self.app(scope, receive_part, send_part))
        try:
            await asyncio.wait({answering})
        finally:
            reading.cancel()
            answering.cancel()
        if not answering.cancelled():
            answering.result()


def has_body(scope: Scope) -> bool:
    """True if a request's head announces a body."""
    headers = dict(scope["headers"])
    return b"transfer-encoding" in headers or headers.get(b"content-length", b"0") != b"0"
