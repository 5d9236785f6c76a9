"""The oracles of a single round and of a match."""

from collections import OrderedDict
from typing import Any

import numpy as np

from ttt_envs.core.checks import Validity, check_players
from ttt_envs.core.oracle import Policy, Progress
from ttt_envs.games.tic_tac_dice import rules
from ttt_envs.games.tic_tac_dice.solver.answers import claims_rows
from ttt_envs.games.tic_tac_dice.solver.match import MOST_TARGET, result_values
from ttt_envs.games.tic_tac_dice.solver.response import best_from
from ttt_envs.games.tic_tac_dice.solver.rounds import ROUND_PAYOFFS, rows, solve_part
from ttt_envs.games.tic_tac_dice.solver.tables import match_values
from ttt_envs.games.tic_tac_dice.text import check_ranks

# Limit in bytes of the solved layouts that an oracle keeps; it always keeps the newest.
_KEEP = 256 << 20

_STATES = {
    size: Validity(rules.STATE[size], simultaneous=False, name=f"Tic-Tac-Dice on the {size}x{size} board")
    for size in (3, 4)
}


class DiceOracle:
    """Optimal play of a single round, or of a match on the 3x3 board.

    See `ttt_envs.core.oracle.Oracle` for shapes. A layout is solved when it is first needed; the newest solutions are
    kept, up to 256 MB. Values of a single round are exact up to rounding; values of a match have the error of the table
    of scores, see `error`.
    """

    def __init__(self, size: int = 3, win_length: int = 3, target_points: int | None = None) -> None:
        """`target_points`: None for a single round. With `size` 4, each layout takes 0.85 GB and some seconds.

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
        #: Largest standard error of `value` at the start of a round, over all scores, in reward units.
        self.standard_error = 0.0
        if target_points is not None:
            table, errors = match_values()
            self._table = table[: target_points + 1, : target_points + 1]
            self.standard_error = float(errors[: target_points + 1, : target_points + 1].max())
        #: Bound on the error of a match's values: four standard errors, because one would often be exceeded.
        self.error = 4 * self.standard_error
        self._rows = rows(size, win_length)
        self._solved: OrderedDict[tuple[bytes, bytes], np.ndarray] = OrderedDict()

    def layout_value(self, ranks: Any) -> float:
        """Return the value of a round, in reward units, for the player about to roll on an empty layout.

        `ranks`: whole numbers (size*size,) or (size, size). Raises ValueError if the deck cannot deal them.
        """
        return float(self.solution(ranks, ROUND_PAYOFFS)[0, 0])

    def covers(self, states: np.ndarray) -> np.ndarray:
        """Return bool (n,): True for all states."""
        return np.ones(len(self._checked(states)), np.bool_)

    def value(self, states: np.ndarray, player: int | np.ndarray) -> np.ndarray:
        """Return float64 (n,): the expected reward of `player` if both play optimally."""
        states = self._checked(states)
        players = check_players(player, len(states), 2)
        after = self._claims(states)
        sign = 1.0 - 2.0 * states["to_move"]
        best = sign * np.nanmax(np.where(states["done"][:, None], 0.0, after * sign[:, None]), axis=1)
        first = np.where(states["done"], states["rewards"][:, 0], best)
        return np.where(players == 0, first, -first)

    def action_values(self, states: np.ndarray, player: int | np.ndarray) -> np.ndarray:
        """Return float64 (n, num_actions): `value` after each claim; nan if it is illegal."""
        states = self._checked(states)
        players = check_players(player, len(states), 2)
        after = self._claims(states)
        return np.where((players == 0)[:, None], after, -after)

    def policy(self, states: np.ndarray, player: int | np.ndarray) -> np.ndarray:
        """Return float64 (n, num_actions): equal shares for all best claims; zeros where `player` does not act."""
        states = self._checked(states)
        players = check_players(player, len(states), 2)
        after = self._claims(states) * (1.0 - 2.0 * states["to_move"])[:, None]
        acts = ~states["done"] & (states["to_move"] == players)
        after[~acts] = 0.0
        # Values of symmetric claims differ by rounding, as they are summed in different orders: they count as equal.
        best = acts[:, None] & (after >= np.nanmax(after, axis=1, keepdims=True) - 1e-12)
        return best / np.maximum(best.sum(axis=1, keepdims=True), 1)

    def solution(self, ranks: Any, payoffs: np.ndarray, progress: Progress | None = None) -> np.ndarray:
        """Return all values of a layout, see `solve_part`: float64 (2, 3**cells). The values are kept for later calls.
        `progress` is called with the finished share. Raises ValueError if the deck cannot deal the layout.
        """
        ranks = check_ranks(ranks, self.size)
        payoffs = np.ascontiguousarray(payoffs, np.float64)
        if payoffs.shape != ROUND_PAYOFFS.shape:
            raise ValueError(f"payoffs must have shape {ROUND_PAYOFFS.shape}, not {payoffs.shape}")
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
                if progress is not None:
                    progress(1 - (part - 1) / parts)
        self._solved[key] = values
        return values

    def payoffs(self, points: np.ndarray) -> np.ndarray:
        """Return player 0's value of each of `rounds.RESULTS` at the score `points`, int (2,): float64 (5,)."""
        if self.target_points is None:
            return ROUND_PAYOFFS
        first, second = (self.target_points - int(each) for each in points)
        return result_values(self._table, first, second)

    def _claims(self, states: np.ndarray) -> np.ndarray:
        out = np.full((len(states), self.size**2), np.nan)
        scores = states["points"] if self.target_points else np.zeros_like(states["points"])
        keys = np.concatenate([states["rank"], scores], axis=1)
        # Group the positions by layout and score, so that none is solved twice in one call.
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
        states = _STATES[self.size].check(states)
        wrong = (states["win_length"] != self.win_length) | (states["target"] != (self.target_points or 0))
        if wrong.any():
            raise ValueError(
                f"this oracle was made for win_length={self.win_length}, target_points={self.target_points}, and is "
                "asked about a game with other options"
            )
        low, high = states["dice"][:, :1], states["dice"][:, 1:]
        allowed = (states["rank"] == low) | (states["rank"] == high) | (states["rank"] == low + high)
        goes_on = (allowed & (states["owner"] == rules.EMPTY)).any(axis=1) & (low <= high)[:, 0]
        for mark in (1, 2):
            goes_on &= ~self._rows[(states["owner"] == mark) @ (1 << np.arange(self.size**2))]
        if not (goes_on | states["done"]).all():
            i = int((goes_on | states["done"]).argmin())
            raise ValueError(f"state {i} cannot be valued: it has a row, or its dice, lower one first, allow no claim")
        return states


class RoundOracle(DiceOracle):
    """Optimal play of a single round on the 3x3 board, and best responses to any policy in it."""

    def __init__(self, win_length: int = 3) -> None:
        """Create the oracle for games with this option `win_length`."""
        super().__init__(3, win_length)

    def best_response_from(
        self,
        policy: Policy,
        starts: np.ndarray,
        player: int,
        progress: Progress = lambda share: None,
    ) -> np.ndarray:
        """Return, for each start, the expected reward of a best response by `player` to the other player's policy.

        Args:
            policy: returns float (k, num_actions) for states, structured (k,), and players, int64 (k,); called once per
                start, with all boards of its layout and all rolls.
            starts: structured (n,), the positions from which the rounds continue.
            player: the responder; the other player follows the policy.
            progress: called with the finished share.

        Returns float64 (n,). Raises ValueError for states of another game, or a policy of a wrong shape.
        """
        starts, player = self._checked(starts), int(check_players(player, 1, 2)[0])
        out = np.empty(len(starts))
        for i, start in enumerate(starts):
            out[i] = best_from(policy, start, player)
            progress((i + 1) / len(starts))
        return out
