"""The counterpart of a game in another library, for agents written for that library."""

from collections.abc import Callable, Sequence
from typing import NamedTuple

import numpy as np


class Counterpart(NamedTuple):
    """A game of OpenSpiel with the same rules but its own action numbers.

    One action of this library may correspond to several consecutive OpenSpiel actions of the same player.

    Attributes:
        name: its name in OpenSpiel, with parameters if it needs them.
        history: (states (1,), since) -> OpenSpiel's actions from the start to this position. They begin with `since`,
            for example the history of an earlier position of the same game. Raises ValueError if there is none.
        action: (states (1,), OpenSpiel's actions by the player to move) -> the action of this library.
    """

    name: str
    history: Callable[[np.ndarray, Sequence[int]], list[int]]
    action: Callable[[np.ndarray, Sequence[int]], int]
