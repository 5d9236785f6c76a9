"""The games in OpenSpiel: loaded by name with options, played by its searches, solved by its CFR, copied and kept."""

import copy
import pickle
import subprocess
import sys

import kuhn_poker
import numpy as np
import pytest

import ttt_envs
from ttt_envs import evaluation
from ttt_envs.solvers import sequence, tree

pyspiel = pytest.importorskip("pyspiel", reason="open_spiel is not installed")
open_spiel = pytest.importorskip("ttt_envs.integrations.open_spiel")
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
    game = pyspiel.load_game("ttt_envs_martian_tic_tac_toe(max_plies=200,repetition_limit=-1)")
    assert (game.game.options["max_plies"], game.game.options["repetition_limit"]) == (200, None)
    game = pyspiel.load_game("ttt_envs_operation_tic_tac_toe(mode=round,specialists=mole;none,first_placer=1)")
    assert game.game.options["specialists"] == ("mole", None)
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


def test_its_bots_are_agents():
    game = pyspiel.load_game("ttt_envs_super_tic_tac_toe")
    agent = open_spiel.BotAgent(game, searcher(game, 2), name="search")
    report = evaluation.tournament(game.game, [agent, "random"], games=2, quiet=True)
    assert report.failures == []
    with pytest.raises(ValueError, match="agent search was made for"):
        agent.check(ttt_envs.load("super_tic_tac_toe", won_boards="closed"))
    with pytest.raises(ValueError, match="without hidden information"):
        agent.check(ttt_envs.load("tic_tac_match"))


@pytest.mark.parametrize("player", [-4, -1, 2, None])
def test_who_is_no_player_is_shown_nothing(player):
    state = pyspiel.load_game("ttt_envs_tic_tac_dice(rounds=single)").new_initial_state()
    assert state.is_chance_node()
    observer = state.get_game().make_py_observer()
    shows = ("information_state_string", "information_state_tensor", "observation_string", "observation_tensor")
    for show in (*(getattr(state, name) for name in shows), lambda player: observer.set_from(state, player)):
        with pytest.raises(ValueError, match=r"a player is a number from 0 to 1, not -?[124]"):
            show(player)


def test_information_states_as_tensors():
    ours = ttt_envs.load("operation_tic_tac_toe", mode="round")
    game = pyspiel.load_game("ttt_envs_operation_tic_tac_toe(mode=round,history=2,rng_seed=1)")
    assert game.get_type().provides_information_state_tensor
    assert game.information_state_tensor_shape() == [ours.encoded_size(2)]
    assert pyspiel.load_game("ttt_envs_operation_tic_tac_toe").history == 8
    assert pyspiel.load_game("ttt_envs_super_tic_tac_toe").history == 0
    observer = game.make_py_observer(pyspiel.IIGObservationType(perfect_recall=True))
    generator, state, plies = np.random.default_rng(0), game.new_initial_state(), 0
    if state.is_chance_node():
        state.apply_action(0)
    live = ours.start(state=state.node.states, history=2, recall=True)
    while not state.is_terminal() and not state.is_chance_node():  # the cursor's own chance is another
        for player in range(2):
            expected = live.observation(player, history=2)
            assert state.information_state_tensor(player) == expected.tolist()
            observer.set_from(state, player)
            assert observer.dict["info_state"].tolist() == expected.tolist()
            assert state.information_state_string(player) == f"{player}:{live.info_state_key(player).hex()}"
            assert serialized(state).information_state_tensor(player) == expected.tolist()
        joint = [-1, -1]
        for _ in live.players:
            joint[state.current_player()] = action = int(generator.choice(state.legal_actions()))
            state.apply_action(action)
        live.apply(joint)
        plies += 1
    assert plies > 2


def test_the_value_of_a_policy_of_its_cfr_is_ours():
    from open_spiel.python.algorithms import cfr, exploitability

    game = open_spiel.SpielGame(kuhn_poker.make())
    solver = cfr.CFRSolver(game)
    for _ in range(30):
        solver.evaluate_and_update_policy()
    policy = solver.average_policy()
    found, tables = tree.walk(game.game), []
    for player, mine in enumerate(found.players):
        table = np.zeros((len(mine.digests), game.game.num_actions))
        for row, digest in enumerate(mine.digests):
            table[row] = policy.policy_for_key(f"{player}:{digest.tobytes().hex()}")
        tables.append(table)
    ours = sequence.exploitability(found, found.policy(tables))
    assert 0 < ours.value < 0.05
    assert ours.value == pytest.approx(exploitability.exploitability(game, policy), abs=1e-6)
    assert ours.nash_conv == pytest.approx(exploitability.nash_conv(game, policy), abs=1e-6)


