"""A heuristic for Super Tic-Tac-Toe, as a function of one position: win and block small boards, and give none away.

It needs no training. Rate it, or play against it:

    ttt tournament super_tic_tac_toe --agents random greedy agents/heuristic.py:heuristic --games 20
    ttt play super_tic_tac_toe --agents human agents/heuristic.py:heuristic
"""

import numpy as np

LINES = [(0, 1, 2), (3, 4, 5), (6, 7, 8), (0, 3, 6), (1, 4, 7), (2, 5, 8), (0, 4, 8), (2, 4, 6)]


def completes(marks: np.ndarray, others: np.ndarray, cell: int) -> bool:
    """Return whether `cell` is free and a mark in it completes a row; `marks` and `others` are int8 (9,)."""
    free = not marks[cell] and not others[cell]
    return bool(free and any(cell in line and sum(marks[k] for k in line) == 2 for line in LINES))


def heuristic(observation: np.ndarray, mask: np.ndarray) -> int:
    """Return the legal action with the highest score; `observation` is int8 (191,), and `mask` int8 (81,)."""
    # `ttt_envs.load("super_tic_tac_toe").observation_layout` lists the blocks of an observation.
    own, other = observation[:162].reshape(2, 9, 9)
    own_boards, other_boards = observation[162:180].reshape(2, 9)
    scores = np.full(81, -np.inf)
    for action in np.flatnonzero(mask):
        board, cell = divmod(int(action), 9)
        undecided = not own_boards[board] and not other_boards[board]
        takes = undecided and completes(own[board], other[board], cell)
        blocks = undecided and completes(other[board], own[board], cell)
        # The opponent's next move is in the small board that has the same number as this cell.
        gift = any(completes(other[cell], own[cell], k) for k in range(9)) and not other_boards[cell]
        wins = takes and completes(own_boards, other_boards, board)
        middle = 0.1 * (cell == 4) + 0.05 * (cell % 2 == 0)
        scores[action] = 100 * wins + 3 * takes + blocks - 2 * gift + middle
    return int(scores.argmax())
