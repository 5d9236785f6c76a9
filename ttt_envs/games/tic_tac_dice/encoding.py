"""The observation features of the Tic-Tac-Dice family; all are 0 or 1, from the observer's side."""

# mypy: disable-error-code="no-untyped-def"

import numpy as np

from ttt_envs.core.compile.bits import mark_equal, write_count, write_set
from ttt_envs.core.compile.jit import allocates_nothing, kernel
from ttt_envs.core.observation_layout import Block
from ttt_envs.games.tic_tac_dice.rules import RANKS, claimable, doubles


def blocks(size: int, target: int) -> tuple[Block, ...]:
    """Return the blocks of an observation; `target`: points that win the match, 0 for a single round."""
    cells = size * size
    board = np.arange(cells).reshape(1, size, size)
    ranks = np.arange(RANKS * cells).reshape(RANKS, size, size)
    made = [
        Block("ranks", (RANKS, cells), "a card of rank k+1 lies in the cell of [k, cell]", ranks),
        Block("own markers", (cells,), "I have claimed the card", board),
        Block("opponent's markers", (cells,), "the opponent has claimed the card", board),
        Block("claimable", (cells,), "the dice allow the player to move to claim the card", board),
        Block("lower die", (6,), "the lower of the two dice shows k+1"),
        Block("higher die", (6,), "the higher of the two dice shows k+1"),
        Block("extra roll", (1,), "the dice are doubles: the player who claims now rolls again"),
        Block("to move", (1,), "it is my turn"),
    ]
    if target:
        made += [
            Block("own points", (target,), f"I have at least k+1 of the {target} points that win the match"),
            Block("opponent's points", (target,), f"the opponent has at least k+1 of the {target} points"),
        ]
    return tuple(made)


@kernel
@allocates_nothing
def observe(state, player, out):
    """Write the blocks, in their order, to `out`, int8 (observation size,)."""
    if not 0 <= player < 2:
        out[:] = 0
        return
    cells, at = state["rank"].shape[0], 0
    for rank in range(1, RANKS + 1):
        mark_equal(state["rank"], rank, out, at)
        at += cells
    mark_equal(state["owner"], player + 1, out, at)
    mark_equal(state["owner"], 2 - player, out, at + cells)
    write_set(claimable(state), cells, out, at + 2 * cells)
    at += 3 * cells
    low, high = np.int64(state["dice"][0]), np.int64(state["dice"][1])
    now = np.int64(1) << (low - 1) | np.int64(1) << (high + 5)
    now |= np.int64(doubles(state)) << 12 | np.int64(state["to_move"] == player) << 13
    write_set(now if not state["done"] else np.int64(0), 14, out, at)
    points, target = at + 14, np.int64(state["target"])
    if target > 0:
        write_count(state["points"][player], target, out, points)
        write_count(state["points"][1 - player], target, out, points + target)
