"""Optimal play of Operation Tic-Tac-Toe: the matrix game of a turn, rounds, what an oracle refuses."""

from itertools import combinations

import numpy as np
import pytest
from best_play import check_answers, play
from operation_positions import ID, ROUND, slow_position, some
from slow_operation_solver import SlowSolver, matrix_game

import ttt_envs
from ttt_envs.core.compile import jit
from ttt_envs.games.operation_tic_tac_toe import rules
from ttt_envs.games.operation_tic_tac_toe.rules import ABILITY, OFFER_DRAW, PASS, PLACE, PREDICT, ROOMS, TURN
from ttt_envs.games.operation_tic_tac_toe.solver import MatchOracle, RoundOracle, matrix, positions, rounds
from ttt_envs.games.operation_tic_tac_toe.solver.turns import MOST_PLACEMENTS, fill_turn, make_turn


def random_placements(generator: np.random.Generator, most: int) -> matrix.Placements:
    """A turn as it may come up, and turns that are made to be awkward."""
    rooms, free, blocked = [], [], []
    waiting, alike = generator.uniform(-1, 1), generator.random() < 0.3
    reluctant = generator.random() < 0.1  # every placement would better be blocked
    if not reluctant and generator.random() < 0.1:  # a pass
        rooms.append(matrix.NOWHERE)
        free.append(waiting)
        blocked.append(waiting)
    for room in np.sort(generator.permutation(ROOMS)[: ROOMS if reluctant else generator.integers(1, ROOMS + 1)]):
        for k in range(generator.integers(1, most + 1)):
            rooms.append(room)
            free.append(
                generator.choice([generator.uniform(-1, 1), -1, 0, 1, waiting], p=[0.8, 0.05, 0.05, 0.05, 0.05])
            )
            blocked.append(waiting if alike or k == 0 else generator.uniform(-1, 1))
            if generator.random() < 0.1:
                blocked[-1] = np.nextafter(free[-1], generator.choice([-2.0, 2.0]))
            elif generator.random() < 0.1:
                blocked[-1] = free[-1] + 1e-13 * generator.standard_normal()
    free, blocked = np.array(free, np.float64), np.array(blocked, np.float64)
    if reluctant:
        free, blocked = generator.uniform(-1, -0.9, free.shape), generator.uniform(-0.8, 1, free.shape)
    return matrix.Placements(np.array(rooms, np.int64), free, blocked)


def payoffs_of(placements: matrix.Placements, number: int, may_pass: bool) -> np.ndarray:
    """The turn as a matrix: a column for each set of so many rooms, and for none if it may be passed."""
    sets = [*combinations(range(ROOMS), number), *([()] if may_pass else [])]
    hit = np.array([[room in rooms for rooms in sets] for room in placements.room])
    return np.where(hit, placements.blocked[:, None], placements.free[:, None])


@pytest.mark.parametrize("number", [1, 2])
@pytest.mark.parametrize("most", [1, 3], ids=["spies", "specialists"])
def test_the_closed_form_is_the_linear_program(number, most):
    """And both get from its strategies what it says. 600 turns, in 60 of which the Predictor may pass."""
    generator = np.random.default_rng(10 * number + most)
    reasons = {}
    for k in range(150):
        may_pass = number == 1 and k % 5 == 0
        placements = random_placements(generator, most)
        payoffs = payoffs_of(placements, number, may_pass)
        limits = (0 if may_pass else number), number
        value, reason, _ = matrix.solve(*placements, limits)
        reasons[reason] = reasons.get(reason, 0) + 1
        assert abs(value - matrix_game(payoffs)[0]) < 1e-9
        mix, cover = np.empty(len(placements.room)), np.empty(ROOMS)
        assert abs(matrix.equilibrium(placements, limits, mix, cover) - value) < 1e-12
        assert mix.min() >= 0
        assert abs(mix.sum() - 1) < 1e-12
        assert (mix @ payoffs).min() > value - 1e-9
        assert cover.min() >= 0
        assert cover.max() < 1 + 1e-12
        assert cover.sum() < number + 1e-9
        assert may_pass or cover.sum() > number - 1e-9
        covered = np.where(placements.room >= 0, cover[placements.room], 0)
        assert (placements.free + covered * (placements.blocked - placements.free)).max() < value + 1e-9
    # Every kind of condition has been met: a single placement, rooms, all lower bounds, all upper bounds.
    assert reasons[-1] > 12
    assert reasons[ROOMS] > 12
    assert reasons[ROOMS + 1] > 0
    assert sum(reasons.get(room, 0) for room in range(ROOMS)) > 3 or most == 1


