"""How good agents are: a tournament, the place on a ladder, regret to best play, mistakes in solved positions,
exploitability; and equilibria.

Each function returns a report.

The functions bear the names of their modules, which are imported by their full names:
`from ttt_envs.evaluation.regret import measure`.
"""

from ttt_envs.evaluation.arena.play import game_seeds, play_games
from ttt_envs.evaluation.exploitability import exploitability
from ttt_envs.evaluation.ladder.calibration import calibrate
from ttt_envs.evaluation.ladder.ladders import ladders
from ttt_envs.evaluation.ladder.placement import ladder
from ttt_envs.evaluation.mistakes import mistakes
from ttt_envs.evaluation.regret import regret
from ttt_envs.evaluation.reports.equilibrium import solve
from ttt_envs.evaluation.reports.leaderboard import leaderboard
from ttt_envs.evaluation.tournament.tournament import tournament

__all__ = [
    "calibrate",
    "exploitability",
    "game_seeds",
    "ladder",
    "ladders",
    "leaderboard",
    "mistakes",
    "play_games",
    "regret",
    "solve",
    "tournament",
]
