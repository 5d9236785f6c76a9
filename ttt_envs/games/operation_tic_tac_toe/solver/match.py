"""Optimal play of a match: its value at every score, with every set of specialists left.

Within a match, the payoffs of a round are the values of the rest of the match after a win, a draw or a loss. Up to
scale, these payoffs are one number: the value of a draw, from -1 (as bad as a loss) to 1 (as good as a win). The values
of rounds are therefore computed for many values of a draw, once for all matches, and interpolated in between. Then the
match is solved backward over rounds, scores and the specialists that both players have left. Picking specialists is a
matrix game, whose value is averaged over all offers, for each role of the player who chooses the roles. This player
takes the role with the better mean.
"""

# mypy: disable-error-code="no-untyped-def"

from functools import cache
from itertools import combinations
from typing import NamedTuple

import numpy as np

from ttt_envs.core.compile.jit import kernel
from ttt_envs.core.oracle import Progress
from ttt_envs.games.operation_tic_tac_toe.rules import (
    CHOOSE,
    CHOOSE_TWO,
    OFFERED,
    OFFERS,
    PLACE_FIRST,
    ROLE,
    ROUNDS_OF_OFFERS,
    SPECIALIST_PAIRS,
    SPECIALISTS,
    UNUSED,
)
from ttt_envs.games.operation_tic_tac_toe.solver.matrix import solve_matrix
from ttt_envs.games.operation_tic_tac_toe.solver.positions import SINGLE_HANDS
from ttt_envs.games.operation_tic_tac_toe.solver.rounds import Rounds

#: The standings at the start of a round, for the first eight rounds and for overtime, in the order of the actions that
#: pick them.
HANDS = SINGLE_HANDS[1:]
PAIR_HANDS = tuple(1 << a | 1 << b for a, b in SPECIALIST_PAIRS.tolist())

# Roles whose values differ by less are equally probable.
_CLOSE = 1e-11

# The most bytes of values that are computed at a time.
_AT_ONCE = 3 << 30


def worths_of_a_draw(points: int) -> np.ndarray:
    """Return an odd number of evenly spaced values of a draw, from -1 to 1: float64 (points,)."""
    return np.linspace(-1, 1, points)


