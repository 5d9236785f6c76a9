"""The same game in another library, for agents that are written for it."""

from collections.abc import Callable, Sequence
from typing import NamedTuple

import numpy as np


class Counterpart(NamedTuple):
    """A game as OpenSpiel has it, with the same rules but with its own numbers of actions.

    An action here may be several there, one after the other, by the same player.

    Attributes:
        name: its name in OpenSpiel, with parameters if it needs them.
        history: (states (1,), since) -> OpenSpiel's actions from the start to this position, beginning with `since`,
            such as the history of an earlier position of the same game. Raises ValueError if there is none.
        action: (states (1,), OpenSpiel's actions by the player to move) -> the action here.
    """

    name: str
    history: Callable[[np.ndarray, Sequence[int]], list[int]]
    action: Callable[[np.ndarray, Sequence[int]], int]
