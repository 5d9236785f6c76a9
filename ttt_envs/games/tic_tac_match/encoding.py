"""The observation features of Tic-Tac Match; all are 0 or 1, from the observer's side."""

# mypy: disable-error-code="no-untyped-def"

from collections.abc import Sequence

import numpy as np

from ttt_envs.core.blocks import Block
from ttt_envs.core.jit import allocates_nothing, kernel
from ttt_envs.games.tic_tac_match.rules import (
    CELLS,
    GAPS,
    NOTHING,
    count,
    fitting,
    flip_of,
    of_kind,
    read_board,
)

#: How far an observation counts the turns that are left.
COUNTDOWN = 8


def blocks(players: int, deck: Sequence[int], hand_size: int) -> tuple[Block, ...]:
    """The blocks of an observation; `deck`: cards of each kind."""
    kinds, most = len(deck), max(deck)
    symbols = kinds - 3
    board = np.arange(symbols * CELLS).reshape(symbols, 3, 3)
    whose = "of the player k seats after me"
    return (
        Block("tops", (symbols, CELLS), "a symbol card of kind s lies on top of the cell: [s, cell]", board),
        Block(
            "my lines", (symbols, CELLS), "a card of kind s, laid on the cell, would win the game for my side", board
        ),
        Block("their lines", (symbols, CELLS), "a card of kind s, laid on the cell, would lose it for my side", board),
        Block("hand", (hand_size, kinds), "I hold more than c cards of kind k: [c, k]"),
        Block("discards", (most, kinds), "more than c cards of kind k lie in the discards: [c, k]"),
        Block("covered", (most, kinds), "more than c cards of kind k lie covered on the board: [c, k]"),
        Block("identities", (players, 2), f"the ID card {whose} shows X or O: [k, 0] or [k, 1]"),
        Block("hand sizes", (players, hand_size), f"the hand {whose} has more than c cards: [k, c]"),
        Block("to move", (players,), "it is the turn of the player k seats after me"),
        Block("pending", (2,), "a Double Play has more than c cards still to be played"),
        Block("turns left", (COUNTDOWN,), "more than t turns are left before the game is a draw"),
    )


@kernel
@allocates_nothing
def observe(state, player, out):
    """Fill `out` int8 (observation size,) with the blocks in their order."""
    out[:] = 0
    if not 0 <= player < state["identity"].shape[0]:
        return
    players, symbols = state["identity"].shape[0], flip_of(state)
    hand_size, most, left = np.int64(state["hand_size"]), np.int64(0), state["max_turns"] - state["turn"]
    for kind in range(state["deck"].shape[0]):
        most = max(most, np.int64(state["deck"][kind]))
    for cell in range(CELLS):
        if state["top"][cell] != NOTHING:
            out[CELLS * np.int64(state["top"][cell]) + cell] = 1
    show_lines(state, player, out, CELLS * symbols)
    at = np.int64(3 * CELLS * symbols)
    at = show_counts(state["hand"][player], hand_size, out, at)
    at = show_counts(state["discard"], most, out, at)
    at = show_counts(state["covered"], most, out, at)
    for k in range(players):
        each = (player + k) % players
        out[at + 2 * k + state["identity"][each]] = 1
        show_number(count(state["hand"][each]), hand_size, out, at + 2 * players + k * hand_size)
    at += players * (2 + hand_size)
    if not state["done"]:
        out[at + (state["to_move"] - player) % players] = 1
    at += players
    show_number(state["pending"], 2, out, at)
    show_number(left, COUNTDOWN, out, at + 2)


@kernel
def show_lines(state, player, out, at):
    """Mark the cards that would complete a line: first for the observer's side, then for the other one."""
    board, own, symbols = read_board(state), state["identity"][player], flip_of(state)
    for kind in range(symbols):
        cells = GAPS[of_kind(board, kind)] & fitting(board, kind)
        if cells != 0:
            row = at + CELLS * (kind + symbols * (kind % 2 != own))
            for cell in range(CELLS):
                out[row + cell] = cells >> cell & 1


@kernel
def show_counts(cards, most, out, at):
    """Write from `at` on whether there are more than c cards of each kind, c from 0 to most-1; gives the end."""
    kinds = cards.shape[0]
    for c in range(most):
        for kind in range(kinds):
            # Unsigned: else each index is looked at for a negative one, which doubles the time.
            out[np.uint64(at + kind)] = np.int64(cards[kind]) - c > 0
        at += kinds
    return at


@kernel
def show_number(number, most, out, at):
    """Write from `at` on whether the number is greater than c, for c from 0 to most-1."""
    for c in range(most):
        out[np.uint64(at + c)] = number > c
