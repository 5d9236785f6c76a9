"""Optimal play of Super Tic-Tac-Toe, as far as it is known: X's proven strategy and the positions on it.

With `won_boards="open"` X wins from the start in at most 43 plies, whatever O does. The strategy is the following
(module `strategy`). Here (b, c) is cell c of board b, opp(k) is 8 - k, and j is the cell of O's last move:

- X opens in the centre of the centre board.
- While board 4 has an empty cell, X answers with (j, 4), which sends O back to board 4.
- When O's move (4, j) fills board 4, let k = j and m = opp(k). X plays (k, k), which sends O to board k.
- From then on O always plays in board k or m. If j is 4 or m, X plays in board m, else in board j: there in cell
  k if it is empty, else in cell m.

The strategy leaves O so little choice that only about 64,000 positions can arise. The oracle's first call enumerates
them in 0.1 s, so no file and no command are needed.
"""

from typing import Any

from ttt_envs.games.super_tic_tac_toe.solver.oracle import StrategyOracle

__all__ = ["StrategyOracle", "oracle_for"]


def oracle_for(won_boards: str, **_: Any) -> StrategyOracle:
    """Return the oracle for a game's options; raise NotImplementedError, naming the option, if there is none."""
    if won_boards != "open":
        raise NotImplementedError(
            "no oracle for won_boards='closed': optimal play is known for won_boards='open', where X's win is proven"
        )
    return StrategyOracle()
