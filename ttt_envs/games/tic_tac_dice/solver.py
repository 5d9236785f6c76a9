"""Best play of the Tic-Tac-Dice family: a round by backward induction, a match by a table over scores.

A round on a given layout has 3^cells boards, and each claim leads to a board with one marker more; so the boards are
gone through from the full ones back (expectiminimax, after Michie, "Game-playing and game-learning automata", 1966).
The only loops are rolls with nothing to claim. They leave the board as it is, and pass the dice on or, after doubles,
do not: two linear equations in two unknowns, the values of one board with either player about to roll.

- **3x3**: any layout is solved when it is first asked for, and the newest are kept.
- **4x4**: one layout takes 0.85 GB and some 5 s; `game.oracle()` therefore refuses. The command

      python -m ttt_envs.games.tic_tac_dice.solver layout --size 4 --win-length 3 --seed 1

  solves one, and `DiceOracle(4, 3)` in Python.
- **A match** is won by points, so that a round is played for the chance to win the match: what a round's result is
  worth is looked up in a table of values for (points that I need, points that the opponent needs). Each of its entries
  is the mean over a fixed sample of layouts, each solved exactly for the worth of its results. The sample is the only
  error; `match_values.json` holds the table with the standard error of each entry, estimated from tables
  made of parts of the sample. It was made by

      python -m ttt_envs.games.tic_tac_dice.solver match-values
"""

# mypy: disable-error-code="no-untyped-def"

import argparse
import json
import os
import sys
from collections import OrderedDict
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np

from ttt_envs.core.files import write_whole
from ttt_envs.core.jit import kernel
from ttt_envs.core.lines import lines
from ttt_envs.games.tic_tac_dice import rules
from ttt_envs.games.tic_tac_dice.rules import CARDS_OF_A_RANK, COUNT_POINTS, DECK, EMPTY, RANKS, ROW_POINTS
from ttt_envs.games.tic_tac_dice.text import action_names, check_ranks

#: How a round may end, in the order of a payoff array: a row of player 0, more markers, as many, fewer, a row of 1.
RESULTS = (ROW_POINTS, COUNT_POINTS, 0, -COUNT_POINTS, -ROW_POINTS)

#: What they pay player 0 in a single round: float64 (5,).
ROUND_PAYOFFS = np.array(RESULTS) / ROW_POINTS

#: The points that a match table goes up to.
MOST_TARGET = 9

MATCH_VALUES = Path(__file__).with_name("match_values.json")

# Bytes of solved layouts that an oracle keeps; the newest one is kept in any case.
_KEEP = 256 << 20

_NOTHING = -np.inf


@cache
def rows(size: int, win_length: int) -> np.ndarray:
    """Whether a set of cells, as bits, holds a row: bool (2**cells,)."""
    sets = np.arange(1 << size * size)
    found = np.zeros(len(sets), np.bool_)
    for line in lines(size, size, win_length).astype(np.int64):
        mask = int((1 << line).sum())
        found |= sets & mask == mask
    return found


@kernel
def solve(ranks, has_row, payoffs, values):
    """Fill the values of all boards of a layout: `solve_part` from the last board to the first."""
    solve_part(ranks, has_row, payoffs, values, values.shape[1], 0)


