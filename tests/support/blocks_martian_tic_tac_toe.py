"""The meaning of each observation block of Martian Tic-Tac-Toe, worked out from the text of a position alone."""

import re
from collections.abc import Callable

from ttt_envs.core.game import Game


class Position:
    def __init__(self, text: str, game: Game, player: int) -> None:
        size, self.players = game.options["size"], game.options["players"]
        colours = "RBYG"[: self.players]
        head, _, *lines = text.splitlines()
        #: From the observer on, in turn order.
        self.seats = colours[player:] + colours[:player]
        self.pieces = [piece for row in lines[:size] for piece in row.split()[1:]]
        self.stashes = {word[0]: [int(n) for n in word.split()[1:]] for word in re.findall(r"[RBYG](?: \d+){3}", text)}
        self.mover = "" if head.startswith("over") else head[0]
        read = re.search(r"^ply (\d+), occurred (\d+)$", text, re.MULTILINE)
        self.ply, self.occurred = int(read[1]), int(read[2])
        self.max_plies = game.max_plies

    def is_in_part(self, part: int) -> bool:
        """Whether so many sixteenths of the longest game are played; its end belongs to the last one."""
        return part * self.max_plies <= 16 * min(self.ply, self.max_plies - 1) < (part + 1) * self.max_plies


FEATURES: dict[str, Callable[..., bool]] = {
    "pieces": lambda p, k, size, cell: p.pieces[cell] == f"{p.seats[k]}{size + 1}",
    "stashes": lambda p, k, size, count: p.stashes[p.seats[k]][size] > count,
    "to move": lambda p, k: p.mover == p.seats[k],
    # Nobody passes before everybody has moved once.
    "first turn": lambda p, _: p.mover != "" and p.ply < p.players,
    "stage": lambda p, part: p.is_in_part(part),
    "occurred": lambda p, k: p.occurred == k + 1,
}
