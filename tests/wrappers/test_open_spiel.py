"""The games in OpenSpiel: loaded by name with options, played by its searches, solved by its CFR."""

import subprocess
import sys

import numpy as np
import pytest

import ttt_envs
from ttt_envs import evaluation
from ttt_envs.core import jit

pyspiel = pytest.importorskip("pyspiel", reason="open_spiel is not installed")
open_spiel = pytest.importorskip("ttt_envs.integrations.open_spiel")
pytestmark = pytest.mark.skipif(jit.DISABLED, reason="too slow without the JIT")

SMALL = "colours=1,copies=4,flips=0,wipe_outs=0,double_plays=0,hand_size=1,max_turns=2"


@pytest.fixture(scope="module", autouse=True)
def registered():
    open_spiel.register()
    open_spiel.register()  # twice does no harm


def test_all_games_are_registered():
    assert {f"ttt_envs_{game_id}" for game_id in ttt_envs.GAMES} <= set(pyspiel.registered_names())


def test_options_are_parameters():
    game = pyspiel.load_game("ttt_envs_super_tic_tac_toe(won_boards=closed)")
    assert game.game.options["won_boards"] == "closed"
    assert game.game.options["first_move"] == "center_board"
    assert pyspiel.load_game("ttt_envs_tic_tac_dice(rounds=single)").game.options["rounds"] == "single"


@pytest.mark.parametrize(
    "name",
    [
        "super_tic_tac_toe",
        pytest.param("martian_tic_tac_toe", marks=pytest.mark.slow),
        "tic_tac_dice(rounds=single)",
        "operation_tic_tac_toe(mode=round)",
    ],
)
def test_random_games_are_those_of_the_library(name):
    game = pyspiel.load_game(f"ttt_envs_{name}")
    ours = game.game
    generator = np.random.default_rng(0)
    for _ in range(2):
        state = game.new_initial_state()
        while not state.is_terminal():
            if state.is_chance_node():
                actions, chances = zip(*state.chance_outcomes(), strict=True)
                assert sum(chances) == pytest.approx(1)
                state.apply_action(int(generator.choice(actions, p=chances)))
                continue
            player = state.current_player()
            node = state.node
            assert state.legal_actions() == np.flatnonzero(ours.masks(node.states, [player])[0]).tolist()
            assert state.observation_tensor(player) == ours.observations(node.states, [player])[0].tolist()
            assert state.observation_string(player) == ours.format_state(node.states[0], player)
            copy = state.clone()
            action = int(generator.choice(state.legal_actions()))
            assert state.action_to_string(player, action) == ours.action_names[action]
            state.apply_action(action)
            assert copy.node is node
        assert sum(state.returns()) == pytest.approx(0)
        assert state.returns() == [float(each) for each in state.node.states["rewards"][0]]


def searcher(game, simulations):
    from open_spiel.python.algorithms import mcts

    rollouts = mcts.RandomRolloutEvaluator(1, np.random.RandomState(0))
    return mcts.MCTSBot(game, 1.4, simulations, rollouts, random_state=np.random.RandomState(0))


def test_its_tree_search_finds_a_win():
    game = pyspiel.load_game("ttt_envs_super_tic_tac_toe")
    generator, positions = np.random.default_rng(0), []
    while len(positions) < 3:
        state = game.new_initial_state()
        while not state.is_terminal():
            before = state.clone()
            state.apply_action(int(generator.choice(state.legal_actions())))
        if state.returns()[before.current_player()] > 0:
            positions.append(before)
    for state in positions:
        player = state.current_player()
        state.apply_action(searcher(game, 60).step(state))
        assert state.returns()[player] == 1


def test_its_tree_search_plays_where_chance_is_sampled():
    game = pyspiel.load_game("ttt_envs_tic_tac_dice(rounds=single,rng_seed=1)")
    generator, state = np.random.RandomState(0), game.new_initial_state()
    while not state.is_terminal():
        if state.is_chance_node():
            outcomes, chances = zip(*state.chance_outcomes(), strict=True)
            state.apply_action(generator.choice(outcomes, p=chances))
        else:
            state.apply_action(searcher(game, 10).step(state))
    assert sum(state.returns()) == 0


def test_its_bots_are_agents():
    game = pyspiel.load_game("ttt_envs_super_tic_tac_toe")
    agent = open_spiel.BotAgent(game, searcher(game, 2), name="search")
    report = evaluation.tournament(game.game, [agent, "random"], games=2, quiet=True)
    assert report.failures == []
    with pytest.raises(ValueError, match="agent search was made for Game"):
        agent.check(ttt_envs.load("super_tic_tac_toe", won_boards="closed"))
    with pytest.raises(ValueError, match="without hidden information"):
        agent.check(ttt_envs.load("tic_tac_match"))


@pytest.mark.slow
def test_its_cfr_solves_a_small_game():
    from open_spiel.python.algorithms import cfr, exploitability

    game = pyspiel.load_game(f"ttt_envs_tic_tac_match({SMALL})")
    solver = cfr.CFRPlusSolver(game)
    first = exploitability.exploitability(game, solver.average_policy())
    for _ in range(8):
        solver.evaluate_and_update_policy()
    assert exploitability.exploitability(game, solver.average_policy()) < min(first / 2, 0.05)


def test_what_cannot_be_enumerated_is_sampled():
    mode = pyspiel.GameType.ChanceMode
    modes = {
        "super_tic_tac_toe": mode.DETERMINISTIC,
        f"tic_tac_match({SMALL})": mode.EXPLICIT_STOCHASTIC,
        "tic_tac_match": mode.SAMPLED_STOCHASTIC,
        "tic_tac_dice(rounds=single)": mode.SAMPLED_STOCHASTIC,
    }
    for name, expected in modes.items():
        assert pyspiel.load_game(f"ttt_envs_{name}").get_type().chance_mode == expected
    game = pyspiel.load_game("ttt_envs_tic_tac_match")
    hands = []
    for _ in range(3):
        state = game.new_initial_state()
        assert len(state.chance_outcomes()) > 100
        assert sum(chance for _, chance in state.chance_outcomes()) == pytest.approx(1)
        again = state.clone()
        for each in (state, again):
            each.apply_action(0)
        assert str(again) == str(state), "an outcome leads to the same state each time"
        hands.append(str(state))
    assert len(set(hands)) == 3, "each start is another sample"


def test_a_seed_fixes_what_is_sampled():
    def first(seed):
        game = pyspiel.load_game(f"ttt_envs_tic_tac_dice(rounds=single,rng_seed={seed})")
        state = game.new_initial_state()
        while not state.is_terminal():
            state.apply_action(state.legal_actions()[0])
        return state.history(), str(state)

    assert first(1) == first(1)
    assert first(1)[1] != first(2)[1]


def test_an_interpreter_with_registered_games_comes_to_its_end():
    code = (
        "import pyspiel; from ttt_envs.integrations import open_spiel; open_spiel.register(); "
        "pyspiel.load_game('ttt_envs_super_tic_tac_toe').new_initial_state()"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert (done.returncode, done.stderr) == (0, "")


def test_nodes_that_nobody_needs_are_forgotten(monkeypatch):
    monkeypatch.setattr(open_spiel, "_KEPT", 5)
    game = open_spiel.SpielGame(ttt_envs.load("super_tic_tac_toe"))
    state = game.new_initial_state()
    for _ in range(20):
        state.apply_action(state.legal_actions()[0])
    assert len(game.graph.kept) == 5
    assert len(game.root().children) == 0
