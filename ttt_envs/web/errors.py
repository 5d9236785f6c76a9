"""Checks of requests, and the error for requests that the server refuses."""

from collections.abc import Mapping
from typing import Any

from starlette.requests import Request

from ttt_envs.core.options import unknown
from ttt_envs.storage.untrusted import brief, read_json


class Refused(Exception):
    """Raised for a request that the server refuses.

    Attributes:
        status: HTTP status code.
        reason: the explanation for the user.
    """

    def __init__(self, status: int, reason: str) -> None:
        super().__init__(reason)
        self.status, self.reason = status, reason


async def body_of(request: Request, *names: str) -> Mapping[str, Any]:
    """Return the JSON object of a request's body; raise Refused unless it has exactly these keys."""
    try:
        found = read_json(await request.body())
    except ValueError as error:
        raise Refused(400, f"the body is no JSON: {brief(str(error))}") from None
    if not isinstance(found, dict):
        raise Refused(400, "the body must be a JSON object")
    for name in found:
        if name not in names:
            raise Refused(400, unknown("key", brief(name), names))
    for name in names:
        if name not in found:
            raise Refused(400, f"the key {name!r} is missing")
    return found


def text(found: Any, name: str) -> str:
    """Return `found` if it is a text; otherwise raise Refused with `name` in the message."""
    # JSON may contain a lone surrogate, which is not a valid character.
    if not isinstance(found, str) or any("\ud800" <= each <= "\udfff" for each in found):
        raise Refused(400, f"{name} must be a text")
    return found


def texts(found: Any, name: str) -> dict[str, str]:
    """Return `found` if it is a JSON object of texts; otherwise raise Refused with `name` in the message."""
    if not isinstance(found, dict):
        raise Refused(400, f"{name} must be a JSON object of texts")
    return {text(key, f"a name in {name}"): text(value, f"{name}: {brief(key)}") for key, value in found.items()}


def whole(found: Any, name: str, high: int) -> int:
    """Return `found` if it is a whole number from 0 to `high`; otherwise raise Refused with `name` in the message."""
    if type(found) is not int or not 0 <= found <= high:
        raise Refused(400, f"{name} must be a whole number from 0 to {high}")
    return found


def digits(given: str, name: str, high: int) -> int:
    """Return a part of the address as a whole number from 0 to `high`; raise Refused, with `name`, if it is none."""
    if not (given.isascii() and given.isdecimal() and len(given) < 19):
        raise Refused(400, f"{name} must be a whole number from 0 to {high}")
    return whole(int(given), name, high)
