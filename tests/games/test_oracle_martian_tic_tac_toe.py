"""Optimal play of Martian Tic-Tac-Toe on the 3x3 board: the table, its file, and games against everybody."""

import re
from pathlib import Path

import numpy as np
import pytest
from slow_martian_tic_tac_toe import SlowMartianTicTacToe

import ttt_envs
from ttt_envs import agents
from ttt_envs.agents.oracle import OracleAgent
from ttt_envs.core.batch import Batch
from ttt_envs.core.rng import choose_rows
from ttt_envs.evaluation.arena.play import play_games
from ttt_envs.games.martian_tic_tac_toe import rules
from ttt_envs.games.martian_tic_tac_toe.rules import SIZES
from ttt_envs.games.martian_tic_tac_toe.solver import command, positions, tables

# All of it asks the table, which takes most of a minute to make.
pytestmark = pytest.mark.slow

GAME = ttt_envs.load("martian_tic_tac_toe")


def random_states(n: int, seed: int) -> np.ndarray:
    """Positions of random games that go on: structured (n,)."""
    batch = Batch(GAME, max(n // 8, 1), seed=seed, auto_reset=True)
    generator, found = np.random.default_rng(seed), []
    actions = np.empty(batch.n, np.int64)
    while sum(map(len, found)) < n:
        found.append(batch.states[~batch.states["done"]].copy())
        choose_rows(batch.masks(), generator.integers(2**63, size=batch.n, dtype=np.uint64), actions)
        batch.step(actions)
    return np.concatenate(found)[:n]


# --- what is known of the game ---


def test_the_openings():
    oracle, start = GAME.oracle(), GAME.new_state(0)
    assert oracle.covers(start)
    assert oracle.plies_to_end(start) == 145
    assert oracle.value(start, 0) == 1
    assert [GAME.action_names[a] for a in np.flatnonzero(oracle.policy(start, 0)[0])] == ["b2=1"]
    values = oracle.action_values(start, 0)[0]
    openings = {name: values[GAME.parse_action(name)] for name in GAME.action_names}
    assert openings.pop("b2=1") == 1
    assert [name for name, value in openings.items() if value == -1] == [f"{c}=1" for c in _cells() if c != "b2"]
    for name, plies in (("a1=1", 152), ("b1=1", 140), ("b2=1", 145)):
        states = start.copy()
        GAME.loops.step_one(states, 0, np.full(2, GAME.parse_action(name)))
        assert oracle.plies_to_end(states) == plies - 1


def _cells() -> list[str]:
    return [f"{column}{row}" for row in "123" for column in "abc"]


def test_the_page_of_facts_is_what_the_command_prints():
    table, docs = tables.load_table(False), Path(__file__).resolve().parents[2] / "docs"
    page = (docs / "games" / "martian_tic_tac_toe.md").read_text()
    *openings, counts, longest = command.facts(table)
    assert counts in page
    assert longest in page
    for line in openings:
        name, result = line.removeprefix("opening on ").split(": ")
        assert re.search(rf"\b{name}\b.*\| {result} \|\n", page)
    assert (docs / "martian_tic_tac_toe_drawn.svg").read_text() == command.drawn_picture(table) + "\n"


def test_best_play_takes_145_plies_whatever_the_seed():
    played = play_games(GAME, [agents.load("oracle")], seats=[0, 0], games=20, seed=3)
    assert (played.lengths == 145).all()
    assert (played.rewards[:, 0] == 1).all()
    assert len(set(played.moves.tolist())) > 1


def test_with_same_size_swaps_every_opening_is_a_draw():
    game = ttt_envs.load("martian_tic_tac_toe", same_size_swap=True)
    values = game.oracle().action_values(game.new_state(0), 0)[0]
    assert (values[0::3] == 0).all()


def table_boards(n: int, seed: int) -> np.ndarray:
    """Random boards of the table, as digits seen by the mover: int64 (n, 9), in random mirror images."""
    present = tables.load_table(False).present
    bits = np.unpackbits(present.view(np.uint8), bitorder="little")
    generator = np.random.default_rng(seed)
    boards = generator.choice(np.flatnonzero(bits), n, replace=False)
    digits = boards[:, None] // 7 ** np.arange(9) % 7
    turns = positions.SYMMETRIES[generator.integers(8, size=n)]
    return np.take_along_axis(digits, turns, axis=1)


def test_random_positions_against_successors_of_the_slow_rules():
    """The table's value of 100,000 positions, by the values of what the slow version of the rules leads to."""
    n = 100_000
    digits = table_boards(n, seed=1)
    oracle = GAME.oracle()
    successors, owner, ends = [], [], np.zeros(n, bool)
    slow = SlowMartianTicTacToe()
    for i, row in enumerate(digits.tolist()):
        board = {cell: ((digit - 1) // 3, (digit - 1) % 3 + 1) for cell, digit in enumerate(row) if digit}
        slow.start(board, 0, len(board))
        if len(board) == 1:
            slow.had_a_turn = {1}
        for action in slow.moves_of(0):
            slow.start(board, 0, len(board))
            slow.play(action)
            if slow.done:
                ends[i] = True
            else:
                after_it = [slow.board.get(cell) for cell in range(9)]
                successors.append([0 if piece is None else 3 * piece[0] + piece[1] for piece in after_it])
                owner.append(i)
    now = oracle.plies_to_end(_states(digits, 0))
    after = oracle.plies_to_end(_states(np.array(successors), 1))
    owner = np.array(owner)
    assert (after > -2).all()
    assert (now > -2).all()
    lost = np.full(n, 10_000)
    np.minimum.at(lost, owner, np.where((after >= 0) & (after % 2 == 0), after, 10_000))
    lost[ends] = 0
    won = np.full(n, -1)
    np.maximum.at(won, owner, np.where(after % 2 == 1, after, -1))
    drawn = np.zeros(n, bool)
    np.logical_or.at(drawn, owner, after == -1)
    expected = np.where(lost < 10_000, lost + 1, np.where(drawn, -1, won + 1))
    assert np.array_equal(expected, now)


def _states(digits: np.ndarray, to_move: int) -> np.ndarray:
    """States with these boards, in which digits 1 to 3 are player 0's pieces, and no past: structured (n,)."""
    states = np.repeat(GAME.prototype, len(digits))
    states["piece"] = digits
    states["to_move"] = to_move
    states["ply"] = (digits > 0).sum(axis=1)
    states["occurred"] = 1
    for player in (0, 1):
        for size in range(SIZES):
            states["stash"][:, player, size] = 3 - (digits == SIZES * player + size + 1).sum(axis=1)
    return states


# --- what the limits change ---

# Player 0 wins at once with a3=1.
NEARLY = [1, 0, 0, 1, 4, 5, 0, 0, 4]


def test_a_win_that_comes_too_late_is_a_draw():
    states = np.repeat(_states(np.array([NEARLY]), 0), 3)
    states["ply"] = 200, 298, 299
    oracle = GAME.oracle()
    assert (oracle.plies_to_end(states) == 1).all()
    assert oracle.value(states, 0).tolist() == [1, 1, 1]  # the win of the last ply counts
    far = random_states(5000, seed=8)
    plies = oracle.plies_to_end(far)
    far = far[plies > 1]
    far["ply"] = 300 - oracle.plies_to_end(far) + 1
    assert oracle.covers(far).all()
    assert (oracle.value(far, 0) == 0).all()
    far["ply"] -= 1
    assert (np.abs(oracle.value(far, 0)) == 1).all()


def test_it_has_a_policy_at_the_last_plies_too():
    oracle = GAME.oracle()
    for ply in (297, 298, 299):
        states = random_states(5000, seed=ply)
        states["ply"] = ply
        mover = states["to_move"]
        policy, values = oracle.policy(states, mover), oracle.action_values(states, mover)
        covered = oracle.covers(states)
        assert covered.mean() > 0.99
        assert np.allclose(policy.sum(axis=1), covered)
        chosen = np.where(policy > 0, values, np.inf).min(axis=1)[covered]
        assert np.array_equal(chosen, oracle.value(states, mover)[covered])


def logged(states: np.ndarray, moves: list[tuple[int, int, int]]) -> np.ndarray:
    """The states with a past: (player, cell, replaced piece) of each move since the last placement."""
    states = states.copy()
    for k, (player, cell, replaced) in enumerate(moves):
        states["log"][0, k] = rules.entry(states[0], cell, replaced, player)
    states["logged"] = len(moves)
    pieces = (states["piece"] != 0).sum(axis=1)
    states["ply"] = np.maximum(states["ply"], pieces + len(moves))
    return states


def test_a_past_that_could_spoil_the_win_is_not_covered():
    oracle = GAME.oracle()
    states = random_states(20_000, seed=9)
    plies = oracle.plies_to_end(states)
    states = states[(plies > 4) & (states["logged"] == 0)]
    found = 0
    for k in range(len(states)):
        first = states[k : k + 1]
        policy = oracle.policy(first, first["to_move"])[0]
        after = first.copy()
        GAME.loops.step_one(after, 0, np.full(2, policy.argmax()))
        if after["logged"][0] != 1:
            continue  # it was a placement
        # Pretend that from here both shuffled twice through the position after the best move, and came back.
        player, replaced, cell = rules.read_entry(after[0], 0)
        now = int(after["piece"][0, cell])
        back = [(player, cell, replaced), (1 - player, cell, now)]
        spoilt = logged(first, [*back, *back])
        assert oracle.plies_to_end(spoilt) == oracle.plies_to_end(first)
        assert not oracle.covers(spoilt)[0]
        assert np.isnan(oracle.value(spoilt, 0)[0])
        assert not oracle.policy(spoilt, spoilt["to_move"]).any()
        assert oracle.covers(logged(first, back))[0], "once is not too often"
        free = first.copy()  # without a limit, nothing is logged
        free["repetition_limit"] = 0
        assert oracle.covers(free)[0]
        found += 1
        if found == 20:
            return
    raise AssertionError("no such positions were found")


@pytest.mark.parametrize("options", [{"size": 4}, {"size": 5, "players": 3}])
def test_no_oracle_in_words(options):
    game = ttt_envs.load("martian_tic_tac_toe", **options)
    with pytest.raises(NotImplementedError, match="size=3 and players=2"):
        game.oracle()
    with pytest.raises(ValueError, match="oracle cannot play"):
        OracleAgent().act(Batch(game, 2, seed=0).view())


def test_states_of_other_options_are_refused():
    swaps = ttt_envs.load("martian_tic_tac_toe", same_size_swap=True)
    with pytest.raises(ValueError, match="same_size_swap=False"):
        GAME.oracle().value(swaps.new_state(0), 0)
    with pytest.raises(ValueError, match="no states of the 3x3 game of two players"):
        GAME.oracle().value(ttt_envs.load("martian_tic_tac_toe", size=4).new_state(0), 0)
    with pytest.raises(ValueError, match="no states of the 3x3 game of two players"):
        GAME.oracle().value(ttt_envs.load("martian_tic_tac_toe", size=5, players=3).new_state(0), 0)


@pytest.mark.parametrize("spec", ["random", "greedy", "mcts:simulations=300"])
def test_as_second_player_it_wins_when_the_other_errs(spec):
    games = range(60)
    played = play_games(GAME, [agents.load(spec), agents.load("oracle")], seats=[0, 1], games=60, seed=5, record=games)
    oracle, erred = GAME.oracle(), 0
    for k in games:
        states = played.records[k].states[1:-1]  # after the opening
        values = oracle.value(states, 1)
        assert not np.isnan(values).any()
        assert (np.diff(values) >= 0).all(), "the oracle threw something away"
        if (values == 1).any():
            erred += 1
            assert played.rewards[k, 1] == 1
    assert erred > 50
