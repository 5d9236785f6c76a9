"""Symmetries of Connect Four: the mirror image, and exchanging the two players."""

import numpy as np

from ttt_envs.dev import Symmetry, rotate_header

from .encoding import CELLS
from .rules import COLUMNS


def symmetries() -> tuple[Symmetry, ...]:
    """The board seen from behind."""
    columns = np.arange(COLUMNS)[::-1]
    cells = np.arange(CELLS).reshape(-1, COLUMNS)[:, ::-1].ravel()
    return (Symmetry("mirror", columns, np.concatenate([cells, CELLS + cells, [2 * CELLS]]), _mirrored),)


def _mirrored(states: np.ndarray) -> np.ndarray:
    new = states.copy()
    new["cells"] = states["cells"][:, :, ::-1]
    return new


def rotate_players(states: np.ndarray) -> np.ndarray:
    """The states (n,) with X's part and O's exchanged."""
    new = rotate_header(states)
    new["cells"] = np.array([0, 2, 1])[states["cells"]]
    return new
