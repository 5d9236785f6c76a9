"""The slow, obvious second version of Martian Tic-Tac-Toe, to check the fast one against.

Written from the rule text alone, without a look at the fast version, so that the two share no mistake. All the rest
of a position is found again from the pieces on the board, by looking at the whole of it; only the history (what
stood there before, who has had a turn) is kept.
"""

from __future__ import annotations

from collections import Counter, deque

SMALL, MEDIUM, LARGE = SIZES = (1, 2, 3)

#: Right, down, and the two diagonals: a line looked at from its other end is the same line.
DIRECTIONS = ((0, 1), (1, 0), (1, 1), (1, -1))


def pieces_a_size(size: int) -> int:
    """How many pieces of each size a player has, and also how many in a row win."""
    return {3: 3, 4: 4}.get(size, 5)


def moves_remembered(size: int) -> int:
    """A position that stood there longer ago does not count as repeated."""
    return 300 if size == 3 else 25 * size * size


def all_lines(size: int) -> list[tuple[int, ...]]:
    """Every row of cells that wins, as numbers of cells."""
    length = pieces_a_size(size)
    lines = []
    for row in range(size):
        for column in range(size):
            for down, right in DIRECTIONS:
                places = [(row + k * down, column + k * right) for k in range(length)]
                if all(0 <= y < size and 0 <= x < size for y, x in places):
                    lines.append(tuple(y * size + x for y, x in places))
    return lines


class SlowMartianTicTacToe:
    """One game; `play` changes it. An action is 3 * cell + (size of the piece placed - 1).

    Attributes:
        board: cell -> (owner, size of the piece), for the cells that have a piece.
        to_move: the player to move, passes already taken.
        had_a_turn: the players who have had their first turn.
        ply: moves so far; a pass is none.
        done, winner, rewards: the end, the winner (None in a draw), and what each player gets.
        passed: how many players were passed over after the last move.
    """

    def __init__(
        self,
        size: int = 3,
        players: int = 2,
        repetition_limit: int | None = 3,
        max_plies: int | None = None,
        same_size_swap: bool = False,
    ) -> None:
        self.size = size
        self.players = players
        self.repetition_limit = repetition_limit
        self.max_plies = max_plies if max_plies is not None else moves_remembered(size)
        self.same_size_swap = same_size_swap
        self.lines = all_lines(size)
        self.had_a_turn: set[int] = set()
        self.start({}, 0, 0)

    def start(self, board: dict[int, tuple[int, int]], to_move: int, ply: int) -> None:
        """Go on from this position, as if nothing could be repeated that was before it."""
        self.board = dict(board)
        self.to_move = to_move
        self.ply = ply
        self.passed = 0
        self.done = False
        self.winner: int | None = None
        self.rewards = [0.0] * self.players
        if ply > 0:
            self.had_a_turn = set(range(self.players))
        self.past = deque([self.position()])
        self.seen = Counter(self.past)
        self._legal = self.moves_of(to_move)

    def position(self) -> tuple:
        """What counts as the same position: the same board with the same player to move."""
        return self.to_move, tuple(self.board.get(cell) for cell in range(self.size**2))

    def occurrences(self) -> int:
        """How often the present position has stood on the board, this time included."""
        return self.seen[self.position()]

    def stash(self, player: int) -> list[int]:
        """How many small, medium and large pieces the player does not have on the board."""
        standing = list(self.board.values())
        return [pieces_a_size(self.size) - standing.count((player, size)) for size in SIZES]

    def moves_of(self, player: int) -> list[int]:
        """All that the rules allow the player, were it his turn."""
        stash = self.stash(player)
        moves = []
        for cell in range(self.size**2):
            there = self.board.get(cell)
            for new in SIZES:
                if stash[new - 1] == 0:
                    continue
                if there is None:
                    allowed = new == SMALL
                elif player not in self.had_a_turn:
                    allowed = False
                elif there[0] == player:
                    old = there[1]
                    allowed = new == old + 1 or new < old or (new == old and self.same_size_swap)
                else:
                    allowed = new == there[1] + 1
                if allowed:
                    moves.append(3 * cell + new - 1)
        return moves

    def legal_actions(self) -> list[int]:
        """The moves of the player to move, in order."""
        return self._legal

    def has_line(self, player: int) -> bool:
        """Whether a line is full of the player's pieces of one size."""
        for line in self.lines:
            first = self.board.get(line[0])
            if first is not None and first[0] == player and all(self.board.get(cell) == first for cell in line):
                return True
        return False

    def play(self, action: int) -> None:
        """The mover's action, and the passes after it."""
        if action not in self.legal_actions():
            raise ValueError(f"illegal action {action} on {self.board} for player {self.to_move}")
        cell, size = action // 3, action % 3 + 1
        mover = self.to_move
        self.board[cell] = (mover, size)
        self.had_a_turn.add(mover)
        self.ply += 1
        self.passed = 0

        if self.has_line(mover):
            self.winner = mover
            self.rewards = [1.0 if player == mover else -1 / (self.players - 1) for player in range(self.players)]
            self.done = True
        else:
            # Who cannot move is passed over; if that befalls all, the mover too, nothing can happen any more.
            self.to_move = (mover + 1) % self.players
            self._legal = self.moves_of(self.to_move)
            while not self._legal and not self.done:
                self.passed += 1
                if self.passed == self.players:
                    self.to_move = mover
                    self.done = True
                else:
                    self.to_move = (self.to_move + 1) % self.players
                    self._legal = self.moves_of(self.to_move)

        self.past.append(self.position())
        self.seen[self.position()] += 1
        if len(self.past) > moves_remembered(self.size) + 1:
            self.seen[self.past.popleft()] -= 1
        if self.repetition_limit is not None and self.occurrences() >= self.repetition_limit:
            self.done = True
        if self.ply == self.max_plies:
            self.done = True
        if self.done:
            self._legal = []
