"""The solution, in closed form, of the matrix game that the secret choices of Placer and Predictor form.

A placement has a room and two payoffs to the Placer: `free` if the room is not predicted, `blocked` if it is predicted.
A Predictor who predicts k rooms covers each room with some probability y. Only these probabilities matter, and all y in
[0, 1] with the sum k can be reached by mixing sets of k rooms. No placement gives the Placer more than U if and only if
in every room::

    y >= (free - U) / (free - blocked)     for its placements with free > blocked: call the largest L, at least 0
    y <= (U - free) / (blocked - free)     for its placements with free < blocked: call the smallest R, at most 1
    U >= min(free, blocked)                for all of its placements

so that the value is the smallest U with L <= R in every room, the sum of all L at most k and the sum of all R at least
k. As functions of U, the amounts by which these conditions are violated are convex and piecewise linear, so Newton's
method from the left reaches the value after a few steps. The conditions that hold with equality give the Placer's mix:
each placement in them gets a weight of 1 / |free - blocked|, and all predictions are then equally good.

If free > blocked everywhere, this is water-filling, as in Karlin's "Mathematical Methods and Theory in Games,
Programming, and Economics" (1959), there for search games.
"""

# mypy: disable-error-code="no-untyped-def"

from typing import NamedTuple

import numpy as np

from ttt_envs.core.compile.jit import kernel

ROOMS = 9

#: Room of a placement that cannot be predicted: a pass.
NOWHERE = -1

# The condition that prevents a smaller value: the number of a room in which L = R, or one of these: min(free, blocked)
# of a placement, the sum of all L, the sum of all R.
_ONE_PLACEMENT, _COVER, _SPARE = -1, ROOMS, ROOMS + 1

# If the payoffs of a placement differ by less, they count as equal, so that slopes stay finite.
_EQUAL = 1e-30

# Smaller numbers count as 0 in the simplex tableau.
_ZERO = 1e-12

# Placements whose values differ by less are equally probable.
_CLOSE = 1e-11


class Placements(NamedTuple):
    """The placements that the Placer may choose.

    Attributes:
        room: int64 (n,), ascending; placements that cannot be predicted come first, as NOWHERE.
        free: float64 (n,), the Placer's payoff if the room is not predicted.
        blocked: float64 (n,), the Placer's payoff if the room is predicted; never equal to `free`.
    """

    room: np.ndarray
    free: np.ndarray
    blocked: np.ndarray


@kernel
def solve(room, free, blocked, limits):
    """Return the Placer's value, the condition that prevents a smaller one, and the start of the last Newton step.

    Args:
        room, free, blocked: see Placements.
        limits: the Predictor mixes sets of limits[1] rooms. limits[0] is the same number, or 0 if the Predictor may
            also predict nothing.
    """
    least, most = limits
    value, reason, tangent = -np.inf, _ONE_PLACEMENT, 0.0
    for a in range(room.shape[0]):
        value = max(value, min(free[a], blocked[a]))
    while True:
        better, why, worst = value, _ONE_PLACEMENT, 0.0
        lowers, all_fall, uppers, all_rise = 0.0, 0.0, np.float64(ROOMS), 0.0
        lower, fall, upper, rise = 0.0, 0.0, 1.0, 0.0
        for a in range(room.shape[0]):
            edge, gain = free[a] - blocked[a], free[a] - value
            if edge > _EQUAL:
                if gain > lower * edge:
                    fall = 1 / edge
                    lower = gain * fall
            elif edge < -_EQUAL and gain > upper * edge:
                rise = -1 / edge
                upper = -gain * rise
            if a + 1 == room.shape[0] or room[a + 1] != room[a]:
                if lower > upper:
                    worst = max(worst, lower - upper)
                    zero = value + (lower - upper) / (fall + rise)
                    if zero > better:
                        better, why = zero, room[a]
                lowers += lower
                all_fall += fall
                uppers += upper - 1
                all_rise += rise
                lower, fall, upper, rise = 0.0, 0.0, 1.0, 0.0
        if lowers > most:
            worst = max(worst, lowers - most)
            zero = value + (lowers - most) / all_fall
            if zero > better:
                better, why = zero, _COVER
        if uppers < least:
            worst = max(worst, least - uppers)
            zero = value + (least - uppers) / all_rise
            if zero > better:
                better, why = zero, _SPARE
        if better > value:
            value, reason, tangent = better, why, value
        elif worst > _CLOSE:
            # If payoffs nearly agree, a tangent can be so steep that the step is smaller than the spacing of float64:
            # take the next float64.
            value = np.nextafter(value, np.inf)
        else:
            return value, reason, tangent


