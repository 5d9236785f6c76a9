"""Answers of the table about states of the game, with its limits of plies and of repetitions."""

# mypy: disable-error-code="no-untyped-def"

import numpy as np

from ttt_envs.core.compile.jit import kernel
from ttt_envs.games.martian_tic_tac_toe import rules
from ttt_envs.games.martian_tic_tac_toe.rules import SIZES
from ttt_envs.games.martian_tic_tac_toe.solver.positions import CELLS, POWERS, SEEN, digits_of
from ttt_envs.games.martian_tic_tac_toe.solver.retrograde import DRAWN
from ttt_envs.games.martian_tic_tac_toe.solver.tables import find


@kernel
def find_in_state(state, digits, weights, table):
    """Return `find` for a state's board, seen by the player to move; digits int8 (9,) is room to work."""
    for cell in range(CELLS):
        digits[cell] = SEEN[state["to_move"], state["piece"][cell]]
    return find(digits, weights, table)


@kernel
def judge(state, digits, weights, table):
    """Return the answer for an unfinished state: (plies to the end, the mover's value, whether it is exact).

    A won or lost position that cannot be brought to its end within `max_plies` is worth a draw: the loser can hold
    out so long, and the winner need not lose. It is not exact if the way to the end might meet a position that has
    occurred before and would be a draw by repetition. Plies are -1 for a draw by endless play, and -2 where nothing is
    known.
    """
    value = find_in_state(state, digits, weights, table)
    if value < 0:
        return -2, 0, False
    if value == DRAWN:
        return -1, 0, True
    plies = value - 1
    wins = plies % 2 == 1
    if state["ply"] + plies > state["max_plies"]:
        return plies, 0, True
    return plies, 1 if wins else -1, not in_danger(state, plies, weights, table)


@kernel
def in_danger(state, plies, weights, table):
    """Return whether some winning line passes an earlier position that, repeated once more, draws the game.

    The plies to the end go down with every move of the winner's. It must thus be nearer to the end, and won by the same
    player.
    """
    limit, logged = state["repetition_limit"], state["logged"]
    if limit == 0 or logged < limit - 1:
        return False
    pieces = state["piece"].copy()
    boards = np.empty(logged, np.int64)
    movers = np.empty(logged, np.int64)
    digits = np.empty(CELLS, np.int8)
    for k in range(logged - 1, -1, -1):
        mover, was, where = rules.read_entry(state, k)
        pieces[where] = was
        number = np.int64(0)
        for cell in range(CELLS):
            number += SEEN[mover, pieces[cell]] * POWERS[cell]
        boards[k], movers[k] = number, mover
    winner = state["to_move"] if plies % 2 == 1 else 1 - state["to_move"]
    for k in range(logged):
        times = 0
        for other in range(logged):
            times += boards[other] == boards[k] and movers[other] == movers[k]
        if times >= limit - 1:
            digits_of(boards[k], digits)
            value = find(digits, weights, table)
            won_by = movers[k] if value % 2 == 0 else 1 - movers[k]
            if value > DRAWN and value - 1 < plies and won_by == winner:
                return True
    return False


@kernel
def judge_rows(states, weights, table, plies, values):
    """`judge` for each state: plies int64 (n,), values float64 (n,) for the player to move, nan where not exact.

    The value of a finished game is what was paid.
    """
    digits = np.empty(CELLS, np.int8)
    for i in range(states.shape[0]):
        if states[i]["done"]:
            plies[i], values[i] = 0, states[i]["rewards"][states[i]["to_move"]]
        else:
            plies[i], value, exact = judge(states[i], digits, weights, table)
            values[i] = value if exact else np.nan


@kernel
def actions_rows(states, weights, table, plies, values):
    """The same after each action, for the player to move now: int64 (n, 27) and float64 (n, 27), nan where illegal."""
    digits = np.empty(CELLS, np.int8)
    trial = np.empty(1, states.dtype)
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
                    plies[i, action], value, exact = judge(trial[0], digits, weights, table)
                    values[i, action] = -value if exact else np.nan
