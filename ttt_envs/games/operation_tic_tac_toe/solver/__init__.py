"""Optimal play of Operation Tic-Tac-Toe: Nash equilibria, because both players choose simultaneously.

- **A round** (`RoundOracle`) is solved exactly. Every turn is a matrix game whose solution has a closed form (module
  `matrix`). Positions are solved backward from the end of the round, and each position backward over the number of idle
  turns: the last possible idle turn first (modules `rounds`, `turns` and `reach`).
- **A match** (`MatchOracle`) is solved backward over rounds, scores and the specialists that both players have left
  (`match`). The value of a round depends on how much a draw is worth in the match, so a table (`tables`) gives the
  values of rounds for many values of a draw. The package contains the table for max_idle_turns=20 and allow_pass=False,
  `round_values.table`. Tables for other options are computed when they are first needed, and kept in the user's cache
  folder or in that of TTT_ENVS_CACHE. This command computed the package's table:

      ttt solve operation_tic_tac_toe round-values --overtime --out round_values.table

  It took 18 minutes of processor time and 6.1 GiB of memory. Without `--overtime` the command takes a minute, but the
  table lacks the rounds from the ninth on, in which each player has two specialists. Overtime is then valued as an even
  race: see `MatchOracle.overtime`.
- **A best response** to any policy, and therefore the policy's exploitability, is also exact (`response`).
"""

from ttt_envs.core.game import Game
from ttt_envs.games.operation_tic_tac_toe.solver.oracle import MatchOracle, RoundOracle

__all__ = ["MatchOracle", "RoundOracle", "oracle_for"]


def oracle_for(game: Game) -> MatchOracle | RoundOracle:
    """Return the oracle of a game; raise NotImplementedError, naming the options, if there is none."""
    return MatchOracle(game) if game.options["mode"] == "match" else RoundOracle(game)
