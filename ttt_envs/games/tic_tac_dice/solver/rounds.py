"""A round on a given layout, solved by backward induction.

A layout has 3^cells boards, and each claim leads to a board with one more marker, so the boards are solved backward
from the full ones (expectiminimax, after Michie, "Game-playing and game-learning automata", 1966). The only loops are
rolls without a legal claim. They do not change the board; the dice pass to the other player, except after doubles. This
gives two linear equations for two unknowns: the values of a board with either player about to roll.
"""

# mypy: disable-error-code="no-untyped-def"

from functools import cache

import numpy as np

from ttt_envs.core.compile.jit import kernel
from ttt_envs.core.lines import lines
from ttt_envs.games.tic_tac_dice.rules import CARDS_OF_A_RANK, COUNT_POINTS, DECK, EMPTY, RANKS, ROW_POINTS

#: Points of each result of a round, positive for player 0 and negative for player 1: a row of player 0; player 0 has
#: more markers, as many, fewer; a row of player 1.
RESULTS = (ROW_POINTS, COUNT_POINTS, 0, -COUNT_POINTS, -ROW_POINTS)

#: Player 0's payoffs for RESULTS in a single round: float64 (5,).
ROUND_PAYOFFS = np.array(RESULTS) / ROW_POINTS

#: Stands for the value of the best claim where no claim is legal.
NOTHING = -np.inf


@cache
def rows(size: int, win_length: int) -> np.ndarray:
    """Return whether each set of cells contains a row: bool (2**cells,)."""
    sets = np.arange(1 << size * size)
    complete = np.zeros(len(sets), np.bool_)
    for line in lines(size, size, win_length).astype(np.int64):
        mask = int((1 << line).sum())
        complete |= sets & mask == mask
    return complete


@kernel
def solve(ranks, has_row, payoffs, values):
    """Compute the values of all boards of a layout, by `solve_part` from the last board to the first."""
    solve_part(ranks, has_row, payoffs, values, values.shape[1], 0)


@kernel
def solve_part(ranks, has_row, payoffs, values, stop, start):
    """Compute the values of the boards from stop - 1 down to start; those from `stop` on must be known.

    Args:
        ranks: int8 (cells,), the layout.
        has_row: bool (2**cells,), see `rows`.
        payoffs: float64 (5,), see RESULTS.
        values: float64 (2, 3**cells), [roller, board]: player 0's expected payoff if `roller` is about to roll; nan
            where the round is over. The number of a board is the sum of (player + 1) * 3**cell over all markers.
    """
    cells = ranks.shape[0]
    digits = np.empty(cells, np.int64)
    rest = stop - 1
    for cell in range(cells):
        digits[cell] = rest % 3
        rest //= 3
    # best[roller, doubles, rank]: the roller's value of claiming the best card of this rank, without or with doubles.
    # Ranks end at 8, but sums of two dice go up to 12.
    best = np.empty((2, 2, 13))
    paid = np.empty(2)
    for board in range(stop - 1, start - 1, -1):
        first, second, empty, count = 0, 0, 0, 0
        for cell in range(cells):
            first |= (digits[cell] == 1) << cell
            second |= (digits[cell] == 2) << cell
            empty += digits[cell] == EMPTY
            count += int(digits[cell] == 1) - int(digits[cell] == 2)  # NumPy subtracts no booleans
        if empty == 0 or has_row[first] or has_row[second]:
            values[0, board] = np.nan
            values[1, board] = np.nan
        else:
            best[:] = NOTHING
            place = 1
            for cell in range(cells):
                if digits[cell] == EMPTY:
                    rank = ranks[cell]
                    for roller in range(2):
                        sign = 1 - 2 * roller
                        after = board + (roller + 1) * place
                        if has_row[(second if roller else first) | 1 << cell]:
                            passing = rolling = payoffs[4 * roller]
                        elif empty == 1:
                            passing = rolling = payoffs[2 - np.sign(count + sign)]
                        else:
                            passing, rolling = values[1 - roller, after], values[roller, after]
                        best[roller, 0, rank] = max(best[roller, 0, rank], sign * passing)
                        best[roller, 1, rank] = max(best[roller, 1, rank], sign * rolling)
                place *= 3
            stuck = 0.0, 0.0
            for roller in range(2):
                paid[roller], stuck = expected(best[roller])
            # The values x and y with player 0 and with player 1 about to roll solve: x = paid[0] + again * x + passed *
            # y and y = -paid[1] + again * y + passed * x.
            passed, again = stuck
            out = (1 - again) * (1 - again) - passed * passed
            values[0, board] = ((1 - again) * paid[0] - passed * paid[1]) / out
            values[1, board] = (passed * paid[0] - (1 - again) * paid[1]) / out
        cell = 0
        while cell < cells and digits[cell] == 0:
            digits[cell] = 2
            cell += 1
        if cell < cells:
            digits[cell] -= 1


@kernel
def expected(best):
    """Average over all rolls for a roller who claims the best card that the dice allow; best: float64 (2, 13).

    Returns the mean value to the roller, in which rolls without a legal claim count as 0, and the probabilities of such
    rolls: without doubles, and with doubles.
    """
    paid, passed, again = 0.0, 0, 0
    for one in range(1, 7):
        double = max(best[1, one], best[1, 2 * one])
        if double == NOTHING:
            again += 1
        else:
            paid += double
        for two in range(one + 1, 7):
            most = max(best[0, one], best[0, two], best[0, one + two])
            if most == NOTHING:
                passed += 2
            else:
                paid += 2 * most
    return paid / 36, (passed / 36, again / 36)


def deal_layouts(n: int, cells: int, seed: int) -> np.ndarray:
    """Return random layouts, int8 (n, cells)."""
    deck = np.repeat(np.arange(1, RANKS + 1, dtype=np.int8), CARDS_OF_A_RANK)
    decks = np.broadcast_to(deck, (n, DECK))
    return np.ascontiguousarray(np.random.default_rng(seed).permuted(decks, axis=1)[:, :cells])
