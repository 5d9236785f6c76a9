"""Alpha-beta search between three sides, of whom all others are taken for one side against the player who searches."""

import numpy as np
import pytest
import toy_race

from ttt_envs.agents.search.alphabeta import AlphaBeta
from ttt_envs.core.compile import jit
from ttt_envs.core.view import View


def paranoid(stones: int, mover: int, searcher: int) -> float:
    """The reward of the searcher, from -1 to 1, if all others play against them; in the race, where none is lucky."""
    found = []
    for taken in range(1, min(stones, 2) + 1):
        if taken < stones:
            found.append(paranoid(stones - taken, (mover + 1) % 3, searcher))
        else:  # the mover has won, who plays for themselves or against the searcher
            found.append(1.0 if mover == searcher else -1.0)
    return max(found) if mover == searcher else min(found)


@pytest.mark.skipif(not jit.DISABLED, reason="quick without the JIT alone: make test runs it so")
def test_three_sides_are_taken_for_two():
    game = toy_race.make(lucky=False)
    states = np.repeat(game.prototype, 21)
    states["stones"], states["to_move"] = np.arange(21) // 3 + 1, np.arange(21) % 3
    view = View.unchecked(game, states, states["to_move"].astype(np.int64), np.arange(21, dtype=np.uint64))
    found = AlphaBeta(depth=7).scores(view)
    for row, state in zip(found, states, strict=True):
        stones, mover = int(state["stones"]), int(state["to_move"])
        expected = paranoid(stones, mover, mover)
        assert np.nanmax(row) == pytest.approx(2 * expected, abs=0.05)
    assert {0, 1} == set((np.nanmax(found, axis=1) > 0).tolist())
