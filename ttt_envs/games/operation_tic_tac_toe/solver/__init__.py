"""Best play of Operation Tic-Tac-Toe."""

from typing import Any

from ttt_envs.games.operation_tic_tac_toe.solver.oracle import MatchOracle, RoundOracle

__all__ = ["MatchOracle", "RoundOracle", "oracle_for"]


def oracle_for(
    mode: str, rounds_to_win: int, max_rounds: int, specialists: Any, first_placer: Any, **options: Any
) -> MatchOracle | RoundOracle:
    """Best play with the options of a game; NotImplementedError in words where there is none."""
    if mode == "match":
        return MatchOracle(rounds_to_win, max_rounds, **options)
    return RoundOracle(specialists=specialists, first_placer=first_placer, **options)