def test_any_cover_is_a_mix_of_pairs():
    generator = np.random.default_rng(2)
    pairs = np.empty((ROOMS, ROOMS))
    for _ in range(500):
        cover = np.zeros(ROOMS)
        # Mixing some pairs gives such a cover; the first one alone is as extreme as it gets.
        weights = generator.dirichlet(np.ones(generator.integers(1, 10)))
        for weight in weights:
            cover[generator.permutation(ROOMS)[:2]] += weight
        matrix.split_pairs(cover, pairs)
        assert (pairs >= 0).all()
        assert not np.tril(pairs).any()
        assert np.abs(pairs.sum(axis=0) + pairs.sum(axis=1) - cover).max() < 1e-12


# --- rounds ---


@pytest.fixture(scope="module")
def oracle() -> RoundOracle:
    return ROUND.oracle()


def test_values_of_rounds(oracle):
    assert abs(oracle.round_value() - 0.15602) < 1e-5
    assert abs(oracle.round_value("sniper", "sniper") - 0.12041) < 1e-5
    assert abs(oracle.round_value("pusher", "grappler") - 0.29219) < 1e-5
    assert abs(oracle.round_value("assassin", "hacker") - 0.49905) < 1e-5


def test_the_best_first_placement():
    game = ttt_envs.load(ID, mode="round", specialists=(None, None), first_placer=1)
    start = game.new_state(0)
    placed = game.oracle().policy(start, 1)[0, PLACE : PLACE + ROOMS]
    assert np.abs(placed[[0, 2, 6, 8]] - 0.2106).max() < 1e-4
    assert abs(placed[4] - 0.1577) < 1e-4
    assert not placed[[1, 3, 5, 7]].any()
    predicted = game.oracle().policy(start, 0)[0, PREDICT : PREDICT + ROOMS]
    assert predicted.argmax() == 4
    assert not predicted[[1, 3, 5, 7]].any()


def test_what_is_said_of_a_position_fits_together():
    game = ttt_envs.load(ID, mode="round", allow_pass=True, draw_offers=True)
    oracle, states = game.oracle(), play(game, 60, seed=1)
    assert (states["phase"] == ABILITY).sum() > 15
    check_answers(game, states)
    for player in (0, 1):
        acts = (states["phase"] == TURN) | (states["placer"] == player)
        assert not oracle.policy(states, player)[:, OFFER_DRAW].any()
        worth = oracle.action_values(states, player)[acts]
        assert np.array_equal(worth[:, OFFER_DRAW], worth[:, PASS], equal_nan=True)


def test_who_is_called_player_0_does_not_matter(oracle):
    states = play(ROUND, 60, seed=4)
    swapped = ROUND.rotate_players(states)
    assert np.abs(oracle.value(states, 0) - oracle.value(swapped, 1)).max() < 1e-12
    # Strategies are not unique where payoffs differ by nothing but rounding; what they do is.
    for player in (0, 1):
        assert np.allclose(oracle.policy(states, player), oracle.policy(swapped, 1 - player), atol=1e-6)


