"""The value of a round of the Tic-Tac-Dice family, worked out slowly and in the plainest way, from the rule text alone.

A position is seen by the player about to roll: his cells and the other's. Rolls with nothing to claim leave it as it
is, so its value depends on itself and on that with the players exchanged; both are improved in turn until they stand.
"""

from itertools import product

#: (cards a side, row length) -> the rows.
ROWS = {
    (3, 3): [{0, 1, 2}, {3, 4, 5}, {6, 7, 8}, {0, 3, 6}, {1, 4, 7}, {2, 5, 8}, {0, 4, 8}, {2, 4, 6}],
    (4, 4): [
        *({4 * k, 4 * k + 1, 4 * k + 2, 4 * k + 3} for k in range(4)),
        *({k, k + 4, k + 8, k + 12} for k in range(4)),
        {0, 5, 10, 15},
        {3, 6, 9, 12},
    ],
}
ROLLS = list(product(range(1, 7), repeat=2))

Position = tuple[frozenset[int], frozenset[int]]


class SlowRound:
    """All positions of a layout that have been asked for; values in points, for the player about to roll."""

    def __init__(self, ranks: list[int], win_length: int = 3) -> None:
        self.ranks = ranks
        self.rows = ROWS[round(len(ranks) ** 0.5), win_length]
        self.known: dict[Position, float] = {}

    def value(self, mine: frozenset[int], others: frozenset[int]) -> float:
        """Points that the player about to roll gets, less what the other gets, both playing their best."""
        if (mine, others) not in self.known:
            self._work_out(mine, others)
        return self.known[mine, others]

    def claim(self, mine: frozenset[int], others: frozenset[int], cell: int, doubles: bool) -> float:
        mine = mine | {cell}
        if any(row <= mine for row in self.rows):
            return 2.0
        if len(mine) + len(others) == len(self.ranks):
            return float((len(mine) > len(others)) - (len(mine) < len(others)))
        return self.value(mine, others) if doubles else -self.value(others, mine)

    def _work_out(self, mine: frozenset[int], others: frozenset[int]) -> None:
        free = [cell for cell in range(len(self.ranks)) if cell not in mine | others]
        after = {
            (seat, cell, doubles): self.claim(*((mine, others), (others, mine))[seat], cell, doubles)
            for seat in (0, 1)
            for cell in free
            for doubles in (False, True)
        }
        # The rolls that allow a claim are worth the same however often the others are rolled again.
        fixed, again, passed = [0.0, 0.0], 0, 0
        for one, two in ROLLS:
            allowed = [cell for cell in free if self.ranks[cell] in (one, two, one + two)]
            if allowed:
                for seat in (0, 1):
                    fixed[seat] += max(after[seat, cell, one == two] for cell in allowed)
            elif one == two:
                again += 1
            else:
                passed += 1
        values, change = [0.0, 0.0], 1.0  # of the player about to roll, if it is this one, and if it is the other one
        while change > 1e-14:
            before = list(values)
            for seat in (0, 1):
                values[seat] = (fixed[seat] + again * values[seat] - passed * values[1 - seat]) / 36
            change = max(abs(new - old) for new, old in zip(values, before, strict=True))
        self.known[mine, others] = values[0]
        self.known[others, mine] = values[1]
