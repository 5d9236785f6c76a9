"""Look up the values of claims in a solved layout."""

# mypy: disable-error-code="no-untyped-def"

import numpy as np

from ttt_envs.core.compile.jit import kernel
from ttt_envs.games.tic_tac_dice import rules
from ttt_envs.games.tic_tac_dice.rules import EMPTY


@kernel
def claims(state, has_row, payoffs, values, out):
    """Write player 0's value after each claim to `out`, float64 (cells,), nan if illegal; see `rounds.solve_part`."""
    cells = out.shape[0]
    player, open_cells = np.int64(state["to_move"]), rules.claimable(state)
    board, place, own, empty, count = np.int64(0), 1, 0, 0, 0
    for cell in range(cells):
        owner = np.int64(state["owner"][cell])
        board += owner * place
        own |= (owner == player + 1) << cell
        empty += owner == EMPTY
        count += int(owner == 1) - int(owner == 2)  # NumPy subtracts no booleans
        place *= 3
    place = 1
    roller = player if rules.doubles(state) else 1 - player
    for cell in range(cells):
        if state["done"] or not open_cells >> cell & 1:
            out[cell] = np.nan
        elif has_row[own | 1 << cell]:
            out[cell] = payoffs[4 * player]
        elif empty == 1:
            out[cell] = payoffs[2 - np.sign(count + 1 - 2 * player)]
        else:
            out[cell] = values[roller, board + (player + 1) * place]
        place *= 3


@kernel
def claims_rows(states, which, has_row, payoffs, values, out):
    """Call `claims` for states[i] and out[i], for each i in `which`, int64 (k,); out: float64 (n, cells)."""
    for i in which:
        claims(states[i], has_row, payoffs, values, out[i])
