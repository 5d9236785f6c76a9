"""The observation features of Super Tic-Tac-Toe: 191 of them, 0 or 1, from the observer's side."""

# mypy: disable-error-code="no-untyped-def"

import numpy as np

from ttt_envs.core.compile.bits import write_set
from ttt_envs.core.compile.jit import allocates_nothing, kernel
from ttt_envs.core.observation_layout import Block, Part
from ttt_envs.games.super_tic_tac_toe.rules import targets

# On the 9x9 grid, cell (row, column) is in small board 3*(row//3) + column//3.
_ROW, _COLUMN = np.indices((9, 9))
_BOARD = 3 * (_ROW // 3) + _COLUMN // 3
_CELL = 3 * (_ROW % 3) + _COLUMN % 3

BLOCKS = (
    Block("own marks", (9, 9), "my mark in [board, cell]", (9 * _BOARD + _CELL)[None]),
    Block("opponent's marks", (9, 9), "the opponent's mark in [board, cell]", (9 * _BOARD + _CELL)[None]),
    Block("own boards", (9,), "I own the board", _BOARD[None]),
    Block("opponent's boards", (9,), "the opponent owns the board", _BOARD[None]),
    Block("target", (9,), "the next mark may be put into this board", _BOARD[None]),
    Block("to move", (1,), "it is my turn"),
    Block("closed boards", (1,), "nobody may move in a board that somebody owns"),
)

_OWN, _OPPONENT, _OWN_BOARDS, _OPPONENT_BOARDS, _TARGET, _TO_MOVE, _CLOSED = 0, 81, 162, 171, 180, 189, 190

#: For each small board: its features (marks, owner, whether the next mark may go there) with the two features of the
#: whole position, and its nine actions.
PARTS = tuple(
    Part(
        (
            *range(_OWN + 9 * board, _OWN + 9 * board + 9),
            *range(_OPPONENT + 9 * board, _OPPONENT + 9 * board + 9),
            *(_OWN_BOARDS + board, _OPPONENT_BOARDS + board, _TARGET + board, _TO_MOVE, _CLOSED),
        ),
        tuple(range(9 * board, 9 * board + 9)),
    )
    for board in range(9)
)


@kernel
@allocates_nothing
def observe(state, player, out):
    """Write the BLOCKS, in their order, to `out`, int8 (191,)."""
    me = player & 1  # & 1, so that no value reads outside the record
    other = 1 - me
    for board in range(9):
        write_set(state["marks"][me, board], 9, out, _OWN + 9 * board)
        write_set(state["marks"][other, board], 9, out, _OPPONENT + 9 * board)
    write_set(state["owned"][me], 9, out, _OWN_BOARDS)
    write_set(state["owned"][other], 9, out, _OPPONENT_BOARDS)
    write_set(np.int64(0) if state["done"] else targets(state), 9, out, _TARGET)
    out[_TO_MOVE] = not state["done"] and state["to_move"] == player
    out[_CLOSED] = state["closed"]
