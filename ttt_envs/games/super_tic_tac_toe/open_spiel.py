"""OpenSpiel's version of Super Tic-Tac-Toe, `ultimate_tic_tac_toe`. A player who may play in any small board first
chooses a board, action b, and then a cell in it, action c. In other positions, an action is a cell.
"""

from collections.abc import Iterator, Sequence

import numpy as np

from ttt_envs.core.game import Counterpart
from ttt_envs.games.super_tic_tac_toe.rules import ALL, ANYWHERE, HAS_LINE, MEMBERS

#: The most positions that the search visits.
_MOST_TRIED = 100_000


def history(states: np.ndarray, since: Sequence[int] = ()) -> list[int]:
    """Return OpenSpiel's actions, in a legal order, that lead to the marks in states (1,).

    They begin with the actions `since`. Raises ValueError if no order was found: with many marks after `since`, there
    are too many orders to try.
    """
    state = states[0]
    search = _Order(state["marks"].astype(np.int64), int(state["target"]))
    try:
        if search.replay(since) and search.complete():
            return search.actions
    except _TooMany:
        pass
    raise ValueError(
        "no order of moves was found that leads to this position of super_tic_tac_toe: OpenSpiel needs one, and with "
        "many marks it must have been followed from the start"
    )


def action(states: np.ndarray, chosen: Sequence[int]) -> int:
    """Return our action for OpenSpiel's actions in states (1,): a board, if the player may choose it, and a cell."""
    target = int(states[0]["target"])
    return 9 * chosen[0] + chosen[1] if target == ANYWHERE else 9 * target + chosen[0]


COUNTERPART = Counterpart("ultimate_tic_tac_toe", history, action)


class _TooMany(Exception):
    """Raised after too many orders were tried without success."""


class _Order:
    """A depth-first search for a legal order of marks, int64 (2, 9), that ends with a given target."""

    def __init__(self, marks: np.ndarray, target: int) -> None:
        self.marks, self.last = marks, target
        self.placed = np.zeros_like(marks)
        self.playable, self.target, self.player = ALL, ANYWHERE, 0
        self.actions: list[int] = []
        self.tried = 0
        self.dead: set[bytes] = set()

    def replay(self, since: Sequence[int]) -> bool:
        """Play OpenSpiel's actions; return False if they do not fit the marks."""
        left = list(since)
        while left:
            board = left.pop(0) if self.target == ANYWHERE else self.target
            cell = left.pop(0) if left else -1
            if (board, cell) not in self.moves():
                return False
            self.put(board, cell)
        return True

    def moves(self) -> Iterator[tuple[int, int]]:
        """Yield the board and cell of each possible next mark; a mark that wins a board must be the last one in it."""
        for board in range(9) if self.target == ANYWHERE else (self.target,):
            if self.playable >> board & 1:
                missing = self.marks[:, board] & ~self.placed[:, board]
                for cell in np.flatnonzero(MEMBERS[missing[self.player]]):
                    closes = HAS_LINE[self.placed[self.player, board] | 1 << cell]
                    if not closes or missing.sum() == 1 << cell:
                        yield board, int(cell)

    def put(self, board: int, cell: int) -> None:
        """Place a mark of the player to move."""
        self.actions += [board, cell] if self.target == ANYWHERE else [cell]
        self.placed[self.player, board] |= 1 << cell
        if HAS_LINE[self.placed[self.player, board]] or self.placed[:, board].sum() == ALL:
            self.playable &= ~(1 << board)
        self.target = cell if self.playable >> cell & 1 else ANYWHERE
        self.player = 1 - self.player

    def complete(self) -> bool:
        """Place the missing marks; return False if no order of them is legal."""
        if (self.placed == self.marks).all():
            return self.target == self.last
        key = self.placed.tobytes() + bytes([self.target + 1])
        if key in self.dead:
            return False
        self.tried += 1
        if self.tried > _MOST_TRIED:
            raise _TooMany
        playable, target, player, length = self.playable, self.target, self.player, len(self.actions)
        for board, cell in list(self.moves()):
            self.put(board, cell)
            if self.complete():
                return True
            self.playable, self.target, self.player = playable, target, player
            self.placed[player, board] &= ~(1 << cell)
            del self.actions[length:]
        self.dead.add(key)
        return False
