"""Invariants of the states of Super Tic-Tac-Toe."""

from collections.abc import Iterator

import numpy as np

from ttt_envs.core.lines import lines
from ttt_envs.core.state import States
from ttt_envs.games.super_tic_tac_toe.rules import ANYWHERE, EMPTY

_LINES = lines(3, 3, 3)


def invariants(states: States) -> Iterator[tuple[np.ndarray, str]]:
    """See `core.validity.Invariants`."""
    cells, owner, going = states["cells"], states["owner"], ~states["done"]
    marks = (cells != EMPTY).sum(axis=2)
    yield (states["filled"] == marks).all(axis=1), "`filled` must be the number of marks in each small board"
    yield states["ply"] == marks.sum(axis=1), "there must be as many marks as plies"
    ahead = (cells == 1).sum(axis=(1, 2)) - (cells == 2).sum(axis=(1, 2))
    yield ahead == states["to_move"], "X moves first, and then the players in turn"
    has_line, owned = np.empty((2, *owner.shape), np.bool_), np.empty((2, *owner.shape), np.bool_)
    for player in range(2):
        has_line[player] = (cells[:, :, _LINES] == player + 1).all(axis=3).any(axis=2)
        owned[player] = owner == player + 1
    rule = "`owner` must be a player with a line in the small board, and somebody where there is one"
    fits = np.where(owner == EMPTY, ~has_line.any(axis=0), (owned & has_line).any(axis=0))
    yield np.all(fits, axis=1), rule
    wins = np.any(np.all(owned[:, :, _LINES], axis=3), axis=(0, 2))
    yield ~(going & wins), "three small boards of one player in a row end the game"
    playable = (states["filled"] < 9) & ~(states["closed"][:, None] & (owner != EMPTY))
    aimed = playable[np.arange(len(states)), np.maximum(states["target"], 0)]
    yield ~going | (states["target"] == ANYWHERE) | aimed, "nobody can be sent to a small board that is full or closed"
