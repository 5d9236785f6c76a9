"""Alpha-beta search between three sides: all others against the player who searches, or each for themselves.

The game is a toy: a race to the last stone.
"""

import numpy as np
import pytest
import toy_race
from changed import changed

from ttt_envs.agents.ntuples import NTuples, NTuplesInfo
from ttt_envs.agents.search.alphabeta import AlphaBeta
from ttt_envs.core.compile import jit
from ttt_envs.core.compile.jit import kernel
from ttt_envs.core.game import Game
from ttt_envs.core.symmetry import Patterns
from ttt_envs.core.view import View

pytestmark = pytest.mark.skipif(not jit.DISABLED, reason="quick without the JIT alone: make test runs it so")


def positions(game: Game) -> View:
    states = np.repeat(game.prototype, 21)
    states["stones"], states["to_move"] = np.arange(21) // 3 + 1, np.arange(21) % 3
    return View.unchecked(game, states, states["to_move"].astype(np.int64), np.arange(21, dtype=np.uint64))


def paranoid(stones: int, mover: int, searcher: int) -> float:
    """The reward of the searcher, from -1 to 1, if all others play against them; in the race, where none is lucky."""
    found = []
    for taken in range(1, min(stones, 2) + 1):
        if taken < stones:
            found.append(paranoid(stones - taken, (mover + 1) % 3, searcher))
        else:  # the mover has won, who plays for themselves or against the searcher
            found.append(1.0 if mover == searcher else -1.0)
    return max(found) if mover == searcher else min(found)


def test_three_sides_are_taken_for_two():
    game = toy_race.make(lucky=False)
    view = positions(game)
    found = AlphaBeta(depth=7).scores(view)
    for row, state in zip(found, view.sample_worlds(), strict=True):
        stones, mover = int(state["stones"]), int(state["to_move"])
        expected = paranoid(stones, mover, mover)
        assert np.nanmax(row) == pytest.approx(2 * expected, abs=0.05)
    assert {0, 1} == set((np.nanmax(found, axis=1) > 0).tolist())


@kernel
def find(state, player, out):
    out[0] = state["stones"]


def own(stones: int, worth: np.ndarray, plies: int) -> float:
    """The best result of who is to move, where the others take the best by the values of one ply."""
    found = []
    for taken in range(1, min(stones, 2) + 1):
        left, movers = stones - taken, 1
        while plies > 1 and left and movers < 3:
            left = max(range(max(left - 2, 0), left), key=lambda k: worth[k] if k else 2.0)
            movers += 1
        if left:
            found.append(worth[left] if plies == 1 else own(left, worth, plies - 1))
        else:  # the next one after who took the last stone loses
            found.append((2.0, 0.0, -2.0)[movers - 1])
    return max(found)


@pytest.mark.parametrize("depth", [1, 2, 3])
def test_each_of_the_others_replies_for_itself(depth):
    game = changed(toy_race.make(lucky=False), patterns=lambda: Patterns(8, 1, find))
    for seed in range(5):
        weights = np.random.default_rng(seed).normal(size=8)
        values = NTuples(NTuplesInfo(game.id, dict(game.options), 8, 1, 0), weights)
        view = positions(game)
        found = AlphaBeta(values, depth=depth, replies="own").scores(view)
        for row, stones in zip(found, view.sample_worlds()["stones"].tolist(), strict=True):
            assert np.nanmax(row) == pytest.approx(own(stones, np.tanh(weights), depth), abs=0.05)