@pytest.mark.parametrize("allow_pass", [False, pytest.param(True, marks=pytest.mark.slow)])
def test_late_positions_are_those_of_the_slow_solver(allow_pass):
    game = ttt_envs.load(ID, mode="round", max_idle_turns=3, allow_pass=allow_pass)
    states = play(game, 500, seed=6)
    states = states[(states["phase"] == TURN) & ((states["board"] != 0).sum(axis=1) >= 6)]
    held = (states["standing"] == rules.IN_HAND).any(axis=(1, 2)) | states["hacker_on"].any(axis=1)
    states = np.concatenate([some(states[held], 8, 0), some(states[~held], 4, 0)])
    oracle, slow = game.oracle(), SlowSolver(3, allow_pass)
    values = oracle.value(states, states["placer"])
    mixes = oracle.policy(states, states["placer"]), oracle.policy(states, 1 - states["placer"])
    for state, value, mix, guess in zip(states, values, *mixes, strict=True):
        position = slow_position(state)
        assert abs(slow.value(position) - value) < 1e-9, position
        rows, columns = slow.choices(position)
        mix = np.array(
            [mix[PASS if row is None else game.parse_action(f"{row[0]} to {'ABCDEFGHI'[row[1]]}")] for row in rows]
        )
        names = ["+".join("ABCDEFGHI"[room] for room in sorted(column)) for column in columns]
        guess = np.array([guess[game.parse_action(f"predict {name}") if name else PASS] for name in names])
        payoffs = slow.payoffs(position)
        assert abs(mix.sum() - 1) < 1e-12
        assert abs(guess.sum() - 1) < 1e-12
        assert (mix @ payoffs).min() > value - 1e-9
        assert (payoffs @ guess).max() < value + 1e-9


class Foretold(SlowSolver):
    """One player chooses one action in each position, and the other knows which."""

    def __init__(self, player: int, max_idle_turns: int, allow_pass: bool) -> None:
        super().__init__(max_idle_turns, allow_pass)
        self.player = player

    def value(self, position) -> float:  # type: ignore[no-untyped-def]
        if position not in self.known:
            payoffs = self.payoffs(position)
            places = position.placer == self.player
            self.known[position] = payoffs.min(axis=1).max() if places else payoffs.max(axis=0).min()
        return self.known[position]


@pytest.mark.parametrize("allow_pass", [False, True])
def test_choices_that_are_foretold_are_those_of_the_slow_solver(allow_pass):
    states = play(ttt_envs.load(ID, mode="round", max_idle_turns=3, allow_pass=allow_pass), 500, seed=6)
    states = states[(states["phase"] == TURN) & ((states["board"] != 0).sum(axis=1) >= 6) & (states["idle"] == 0)]
    hacked = states["hacker_on"].any(axis=1)
    states = np.concatenate([some(states[hacked], 5, 0), some(states[~hacked], 8, 0)])
    foretold = rounds.Rounds(positions.SINGLE_HANDS, 3, allow_pass, np.zeros(2), open_hand=True)
    mixed = rounds.Rounds(positions.SINGLE_HANDS, 3, allow_pass, np.zeros(1))
    for solved in (foretold, mixed):
        solved.ensure_after(states)
    worse = 0
    for player in (0, 1):
        slow = Foretold(player, 3, allow_pass)
        for k, state in enumerate(states):
            number = positions.position_of(states[k : k + 1][0], int(state["placer"]), foretold.book.lookup)
            places = state["placer"] == player
            value = foretold.solution.values[number, 0 if places else 1]
            assert value == pytest.approx(slow.value(slow_position(state)), abs=1e-12)
            bluff = mixed.solution.values[number, 0] - value
            assert (bluff if places else -bluff) > -1e-9
            worse += abs(bluff) > 1e-3
    assert worse > 8


