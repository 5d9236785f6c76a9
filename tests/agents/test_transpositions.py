"""Alpha-beta search of toy games to their end: with a table that is much used, and with three sides.

In the first game most positions are reached in several ways, and the table must not change what is found: two players
in turn take one of seven pieces, and the set that player 0 has at the end decides.
"""

from functools import cache

import numpy as np
import pytest
import toy_race

from ttt_envs.agents.search.alphabeta import AlphaBeta
from ttt_envs.core import rng
from ttt_envs.core.compile import jit
from ttt_envs.core.compile.jit import kernel
from ttt_envs.core.game import Game
from ttt_envs.core.loops import Kernels
from ttt_envs.core.observation_layout import Block
from ttt_envs.core.presentation import Faces
from ttt_envs.core.state import between, state_dtype
from ttt_envs.core.view import View

PIECES = 7
STATE = state_dtype(
    players=2, fields=[("owner", np.int8, (PIECES,), between(-1, 1)), ("table", np.int8, between(0, 99))]
)
#: The reward of player 0 by the set of pieces, in a hundred games; small, so that no result ends the search early.
WORTH = np.random.default_rng(0).uniform(-0.7, 0.7, (100, 1 << PIECES)).astype(np.float32)
#: So many of them that bounds of either kind, taken for values, lead to another result in some.
TABLES = np.arange(10)


@kernel
def reset(state, seed):
    rng.start(state, seed)
    state["owner"][:] = -1


@kernel
def legal_mask(state, player, out):
    for piece in range(PIECES):
        out[piece] = state["owner"][piece] < 0


@kernel
def step(state, actions):
    mover = np.int64(state["to_move"])
    state["owner"][actions[mover]] = mover
    state["to_move"] = 1 - mover
    mine, left = 0, False
    for piece in range(PIECES):
        left = left or state["owner"][piece] < 0
        mine += (state["owner"][piece] == 0) << piece
    if not left:
        state["done"] = True
        state["rewards"][0] = WORTH[state["table"], mine]
        state["rewards"][1] = -WORTH[state["table"], mine]


@kernel
def observe(state, player, out):
    out[0] = player


@kernel
def resample(state, player, seed):
    rng.start(state, seed)


GAME = Game(
    id="seven_pieces",
    title="Seven Pieces",
    options={},
    factory=lambda: GAME,
    prototype=np.zeros(1, STATE),
    action_names=tuple("ABCDEFG"),
    observation_layout=(Block("second", (1,), "I am player 1"),),
    simultaneous=False,
    chance="none",
    hidden_information=False,
    max_plies=PIECES,
    teams=((0,), (1,)),
    kernels=Kernels(reset, legal_mask, step, observe, resample),
    faces=Faces(
        format_state=lambda state, viewer: "",
        read_state=lambda text: np.zeros(1, STATE),
        draw=lambda state, viewer: "",
        action_format="a letter",
    ),
)


without_jit = pytest.mark.skipif(not jit.DISABLED, reason="quick without the JIT alone: make test runs it so")


@cache
def best(table: int, mine: int, others: int) -> float:
    """The reward of player 0 under best play of both."""
    free = [1 << piece for piece in range(PIECES) if not (mine | others) >> piece & 1]
    if not free:
        return float(WORTH[table, mine])
    if mine.bit_count() == others.bit_count():
        return max(best(table, mine | piece, others) for piece in free)
    return min(best(table, mine, others | piece) for piece in free)


def view_of(game: Game, states: np.ndarray) -> View:
    return View.unchecked(game, states, states["to_move"].astype(np.int64), np.arange(len(states), dtype=np.uint64))


@without_jit
def test_what_the_table_holds_is_taken_for_what_it_is():
    """Most entries are bounds: some other path to the same position was cut off."""
    states, seeds = np.repeat(GAME.prototype, len(TABLES)), TABLES.astype(np.uint64)
    GAME.loops.reset_rows(states, np.arange(len(TABLES)), GAME.prototype, seeds)
    states["table"] = TABLES
    found = AlphaBeta(depth=PIECES).scores(view_of(GAME, states))
    for k, table in enumerate(TABLES.tolist()):
        values = np.array([best(table, 1 << piece, 0) for piece in range(PIECES)])
        assert found[k].max() == pytest.approx(2 * values.max(), rel=1e-3)
        assert values[found[k].argmax()] == values.max()


def paranoid(stones: int, mover: int, searcher: int) -> float:
    """The reward of the searcher, from -1 to 1, if all others play against them; in the race, where none is lucky."""
    found = []
    for taken in range(1, min(stones, 2) + 1):
        if taken < stones:
            found.append(paranoid(stones - taken, (mover + 1) % 3, searcher))
        else:  # the mover has won, who plays for themselves or against the searcher
            found.append(1.0 if mover == searcher else -1.0)
    return max(found) if mover == searcher else min(found)


@without_jit
def test_three_sides_are_taken_for_two():
    game = toy_race.make(lucky=False)
    states = np.repeat(game.prototype, 21)
    states["stones"], states["to_move"] = np.arange(21) // 3 + 1, np.arange(21) % 3
    view = view_of(game, states)
    found = AlphaBeta(depth=7).scores(view)
    for row, state in zip(found, states, strict=True):
        stones, mover = int(state["stones"]), int(state["to_move"])
        expected = paranoid(stones, mover, mover)
        assert np.nanmax(row) == pytest.approx(2 * expected, abs=0.05)
    assert {0, 1} == set((np.nanmax(found, axis=1) > 0).tolist())
