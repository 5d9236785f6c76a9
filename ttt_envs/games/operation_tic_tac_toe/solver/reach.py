"""The positions of a round that can be reached from others, and an order in which they can be solved."""

# mypy: disable-error-code="no-untyped-def"

import numpy as np

from ttt_envs.core.compile.jit import kernel
from ttt_envs.games.operation_tic_tac_toe import rules
from ttt_envs.games.operation_tic_tac_toe.rules import ABILITY, EMPTY, NO_ABILITY, NONE, PASS, PREDICT, REMOVE, ROOMS
from ttt_envs.games.operation_tic_tac_toe.solver.positions import (
    Book,
    digits_of,
    height,
    locate,
    position_of,
    put_positions,
)
from ttt_envs.games.operation_tic_tac_toe.solver.turns import make_turn, play


@kernel
def reach(states, queue, bounds, seen, known):
    """Add to a queue what follows from its positions in one turn, if it has not been seen; gives where the queue ends.

    Args:
        states: structured (2,), in the form of `fill_turn`, with player k to place in states[k]; to be filled.
        queue: int64 (positions, 3), as `locate` gives them for player 0.
        bounds: the first in the queue to go on from, and where it ends.
        seen: bool (positions,), as player 0 sees them.
        known: Book, Turn.
    """
    book, turn = known
    first, end = bounds
    for k in range(first, bounds[1]):
        put_positions(states, queue[k : k + 1], book)
        for i in range(2):
            rules.legal_mask(states[i], i, turn.mask[0])
            for action in range(PREDICT):
                if turn.mask[0, action]:
                    for prediction in (PREDICT + action % ROOMS, PASS):
                        turn.trial[0] = states[i]
                        play(turn.trial, turn.actions, action, prediction)
                        end = note(turn, queue, end, seen, book.lookup)
    return end


@kernel
def note_starts(starts, queue, seen, known):
    """Put states in phase TURN or ABILITY into an empty queue; gives where it ends."""
    book, turn = known
    end = 0
    for i in range(starts.shape[0]):
        turn.trial[0] = starts[i]
        end = note(turn, queue, end, seen, book.lookup)
    return end


@kernel
def note(turn, queue, end, seen, lookup):
    """Add turn.trial[0] to a queue, or all that an ability that is pending in it may lead to."""
    if turn.trial[0]["phase"] != ABILITY:
        return note_one(turn.trial[0], queue, end, seen, lookup)
    rules.legal_mask(turn.trial[0], turn.trial[0]["placer"], turn.mask[1])
    for ability in range(REMOVE, NO_ABILITY + 1):
        if turn.mask[1, ability]:
            turn.trial[1] = turn.trial[0]
            play(turn.trial[1:], turn.actions, ability, NONE)
            end = note_one(turn.trial[1], queue, end, seen, lookup)
    return end


@kernel
def note_one(state, queue, end, seen, lookup):
    """Add a state to a queue if the round goes on in it and it has not been seen; gives where the queue ends."""
    if not state["done"]:
        position = position_of(state, 0, lookup)
        if not seen[position]:
            seen[position] = True
            queue[end, 0], queue[end, 1], queue[end, 2] = locate(state, 0, lookup)
            end += 1
    return end


def reachable(states: np.ndarray, starts: np.ndarray, seen: np.ndarray, book: Book) -> np.ndarray:
    """Return all positions that the rules allow after some states, and they themselves, but for those seen before.

    Args:
        states: structured (2,), as for `reach`.
        starts: structured (n,), in the form of `fill_turn`, in phase TURN or ABILITY.
        seen: bool (positions,), as player 0 sees them; changed.
        book: Book.

    Returns them as `locate` gives them for player 0: int64 (n, 3).
    """
    queue, turn = np.empty((len(seen) - int(seen.sum()), 3), np.int64), make_turn(1)
    first, end = 0, note_starts(starts, queue, seen, (book, turn))
    while first < end:
        first, end = end, reach(states, queue, (first, end), seen, (book, turn))
    return queue[:end].copy()


def levels(queue: np.ndarray, book: Book) -> list[np.ndarray]:
    """Return positions as of `reachable`, in parts: what follows from one is in the same or an earlier part."""
    if not len(queue):
        return []
    heights = np.array([height(int(standing)) for standing in book.standings])
    rank = heights[queue[:, 0]] + heights[queue[:, 1]]
    empty = (digits_of(book.code) == EMPTY).sum(axis=1)[queue[:, 2]]
    order = np.lexsort([empty, rank])
    changes = np.flatnonzero(np.diff(rank[order]) | np.diff(empty[order])) + 1
    return np.split(queue[order], changes)
