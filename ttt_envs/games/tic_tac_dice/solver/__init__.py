"""Optimal play of the Tic-Tac-Dice family: a round by backward induction, a match by a table over scores.

- **3x3**: a layout is solved when it is first needed (`rounds`), and the newest solutions are kept in memory
  (`oracle`).
- **4x4**: one layout takes 0.85 GB and about 5 s, so `game.oracle()` raises an error. To solve one, use `DiceOracle(4,
  3)` or the command

      ttt solve big_tic_tac_dice layout --seed 1

- **A match**: the payoff of a round's result is the value of the match after it. A table has this value for each pair
  of points that the player and the opponent still need (`match`). The package contains the table as `match_values.json`
  (`tables`). This command computed it:

      ttt solve tic_tac_dice match-values

- **A best response** to any policy in a single 3x3 round is also exact (`response`).
"""

from ttt_envs.games.tic_tac_dice.solver.match import MOST_TARGET
from ttt_envs.games.tic_tac_dice.solver.oracle import DiceOracle, RoundOracle
from ttt_envs.games.tic_tac_dice.solver.rounds import deal_layouts
from ttt_envs.games.tic_tac_dice.solver.tables import match_values

__all__ = ["DiceOracle", "RoundOracle", "deal_layouts", "match_values", "oracle_for"]


def oracle_for(size: int, win_length: int, target_points: int, rounds: str) -> DiceOracle:
    """Return the oracle for a game's options; raise NotImplementedError, naming the options, if there is none."""
    if size == 4 and rounds == "single":
        raise NotImplementedError(
            "no oracle for size=4: each layout takes some seconds and 0.85 GB. One layout is solved by 'ttt solve "
            f"tic_tac_dice layout --option size=4 win_length={win_length}'"
        )
    if size != 3:
        raise NotImplementedError(f"no oracle for size={size} and rounds={rounds!r}: optimal play is known for size=3")
    if rounds == "single":
        return RoundOracle(win_length)
    if target_points > MOST_TARGET:
        raise NotImplementedError(
            f"no oracle for target_points={target_points}: optimal play is known up to {MOST_TARGET}"
        )
    return DiceOracle(size, win_length, target_points)
