"""Best play of Operation Tic-Tac-Toe: the matrix game of a turn, rounds, best responses, the match."""

import io
import time
import zlib
from itertools import combinations
from pathlib import Path

import numpy as np
import pytest
from slow_operation_solver import SlowMatch, SlowResponder, SlowSolver, matrix_game
from slow_operation_tic_tac_toe import SPECIALISTS, SPY, Position

import ttt_envs
from ttt_envs.core import jit
from ttt_envs.core.batch import Batch
from ttt_envs.core.files import InUse, locked_file
from ttt_envs.core.tables import BadTable, write_table
from ttt_envs.games.operation_tic_tac_toe import rules
from ttt_envs.games.operation_tic_tac_toe.rules import ABILITY, OFFER_DRAW, PASS, PLACE, PREDICT, ROOMS, TURN
from ttt_envs.games.operation_tic_tac_toe.solver import (
    MatchOracle,
    RoundOracle,
    match,
    matrix,
    positions,
    response,
    rounds,
    tables,
)
from ttt_envs.games.operation_tic_tac_toe.solver.command import RoundValues
from ttt_envs.games.operation_tic_tac_toe.solver.turns import MOST_PLACEMENTS, fill_turn, make_turn
from ttt_envs.testing.positions import masks_of, play_batch

pytestmark = pytest.mark.skipif(jit.DISABLED, reason="solving takes the JIT")

ID = "operation_tic_tac_toe"
ROUND = ttt_envs.load(ID, mode="round")
KINDS = (SPY, *SPECIALISTS)


def play(game, n: int, seed: int) -> np.ndarray:
    """All positions of n random games that are not over: structured (k,)."""
    states = play_batch(Batch(game, n, seed=seed), game.max_plies).states.ravel()
    return states[~states["done"]]


def some(states: np.ndarray, n: int, seed: int) -> np.ndarray:
    """n of them."""
    return states[np.random.default_rng(seed).choice(len(states), n, replace=False)]


