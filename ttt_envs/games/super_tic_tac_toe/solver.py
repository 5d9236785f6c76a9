"""Best play of Super Tic-Tac-Toe, where it is known: X's proved strategy, and every position that lies on it.

With `won_boards="open"` X wins from the start in at most 43 plies, whatever O does. The strategy, in which
opp(k) is 8 - k and j the cell of O's last move:

- X opens in the centre of the centre board.
- While board 4 has an empty cell, X answers with (j, 4), which sends O back to board 4.
- When O's (4, j) fills board 4: k = j and m = opp(k); X plays (k, k), which sends O to board k.
- From then on O always plays in board k or m. If j is 4 or m, X plays in board m, else in board j: there in cell
  k if it is empty, else in cell m.

The strategy leaves O so little choice that some 64,000 positions are all that can arise. `walk` goes through
them by the rules themselves, in 0.1 s, and notices any game that does not end with X's win. So the table of
these positions is the proof, and to be covered means to be in the table.
"""

# mypy: disable-error-code="no-untyped-def"

from functools import cache

import numpy as np

from ttt_envs.core import rng
from ttt_envs.core.jit import kernel
from ttt_envs.games.super_tic_tac_toe import rules
from ttt_envs.games.super_tic_tac_toe.rules import ANYWHERE, CENTER, EMPTY

_X = 0

# Slots of the hash table, a power of two: twice the positions. An empty one holds -1.
_SLOTS = 1 << 17

# More than can wait at once: as many plies as there are cells, times as many replies.
_STACK = 81 * 81


@kernel
def strategy_move(state):
    """X's action by the strategy, read off a position that lies on it: X to move, the game not over."""
    if state["ply"] == 0:
        return 9 * CENTER + CENTER
    # Sent anywhere, X knows that O played cell 4: of the boards that O can send to, only that one is full.
    j = CENTER if state["target"] == ANYWHERE else state["target"]
    if state["filled"][CENTER] < 9:
        return 9 * j + CENTER
    k = -1
    for board in range(9):
        # Of the other boards, all but k got their first X in cell 4.
        if board != CENTER and state["cells"][board, CENTER] != _X + 1 and state["cells"][board, board] == _X + 1:
            k = board
    if k < 0:
        return 9 * j + j
    m = 8 - k
    board = m if j == CENTER else j
    return 9 * board + (k if state["cells"][board, k] == EMPTY else m)


@kernel
def pack(state, key):
    """Write a position, without its options, as int64 (3,); different positions have different keys."""
    for part in range(3):
        number = np.int64(0)
        for board in range(3 * part, 3 * part + 3):
            number = 3 * number + state["owner"][board]
            for cell in range(9):
                number = 3 * number + state["cells"][board, cell]
        key[part] = number  # below 3**30
    key[0] = 40 * key[0] + 4 * (state["target"] + 1) + 2 * state["to_move"] + state["done"]


@kernel
def find(table, key):
    """The slot of the key in the table, int64 (slots, 3), or the empty one where it belongs."""
    slot = np.int64(rng.fold(rng.fold(key[0], key[1]), key[2]) % np.uint64(table.shape[0]))
    while table[slot, 0] >= 0 and not (
        table[slot, 0] == key[0] and table[slot, 1] == key[1] and table[slot, 2] == key[2]
    ):
        slot = (slot + 1) % table.shape[0]
    return slot


@kernel
def enter(state, table, key):
    """Put a position into the table; whether it was not there before."""
    pack(state, key)
    slot = find(table, key)
    new = table[slot, 0] < 0
    table[slot] = key
    return new


