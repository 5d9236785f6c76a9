"""The observation features of the Tic-Tac-Dice family; all are 0 or 1, from the observer's side."""

# mypy: disable-error-code="no-untyped-def"

import numpy as np

from ttt_envs.core.blocks import Block
from ttt_envs.core.jit import allocates_nothing, kernel
from ttt_envs.games.tic_tac_dice.rules import RANKS, allowed_ranks, doubles, is_claimable


def blocks(size: int, target: int) -> tuple[Block, ...]:
    """The blocks of an observation; `target` points end the match, 0 stands for a single round."""
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
    """Fill `out` int8 (observation size,) with the blocks in their order."""
    out[:] = 0
    if not 0 <= player < 2:
        return
    cells = state["rank"].shape[0]
    own = RANKS * cells
    dice = own + 3 * cells
    ranks = allowed_ranks(state)
    for cell in range(cells):
        out[(np.int64(state["rank"][cell]) - 1) * cells + cell] = 1
        out[own + cell] = state["owner"][cell] == player + 1
        out[own + cells + cell] = state["owner"][cell] == 2 - player
        out[own + 2 * cells + cell] = is_claimable(state, cell, ranks)
    if not state["done"]:
        low, high = np.int64(state["dice"][0]), np.int64(state["dice"][1])
        out[dice + low - 1] = 1
        out[dice + 6 + high - 1] = 1
        out[dice + 12] = doubles(state)
        out[dice + 13] = state["to_move"] == player
    points, target = dice + 14, np.int64(state["target"])
    for k in range(target):
        out[points + k] = state["points"][player] > k
        out[points + target + k] = state["points"][1 - player] > k
