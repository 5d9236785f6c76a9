"""Invariants of the states of Martian Tic-Tac-Toe."""

from collections.abc import Iterator

import numpy as np

from ttt_envs.core.state import States
from ttt_envs.games.martian_tic_tac_toe.rules import EMPTY, SIZES


def invariants(states: States) -> Iterator[tuple[np.ndarray, str]]:
    """See `core.validity.Invariants`."""
    piece, stash, log, going = states["piece"], states["stash"], states["log"], ~states["done"]
    players, remembered, limit = stash.shape[1], log.shape[1], states["repetition_limit"]
    fits = (states["line"] == states["pieces"]) & (states["line"] == np.minimum(states["size"], 5))
    yield fits, "`line` and `pieces` must be `size`, or 5 on larger boards"
    for player in range(players):
        for size in range(SIZES):
            count = (piece == SIZES * player + size + 1).sum(axis=1) + stash[:, player, size]
            yield (
                count == states["pieces"],
                "each player must have `pieces` pieces of each size, in stash and on the board",
            )
    placed = (piece != EMPTY).sum(axis=1)
    rule = "there must be no more pieces on the board and moves in the log than plies, nor more plies than `max_plies`"
    yield (placed + states["logged"] <= states["ply"]) & (states["ply"] <= states["max_plies"]), rule
    yield ~going | (states["ply"] < states["max_plies"]), "`max_plies` plies end the game"
    yield (limit > 0) | (states["logged"] == 0), "without a limit of repetitions nothing is logged"
    # The first time, or again after each move that is in the log.
    most = np.minimum(np.maximum(limit, 1), states["logged"] + 1)
    yield states["occurred"] <= most, "`occurred` must be no more than the limit of repetitions and the log allow"
    yield ~going | (limit == 0) | (states["occurred"] < limit), "`repetition_limit` occurrences end the game"
    used = np.arange(remembered) < states["logged"][:, None]
    replaced = log // players % (SIZES * players + 1)
    rule = "each move in the log must have replaced a piece, and nothing may stand behind the last one"
    yield np.where(used, replaced != EMPTY, log == 0).all(axis=1), rule
