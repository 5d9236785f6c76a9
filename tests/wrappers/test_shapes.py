"""Shapes that other frameworks need: plain observations, actions of any kind, truncation, states, autoreset."""

import gymnasium
import numpy as np
import pytest
from gymnasium.vector import AutoresetMode
from toy_coin import make as make_coin

import ttt_envs
from ttt_envs.core.checks import IllegalAction

SUPER = "super_tic_tac_toe"
MATCH_OF_TWO = {"mode": "match", "rounds_to_win": 7, "max_rounds": 10, "max_idle_turns": 3}


def sample(mask, generator):
    return int(generator.choice(np.flatnonzero(mask)))


# --- actions ---


class Scalar:
    """As 0-d arrays of torch and JAX are: a whole number for Python, and of no type of its."""

    def __init__(self, value, dtype="int32"):
        self.value, self.dtype = value, dtype

    def __index__(self):
        return self.value


def test_an_action_is_whatever_is_a_whole_number():
    torch = pytest.importorskip("torch")
    given = [40, np.int8(40), np.array(40), np.array([40]), np.array([[40]]), Scalar(40)]
    given += [torch.tensor(40), torch.tensor([40], dtype=torch.uint8)]
    for action in given:
        env = ttt_envs.make_aec(SUPER)
        env.reset(seed=0)
        env.step(action)
        assert env.get_state() == after_the_centre()
        single = ttt_envs.make_single(SUPER, player=0)
        single.reset(seed=0)
        single.step(action)


def after_the_centre() -> bytes:
    env = ttt_envs.make_aec(SUPER)
    env.reset(seed=0)
    env.step(40)
    return env.get_state()


# --- states, truncation ---


@pytest.mark.parametrize("make", [ttt_envs.make_aec, ttt_envs.make_parallel])
def test_a_state_is_all_players_observations(make):
    env = make("operation_tic_tac_toe", **MATCH_OF_TWO)
    env.reset(seed=0)
    state = env.state()
    assert env.state_space.contains(state)
    size = env.game.observation_size
    for player in range(2):
        out = np.empty(size, np.int8)
        env.game.loops.observe_one(env._states, 0, player, out)
        assert np.array_equal(state[player * size : (player + 1) * size], out)
    assert not np.array_equal(state[:size], state[size:])


def test_a_game_that_ends_in_its_last_cycle_is_terminated_and_not_truncated():
    coin = make_coin(players=2, tosses=1)
    env = ttt_envs.make_parallel(coin)
    env.reset(seed=0)
    plies = 0
    while env.agents:
        env.step({name: int(env._masks[k].argmax()) for k, name in enumerate(env.agents)})
        plies += 1
    cut = ttt_envs.make_parallel(coin, max_plies=plies)
    cut.reset(seed=0)
    while cut.agents:
        *_, terminations, truncations, _ = cut.step(
            {name: int(cut._masks[k].argmax()) for k, name in enumerate(cut.agents)}
        )
    assert all(terminations.values())
    assert not any(truncations.values())


def test_wrong_numbers_of_plies_are_refused():
    with pytest.raises(ValueError, match="max_plies"):
        ttt_envs.make_aec(SUPER, max_plies=0)


def test_a_rule_of_the_same_name_is_asked_back_about():
    """It could be meant: a draw after so many plies is another thing than a game that is cut off."""
    name = "martian_tic_tac_toe"
    with pytest.raises(ValueError, match="has a rule max_plies, too: give the maker load"):
        ttt_envs.make_aec(name, max_plies=200)
    assert ttt_envs.make_aec(ttt_envs.load(name, max_plies=200)).max_plies is None
    cut = ttt_envs.make_aec(ttt_envs.load(name), max_plies=5)
    assert (cut.max_plies, cut.game.options["max_plies"]) == (5, ttt_envs.load(name).options["max_plies"])


# --- reset options ---


def test_a_seat_and_an_opponent_for_one_game():
    env = ttt_envs.make_single(SUPER, opponent="random", player=0)
    _, info = env.reset(seed=0, options={"player": 1, "opponent": "greedy"})
    assert (info["player"], env.opponent_names[info["opponent"]]) == (1, "greedy")
    _, info = env.reset()
    assert (info["player"], env.opponent_names[info["opponent"]]) == (0, "random")


def test_options_for_sb3_are_those_of_the_next_reset():
    pytest.importorskip("stable_baselines3")
    env = ttt_envs.make_sb3(SUPER, 8, opponent="random")
    env.set_options({"player": 1, "opponent": "greedy"})
    env.reset()
    assert env._games.players.tolist() == [1] * 8
    assert {env.opponent_names[each] for each in env._games.opponents.tolist()} == {"greedy"}
    env.reset()
    assert set(env._games.players.tolist()) == {0, 1}
    assert {env.opponent_names[each] for each in env._games.opponents.tolist()} == {"random"}
    env.set_options([{"player": i % 2} for i in range(8)])
    with pytest.raises(ValueError, match="the same options"):
        env.reset()
    env.reset()


@pytest.mark.parametrize(
    ("options", "kind", "words"),
    [
        ({"players": 1}, ValueError, "unknown option 'players'; did you mean 'player'"),
        ({"player": 2}, ValueError, "player=2 must be one of 'alternate', 0, 1"),
        ({"opponent": "gredy"}, ValueError, "did you mean 'greedy'"),
        ({"opponent": 3}, TypeError, "not 3 of type int"),
    ],
)
def test_wrong_reset_options_are_refused_and_change_nothing(options, kind, words):
    env = ttt_envs.make_single(SUPER, player=0)
    env.reset(seed=0)
    env.step(40)
    before = env._games.batch.states.copy()
    with pytest.raises(kind, match=words):
        env.reset(options=options)
    assert env._games.batch.states.tobytes() == before.tobytes()
    assert env._games._fixed == 0


