"""Symmetries of the Tic-Tac-Dice family: rotations and reflections of the board, and exchange of the players."""

from collections.abc import Iterator
from functools import partial

import numpy as np

from ttt_envs.core.state import States
from ttt_envs.core.symmetry import Symmetry, dihedral, rotate_header
from ttt_envs.games.tic_tac_dice import encoding, rules

# Each way in which a round can end, with X and O exchanged.
_OTHER_END = np.arange(len(rules.ENDS))
_OTHER_END[[rules.ROW_OF_X, rules.ROW_OF_O, rules.MORE_OF_X, rules.MORE_OF_O]] = (
    rules.ROW_OF_O,
    rules.ROW_OF_X,
    rules.MORE_OF_O,
    rules.MORE_OF_X,
)


def symmetries(size: int, target: int) -> Iterator[Symmetry]:
    """Yield the 8 symmetries of the square."""
    cells, total = size * size, sum(block.size for block in encoding.blocks(size, target))
    for name, permutation in dihedral(size).items():
        features = np.arange(total)
        for k in range(rules.RANKS + 3):  # ranks, both players' markers, what can be claimed
            features[k * cells : (k + 1) * cells] = k * cells + permutation
        yield Symmetry(name, permutation, features, partial(_turned, permutation=permutation))


def _turned(states: States, permutation: np.ndarray) -> np.ndarray:
    new = states.copy()
    for name in ("rank", "owner"):
        new[name] = states[name][:, permutation]
    new["last_claim"] = np.where(states["last_claim"] < 0, rules.NONE, np.argsort(permutation)[states["last_claim"]])
    return new


def rotate_players(states: States) -> np.ndarray:
    """Return the states, (n,), with X and O exchanged."""
    new = rotate_header(states)
    new["owner"] = np.array([0, 2, 1])[states["owner"]]
    new["points"] = states["points"][:, ::-1]
    new["last"] = _OTHER_END[states["last"]]
    new["to_move"][states["done"]] = 0  # the rules set 0 in finished games; `rotate_header` has changed it
    return new
