"""Symmetries of a game: relabellings of its board, and giving each player's part to the next."""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from ttt_envs.core.state import SIMULTANEOUS, read_only


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

    def __post_init__(self) -> None:
        # One game serves all environments of a process, and agents reach it.
        for name in ("actions", "features"):
            object.__setattr__(self, name, read_only(getattr(self, name)))

    def action(self, action: int) -> int:
        """The number of `action` on the transformed board."""
        return int(np.flatnonzero(self.actions == action)[0])


def dihedral(size: int) -> dict[str, np.ndarray]:
    """The 8 symmetries of a square board: name -> int64 (size*size,), `new[k] = old[permutation[k]]`."""
    board = np.arange(size * size).reshape(size, size)
    permutations = {}
    for turns in range(4):
        turned = np.rot90(board, -turns)
        permutations[f"rotate {90 * turns}"] = turned.ravel()
        permutations[f"mirror and rotate {90 * turns}"] = np.rot90(board[:, ::-1], -turns).ravel()
    return {name: permutation.astype(np.int64) for name, permutation in permutations.items()}


def rotate_header(states: np.ndarray) -> np.ndarray:
    """A copy of the states (n,) whose header is given to the next player: with it a game's `rotate_players` begins."""
    new, players = states.copy(), states["rewards"].shape[1]
    new["rewards"] = np.roll(states["rewards"], 1, axis=1)
    alone = states["to_move"] != SIMULTANEOUS
    new["to_move"] = np.where(alone, (states["to_move"] + 1) % players, SIMULTANEOUS)
    return new
