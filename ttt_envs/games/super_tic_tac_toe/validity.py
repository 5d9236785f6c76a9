"""Invariants of the states of Super Tic-Tac-Toe."""

from collections.abc import Iterator
from typing import Any

import numpy as np

from ttt_envs.core.state import States
from ttt_envs.games.super_tic_tac_toe.rules import ALL, ANYWHERE, HAS_LINE, MEMBERS

_BITS = 1 << np.arange(9)


def set_of(members: np.ndarray) -> np.ndarray:
    """int64 (...): the sets of bool (..., 9), see `rules`."""
    return np.asarray(members @ _BITS)


def playable_of(states: Any) -> np.ndarray:
    """int64 (...): the small boards that are not full, nor, if won boards are closed, anybody's."""
    owned = states["owned"][..., 0] | states["owned"][..., 1]
    full = set_of(states["marks"][..., 0, :] | states["marks"][..., 1, :] == ALL)
    return np.asarray(ALL & ~(full | np.where(states["closed"], owned, 0)))


def invariants(states: States) -> Iterator[tuple[np.ndarray, str]]:
    """See `core.validity.Invariants`."""
    marks, owned, going = states["marks"], states["owned"], ~states["done"]
    x, o = marks[:, 0], marks[:, 1]
    yield ((x & o) == 0).all(axis=1), "no cell holds two marks"
    yield (owned[:, 0] & owned[:, 1]) == 0, "no small board belongs to both players"
    yield (
        states["playable"] == playable_of(states),
        "`playable` must be the small boards that are neither full nor closed",
    )
    sizes = MEMBERS[marks].sum(axis=(2, 3))
    yield states["ply"] == sizes.sum(axis=1), "there must be as many marks as plies"
    yield sizes[:, 0] - sizes[:, 1] == states["to_move"], "X moves first, and then the players in turn"
    has_line, owns = HAS_LINE[marks], MEMBERS[owned]
    rule = "`owned` must be small boards in which the player has a line; where there is one, somebody owns the board"
    yield (~(owns & ~has_line).any(axis=1) & (owns.any(axis=1) == has_line.any(axis=1))).all(axis=1), rule
    yield ~(going & HAS_LINE[owned].any(axis=1)), "three small boards of one player in a row end the game"
    aimed = MEMBERS[states["playable"], np.maximum(states["target"], 0)]
    yield ~going | (states["target"] == ANYWHERE) | aimed, "nobody can be sent to a small board that is full or closed"
