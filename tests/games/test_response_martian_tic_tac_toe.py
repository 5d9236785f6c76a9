"""Best responses in the 3x3 game without the draw by repetition, against a slow version and what is known of them."""

import numpy as np
import pytest
from slow_martian_tic_tac_toe import SlowMartianTicTacToe

import ttt_envs
from ttt_envs.evaluation import exploitability
from ttt_envs.games.martian_tic_tac_toe.solver.response import PRECISION, Response

pytestmark = pytest.mark.slow  # each walks through the whole game

GAMES = {
    swap: ttt_envs.load("martian_tic_tac_toe", repetition_limit=None, same_size_swap=swap) for swap in (False, True)
}
GAME = GAMES[False]


def lopsided(pieces, player, legal):
    """A policy that treats no two positions and no two actions alike, and leaves some of them out."""
    seen = sum((k + 2) * (piece + 3 * player) for k, piece in enumerate(pieces))
    weights = np.array([(5 * action + seen) % 7 for action in legal], float)
    if not weights.any():
        weights[:] = 1
    return weights / weights.sum()


def asked(states, players):
    game = GAMES[bool(states["same_size_swap"][0])]
    masks = np.empty((len(states), game.num_actions), np.bool_)
    game.loops.mask_rows(states, players, masks)
    out = np.zeros(masks.shape)
    for i, state in enumerate(states):
        legal = np.flatnonzero(masks[i])
        out[i, legal] = lopsided(state["piece"].tolist(), int(players[i]), legal)
    return out


def slow_value(position, plies, player, swap):
    """What `player` gets, who plays best against `lopsided` for so many plies; a position is (board, to move, ply)."""
    board, to_move, ply = position
    worths = []
    game = SlowMartianTicTacToe(repetition_limit=None, same_size_swap=swap)
    game.start(board, to_move, ply)
    legal = game.legal_actions()
    for action in legal:
        game.start(board, to_move, ply)
        game.play(action)
        if game.done:
            worths.append(game.rewards[player])
        elif plies == 1:
            worths.append(0.0)
        else:
            worths.append(slow_value((dict(game.board), game.to_move, game.ply), plies - 1, player, swap))
    if to_move == player:
        return max(worths)
    pieces = [3 * board[cell][0] + board[cell][1] if cell in board else 0 for cell in range(9)]
    return float(lopsided(pieces, to_move, legal) @ worths)


def states_after(plies, n, seed, game=GAME):
    """Positions after so many plies of random play: structured (n,)."""
    batch, generator = ttt_envs.Batch(game, 8 * n, seed=seed), np.random.default_rng(seed)
    for _ in range(plies):
        masks = batch.masks()
        batch.step(np.array([generator.choice(np.flatnonzero(row)) if row.any() else 0 for row in masks]))
    states = batch.states[~batch.done][:n]
    assert len(states) == n
    return states


@pytest.mark.parametrize("swap", [False, True])
@pytest.mark.parametrize("player", [0, 1])
@pytest.mark.parametrize(("plies", "left", "n"), [(0, 2, 1), (9, 2, 40), (12, 3, 10), (14, 4, 1)])
def test_a_best_response_is_that_of_the_slow_one(swap, player, plies, left, n):
    states = states_after(plies, n, seed=plies + player, game=GAMES[swap])
    slow = []
    for state in states:
        board = {k: ((p - 1) // 3, (p - 1) % 3 + 1) for k, p in enumerate(state["piece"].tolist()) if p}
        slow.append(slow_value((board, int(state["to_move"]), plies), left, player, swap))
    states["max_plies"] = plies + left
    found = Response(states, asked, player).values()
    assert found == pytest.approx(slow, abs=PRECISION)
    assert n == 1 or len(set(found)) > 1


def uniform(states, players):
    masks = np.empty((len(states), GAME.num_actions), np.bool_)
    GAME.loops.mask_rows(states, players, masks)
    return masks / masks.sum(axis=1, keepdims=True)


def impatient(states, players):
    """Uniform, and from ply 11 on always the first action."""
    found = uniform(states, players)
    first = np.eye(GAME.num_actions)[(found > 0).argmax(axis=1)]
    return np.where((states["ply"] < 11)[:, None], found, first)


def test_a_policy_that_heeds_the_ply_is_found_out():
    start = states_after(8, 1, seed=0)
    start["max_plies"] = 14
    usual = Response(start, uniform, 0)
    value = float(usual.values()[0])
    assert usual.heeded_at is None
    assert usual.bounds()[0] == usual.bounds()[1] == value
    heeding = Response(start, impatient, 0)
    assert heeding.heeded_at == 11
    # Up to there it is uniform, and what comes after may be worth anything.
    least, most = (float(each[0]) for each in heeding.bounds())
    start["max_plies"] = 11
    assert -1 < least < float(Response(start, uniform, 0).values()[0]) < most
    assert least < value <= most + PRECISION


def test_what_cannot_be_answered_is_refused():
    with pytest.raises(ValueError, match="best responses are known with repetition_limit=none alone"):
        exploitability("martian_tic_tac_toe", "random", quiet=True)
    start = GAME.new_state(0)
    with pytest.raises(ValueError, match="player must be 0 or 1, not 2"):
        Response(start, uniform, 2)
    with pytest.raises(ValueError, match="must have shape"):
        GAME.oracle().best_response(lambda states, players: np.ones((len(states), 2)), 0)
    with pytest.raises(ValueError, match="must give a distribution over the legal actions"):
        GAME.oracle().best_response(lambda states, players: np.full((len(states), 27), 1 / 27), 0)
    with pytest.raises(ValueError, match="all with the same ply"):
        Response(np.concatenate([start, states_after(4, 1, seed=0)]), uniform, 0)
    with pytest.raises(ValueError, match="with repetition_limit=none"):
        Response(ttt_envs.load("martian_tic_tac_toe").new_state(0), uniform, 0)


def test_nothing_beats_best_play():
    """The first player wins against anybody, the second loses against optimal play: minutes."""
    oracle = GAME.oracle()
    assert oracle.best_response(oracle.policy, 0) == pytest.approx(1, abs=PRECISION)
    assert oracle.best_response(oracle.policy, 1) == pytest.approx(-1, abs=PRECISION)


def test_random_play_loses_to_a_best_response():
    """Surely, up to the precision, in 300 plies: minutes."""
    oracle = GAME.oracle()
    for player in (0, 1):
        value = oracle.best_response(uniform, player)
        assert oracle.value(GAME.new_state(0), player)[0] <= value
        assert value == pytest.approx(1, abs=PRECISION)
