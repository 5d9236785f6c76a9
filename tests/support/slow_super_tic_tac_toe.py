"""The slow, obvious second version of Super Tic-Tac-Toe, to check the fast one against.

Written from the rule text alone, without a look at the fast version, so that the two share no mistake. A
position is nothing but its list of moves; all else is found again from that list for every position, by
scanning whole boards.

The second part is X's proved winning strategy and an exhaustive walk over everything O can do against it.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

# Rows, columns and diagonals: of the cells on a small board, and of the small boards on the large one.
LINES = (
    (0, 1, 2), (3, 4, 5), (6, 7, 8),
    (0, 3, 6), (1, 4, 7), (2, 5, 8),
    (0, 4, 8), (2, 4, 6),
)  # fmt: skip

CENTER = 4


def has_line(owners: list[int | None], player: int) -> bool:
    """Whether the player has three in a row among nine cells (or nine small boards)."""
    for a, b, c in LINES:
        if owners[a] == player and owners[b] == player and owners[c] == player:
            return True
    return False


class SlowSuperTicTacToe:
    """One position, never changed: `play` returns a new one. An action is 9 * board + cell."""

    def __init__(self, first_move: str = "center_board", won_boards: str = "open", moves: tuple[int, ...] = ()) -> None:
        """`moves` are taken on trust: only `play` checks that a move is legal."""
        if first_move not in ("center_board", "anywhere"):
            raise ValueError(f"unknown first_move {first_move!r}")
        if won_boards not in ("open", "closed"):
            raise ValueError(f"unknown won_boards {won_boards!r}")
        self.first_move = first_move
        self.won_boards = won_boards
        self.moves = tuple(moves)
        self.ply = len(self.moves)
        self.to_move = self.ply % 2

        # Played again from the start, because who owns a board depends on who made a line there first.
        self._cells: list[list[int | None]] = [[None] * 9 for _ in range(9)]
        self._owners: list[int | None] = [None] * 9
        for ply, action in enumerate(self.moves):
            player = ply % 2
            board, cell = divmod(action, 9)
            self._cells[board][cell] = player
            if self._owners[board] is None and has_line(self._cells[board], player):
                self._owners[board] = player

        self.winner: int | None = next((player for player in (0, 1) if has_line(self._owners, player)), None)
        self.done = self.winner is not None or not any(self._is_playable(board) for board in range(9))
        self.rewards: tuple[float, float] = (0.0, 0.0)
        if self.winner is not None:
            self.rewards = (1.0, -1.0) if self.winner == 0 else (-1.0, 1.0)
        self.target = self._find_target()

    def owner(self, board: int) -> int | None:
        return self._owners[board]

    def cell(self, board: int, cell: int) -> int | None:
        return self._cells[board][cell]

    def is_full(self, board: int) -> bool:
        return None not in self._cells[board]

    def _is_playable(self, board: int) -> bool:
        """Whether a move in this board is possible at all, wherever the last move sends the player."""
        if self.won_boards == "closed" and self._owners[board] is not None:
            return False
        return not self.is_full(board)

    def _find_target(self) -> int | None:
        """The one board to play in; None when any will do, and at the end of the game."""
        if self.done:
            return None
        if self.ply == 0:
            return CENTER if self.first_move == "center_board" else None
        sent_to = self.moves[-1] % 9
        return sent_to if self._is_playable(sent_to) else None

    def legal_actions(self) -> list[int]:
        if self.done:
            return []
        boards = range(9) if self.target is None else [self.target]
        return [
            9 * board + cell
            for board in boards
            if self._is_playable(board)
            for cell in range(9)
            if self._cells[board][cell] is None
        ]

    def play(self, action: int) -> SlowSuperTicTacToe:
        if action not in self.legal_actions():
            raise ValueError(f"illegal action {action} after {self.moves}")
        return SlowSuperTicTacToe(self.first_move, self.won_boards, (*self.moves, int(action)))


# --- X's proved strategy, for first_move="center_board" and won_boards="open" ---


def opp(k: int) -> int:
    """The board (or cell) opposite to k, seen from the centre."""
    return 8 - k


def strategy_k(position: SlowSuperTicTacToe) -> int | None:
    """The board k of phase 2, read off the boards; None while it has not been marked by (k,k).

    Phase 1 gives X cell 4 of every board but 4 and k, and board k is opened with cell k instead.
    """
    if not position.is_full(CENTER):
        return None
    outer = [i for i in range(9) if i != CENTER]
    marked = [i for i in outer if position.cell(i, i) == 0 and position.cell(i, CENTER) != 0]
    if len(marked) > 1:
        raise ValueError(f"not a position of the strategy, several k: {marked} after {position.moves}")
    return marked[0] if marked else None


def strategy_move(position: SlowSuperTicTacToe) -> int:
    """X's move by the strategy. It is not checked to be legal: the walk below shows that it always is."""
    if position.done or position.to_move != 0:
        raise ValueError("the strategy is for X to move in a game that goes on")
    if position.ply == 0:
        return 9 * CENTER + CENTER
    j = position.moves[-1] % 9

    # Phase 1: O is sent back to board 4, until it is full.
    if not position.is_full(CENTER):
        return 9 * j + CENTER

    # O has just filled board 4: X opens board k.
    k = strategy_k(position)
    if k is None:
        return 9 * j + j

    # Phase 2: O is sent to board k or m, for ever.
    m = opp(k)
    board = m if j in (CENTER, m) else j
    return 9 * board + k if position.cell(board, k) is None else 9 * board + m


class Layer(NamedTuple):
    """The different positions of one ply, each as one of the move lists (bytes) that lead to it."""

    ply: int
    moves: list[bytes]


def position_key(position: SlowSuperTicTacToe) -> bytes:
    """Marks, owners and the cell of the last move: what the rest of the game depends on.

    Owners, because marks do not tell who was first in a board with two lines. The cell, even where it sends
    to a full board, because the strategy looks at it; but not at the end, where nothing is left to decide.
    """
    marks = [2 if mark is None else mark for board in position._cells for mark in board]
    owners = [2 if owner is None else owner for owner in position._owners]
    sent_to = 9 if position.done or position.ply == 0 else position.moves[-1] % 9
    return bytes((*marks, *owners, sent_to))


def strategy_layers() -> Iterator[Layer]:
    """All positions of the games in which X keeps to the strategy and O does anything, ply by ply.

    A ValueError from `play` would mean that the strategy's move is illegal; an AssertionError that O is not
    kept where the text says: in board 4 in phase 1, in board k or m in phase 2.
    """
    layer = {position_key(SlowSuperTicTacToe()): b""}
    ply = 0
    while layer:
        yield Layer(ply, list(layer.values()))
        following: dict[bytes, bytes] = {}
        for moves in layer.values():
            position = SlowSuperTicTacToe(moves=tuple(moves))
            if position.done:
                continue
            if position.to_move == 0:
                actions = [strategy_move(position)]
            else:
                actions = position.legal_actions()
                k = strategy_k(position)
                allowed = {CENTER} if k is None else {k, opp(k)}
                assert {action // 9 for action in actions} <= allowed, position.moves
            for action in actions:
                after = position.play(action)
                following[position_key(after)] = bytes(after.moves)
        layer = following
        ply += 1