def round_values(
    hands: tuple[int, ...],
    idle_turns: int,
    may_pass: bool,
    points: int,
    progress: Progress = lambda share: None,
) -> np.ndarray:
    """Return the values of rounds for the first Placer: float64 (own hand, other player's hand, points).

    Hands are standings; along the last axis, the value of a draw to the first Placer varies, see `worths_of_a_draw`.
    `progress` is called with the finished share.
    """
    draws = worths_of_a_draw(points)
    out = np.empty((len(hands), len(hands), points))
    probe = Rounds(hands, idle_turns, may_pass, np.zeros(1))
    columns = max(1, _AT_ONCE // probe.solution.values.nbytes // 2)
    parts = np.array_split(np.arange(points // 2), -(-(points // 2) // columns))
    for done, part in enumerate(parts):
        both = np.unique([*part, *(points - 1 - part), *([points // 2] if done == 0 else [])])
        rounds = Rounds(hands, idle_turns, may_pass, draws[both])
        pairs = [(i, j) for i in range(len(hands)) for j in range(len(hands))]
        for count, (i, j) in enumerate(pairs):
            progress((done + count / len(pairs)) / len(parts))
            rounds.ensure(hands[i], hands[j])
            out[i, j, both] = rounds.start_values(hands[i], hands[j])
    return out


class Match(NamedTuple):
    """The options of a match on which its value depends, and the values of its rounds.

    Attributes:
        rounds_to_win, max_rounds: the game's options.
        single: float64 (8, 8, points), values of rounds with one specialist each, see `round_values`.
        pairs: float64 (28, 28, points), values of rounds with two specialists each, for overtime; empty if overtime is
            valued as an even race, in which each player wins each round with the same probability.
    """

    rounds_to_win: int
    max_rounds: int
    single: np.ndarray
    pairs: np.ndarray


class Values(NamedTuple):
    """Values of a match at the start of a round, for the player who chooses the roles.

    Attributes:
        single: float64 (8, scores, scores, 70, 70), [round - 1, own wins, other player's wins, own specialists left,
            other player's specialists left]; the last two are indices into SETS.
        overtime: float64 (max_rounds + 2, scores, scores), [round, own wins, other player's wins].
    """

    single: np.ndarray
    overtime: np.ndarray


#: SETS[size, k] is the k-th set of `size` specialists, as bits; SET_NUMBER[set] is its number k.
SET_NUMBER = np.zeros(1 << SPECIALISTS, np.int64)
SETS = np.zeros((SPECIALISTS + 1, 70), np.int64)
for _size in range(SPECIALISTS + 1):
    for _k, _held in enumerate(combinations(range(SPECIALISTS), _size)):
        SETS[_size, _k] = sum(1 << s for s in _held)
        SET_NUMBER[SETS[_size, _k]] = _k


@cache
def offers_from(left: int) -> np.ndarray:
    """Return all possible offers to a player with `left` specialists, numbered from 0: int64 (offers, min(3, left))."""
    return np.array(list(combinations(range(left), min(OFFERS, left))), np.int64)


# --- a round within a match ---


@kernel
def draw_worth(ends):
    """Return how good a draw is, from -1 (as a loss) to 1 (as a win), if a round's payoffs are (win, draw, loss)."""
    win, draw, loss = ends
    if win - loss < 1e-12:
        return 0.0
    return min(max(2 * (draw - loss) / (win - loss) - 1, -1.0), 1.0)


@kernel
def interpolate(values, draw):
    """Return the value for a draw worth `draw`, interpolated between values, float64 (points,), of `round_values`."""
    at = (draw + 1) / 2 * (values.shape[0] - 1)
    k = min(np.int64(at), values.shape[0] - 2)
    return values[k] + (at - k) * (values[k + 1] - values[k])


@kernel
def worth_of_round(values, own, other, ends, places_first):
    """Return a player's value of a round with payoffs `ends` (win, draw, loss); `values`: see `round_values`."""
    win, _, loss = ends
    draw = draw_worth(ends)
    value = interpolate(values[own, other], draw) if places_first else -interpolate(values[other, own], -draw)
    return loss + (win - loss) * (1 + value) / 2


@kernel
def start_value(match, values, score, left, decides):
    """Return the value of a match to a player at the start of a round.

    Args:
        match: Match.
        values: Values.
        score: number of the round, own wins, other player's wins.
        left: the specialists that the player and the other player have left, as bits; ignored in overtime.
        decides: whether the player chooses the roles.
    """
    number, own, other = score
    if own >= match.rounds_to_win or other >= match.rounds_to_win or number > match.max_rounds:
        return np.float64(np.sign(own - other))
    if number > ROUNDS_OF_OFFERS:
        return values.overtime[number, own, other] if decides else -values.overtime[number, other, own]
    mine, others = SET_NUMBER[left[0]], SET_NUMBER[left[1]]
    if decides:
        return values.single[number - 1, own, other, mine, others]
    return -values.single[number - 1, other, own, others, mine]


@kernel
def ends_of_round(match, values, score, left, places_first):
    """Return a player's values of the match after a win, a draw and a loss; `left`: both players' specialists then."""
    number, own, other = score
    win = start_value(match, values, (number + 1, own + 1, other), left, False)
    draw = start_value(match, values, (number + 1, own, other), left, not places_first)
    loss = start_value(match, values, (number + 1, own, other + 1), left, True)
    return win, draw, loss


@kernel
def fill_picks(match, values, score, left, payoffs):
    """Compute the value of a match to a player for every pair of picks, as first Placer and as first Predictor.

    Args:
        match, values: as for `start_value`.
        score: number of the round, own wins, other player's wins.
        left: int64 (2, n), the specialists that the player and the other player have left.
        payoffs: float64 (2, n, n), out: [0 if the player places first, else 1; own pick; other player's pick].
    """
    rest = np.int64(0), np.int64(0)
    for s in left[0]:
        rest = rest[0] | 1 << s, rest[1]
    for s in left[1]:
        rest = rest[0], rest[1] | 1 << s
    for i in range(left.shape[1]):
        for j in range(left.shape[1]):
            own, other = left[0, i], left[1, j]
            after = rest[0] ^ 1 << own, rest[1] ^ 1 << other
            for k in range(2):
                ends = ends_of_round(match, values, score, after, k == 0)
                payoffs[k, i, j] = worth_of_round(match.single, own, other, ends, k == 0)


@kernel
def mean_over_offers(payoffs, offers):
    """Return the mean value, over all offers, of the matrix games in which both players pick.

    Args:
        payoffs: float64 (n, n), of the row player.
        offers: int64 (offers, m), see `offers_from`.
    """
    m = offers.shape[1]
    game, mix, other_mix = np.empty((m, m)), np.empty(m), np.empty(m)
    total = 0.0
    for a in range(offers.shape[0]):
        for b in range(offers.shape[0]):
            for i in range(m):
                for j in range(m):
                    game[i, j] = payoffs[offers[a, i], offers[b, j]]
            total += solve_matrix(game, mix, other_mix)
    return total / offers.shape[0] ** 2


@kernel
def solve_round(match, number, sets, offers, values):
    """Compute the values at the start of one of the first eight rounds; those of later rounds must be known.

    Args:
        match: Match.
        number: the number of the round, from 1.
        sets: int64 (k, n), all sets of n specialists, in the order of SETS; each player has n left in this round.
        offers: int64 (offers, m), see `offers_from`.
        values: Values, out.
    """
    n = sets.shape[1]
    payoffs, left = np.empty((2, n, n)), np.empty((2, n), np.int64)
    for own in range(min(number, match.rounds_to_win)):
        for other in range(min(number - own, match.rounds_to_win)):
            for mine in range(sets.shape[0]):
                for others in range(sets.shape[0]):
                    for k in range(n):  # copying whole rows takes seconds to compile
                        left[0, k], left[1, k] = sets[mine, k], sets[others, k]
                    fill_picks(match, values, (number, own, other), left, payoffs)
                    values.single[number - 1, own, other, mine, others] = max(
                        mean_over_offers(payoffs[0], offers), mean_over_offers(payoffs[1], offers)
                    )


@kernel
def fill_pair_picks(match, values, score, payoffs):
    """Write to `payoffs`, float64 (2, 28, 28), what `fill_picks` computes, for all pairs of picks in overtime."""
    for k in range(2):
        ends = ends_of_round(match, values, score, (0, 0), k == 0)
        for i in range(payoffs.shape[1]):
            for j in range(payoffs.shape[2]):
                payoffs[k, i, j] = worth_of_round(match.pairs, i, j, ends, k == 0)


@kernel
def solve_overtime(match, values):
    """Compute the values of all rounds of overtime, from `match.pairs`, or as an even race if it is empty."""
    n = match.pairs.shape[0]
    payoffs, mix, other_mix = np.empty((2, n, n)), np.empty(n), np.empty(n)
    most = match.rounds_to_win
    for number in range(match.max_rounds, ROUNDS_OF_OFFERS, -1):
        for own in range(min(number, most)):
            for other in range(min(number - own, most)):
                score = number, own, other
                if n == 0:
                    win, _, loss = ends_of_round(match, values, score, (0, 0), True)
                    values.overtime[score] = (win + loss) / 2
                else:
                    fill_pair_picks(match, values, score, payoffs)
                    values.overtime[score] = max(
                        solve_matrix(payoffs[0], mix, other_mix), solve_matrix(payoffs[1], mix, other_mix)
                    )


def solve_match(match: Match, progress: Progress = lambda share: None) -> Values:
    """Return all values of a match."""
    scores = min(match.rounds_to_win, ROUNDS_OF_OFFERS)
    values = Values(
        np.full((ROUNDS_OF_OFFERS, scores, scores, 70, 70), np.nan),
        np.full((match.max_rounds + 2, match.rounds_to_win, match.rounds_to_win), np.nan),
    )
    solve_overtime(match, values)
    rounds = range(min(ROUNDS_OF_OFFERS, match.max_rounds), 0, -1)
    for done, number in enumerate(rounds):
        progress(done / len(rounds))
        left = SPECIALISTS + 1 - number
        sets = np.array(list(combinations(range(SPECIALISTS), left)), np.int64)
        solve_round(match, number, sets, offers_from(left), values)
    progress(1.0)
    return values


# --- answers ---


@kernel
def specialists_of(state, player, lowest, highest, out):
    """Write to `out` the player's specialists whose status is from `lowest` to `highest`; return their number."""
    n = 0
    for specialist in range(SPECIALISTS):
        if lowest <= state["standing"][player, specialist] <= highest:
            out[n] = specialist
            n += 1
    return n


@kernel
def score_for(state, player):
    """Return the number of the round, own wins, and the other player's wins."""
    return np.int64(state["round"]), np.int64(state["wins"][player]), np.int64(state["wins"][1 - player])


@kernel
def answer_choices(states, players, known, answers):
    """Write Answers for states of a match in which roles or specialists are chosen.

    Args:
        states: structured (n,), in phase ROLE or PICK.
        players: int64 (n,).
        known: the Match; its Values; the possible offers for each number of specialists left, see `offers_from`.
        answers: Answers from `no_answers`; out.
    """
    for i in range(states.shape[0]):
        answer = answers.value[i:], answers.policy[i], answers.worth[i]
        if states[i]["phase"] == ROLE:
            answer_role(states[i], players[i], known, answer)
        else:
            answer_pick(states[i], players[i], known, answer)


@kernel
def answer_role(state, player, known, answer):
    """Write `answer` (value, policy, values of actions) for the decision on who places first."""
    match, values, offers = known
    value, policy, worth = answer
    decider = np.int64(state["to_move"])
    score = score_for(state, decider)
    if score[0] > ROUNDS_OF_OFFERS:
        n = match.pairs.shape[0]
        payoffs, mix, other_mix = np.empty((2, n, n)), np.empty(n), np.empty(n)
        fill_pair_picks(match, values, score, payoffs)
        means = solve_matrix(payoffs[0], mix, other_mix), solve_matrix(payoffs[1], mix, other_mix)
    else:
        left = np.empty((2, SPECIALISTS), np.int64)
        n = specialists_of(state, decider, UNUSED, OFFERED, left[0])
        specialists_of(state, 1 - decider, UNUSED, OFFERED, left[1])
        payoffs = np.empty((2, n, n))
        fill_picks(match, values, score, left[:, :n], payoffs)
        means = mean_over_offers(payoffs[0], offers[n]), mean_over_offers(payoffs[1], offers[n])
    sign = 1.0 if player == decider else -1.0
    best = max(means[0], means[1])
    value[0] = sign * best
    for k in range(2):
        worth[PLACE_FIRST + k] = sign * means[k]
        if player == decider:
            policy[PLACE_FIRST + k] = means[k] >= best - _CLOSE
    if player == decider:
        policy /= policy.sum()


@kernel
def answer_pick(state, player, known, answer):
    """Write `answer` (value, policy, values of actions) for the player's pick of one or two specialists."""
    match, values, _ = known
    value, policy, worth = answer
    score, k = score_for(state, player), 0 if state["first"] == player else 1
    if score[0] > ROUNDS_OF_OFFERS:
        n = m = match.pairs.shape[0]
        payoffs = np.empty((2, n, n))
        fill_pair_picks(match, values, score, payoffs)
        game, action = payoffs[k], CHOOSE_TWO + np.arange(n)
    else:
        left, offered = np.empty((2, SPECIALISTS), np.int64), np.empty((2, SPECIALISTS), np.int64)
        for seat in range(2):
            n = specialists_of(state, player if seat == 0 else 1 - player, UNUSED, OFFERED, left[seat])
            m = specialists_of(state, player if seat == 0 else 1 - player, OFFERED, OFFERED, offered[seat])
        payoffs = np.empty((2, n, n))
        fill_picks(match, values, score, left[:, :n], payoffs)
        game, action = np.empty((m, m)), CHOOSE + offered[0, :m]
        for i in range(m):
            for j in range(m):
                game[i, j] = payoffs[
                    k, np.searchsorted(left[0, :n], offered[0, i]), np.searchsorted(left[1, :n], offered[1, j])
                ]
    mix, other_mix = np.empty(m), np.empty(m)
    value[0] = solve_matrix(game, mix, other_mix)
    for i in range(m):
        policy[action[i]], worth[action[i]] = mix[i], 0.0
        for j in range(m):
            worth[action[i]] += game[i, j] * other_mix[j]


@kernel
def fill_ends(states, match, values, ends):
    """Write to `ends`, float64 (n, 3), player 0's values of the match after a win, draw or loss of this round."""
    for i in range(states.shape[0]):
        left = np.int64(0), np.int64(0)
        for s in range(SPECIALISTS):
            left = (
                left[0] | np.int64(states[i]["standing"][0, s] == UNUSED) << s,
                left[1] | np.int64(states[i]["standing"][1, s] == UNUSED) << s,
            )
        of_round = ends_of_round(match, values, score_for(states[i], 0), left, states[i]["first"] == 0)
        ends[i, 0], ends[i, 1], ends[i, 2] = of_round
