"""Mistakes in solved positions: against a game solved by hand, and against the oracles that draw the positions."""

from dataclasses import replace

import numpy as np
import pytest
from changed import changed
from toy_pile import BY_HAND, PileOracle, pile

import ttt_envs
from ttt_envs import agents, evaluation
from ttt_envs.agents import Agent
from ttt_envs.evaluation.mistakes import draw_positions, measure


class Takes(Agent):
    """Takes the best number by hand, but one stone of `at`."""

    def __init__(self, at=0):
        self.name, self.at = "takes", at

    def act(self, view):
        left = view.observations.argmax(axis=1)
        return np.array([0 if k == self.at else np.argmax(BY_HAND[k]) for k in left.tolist()])


def test_shares_are_those_by_hand():
    drawn = draw_positions(pile(), 400, seed=1)
    left = drawn.states["left"]
    assert set(left.tolist()) == {2, 3, 4, 5, 6, 7, 8}, "of one stone nothing can be lost"
    for k in np.unique(left):
        losses = max(BY_HAND[k]) - np.array(BY_HAND[k])
        np.testing.assert_allclose(drawn.loss[left == k][0][: len(losses)], losses)
    assert measure(pile(), Takes(), drawn).share == 0
    found = measure(pile(), Takes(at=7), drawn)
    assert found.share == pytest.approx((left == 7).mean())
    assert found.mean_loss == pytest.approx((left == 7).mean() * 0.4375)
    low, high = found.interval
    assert 0 < low < found.share < high < 1
    assert measure(pile(), Takes(at=7), drawn, least=0.5).share == 0
    assert (drawn.lengths == draw_positions(pile(), 400, seed=1).lengths).all()
    assert (drawn.states != draw_positions(pile(), 400, seed=2).states).any()


def test_the_interval_is_over_games():
    drawn = draw_positions(pile(), 300, seed=1)
    left = drawn.states["left"]
    for game in np.unique(drawn.games):
        here = np.flatnonzero(drawn.games == game)
        for a in here:
            assert (np.sign(left[here] - left[a]) == np.sign(drawn.lengths[a] - drawn.lengths[here])).all()
    agent = Takes(at=3)
    found = measure(pile(), agent, drawn)
    alone = measure(pile(), agent, replace(drawn, games=None))
    assert found.share == alone.share
    assert np.ptp(found.interval) > 1.2 * np.ptp(alone.interval), "three stones are left late, in few games"
    one_each = measure(pile(), agent, replace(drawn, games=np.random.default_rng(0).permutation(300)))
    assert one_each.interval == pytest.approx(alone.interval, abs=0.01)


def test_positions_of_random_play_are_drawn_evenly_by_plies():
    game = ttt_envs.load("tic_tac_dice", rounds="single")
    drawn = draw_positions(game, 240, least=0.0, seed=3)
    assert (drawn.lengths == (drawn.states["owner"] > 0).sum(axis=1)).all()
    counts = np.bincount(drawn.lengths, minlength=8)
    assert counts[:6].min() > 15
    assert measure(game, agents.load("oracle"), drawn).share == 0
    assert measure(game, agents.load("greedy"), drawn).share > 0.1


@pytest.mark.slow  # the table of optimal play, built once
def test_a_solved_game_is_drawn_evenly_by_the_plies_to_the_end():
    game = ttt_envs.load("martian_tic_tac_toe")
    drawn = draw_positions(game, 2000, seed=0)
    game.check_states(drawn.states)
    oracle = game.oracle()
    assert (np.maximum(oracle.plies_to_end(drawn.states), -1) == drawn.lengths).all()
    lengths, counts = np.unique(drawn.lengths, return_counts=True)
    assert lengths[0] == -1
    assert (lengths[1:] % 2 == 1).all(), "won by the player to move"
    assert len(lengths) > 80
    assert counts.max() < 4 * counts.mean()
    assert abs((drawn.players == 0).mean() - 0.5) < 0.05
    assert measure(game, agents.load("oracle"), drawn).share == 0
    assert measure(game, agents.load("random"), drawn).share > 0.5


def test_the_report(tmp_path):
    game = pile()
    report = evaluation.mistakes(game, [Takes(at=7), "random"], positions=100, out=tmp_path / "m", quiet=True)
    text = (tmp_path / "m" / "report.md").read_text()
    assert "100 positions from games of random play, drawn evenly by the plies played, the same for each agent" in text
    assert f"| takes | {100 * report.measurements[0].share:.1f} % (" in text
    assert "more than 0.05 against the best one" in text
    assert "positions of one game count as one in the interval" in text
    assert "of one game" not in str(replace(report, remaining=True).tables()), "drawn one by one from a table"
    with pytest.raises(ValueError, match="answers too few in which an action loses more than 2"):
        evaluation.mistakes(game, "random", least=2.0, quiet=True)
    with pytest.raises(ValueError, match="answers too few"):
        evaluation.mistakes(changed(game, oracle=lambda: PileOracle(2, most=0)), "random", quiet=True)
    with pytest.raises(ValueError, match="positions must be a whole number from 1"):
        evaluation.mistakes(game, "random", positions=0, quiet=True)
