"""Symmetries of Operation Tic-Tac-Toe: rotations and reflections of the board, and exchange of the players."""

from collections.abc import Iterator
from functools import partial

import numpy as np

from ttt_envs.core.state import States
from ttt_envs.core.symmetry import Symmetry, dihedral, rotate_header
from ttt_envs.games.operation_tic_tac_toe import encoding, rules

# Each way in which a round can end, with X and O exchanged.
_OTHER_END = np.arange(len(rules.ENDS))
_OTHER_END[[rules.LINE_OF_X, rules.LINE_OF_O]] = rules.LINE_OF_O, rules.LINE_OF_X


def symmetries(features: int) -> Iterator[Symmetry]:
    """Yield the 8 symmetries of the square."""
    for name, rooms in dihedral(3).items():
        actions = _turned_actions(rooms)
        permutation = np.arange(features)
        for start in encoding.ROOM_FEATURES:
            permutation[start : start + rules.ROOMS] = start + rooms
        yield Symmetry(name, actions, permutation, partial(_turned, permutation=rooms, actions=actions))


def _turned_actions(permutation: np.ndarray) -> np.ndarray:
    """Return, for each action, the action that the symmetry turns into it: int64 (num_actions,)."""
    actions = np.arange(rules.NUM_ACTIONS)
    by_room = [rules.PLACE + rules.ROOMS * kind for kind in range(rules.KINDS)]
    for start in (*by_room, rules.PREDICT, rules.REMOVE, rules.MOVE, rules.GRAPPLE):
        actions[start : start + rules.ROOMS] = start + permutation
    pairs = [sorted(pair) for pair in permutation[rules.PAIRS].tolist()]
    before = [rules.PAIRS.tolist().index(pair) for pair in pairs]
    for start in (rules.PREDICT_TWO, rules.SWAP):
        actions[start : start + len(before)] = start + np.array(before)
    around = rules.NEXT[4]  # the centre stays where it is
    directions = [around.tolist().index(room) for room in permutation[around]]
    actions[rules.PUSH : rules.PUSH + len(directions)] = rules.PUSH + np.array(directions)
    return actions


def _turned(states: States, permutation: np.ndarray, actions: np.ndarray) -> np.ndarray:
    new = states.copy()
    new["board"] = states["board"][:, permutation]
    new["pending"] = _after(permutation)[states["pending"]]
    for name in ("last", "last_ability"):
        new[name] = _after(actions)[states[name]]
    return new


def _after(permutation: np.ndarray) -> np.ndarray:
    """Return the inverse of a permutation whose last entry, -1, stays in place."""
    return np.append(np.argsort(permutation), -1)


def rotate_players(states: States) -> np.ndarray:
    """Return the states, (n,), with the two players exchanged."""
    new = rotate_header(states)
    pieces = 2 * rules.KINDS
    board = states["board"].astype(np.int64)
    new["board"] = np.where(board == 0, 0, 1 + (board - 1 + rules.KINDS) % pieces)
    for name in ("last", "standing", "hacker_on", "wins", "given"):
        new[name] = states[name][:, ::-1]
    for name in ("placer", "first", "given_first"):
        new[name] = np.where(states[name] < 0, states[name], 1 - states[name])
    new["ended"] = _OTHER_END[states["ended"]]
    new["to_move"][states["done"]] = 0  # the rules set 0 in finished games; `rotate_header` has changed it
    return new
