"""Optimal play of the Tic-Tac-Dice family: against a slow solver, against itself, against everybody else."""

import json
from pathlib import Path

import numpy as np
import pytest
from best_play import play
from slow_dice_solver import ROWS, SlowRound

import ttt_envs
from ttt_envs import agents
from ttt_envs.agents.oracle import OracleAgent
from ttt_envs.core import rng
from ttt_envs.core.batch import Batch
from ttt_envs.core.compile import jit
from ttt_envs.evaluation.arena.play import game_seeds, play_games
from ttt_envs.games.tic_tac_dice import rules
from ttt_envs.games.tic_tac_dice.solver import DiceOracle, match
from ttt_envs.games.tic_tac_dice.solver import oracle as oracles
from ttt_envs.games.tic_tac_dice.solver.command import Layout, MatchValues
from ttt_envs.games.tic_tac_dice.solver.rounds import ROUND_PAYOFFS, deal_layouts, rows
from ttt_envs.games.tic_tac_dice.solver.tables import MATCH_VALUES, match_values

SINGLE = ttt_envs.load("tic_tac_dice", rounds="single")
MATCH = ttt_envs.load("tic_tac_dice")
LAYOUTS = deal_layouts(20, 9, seed=123)


# --- a round ---


@pytest.mark.parametrize(
    "ranks",
    [
        pytest.param(ranks, id="".join(map(str, ranks)), marks=[pytest.mark.slow] if k >= 2 else [])
        for k, ranks in enumerate(LAYOUTS)
    ],
)
def test_a_layout_s_value_is_that_of_the_slow_solver(ranks):
    slow = SlowRound(ranks.tolist())
    expected = slow.value(frozenset(), frozenset()) / 2
    assert abs(SINGLE.oracle().layout_value(ranks) - expected) < 1e-9
    # And every claim of every roll, in positions all over the tree.
    values = np.random.default_rng(0).permutation(list(slow.known))[:200]
    states = np.repeat(SINGLE.prototype, len(values))
    states["rank"] = ranks
    generator = np.random.default_rng(1)
    states["to_move"] = generator.integers(2, size=len(states))
    states["dice"] = np.sort(generator.integers(1, 7, (len(states), 2)), axis=1)
    for state, (mine, others) in zip(states, values, strict=True):
        state["owner"][list(mine)] = state["to_move"] + 1
        state["owner"][list(others)] = 2 - state["to_move"]
    states["ply"] = (states["owner"] > 0).sum(axis=1)
    masks = np.empty((len(states), 9), np.bool_)
    SINGLE.loops.mask_rows(states, states["to_move"].astype(np.int64), masks)
    claimable = masks.any(axis=1)  # else it is nobody's turn
    states, values = states[claimable], values[claimable]
    found = SINGLE.oracle().action_values(states, states["to_move"])
    compared = 0
    for state, (mine, others), row in zip(states, values, found, strict=True):
        low, high = state["dice"].tolist()
        for cell in range(9):
            if cell in mine | others or ranks[cell] not in (low, high, low + high):
                assert np.isnan(row[cell])
            else:
                assert abs(row[cell] - slow.claim(mine, others, cell, low == high) / 2) < 1e-9
                compared += 1
    assert compared > 100


@pytest.mark.slow
@pytest.mark.parametrize(("win_length", "markers"), [(4, 14), (4, 13), (4, 11)])
def test_late_positions_of_a_4x4_layout_are_those_of_the_slow_solver(win_length, markers):
    ranks = deal_layouts(1, 16, seed=4)[0]
    values = DiceOracle(4, win_length).solution(ranks, ROUND_PAYOFFS)
    slow = SlowRound(ranks.tolist(), win_length)
    generator = np.random.default_rng(2)
    compared = 0
    while compared < 100:
        cells = generator.permutation(16)[:markers]
        cut = generator.integers(3, markers - 2)
        mine, others = frozenset(cells[:cut].tolist()), frozenset(cells[cut:].tolist())
        if any(row <= mine or row <= others for row in ROWS[4, win_length]):
            continue
        board = sum(3**cell for cell in mine) + sum(2 * 3**cell for cell in others)
        expected = slow.value(mine, others) / 2, -slow.value(others, mine) / 2
        assert np.abs(values[:, board] - expected).max() < 1e-9
        compared += 1


