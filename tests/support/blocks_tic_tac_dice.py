"""The meaning of each observation block of the Tic-Tac-Dice family, worked out from the text of a position alone."""

import re
from collections.abc import Callable

from ttt_envs.core.game import Game


class Position:
    def __init__(self, text: str, game: Game, player: int) -> None:
        head, *lines = text.splitlines()
        cells = re.findall(r"[A-Y] (\d)([XO]?)", "\n".join(lines[: game.options["size"]]))
        self.ranks, self.markers = [int(rank) for rank, _ in cells], [marker for _, marker in cells]
        self.me, self.other = "XO"[player], "OX"[player]
        turn = re.match(r"([XO]) claims by dice (\d) (\d)", head)
        self.mover, self.dice = (turn[1], (int(turn[2]), int(turn[3]))) if turn else ("", ())
        points = re.search(r"^points X (\d+) O (\d+) of", text, re.MULTILINE)
        self.points = {"X": int(points[1]), "O": int(points[2])} if points else {}

    def may_be_claimed(self, cell: int) -> bool:
        """Whether the card is unclaimed, and a die or both together show its rank."""
        return self.markers[cell] == "" and self.dice != () and self.ranks[cell] in (*self.dice, sum(self.dice))


FEATURES: dict[str, Callable[..., bool]] = {
    "ranks": lambda p, k, cell: p.ranks[cell] == k + 1,
    "own markers": lambda p, cell: p.markers[cell] == p.me,
    "opponent's markers": lambda p, cell: p.markers[cell] == p.other,
    "claimable": lambda p, cell: p.may_be_claimed(cell),
    "lower die": lambda p, k: p.dice != () and min(p.dice) == k + 1,
    "higher die": lambda p, k: p.dice != () and max(p.dice) == k + 1,
    "extra roll": lambda p, _: len(p.dice) == 2 and p.dice[0] == p.dice[1],
    "to move": lambda p, _: p.mover == p.me,
    "own points": lambda p, k: p.points[p.me] >= k + 1,
    "opponent's points": lambda p, k: p.points[p.other] >= k + 1,
}
