"""Comparison of learning methods: tasks with exact measures, a resumable grid of runs, statistics and a page.

`ttt study FILE.toml` runs a study. `tasks` defines what is measured, `plan` reads the file, `grid` trains and measures,
`statistics` compares methods over few seeds, and `page` writes the page.
"""

from ttt_envs.evaluation.reports.intervals import of_seeds, t_interval
from ttt_envs.studies.statistics import exact_p, holm, improvement
from ttt_envs.studies.tasks import measure, task_of

__all__ = ["exact_p", "holm", "improvement", "measure", "of_seeds", "t_interval", "task_of"]
