"""The Placer's options in one turn, and the positions that follow them."""

# mypy: disable-error-code="no-untyped-def"

from typing import NamedTuple

import numpy as np

from ttt_envs.core.compile.jit import kernel
from ttt_envs.games.operation_tic_tac_toe import rules
from ttt_envs.games.operation_tic_tac_toe.rules import (
    ABILITY,
    KINDS,
    NO_ABILITY,
    NONE,
    NOWHERE,
    PASS,
    PLACE,
    PREDICT,
    REMOVE,
    ROOMS,
)
from ttt_envs.games.operation_tic_tac_toe.solver.positions import position_of

# The limit of idle turns in the solver's states. It is never reached, because the solver counts idle turns itself.
ENDLESS = 99

#: The most placements of a turn: a pass, and in each room a spy or one of two specialists.
MOST_PLACEMENTS = 1 + 3 * ROOMS

#: Used instead of a position's number if a turn ends the round: the result for the player who placed in this turn.
DRAWN, WON, LOST = -1, -2, -3


class Turn(NamedTuple):
    """The Placer's options in one turn, and scratch memory.

    Attributes:
        action: int64 (28,), the placement.
        room: int64 (28,), ascending; NOWHERE for a pass.
        waits: bool (28,), whether only the number of idle turns changes if it is blocked; always true of a pass.
        free: float64 (draws, 28), the Placer's value if it is not predicted.
        blocked: float64 (draws, 28), the Placer's value if it is predicted; unset where `waits` is true.
        first: int64 (9,), the index of the first placement of each kind, or NONE.
        mask: bool (2, actions), for rules.legal_mask.
        trial: states (2,), scratch states for successors.
        actions: int64 (2,), scratch memory for the actions of both players.
    """

    action: np.ndarray
    room: np.ndarray
    waits: np.ndarray
    free: np.ndarray
    blocked: np.ndarray
    first: np.ndarray
    mask: np.ndarray
    trial: np.ndarray
    actions: np.ndarray


def make_turn(draws: int) -> Turn:
    """Return an empty Turn."""
    return Turn(
        np.zeros(MOST_PLACEMENTS, np.int64),
        np.zeros(MOST_PLACEMENTS, np.int64),
        np.zeros(MOST_PLACEMENTS, np.bool_),
        np.zeros((draws, MOST_PLACEMENTS)),
        np.zeros((draws, MOST_PLACEMENTS)),
        np.zeros(KINDS, np.int64),
        np.zeros((2, rules.NUM_ACTIONS), np.bool_),
        np.zeros(2, rules.STATE),
        np.zeros(2, np.int64),
    )


@kernel
def fill_turn(states, i, known, turn):
    """Write the legal placements in states[i] to a Turn; return their number.

    The state must be a single round (`is_match` is False) in phase TURN, with `idle` 0 and `max_idle_turns` ENDLESS.

    Args:
        states, i: structured (n,) and the index of the state.
        known: the lookup of a Book; the values of its Solution, in which all successors are solved.
        turn: Turn.
    """
    lookup, values = known
    # Unpacked here, because a call that passes all these arrays is slow.
    room, waits, free, blocked, mask = turn.room, turn.waits, turn.free, turn.blocked, turn.mask
    trial, actions, first = turn.trial, turn.actions, turn.first
    placer = np.int64(states[i]["placer"])
    rules.legal_mask(states[i], placer, mask[0])
    first[:] = NONE
    n = 0
    if mask[0, PASS]:
        turn.action[0], room[0], waits[0] = PASS, NOWHERE, True
        n = 1
    for to in range(ROOMS):
        for kind in range(KINDS):
            action = PLACE + ROOMS * kind + to
            if mask[0, action]:
                turn.action[n], room[n] = action, to
                trial[0] = states[i]
                play(trial, actions, action, PASS)
                free[:, n] = -np.inf
                if trial[0]["phase"] == ABILITY:
                    rules.legal_mask(trial[0], placer, mask[1])
                    for ability in range(REMOVE, NO_ABILITY + 1):
                        if mask[1, ability]:
                            trial[1] = trial[0]
                            play(trial[1:], actions, ability, NONE)
                            improve(values, after_turn(trial, 1, placer, lookup), free, n)
                else:
                    improve(values, after_turn(trial, 0, placer, lookup), free, n)
                # If a placement is blocked, its room does not matter, so one placement of each kind is tried.
                if first[kind] == NONE:
                    first[kind] = n
                    trial[0] = states[i]
                    play(trial, actions, action, PREDICT + to)
                    waits[n] = trial[0]["idle"] > 0
                    if not waits[n]:
                        blocked[:, n] = -np.inf
                        improve(values, after_turn(trial, 0, placer, lookup), blocked, n)
                waits[n] = waits[first[kind]]
                for d in range(blocked.shape[0]):
                    blocked[d, n] = blocked[d, first[kind]]
                n += 1
    return n


@kernel
def play(trial, actions, action, prediction):
    """Change trial[0] by a placement and a prediction (PASS: no room is predicted), or by a decision on an ability."""
    placer = np.int64(trial[0]["placer"])
    actions[placer], actions[1 - placer] = action, prediction
    rules.resolve(trial[0], actions)


@kernel
def after_turn(trial, k, placer, lookup):
    """Return trial[k]'s position in the next Placer's view, or DRAWN, WON or LOST for the player who placed."""
    if not trial[k]["done"]:
        return position_of(trial[k], 1 - placer, lookup)
    reward = trial[k]["rewards"][placer]
    return np.int64(DRAWN if reward == 0 else WON if reward > 0 else LOST)


@kernel
def improve(values, position, out, n):
    """Raise out[:, n], float64 (draws,), to a position's values for the player who has just placed, if higher."""
    draws = out.shape[0]
    for d in range(draws):
        out[d, n] = max(out[d, n], -values[position, draws - 1 - d])
