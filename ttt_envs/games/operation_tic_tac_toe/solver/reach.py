"""Find the positions of a round that can be reached from given ones, and an order in which to solve them."""

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
    """Append to a queue the unseen positions one turn after queue[bounds[0]:bounds[1]]; return the queue's new end.

    Args:
        states: structured (2,), scratch: states as `turns.fill_turn` requires them, in which player k places in
            states[k].
        queue: int64 (positions, 3), the numbers that `locate` returns for player 0: of player 0's standing, of player
            1's standing and of the board.
        bounds: the index of the first position to expand, and the queue's end.
        seen: bool (positions,), whether a position, as numbered by `position_of` for player 0, has been seen; updated.
        known: the Book, and a Turn as scratch memory.
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
    """Write the positions of `starts`, see `reachable`, to an empty queue; return the queue's end."""
    book, turn = known
    end = 0
    for i in range(starts.shape[0]):
        turn.trial[0] = starts[i]
        end = note(turn, queue, end, seen, book.lookup)
    return end


@kernel
def note(turn, queue, end, seen, lookup):
    """Append turn.trial[0] to a queue or, if an ability is pending, the position after each decision on it."""
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
    """Return the positions of `starts` and all positions that can follow them, without those already in `seen`.

    Args:
        states: structured (2,), scratch: see `reach`.
        starts: structured (n,), from `Rounds.posed` or `Responder.states`, in phase TURN or ABILITY.
        seen: see `reach`; updated.
        book: Book.

    Returns int64 (n, 3), positions in the form of the queue of `reach`.
    """
    queue, turn = np.empty((len(seen) - int(seen.sum()), 3), np.int64), make_turn(1)
    first, end = 0, note_starts(starts, queue, seen, (book, turn))
    while first < end:
        first, end = end, reach(states, queue, (first, end), seen, (book, turn))
    return queue[:end].copy()


def levels(queue: np.ndarray, book: Book) -> list[np.ndarray]:
    """Split the result of `reachable`: a position can be followed only by itself and by positions of earlier parts."""
    if not len(queue):
        return []
    heights = np.array([height(int(standing)) for standing in book.standings])
    rank = heights[queue[:, 0]] + heights[queue[:, 1]]
    empty = (digits_of(book.code) == EMPTY).sum(axis=1)[queue[:, 2]]
    order = np.lexsort([empty, rank])
    changes = np.flatnonzero(np.diff(rank[order]) | np.diff(empty[order])) + 1
    return np.split(queue[order], changes)
