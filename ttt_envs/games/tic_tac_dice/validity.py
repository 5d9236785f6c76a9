"""Invariants of the states of the Tic-Tac-Dice family."""

from collections.abc import Iterator

import numpy as np

from ttt_envs.core.lines import lines
from ttt_envs.core.state import States
from ttt_envs.games.tic_tac_dice.rules import (
    CARDS_OF_A_RANK,
    EMPTY,
    MOST_DRAWN_ROUNDS,
    NO_ROUND,
    RANKS,
    ROW_POINTS,
)


def invariants(states: States) -> Iterator[tuple[np.ndarray, str]]:
    """See `core.validity.Invariants`."""
    rank, owner, going = states["rank"], states["owner"], ~states["done"]
    points, target, drawn = states["points"], states["target"], states["drawn"]
    cards = (rank[:, :, None] == np.arange(1, RANKS + 1)).sum(axis=1)
    yield (cards <= CARDS_OF_A_RANK).all(axis=1), f"the deck has {CARDS_OF_A_RANK} cards of a rank"
    claimed = (owner != EMPTY).sum(axis=1)
    single = target == 0
    rule = "there must be as many plies as markers, or in a match at least as many"
    yield np.where(single, states["ply"] == claimed, states["ply"] >= claimed), rule

    low, high = states["dice"][:, 0], states["dice"][:, 1]
    rule = "`dice` must be two numbers from 1 to 6, the lower one first, or both 0 when the game is over"
    yield ((low >= 1) & (low <= high)) | (~going & (low == 0) & (high == 0)), rule
    allowed = (rank == low[:, None]) | (rank == high[:, None]) | (rank == (low + high)[:, None])
    yield ~going | (allowed & (owner == EMPTY)).any(axis=1), "the dice must allow a card to be claimed"

    rule = "in a single round there are no points, no drawn rounds and no round before it"
    yield ~single | (~points.any(axis=1) & (drawn == 0) & (states["last"] == NO_ROUND)), rule
    rule = f"points must be below `target`, and at the end at most {ROW_POINTS - 1} above it"
    most = target + np.where(going, -1, ROW_POINTS - 1)
    yield single | (points <= most[:, None]).all(axis=1), rule
    yield ~going | (drawn < MOST_DRAWN_ROUNDS), f"{MOST_DRAWN_ROUNDS} drawn rounds end a match"

    size = int(np.sqrt(rank.shape[1]))
    for win_length in np.unique(states["win_length"]).tolist():
        rows = owner[:, lines(size, size, win_length)]
        ended = ((rows == 1).all(axis=2) | (rows == 2).all(axis=2)).any(axis=1)
        yield ~(going & ended & (states["win_length"] == win_length)), "a row ends the round"
