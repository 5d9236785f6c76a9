"""OpenSpiel's search as an agent: the positions that it is shown are ours, and its moves are legal here."""

import numpy as np
import pytest

import ttt_envs
from ttt_envs import agents, evaluation
from ttt_envs.core.view import View
from ttt_envs.games.super_tic_tac_toe.text import cells_of

pyspiel = pytest.importorskip("pyspiel", reason="open_spiel is not installed")

CLOSED = {"first_move": "anywhere", "won_boards": "closed"}
GAME = ttt_envs.load("super_tic_tac_toe", **CLOSED)


def marks_there(state) -> np.ndarray:
    """OpenSpiel's marks, as `cells_of` has ours: int (81,) by small board and cell."""
    rows = [line for line in str(state).splitlines() if set(line) <= set(".xo ") and line.strip()]
    cells = np.array([[".xo".index(mark) for mark in row if mark != " "] for row in rows])
    return cells.reshape(3, 3, 3, 3).transpose(0, 2, 1, 3).reshape(81)


def test_positions_and_moves_are_the_same_there():
    other, theirs, generator = (
        GAME.extras.counterpart,
        pyspiel.load_game("ultimate_tic_tac_toe"),
        np.random.default_rng(1),
    )
    for seed in range(4):
        state, history = GAME.start(seed=seed), []
        while not state.over:
            before, action = state.states, int(generator.choice(state.legal_actions()))
            state.apply(action)
            if not state.over:
                longer = other.history(state.states, history)
                assert longer[: len(history)] == history
                assert other.action(before, longer[len(history) :]) == action
                history = longer
                there = theirs.new_initial_state()
                for each in history:
                    there.apply_action(each)
                assert there.current_player() == state.player
                assert (marks_there(there) == cells_of(state.states[0]).ravel()).all()


def test_an_order_of_an_opening_is_found():
    game = ttt_envs.load("super_tic_tac_toe", **CLOSED, random_opening_plies=16)
    for seed in range(8):
        states = game.new_state(seed)
        there = pyspiel.load_game("ultimate_tic_tac_toe").new_initial_state()
        for each in game.extras.counterpart.history(states, []):
            there.apply_action(each)
        assert (marks_there(there) == cells_of(states[0]).ravel()).all()


def test_a_history_of_another_game_is_refused():
    history = GAME.extras.counterpart.history
    state = GAME.start(seed=0)
    state.apply(0)
    with pytest.raises(ValueError, match="no order of moves was found"):
        history(state.states, [4, 4])


def test_it_plays_whole_games_by_the_seed_alone():
    found = [evaluation.tournament(GAME, ["open_spiel:mcts=20", "random"], games=6, seed=seed) for seed in (1, 1, 2)]
    scores = [each.mean_reward[0, 1] for each in found]
    assert scores[0] == scores[1]
    assert scores[0] > 0.5
    view = View(GAME, np.repeat(GAME.new_state(0), 12), np.zeros(12, np.int64), np.arange(12, dtype=np.uint64))
    agent = agents.load("open_spiel:mcts=20")
    actions = agent.act(view)
    assert (actions == agent.act(view)).all()
    assert len(np.unique(actions)) > 3


UNREACHABLE = """X to move in board 2
X X X | X X X | X X .
. . . | . . . | . . .
. . . | . . . | . . .
------+-------+------
O O O | O O . | . . .
. . . | . . . | O . .
. . . | . . . | . . .
------+-------+------
O O . | . . . | . . .
. . . | . . . | . . .
. . . | . . . | . . .
boards: XX. O.. ...
"""


def test_a_position_that_no_game_reaches_is_refused():
    states = GAME.parse_state(UNREACHABLE)
    view = View(GAME, states, states["to_move"], np.zeros(1, np.uint64))
    with pytest.raises(ValueError, match="no order of moves was found"):
        agents.load("open_spiel:mcts=200").act(view)


@pytest.mark.parametrize(
    ("game", "options"), [("super_tic_tac_toe", {}), ("super_tic_tac_toe", {"won_boards": "closed"}), ("martian", {})]
)
def test_other_games_and_options_are_refused(game, options):
    with pytest.raises(ValueError, match="plays only games that OpenSpiel has, with the same rules; it has none like"):
        agents.load("open_spiel").check(ttt_envs.load(game, **options))


def test_the_agent_that_was_trained_for_its_rule_beats_it():
    game = ttt_envs.load("super_tic_tac_toe", **CLOSED, random_opening_plies=4)
    report = evaluation.tournament(game, ["trained:super_tic_tac_toe", "open_spiel:mcts=50"], games=4, seed=2)
    assert report.chosen == {"trained:super_tic_tac_toe": "trained:super_tic_tac_toe/ntuple_closed"}
    assert report.mean_reward[0, 1] > 0.5
