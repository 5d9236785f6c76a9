"""Best responses in the 3x3 game without the draw by repetition, against a slow version and what is known of them."""

import numpy as np
import pytest
from slow_martian_tic_tac_toe import SlowMartianTicTacToe

from ttt_envs.core import jit

if jit.DISABLED:
    pytest.skip("too many positions without the JIT", allow_module_level=True)

import agents
import ttt_envs
from training import exploitability
from training.arena import game_seeds, play_games
from ttt_envs.core.view import View
from ttt_envs.games.martian_tic_tac_toe.solver import PRECISION, Response

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
    """`lopsided`, as an oracle asks for it."""
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
    total, worths, legal = 0.0, [], None
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
    total = float(lopsided(pieces, to_move, legal) @ worths)
    return total


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
@pytest.mark.parametrize(("plies", "left", "n"), [(0, 2, 1), (9, 2, 40), (12, 3, 30), (15, 3, 30), (14, 4, 4)])
def test_a_best_response_is_that_of_the_slow_one(swap, player, plies, left, n):
    states = states_after(plies, n, seed=plies + player, game=GAMES[swap])
    slow = []
    for state in states:
        board = {k: ((p - 1) // 3, (p - 1) % 3 + 1) for k, p in enumerate(state["piece"].tolist()) if p}
        slow.append(slow_value((board, int(state["to_move"]), plies), left, player, swap))
    states["max_plies"] = plies + left
    found = Response(states, asked, player).values()
    assert found == pytest.approx(slow, abs=1e-12)
    assert plies == 0 or len(set(found)) > 1
