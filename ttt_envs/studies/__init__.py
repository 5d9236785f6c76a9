"""Comparing methods: tasks with exact measures, a grid of runs that goes on where it was, statistics and the page.

`ttt study FILE.toml` does it all. `tasks` says what is measured, `grid` trains, `runs` reads what was measured on the
way, `statistics` has profiles and probabilities of improvement over few seeds, and `page` writes the page.
"""

from ttt_envs.evaluation.reports.intervals import interquartile_interval, of_seeds, t_interval
from ttt_envs.studies.statistics import improvement, profile
from ttt_envs.studies.tasks import measure, task_of

__all__ = ["improvement", "interquartile_interval", "measure", "of_seeds", "profile", "t_interval", "task_of"]


def __dir__() -> list[str]:
    return __all__