def test_what_cannot_be_enumerated_is_sampled():
    sampled = {
        "super_tic_tac_toe": False,
        f"tic_tac_match({SMALL})": False,
        "tic_tac_match": True,
        "tic_tac_dice(rounds=single)": True,
    }
    for name, expected in sampled.items():
        assert pyspiel.load_game(f"ttt_envs_{name}").is_sampled == expected
    mode = pyspiel.GameType.ChanceMode
    for name, expected in {"super_tic_tac_toe": mode.DETERMINISTIC, "tic_tac_dice": mode.EXPLICIT_STOCHASTIC}.items():
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


def serialized(state):
    return pyspiel.deserialize_game_and_state(pyspiel.serialize_game_and_state(state.get_game(), state))[1]


COPIES = [serialized, lambda state: pickle.loads(pickle.dumps(state)), copy.deepcopy]


def shown(state):
    chance = state.is_chance_node()
    each = range(0 if state.history() == [] else state.num_players())
    return (
        str(state),
        str(state.get_game()),
        state.history(),
        state.current_player(),
        state.returns(),
        state.chance_outcomes() if chance else state.legal_actions(),
        [] if chance else [(state.information_state_string(p), state.observation_tensor(p)) for p in each],
    )


@pytest.mark.parametrize(
    "name",
    [
        "super_tic_tac_toe(won_boards=closed)",
        "tic_tac_dice(rng_seed=3)",
        "tic_tac_match",
        "operation_tic_tac_toe(mode=round,specialists=sniper+mole;hacker)",
    ],
)
def test_games_and_states_are_copied_and_kept_in_the_middle(name):
    game = pyspiel.load_game(f"ttt_envs_{name}")
    for each in (pickle.loads(pickle.dumps(game)), copy.deepcopy(game), pyspiel.load_game(str(game))):
        assert (str(each), each.game.options) == (str(game), game.game.options)
    generator, state = np.random.default_rng(0), game.new_initial_state()
    for ply in range(13):
        if ply in (0, 1, 6, 7, 12):
            for make in COPIES:
                again = make(state)
                assert shown(again) == shown(state)
                assert again.node.graph is again.get_game().graph
                if not state.is_terminal():
                    action = state.legal_actions()[0]
                    after = state.clone()
                    after.apply_action(action)
                    again.apply_action(action)
                    if not after.is_chance_node():
                        assert shown(again) == shown(after)
        if state.is_terminal():
            break
        state.apply_action(int(generator.choice(state.legal_actions())))
    assert len(state.history()) > 7


def test_another_process_reads_a_state(tmp_path):
    state = pyspiel.load_game("ttt_envs_super_tic_tac_toe").new_initial_state()
    state.apply_action(40)
    (tmp_path / "state").write_bytes(pickle.dumps(state))
    code = "import pickle, sys; print(pickle.load(open(sys.argv[1], 'rb')).history())"
    done = subprocess.run([sys.executable, "-c", code, str(tmp_path / "state")], capture_output=True, text=True)
    assert (done.returncode, done.stdout, done.stderr) == (0, "[40]\n", "")


def test_kaggle_takes_the_games():
    kaggle = pytest.importorskip(
        "kaggle_environments.envs.open_spiel_env.open_spiel_env", reason="kaggle-environments is not installed"
    )
    from kaggle_environments import make

    names = [f"ttt_envs_{game_id}" for game_id in ttt_envs.GAMES]
    found = kaggle._register_game_envs(names)
    assert set(found) == {f"open_spiel_{name}" for name in names}
    env = make(found["open_spiel_ttt_envs_tic_tac_dice"], debug=True)
    env.run(["random", "random"])
    assert list(env.toJSON()["statuses"]) == ["DONE", "DONE"]
    for game_id in ttt_envs.GAMES:  # who could read the state would know what others hold
        game, seen = ttt_envs.load(game_id), []
        env = make(found[f"open_spiel_ttt_envs_{game_id}"], debug=True)

        def look(observation, configuration, seen=seen):
            seen.append(dict(observation))
            return {"submission": -2}  # give up

        env.run([look] * game.num_players)
        secrets = game.hidden_information or game.simultaneous
        assert any(each.get("serializedGameAndState") for each in seen) == (not secrets), game_id


@pytest.mark.parametrize("game_id", ttt_envs.GAMES)
def test_states_are_hidden_from_agents_where_something_is_secret(game_id):
    game = open_spiel.SpielGame(ttt_envs.load(game_id))
    state = game.new_initial_state()
    secrets = game.game.hidden_information or game.game.simultaneous
    assert state.hides_state_from_agents() == serialized(state).hides_state_from_agents() == secrets


@pytest.mark.parametrize(("seed", "foretold"), [(-1, False), (1, True)])
def test_a_serialized_state_foretells_dice_only_if_its_game_names_the_seed(seed, foretold):
    state = pyspiel.load_game(f"ttt_envs_tic_tac_dice(rng_seed={seed})").new_initial_state()
    state.apply_action(0)
    assert not state.node.states["rng"].any(), "a position that agents read has no generator"
    listed = []
    for each in (state, serialized(state)):
        each.apply_action(each.legal_actions()[0])
        listed.append([chance for _, chance in each.chance_outcomes()])
    assert (listed[0] == listed[1]) == foretold
