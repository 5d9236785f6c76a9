"""Checks of all that an oracle says."""

import numpy as np

from ttt_envs.core.batch import Batch
from ttt_envs.core.game import Game
from ttt_envs.testing.positions import masks_of, play_batch


def play(game: Game, n: int, seed: int) -> np.ndarray:
    """All positions of n random games that are not over: structured (k,)."""
    states = play_batch(Batch(game, n, seed=seed), game.max_plies).states.ravel()
    return states[~states["done"]]


def check_answers(game: Game, states: np.ndarray) -> None:
    """Positions that are covered: what one wins the other loses, and nothing is better than what the policy plays."""
    oracle = game.oracle()
    assert oracle.covers(states).all()
    values = np.stack([oracle.value(states, player) for player in (0, 1)])
    assert np.abs(values.sum(axis=0)).max() < 1e-12
    assert np.abs(values).max() <= 1
    for player, value in enumerate(values):
        policy, worth = oracle.policy(states, player), oracle.action_values(states, player)
        masks = masks_of(game, states, player)
        acts = masks.any(axis=1)
        assert np.abs(policy.sum(axis=1) - acts).max() < 1e-12
        assert not policy[~masks].any()
        assert np.array_equal(~np.isnan(worth[acts]), masks[acts])
        best = np.where(masks, worth, -np.inf).max(axis=1)
        assert np.abs(best - value)[acts].max() < 1e-9
        assert (best[:, None] - worth)[policy > 1e-9].max() < 1e-9
        # The player who waits is told the worth of the other's actions to themselves.
        theirs = -oracle.action_values(states[~acts], 1 - player)
        assert np.allclose(worth[~acts], theirs, rtol=0, atol=1e-12, equal_nan=True)
