"""Symmetries of Tic-Tac Match: rotations and reflections of the board, and rotation of the seats."""

from collections.abc import Iterator
from functools import partial

import numpy as np

from ttt_envs.core.state import States
from ttt_envs.core.symmetry import Symmetry, dihedral, rotate_header
from ttt_envs.games.tic_tac_match import encoding, rules


def symmetries(players: int, deck: list[int], hand_size: int) -> Iterator[Symmetry]:
    """Yield the 8 symmetries of the square."""
    symbols, cells = len(deck) - 3, rules.CELLS
    blocks = encoding.blocks(players, deck, hand_size)
    count = rules.num_actions(players, symbols // 2)
    for name, permutation in dihedral(3).items():
        features, actions = np.arange(sum(block.size for block in blocks)), np.arange(count)
        for kind in range(symbols):
            actions[kind * cells : (kind + 1) * cells] = kind * cells + permutation
        for k in range(3 * symbols):  # tops, my lines, their lines
            features[k * cells : (k + 1) * cells] = k * cells + permutation
        yield Symmetry(name, actions, features, partial(_turned, permutation=permutation))


def _turned(states: States, permutation: np.ndarray) -> np.ndarray:
    new, laid = states.copy(), rules.CELLS * (states["pile"].shape[1] - 3)
    new["top"] = states["top"][:, permutation]

    def renamed(played: np.ndarray) -> np.ndarray:
        turned = played // rules.CELLS * rules.CELLS + np.argsort(permutation)[played % rules.CELLS]
        return np.where((played >= 0) & (played < laid), turned, played)

    new["last_action"] = renamed(states["last_action"])
    return new


def rotate_players(states: States) -> np.ndarray:
    """Return the states, (n,), with each player moved to the next seat."""
    new, players = rotate_header(states), states["identity"].shape[1]
    new["to_move"][states["done"]] = 0  # the rules set 0 in finished games; `rotate_header` has changed it
    for name in ("identity", "hand", "team_of"):
        new[name] = np.roll(states[name], 1, axis=1)
    new["last_player"] = np.where(states["last_player"] < 0, -1, (states["last_player"] + 1) % players)
    return new
