"""Comparing methods: tasks with exact measures, a grid of runs that goes on where it was, statistics and the page.

`ttt study FILE.toml` does it all. `tasks` says what is measured, `grid` trains, `runs` reads what was measured on the
way, `statistics` has what a comparison over few seeds may say, `page` writes it.
"""
