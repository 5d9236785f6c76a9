"""Measures of agents' strength: tournament, ladder rating, regret, mistakes in solved positions, exploitability.

All of them return reports. `solve` computes equilibria. `nash_average` rates agents whose results against each other
are intransitive.
"""

from ttt_envs.evaluation.arena.play import game_seeds, play_games
from ttt_envs.evaluation.exam import exam
from ttt_envs.evaluation.exploitability import exploitability
from ttt_envs.evaluation.ladder import ladder, make_ladder
from ttt_envs.evaluation.mistakes import mistakes
from ttt_envs.evaluation.regret import regret
from ttt_envs.evaluation.reports.intransitivity import nash_average
from ttt_envs.evaluation.solve import solve
from ttt_envs.evaluation.tournament import tournament

__all__ = [
    "exam",
    "exploitability",
    "game_seeds",
    "ladder",
    "make_ladder",
    "mistakes",
    "nash_average",
    "play_games",
    "regret",
    "solve",
    "tournament",
]


def __dir__() -> list[str]:
    return __all__
