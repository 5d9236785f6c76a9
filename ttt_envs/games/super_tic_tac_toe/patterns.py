"""Patterns of Super Tic-Tac-Toe, for n-tuple networks.

The patterns of a position, from the view of the player who has just moved:

- for each small board: its nine cells, whether the next mark must or may go there, and which players would win the game
  by owning it: 9 patterns;
- the owners of the small boards, and the target board of the next mark: 1 pattern;
- for each row, column and diagonal of small boards: the status of its three boards: 8 patterns.

Boards that are symmetric images of each other share their patterns.
"""

# mypy: disable-error-code="no-untyped-def, assignment"

import numpy as np

from ttt_envs.core.compile.jit import allocates_nothing, kernel
from ttt_envs.core.symmetry import Patterns, dihedral
from ttt_envs.games.super_tic_tac_toe.rules import ANYWHERE, MEMBERS, empty, is_owned

_POWERS = 3 ** np.arange(9)
_TURNS = np.array(list(dihedral(3).values()))
_LINES = np.array([[0, 1, 2], [3, 4, 5], [6, 7, 8], [0, 3, 6], [1, 4, 7], [2, 5, 8], [0, 4, 8], [2, 4, 6]])

#: The digits of nine cells as a number: 0 empty, 1 the player's, 2 the other player's.
_DIGITS = np.arange(3**9)[:, None] // _POWERS % 3

# Number of roles of a board: the next mark must not, must, or may go there.
_ROLES = 3
# Number of answers to the question who would win the game by owning a board: neither player, the player, the other
# player, both.
_STAKES = 4
# Number of statuses of a board on a line: 0 to 3 by threats (1 if the player can complete a row in it, plus 2 if the
# other player can); 4 full; 5 owned by the player; 6 by the other player; plus 8 if the next mark must go there.
_WORTHS = 16


def _ranks(keys: np.ndarray) -> tuple[np.ndarray, int]:
    """Number the different keys from 0; return each key's number, and the number of different keys."""
    different, ranks = np.unique(keys, return_inverse=True)
    return ranks.reshape(keys.shape).astype(np.int32), len(different)


def _of_boards() -> tuple[np.ndarray, int]:
    """Return pattern numbers of [board, its cells], int32 (9, 3**9), equal for symmetric images; and their count."""
    keys = np.full((9, 3**9), np.iinfo(np.int64).max)
    for turn in _TURNS:
        turned = _DIGITS[:, turn] @ _POWERS
        where = np.argsort(turn)
        keys = np.minimum(keys, where[:, None] * 3**9 + turned)
    return _ranks(keys)


def _of_owners() -> tuple[np.ndarray, int]:
    """Return the same as `_of_boards` for [owners of the small boards, target + 1]: int32 (3**9, 10)."""
    keys = np.full((3**9, 10), np.iinfo(np.int64).max)
    for turn in _TURNS:
        turned = (_DIGITS[:, turn] @ _POWERS)[:, None]
        where = np.concatenate([[0], 1 + np.argsort(turn)])
        keys = np.minimum(keys, turned * 10 + where)
    return _ranks(keys)


def _of_lines() -> tuple[np.ndarray, int]:
    """Return the same as `_of_boards` for [line, status of each of its three boards]: int32 (8, 16, 16, 16)."""
    worths = np.indices((_WORTHS,) * 3).reshape(3, -1)
    keys = np.full((8, _WORTHS**3), np.iinfo(np.int64).max)
    for k, line in enumerate(_LINES):
        for turn in _TURNS:
            found = np.argsort(turn)[line]
            order = np.argsort(found)
            other = int(np.flatnonzero((found[order] == _LINES).all(axis=1))[0])
            turned = worths[order]
            keys[k] = np.minimum(keys[k], ((other * _WORTHS + turned[0]) * _WORTHS + turned[1]) * _WORTHS + turned[2])
    ranks, size = _ranks(keys)
    return ranks.reshape(8, _WORTHS, _WORTHS, _WORTHS), size


def _finishing() -> np.ndarray:
    """Return, for each set of cells, the set of cells each of which would complete three in a row: int16 (512,)."""
    found = np.zeros(512, np.int16)
    for line in _LINES:
        for k in range(3):
            third, others = line[k], np.delete(line, k)
            found |= (MEMBERS[:, others].all(axis=1) & ~MEMBERS[:, third]).astype(np.int16) << np.int16(third)
    return found


_BOARDS, _BOARD_KINDS = _of_boards()
_OWNERS, _OWNER_KINDS = _of_owners()
_ON_LINES, _LINE_KINDS = _of_lines()
_TERNARY = MEMBERS @ _POWERS  # the number in base 3 whose digits 1 are the members of each set
_FINISHING = _finishing()
_SIZE_OF_BOARDS = _BOARD_KINDS * _ROLES * _STAKES


@kernel
@allocates_nothing
def find(state, player, out):
    """See `core.symmetry.Patterns`."""
    target = state["target"]
    mine = state["owned"][player]
    theirs = state["owned"][1 - player] & ~mine
    out[9] = _SIZE_OF_BOARDS + _OWNERS[_TERNARY[mine] + 2 * _TERNARY[theirs], target + 1]
    for board in range(9):
        own = state["marks"][player, board]
        other = state["marks"][1 - player, board] & ~own
        cells = _TERNARY[own] + 2 * _TERNARY[other]
        playable = state["playable"] >> board & 1
        role = 0
        if target == board:
            role = 1
        elif target == ANYWHERE and playable:
            role = 2
        stakes = 0
        if not is_owned(state, board):
            stakes = (_FINISHING[mine] >> board & 1) + 2 * (_FINISHING[theirs] >> board & 1)
        out[board] = (_BOARDS[board, cells] * _ROLES + role) * _STAKES + stakes
        worth = 4
        if is_owned(state, board):
            worth = 5 if mine >> board & 1 else 6
        elif playable:
            free = empty(state, board)
            worth = ((_FINISHING[own] & free) != 0) + 2 * ((_FINISHING[other] & free) != 0)
        # Entries 10 to 17 of `out` hold the statuses of boards 0 to 7 until they are overwritten below.
        if board < 8:
            out[10 + board] = worth + (8 if role == 1 else 0)
        else:
            last = worth + (8 if role == 1 else 0)
    w0, w1, w2, w3, w4, w5, w6, w7 = out[10], out[11], out[12], out[13], out[14], out[15], out[16], out[17]
    base = _SIZE_OF_BOARDS + _OWNER_KINDS
    out[10] = base + _ON_LINES[0, w0, w1, w2]
    out[11] = base + _ON_LINES[1, w3, w4, w5]
    out[12] = base + _ON_LINES[2, w6, w7, last]
    out[13] = base + _ON_LINES[3, w0, w3, w6]
    out[14] = base + _ON_LINES[4, w1, w4, w7]
    out[15] = base + _ON_LINES[5, w2, w5, last]
    out[16] = base + _ON_LINES[6, w0, w4, last]
    out[17] = base + _ON_LINES[7, w2, w4, w6]


PATTERNS = Patterns(_SIZE_OF_BOARDS + _OWNER_KINDS + _LINE_KINDS, 18, find)