@jit.kernel
def certify(states, book, solution, turns, work):  # type: ignore[no-untyped-def]
    """How much anybody gains by one other choice, in all positions of two standings, with any number of idle turns.

    Args:
        states, book, solution, turns: as for `rounds.solve_boards`; everything is solved.
        work: float64 (2,), in: how many idle turns make a draw; out: the largest gain, and how many games it is from.
    """
    own = book.standing[positions.standing_of(states[0], 0)]
    other = book.standing[positions.standing_of(states[0], 1)]
    idle_turns, worst, games = int(work[0]), 0.0, 0.0
    mix, cover, hit = np.empty(MOST_PLACEMENTS), np.empty(ROOMS), np.empty(ROOMS)
    for board in range(book.code.shape[0]):
        first = book.first[own, other, book.group[board]] + board
        if first < 0 or book.over[board]:
            continue
        positions.put_board(states, 0, book.code[board])
        worth = np.zeros(2)
        counts = np.empty(2, np.int64)
        for k in range(2):
            counts[k] = fill_turn(states, k, (book.lookup, solution.values), turns[k])
        for _ in range(idle_turns):
            before = worth.copy()
            for k in range(2):
                turn, n, limits = turns[k], counts[k], rounds.prediction_limits(states[k])
                for a in range(n):
                    if turn.waits[a]:
                        turn.blocked[0, a] = -before[1 - k]
                        if turn.room[a] == rules.NOWHERE:
                            turn.free[0, a] = -before[1 - k]
                placements = matrix.Placements(turn.room[:n], turn.free[0, :n], turn.blocked[0, :n])
                value = matrix.equilibrium(placements, limits, mix[:n], cover)
                least, hit[:] = 0.0, 0
                for a in range(n):
                    covered = cover[turn.room[a]] if turn.room[a] >= 0 else 0.0
                    loss = turn.free[0, a] - turn.blocked[0, a]
                    worst = max(worst, turn.free[0, a] - covered * loss - value)
                    least += mix[a] * turn.free[0, a]
                    if turn.room[a] >= 0:
                        hit[turn.room[a]] += mix[a] * loss
                hit.sort()
                taken = hit[ROOMS - limits[1] :].sum()
                worst = max(worst, value - (least - (max(taken, 0.0) if limits[0] == 0 else taken)))
                # Pairs that may be passed cover no room more than all others together.
                worst = max(worst, cover.max() - cover.sum() / limits[1])
                worth[k] = value
                games += 1
        for k in range(2):
            number = positions.position_of(states[k], k, book.lookup)
            worst = max(worst, abs(solution.values[number, 0] - worth[k]))
    work[0], work[1] = worst, games


def certificate(solved: rounds.Rounds, pairs: list[tuple[int, int]]) -> tuple[float, int]:
    """The largest gain in all positions that follow from these pairs of standings, and how many games were solved."""
    states = solved.posed(np.zeros(2, rules.STATE))
    states["phase"], states["to_move"], states["pending"], states["placer"] = TURN, -1, -1, [0, 1]
    turns = make_turn(1), make_turn(1)
    todo, worst, games = set(), 0.0, 0
    for own, other in pairs:
        solved.ensure(own, other)
        todo |= {(a, b) for a in positions.lesser_standings(own) for b in positions.lesser_standings(other)}
    for pair in todo:
        for player, standing in enumerate(pair):
            positions.put_standing(states, player, standing)
        work = np.array([solved.idle_turns, 0.0])
        certify(states, solved.book, solved.solution, turns, work)
        worst, games = max(worst, work[0]), games + int(work[1])
    return worst, games


#: No choice gains more than this. A round has a few hundred turns at most, so that no strategy gains 1e-6.
CERTIFIED = 1e-11


@pytest.mark.slow
@pytest.mark.parametrize("may_pass", [False, True])
@pytest.mark.parametrize("idle_turns", [1, 5, 20])
def test_nobody_gains_in_any_position_of_all_pairs(idle_turns, may_pass):
    solved = rounds.Rounds(positions.SINGLE_HANDS, idle_turns, may_pass, np.zeros(1))
    pairs = [(own, other) for own in positions.SINGLE_HANDS for other in positions.SINGLE_HANDS]
    worst, games = certificate(solved, pairs)
    assert games > 3e5 * idle_turns
    assert worst < CERTIFIED


# --- what it refuses ---


def test_it_refuses_what_it_does_not_know(oracle):
    for options in ({"mode": "round"}, {}):
        with pytest.raises(NotImplementedError, match="draw_offers=True with allow_pass=False"):
            ttt_envs.load(ID, draw_offers=True, **options).oracle()
    with pytest.raises(ValueError, match=r"no rounds with \('sniper', 'mole'\) against None"):
        oracle.round_value(("sniper", "mole"), None)
    with pytest.raises(ValueError, match="states of mode='round'"):
        oracle.value(ttt_envs.load(ID).new_state(0), 0)
    with pytest.raises(ValueError, match="states of mode='match'"):
        ttt_envs.load(ID).oracle().value(ROUND.new_state(0), 0)
    with pytest.raises(ValueError, match="max_idle_turns=20, and is asked about another"):
        oracle.value(ttt_envs.load(ID, mode="round", max_idle_turns=3).new_state(0), 0)
    with pytest.raises(ValueError, match="rounds_to_win=4, and is asked about another"):
        ttt_envs.load(ID).oracle().value(ttt_envs.load(ID, rounds_to_win=2).new_state(0), 0)


