"""Cycles and Nash averaging: against games whose solution is known, and brute force."""

import numpy as np
import pytest
import toy_coin
from crosstables import rate, round_robin
from scipy.optimize import minimize

from ttt_envs import evaluation
from ttt_envs.evaluation.reports.intransitivity import circles, cycles, log_odds, nash_average
from ttt_envs.evaluation.reports.ratings import ELO
from ttt_envs.evaluation.reports.seat_advantage import seats

#: Rock beats scissors, scissors beat paper, paper beats rock.
ROCK = np.array([[0.0, -1, 1], [1, 0, -1], [-1, 1, 0]])


def antisymmetric(table: np.ndarray) -> np.ndarray:
    upper = np.triu(table, 1)
    return upper - upper.T


def chances(elo: np.ndarray) -> np.ndarray:
    return 1 / (1 + np.exp((elo[None, :] - elo[:, None]) / ELO))


def test_copies_share_a_share():
    """Balduzzi et al.: adding copies of an agent changes nobody's value. A smaller entropy would favour one copy."""
    order = [0, 1, 2, 2, 2]
    share, value = nash_average(80 * ROCK[np.ix_(order, order)])
    np.testing.assert_allclose(share, [1 / 3, 1 / 3, 1 / 9, 1 / 9, 1 / 9], atol=1e-4)
    np.testing.assert_allclose(value, 0, atol=1e-2)


@pytest.mark.parametrize("seed", range(2))
def test_nash_averaging_is_what_an_optimiser_finds(seed):
    rng = np.random.default_rng(seed)
    k = 4 + seed % 3
    payoffs = antisymmetric(rng.integers(-1, 2, (k, k)) if seed % 2 else rng.normal(size=(k, k)))
    constraints = [{"type": "ineq", "fun": lambda p: p @ payoffs}, {"type": "eq", "fun": lambda p: p.sum() - 1}]

    def negative_entropy(p):
        return (p * np.log(np.maximum(p, 1e-15))).sum()

    tried = [
        minimize(
            negative_entropy,
            rng.dirichlet(np.ones(k)),
            bounds=[(0, 1)] * k,
            constraints=constraints,
            method="SLSQP",
            options={"ftol": 1e-14, "maxiter": 1000},
        )
        for _ in range(2)
    ]
    best = min((each for each in tried if each.success), key=lambda each: each.fun)
    share, value = nash_average(payoffs)
    np.testing.assert_allclose(share, best.x, atol=1e-3)
    assert value.max() < 1e-4 * np.abs(payoffs).max()


@pytest.mark.parametrize("wrong", [np.zeros((2, 3)), np.full((2, 2), np.nan), np.array([[0, 1], [1, 0]])])
def test_wrong_payoffs(wrong):
    with pytest.raises(ValueError, match="payoffs must be"):
        nash_average(wrong)


def test_log_odds_are_elo():
    wins = np.array([[0, 99.5], [9.5, 0]])
    np.testing.assert_allclose(log_odds(wins)[0, 1], 400)
    assert log_odds(wins)[0, 0] == 0


def test_a_planted_cycle_is_named_and_a_transitive_field_is_not():
    rng = np.random.default_rng(3)
    elo = np.array([0, 0, 0, 150, 150, -200.0])
    planted = chances(elo)
    planted[:3, :3] = 0.5 + 0.15 * ROCK
    for trial in range(20):
        wins = round_robin(planted, 150, rng)
        ratings = rate(wins, seed=trial)
        assert circles(wins.sum(axis=0), ratings).cycles == [(0, 2, 1)]
        (remark,) = circles(wins.sum(axis=0), ratings).remarks("abcdef", ratings)
        assert "a beats c (0." in remark
        assert remark.index("a beats c") < remark.index("c beats b") < remark.index("b beats a")
    found = []
    for trial in range(60):
        wins = round_robin(chances(elo), 150, rng)
        found += circles(wins.sum(axis=0), rate(wins, seed=trial)).cycles
    assert found == [], "equal agents beat each other in circles by chance, but not beyond it"


def test_the_clearest_shortest_cycle_of_each_group():
    low = np.full((8, 8), 0.3)
    for a, b in ((0, 1), (1, 2), (2, 3), (3, 0), (1, 3)):  # 0-1-3 is shorter than 0-1-2-3
        low[a, b] = 0.6
    for a, b, bound in ((4, 5, 0.7), (5, 6, 0.7), (6, 4, 0.7), (4, 7, 0.9), (7, 6, 0.52), (5, 7, 0.51)):
        low[a, b] = bound
    low[0, 4] = low[3, 6] = 0.9
    assert cycles(low) == [(0, 1, 3), (4, 5, 6)]
    assert cycles(np.full((3, 3), np.nan)) == []


def test_a_tournament_warns_of_a_cycle():
    report = evaluation.tournament(toy_coin.make(), ["random", "greedy", "greedy:samples=2"], games=60, quiet=True)
    assert not [remark for remark in report.remarks() if "intransitive" in remark]
    report.ratings.score_low[:] = 0.4
    report.ratings.score_low[[0, 1, 2], [1, 2, 0]] = 0.55
    del report.circles
    (remark,) = report.remarks()
    assert remark.startswith("The crosstable is intransitive")
    assert "random beats greedy (" in remark
    assert report.data()["cycles"] == [["random", "greedy", "greedy:samples=2"]]
    text = report.markdown()
    assert "## Circles" in text
    assert f"- {remark}" in text


def test_seats_have_scores_draws_and_lengths():
    game = toy_coin.make()
    rng = np.random.default_rng(4)
    first = rng.choice([1, 0, -1], 4000, p=[0.5, 0.2, 0.3])
    found = seats(game, np.column_stack([first, -first]), rng.integers(3, 10, 4000))
    assert found.seats == ("player_0", "player_1")
    assert found.score.sum() == pytest.approx(1)
    assert found.score[0] == pytest.approx((first > 0).mean() + (first == 0).mean() / 2)
    assert found.drawn == (first == 0).mean()
    assert found.lengths == (3, 3, 6, 9, 9)


def test_seats_of_three_sides_average_one_half():
    game = toy_coin.make(players=3)
    rewards = np.array([[1, -0.5, -0.5], [-1, 0.5, 0.5], [0, 0, 0]])
    found = seats(game, rewards, np.full(3, 4))
    np.testing.assert_allclose(found.score, [(1 + 0 + 0.5) / 3, (0.25 + 0.75 + 0.5) / 3, (0.25 + 0.75 + 0.5) / 3])
    assert found.drawn == pytest.approx(1 / 3)