def slow_position(state: np.void) -> Position:
    """A state in phase TURN as the slow rules have it."""
    board = tuple(None if piece == 0 else (int(piece - 1) // 9, KINDS[int(piece - 1) % 9]) for piece in state["board"])
    hands = tuple(
        tuple(sorted(name for name, standing in zip(SPECIALISTS, held, strict=True) if standing == rules.IN_HAND))
        for held in state["standing"]
    )
    hackers = bool(state["hacker_on"][0]), bool(state["hacker_on"][1])
    return Position(board, int(state["placer"]), hands, hackers, int(state["idle"]), None)


# --- the matrix game ---


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
    """And both get from its strategies what it says. 2,000 turns, in 200 of which the Predictor may pass."""
    generator = np.random.default_rng(10 * number + most)
    reasons = {}
    for k in range(500):
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
    assert reasons[-1] > 40
    assert reasons[ROOMS] > 40
    assert reasons[ROOMS + 1] > 4
    assert sum(reasons.get(room, 0) for room in range(ROOMS)) > 20 or most == 1


def test_any_cover_is_a_mix_of_pairs():
    generator = np.random.default_rng(2)
    pairs = np.empty((ROOMS, ROOMS))
    for _ in range(2000):
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
    """With spies only: into a corner or the centre, never beside them; and the centre is predicted most."""
    game = ttt_envs.load(ID, mode="round", specialists=(None, None), first_placer=1)
    start = game.new_state(0)
    placed = game.oracle().policy(start, 1)[0, PLACE : PLACE + ROOMS]
    assert np.abs(placed[[0, 2, 6, 8]] - 0.2106).max() < 1e-4
    assert abs(placed[4] - 0.1577) < 1e-4
    assert not placed[[1, 3, 5, 7]].any()
    predicted = game.oracle().policy(start, 0)[0, PREDICT : PREDICT + ROOMS]
    assert predicted.argmax() == 4
    assert not predicted[[1, 3, 5, 7]].any()


def test_all_pairs_are_solved_within_8_seconds(oracle):
    oracle.round_value("sniper", "sniper")  # compiled by now
    fresh = rounds.Rounds(positions.SINGLE_HANDS, 20, False, np.zeros(1))
    start = time.process_time()
    for own in positions.SINGLE_HANDS[1:]:
        for other in positions.SINGLE_HANDS[1:]:
            fresh.ensure(own, other)
    assert time.process_time() - start < 8


@pytest.mark.parametrize(("options", "n"), [({}, 500), ({"allow_pass": True, "draw_offers": True}, 500)])
def test_what_is_said_of_a_position_fits_together(options, n):
    game = ttt_envs.load(ID, mode="round", **options)
    oracle, states = game.oracle(), play(game, n, seed=1)
    assert oracle.covers(states).all()
    assert np.abs(oracle.value(states, 0) + oracle.value(states, 1)).max() < 1e-12
    assert (states["phase"] == ABILITY).sum() > n / 4
    for player in (0, 1):
        masks = masks_of(game, states, player)
        acts = (states["phase"] == TURN) | (states["placer"] == player)
        value, policy, worth = (ask(states, player) for ask in (oracle.value, oracle.policy, oracle.action_values))
        assert np.array_equal(policy.sum(axis=1) > 0, acts)
        assert np.abs(policy.sum(axis=1)[acts] - 1).max() < 1e-12
        assert not policy[~masks].any()
        assert np.array_equal(~np.isnan(worth[acts]), masks[acts])
        # Against the other's equilibrium nothing is better than the value, and what is mixed is as good.
        best = np.where(masks, worth, -np.inf).max(axis=1)
        assert np.abs(best - value)[acts].max() < 1e-9
        assert (best[:, None] - worth)[policy > 1e-9].max() < 1e-9
        # Who does not act sees of an ability what it is worth to him.
        waits = ~acts
        assert np.abs(np.nanmin(worth[waits], axis=1) - value[waits]).max() < 1e-12
        if options:
            assert not policy[:, OFFER_DRAW].any()
            assert np.array_equal(worth[acts, OFFER_DRAW], worth[acts, PASS], equal_nan=True)


def test_finished_rounds_are_worth_what_they_paid(oracle):
    states = play_batch(Batch(ROUND, 200, seed=3), ROUND.max_plies).states[-1]
    assert states["done"].all()
    assert oracle.covers(states).all()
    for player in (0, 1):
        assert np.array_equal(oracle.value(states, player), states["rewards"][:, player])
        assert not oracle.policy(states, player).any()
        assert np.isnan(oracle.action_values(states, player)).all()
    assert set(states["rewards"][:, 0]) == {-1, 0, 1}


def test_who_is_called_player_0_does_not_matter(oracle):
    states = play(ROUND, 200, seed=4)
    swapped = ROUND.rotate_seats(states)
    assert np.abs(oracle.value(states, 0) - oracle.value(swapped, 1)).max() < 1e-12
    # Strategies are not unique where payoffs differ by nothing but rounding; what they do is.
    for player in (0, 1):
        assert np.allclose(oracle.policy(states, player), oracle.policy(swapped, 1 - player), atol=1e-6)


def test_mirror_images_are_worth_the_same(oracle):
    states = play(ROUND, 200, seed=5)
    values = oracle.value(states, 0)
    assert len(ROUND.symmetries) == 8
    for symmetry in ROUND.symmetries:
        assert np.abs(oracle.value(symmetry.states(states), 0) - values).max() < 1e-12


@pytest.mark.parametrize("allow_pass", [False, pytest.param(True, marks=pytest.mark.slow)])
def test_late_positions_are_those_of_the_slow_solver(allow_pass):
    """Values, and what the strategies guarantee in its matrices."""
    game = ttt_envs.load(ID, mode="round", max_idle_turns=3, allow_pass=allow_pass)
    states = play(game, 1500, seed=6)
    states = states[(states["phase"] == TURN) & ((states["board"] != 0).sum(axis=1) >= 6)]
    held = (states["standing"] == rules.IN_HAND).any(axis=(1, 2)) | states["hacker_on"].any(axis=1)
    states = np.concatenate([some(states[held], 20, 0), some(states[~held], 10, 0)])
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


# --- certificates ---


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
@pytest.mark.parametrize(("first", "second"), [("assassin", "hacker"), ("sniper", "mole")])
def test_nobody_gains_in_any_position(oracle, first, second):
    pair = positions.standing_named(first), positions.standing_named(second)
    worst, games = certificate(oracle._rounds, [pair])
    assert games > 5e5
    assert worst < CERTIFIED


@pytest.mark.slow
@pytest.mark.parametrize("may_pass", [False, True])
@pytest.mark.parametrize("idle_turns", [1, 5, 20])
def test_nobody_gains_in_any_position_of_all_pairs(idle_turns, may_pass):
    solved = rounds.Rounds(positions.SINGLE_HANDS, idle_turns, may_pass, np.zeros(1))
    pairs = [(own, other) for own in positions.SINGLE_HANDS for other in positions.SINGLE_HANDS]
    worst, games = certificate(solved, pairs)
    assert games > 3e5 * idle_turns
    assert worst < CERTIFIED


# --- best responses ---


def lopsided(numbers: np.ndarray, player: int, pieces: np.ndarray, idle: np.ndarray) -> np.ndarray:
    """Weights of actions that have no symmetry, and depend on all that a policy may heed: float (..., actions)."""
    return 1.0 + (3 * numbers + 5 * pieces + 7 * idle + 4 * player) % 13


def lopsided_policy(game):
    """As `core.oracle.Policy`."""

    def policy(states, players):
        pieces = (states["board"] != 0).sum(axis=1)[:, None]
        weights = lopsided(np.arange(game.num_actions), players[0], pieces, states["idle"].astype(int)[:, None])
        weights *= masks_of(game, states, players[0])
        return weights / weights.sum(axis=1, keepdims=True)

    return policy


@pytest.mark.parametrize(
    ("hands", "idle_turns"),
    [
        ((None, None), 3),
        pytest.param(("sniper", "hacker"), 1, marks=pytest.mark.slow),
        pytest.param(("mole", "courier"), 2, marks=pytest.mark.slow),
        pytest.param(("pusher", "assassin"), 2, marks=pytest.mark.slow),
        pytest.param(("grappler", "ninja"), 2, marks=pytest.mark.slow),
    ],
)
@pytest.mark.parametrize("player", [0, 1])
def test_the_best_response_is_that_of_the_slow_one(hands, idle_turns, player):
    game = ttt_envs.load(ID, mode="round", specialists=hands, max_idle_turns=idle_turns)

    def named_policy(position, who, names):
        numbers = np.array([game.parse_action(name) for name in names])
        weights = lopsided(numbers, who, 9 - position.board.count(None), position.idle)
        return weights / weights.sum()

    responder = response.Responder(game, lopsided_policy(game), player)
    slow = SlowResponder(idle_turns, player, named_policy)
    found = []
    for block, _ in responder.blocks():
        responder.work_out(block)
        found.append(block)
    states = np.repeat(responder.states(2), 40)
    block = some(np.concatenate(found), 40, 7)
    positions.put_positions(states, block, responder.book)
    states["placer"], states["idle"] = np.arange(len(states)) % 2, 0
    late = (states["board"] != 0).sum(axis=1) >= 5
    assert late.sum() > 30
    numbers = responder.book.first[block[:, 0], block[:, 1], responder.book.group[block[:, 2]]] + block[:, 2]
    for i in np.flatnonzero(late):
        expected = slow.value(slow_position(states[i]))
        assert abs(responder.values[i % 2, numbers[i // 2]] - expected) < 1e-9


@pytest.mark.parametrize(
    "options",
    [
        {"specialists": (None, None), "first_placer": 1, "allow_pass": True, "draw_offers": True, "max_idle_turns": 3},
        pytest.param({"specialists": (None, None), "max_idle_turns": 5}, marks=pytest.mark.slow),
        pytest.param({"specialists": ("grappler", None), "max_idle_turns": 2}, marks=pytest.mark.slow),
    ],
)
def test_nothing_beats_the_equilibrium(options):
    game = ttt_envs.load(ID, mode="round", **options)
    oracle, (own, other) = game.oracle(), options["specialists"]
    as_first, as_second = oracle.round_value(own, other), -oracle.round_value(other, own)
    expected = {None: (as_first + as_second) / 2, 0: as_first, 1: as_second}[options.get("first_placer")]
    for player in (0, 1):
        value = oracle.best_response(oracle.policy, player)
        assert abs(value - (expected if player == 0 else -expected)) < 1e-9


@pytest.mark.slow
def test_nothing_beats_the_equilibrium_with_20_idle_turns():
    game = ttt_envs.load(ID, mode="round", specialists=("pusher", "grappler"), first_placer=0)
    oracle = game.oracle()
    best = [oracle.best_response(oracle.policy, player) for player in (0, 1)]
    assert abs(best[0] - oracle.round_value("pusher", "grappler")) < 1e-9
    assert abs(sum(best)) < 1e-6


def test_a_best_response_to_random_play():
    """It is better than best play against the same, which is better than its value."""
    game = ttt_envs.load(ID, mode="round", specialists=(None, None), max_idle_turns=3)
    oracle, told = game.oracle(), []

    def policy(states, players):
        masks = masks_of(game, states, players[0])
        return masks / masks.sum(axis=1, keepdims=True)

    found = response.best_response(game, policy, 0, told.append)
    assert told == sorted(told)
    assert told[-1] == 1
    assert found.asked == 2 * 3 * 10659
    assert [(hands, placer) for hands, placer, _ in found.rounds] == [(((), ()), 0), (((), ()), 1)]
    assert found.value == sum(value for _, _, value in found.rounds) / 2
    assert 0.9 < found.value < 1
    games = play_against(game, oracle, policy, 4000)
    assert abs(oracle.round_value()) < games.mean() < found.value


def play_against(game, oracle, policy, n: int) -> np.ndarray:
    """Rewards of player 0, who plays the equilibrium, against a policy: float (n,)."""
    batch, generator = Batch(game, n, seed=8), np.random.default_rng(8)
    while not batch.done.all():
        going = np.flatnonzero(~batch.done)
        states, actions = batch.states[going], np.full((n, 2), -1)
        for player, answer in enumerate((oracle.policy, policy)):
            chances = answer(states, np.full(len(states), player)).cumsum(axis=1)
            actions[going, player] = (chances > generator.random((len(states), 1)) * chances[:, -1:]).argmax(axis=1)
        batch.step(actions)
    return batch.rewards[:, 0]


def test_a_policy_must_be_one():
    game = ttt_envs.load(ID, mode="round", specialists=(None, None), max_idle_turns=1)
    with pytest.raises(ValueError, match="must have shape"):
        game.oracle().best_response(lambda states, players: np.ones((len(states), 2)), 0)
    uniform = np.full(game.num_actions, 1 / game.num_actions)
    with pytest.raises(ValueError, match=r"(?s)probabilities from 0 on that add up to 1 over the legal .* places"):
        game.oracle().best_response(lambda states, players: np.tile(uniform, (len(states), 1)), 0)
    with pytest.raises(ValueError, match="player must be from 0 to 1, not 2"):
        game.oracle().best_response(lopsided_policy(game), 2)
    with pytest.raises(ValueError, match="mode='round'"):
        response.best_response(ttt_envs.load(ID), lopsided_policy(game), 0)


# --- the match ---

MATCH = ttt_envs.load(ID)
HANDS = [frozenset({name}) for name in SPECIALISTS]
PAIR_HANDS = [frozenset(pair) for pair in combinations(SPECIALISTS, 2)]


def random_rounds(generator: np.random.Generator, hands: int) -> np.ndarray:
    """Values of rounds as a table has them; a draw that is worth more makes the round worth more."""
    return np.sort(generator.uniform(-1, 1, (hands, hands, 5)), axis=2)


@pytest.mark.parametrize(
    "exact", [pytest.param(True, id="overtime", marks=pytest.mark.slow), pytest.param(False, id="even race")]
)
def test_values_of_matches_are_those_of_the_slow_solver(exact):
    """Made-up rounds; from the start of the sixth, with three specialists left, to the end of overtime."""
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
    """With rounds solved for just the draw that counts, so that nothing is interpolated; and what both then do."""
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
    """Positions of random matches that the oracle knows."""
    states = play(MATCH, 40, seed=12)
    covered = MATCH.oracle().covers(states)
    assert covered[states["round"] <= 8].all()
    if MATCH.oracle().overtime == "even race":
        assert not covered[states["round"] > 8].any()
    return states[covered]


def test_what_is_said_of_a_match_fits_together(matches):
    oracle = MATCH.oracle()
    choosing, playing = matches[matches["phase"] < TURN], matches[(matches["phase"] >= TURN)]
    states = np.concatenate([some(choosing, 100, 13), some(playing, 2, 13)])
    assert np.abs(oracle.value(states, 0) + oracle.value(states, 1)).max() < 1e-12
    assert np.abs(oracle.value(states, 0)).max() <= 1
    for player in (0, 1):
        masks = masks_of(MATCH, states, player)
        acts = masks.any(axis=1)
        value, policy, worth = (ask(states, player) for ask in (oracle.value, oracle.policy, oracle.action_values))
        assert np.abs(policy.sum(axis=1) - acts).max() < 1e-12
        assert not policy[~masks].any()
        assert np.array_equal(~np.isnan(worth[acts]), masks[acts])
        best = np.where(masks, worth, -np.inf).max(axis=1)
        assert np.abs(best - value)[acts].max() < 1e-9
        assert (best[:, None] - worth)[policy > 1e-9].max() < 1e-9


@pytest.mark.slow
def test_a_match_goes_on_as_it_was_valued(matches):
    """What an action is worth is the mean of what follows, if the other one plays his policy."""
    oracle = MATCH.oracle()
    early = matches[matches["round"] <= 7]
    picks = some(early[early["phase"] == rules.PICK], 2, 14)
    late = early[(early["phase"] == TURN) & ((early["board"] != 0).sum(axis=1) >= 6)]
    turns = some(late[~(late["standing"] == rules.IN_HAND).any(axis=(1, 2))], 3, 15)
    for state in np.concatenate([picks, turns]):
        state = state[None]
        mine, his = (np.flatnonzero(masks_of(MATCH, state, player)[0]) for player in (0, 1))
        policy, worth = oracle.policy(state, 1)[0], oracle.action_values(state, 0)[0]
        after = np.repeat(state, len(mine) * len(his))
        actions = np.stack(np.meshgrid(mine, his, indexing="ij"), axis=-1).reshape(-1, 2)
        for i in range(len(after)):
            MATCH.loops.step_one(after, i, actions[i])
        values = oracle.value(after, 0).reshape(len(mine), len(his))
        assert np.abs(values @ policy[his] - worth[mine]).max() < oracle.error


def test_finished_matches_are_worth_what_they_paid():
    states = play_batch(Batch(MATCH, 20, seed=16), MATCH.max_plies).states[-1]
    assert states["done"].all()
    for player in (0, 1):
        assert np.array_equal(MATCH.oracle().value(states, player), states["rewards"][:, player])


def test_the_value_of_a_match():
    oracle = MATCH.oracle()
    start = MATCH.new_state(0)
    assert abs(oracle.value(start, 0)[0] - oracle.start_value()) < 1e-12
    assert 0 < oracle.start_value() < 0.15602, "who places first is a little better off, and in a match less so"
    assert oracle.policy(start, 0)[0, rules.PLACE_FIRST] == 1


# --- tables ---


def test_the_table_in_the_package_is_what_the_solver_says():
    single, pairs = tables.read_tables(tables.SHIPPED, *tables.DEFAULTS)
    assert tables.SHIPPED.stat().st_size < 500_000
    assert single.shape == (8, 8, tables.POINTS)
    points = [40, 64, 88]
    solved = rounds.Rounds(positions.SINGLE_HANDS, 20, False, match.worths_of_a_draw(tables.POINTS)[points])
    for i, own in enumerate(match.HANDS):
        for j, other in enumerate(match.HANDS):
            solved.ensure(own, other)
            assert np.abs(solved.start_values(own, other) - single[i, j, points]).max() < 1e-7
    assert len(pairs) == 0 or pairs.shape == (28, 28, tables.PAIR_POINTS)


def test_rounds_are_worked_out_in_parts(monkeypatch):
    """Values are the same however many worths of a draw are worked out at once."""
    hands = match.HANDS[:2]
    whole = match.round_values(hands, 2, False, 7)
    monkeypatch.setattr(match, "_AT_ONCE", 1)
    told: list[float] = []
    assert np.array_equal(match.round_values(hands, 2, False, 7, told.append), whole)
    assert told == sorted(told)
    # The more a draw is worth, the better; and if it is as good as a win, one may sit still.
    assert (np.diff(whole, axis=2) >= 0).all()
    assert (
        abs(whole[0, 1, 3] - ttt_envs.load(ID, mode="round", max_idle_turns=2).oracle().round_value("sniper", "ninja"))
        < 1e-12
    )


@pytest.fixture
def folder(tmp_path, monkeypatch) -> Path:
    """An empty cache folder, and tables that take no time."""
    monkeypatch.setenv("TTT_ENVS_CACHE", str(tmp_path / "cache"))
    monkeypatch.setattr(tables, "POINTS", 3)
    monkeypatch.setattr(tables, "PAIR_POINTS", 3)
    monkeypatch.setattr(tables, "PAIR_HANDS", tables.PAIR_HANDS[:2])
    return tmp_path / "cache"


def test_a_table_is_made_once(folder, capsys):
    oracle = ttt_envs.load(ID, max_idle_turns=1).oracle()
    assert abs(oracle.start_value()) < 0.5
    (path,) = folder.iterdir()
    said = capsys.readouterr().err.replace("\n", "")
    assert "needed for the first time" in said
    assert str(path) in said
    assert ttt_envs.load(ID, max_idle_turns=1).oracle().start_value() == pytest.approx(oracle.start_value(), abs=1e-6)
    assert not capsys.readouterr().err, "a table at hand is not made again"
    good = path.read_bytes()
    for data in (npz(single=np.zeros((8, 8, 3))), good.replace(b"points", b"pounds"), b"", good[:-100]):
        path.write_bytes(data)
        with pytest.raises(BadTable, match=r"1\.table is (damaged|no table of)"):
            tables.read_tables(path, 1, False)
    tables.load_tables(1, False)
    said = capsys.readouterr().err
    assert "Building the table of best play, once:" in said
    assert "is damaged" in said
    assert path.read_bytes() == good


NO_PAIRS = np.empty((0, 0, 1))


def npz(**arrays: np.ndarray) -> bytes:
    """An .npz file, as tables were once."""
    file = io.BytesIO()
    np.savez_compressed(file, **arrays)
    return file.getvalue()


def test_a_table_of_another_version_or_other_options_is_not_used(folder, monkeypatch):
    path = folder / "some.table"
    tables.write_tables(path, np.zeros((8, 8, 3)), NO_PAIRS, 5, False)
    for idle_turns, may_pass, words in (
        (6, False, '"max_idle_turns": 6, "allow_pass": false'),
        (5, True, '"max_idle_turns": 5, "allow_pass": true'),
    ):
        with pytest.raises(BadTable, match=f"not with .*{words}"):
            tables.read_tables(path, idle_turns, may_pass)
    monkeypatch.setattr(tables, "VERSION", 99)
    with pytest.raises(BadTable, match=r'"version": 2, .* not with .*"version": 99'):
        tables.read_tables(path, 5, False)


@pytest.mark.parametrize(
    ("single", "pairs", "words"),
    [
        (np.full((8, 8, 3), np.nan), NO_PAIRS, "not from -1 to 1"),
        (np.full((8, 8, 3), 1e30), NO_PAIRS, "not from -1 to 1"),
        (np.full((8, 8, 3), -1.1), NO_PAIRS, "not from -1 to 1"),
        (np.zeros((8, 8, 3)), np.full((28, 28, 3), np.inf), "not from -1 to 1"),
        (np.zeros((8, 8, 0)), NO_PAIRS, "it says that it has values for 0 worths"),
        (np.zeros((8, 8, 1)), NO_PAIRS, "it says that it has values for 1 worths"),
        (np.zeros((8, 8, 20_000)), NO_PAIRS, "it says that it has values for 20000 worths"),
        (np.zeros((2, 2, 3)), NO_PAIRS, "it must have 192 values, not 12"),
        (np.zeros((9, 8, 3)), NO_PAIRS, "it must have 192 values, not 19[23]"),
        (np.zeros((8, 8, 3)), np.zeros((28, 28, 1)), "it says that it has values for 1 worths"),
    ],
)
def test_a_table_of_wrong_values_is_refused_even_with_the_right_checksum(tmp_path, single, pairs, words):
    path = tmp_path / "some.table"
    tables.write_tables(path, single, pairs, 5, False)
    with pytest.raises(BadTable, match=rf"some\.table is damaged: .*{words}"):
        tables.read_tables(path, 5, False)


@pytest.mark.parametrize("facts", [{}, {"points": "3", "pair_points": 0}, {"points": 3, "pair_points": None}])
def test_a_table_that_does_not_say_how_many_values_it_has_is_refused(tmp_path, facts):
    path, known = tmp_path / "some.table", {"version": tables.VERSION, "max_idle_turns": 5, "allow_pass": False}
    for body in (b"no zlib", zlib.compress(bytes(4 * 192))):
        write_table(path, ID, {**known, **facts}, body)
        with pytest.raises(BadTable, match="it says that it has values for"):
            tables.read_tables(path, 5, False)
    write_table(path, ID, {**known, "points": 3, "pair_points": 0}, b"no zlib")
    with pytest.raises(BadTable, match=r"some\.table is damaged"):
        tables.read_tables(path, 5, False)


def test_a_damaged_table_of_the_package_is_an_error_that_says_what_to_do(tmp_path, monkeypatch):
    path = tmp_path / "shipped.table"
    path.write_bytes(tables.SHIPPED.read_bytes()[:-1])
    monkeypatch.setattr(tables, "SHIPPED", path)
    with pytest.raises(
        BadTable, match=r"shipped\.table is damaged: .*; it comes with the package: install ttt-envs again"
    ):
        MatchOracle(MATCH).start_value()  # the game keeps an oracle that other tests have asked


def test_a_folder_that_cannot_be_written_is_said_and_does_no_harm(folder, capsys):
    folder.write_text("a file where the folder should be")
    single, pairs = tables.load_tables(1, False)
    assert "cannot be kept" in capsys.readouterr().err
    assert single.shape == (8, 8, 3)
    assert pairs.shape == (0, 0, 1)


@pytest.mark.slow
def test_the_command_writes_a_table(folder):
    path, told = folder / "some" / "table", []
    options = ttt_envs.load(ID, max_idle_turns=1, allow_pass=True).options
    printed = RoundValues(overtime=True, out=path).run(options, lambda what, share: told.append(what))
    assert str(path) in printed
    assert list(dict.fromkeys(told)) == [
        "rounds with one specialist a player",
        "rounds with two specialists a player",
    ]
    single, pairs = tables.read_tables(path, 1, True)
    assert single.shape == (8, 8, 3)
    assert pairs.shape == (2, 2, 3)
    hands = ("sniper", "ninja"), ("sniper", "assassin")
    game = ttt_envs.load(ID, mode="round", max_idle_turns=1, allow_pass=True, specialists=hands)
    assert abs(game.oracle().round_value(*hands) - pairs[0, 1, 1]) < 1e-6


def test_the_command_writes_where_the_oracle_looks(folder, capsys):
    game = ttt_envs.load(ID, max_idle_turns=1)
    RoundValues().run(game.options, lambda what, share: None)
    assert [path.name for path in folder.iterdir()] == ["operation_tic_tac_toe-1.table"]
    game.oracle().start_value()
    assert not capsys.readouterr().err, "a table at hand is not made again"


@pytest.mark.parametrize(("out", "words"), [(".", "is a folder, not a file"), ("/dev/null/table", "/dev/null")])
def test_the_command_refuses_a_place_before_the_work(out, words):
    with pytest.raises(OSError, match=words):
        RoundValues(out=Path(out)).run(ttt_envs.load(ID).options, lambda what, share: pytest.fail("at work"))


def test_the_command_does_not_overwrite_the_table_in_the_package():
    with pytest.raises(ValueError, match="come with the package"):
        RoundValues().run(ttt_envs.load(ID).options, lambda what, share: pytest.fail("at work"))


def test_the_command_is_refused_while_another_process_makes_the_table(folder):
    path = tables.table_path(1, False)
    with locked_file(path), pytest.raises(InUse, match=r"toe-1\.table is being written by process \d+"):
        RoundValues().run(ttt_envs.load(ID, max_idle_turns=1).options, lambda what, share: pytest.fail("at work"))


def test_an_interrupted_command_writes_nothing(folder):
    def interrupt(what, share):
        raise KeyboardInterrupt

    folder.mkdir()
    with pytest.raises(KeyboardInterrupt):
        RoundValues().run(ttt_envs.load(ID, max_idle_turns=1).options, interrupt)
    assert not list(folder.iterdir())


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
    with pytest.raises(TypeError, match="must be a structured array"):
        oracle.value(np.zeros(3), 0)
    for player in (-1, 2, [0, 2, 1]):
        with pytest.raises(ValueError, match="player must be from 0 to 1, not"):
            oracle.value(np.repeat(ROUND.new_state(0), 3), player)


@pytest.mark.parametrize(
    ("hand", "words"),
    [
        ("snipper", "unknown specialist 'snipper'; did you mean 'sniper'"),
        ("spy", "unknown specialist 'spy'"),
        (("sniper", "sniper"), "only one sniper, not 2"),
        (("sniper",), "two different names, not"),
        (("sniper", "mole", "hacker"), "two different names, not"),
        (3, "two different names, not 3"),
        (("mole", 3), "two different names, not"),
    ],
)
def test_hands_that_nobody_can_hold(oracle, hand, words):
    with pytest.raises(ValueError, match=words):
        oracle.round_value(hand, "mole")
    with pytest.raises(ValueError, match=words):
        oracle.round_value(None, hand)


def test_an_oracle_refuses_a_game_of_the_other_mode():
    with pytest.raises(ValueError, match="games with mode='round', not Game"):
        RoundOracle(ttt_envs.load(ID))
    with pytest.raises(ValueError, match="games with mode='match', not Game"):
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
