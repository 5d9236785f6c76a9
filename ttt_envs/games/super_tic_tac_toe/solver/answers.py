"""Look up states of the game in the table of the strategy's positions."""

# mypy: disable-error-code="no-untyped-def"

import numpy as np

from ttt_envs.core.compile.jit import kernel
from ttt_envs.games.super_tic_tac_toe import rules
from ttt_envs.games.super_tic_tac_toe.solver.positions import find, pack
from ttt_envs.games.super_tic_tac_toe.solver.strategy import X, strategy_move


@kernel
def covers_rows(states, table, out):
    """Write to out[i] whether states[i] is in the table; out: bool (n,)."""
    key = np.empty(3, np.int64)
    for i in range(states.shape[0]):
        pack(states[i], key)
        out[i] = not states[i]["closed"] and table[find(table, key), 0] >= 0


@kernel
def successors_rows(states, table, out):
    """Write to out[i], for each action, whether it is legal and leads to a position in the table; out: bool (n, 81)."""
    key = np.empty(3, np.int64)
    trial = np.empty(1, states.dtype)
    actions = np.empty(2, np.int64)
    for i in range(states.shape[0]):
        out[i] = False
        if states[i]["done"]:
            continue
        rules.legal_mask(states[i], states[i]["to_move"], out[i])
        for action in range(81):
            if out[i, action]:
                trial[0] = states[i]
                actions[:] = action
                rules.step(trial[0], actions)
                pack(trial[0], key)
                out[i, action] = table[find(table, key), 0] >= 0


@kernel
def policy_rows(states, out):
    """Write to out[i] which actions are optimal: X's move, or all of O's legal ones; out: bool (n, 81)."""
    for i in range(states.shape[0]):
        out[i] = False
        if states[i]["done"]:
            continue
        if states[i]["to_move"] == X:
            out[i, strategy_move(states[i])] = True
        else:
            rules.legal_mask(states[i], states[i]["to_move"], out[i])
