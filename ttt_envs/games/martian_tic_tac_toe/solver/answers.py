"""Look up states of the game in the table, considering the limits of plies and repetitions."""

# mypy: disable-error-code="no-untyped-def"

import numpy as np

from ttt_envs.core.compile.jit import kernel
from ttt_envs.games.martian_tic_tac_toe import rules
from ttt_envs.games.martian_tic_tac_toe.rules import SIZES
from ttt_envs.games.martian_tic_tac_toe.solver.positions import CELLS, SEEN
from ttt_envs.games.martian_tic_tac_toe.solver.retrograde import DRAWN
from ttt_envs.games.martian_tic_tac_toe.solver.tables import find


@kernel
def find_in_state(state, weights, table):
    """Return the table's value of a state's board, from the view of the player to move."""
    digits = np.empty(CELLS, np.int8)
    for cell in range(CELLS):
        digits[cell] = SEEN[state["to_move"], state["piece"][cell]]
    return find(digits, weights, table)


@kernel
def judge(state, past, weights, table):
    """Return for an unfinished state: plies to the end, the value for the player to move, and whether it is exact.

    `past`, structured (1,), is scratch memory.

    A won or lost position whose end is beyond `max_plies` has the value of a draw: the loser can resist until then, and
    the winner need not lose. The value is not exact if an earlier position on the way to the end could be repeated as a
    draw. Plies are -1 for a draw by endless play, and -2 if unknown.
    """
    value = find_in_state(state, weights, table)
    if value < 0:
        return -2, 0, False
    if value == DRAWN:
        return -1, 0, True
    plies = value - 1
    wins = plies % 2 == 1
    if state["ply"] + plies > state["max_plies"]:
        return plies, 0, True
    past[0] = state
    return plies, 1 if wins else -1, not in_danger(past[0], plies, weights, table)


@kernel
def in_danger(past, plies, weights, table):
    """Return whether a winning sequence of moves could repeat an earlier position, so that the game is a draw.

    The plies to the end decrease with every move of the winner, so such a position is nearer to the end and won by the
    same player. The moves in the log of `past`, a copy of the state, are taken back.
    """
    winner = past["to_move"] if plies % 2 == 1 else 1 - past["to_move"]
    while past["logged"] > 0:
        past["logged"] -= 1
        mover, was, where = rules.read_entry(past, past["logged"])
        past["to_move"], past["piece"][where] = mover, was
        past["occurred"] = rules.occurrences(past) + 1
        if rules.is_repeated(past):
            value = find_in_state(past, weights, table)
            won_by = mover if value % 2 == 0 else 1 - mover
            if value > DRAWN and value - 1 < plies and won_by == winner:
                return True
    return False


@kernel
def judge_rows(states, weights, table, plies, values):
    """Call `judge` for each state: plies int64 (n,), values float64 (n,) for the player to move, nan if not exact. The
    value of a finished game is its reward.
    """
    past = np.empty(1, states.dtype)
    for i in range(states.shape[0]):
        if states[i]["done"]:
            plies[i], values[i] = 0, states[i]["rewards"][states[i]["to_move"]]
        else:
            plies[i], value, exact = judge(states[i], past, weights, table)
            values[i] = value if exact else np.nan


@kernel
def actions_rows(states, weights, table, plies, values):
    """Write what `judge_rows` writes, but after each action and for the player now to move: (n, 27), nan if illegal."""
    trial, past = np.empty(1, states.dtype), np.empty(1, states.dtype)
    actions = np.empty(2, np.int64)
    legal = np.empty(SIZES * CELLS, np.bool_)
    for i in range(states.shape[0]):
        plies[i] = -2
        values[i] = np.nan
        if states[i]["done"]:
            continue
        player = states[i]["to_move"]
        rules.legal_mask(states[i], player, legal)
        for action in range(SIZES * CELLS):
            if legal[action]:
                trial[0] = states[i]
                actions[:] = action
                rules.step(trial[0], actions)
                trial[0]["ply"] += 1
                if trial[0]["done"]:
                    plies[i, action] = 0 if trial[0]["rewards"][player] > 0 else -1
                    values[i, action] = trial[0]["rewards"][player]
                else:
                    plies[i, action], value, exact = judge(trial[0], past, weights, table)
                    values[i, action] = -value if exact else np.nan
