"""X's proven strategy, and the enumeration of all positions that can arise while X follows it.

The enumeration uses the rules themselves and notices any game that X does not win. The table of these positions is
therefore the proof, and a position is covered if it is in the table.
"""

# mypy: disable-error-code="no-untyped-def"

from functools import cache

import numpy as np

from ttt_envs.core.compile.jit import kernel
from ttt_envs.games.super_tic_tac_toe import rules
from ttt_envs.games.super_tic_tac_toe.rules import ALL, ANYWHERE, CENTER, empty
from ttt_envs.games.super_tic_tac_toe.solver.positions import enter

X = 0

# Slots of the hash table, a power of two: twice the positions. An empty one holds -1.
_SLOTS = 1 << 17

# More positions than can wait at once: the number of plies, at most 81, times the number of replies, at most 81.
_STACK = 81 * 81


@kernel
def strategy_move(state):
    """Return the strategy's action; X is to move in an unfinished position that can arise while X follows it."""
    if state["ply"] == 0:
        return 9 * CENTER + CENTER
    # If X may play anywhere, O played cell 4: board 4 is the only full board to which O can send X.
    j = CENTER if state["target"] == ANYWHERE else state["target"]
    if empty(state, CENTER) != 0:
        return 9 * j + CENTER
    k = -1
    for board in range(9):
        # k is the only board besides the centre in which X holds cell k but not cell 4.
        marks = state["marks"][X, board]
        if board != CENTER and not marks >> CENTER & 1 and marks >> board & 1:
            k = board
    if k < 0:
        return 9 * j + j
    m = 8 - k
    board = m if j == CENTER else j
    return 9 * board + (k if empty(state, board) >> k & 1 else m)


@kernel
def walk(starts, table, counts):
    """Add all positions that can arise from `starts`, (n,), while X follows the strategy and O plays anything.

    counts int64 (5,): positions with X to move, with O to move, finished; plies of the shortest and longest game. Stops
    and returns False if a move of the strategy is illegal or X does not win a game.
    """
    stack = np.empty(_STACK, starts.dtype)
    key = np.empty(3, np.int64)
    legal = np.empty(81, np.bool_)
    actions = np.empty(2, np.int64)
    counts[:] = 0
    counts[3] = 81
    size = 0
    for i in range(starts.shape[0]):
        if enter(starts[i], table, key):
            stack[size] = starts[i]
            size += 1
    position = stack[:1].copy()
    while size > 0:
        size -= 1
        position[0] = stack[size]
        state = position[0]
        if state["done"]:
            counts[2] += 1
            counts[3] = min(counts[3], state["ply"])
            counts[4] = max(counts[4], state["ply"])
            if state["rewards"][X] <= 0:
                return False
            continue
        player = state["to_move"]
        counts[player] += 1
        rules.legal_mask(state, player, legal)
        if player == X:
            action = strategy_move(state)
            if not legal[action]:
                return False
            legal[:] = False
            legal[action] = True
        for action in range(81):
            if legal[action]:
                stack[size] = state
                actions[:] = action
                rules.step(stack[size], actions)
                stack[size]["ply"] += 1
                if enter(stack[size], table, key):
                    size += 1
    return True


@cache
def positions() -> tuple[np.ndarray, np.ndarray]:
    """Return the table of all positions on the strategy, int64 (slots, 3), and the counts of `walk`."""
    starts = np.zeros(2, rules.STATE)  # the two values of the option first_move
    starts["target"] = CENTER, ANYWHERE
    starts["playable"] = ALL
    table = np.full((_SLOTS, 3), -1, np.int64)
    counts = np.empty(5, np.int64)
    if not walk(starts, table, counts):
        raise AssertionError("the strategy for X fails: the rules are not those of won_boards='open'")
    return table, counts
