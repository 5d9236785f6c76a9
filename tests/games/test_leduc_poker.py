"""The examples Kuhn and Leduc poker: a slow second version of Leduc's rules, published figures, OpenSpiel."""

import kuhn_poker
import leduc_poker
import numpy as np
import pytest

import ttt_envs
from ttt_envs.solvers import cfr, sequence, tree
from ttt_envs.testing import check_game
from ttt_envs.testing.positions import play_batch

KUHN, LEDUC = kuhn_poker.make(), leduc_poker.make()


def leduc(cards, said):
    """What is legal after these actions, and what player 0 has won; `cards`: of both players, and the open one."""
    paid, mover, bet, raises, begun = [1, 1], 0, 2, 0, False
    for action in said:
        if action == "fold":
            return [], paid[mover] * (2 * mover - 1)
        paid[mover] = paid[1 - mover] + bet * (action == "raise")
        raises += action == "raise"
        if action == "call" and begun:
            if bet == 4:
                ranks = [card[0] for card in cards]
                worth = [("JQK".index(ranks[player]) + 10 * (ranks[player] == ranks[2])) for player in (0, 1)]
                return [], paid[0] * int(np.sign(worth[0] - worth[1]))
            mover, bet, raises, begun = 0, 4, 0, False
        else:
            mover, begun = 1 - mover, True
    return ["fold"] * (paid[mover] < paid[1 - mover]) + ["call"] + ["raise"] * (raises < 2), 0


def test_fast_and_slow_leduc_agree():
    play, won = play_batch(ttt_envs.Batch(LEDUC, 500, seed=1), LEDUC.max_plies), set()
    masks = np.array([LEDUC.masks(states) for states in play.states])
    for i in range(play.states.shape[1]):
        said = []
        for ply, state in enumerate(play.states[:, i]):
            cards = [*(leduc_poker.NAMES[card] for card in state["card"]), leduc_poker.NAMES[state["board"]]]
            legal, paid = leduc(cards, said)
            assert [LEDUC.action_names[each] for each in np.flatnonzero(masks[ply, i])] == legal
            assert state["rewards"] == pytest.approx([paid / 13, -paid / 13])
            assert state["done"] == (not legal)
            if not legal:
                won.add(paid)
                break
            said.append(LEDUC.action_names[play.actions[ply, i].max()])
    assert won > {0, 1, -1, 5, -5}


def test_leduc_passes_every_check():
    check_game(LEDUC)


def test_best_play_of_leduc():
    found = tree.walk(LEDUC)
    assert found.sets == 936
    assert 13 * sequence.exploitability(found, found.uniform()).value == pytest.approx(2.373611111)
    solver = cfr.Solver(found)
    solver.run(1000)
    assert 13 * solver.exploitability().value < 1e-3
    assert 13 * solver.exploitability().expected == pytest.approx(-0.085606, abs=1e-4)


def test_open_spiels_solver_comes_to_the_same_in_its_own_game():
    pyspiel = pytest.importorskip("pyspiel")
    from open_spiel.python.algorithms import cfr, exploitability

    from ttt_envs.integrations.open_spiel import SpielGame

    losses = []
    for each in (SpielGame(KUHN), pyspiel.load_game("kuhn_poker")):
        solver = cfr.CFRPlusSolver(each)
        for _ in range(100):
            solver.evaluate_and_update_policy()
        losses.append(exploitability.exploitability(each, solver.average_policy()))
    ours, theirs = losses
    assert 2 * ours == pytest.approx(theirs, rel=1e-5)
    assert theirs == pytest.approx(0.00119440, abs=1e-7)
