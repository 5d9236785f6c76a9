"""Symmetries of Martian Tic-Tac-Toe: rotations and reflections of the board, and rotation of the players."""

from collections.abc import Iterator
from functools import partial

import numpy as np

from ttt_envs.core.state import States
from ttt_envs.core.symmetry import Symmetry, dihedral, rotate_header
from ttt_envs.games.martian_tic_tac_toe import encoding, rules


def symmetries(size: int, players: int, pieces: int, repetition_limit: int) -> Iterator[Symmetry]:
    """Yield the 8 symmetries of the square."""
    cells = size * size
    total = sum(block.size for block in encoding.blocks(size, players, pieces, repetition_limit))
    for name, permutation in dihedral(size).items():
        features = np.arange(total)
        for k in range(players * rules.SIZES):
            features[k * cells : (k + 1) * cells] = k * cells + permutation
        actions = (rules.SIZES * permutation[:, None] + np.arange(rules.SIZES)).ravel()
        yield Symmetry(name, actions, features, partial(_turned, permutation=permutation))


def _turned(states: States, permutation: np.ndarray) -> np.ndarray:
    new, where = states.copy(), np.argsort(permutation)
    new["piece"] = states["piece"][:, permutation]
    cell, size = states["last_action"] // rules.SIZES, states["last_action"] % rules.SIZES
    new["last_action"] = np.where(states["last_action"] < 0, rules.NONE, rules.SIZES * where[cell] + size)
    # An entry of the log is cell * base + rest; only the cell changes.
    players = states["stash"].shape[1]
    base = players * (rules.SIZES * players + 1)
    log = states["log"].astype(np.int64)
    turned = where[log // base] * base + log % base
    new["log"] = np.where(np.arange(log.shape[1]) < states["logged"][:, None], turned, 0)
    return new


def rotate_players(states: States) -> np.ndarray:
    """Return the states, (n,), with each player's role given to the next player."""
    new, players = rotate_header(states), states["stash"].shape[1]
    count = rules.SIZES * players
    pieces = np.concatenate([[0], 1 + (np.arange(count) + rules.SIZES) % count])
    new["piece"] = pieces[states["piece"]]
    new["stash"] = np.roll(states["stash"], 1, axis=1)
    # A log entry is (cell * number of pieces + piece) * players + player.
    log = states["log"].astype(np.int64)
    cells, replaced, movers = log // (players * len(pieces)), log // players % len(pieces), log % players
    rotated = (cells * len(pieces) + pieces[replaced]) * players + (movers + 1) % players
    new["log"] = np.where(np.arange(log.shape[1]) < states["logged"][:, None], rotated, 0)
    return new
