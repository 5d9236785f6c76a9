"""The rules of Super Tic-Tac-Toe against a slow second version, written from the rule text alone."""

from itertools import product

import numpy as np
import pytest
from slow_super_tic_tac_toe import SlowSuperTicTacToe

import ttt_envs
from ttt_envs.core import rng
from ttt_envs.core.batch import Batch
from ttt_envs.core.compile import jit
from ttt_envs.core.game import Game
from ttt_envs.games.super_tic_tac_toe.text import cells_of, owners_of
from ttt_envs.testing.positions import play_batch

OPTIONS = list(product(("center_board", "anywhere"), ("open", "closed")))

GAMES = 24 if jit.DISABLED else 10_000
CHUNK = 500

#: What the fast version's bytes mean in the slow one.
MARK = np.array([None, 0, 1], object)


def compare_with_slow(game: Game, games: int, seed: int) -> int:
    play = play_batch(Batch(game, games, seed=seed), game.max_plies)
    states = play.states
    masks = np.empty((*states.shape, game.num_actions), np.bool_)
    for ply in range(len(states)):
        game.loops.mask_rows(states[ply], states[ply]["to_move"].astype(np.int64), masks[ply])
    plies = 0
    options = game.options["first_move"], game.options["won_boards"]
    for i in range(games):
        mine = states[:, i]
        cells, owners = MARK[cells_of(mine)].tolist(), MARK[owners_of(mine)].tolist()
        targets, done, rewards = mine["target"].tolist(), mine["done"].tolist(), mine["rewards"].tolist()
        to_move, actions = mine["to_move"].tolist(), play.actions[:, i].max(axis=1).tolist()
        legal = [row.nonzero()[0].tolist() for row in masks[:, i]]
        fast = zip(cells, owners, targets, done, rewards, legal, strict=True)
        for ply, expected in enumerate(fast):
            slow = SlowSuperTicTacToe(*options, tuple(actions[:ply]))
            target = -1 if slow.target is None else slow.target
            found = slow._cells, slow._owners, target, slow.done, list(slow.rewards), slow.legal_actions()
            assert found == expected, f"after {actions[:ply]}"
            if slow.done:
                break
            assert slow.to_move == to_move[ply], f"after {actions[:ply]}"
            plies += 1
        assert slow.done
    return plies


@pytest.mark.parametrize(
    "part",
    [pytest.param(k, marks=[pytest.mark.slow] if k else []) for k in range(1 if jit.DISABLED else GAMES // CHUNK)],
)
@pytest.mark.parametrize(("first_move", "won_boards"), OPTIONS)
def test_fast_and_slow_agree(first_move, won_boards, part):
    game = ttt_envs.load("super_tic_tac_toe", first_move=first_move, won_boards=won_boards)
    games = min(GAMES, CHUNK if part else 80)
    assert compare_with_slow(game, games, seed=part) > 17 * games


@pytest.mark.parametrize("plies", [1, 16])
@pytest.mark.parametrize(("first_move", "won_boards"), OPTIONS)
def test_random_openings_are_games_so_far(first_move, won_boards, plies):
    """The position to which the same draws lead a game without an opening."""
    game = ttt_envs.load("super_tic_tac_toe", first_move=first_move, won_boards=won_boards, random_opening_plies=plies)
    states = Batch(game, 100, seed=1).states
    cells = cells_of(states)
    assert ((cells == 1).sum(axis=(1, 2)) == (plies + 1) // 2).all()
    assert ((cells == 2).sum(axis=(1, 2)) == plies // 2).all()
    assert (states["ply"] == plies).all()
    assert (states["to_move"] == plies % 2).all()
    assert not states["done"].any()
    if first_move == "center_board":
        assert (cells[:, 4] == 1).any(axis=1).all()
    plain = ttt_envs.load("super_tic_tac_toe", first_move=first_move, won_boards=won_boards)
    same = Batch(plain, 100, seed=1)
    for _ in range(plies):
        actions = np.empty(same.n, np.int64)
        own_draws(same.states, same.masks(), actions)
        same.step(actions)
    for field in ("marks", "owned", "playable", "target", "to_move", "ply", "rng"):
        assert np.array_equal(same.states[field], states[field]), field


@jit.kernel
def own_draws(states, masks, out):
    for i in range(states.shape[0]):
        out[i] = rng.pick(states[i], masks[i])
