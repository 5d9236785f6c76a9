"""Invariants of the states of Tic-Tac Match."""

from collections.abc import Iterator

import numpy as np

from ttt_envs.core.lines import lines
from ttt_envs.core.state import States
from ttt_envs.games.tic_tac_match.rules import NONE, NOTHING

_LINES = lines(3, 3, 3)


def invariants(states: States) -> Iterator[tuple[np.ndarray, str]]:
    """See `core.validity.Invariants`."""
    top, hand, going, pending = states["top"], states["hand"], ~states["done"], states["pending"]
    kinds, hand_size = hand.shape[2], states["hand_size"]
    tops = (top[:, :, None] == np.arange(kinds)).sum(axis=1)
    cards = hand.sum(axis=1) + tops + states["pile"] + states["discard"] + states["covered"]
    yield np.all(cards == states["deck"], axis=1), "hands, board, pile and discards must be the cards of the deck"
    yield ~np.any(states["covered"][:, -3:], axis=1), "only symbol cards can lie covered on the board"
    yield ~going | np.any(states["pile"], axis=1), "the pile is never empty: it is made anew before"

    # Cards that the player to move has played in this turn: of a Double Play itself one, with its first card two.
    played = (3 - pending) % 3
    mover = np.arange(hand.shape[1]) == states["to_move"][:, None]
    held, full = hand.sum(axis=2), hand_size[:, None]
    wanted = np.where(mover, full - played[:, None], full)
    rule = "all hands must be full, but for what the player to move has played in a Double Play"
    yield np.where(going[:, None], held == wanted, held <= full).all(axis=1), rule
    laid = tops.sum(axis=1) + states["covered"].sum(axis=1)
    a_turn = np.where(states["deck"][:, -1] > 0, 2, 1)
    most = 1 + a_turn * states["turn"] + np.where(going, pending == 1, 2)
    yield laid <= most, "there must be no more cards on the board than can be laid in `turn` turns"

    yield ~going | (states["turn"] < states["max_turns"]), "`max_turns` turns end the game"
    least, most = states["turn"], 3 * (states["turn"] + 1)
    yield (least <= states["ply"]) & (states["ply"] <= most), "a turn must have taken from one to three plies"
    shown = states["identity"] ^ states["team_of"]
    yield (shown == shown[:, :1]).all(axis=1), "one side's ID cards must show X and the other's O"
    rows = top[:, _LINES]
    complete = (rows[:, :, 0] != NOTHING) & (rows == rows[:, :, :1]).all(axis=2)
    yield ~(going & complete.any(axis=1)), "three cards of a kind in a row end the game"
    rule = "`last_action` and `last_player` must both be there, or neither"
    yield (states["last_action"] == NONE) == (states["last_player"] == NONE), rule