@kernel
def walk(starts, table, counts):
    """Enter all positions that arise from `starts` (n,) when X keeps to the strategy and O does anything.

    counts int64 (5,): positions with X to move, with O to move, finished; plies of the shortest and longest
    game. Gives False, and stops, where a move of the strategy is not legal or a game does not end with X's win.
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
            if state["rewards"][_X] <= 0:
                return False
            continue
        player = state["to_move"]
        counts[player] += 1
        rules.legal_mask(state, player, legal)
        if player == _X:
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


@kernel
def covers_rows(states, table, out):
    """Whether states[i] is in the table; out bool (n,)."""
    key = np.empty(3, np.int64)
    for i in range(states.shape[0]):
        pack(states[i], key)
        out[i] = not states[i]["closed"] and table[find(table, key), 0] >= 0


@kernel
def successors_rows(states, table, out):
    """Which legal actions lead to a position in the table; out bool (n, 81)."""
    key = np.empty(3, np.int64)
    trial = np.empty(1, states.dtype)
    actions = np.empty(2, np.int64)
    for i in range(states.shape[0]):
        out[i] = False
        if states[i]["done"]:
            continue
        rules.legal_mask(states[i], states[i]["to_move"], out[i])
        for action in range(81):
            if out[i, action]:
                trial[0] = states[i]
                actions[:] = action
                rules.step(trial[0], actions)
                pack(trial[0], key)
                out[i, action] = table[find(table, key), 0] >= 0


@kernel
def policy_rows(states, out):
    """Best play in positions of the table: X's move, or any of O's; out bool (n, 81)."""
    for i in range(states.shape[0]):
        out[i] = False
        if states[i]["done"]:
            continue
        if states[i]["to_move"] == _X:
            out[i, strategy_move(states[i])] = True
        else:
            rules.legal_mask(states[i], states[i]["to_move"], out[i])


@cache
def positions() -> tuple[np.ndarray, np.ndarray]:
    """The table of all positions on the strategy, int64 (slots, 3), and the counts of `walk`."""
    starts = np.zeros(2, rules.STATE)  # the two values of the option first_move
    starts["target"] = CENTER, ANYWHERE
    table = np.full((_SLOTS, 3), -1, np.int64)
    counts = np.empty(5, np.int64)
    if not walk(starts, table, counts):
        raise AssertionError("the strategy for X fails: the rules are not those of won_boards='open'")
    return table, counts


class StrategyOracle:
    """X's proved strategy as an oracle: it covers what can arise while X keeps to it, and X wins all of that.

    See `ttt_envs.core.game.Oracle` for shapes. Which other positions X wins is not known.
    """

    def __init__(self) -> None:
        """Walks through the strategy, once for the process."""
        self._table, _ = positions()

    def covers(self, states: np.ndarray) -> np.ndarray:
        """Bool (n,): the positions, finished ones too, that arise when X keeps to the strategy."""
        out = np.empty(len(states), np.bool_)
        covers_rows(np.ascontiguousarray(states), self._table, out)
        return out

    def value(self, states: np.ndarray, player: int | np.ndarray) -> np.ndarray:
        """float64 (n,): 1 for X, -1 for O; nan where not covered."""
        return np.where(self.covers(states), self._sign(states, player), np.nan)

    def action_values(self, states: np.ndarray, player: int | np.ndarray) -> np.ndarray:
        """float64 (n, 81): the value after each action; nan where it is illegal or leaves what is covered."""
        known = np.empty((len(states), 81), np.bool_)
        successors_rows(np.ascontiguousarray(states), self._table, known)
        known &= self.covers(states)[:, None]
        return np.where(known, self._sign(states, player)[:, None], np.nan)

    def policy(self, states: np.ndarray, player: int | np.ndarray) -> np.ndarray:
        """float64 (n, 81): the strategy's move for X, any legal one for O, who loses with all; zeros where not covered.

        A row of zeros too where `player` is not to move.
        """
        best = np.empty((len(states), 81), np.bool_)
        policy_rows(np.ascontiguousarray(states), best)
        best &= (self.covers(states) & (states["to_move"] == player))[:, None]
        return best / np.maximum(best.sum(axis=1, keepdims=True), 1)

    @staticmethod
    def _sign(states: np.ndarray, player: int | np.ndarray) -> np.ndarray:
        return np.broadcast_to(np.where(np.asarray(player) == _X, 1.0, -1.0), (len(states),))