@kernel
def equilibrium(placements, limits, mix, cover):
    """Write an equilibrium and return its value.

    Args:
        placements: Placements.
        limits: as for `solve`.
        mix: float64 (n,), out: the Placer's probabilities.
        cover: float64 (9,), out: the probability that the Predictor covers each room. The sum is limits[1], or less if
            the Predictor may predict nothing and covering more rooms would help the Placer.
    """
    room, free, blocked = placements
    value = solve(room, free, blocked, limits)[0]
    # Solve again with the value subtracted: if two payoffs nearly agree, the bounds depend on the last digit of the
    # value, and float64 is finer near zero.
    shifted = Placements(room, free - value, blocked - value)
    rest, reason, tangent = solve(room, shifted.free, shifted.blocked, limits)
    _fill_mix(shifted, rest, (reason, tangent), mix)
    _fill_cover(shifted, rest, limits[1], cover)
    return value + rest


@kernel
def _bounds(placements, value, a):
    """Return the two bounds of y in the room whose first placement is `a`, each with its slope and its placement.

    A slope is the amount by which a bound loosens if U grows by 1. Without a placement that sets it, the lower bound is
    0 or the upper bound 1, with slope 0 and placement -1. The fourth value is the first placement of the next room. The
    arithmetic must equal that of `solve` to the last digit: if several placements set the same bound, the mix must
    contain the one whose tangent led to the value.
    """
    room, lower, upper, asks, forbids = placements.room[a], 0.0, 1.0, -1, -1
    fall, rise = 0.0, 0.0
    while a < placements.room.shape[0] and placements.room[a] == room:
        edge, gain = placements.free[a] - placements.blocked[a], placements.free[a] - value
        if edge > _EQUAL:
            if gain > lower * edge:
                fall = 1 / edge
                lower, asks = gain * fall, a
        elif edge < -_EQUAL and gain > upper * edge:
            rise = -1 / edge
            upper, forbids = -gain * rise, a
        a += 1
    return (lower, upper), (fall, rise), (asks, forbids), a


@kernel
def _fill_mix(placements, value, condition, mix):
    """Write the Placer's mixed strategy, float64 (n,); `condition`: the condition and the step from `solve`."""
    reason, tangent = condition
    mix[:] = 0
    if reason == _ONE_PLACEMENT:
        for a in range(mix.shape[0]):
            if min(placements.free[a], placements.blocked[a]) >= value - _CLOSE:
                mix[a] = 1
    else:
        a = 0
        while a < mix.shape[0]:
            room = placements.room[a]
            _, (falls, rises), (asks, forbids), a = _bounds(placements, tangent, a)
            if asks >= 0 and reason in (_COVER, room):
                mix[asks] = falls
            if forbids >= 0 and reason in (_SPARE, room):
                mix[forbids] = rises
    mix /= mix.sum()


@kernel
def _fill_cover(placements, value, total, cover):
    """Write the lower bounds to `cover`, and raise them to the sum `total`, first where this hurts the Placer."""
    upper, useful = np.ones(ROOMS), np.zeros(ROOMS, np.bool_)
    cover[:] = 0
    a = 0
    while a < placements.room.shape[0]:
        room, first = placements.room[a], a
        (low, high), _, _, a = _bounds(placements, value, a)
        if room != NOWHERE:
            cover[room], upper[room] = min(low, 1.0), max(low, high)
            for b in range(first, a):
                useful[room] |= placements.free[b] > placements.blocked[b]
    _spread(total, upper, useful, cover)
    _spread(total, upper, np.ones(ROOMS, np.bool_), cover)


@kernel
def _spread(total, upper, rooms, cover):
    """Increase the cover in `rooms`, bool (9,), up to their upper bounds, until its sum is `total`."""
    space = 0.0
    for room in range(ROOMS):
        if rooms[room]:
            space += upper[room] - cover[room]
    rest = total - cover.sum()
    if rest > 0 and space > 0:
        share = min(rest / space, 1.0)
        for room in range(ROOMS):
            if rooms[room]:
                cover[room] += share * (upper[room] - cover[room])