@kernel
def solve_part(ranks, has_row, payoffs, values, stop, start):
    """Fill the values of the boards from stop-1 down to start; those from `stop` on are there already.

    Args:
        ranks: int8 (cells,), the layout.
        has_row: bool (2**cells,), see `rows`.
        payoffs: float64 (5,), see RESULTS.
        values: float64 (2, 3**cells), [roller, board]: what player 0 is paid if `roller` is about to roll; nan
            where the round is over. Board number: the sum of (player + 1) * 3**cell over all markers.
    """
    cells = ranks.shape[0]
    digits = np.empty(cells, np.int64)
    rest = stop - 1
    for cell in range(cells):
        digits[cell] = rest % 3
        rest //= 3
    # For each roller, without and with doubles, and each rank: the best that a card of that rank gives him. Sums of
    # two dice go up to 12, where no cards are.
    best = np.empty((2, 2, 13))
    paid = np.empty(2)
    for board in range(stop - 1, start - 1, -1):
        first, second, empty, count = 0, 0, 0, 0
        for cell in range(cells):
            first |= (digits[cell] == 1) << cell
            second |= (digits[cell] == 2) << cell
            empty += digits[cell] == EMPTY
            count += (digits[cell] == 1) - (digits[cell] == 2)
        if empty == 0 or has_row[first] or has_row[second]:
            values[0, board] = np.nan
            values[1, board] = np.nan
        else:
            best[:] = _NOTHING
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
            # own = paid[0] + again * own + passed * other;  other = -paid[1] + again * other + passed * own
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
    """What a roll is worth to the roller, who claims the best card that the dice allow; best float64 (2, 13).

    Returns the part of the rolls that allow something, and the chances that one allows nothing: without and with
    doubles.
    """
    paid, passed, again = 0.0, 0, 0
    for one in range(1, 7):
        double = max(best[1, one], best[1, 2 * one])
        if double == _NOTHING:
            again += 1
        else:
            paid += double
        for two in range(one + 1, 7):
            most = max(best[0, one], best[0, two], best[0, one + two])
            if most == _NOTHING:
                passed += 2
            else:
                paid += 2 * most
    return paid / 36, (passed / 36, again / 36)


@kernel
def claims(state, has_row, payoffs, values, out):
    """What player 0 is paid after each claim, float64 (cells,): nan where it is not allowed."""
    cells = out.shape[0]
    player, ranks = state["to_move"], rules.allowed_ranks(state)
    board, place, own, empty, count = np.int64(0), 1, 0, 0, 0
    for cell in range(cells):
        owner = np.int64(state["owner"][cell])
        board += owner * place
        own |= (owner == player + 1) << cell
        empty += owner == EMPTY
        count += (owner == 1) - (owner == 2)
        place *= 3
    place = 1
    roller = player if rules.doubles(state) else 1 - player
    for cell in range(cells):
        if state["done"] or not rules.is_claimable(state, cell, ranks):
            out[cell] = np.nan
        elif has_row[own | 1 << cell]:
            out[cell] = payoffs[4 * player]
        elif empty == 1:
            out[cell] = payoffs[2 - np.sign(count + 1 - 2 * player)]
        else:
            out[cell] = values[roller, board + (player + 1) * place]
        place *= 3


@kernel
def claims_rows(states, which, has_row, payoffs, values, out):
    """`claims` for states[which[k]]; which int64 (k,), out float64 (n, cells)."""
    for i in which:
        claims(states[i], has_row, payoffs, values, out[i])


# --- best responses ---

#: All rolls, the lower die first: int64 (21, 2).
ROLLS = np.array([(one, two) for one in range(1, 7) for two in range(one, 7)])


