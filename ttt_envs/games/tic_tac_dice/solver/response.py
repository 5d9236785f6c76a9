"""Best responses to a policy in a single round on the 3x3 board, by backward induction on each layout."""

# mypy: disable-error-code="no-untyped-def"

from functools import cache
from typing import Any

import numpy as np

from ttt_envs.core.compile.jit import kernel
from ttt_envs.core.oracle import Policy
from ttt_envs.games.tic_tac_dice.rules import COUNT_POINTS, EMPTY, RANKS, ROW_POINTS
from ttt_envs.games.tic_tac_dice.solver.answers import claims
from ttt_envs.games.tic_tac_dice.solver.rounds import NOTHING, ROUND_PAYOFFS, rows

#: All rolls, the lower die first: int64 (21, 2).
ROLLS = np.array([(one, two) for one in range(1, 7) for two in range(one, 7)])


@kernel
def respond(ranks, has_row, mover, answers, values):
    """Compute the values of all boards of a layout for a best response to a known policy.

    Args:
        ranks: int8 (cells,), the layout.
        has_row: bool (2**cells,), see `rows`.
        mover: int, the player who follows the policy.
        answers: the mover's policy, float64 (n, cells), and `which`, int64 (3**cells, 21): the policy's row for each
            board and roll, -1 where the dice allow no claim.
        values: float64 (2, 3**cells), [roller, board], see `solve_part`: the responder's expected payoff in a single
            round if `roller` is about to roll; nan where the round is over.
    """
    policies, which = answers
    cells, boards = ranks.shape[0], values.shape[1]
    digits, after = np.empty(cells, np.int64), np.empty((2, 2, cells))
    paid, stuck = np.empty(2), np.empty((2, 2))
    for board in range(boards - 1, -1, -1):
        first, second, empty, count, rest = 0, 0, 0, 0, board
        for cell in range(cells):
            digits[cell] = rest % 3
            rest //= 3
            first |= (digits[cell] == 1) << cell
            second |= (digits[cell] == 2) << cell
            empty += digits[cell] == EMPTY
            count += (digits[cell] == 1) - (digits[cell] == 2)
        values[0, board] = values[1, board] = np.nan
        if empty == 0 or has_row[first] or has_row[second]:
            continue
        # after[roller, doubles, cell]: the responder's value if the roller claims this card, with or without doubles.
        place = 1
        for cell in range(cells):
            for roller in range(2):
                if digits[cell] != EMPTY:
                    continue
                sign = 1 if roller != mover else -1
                if has_row[(second if roller else first) | 1 << cell]:
                    after[roller, :, cell] = sign
                elif empty == 1:
                    ahead = np.sign(count + 1 - 2 * roller) * (1 if mover == 1 else -1)
                    after[roller, :, cell] = ahead * COUNT_POINTS / ROW_POINTS
                else:
                    for double in range(2):
                        next_roller = roller if double else 1 - roller
                        after[roller, double, cell] = values[next_roller, board + (roller + 1) * place]
            place *= 3
        paid[:], stuck[:] = 0, 0
        for k in range(ROLLS.shape[0]):
            one, two = ROLLS[k]
            doubles = np.int64(one == two)
            ways = 2 - doubles
            allowed = np.int64(1) << one | np.int64(1) << two | np.int64(1) << one + two  # ranks that may be claimed
            for roller in range(2):
                best, mean = NOTHING, 0.0
                for cell in range(cells):
                    if digits[cell] == EMPTY and allowed >> ranks[cell] & 1:
                        best = max(best, after[roller, doubles, cell])
                        if roller == mover:
                            mean += policies[which[board, k], cell] * after[roller, doubles, cell]
                if best == NOTHING:
                    stuck[roller, doubles] += ways / 36
                else:
                    paid[roller] += (mean if roller == mover else best) * ways / 36
        # The values x and y with player 0 and with player 1 about to roll solve: x = paid[0] + again * x + passed * y
        # and y = paid[1] + again * y + passed * x.
        passed, again = stuck[0]
        out = (1 - again) * (1 - again) - passed * passed
        values[0, board] = ((1 - again) * paid[0] + passed * paid[1]) / out
        values[1, board] = (passed * paid[0] + (1 - again) * paid[1]) / out


@cache
def _open_boards(win_length: int) -> np.ndarray:
    """Return the numbers of the 3x3 boards on which the round is not over: int64 (n,)."""
    boards = np.arange(3**9)
    digits, bits = _digits(boards), 1 << np.arange(9)
    has_row = rows(3, win_length)
    over = has_row[(digits == 1) @ bits] | has_row[(digits == 2) @ bits] | (digits > 0).all(axis=1)
    return boards[~over]


def _digits(boards: np.ndarray) -> np.ndarray:
    return boards[:, None] // 3 ** np.arange(9) % 3


def best_from(policy: Policy, start: Any, player: int) -> float:
    """Return the expected reward of `player`'s best response to the other player's policy from the state `start`."""
    if start["done"]:
        return float(start["rewards"][player])
    win_length = int(start["win_length"])
    ranks, boards, has_row = start["rank"], _open_boards(win_length), rows(3, win_length)
    owner = _digits(boards)
    rolled = np.zeros((len(ROLLS), RANKS + 5), np.bool_)  # which ranks a roll allows; sums go up to 12
    for k, (one, two) in enumerate(ROLLS):
        rolled[k, [one, two, one + two]] = True
    allowed = (rolled[None, :, ranks] & (owner == EMPTY)[:, None]).any(axis=2)
    where, roll = np.nonzero(allowed)
    states = np.repeat(start[None], len(where))
    states["owner"], states["dice"] = owner[where], ROLLS[roll]
    states["ply"] = (owner[where] != EMPTY).sum(axis=1)
    states["to_move"] = 1 - player
    which = np.full((3**9, len(ROLLS)), -1)
    which[boards[where], roll] = np.arange(len(where))
    policies = np.asarray(policy(states, np.full(len(states), 1 - player)), np.float64)
    if policies.shape != (len(states), 9):
        wanted = len(states), 9
        raise ValueError(f"a policy for {len(states)} states must have shape {wanted}, not {policies.shape}")
    values = np.empty((2, 3**9))
    respond(ranks, has_row, 1 - player, (policies, which), values)
    # In `start` the dice are already rolled, so only the claims that they allow count.
    after = np.empty(9)
    claims(start, has_row, ROUND_PAYOFFS, values if player == 0 else -values, after)
    after *= 1 - 2 * player
    if start["to_move"] == player:
        return float(np.nanmax(after))
    board = int(start["owner"].astype(np.int64) @ 3 ** np.arange(9))
    row = which[board, np.flatnonzero((start["dice"] == ROLLS).all(axis=1))[0]]
    return float(np.nansum(policies[row] * after))
