"""Best play of Operation Tic-Tac-Toe."""

from typing import Any

from ttt_envs.games.operation_tic_tac_toe.solver.oracle import RoundOracle

__all__ = ["RoundOracle", "oracle_for"]


def oracle_for(mode: str, rounds_to_win: int, max_rounds: int, **options: Any) -> RoundOracle:
    """Best play with the options of a game; NotImplementedError in words where there is none."""
    if mode == "match":
        raise NotImplementedError("not yet")
    return RoundOracle(**options)
