"""Optimal play of Martian Tic-Tac-Toe on the 3x3 board with two players: all positions, by retrograde analysis.

- **Positions** are numbers below 7**9 (`positions`). Their values are computed backward from the end of the game
  (`retrograde`): the shortest win, the longest loss, or a draw by endless play.
- **The table** (`tables`) has one byte per class of eight symmetric positions. The package contains it as
  `best_play.table`, which this command built:

      ttt solve martian_tic_tac_toe table --out best_play.table

  The table for same_size_swap=True is built when it is first needed, and kept in the user's cache folder or in that of
  TTT_ENVS_CACHE.
- **The oracle** (`oracle`, with `answers`) also considers the limits of plies and repetitions.
- **A best response** to any policy is computed for games without the draw by repetition (`response`).
"""

from functools import cache

from ttt_envs.games.martian_tic_tac_toe.solver.oracle import MartianOracle, RespondingOracle
from ttt_envs.games.martian_tic_tac_toe.solver.positions import check_solved

__all__ = ["MartianOracle", "RespondingOracle", "oracle_for"]


def oracle_for(
    size: int, players: int, same_size_swap: bool, max_plies: int, repetition_limit: int | None
) -> RespondingOracle:
    """Return the oracle for a game's options; raise NotImplementedError, naming the options, if there is none."""
    check_solved(size, players)
    return _oracle(same_size_swap, max_plies, repetition_limit)


@cache
def _oracle(same_size_swap: bool, max_plies: int, repetition_limit: int | None) -> RespondingOracle:
    return RespondingOracle(same_size_swap, max_plies, repetition_limit)
