"""Symmetries of a game, as permutations of its actions and of its observation features."""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np


@dataclass(frozen=True, eq=False)
class Symmetry:
    """A relabelling of the board that the rules do not notice.

    All permutations gather: `new[k] = old[permutation[k]]`. `actions` int64 (num_actions,), `features` int64
    (observation size,). `states` maps a structured array of states (n,) to the transformed states.
    """

    name: str
    actions: np.ndarray
    features: np.ndarray
    states: Callable[[np.ndarray], np.ndarray]

    def action(self, action: int) -> int:
        """What `action` is called on the transformed board."""
        return int(np.flatnonzero(self.actions == action)[0])


def dihedral(size: int) -> dict[str, np.ndarray]:
    """The 8 symmetries of a square board: name -> int64 (size*size,), `new[k] = old[permutation[k]]`."""
    board = np.arange(size * size).reshape(size, size)
    found = {}
    for turns in range(4):
        turned = np.rot90(board, -turns)
        found[f"rotate {90 * turns}"] = turned.ravel()
        found[f"mirror and rotate {90 * turns}"] = np.rot90(board[:, ::-1], -turns).ravel()
    return {name: permutation.astype(np.int64) for name, permutation in found.items()}
