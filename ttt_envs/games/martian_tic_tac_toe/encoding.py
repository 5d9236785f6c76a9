"""The observation features of Martian Tic-Tac-Toe; all are 0 or 1, from the observer's side."""

# mypy: disable-error-code="no-untyped-def"

import numpy as np

from ttt_envs.core.compile.bits import mark_equal, write_set
from ttt_envs.core.compile.jit import allocates_nothing, kernel
from ttt_envs.core.observation_layout import Block
from ttt_envs.games.martian_tic_tac_toe.rules import FIRST_TURN, SIZES, rule_for

# The longest game has this many equal parts; the observation says in which part the present ply is.
STAGES = 16


def blocks(size: int, players: int, pieces: int, repetition_limit: int) -> tuple[Block, ...]:
    """Return the blocks of an observation; `repetition_limit` 0 stands for no limit."""
    cells = size * size
    board = np.arange(players * SIZES * cells).reshape(players * SIZES, size, size)
    whose = "of the player k turns after me"
    made = [
        Block("pieces", (players, SIZES, cells), f"a piece {whose}, of size s+1, stands in [k, s, cell]", board),
        Block(
            "stashes", (players, SIZES, pieces), f"the stash {whose} holds more than c pieces of size s+1: [k, s, c]"
        ),
        Block("to move", (players,), "it is the turn of the player k turns after me"),
        Block("first turn", (1,), "the player to move has not moved yet, and must place"),
        Block("stage", (STAGES,), f"so many plies are played, in parts of 1/{STAGES} of the longest game"),
    ]
    if repetition_limit:
        made.append(Block("occurred", (repetition_limit,), "this position has occurred k+1 times, now included"))
    return tuple(made)


@kernel
@allocates_nothing
def observe(state, player, out):
    """Write the blocks, in their order, to `out`, int8 (observation size,)."""
    cells, players, pieces = state["piece"].shape[0], state["stash"].shape[0], np.int64(state["pieces"])
    at, place, stashes = np.int64(0), np.int64(0), np.int64(0)
    for turns in range(players):
        owner = (player + turns) % players
        for size in range(SIZES):
            mark_equal(state["piece"], SIZES * owner + size + 1, out, at)
            at += cells
            stashes |= ((np.int64(1) << state["stash"][owner, size]) - 1) << place
            place += pieces
    write_set(stashes, place, out, at)
    at += place
    now, stage = np.int64(0), min(np.int64(state["ply"]) * STAGES // state["max_plies"], STAGES - 1)
    if not state["done"]:
        now = np.int64(1) << (state["to_move"] - player) % players
        now |= np.int64(rule_for(state["ply"], players, False) == FIRST_TURN) << players
    now |= np.int64(1) << (players + 1 + stage)
    if state["repetition_limit"] > 0:
        now |= np.int64(1) << (players + STAGES + state["occurred"])
    write_set(now, players + 1 + STAGES + state["repetition_limit"], out, at)