def test_a_step_keeps_the_value_on_average():
    """The value of a claim is the mean, over the dice, of what follows; within 5 standard errors for each of 40."""
    oracle, states = SINGLE.oracle(), play(SINGLE, 50, seed=2)[::8][:40]
    claims = oracle.action_values(states, 0)
    for state, row in zip(states, claims, strict=True):
        cell = int(np.flatnonzero(~np.isnan(row))[0])
        after = np.repeat(np.array([state]), 2000)
        SINGLE.loops.resample_rows(after, np.zeros(2000, np.int64), np.arange(2000).astype(np.uint64))
        SINGLE.loops.step_rows(after, np.arange(2000), np.full((2000, 2), cell))
        values = oracle.value(after, 0)
        assert abs(values.mean() - row[cell]) <= 5 * values.std() / np.sqrt(2000) + 1e-9


def test_solutions_are_kept_within_bounds(monkeypatch):
    monkeypatch.setattr(oracles, "_KEEP", 4 * 2 * 8 * 3**9)
    oracle = DiceOracle()
    values = [oracle.layout_value(ranks) for ranks in LAYOUTS]
    assert len(oracle._solved) == 4
    assert [oracle.layout_value(ranks) for ranks in LAYOUTS] == values


@pytest.mark.parametrize(
    ("ranks", "words"),
    [
        ([1] * 5 + [2] * 4, "4 cards of a rank, but this layout has 5 of rank 1"),
        ([1, 2, 3, 4, 5, 6, 7, 8, 9], "from 1 to 8, not 9"),
        ([1, 2, 3], "9 whole numbers"),
    ],
)
def test_layouts_that_the_deck_cannot_deal_are_refused(ranks, words):
    with pytest.raises(ValueError, match=words):
        SINGLE.oracle().layout_value(ranks)


@pytest.mark.parametrize(
    ("game_id", "options", "words"),
    [
        ("big_tic_tac_dice", {"rounds": "single"}, "layout --option size=4 win_length=3"),
        ("big_tic_tac_dice", {}, "size=4 and rounds='match'"),
        ("tic_tac_dice", {"size": 5, "rounds": "single"}, "size=5"),
        ("tic_tac_dice", {"target_points": 10}, "target_points=10"),
    ],
)
def test_no_oracle_in_words(game_id, options, words):
    game = ttt_envs.load(game_id, **options)
    with pytest.raises(NotImplementedError, match=words):
        game.oracle()
    with pytest.raises(ValueError, match="oracle cannot play"):
        OracleAgent().act(Batch(game, 2, seed=0).view())


def test_states_of_other_options_are_refused():
    with pytest.raises(ValueError, match="3x3"):
        SINGLE.oracle().value(ttt_envs.load("big_tic_tac_dice").new_state(0), 0)
    with pytest.raises(ValueError, match="other options"):
        SINGLE.oracle().value(MATCH.new_state(0), 0)
    with pytest.raises(ValueError, match="target_points up to 9"):
        DiceOracle(4, 4, 5)
    with pytest.raises(ValueError, match="win_length must be from 3 to 3, not 2"):
        DiceOracle(3, 2)


# --- the match ---


def test_the_table_of_a_match_is_sound():
    values, errors = match_values()
    inner = values[1:, 1:]
    assert np.array_equal(inner, -inner.T)
    assert (np.diff(inner, axis=1) > 0).all(), "the more the opponent needs the better"
    assert (np.abs(inner) < 1).all()
    assert errors.max() < 0.001


@pytest.mark.slow
def test_the_stored_table_is_made_by_its_command(tmp_path):
    stored = json.loads(MATCH_VALUES.read_text())
    values = np.array(stored["values"])
    layouts = deal_layouts(stored["layouts"], 9, stored["seed"])
    out = np.empty(len(layouts))
    # Whatever comes of this round, no entry that is estimated follows.
    match.start_values(layouts, rows(3, 3), match.result_values(values, 1, 2), out)
    assert abs(out.mean() - values[1, 2]) < 1e-6
    path = tmp_path / "new" / "t.json"
    assert str(path) in MatchValues(layouts=4, groups=2, out=path).run(MATCH.options, lambda what, share: None)
    again = json.loads(path.read_text())
    assert np.abs(np.array(again["values"]) - values).max() < 0.1


@jit.kernel
def next_round(states, first, second):
    for i in range(states.shape[0]):
        states[i]["points"][0], states[i]["points"][1] = first, second
        rules.begin_round(states[i])