@kernel
def respond(ranks, has_row, mover, answers, values):
    """Fill the values of all boards of a layout for a player who plays best against answers that he knows.

    Args:
        ranks: int8 (cells,), the layout.
        has_row: bool (2**cells,), see `rows`.
        mover: int, the player who gives the answers.
        answers: his policy, float64 (n, cells), and `which` int64 (3**cells, 21): the row for each board and roll, -1
            where the dice allow him nothing.
        values: float64 (2, 3**cells), [roller, board], see `solve_part`: what the other player is paid in a single
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
        # What a claim is worth to the responder: by whom, without and with doubles, which card.
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
            allowed = rules.ranks_of(one, two)
            for roller in range(2):
                best, mean = _NOTHING, 0.0
                for cell in range(cells):
                    if digits[cell] == EMPTY and allowed >> ranks[cell] & 1:
                        best = max(best, after[roller, doubles, cell])
                        if roller == mover:
                            mean += policies[which[board, k], cell] * after[roller, doubles, cell]
                if best == _NOTHING:
                    stuck[roller, doubles] += ways / 36
                else:
                    paid[roller] += (mean if roller == mover else best) * ways / 36
        # With either player about to roll: own = paid[0] + again * own + passed * other, and so the other way.
        passed, again = stuck[0]
        out = (1 - again) * (1 - again) - passed * passed
        values[0, board] = ((1 - again) * paid[0] + passed * paid[1]) / out
        values[1, board] = (passed * paid[0] + (1 - again) * paid[1]) / out


@cache
def _open_boards(win_length: int) -> np.ndarray:
    """The 3x3 boards on which a round goes on: int64 (n,) of their numbers."""
    boards = np.arange(3**9)
    digits, bits = _digits(boards), 1 << np.arange(9)
    has_row = rows(3, win_length)
    over = has_row[(digits == 1) @ bits] | has_row[(digits == 2) @ bits] | (digits > 0).all(axis=1)
    return boards[~over]


def _digits(boards: np.ndarray) -> np.ndarray:
    """Owners of the cells, int64 (n, 9), from numbers of 3x3 boards."""
    return boards[:, None] // 3 ** np.arange(9) % 3


class DiceOracle:
    """Best play of a single round, or of a match on the 3x3 board.

    See `ttt_envs.core.game.Oracle` for shapes. A layout is solved when it is first asked for; the newest solutions are
    kept, up to 256 MB. Values of a single round are exact up to rounding; those of a match have the error of the
    table of scores, see `standard_error`.
    """

    def __init__(self, size: int = 3, win_length: int = 3, target_points: int | None = None) -> None:
        """`target_points` None: a single round; `size` 4 takes 0.85 GB and some seconds a layout.

        Raises ValueError for a size or a target that cannot be solved.
        """
        if size not in (3, 4):
            raise ValueError(f"size={size} cannot be solved: 3 or 4 can")
        if not 3 <= win_length <= size:
            raise ValueError(f"win_length must be from 3 to {size}, not {win_length}")
        if target_points is not None and not (size == 3 and 1 <= target_points <= MOST_TARGET):
            raise ValueError(
                f"a match is solved for size=3 and target_points up to {MOST_TARGET}, not for size={size} and "
                f"target_points={target_points}"
            )
        self.size = size
        self.win_length = win_length
        self.target_points = target_points
        #: Standard error of `value`, in reward units: of the start of a round, at any score.
        self.standard_error = 0.0
        if target_points is not None:
            table, errors = match_values()
            self._table = table[: target_points + 1, : target_points + 1]
            self.standard_error = float(errors[: target_points + 1, : target_points + 1].max())
        self._rows = rows(size, win_length)
        self._solved: OrderedDict[tuple[bytes, bytes], np.ndarray] = OrderedDict()

    def layout_value(self, ranks: Any) -> float:
        """Value of a single round for the player about to roll on an empty layout, in reward units (points halved).

        `ranks`: whole numbers (size*size,) or (size, size). ValueError in words if the deck cannot deal them.
        """
        return float(self.solution(ranks, ROUND_PAYOFFS)[0, 0])

    def covers(self, states: np.ndarray) -> np.ndarray:
        """Bool (n,): all of them."""
        return np.ones(len(self._checked(states)), np.bool_)

    def value(self, states: np.ndarray, player: int | np.ndarray) -> np.ndarray:
        """float64 (n,): expected reward of `player` under best play by both."""
        after = self._claims(states)
        sign = 1.0 - 2.0 * states["to_move"]
        best = sign * np.nanmax(np.where(states["done"][:, None], 0.0, after * sign[:, None]), axis=1)
        first = np.where(states["done"], states["rewards"][:, 0], best)
        return np.where(np.asarray(player) == 0, first, -first)

    def action_values(self, states: np.ndarray, player: int | np.ndarray) -> np.ndarray:
        """float64 (n, num_actions): the same after each claim; nan where it is not allowed."""
        after = self._claims(states)
        return np.where(np.broadcast_to(np.asarray(player) == 0, len(states))[:, None], after, -after)

    def policy(self, states: np.ndarray, player: int | np.ndarray) -> np.ndarray:
        """float64 (n, num_actions): all best claims alike; a row of zeros where `player` has none to make."""
        after = self._claims(states) * (1.0 - 2.0 * states["to_move"])[:, None]
        acts = ~states["done"] & (states["to_move"] == player)
        after[~acts] = 0.0
        # Equal up to rounding: symmetric claims are added up in different orders.
        best = acts[:, None] & (after >= np.nanmax(after, axis=1, keepdims=True) - 1e-12)
        return best / np.maximum(best.sum(axis=1, keepdims=True), 1)

    def solution(self, ranks: Any, payoffs: np.ndarray, tell: Callable[[float], None] | None = None) -> np.ndarray:
        """All values of a layout, see `solve_part`: float64 (2, 3**cells), kept for the next time.

        `tell` hears what share is done. ValueError as of `layout_value`.
        """
        ranks = check_ranks(ranks, self.size)
        key = ranks.tobytes(), payoffs.tobytes()
        values = self._solved.pop(key, None)
        if values is None:
            boards = 3 ** len(ranks)
            size = 2 * 8 * boards
            while self._solved and size * (len(self._solved) + 1) > _KEEP:
                self._solved.popitem(last=False)
            values = np.empty((2, boards))
            parts = 1 if boards < 1 << 20 else 200
            for part in range(parts, 0, -1):
                bounds = boards * part // parts, boards * (part - 1) // parts
                solve_part(ranks, self._rows, payoffs, values, *bounds)
                if tell is not None:
                    tell(1 - (part - 1) / parts)
        self._solved[key] = values
        return values

    def payoffs(self, points: np.ndarray) -> np.ndarray:
        """What each result of a round is worth to player 0 at that score: float64 (5,); points int (2,)."""
        if self.target_points is None:
            return ROUND_PAYOFFS
        first, second = (self.target_points - int(each) for each in points)
        return result_values(self._table, first, second)

    def _claims(self, states: np.ndarray) -> np.ndarray:
        states = np.ascontiguousarray(self._checked(states))
        out = np.full((len(states), self.size**2), np.nan)
        scores = states["points"] if self.target_points else np.zeros_like(states["points"])
        keys = np.concatenate([states["rank"], scores], axis=1)
        # A layout's positions together, so that no layout is solved twice in one call.
        going = np.flatnonzero(~states["done"])
        order = going[np.lexsort(keys[going].T)]
        changes = np.flatnonzero((keys[order[1:]] != keys[order[:-1]]).any(axis=1)) + 1
        for group in np.split(order, changes) if len(order) else []:
            i = group[0]
            payoffs = self.payoffs(states["points"][i])
            values = self.solution(states["rank"][i], payoffs)
            claims_rows(states, group, self._rows, payoffs, values, out)
        return out

    def _checked(self, states: np.ndarray) -> np.ndarray:
        if states.dtype != rules.STATE[self.size]:
            raise ValueError(f"this oracle answers states of the {self.size}x{self.size} board")
        wrong = (states["win_length"] != self.win_length) | (states["target"] != (self.target_points or 0))
        if wrong.any():
            raise ValueError(
                f"this oracle was made for win_length={self.win_length}, target_points={self.target_points}, and is "
                "asked about a game with other options"
            )
        return states


class RoundOracle(DiceOracle):
    """Best play of a single round on the 3x3 board, and best responses to any policy in it."""

    def __init__(self, win_length: int = 3) -> None:
        """As `DiceOracle`."""
        super().__init__(3, win_length)

    def best_response_from(
        self,
        policy: Callable[[np.ndarray, np.ndarray], np.ndarray],
        starts: np.ndarray,
        player: int,
        tell: Callable[[float], None] = lambda share: None,
    ) -> np.ndarray:
        """Expected reward of `player`, if he plays best against a policy that he knows.

        Args:
            policy: gives float (k, num_actions) for states structured (k,) and players int64 (k,); asked about all
                boards of a layout with all rolls.
            starts: structured (n,), from where the rounds go on.
            player: who plays best; the other one follows the policy.
            tell: hears what share is done.

        Returns float64 (n,). Raises ValueError for states of another game, or a policy of a wrong shape.
        """
        if player not in (0, 1):
            raise ValueError(f"player must be 0 or 1, not {player!r}")
        starts = np.ascontiguousarray(self._checked(starts))
        out = np.empty(len(starts))
        for i, start in enumerate(starts):
            out[i] = self._best_from(policy, start, player)
            tell((i + 1) / len(starts))
        return out

    def _best_from(self, policy: Any, start: Any, player: int) -> float:
        if start["done"]:
            return float(start["rewards"][player])
        ranks, boards = start["rank"], _open_boards(self.win_length)
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
        respond(ranks, self._rows, 1 - player, (policies, which), values)
        # The start is after a roll.
        after = np.empty(9)
        claims(start, self._rows, ROUND_PAYOFFS, values if player == 0 else -values, after)
        after *= 1 - 2 * player
        if start["to_move"] == player:
            return float(np.nanmax(after))
        board = int(start["owner"].astype(np.int64) @ 3 ** np.arange(9))
        row = which[board, np.flatnonzero((start["dice"] == ROLLS).all(axis=1))[0]]
        return float(np.nansum(policies[row] * after))


def oracle_for(size: int, win_length: int, target_points: int, rounds: str) -> DiceOracle:
    """Best play with the options of a game; NotImplementedError in words where there is none."""
    if size == 4 and rounds == "single":
        raise NotImplementedError(
            "no oracle for size=4: each layout takes some seconds and 0.85 GB. One layout is solved by 'python -m "
            f"ttt_envs.games.tic_tac_dice.solver layout --size 4 --win-length {win_length}'"
        )
    if size != 3:
        raise NotImplementedError(f"no oracle for size={size} and rounds={rounds!r}: best play is known for size=3")
    if rounds == "single":
        return RoundOracle(win_length)
    if target_points > MOST_TARGET:
        raise NotImplementedError(
            f"no oracle for target_points={target_points}: best play is known up to {MOST_TARGET}"
        )
    return DiceOracle(size, win_length, target_points)


# --- the match ---


def match_values() -> tuple[np.ndarray, np.ndarray]:
    """Value of a match for a player, in reward units, and its standard error: two float64 (10, 10).

    [a, b]: at the start of a round, before it is rolled for the start, if the player needs a more points, and the
    opponent b.
    """
    stored = json.loads(MATCH_VALUES.read_text())
    return np.array(stored["values"]), np.array(stored["standard_errors"])


def result_values(table: np.ndarray, first: int, second: int) -> np.ndarray:
    """What each of RESULTS is worth to player 0, who needs `first` more points, and player 1 `second`."""
    found = []
    for points in RESULTS:
        mine, other = max(first - max(points, 0), 0), max(second - max(-points, 0), 0)
        found.append(1.0 if mine == 0 else -1.0 if other == 0 else table[mine, other])
    return np.array(found)


@kernel
def start_values(layouts, has_row, payoffs, out):
    """Value to player 0 of a round on each layout, before it is rolled for the start; layouts int8 (n, 9)."""
    values = np.empty((2, 3 ** layouts.shape[1]))
    for i in range(layouts.shape[0]):
        solve(layouts[i], has_row, payoffs, values)
        out[i] = (values[0, 0] + values[1, 0]) / 2


def deal_layouts(n: int, cells: int, seed: int) -> np.ndarray:
    """Random layouts, int8 (n, cells)."""
    deck = np.repeat(np.arange(1, RANKS + 1, dtype=np.int8), CARDS_OF_A_RANK)
    decks = np.broadcast_to(deck, (n, DECK))
    return np.ascontiguousarray(np.random.default_rng(seed).permuted(decks, axis=1)[:, :cells])


def make_match_values(
    layouts: int, groups: int, seed: int, target: int = MOST_TARGET, threads: int = 1
) -> Iterator[tuple[float, dict[str, Any]]]:
    """Work out the table of a match; gives (share done, what is to be written) after each entry.

    The layouts are dealt into groups, and each group makes a table of its own: the standard error is that of
    the mean of these tables, so that it holds what earlier entries pass on to later ones.
    """
    sample = deal_layouts(layouts, 9, seed).reshape(groups, -1, 9)
    tables = np.zeros((groups, target + 1, target + 1))
    tables[:, 0, 1:], tables[:, 1:, 0] = 1.0, -1.0
    has_row = rows(3, 3)
    pairs = [(a, b) for a in range(1, target + 1) for b in range(a + 1, target + 1)]  # both alike: 0
    done = 0
    with ThreadPoolExecutor(threads) as pool:
        # An entry asks for entries with fewer points needed in all.
        for a, b in sorted(pairs, key=sum):

            def work(group: int, a: int = a, b: int = b) -> float:
                out = np.empty(sample.shape[1])
                start_values(sample[group], has_row, result_values(tables[group], a, b), out)
                return float(out.mean())

            found = np.array(list(pool.map(work, range(groups))))
            tables[:, a, b], tables[:, b, a] = found, -found
            done += 1
            yield (
                done / len(pairs),
                {
                    "layouts": layouts,
                    "groups": groups,
                    "seed": seed,
                    "values": tables.mean(axis=0).round(6).tolist(),
                    "standard_errors": (tables.std(axis=0, ddof=1) / np.sqrt(groups)).round(6).tolist(),
                },
            )


# --- the command ---


def main(arguments: Sequence[str] | None = None) -> int:
    """Command line; returns the exit status."""
    parser = argparse.ArgumentParser(prog="python -m ttt_envs.games.tic_tac_dice.solver")
    commands = parser.add_subparsers(dest="command", required=True)
    form = argparse.ArgumentDefaultsHelpFormatter
    solve_one = "solve one layout: the value of the round and the best first claims"
    layout = commands.add_parser("layout", help=solve_one, formatter_class=form)
    layout.add_argument("--size", type=int, default=4, choices=(3, 4), help="cards a side")
    layout.add_argument("--win-length", type=int, default=3, help="3 to size")
    layout.add_argument("--ranks", type=int, nargs="+", help="the layout, row by row; else one is dealt")
    layout.add_argument("--seed", type=int, default=0, help="of the dealt layout")
    values = commands.add_parser("match-values", help="work out the table of values of a match", formatter_class=form)
    values.add_argument("--layouts", type=int, default=4096, help="size of the sample")
    values.add_argument("--groups", type=int, default=16, help="parts of the sample, for the standard errors")
    values.add_argument("--seed", type=int, default=0, help="of the sample")
    values.add_argument("--threads", type=int, default=os.cpu_count() or 1, help="that share the work")
    values.add_argument("--out", type=Path, default=Path(MATCH_VALUES.name), help="file to write")
    given = parser.parse_args(arguments)
    try:
        if given.seed < 0:
            raise ValueError(f"--seed must be at least 0, not {given.seed}")
        if given.command == "layout":
            _layout(given)
        else:
            _match_values(given)
    except (ValueError, OSError) as error:
        print(f"error: {error}", file=sys.stderr)
        return 2
    except KeyboardInterrupt:
        print("interrupted: nothing was written", file=sys.stderr)
        return 130
    return 0


def _progress() -> Any:
    from rich.console import Console
    from rich.progress import Progress

    return Progress(console=Console(stderr=True, force_jupyter=False), transient=True)


def _layout(given: argparse.Namespace) -> None:
    cells = given.size**2
    ranks = deal_layouts(1, cells, given.seed)[0] if given.ranks is None else check_ranks(given.ranks, given.size)
    oracle = DiceOracle(given.size, given.win_length)
    with _progress() as progress:
        task = progress.add_task("solving the layout", total=1.0)
        values = oracle.solution(ranks, ROUND_PAYOFFS, lambda share: progress.update(task, completed=share))
    names = action_names(given.size)
    for row in ranks.reshape(given.size, given.size):
        print("  ".join(str(rank) for rank in row))
    print(f"value for the player about to roll: {values[0, 0]:+.6f} (points: {ROW_POINTS * values[0, 0]:+.6f})")
    states = np.zeros(1, rules.STATE[given.size])
    states["size"], states["win_length"], states["rank"] = given.size, given.win_length, ranks
    for one in range(1, 7):
        for two in range(one, 7):
            states["dice"] = one, two
            after = oracle.action_values(states, 0)[0]
            if np.isnan(after).all():
                print(f"{one} {two}: nothing to claim")
            else:
                best = int(np.nanargmax(after))
                print(f"{one} {two}: {names[best]} ({ranks[best]}), {after[best]:+.6f}")


def _match_values(given: argparse.Namespace) -> None:
    if given.groups < 2:
        raise ValueError(f"--groups must be at least 2, not {given.groups}")
    if given.layouts < given.groups or given.layouts % given.groups:
        raise ValueError(f"--layouts must be a multiple of --groups, {given.groups}, not {given.layouts}")
    if given.threads < 1:
        raise ValueError(f"--threads must be at least 1, not {given.threads}")
    if given.out.is_dir():
        raise ValueError(f"--out must be a file, and {given.out} is a folder")
    found: dict[str, Any] = {}
    with _progress() as progress:
        task = progress.add_task("solving layouts", total=1.0)
        for share, table in make_match_values(given.layouts, given.groups, given.seed, threads=given.threads):
            progress.update(task, completed=share)
            found = table
    write_whole(given.out, json.dumps(found, indent=1) + "\n")
    print(f"wrote {given.out}; largest standard error {np.max(found['standard_errors']):.6f}")


if __name__ == "__main__":
    sys.exit(main())
