"""Intervals: closed forms, and how often they hold a known truth where they are weakest."""

import re
from pathlib import Path

import numpy as np
import pytest

from tools import coverage
from ttt_envs.evaluation.reports.intervals import mean_interval, student
from ttt_envs.evaluation.reports.ratings import ELO

PAGE = Path(__file__).parents[2] / "docs" / "intervals.md"


def test_student_decides_where_all_lose_something():
    mean, (low, high) = mean_interval(np.array([1.0, 2, 3]), np.ones(3), 3.0)
    assert mean == 2
    assert high == pytest.approx(2 + 4.303 / np.sqrt(3))
    assert 0 < low < 1.5
    exact = {1: 12.706, 10: 2.228, 30: 2.042, 31: 2.040, 60: 2.000, 120: 1.980, 10**6: 1.960}
    assert [student(free) for free in exact] == pytest.approx(list(exact.values()), abs=1e-3)


def test_of_units_that_lose_all_or_nothing_it_is_clopper_and_pearson_s():
    """For 3 and for none of 100; the table's own figures."""
    some = np.zeros(100)
    mean, (low, high) = mean_interval(some, np.ones(100), 1.0)
    assert (mean, low) == (0, 0)
    assert high == pytest.approx(1 - 0.025 ** (1 / 100), rel=0.1)
    some[[3, 50, 80]] = 1
    mean, (low, high) = mean_interval(some, np.ones(100), 1.0)
    assert mean == pytest.approx(0.03)
    assert (low, high) == (pytest.approx(0.0062, rel=0.2), pytest.approx(0.0852, rel=0.1))


def test_a_ratio_counts_what_each_unit_has():
    sums, counts = 2.5 * np.arange(1, 9), np.arange(1, 9)
    mean, (low, high) = mean_interval(sums, counts, 40.0)
    assert mean == pytest.approx(2.5)
    assert low < 2.5 < high
    assert mean_interval(sums / 2, counts, 20.0) == (mean / 2, pytest.approx((low / 2, high / 2)))
    assert np.isnan(mean_interval(sums[:1], counts[:1], 40.0)[1]).all()


def test_the_largest_possible_loss_bounds_what_may_be_unseen():
    few = np.zeros(50)
    few[0] = 0.5
    ends = [mean_interval(few, np.ones(50), most)[1][1] for most in (0.5, 1.0, 3.0, 100.0)]
    assert ends == sorted(ends)
    assert ends[0] < ends[1] < ends[2] == ends[3], "six times the only loss at most"


@pytest.mark.parametrize(
    ("draw", "seeds"),
    [(coverage.rare(0.27, 0.012), 10), (coverage.rare(0.03, 0.1), 100), (coverage.whole(0.03), 100)],
    ids=["small", "unequal", "equal"],
)
def test_it_covers_rare_mistakes(draw, seeds):
    found = coverage.losses("regret", "", draw, seeds, 200)
    assert found.covered >= 0.93
    assert found.width < 1


def test_it_covers_elo_of_few_seeds():
    elo, _ = coverage.tournaments("", np.zeros(8), 10, 30)
    assert elo.covered >= 0.93


def test_it_covers_scores_of_agents_that_nearly_always_win():
    _, score = coverage.tournaments("", np.array([0.0, ELO * np.log(9)]), 5, 200)
    assert score.covered >= 0.93


def test_it_covers_differences_from_the_lowest_rung():
    (found,) = coverage.tournaments("", np.array(coverage.RUNGS, np.float64), 10, 30, zero=0)
    assert found.covered >= 0.93


def test_it_covers_methods_of_which_one_run_in_five_fails():
    assert coverage.studies("improvement", "", coverage.failing(0.2), coverage.normal(0.8), 5, 300).covered >= 0.9


def test_it_covers_ratings_of_few_seeds():
    found = coverage.ladders("", coverage.RUNGS, (-50.0, 700.0), 3, 100)
    assert found.covered >= 0.93


def test_the_page_has_the_settings_of_the_tool_and_names_what_is_too_narrow():
    """The figures are random; the settings are not, nor that all but the rows marked as too narrow hold 90 %."""
    shown = re.findall(r"^\| (\w+) \| (.+?) \| ([\d.]+) %(\*?) \|", PAGE.read_text(), re.MULTILINE)
    made = [(row.measure, row.setting) for row in coverage.rows(trials=2)]
    assert [each[:2] for each in shown] == made
    assert all((float(covered) < 90) == bool(mark) for _, _, covered, mark in shown)
    marked = {(measure, setting.split(",")[0]) for measure, setting, _, mark in shown if mark}
    assert marked == {
        *(("seeds", setting) for setting in ("one run in ten fails", "one run in five fails", "skewed")),
        ("layouts", "skewed regret"),
        ("regret", "frequent small mistakes"),
    }


def test_a_unit_that_is_lost_as_a_whole_is_as_large_as_what_it_lost():
    sums, counts = np.r_[20.0, 20.0, np.zeros(90)], np.r_[20, 20, np.ones(90, np.int64)]
    share, (low, high) = mean_interval(sums, counts, float(counts.mean()))
    assert share == 40 / 130
    assert 0 < low < 0.1
    assert 0.5 < high < 0.7, "another one like these two: 60 of 150"
