"""Ratings: against closed forms and simulated truth."""

import numpy as np
import pytest
from crosstables import rate, round_robin

from ttt_envs.evaluation.reports.ratings import connected, strengths


def test_two_agents_have_a_closed_form():
    wins = np.zeros((100, 2, 2))
    wins[:63, 0, 1] = 1
    wins[63:90, 1, 0] = 1
    wins[90:, 0, 1] = wins[90:, 1, 0] = 0.5
    ratings = rate(wins, resamples=0)
    assert ratings.score[0, 1] == pytest.approx(0.68)
    assert ratings.elo[0] - ratings.elo[1] == pytest.approx(400 * np.log10(68.5 / 32.5), abs=1e-9)


def test_strengths_are_those_of_hunters_mm():
    true = np.array([0, 0.4, 1, 2, 2.2])
    wins = round_robin(1 / (1 + np.exp(true[None, :] - true[:, None])), 30, np.random.default_rng(1)).sum(axis=0)
    games, p = wins + wins.T, np.ones(5)
    for _ in range(5000):
        p = wins.sum(axis=1) / (games / (p[:, None] + p[None, :])).sum(axis=1)
        p /= p.sum()
    theta = np.log(p) - np.log(p).mean()
    np.testing.assert_allclose(strengths(wins[None])[0], theta, atol=1e-8)


def test_pairs_are_the_units():
    paired = np.zeros((100, 2, 2))
    paired[:, 0, 1] = paired[:, 1, 0] = 1
    single = np.zeros((200, 2, 2))
    single[:100, 0, 1] = single[100:, 1, 0] = 1
    widths = [float((r.score_high - r.score_low)[0, 1]) for r in (rate(paired), rate(single))]
    assert widths[0] < widths[1] / 3


def test_clean_records_stay_finite():
    wins = np.zeros((100, 3, 3))
    for i in range(3):
        wins[:, i, :i] = 2
    ratings = rate(wins)
    assert np.isfinite([ratings.elo, ratings.elo_low, ratings.elo_high]).all()
    assert (np.diff(ratings.elo) > 300).all()
    assert ratings.score[1, 0] == ratings.score_high[1, 0] == 1
    assert 0.96 < ratings.score_low[1, 0] < 0.99


@pytest.mark.parametrize("better", [[0], [0, 1], range(69)])
def test_a_group_that_won_all_its_games_has_a_finite_rating(better):
    wins = np.ones((2, 70, 70)) - np.eye(70)
    wins[np.ix_([0, 1], [k for k in range(70) if k not in better], better)] = 0
    assert np.isfinite(rate(wins, resamples=20).elo_low).all()


def test_agents_without_games():
    wins = np.zeros((10, 3, 3))
    wins[:, 0, 1], wins[:, 1, 0] = 1, 1
    ratings = rate(wins)
    assert np.isnan(ratings.elo).tolist() == [False, False, True]
    assert np.isnan(ratings.score[0]).tolist() == [True, False, True]
    assert ratings.elo[0] == pytest.approx(0, abs=1e-9)


def test_groups_of_pairs():
    assert connected(4, [(3, 1)]) == [[0], [1, 3], [2]]
