"""The meaning of each observation block of Tic-Tac Match, worked out from the text that the player sees."""

import re
from collections import Counter
from collections.abc import Callable

from ttt_envs.core.game import Game

ROWS = ["ABC", "DEF", "GHI", "ADG", "BEH", "CFI", "AEI", "CEG"]


class Position:
    def __init__(self, text: str, game: Game, player: int) -> None:
        players, self.hand_size = game.options["players"], game.options["hand_size"]
        lines = text.splitlines()
        colours = "rbyg"[: game.options["colours"]]
        #: Names of the kinds of cards, as they are numbered.
        self.kinds = [f"{colour}{symbol}" for colour in colours for symbol in "XO"] + ["F", "W", "D"]
        #: From the observer on, in turn order.
        self.seats = [(player + k) % players for k in range(players)]
        self.top = dict(re.findall(r"([A-I]) (\.|[rbyg][XO])", "\n".join(lines[1:4])))
        self.cells = sorted(self.top)
        self.facts = dict(line.split(": ", 1) for line in lines[4:] if ": " in line)
        self.symbols = self.facts["ID cards"].split()
        self.hand, self.discards, self.covered = map(self.cards, (f"hand {player}", "discards", "covered"))
        hands = [self.facts[f"hand {seat}"] for seat in range(players)]
        #: How many cards each player holds, shown or hidden.
        self.held = [sum(int(n) for n in re.findall(r"\d+", hand)) for hand in hands]
        turn = re.match(r"seat (\d) plays(?:, (\d) more)?", lines[0])
        self.mover, self.pending = (int(turn[1]), int(turn[2] or 0)) if turn else (None, 0)
        self.turns_left = game.options["max_turns"] - int(re.search(r"^turn (\d+)", text, re.MULTILINE)[1])

    def cards(self, heap: str) -> Counter:
        """How many cards of each kind lie in a heap that the player sees."""
        return Counter({kind: int(n) for n, kind in re.findall(r"(\d+) (\w+)", self.facts[heap])})

    def completes(self, kind: str, cell: str) -> bool:
        """Whether a card of this kind may be laid on the cell, and then lies in a row of three like it."""
        below = self.top[cell]
        fits = below == "." or (below[0] == kind[0]) != (below[1] == kind[1])
        return fits and any(all(each == cell or self.top[each] == kind for each in row) for row in ROWS if cell in row)

    def line(self, kind: int, cell: int, mine: bool) -> bool:
        """Whether that card there would win for the side that shows its symbol: the observer's or the other one."""
        name = self.kinds[kind]
        return self.completes(name, self.cells[cell]) and (name[1] == self.symbols[self.seats[0]]) == mine


FEATURES: dict[str, Callable[..., bool]] = {
    "tops": lambda p, kind, cell: p.top[p.cells[cell]] == p.kinds[kind],
    "my lines": lambda p, kind, cell: p.line(kind, cell, mine=True),
    "their lines": lambda p, kind, cell: p.line(kind, cell, mine=False),
    "hand": lambda p, count, kind: p.hand[p.kinds[kind]] > count,
    "discards": lambda p, count, kind: p.discards[p.kinds[kind]] > count,
    "covered": lambda p, count, kind: p.covered[p.kinds[kind]] > count,
    "identities": lambda p, k, symbol: p.symbols[p.seats[k]] == "XO"[symbol],
    "hand sizes": lambda p, k, count: p.held[p.seats[k]] > count,
    "to move": lambda p, k: p.mover == p.seats[k],
    "pending": lambda p, count: p.pending > count,
    "turns left": lambda p, turns: p.turns_left > turns,
}