@kernel
def split_pairs(cover, out):
    """Write a mix of pairs of rooms that covers each room with the given probability, by systematic sampling.

    Each room is a segment as long as its probability; the segments lie end to end on a line of length 2. A uniform u in
    [0, 1) picks the rooms at u and at u + 1, which differ because no segment is longer than 1. (Madow, "On the theory
    of systematic sampling, II", 1949.)

    Args:
        cover: float64 (9,), each from 0 to 1, with the sum 2.
        out: float64 (9, 9); out[low, high] becomes the probability of the pair of rooms low < high.
    """
    ends = np.cumsum(cover) * (2 / cover.sum())
    out[:] = 0
    for low in range(ROOMS):
        for high in range(low + 1, ROOMS):
            start = max(ends[low - 1] if low else 0.0, ends[high - 1] - 1)
            out[low, high] = max(min(ends[low], ends[high] - 1) - start, 0.0)
    out /= out.sum()


@kernel
def solve_matrix(payoffs, mix, other_mix):
    """Return the value of a zero-sum matrix game for the row player, and write both optimal mixed strategies.

    The method is the simplex method (Dantzig, 1951) with Bland's rule: shift the payoffs to be at least 1, and find y
    >= 0 with payoffs @ y <= 1 and the largest sum.

    Args:
        payoffs: float64 (m, n).
        mix, other_mix: float64 (m,) and (n,), out.
    """
    rows, columns = payoffs.shape
    row, column, safe = _saddle(payoffs)
    if safe:
        mix[:], other_mix[:] = 0, 0
        mix[row], other_mix[column] = 1, 1
        return payoffs[row, column]
    table, basis = np.zeros((rows + 1, columns + rows + 1)), np.arange(columns, columns + rows)
    moved = _fill_table(payoffs, table)
    column = _entering(table)
    while column >= 0:
        row = _leaving(table, basis, column)
        _pivot(table, row, column)
        basis[row] = column
        column = _entering(table)
    other_mix[:] = 0
    for i in range(rows):
        mix[i] = max(table[rows, columns + i], 0.0)
        if basis[i] < columns:
            other_mix[basis[i]] = table[i, -1]
    mix /= mix.sum()
    other_mix /= other_mix.sum()
    return 1 / table[rows, -1] - moved


@kernel
def _fill_table(payoffs, table):
    """Write the first simplex tableau to `table`, initially zeros; return the number that was added to the payoffs."""
    rows, columns = payoffs.shape
    moved = 1 - payoffs.min()
    for i in range(rows):
        for j in range(columns):
            table[i, j] = payoffs[i, j] + moved
        table[i, columns + i] = table[i, columns + rows] = 1
    for j in range(columns):
        table[rows, j] = -1
    return moved


@kernel
def _entering(table):
    """Return the first column whose variable would increase the sum, or -1 if there is none."""
    last = table.shape[0] - 1
    for j in range(table.shape[1] - 1):
        if table[last, j] < -_ZERO:
            return j
    return -1


@kernel
def _leaving(table, basis, column):
    """Return the row with the smallest ratio; among equal ones, the one with the lowest basic variable."""
    row, right = -1, table.shape[1] - 1
    for i in range(table.shape[0] - 1):
        if table[i, column] > _ZERO:
            order = -1.0
            if row >= 0:
                order = table[i, right] * table[row, column] - table[row, right] * table[i, column]
            if order < -_ZERO or (order < _ZERO and basis[i] < basis[row]):
                row = i
    return row


@kernel
def _pivot(table, row, column):
    """Pivot: solve the row for the column's variable and eliminate the variable from the other rows."""
    scale = 1 / table[row, column]
    for j in range(table.shape[1]):
        table[row, j] *= scale
    for i in range(table.shape[0]):
        factor = table[i, column]
        if i != row and factor != 0:
            for j in range(table.shape[1]):
                table[i, j] -= factor * table[row, j]


@kernel
def _saddle(payoffs):
    """Return a row, a column, and whether they are a saddle point: each is the best choice against the other."""
    row, column, maximin, minimax = 0, 0, -np.inf, np.inf
    for i in range(payoffs.shape[0]):
        lowest = np.inf
        for j in range(payoffs.shape[1]):
            lowest = min(lowest, payoffs[i, j])
        if lowest > maximin:
            row, maximin = i, lowest
    for j in range(payoffs.shape[1]):
        highest = -np.inf
        for i in range(payoffs.shape[0]):
            highest = max(highest, payoffs[i, j])
        if highest < minimax:
            column, minimax = j, highest
    return row, column, maximin == minimax
