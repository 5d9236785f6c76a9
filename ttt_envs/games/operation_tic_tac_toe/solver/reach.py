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
    """Append the unseen positions that follow a queue's positions after one turn; return the queue's new end.

    Args:
        states: structured (2,), in the form of `fill_turn`, with player k to place in states[k]; to be filled.
        queue: int64 (positions, 3), as `locate` returns them for player 0.
        bounds: the first position of the queue to expand, and the queue's end.
        seen: bool (positions,), in player 0's view.
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
    """Write the positions of states in phase TURN or ABILITY to an empty queue; return its end."""
    book, turn = known
    end = 0
    for i in range(starts.shape[0]):
        turn.trial[0] = starts[i]
        end = note(turn, queue, end, seen, book.lookup)
    return end


@kernel
def note(turn, queue, end, seen, lookup):
    """Append turn.trial[0] to a queue or, if an ability is pending in it, the positions after each use."""
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
    """Append a state to a queue if its round is not over and it is unseen; return the queue's new end."""
    if not state["done"]:
        position = position_of(state, 0, lookup)
        if not seen[position]:
            seen[position] = True
            queue[end, 0], queue[end, 1], queue[end, 2] = locate(state, 0, lookup)
            end += 1
    return end


def reachable(states: np.ndarray, starts: np.ndarray, seen: np.ndarray, book: Book) -> np.ndarray:
    """Return some states and all positions that can follow them, without those that were seen before.

    Args:
        states: structured (2,), as for `reach`.
        starts: structured (n,), in the form of `fill_turn`, in phase TURN or ABILITY.
        seen: bool (positions,), in player 0's view; updated.
        book: Book.

    Returns positions as `locate` returns them for player 0: int64 (n, 3).
    """
    queue, turn = np.empty((len(seen) - int(seen.sum()), 3), np.int64), make_turn(1)
    first, end = 0, note_starts(starts, queue, seen, (book, turn))
    while first < end:
        first, end = end, reach(states, queue, (first, end), seen, (book, turn))
    return queue[:end].copy()


def levels(queue: np.ndarray, book: Book) -> list[np.ndarray]:
    """Return positions of `reachable` in parts: the successors of a position are in the same or an earlier part."""
    if not len(queue):
        return []
    heights = np.array([height(int(standing)) for standing in book.standings])
    rank = heights[queue[:, 0]] + heights[queue[:, 1]]
    empty = (digits_of(book.code) == EMPTY).sum(axis=1)[queue[:, 2]]
    order = np.lexsort([empty, rank])
    changes = np.flatnonzero(np.diff(rank[order]) | np.diff(empty[order])) + 1
    return np.split(queue[order], changes)
