"""Optimal play of matches of Operation Tic-Tac-Toe: values, the rounds they are made of, what comes up on the way."""

from itertools import combinations

import numpy as np
import pytest
from best_play import check_answers, play
from operation_positions import ID, some
from slow_operation_solver import SlowMatch
from slow_operation_tic_tac_toe import SPECIALISTS

import ttt_envs
from ttt_envs.games.operation_tic_tac_toe import rules
from ttt_envs.games.operation_tic_tac_toe.rules import TURN
from ttt_envs.games.operation_tic_tac_toe.solver import match, positions, rounds
from ttt_envs.testing.positions import masks_of

MATCH = ttt_envs.load(ID)
HANDS = [frozenset({name}) for name in SPECIALISTS]
PAIR_HANDS = [frozenset(pair) for pair in combinations(SPECIALISTS, 2)]


def random_rounds(generator: np.random.Generator, hands: int) -> np.ndarray:
    """Values of rounds as a table has them; a draw that is worth more makes the round worth more."""
    return np.sort(generator.uniform(-1, 1, (hands, hands, 5)), axis=2)


@pytest.mark.slow
@pytest.mark.parametrize("exact", [True, False], ids=["overtime", "even race"])
def test_values_of_matches_are_those_of_the_slow_solver(exact):
    generator = np.random.default_rng(11)
    single, pairs = random_rounds(generator, 8), random_rounds(generator, 28)

    def round_value(first, second, draw):
        table, hands = (single, HANDS) if len(first) == 1 else (pairs, PAIR_HANDS)
        return float(np.interp(draw, np.linspace(-1, 1, 5), table[hands.index(first), hands.index(second)]))

    slow = SlowMatch(4, 10, round_value, PAIR_HANDS if exact else None)
    values = match.solve_match(match.Match(4, 10, single, pairs if exact else np.empty((0, 0, 1))))
    for number, wins in ((6, (1, 3)), (6, (2, 1)), (8, (3, 3)), (9, (3, 3)), (10, (2, 3))):
        left = [generator.choice(8, max(9 - number, 0), replace=False).tolist() for _ in range(2)]
        names = tuple(frozenset(SPECIALISTS[s] for s in each) for each in left)
        for decider in (0, 1):
            own, other = wins[decider], wins[1 - decider]
            if number <= 8:
                sets = [match.SET_NUMBER[sum(1 << s for s in left[seat])] for seat in (decider, 1 - decider)]
                value = values.single[number - 1, own, other, sets[0], sets[1]]
            else:
                value = values.overtime[number, own, other]
            expected = slow.value(number, wins, names, decider)
            assert abs(value - (expected if decider == 0 else -expected)) < 1e-9


@pytest.mark.slow
def test_the_seventh_round_of_eight():
    game = ttt_envs.load(ID, max_rounds=8)
    oracle, solved = game.oracle(), {}

    def round_value(first, second, draw):
        draw = round(draw, 12)
        if draw not in solved:
            solved[draw] = rounds.Rounds(positions.SINGLE_HANDS, 20, False, np.array([draw, -draw]))
        pair = positions.standing_named(*first), positions.standing_named(*second)
        solved[draw].ensure(*pair)
        return float(solved[draw].start_values(*pair)[0])

    slow = SlowMatch(4, 8, round_value, None)
    left = frozenset({"mole", "hacker"}), frozenset({"sniper", "pusher"})
    state = game.new_state(0)
    state["round"], state["wins"], state["standing"] = 7, [[2, 3]], rules.USED
    for player in (0, 1):
        for name in left[player]:
            state["standing"][0, player, SPECIALISTS.index(name)] = rules.UNUSED
    for decider in (0, 1):
        state["to_move"] = decider
        expected = slow.value(7, (2, 3), left, decider)
        assert 0.05 < abs(expected) < 0.95
        assert len(solved) > 4
        assert abs(oracle.value(state, 0)[0] - expected) < 1e-4
        worth = oracle.action_values(state, 0)[0, rules.PLACE_FIRST : rules.PLACE_FIRST + 2]
        for first in (0, 1):
            places = worth[0 if first == decider else 1]
            assert abs(places - slow.picks(7, (2, 3), left, first)) < 1e-4


@pytest.fixture(scope="module")
def matches() -> np.ndarray:
    states = play(MATCH, 40, seed=12)
    covered = MATCH.oracle().covers(states)
    assert covered[states["round"] <= 8].all()
    if MATCH.oracle().overtime == "even race":
        assert not covered[states["round"] > 8].any()
    return states[covered]


@pytest.mark.slow
def test_what_is_said_of_a_match_fits_together(matches):
    choosing, playing = matches[matches["phase"] < TURN], matches[(matches["phase"] >= TURN)]
    check_answers(MATCH, np.concatenate([some(choosing, 100, 13), some(playing, 2, 13)]))


@pytest.mark.slow
def test_a_match_goes_on_as_it_was_valued(matches):
    oracle = MATCH.oracle()
    early = matches[matches["round"] <= 7]
    picks = some(early[early["phase"] == rules.PICK], 2, 14)
    late = early[(early["phase"] == TURN) & ((early["board"] != 0).sum(axis=1) >= 6)]
    turns = some(late[~(late["standing"] == rules.IN_HAND).any(axis=(1, 2))], 3, 15)
    for state in np.concatenate([picks, turns]):
        state = state[None]
        mine, theirs = (np.flatnonzero(masks_of(MATCH, state, player)[0]) for player in (0, 1))
        policy, worth = oracle.policy(state, 1)[0], oracle.action_values(state, 0)[0]
        after = np.repeat(state, len(mine) * len(theirs))
        actions = np.stack(np.meshgrid(mine, theirs, indexing="ij"), axis=-1).reshape(-1, 2)
        for i in range(len(after)):
            MATCH.loops.step_one(after, i, actions[i])
        values = oracle.value(after, 0).reshape(len(mine), len(theirs))
        assert np.abs(values @ policy[theirs] - worth[mine]).max() < oracle.error


@pytest.mark.slow
def test_the_value_of_a_match():
    oracle = MATCH.oracle()
    start = MATCH.new_state(0)
    assert abs(oracle.value(start, 0)[0] - oracle.start_value()) < 1e-12
    assert 0 < oracle.start_value() < 0.15602, "who places first is a little better off, and in a match less so"
    assert oracle.policy(start, 0)[0, rules.PLACE_FIRST] == 1
