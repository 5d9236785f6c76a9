"""Symmetries of Super Tic-Tac-Toe: rotations and reflections of the board, and exchange of the players."""

from collections.abc import Iterator
from functools import partial

import numpy as np

from ttt_envs.core.state import States
from ttt_envs.core.symmetry import Symmetry, dihedral, rotate_header
from ttt_envs.games.super_tic_tac_toe import rules
from ttt_envs.games.super_tic_tac_toe.text import cells_of, owners_of, put


def symmetries() -> Iterator[Symmetry]:
    """Yield the 8 symmetries of the square, each applied to the boards and to the cells in them."""
    for name, turn in dihedral(3).items():
        cells = (9 * turn[:, None] + turn[None, :]).ravel()
        features = np.concatenate([cells, 81 + cells, 162 + turn, 171 + turn, 180 + turn, [189, 190]])
        yield Symmetry(name, cells, features, partial(_turned, turn=turn))


def _turned(states: States, turn: np.ndarray) -> np.ndarray:
    new = states.copy()
    put(new, cells_of(states)[:, turn][:, :, turn], owners_of(states)[:, turn])
    where = np.argsort(turn)
    new["target"] = np.where(states["target"] < 0, states["target"], where[states["target"]])
    board, cell = states["last_action"] // 9, states["last_action"] % 9
    new["last_action"] = np.where(states["last_action"] < 0, rules.NONE, 9 * where[board] + where[cell])
    return new


def rotate_players(states: States) -> np.ndarray:
    """Return the states, (n,), with X and O exchanged."""
    new = rotate_header(states)
    for name in ("marks", "owned"):
        new[name] = states[name][:, ::-1]
    return new
