"""The observation features of Tic-Tac Match; all are 0 or 1, from the observer's side."""

# mypy: disable-error-code="no-untyped-def"

from collections.abc import Sequence

import numpy as np

from ttt_envs.core.compile.bits import mark_counts, total, up_to, write_set
from ttt_envs.core.compile.jit import allocates_nothing, inlined, kernel
from ttt_envs.core.observation_layout import Block
from ttt_envs.games.tic_tac_match.rules import (
    ALL_CELLS,
    CELLS,
    GAPS,
    HALF,
    XS,
    fitting,
    flip_of,
    read_board,
    write_cards,
)

#: The largest number of remaining turns that an observation distinguishes.
COUNTDOWN = 8


def blocks(players: int, deck: Sequence[int], hand_size: int) -> tuple[Block, ...]:
    """Return the blocks of an observation; `deck`: number of cards of each kind."""
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
    """Write the blocks, in their order, to `out`, int8 (observation size,)."""
    if not 0 <= player < state["identity"].shape[0]:
        out[:] = 0
        return
    symbols, hand_size = flip_of(state), np.int64(state["hand_size"])
    kinds, players = state["deck"].shape[0], state["identity"].shape[0]
    rest = 3 * CELLS * symbols + kinds * hand_size + players * (3 + hand_size) + 2 + COUNTDOWN
    most = (out.shape[0] - rest) // (2 * kinds)  # the most cards of a kind in the deck, from the observation's size
    show_board(state, player, out)
    at = np.int64(3 * CELLS * symbols)
    at = show_counts(state["hand"][player], hand_size, out, at)
    at = show_counts(state["discard"], most, out, at)
    at = show_counts(state["covered"], most, out, at)
    show_players(state, player, out, at)


@kernel
@inlined
def show_board(state, player, out):
    """Write the top cards, then the cards that complete a line for the observer's side, then for the other side."""
    board, own, symbols = read_board(state), np.int64(state["identity"][player]), flip_of(state)
    fits, mine = fitting(board), XS << CELLS * own
    first, others = completing(board[0]) & fits[0], completing(board[1]) & fits[1]
    size = CELLS * symbols
    write_cards(board, symbols, out, 0)
    write_cards((first & mine, others & mine), symbols, out, size)
    write_cards((first & ~mine, others & ~mine), symbols, out, 2 * size)


@kernel
@inlined
def completing(cards):
    """Return half a set: the cards on cells that would complete a line; `cards`: the same half of the top cards."""
    found = np.int64(0)
    for k in range(HALF):
        found |= GAPS[cards >> CELLS * k & ALL_CELLS] << CELLS * k
    return found


@kernel
@inlined
def show_counts(cards, most, out, at):
    """Write to out[at + c * kinds + k] whether there are more than c (c < `most`) cards of kind k; return the end."""
    mark_counts(cards, np.int64(most), out, at)
    return at + most * cards.shape[0]


@kernel
@inlined
def show_players(state, player, out, at):
    """Write the blocks from "identities" to the last one to `out`, from index `at`."""
    players, hand_size, shown = state["identity"].shape[0], np.int64(state["hand_size"]), np.int64(0)
    for k in range(players):
        each = (player + k) % players
        shown |= np.int64(1) << (2 * k + state["identity"][each])
        shown |= up_to(total(state["hand"][each]), hand_size) << (2 * players + k * hand_size)
    end = players * (2 + hand_size)
    if not state["done"]:
        shown |= np.int64(1) << (end + (state["to_move"] - player) % players)
    end += players
    shown |= up_to(state["pending"], 2) << end
    shown |= up_to(state["max_turns"] - state["turn"], COUNTDOWN) << (end + 2)
    write_set(shown, end + 2 + COUNTDOWN, out, at)
