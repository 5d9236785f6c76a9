"""Symmetries of a game: relabellings of the board and rotation of the players; and patterns."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from ttt_envs.core.compile import jit
from ttt_envs.core.state import SIMULTANEOUS, read_only


@dataclass(frozen=True, eq=False)
class Symmetry:
    """A relabelling of the board that leaves the rules unchanged.

    `actions` int64 (num_actions,) and `features` int64 (observation size,) are permutations:
    `new[k] = old[permutation[k]]`. `states` maps states (n,) to the transformed states.
    """

    name: str
    actions: np.ndarray
    features: np.ndarray
    states: Callable[[np.ndarray], np.ndarray]

    def __post_init__(self) -> None:
        # Read-only: all environments of a process share the game, and agents can access it.
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
    """Replace observations, in place, by their lexicographically first image under the symmetries.

    Args:
        seen: int8 (n, players, size or more), the observations of some players in each position, which are transformed
            together. Entries after the features do not change.
        turns: int64 (images, size), see `feature_turns`.
        which: int64 (n,), out: the chosen row of `turns`, the first of several with equal images.
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
    """Return a copy of the states (n,) with `rewards` and `to_move` moved to the next player; for `rotate_players`."""
    new, players = states.copy(), states["rewards"].shape[1]
    new["rewards"] = np.roll(states["rewards"], 1, axis=1)
    alone = states["to_move"] != SIMULTANEOUS
    new["to_move"] = np.where(alone, (states["to_move"] + 1) % players, SIMULTANEOUS)
    return new


class Patterns(NamedTuple):
    """The patterns of a game, by which an n-tuple network looks up its weights.

    The weights of a position's patterns add up to its value: Lucas, "Learning to play Othello with n-tuple systems",
    2008.

    Attributes:
        size: number of weights; patterns are numbers from 0 to size-1.
        number: the number of patterns in each position.
        find: kernel (state, player, out int64 (number,)): writes the patterns of a position, from the view of `player`,
            who has just moved. Positions that are equal under the board's symmetries and the rotation of the players
            have the same patterns, in any order.
        prior: () -> initial weights for learning, float32 (size,), for a game in which play without knowledge reaches
            no result to learn from; None for zeros.
    """

    size: int
    number: int
    find: Callable[..., Any]
    prior: Callable[[], np.ndarray] | None = None
