"""The meaning of each observation block of Super Tic-Tac-Toe, worked out from the text of a position alone."""

from collections.abc import Callable

from ttt_envs.core.game import Game


class Position:
    def __init__(self, text: str, game: Game, player: int) -> None:
        head, *rows = text.splitlines()
        marks = ["".join(c for c in row if c in ".XO") for row in rows if set(row) <= set(".XO| ")]
        owners = next(row for row in rows if row.startswith("boards:")).removeprefix("boards:").replace(" ", "")
        self.me, self.other = "XO"[player], "OX"[player]
        self.cells = [[marks[b // 3 * 3 + c // 3][b % 3 * 3 + c % 3] for c in range(9)] for b in range(9)]
        self.owners = owners
        self.mover = head[0] if " to move " in head else ""
        self.where = head.partition(" to move ")[2]
        self.closed = game.options["won_boards"] == "closed"

    def may_be_played(self, board: int) -> bool:
        """Whether the player to move may put a mark into the board."""
        if self.where != "anywhere":
            return self.where == f"in board {board}"
        return "." in self.cells[board] and not (self.closed and self.owners[board] != ".")


FEATURES: dict[str, Callable[..., bool]] = {
    "own marks": lambda p, board, cell: p.cells[board][cell] == p.me,
    "opponent's marks": lambda p, board, cell: p.cells[board][cell] == p.other,
    "own boards": lambda p, board: p.owners[board] == p.me,
    "opponent's boards": lambda p, board: p.owners[board] == p.other,
    "target": lambda p, board: p.may_be_played(board),
    "to move": lambda p, _: p.mover == p.me,
    "closed boards": lambda p, _: p.closed,
}
