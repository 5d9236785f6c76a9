"""The Placer's options in one turn, and the positions that follow from them."""

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

# A limit of idle turns that never ends the round: they are counted here, and not by the rules.
ENDLESS = 99

#: The most placements of a turn: a pass, and a spy and two specialists into each room.
MOST_PLACEMENTS = 1 + 3 * ROOMS

#: Instead of the position after a turn: the round is over, and for the player who has placed it is this.
DRAWN, WON, LOST = -1, -2, -3


class Turn(NamedTuple):
    """The Placer's options in one turn, and room to work.

    Attributes:
        action: int64 (28,), the placement.
        room: int64 (28,), ascending; NOWHERE for a pass.
        waits: bool (28,), whether nothing but the idle turns changes when it is blocked; a pass waits anyway.
        free: float64 (draws, 28), what the Placer gets if it is not predicted.
        blocked: float64 (draws, 28), what the Placer gets if it is; not filled where it waits.
        first: int64 (9,), the first placement of each kind, or NONE.
        mask: bool (2, actions), for rules.legal_mask.
        trial: states (2,), to try out what follows.
        actions: int64 (2,).
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
    """Fill a Turn with the placements in states[i]; gives how many there are.

    The state is in phase TURN, with no idle turns and ENDLESS of them allowed.

    Args:
        states, i: the state.
        known: the lookup of a Book; the values of a Solution, in which all that can follow is solved.
        turn: Turn.
    """
    lookup, values = known
    # Taken apart, since kernels are slow to take many arrays.
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
                # A piece that was blocked leaves no trace of the room.
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
    """Step trial[0]: a placement against a prediction, or the use of an ability. A PASS predicts nothing."""
    placer = np.int64(trial[0]["placer"])
    actions[placer], actions[1 - placer] = action, prediction
    rules.resolve(trial[0], actions)


@kernel
def after_turn(trial, k, placer, lookup):
    """Return trial[k]'s position as the next Placer sees it; or DRAWN, WON or LOST for the player who placed."""
    if not trial[k]["done"]:
        return position_of(trial[k], 1 - placer, lookup)
    reward = trial[k]["rewards"][placer]
    return np.int64(DRAWN if reward == 0 else WON if reward > 0 else LOST)


@kernel
def improve(values, position, out, n):
    """Raise out[:, n], float64 (draws,), to what a position is worth to the player who has placed."""
    draws = out.shape[0]
    for d in range(draws):
        out[d, n] = max(out[d, n], -values[position, draws - 1 - d])
