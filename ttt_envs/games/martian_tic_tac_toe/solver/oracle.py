"""The oracles of the 3x3 game of two players: optimal play, and best responses to a policy."""

import warnings
from functools import cache, cached_property

import numpy as np

from ttt_envs.core.checks import Validity, check_players
from ttt_envs.core.oracle import Policy, Progress
from ttt_envs.games.martian_tic_tac_toe import rules
from ttt_envs.games.martian_tic_tac_toe.rules import SIZES
from ttt_envs.games.martian_tic_tac_toe.solver.answers import actions_rows, judge_rows
from ttt_envs.games.martian_tic_tac_toe.solver.positions import (
    CELLS,
    DIGITS,
    PIECES,
    POWERS,
    SYMMETRIES,
    put_boards,
    weights_of_images,
)
from ttt_envs.games.martian_tic_tac_toe.solver.response import Response
from ttt_envs.games.martian_tic_tac_toe.solver.tables import SolvedTable, draw_boards, load_table


class MartianOracle:
    """Optimal play of the 3x3 game of two players: the shortest win, the longest loss.

    See `ttt_envs.core.oracle.Oracle` for shapes. It covers all positions that can arise, except won or lost positions
    in which a repetition on the way to the end could make the game a draw.
    """

    error = 0.0

    def __init__(self, same_size_swap: bool = False) -> None:
        """`same_size_swap`: the option of the game."""
        self.same_size_swap = same_size_swap

    @cached_property
    def _table(self) -> SolvedTable:
        """The table, read on first use; if the file is missing, it is built, with a message on stderr."""
        return load_table(self.same_size_swap)

    def covers(self, states: np.ndarray) -> np.ndarray:
        """Return bool (n,): whether the value of a state is known; see the class."""
        return ~np.isnan(self._judge(self._checked(states))[1])

    def plies_to_end(self, states: np.ndarray) -> np.ndarray:
        """Return the number of plies to the end, int64 (n,): an odd number is a win for the player to move, an even
        number a loss. -1 is a draw, -2 unknown. The limits of plies and repetitions are ignored.
        """
        return self._judge(self._checked(states))[0]

    def value(self, states: np.ndarray, player: int | np.ndarray) -> np.ndarray:
        """Return float64 (n,): the expected reward of `player` if both play optimally; nan where not covered."""
        states = self._checked(states)
        players = check_players(player, len(states), 2)
        values = self._judge(states)[1]
        return np.where(states["to_move"] == players, values, 0 - values)

    def action_values(self, states: np.ndarray, player: int | np.ndarray) -> np.ndarray:
        """Return float64 (n, 27): `value` after each action; nan where illegal or not covered."""
        states = self._checked(states)
        players = check_players(player, len(states), 2)
        values = self._actions(states)[1]
        return np.where((states["to_move"] == players)[:, None], values, 0 - values)

    def policy(self, states: np.ndarray, player: int | np.ndarray) -> np.ndarray:
        """Return float64 (n, 27): equal shares for all best actions; zeros if not covered or `player` does not act."""
        states = self._checked(states)
        players = check_players(player, len(states), 2)
        now, value = self._judge(states)
        after, worth = self._actions(states)
        # Take the table's best actions even if a limit makes the game a draw: an opponent may err.
        best = np.where((now >= 0)[:, None], after == now[:, None] - 1, after == -1)
        # If a limit ends the game after each of these actions, take all actions with the best value.
        cut = ~best.any(axis=1)
        best[cut] = worth[cut] == value[cut, None]
        best &= (~np.isnan(value) & ~states["done"] & (states["to_move"] == players))[:, None]
        return best / np.maximum(best.sum(axis=1, keepdims=True), 1)

    def draw_positions(self, starts: np.ndarray, seed: int) -> tuple[np.ndarray, np.ndarray]:
        """Draw positions (see `ttt_envs.core.oracle.Drawer`), with a random symmetry and player to move."""
        states, rng = self._checked(starts).copy(), np.random.default_rng(seed)
        plies, boards = draw_boards(self._table, len(states), rng)
        digits = boards[:, None] // POWERS % DIGITS
        digits = np.take_along_axis(digits, SYMMETRIES[rng.integers(0, len(SYMMETRIES), len(states))], axis=1)
        mover = rng.integers(0, 2, len(states))
        put_boards(states, digits, mover[:, None])
        placed = (digits > 0).sum(axis=1)
        states["to_move"], states["ply"] = mover, placed + (placed + mover) % 2
        return states, plies

    def _judge(self, states: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        plies, values = np.empty(len(states), np.int64), np.empty(len(states))
        judge_rows(states, weights_of_images(), self._table, plies, values)
        return plies, values

    def _actions(self, states: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        shape = len(states), SIZES * CELLS
        plies, values = np.empty(shape, np.int64), np.empty(shape)
        actions_rows(states, weights_of_images(), self._table, plies, values)
        return plies, values

    def _checked(self, states: np.ndarray) -> np.ndarray:
        dtype = getattr(states, "dtype", None)
        fields = dtype.fields if isinstance(dtype, np.dtype) else None
        remembers = fields is not None and "log" in fields and fields["log"][0].shape != (1,)
        states = _validity(remembers).check(states)
        if (states["same_size_swap"] != self.same_size_swap).any():
            raise ValueError(f"this oracle answers states of same_size_swap={self.same_size_swap}")
        return states


@cache
def _validity(remembers: bool) -> Validity:
    dtype = rules.state_dtype_for(PIECES, 2, remembers)
    return Validity(dtype, simultaneous=False, name="the 3x3 game of two players")


class RespondingOracle(MartianOracle):
    """Optimal play of the 3x3 game of two players and, in games without a draw by repetition, best responses."""

    def __init__(self, same_size_swap: bool = False, max_plies: int = 300, repetition_limit: int | None = None) -> None:
        """Create the oracle for these options of the game."""
        super().__init__(same_size_swap)
        self._start = np.zeros(1, rules.state_dtype_for(3, 2, repetition_limit is not None))
        self._start["size"] = self._start["line"] = self._start["pieces"] = self._start["stash"] = PIECES
        self._start["same_size_swap"], self._start["max_plies"] = same_size_swap, max_plies
        self._start["repetition_limit"], self._start["occurred"] = repetition_limit or 0, 1

    def best_response(
        self, policy: Policy, player: int, progress: Progress = lambda share: None, *, equivariant: bool = False
    ) -> float:
        """Return the expected reward, within PRECISION, of a best response by `player` to the other player's policy.

        The policy is queried once in each position that can arise against it, at the earliest possible ply. A sample of
        the positions is queried again at later plies, to find out whether the policy depends on the ply. If it does,
        the result is for the policy that always plays as at the earliest ply, and a UserWarning says so, with bounds
        for the policy itself. The method takes up to 4 GB of memory, and some minutes.

        Args:
            policy: returns float (k, 27) for states, structured (k,), and players, int64 (k,).
            player: the responder; the other player follows the policy.
            progress: called with the finished share.
            equivariant: ignored.

        Raises ValueError for a game with a draw by repetition, or a policy that does not return distributions over the
        legal moves.
        """
        player = int(check_players(player, 1, 2)[0])
        if self._start["repetition_limit"][0]:
            raise ValueError(
                "best responses are known with repetition_limit=none alone: with the draw by repetition a position has "
                "too many pasts"
            )
        response = Response(self._start, policy, player, lambda share: progress(share / 2))
        if response.heeded_at is not None:
            least, most = response.bounds()
            warnings.warn(
                f"the policy heeds how many plies were played: from ply {response.heeded_at} on it does something else "
                "in some positions. The best response is to a policy that does in each position always what this one "
                f"does when it can first arise. Whatever it does from that ply on, a best response as player_{player} "
                f"wins from {least[0]:.4f} to {most[0]:.4f}",
                stacklevel=2,
            )
        return float(response.values(lambda share: progress((1 + share) / 2))[0])
