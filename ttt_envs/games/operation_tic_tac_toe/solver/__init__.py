"""Optimal play of Operation Tic-Tac-Toe: Nash equilibria, since both choose simultaneously.

- **A round** (`RoundOracle`) is solved exactly: every turn is a matrix game with a closed form (`matrix`), and all
  positions are gone through backward, those with 19 idle turns before those with 18 (`rounds`, with `turns`, `reach`).
- **A match** (`MatchOracle`) is solved backward over rounds, scores and the specialists that both have left (`match`),
  with values of rounds for many worths of a draw, from a table (`tables`). For the options max_idle_turns=20 and
  allow_pass=False it comes with the package, in `round_values.table`; others are worked out when they are first needed
  and kept in the user's cache folder, or that of TTT_ENVS_CACHE. The one in the package was made by

      ttt solve operation_tic_tac_toe round-values --overtime --out round_values.table

  which took 18 minutes of CPU time and 6.1 GiB. Without `--overtime` a table is made in a minute, but leaves out
  the rounds from the ninth on, in which each player has two specialists; then overtime is taken as an even race: see
  `MatchOracle.overtime`.
- **A best response** to any policy, and so its exploitability, is exact too (`response`).
"""

from ttt_envs.core.game import Game
from ttt_envs.games.operation_tic_tac_toe.solver.oracle import MatchOracle, RoundOracle

__all__ = ["MatchOracle", "RoundOracle", "oracle_for"]


def oracle_for(game: Game) -> MatchOracle | RoundOracle:
    """Return optimal play of a game; raises NotImplementedError, naming the options, where there is none."""
    return MatchOracle(game) if game.options["mode"] == "match" else RoundOracle(game)
