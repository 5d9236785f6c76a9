"""Symmetries of Connect Four: the mirror image, and exchanging the two players."""

import numpy as np

from ttt_envs.dev import Symmetry, rotate_header


def symmetries(rows: int, columns: int) -> tuple[Symmetry, ...]:
    """Return the board seen from behind."""
    number = rows * columns
    cells = np.arange(number).reshape(rows, columns)[:, ::-1].ravel()
    features = np.concatenate([cells, number + cells, [2 * number]])
    return (Symmetry("mirror", np.arange(columns)[::-1], features, _mirrored),)


def _mirrored(states: np.ndarray) -> np.ndarray:
    new = states.copy()
    new["cells"] = states["cells"][:, :, ::-1]
    return new


def rotate_players(states: np.ndarray) -> np.ndarray:
    """Return the states (n,) with X's part and O's exchanged."""
    new = rotate_header(states)
    new["cells"] = np.array([0, 2, 1])[states["cells"]]
    return new