def test_pettingzoos_environments_say_that_they_have_no_options():
    for make in (ttt_envs.make_aec, ttt_envs.make_parallel):
        with pytest.warns(UserWarning, match="reset\\(\\) has no options here: colour changes nothing"):
            make(SUPER).reset(options={"colour": 1})


# --- autoreset ---


def test_without_autoreset_a_finished_game_must_be_reset():
    vector = ttt_envs.make_vec(SUPER, 4, autoreset_mode="disabled")
    observations, _ = vector.reset(seed=0)
    terminated = np.zeros(4, bool)
    while not terminated.any():
        observations, _, terminated, _, _ = vector.step(observations["action_mask"].argmax(axis=1))
    with pytest.raises(RuntimeError, match=r"of 4 games are over \(such as \d.*call reset\(\), or .*'reset_mask'"):
        vector.step(np.zeros(4, int))
    with pytest.raises(ValueError, match="autoreset_mode='sometimes'"):
        ttt_envs.make_vec(SUPER, 4, autoreset_mode="sometimes")


def test_a_mask_chooses_the_games_that_start_anew():
    """As Gymnasium's own: what is played game by game with it is what starts by itself in the same step."""
    chosen, same = (ttt_envs.make_vec(SUPER, 8, autoreset_mode=mode) for mode in ("disabled", "same_step"))
    seen, _ = chosen.reset(seed=0)
    expected, _ = same.reset(seed=0)
    restarts = 0
    for _ in range(80):
        assert np.array_equal(seen["observation"], expected["observation"])
        actions = seen["action_mask"].argmax(axis=1)
        seen, rewards, terminated, truncated, infos = chosen.step(actions)
        expected, paid, *_, following = same.step(actions)
        assert np.array_equal(rewards, paid)
        if terminated.any():
            restarts += terminated.any() and not terminated.all()
            kept = rewards.copy()
            seen, infos = chosen.reset(options={"reset_mask": terminated | truncated})
            assert np.array_equal(rewards, kept), "an array in a caller's hands has changed"
        assert np.array_equal(infos["player"], following["player"])
    assert restarts > 5


def test_wrong_masks_of_games_are_refused_and_change_nothing():
    vector = ttt_envs.make_vec(SUPER, 3, autoreset_mode="disabled")
    one = np.array([True, False, False])
    with pytest.raises(RuntimeError, match="call reset\\(\\) before reset_mask"):
        vector.reset(options={"reset_mask": one})
    vector.reset(seed=0)
    vector.step([40, 40, 40])
    before = vector._games.batch.states.tobytes()
    for wrong, kind in ((np.array([1, 0, 0]), TypeError), (np.array([True, False]), ValueError)):
        with pytest.raises(kind, match="reset_mask"):
            vector.reset(options={"reset_mask": wrong})
    with pytest.raises(ValueError, match="leave seed or reset_mask out"):
        vector.reset(seed=1, options={"reset_mask": one})
    with pytest.raises(ValueError, match="unknown option 'reset_mask'"):
        ttt_envs.make_single(SUPER).reset(options={"reset_mask": one})
    assert vector._games.batch.states.tobytes() == before


def test_gymnasium_s_own_vectors_start_games_in_the_next_step():
    """docs/first_game.md says so: the default of `make_vec` is another one than that of Gymnasium's."""
    name = "ttt_envs/SuperTicTacToe-v0"
    own = gymnasium.make_vec(name, 2)
    sync = gymnasium.make_vec(name, 2, vectorization_mode="sync")
    assert own.metadata["autoreset_mode"] is AutoresetMode.SAME_STEP
    assert sync.metadata["autoreset_mode"] is AutoresetMode.NEXT_STEP
    alike = gymnasium.make_vec(name, 2, autoreset_mode="next_step")
    assert alike.metadata["autoreset_mode"] is AutoresetMode.NEXT_STEP


# --- Stable-Baselines3 ---


def test_planes_are_learned_from_by_convolutions():
    pytest.importorskip("stable_baselines3")
    from sb3_contrib import MaskablePPO

    from ttt_envs.integrations.sb3 import PlanesExtractor

    env = ttt_envs.make_sb3(SUPER, 8, encoding="planes")
    settings = {"features_extractor_class": PlanesExtractor, "features_extractor_kwargs": {"features_dim": 16}}
    model = MaskablePPO("MlpPolicy", env, n_steps=8, batch_size=32, policy_kwargs=settings, device="cpu")
    extractor = model.policy.features_extractor
    before = [each.clone() for each in extractor.parameters()]
    model.learn(64)
    assert any((old != new).any() for old, new in zip(before, extractor.parameters(), strict=True))
    with pytest.raises(ValueError, match="encoding='planes'"):
        PlanesExtractor(ttt_envs.make_sb3(SUPER, 1).observation_space)


# --- states that others keep ---


def test_a_step_of_states_refuses_what_is_not_legal():
    game = ttt_envs.load(SUPER)
    states = game.new_state(seed=0)
    with pytest.raises(IllegalAction, match="player 0 in game 0 cannot play '0/0'"):
        game.step(states, [0])
    with pytest.raises(ValueError, match="shape"):
        game.step(states, [40, 40])
    with pytest.raises(TypeError, match="whole numbers"):
        game.step(states, [0.5])
