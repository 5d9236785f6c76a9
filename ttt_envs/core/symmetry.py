"""Symmetries of a game: relabellings of its board, and giving each player's part to the next; and patterns."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from ttt_envs.core.compile import jit
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
        """Return the number of `action` on the transformed board."""
        return int(np.flatnonzero(self.actions == action)[0])


def dihedral(size: int) -> dict[str, np.ndarray]:
    """Return the 8 symmetries of a square board: name -> int64 (size*size,), `new[k] = old[permutation[k]]`."""
    board = np.arange(size * size).reshape(size, size)
    permutations = {}
    for turns in range(4):
        turned = np.rot90(board, -turns)
        permutations[f"rotate {90 * turns}"] = turned.ravel()
        permutations[f"mirror and rotate {90 * turns}"] = np.rot90(board[:, ::-1], -turns).ravel()
    return {name: permutation.astype(np.int64) for name, permutation in permutations.items()}


def feature_turns(symmetries: Sequence[Symmetry], size: int) -> np.ndarray:
    """Return int64 (1 + symmetries, size): the identity and all symmetries as permutations of features."""
    return np.stack([np.arange(size), *(symmetry.features for symmetry in symmetries)])


@jit.kernel
def turn_to_first(seen, turns, which):  # type: ignore[no-untyped-def]
    """Replace observations by that of their images which comes first in the order of its numbers.

    Args:
        seen: int8 (n, players, size or more), what some players see of each position; they are turned together. What
            stands behind the features stays.
        turns: int64 (images, size), see `feature_turns`.
        which: int64 (n,), out: the row of `turns` that was chosen, the first one of those that give the same.
    """
    players, size = seen.shape[1], turns.shape[1]
    before = np.empty(size, seen.dtype)
    for i in range(seen.shape[0]):
        first = 0
        for turn in range(1, turns.shape[0]):
            order = np.int64(0)
            for player in range(players):
                for j in range(size):
                    order = np.int64(seen[i, player, turns[turn, j]]) - np.int64(seen[i, player, turns[first, j]])
                    if order != 0:
                        break
                if order != 0:
                    break
            if order < 0:
                first = turn
        which[i] = first
        if first > 0:
            for player in range(players):
                for j in range(size):
                    before[j] = seen[i, player, j]
                for j in range(size):
                    seen[i, player, j] = before[turns[first, j]]


def rotate_header(states: np.ndarray) -> np.ndarray:
    """Return a copy of the states (n,) with the header of the next player, for a game's `rotate_players`."""
    new, players = states.copy(), states["rewards"].shape[1]
    new["rewards"] = np.roll(states["rewards"], 1, axis=1)
    alone = states["to_move"] != SIMULTANEOUS
    new["to_move"] = np.where(alone, (states["to_move"] + 1) % players, SIMULTANEOUS)
    return new


class Patterns(NamedTuple):
    """The patterns of a game: what an n-tuple network looks its weights up by.

    The value of a position is the sum of the weights of the patterns found in it: Lucas, "Learning to play Othello with
    n-tuple systems", 2008.

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