@pytest.mark.parametrize(
    ("points", "games"),
    [((4, 0), 200)]
    + [pytest.param(*case, marks=pytest.mark.slow) for case in (((0, 0), 200), ((2, 3), 400), ((1, 3), 5000))],
)
def test_matches_end_as_the_table_says(points, games):
    """Within 4 standard errors, of play and of the table; the layouts are others than those of the table."""
    oracle = MATCH.oracle()
    batch = Batch(MATCH, games, seed=7)
    next_round(batch.states, *points)
    while not batch.states["done"].all():
        policy = oracle.policy(batch.states, batch.to_move)
        batch.step(np.where(batch.states["done"], -1, policy.argmax(axis=1)))
    paid = batch.states["rewards"][:, 0].astype(float)
    table, _ = match_values()
    expected = table[5 - points[0], 5 - points[1]]
    assert abs(paid.mean() - expected) < 4 * np.hypot(paid.std() / np.sqrt(games), oracle.standard_error)


def test_who_is_behind_plays_for_the_row():
    """At 4 to 4 any point wins, so that a round is played differently from one for points."""
    states = play(SINGLE, 200, seed=8)
    matches = np.repeat(MATCH.prototype, len(states))
    for name in ("rank", "owner", "dice", "to_move", "ply"):
        matches[name] = states[name]
    matches["points"] = 4
    single = SINGLE.oracle().policy(states, states["to_move"])
    even = MATCH.oracle().policy(matches, states["to_move"])
    different = ((single > 0) & (even > 0)).any(axis=1) == 0
    assert 0.01 < different.mean() < 0.5


@pytest.mark.parametrize(
    ("game", "spec"),
    [
        (SINGLE, "random"),
        (MATCH, "greedy"),
        *(pytest.param(game, "mcts:simulations=300", marks=pytest.mark.slow) for game in (SINGLE, MATCH)),
    ],
)
def test_no_agent_beats_it(game, spec):
    """Paired: each deal and its dice from both seats. No score above its due by more than 3 standard errors."""
    pairs = 400 if game is SINGLE else 100
    seats = np.repeat([[0, 1], [1, 0]], pairs, axis=0)
    seeds = np.tile(game_seeds(11, pairs), 2)
    played = play_games(game, [agents.load("oracle"), agents.load(spec)], seats=seats, seeds=seeds)
    rewards = played.rewards.astype(float)
    paired = (rewards[:pairs, 0] + rewards[pairs:, 1]) / 2
    error = paired.std() / np.sqrt(pairs)
    assert paired.mean() > -3 * error
    if "mcts" not in spec:
        assert paired.mean() > 3 * error


# --- the command ---


def test_the_command_solves_a_layout():
    ranks, told = LAYOUTS[3], []
    command = Layout(ranks=tuple(ranks.tolist()))
    printed = command.run(MATCH.options, lambda what, share: told.append((what, share)))
    assert f"{SINGLE.oracle().layout_value(ranks):+.6f}" in printed
    assert len(printed.splitlines()) == 3 + 1 + 21
    assert told == [("solving the layout", 1.0)]
    dealt = Layout(seed=5).run(MATCH.options, lambda what, share: None)
    assert dealt.splitlines()[:3] == ["  ".join(map(str, row)) for row in deal_layouts(1, 9, 5)[0].reshape(3, 3)]


@pytest.mark.parametrize(
    ("command", "options", "error", "words"),
    [
        (Layout(ranks=(1, 1, 1, 1, 1, 2, 3, 4, 5)), {}, ValueError, "4 cards of a rank"),
        (Layout(seed=-1), {}, ValueError, "--seed must be at least 0"),
        (MatchValues(layouts=10, groups=4), {}, ValueError, "multiple"),
        (MatchValues(), {"size": 4}, NotImplementedError, "size=4"),
        (MatchValues(out=Path(".")), {}, IsADirectoryError, "is a folder"),
    ],
)
def test_the_command_refuses_with_the_reason(command, options, error, words):
    with pytest.raises(error, match=words):
        command.run(ttt_envs.load("tic_tac_dice", **options).options, lambda what, share: None)


def test_dice_that_nobody_knows_are_not_used():
    states = play(SINGLE, 20, seed=9)
    other = states.copy()
    rng.fold_rows(states["rng"], np.ones(len(states), np.uint64), other["rng"])
    oracle = SINGLE.oracle()
    assert np.array_equal(oracle.action_values(states, 0), oracle.action_values(other, 0), equal_nan=True)
