"""Patterns of a position: what an n-tuple network looks its weights up by.

The value of a position is the sum of the weights of the patterns found in it: Lucas, "Learning to play Othello with
n-tuple systems", 2008. A game that has patterns gives them in its folder.
"""

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np


class Patterns(NamedTuple):
    """The patterns of a game.

    Attributes:
        size: number of weights; patterns are numbers from 0 to size-1.
        number: patterns found in each position.
        find: kernel (state, player, out int64 (number,)): writes the patterns of a position after `player` has moved,
            as they see it. Equal positions under the board's symmetries and the rotation of the seats have the same
            patterns, in any order.
        prior: gives weights to begin to learn with, float32 (size,), for a game in which play without any knowledge
            comes to no result to learn from; None for zeros.
    """

    size: int
    number: int
    find: Callable[..., Any]
    prior: Callable[[], np.ndarray] | None = None
