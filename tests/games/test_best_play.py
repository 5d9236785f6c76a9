"""Properties of every oracle that knows all positions of its game."""

import numpy as np
import pytest
from best_play import check_answers, play

import ttt_envs
from ttt_envs.core.batch import Batch
from ttt_envs.testing.positions import play_batch

MARTIAN, OPERATION = "martian_tic_tac_toe", "operation_tic_tac_toe"
SOLVED = [
    ("tic_tac_dice", {"rounds": "single"}),
    (OPERATION, {"mode": "round"}),
    # Reading the table takes long.
    pytest.param(MARTIAN, {}, marks=pytest.mark.slow),
]


@pytest.mark.parametrize(("game_id", "options"), SOLVED)
def test_what_is_said_of_a_position_fits_together(game_id, options):
    game = ttt_envs.load(game_id, **options)
    states = play(game, 60, seed=1)
    if game_id == MARTIAN:  # a longer past could spoil a win: such positions are not covered
        states = states[states["ply"] < 8]
    assert len(states) > 300
    check_answers(game, states)


@pytest.mark.parametrize(("game_id", "options"), [*SOLVED, ("tic_tac_dice", {})])
def test_values_do_not_change_with_the_board_turned(game_id, options):
    game = ttt_envs.load(game_id, **options)
    oracle, states = game.oracle(), play(game, 5, seed=3)[::3]
    assert len(game.symmetries) == 8
    for symmetry in game.symmetries:
        turned = symmetry.states(states)
        assert oracle.value(turned, 0) == pytest.approx(oracle.value(states, 0), abs=1e-12, nan_ok=True)
        if not game.simultaneous:  # else equilibria are not unique, nor what an action is worth against one
            worth = oracle.action_values(states, 0)[:, symmetry.actions]
            assert oracle.action_values(turned, 0) == pytest.approx(worth, abs=1e-12, nan_ok=True)


@pytest.mark.parametrize(("game_id", "options"), [*SOLVED, (OPERATION, {})])
def test_finished_games_are_worth_what_they_paid(game_id, options):
    game = ttt_envs.load(game_id, **options)
    oracle, states = game.oracle(), play_batch(Batch(game, 50, seed=3), game.max_plies).states[-1]
    assert states["done"].all()
    assert oracle.covers(states).all()
    for player in (0, 1):
        assert np.array_equal(oracle.value(states, player), states["rewards"][:, player])
        assert not oracle.policy(states, player).any()
        assert np.isnan(oracle.action_values(states, player)).all()
