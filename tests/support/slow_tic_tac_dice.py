"""The slow, obvious second version of the Tic-Tac-Dice family, to check the fast one against.

Written from the rule text alone, without a look at the fast version, so that the two share no mistake. Chance comes
from outside: a source of rolls and of layouts, so that this version can be driven by what the fast one drew. It then
has to find by itself which rolls can be used, which are passed over, and whose turn it is.

The second part tells exact chances, by listing the 36 rolls.
"""

from __future__ import annotations

from fractions import Fraction
from functools import cache
from itertools import product
from typing import Any

#: A match ends as a draw with so many rounds that gave nobody a point.
MOST_DRAWN_ROUNDS = 32


@cache
def lines(size: int, win_length: int) -> tuple[tuple[int, ...], ...]:
    """All runs of `win_length` cells, by walking from every cell in four directions until the edge."""
    found = []
    for row, column in product(range(size), repeat=2):
        for down, right in ((0, 1), (1, 0), (1, 1), (1, -1)):
            run = [(row + k * down, column + k * right) for k in range(win_length)]
            if all(0 <= r < size and 0 <= c < size for r, c in run):
                found.append(tuple(r * size + c for r, c in run))
    return tuple(found)


class SlowTicTacDice:
    """One game, played on in place. An action is the cell whose card is claimed.

    `chance.roll()` gives two dice, `chance.deal(cards)` the ranks of a freshly shuffled deck, cell by cell.
    """

    def __init__(self, chance: Any, size: int, win_length: int, target_points: int, rounds: str) -> None:
        self.chance = chance
        self.size = size
        self.win_length = win_length
        self.target_points = target_points
        self.rounds = rounds
        self.points = [0, 0]
        self.drawn_rounds = 0
        self.done = False
        self.rewards = (0.0, 0.0)
        self.rolls: list[tuple[int, int, int]] = []  # (player, a, b) of every turn's roll, passed ones too
        self.start_round()

    def start_round(self) -> None:
        """Both roll for the start until one has more; the cards are dealt; the starter rolls."""
        totals = [0, 0]
        while totals[0] == totals[1]:
            totals = [sum(self.chance.roll()), sum(self.chance.roll())]
        self.layout = list(self.chance.deal(self.size * self.size))
        self.owners: list[int | None] = [None] * (self.size * self.size)
        self.to_move = 0 if totals[0] > totals[1] else 1
        self.roll_until_claimable()

    def roll_until_claimable(self) -> None:
        """Rolls of the player to move and, where nothing can be claimed and it is no doubles, of his opponent."""
        while True:
            self.dice = self.chance.roll()
            self.rolls.append((self.to_move, *self.dice))
            if self.legal_actions():
                return
            if self.dice[0] != self.dice[1]:
                self.to_move = 1 - self.to_move

    def legal_actions(self) -> list[int]:
        if self.done:
            return []
        a, b = self.dice
        return [
            cell
            for cell, (rank, owner) in enumerate(zip(self.layout, self.owners, strict=True))
            if owner is None and rank in (a, b, a + b)
        ]

    def has_line(self, player: int) -> bool:
        mine = {cell for cell, owner in enumerate(self.owners) if owner == player}
        return any(mine.issuperset(line) for line in lines(self.size, self.win_length))

    def play(self, cell: int) -> None:
        if cell not in self.legal_actions():
            raise ValueError(f"cell {cell} cannot be claimed with {self.dice}")
        player = self.to_move
        self.owners[cell] = player
        if self.has_line(player):
            self.end_round(player, 2)
        elif None not in self.owners:
            markers = [self.owners.count(0), self.owners.count(1)]
            if markers[0] == markers[1]:
                self.end_round(None, 0)
            else:
                self.end_round(0 if markers[0] > markers[1] else 1, 1)
        else:
            if self.dice[0] != self.dice[1]:
                self.to_move = 1 - player
            self.roll_until_claimable()

    def end_round(self, winner: int | None, points: int) -> None:
        if winner is None:
            self.drawn_rounds += 1
        else:
            self.points[winner] += points
        if self.rounds == "single":
            self.end_game(winner, points / 2)
        elif winner is not None and self.points[winner] >= self.target_points:
            self.end_game(winner, 1.0)
        elif self.drawn_rounds == MOST_DRAWN_ROUNDS:
            self.end_game(None, 0.0)
        else:
            self.start_round()

    def end_game(self, winner: int | None, reward: float) -> None:
        self.done = True
        if winner is not None:
            self.rewards = (reward, -reward) if winner == 0 else (-reward, reward)


# --- exact chances ---

ROLLS = tuple(product(range(1, 7), repeat=2))


def claiming_rolls(ranks: set[int]) -> list[tuple[int, int]]:
    """Those of the 36 rolls with which a card of one of these ranks can be claimed."""
    return [(a, b) for a, b in ROLLS if ranks & {a, b, a + b}]


def next_decisions(ranks: set[int], roller: int) -> dict[tuple[int, int, int], Fraction]:
    """The chance of each (player, a, b) of the next claim when `roller` rolls and cards of these ranks are unclaimed.

    With v[p] the expected number of rolls by p until one can be used: v[roller] = 1 + d v[roller] + n v[other] and
    v[other] = d v[other] + n v[roller], where d is the chance of useless doubles and n of another useless roll.
    """
    useful = claiming_rolls(ranks)
    useless = [roll for roll in ROLLS if roll not in useful]
    d = Fraction(sum(a == b for a, b in useless), 36)
    n = Fraction(sum(a != b for a, b in useless), 36)
    of_roller = (1 - d) / ((1 - d) ** 2 - n**2)
    of_other = of_roller * n / (1 - d)
    chances = {}
    for a, b in useful:
        chances[roller, a, b] = of_roller / 36
        chances[1 - roller, a, b] = of_other / 36
    return chances
