"""What a program may pass by mistake, and how it is refused."""

from collections.abc import Callable
from typing import Any

import numpy as np

#: For an action, a seed, an agent, a position, an option or numbers of games.
GARBAGE: tuple[Any, ...] = (
    *(None, True, False, np.True_, 0.0, 1.5, float("nan"), float("inf"), 1j, "", "0", "player_9", b"", b"\0" * 99),
    *(-1, -(2**63), 2**31, 2**64, 2**200, np.int8(-1), np.uint64(2**64 - 1), np.float32(1), [], [0], (), {}, {0: 1}),
    *(np.array(0), np.array(1.0), np.array([0]), np.zeros((2, 2), int), np.array(["0"]), np.array(None), object, len),
    *([[0], [0, 1]], {"player_0": 0}, {"player_0": None, "player_1": [1]}, np.zeros(3, np.uint8), np.ones(5, bool)),
    *(np.zeros((3, 0), int), np.datetime64("2020-01-01"), slice(None), slice(0, 10**9, -1), range(3), Ellipsis),
)


def refused(call: Callable[[], Any], *kinds: type[Exception]) -> tuple[Any, str]:
    """The result of the call and "", or None and the message if it raises one of these errors."""
    try:
        return call(), ""
    except kinds as error:
        return None, str(error) or "an error without a message"