@pytest.mark.parametrize(
    ("hand", "words"),
    [
        ("snipper", "unknown specialist 'snipper'; did you mean 'sniper'"),
        (("sniper", "sniper"), "only one sniper, not 2"),
        (("mole", 3), "two different names, not"),
    ],
)
def test_hands_that_nobody_can_hold(oracle, hand, words):
    with pytest.raises(ValueError, match=words):
        oracle.round_value(hand, "mole")
    with pytest.raises(ValueError, match=words):
        oracle.round_value(None, hand)


IMPOSSIBLE = [
    ("match", {"first": 0}, "nobody is the Placer"),
    ("round", {"pending": 3}, "`pending` must be the room of a specialist"),
    ("round", {"board": [1, 1, 1, *6 * [0]]}, "three pieces of one player in a row"),
    ("round", {"idle": 20}, "idle turns end the round"),
    ("round", {"standing": rules.UNUSED}, "unused and offered must fit the round"),
    ("round", {"standing": rules.IN_HAND}, "more specialists in hand than picked"),
    ("round", {"wins": [1, 0]}, "nobody has won one before"),
    ("round", {"last": [PASS, -1]}, "both players' submissions"),
    ("round", {"last": PREDICT}, "the Placer must have placed something"),
    ("round", {"last": PLACE}, "the Predictor must have predicted rooms"),
    ("round", {"last": PASS, "last_ability": PASS}, "`last_ability` must be the use of an ability"),
    ("match", {"last": PASS}, "before the first turn of a round there is no last turn"),
    ("match", {"wins": 1}, "no more wins than rounds"),
]


@pytest.mark.parametrize(("mode", "changes", "words"), IMPOSSIBLE, ids=[words for *_, words in IMPOSSIBLE])
def test_it_refuses_what_no_play_reaches(mode, changes, words):
    game = ttt_envs.load(ID, mode=mode)
    state = game.new_state(0)
    assert game.oracle().covers(state).all()
    for name, value in changes.items():
        state[name] = value
    with pytest.raises(ValueError, match=words):
        game.oracle().covers(state)


def test_an_oracle_refuses_a_game_of_the_other_mode():
    with pytest.raises(ValueError, match="games with mode='round', not operation_tic_tac_toe"):
        RoundOracle(ttt_envs.load(ID))
    with pytest.raises(ValueError, match="games with mode='match', not operation_tic_tac_toe"):
        MatchOracle(ROUND)


def test_it_does_not_cover_two_specialists_of_a_player(oracle):
    game = ttt_envs.load(ID, mode="round", specialists=(("sniper", "mole"), "hacker"))
    states = play(game, 100, seed=9)
    covered = oracle.covers(states)
    # Once one was blocked, it is as if there had never been more.
    held, placed = (
        (states["standing"][:, 0] == rules.IN_HAND).sum(axis=1),
        (states["board"] > 1) & (states["board"] < 10),
    )
    assert np.array_equal(covered, held + placed.sum(axis=1) < 2)
    assert 0 < covered.sum() < len(states)
    assert np.isnan(oracle.value(states[~covered], 0)).all()
    assert np.isnan(oracle.action_values(states[~covered], 0)).all()
    assert not oracle.policy(states[~covered], 0).any()


@pytest.mark.slow
def test_two_specialists_of_each_player_are_those_of_the_slow_solver():
    hands = ("sniper", "mole"), ("hacker", "pusher")
    game = ttt_envs.load(ID, mode="round", max_idle_turns=2, specialists=hands)
    states = play(game, 2000, seed=10)
    states = states[(states["phase"] == TURN) & ((states["board"] != 0).sum(axis=1) >= 6)]
    held = (states["standing"] == rules.IN_HAND).sum(axis=(1, 2))
    states = np.concatenate([some(states[held == k], n, 0) for k, n in ((1, 20), (2, 20), (3, 5))])
    oracle, slow = game.oracle(), SlowSolver(2)
    assert oracle.covers(states).all()
    for state, value in zip(states, oracle.value(states, states["placer"]), strict=True):
        assert abs(slow.value(slow_position(state)) - value) < 1e-9
    pair = tuple(positions.standing_named(*each) for each in hands)
    worst, games = certificate(oracle._rounds, [pair])
    assert games > 1e6
    assert worst < CERTIFIED
