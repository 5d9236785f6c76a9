"""How good agents are: a tournament, the place on a ladder, regret to best play, exploitability.

Each function returns a report.

The functions bear the names of their modules, which are imported by their full names:
`from ttt_envs.evaluation.regret import measure`.
"""

from ttt_envs.evaluation.calibration import calibrate
from ttt_envs.evaluation.exploitability import exploitability
from ttt_envs.evaluation.ladder import ladder
from ttt_envs.evaluation.ladders import ladders
from ttt_envs.evaluation.leaderboard import leaderboard
from ttt_envs.evaluation.play import game_seeds, play_games
from ttt_envs.evaluation.regret import regret
from ttt_envs.evaluation.tournament import tournament

__all__ = [
    "calibrate",
    "exploitability",
    "game_seeds",
    "ladder",
    "ladders",
    "leaderboard",
    "play_games",
    "regret",
    "tournament",
]
