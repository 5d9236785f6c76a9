"""Frameworks take the environments as they are; each test needs its framework, and is skipped without it."""

import gymnasium
import numpy as np
import pytest

import ttt_envs

SUPER = "super_tic_tac_toe"


def play(env, plies, generator):
    """Random legal play of an AEC environment with masks in the infos; the observations that it gave."""
    env.reset(seed=0)
    seen = []
    for _ in range(plies):
        observation, _, terminated, truncated, info = env.last()
        seen.append(observation)
        legal = np.flatnonzero(info["action_mask"])
        env.step(None if terminated or truncated else int(generator.choice(legal)))
    return seen


@pytest.mark.parametrize(("name", "arguments", "size"), [("flatten_v0", [], 1), ("frame_stack_v1", [3], 3)])
def test_supersuit_wraps_aec_environments(name, arguments, size):
    plain = ttt_envs.make_aec(SUPER, mask="info", encoding="planes")
    env = getattr(pytest.importorskip("supersuit"), name)(plain, *arguments)
    for observation in play(env, 12, np.random.default_rng(0)):
        assert env.observation_space("player_0").contains(observation)
        assert observation.size == size * np.prod(plain.observation_space("player_0").shape)


# --- Gymnasium ---


@pytest.mark.parametrize(
    ("name", "arguments", "shape"),
    [
        ("FrameStackObservation", {"stack_size": 3}, (3, 191)),
        ("RecordEpisodeStatistics", {}, (191,)),
        ("TimeLimit", {"max_episode_steps": 3}, (191,)),
    ],
)
def test_gymnasiums_wrappers(name, arguments, shape):
    env = ttt_envs.make_single(SUPER, opponent="random", mask="info", player=0)
    wrapped = getattr(gymnasium.wrappers, name)(env, **arguments)
    observation, info = wrapped.reset(seed=0)
    for _ in range(3):
        assert observation.shape == shape
        assert wrapped.observation_space.contains(observation)
        observation, _, _, truncated, info = wrapped.step(int(info["action_mask"].argmax()))
    assert truncated == (name == "TimeLimit")


@pytest.mark.parametrize("mode", ["sync", "vector_entry_point"])
def test_gymnasium_makes_many_by_name(mode):
    envs = gymnasium.make_vec("ttt_envs/SuperTicTacToe-v0", 3, vectorization_mode=mode, opponent="random", player=0)
    observations, infos = envs.reset(seed=0)
    assert envs.observation_space.contains(observations)
    assert np.array_equal(observations["action_mask"], infos["action_mask"])
    ended = np.zeros(3, bool)
    while not ended.any():
        observations, rewards, ended, *_ = envs.step(observations["action_mask"].argmax(axis=1))
        assert envs.observation_space.contains(observations)
    assert rewards[ended].any(), "a game that is over so soon is no draw"


@pytest.mark.parametrize("game_id", ["SuperTicTacToe", "OperationTicTacToe"])
def test_minari_records_infos(game_id, tmp_path, monkeypatch):
    minari = pytest.importorskip("minari")
    pytest.importorskip("jax", reason="Minari's DataCollector needs JAX")
    monkeypatch.setenv("MINARI_DATASETS_PATH", str(tmp_path))
    env = minari.DataCollector(
        gymnasium.make(f"ttt_envs/{game_id}-v0", player=0), record_infos=True, data_format="arrow"
    )
    for seed in range(2):
        observation, _ = env.reset(seed=seed)
        over, plies = False, 0
        while not over:
            mask = observation["action_mask"]
            observation, _, over, *_ = env.step(int(mask.argmin() if seed and plies > 1 else mask.argmax()))
            plies += 1
    data = env.create_dataset(f"{game_id.lower()}/test-v0", algorithm_name="first", code_permalink="-", author="-")
    last = [episode.infos["illegal_action"][-1] for episode in data.iterate_episodes()]
    assert last[0] == -1 != last[1]


def test_sb3_makes_many_by_name():
    pytest.importorskip("stable_baselines3")
    from stable_baselines3.common.env_util import make_vec_env

    arguments = {"opponent": "random", "mask": "info"}
    envs = make_vec_env("ttt_envs:ttt_envs/SuperTicTacToe-v0", n_envs=3, seed=0, env_kwargs=arguments)
    observations = envs.reset()
    ended = np.zeros(3, bool)
    while not ended.any():
        assert observations.shape == (3, 191)
        masks = np.stack(envs.env_method("action_masks"))
        assert masks.any(axis=1).all()
        observations, rewards, ended, infos = envs.step(masks.argmax(axis=1))
    assert rewards[ended].any(), "a game that is over so soon is no draw"
    assert all("terminal_observation" in infos[i] and "episode" in infos[i] for i in np.flatnonzero(ended))


@pytest.mark.parametrize("game_id", [SUPER, "operation_tic_tac_toe"])
def test_torchrl_takes_the_parallel_form(game_id):
    pytest.importorskip("torchrl")
    from torchrl.envs import PettingZooWrapper
    from torchrl.envs.utils import check_env_specs

    env = PettingZooWrapper(ttt_envs.make_parallel(game_id, mask="info"), use_mask=True, seed=0)
    check_env_specs(env)
    found = env.rollout(40)
    masks, actions = found["player", "action_mask"], found["player", "action"]
    assert masks.any(dim=-1).all(), "nobody is without an action"
    assert masks.gather(-1, actions[..., None]).all()


@pytest.mark.parametrize(
    ("game_id", "options"),
    [("tic_tac_match", {"players": 4, "hand_size": 2, "max_turns": 16}), ("tic_tac_dice", {"target_points": 1})],
)
def test_benchmarl_s_task_groups_the_sides(game_id, options):
    benchmarl = pytest.importorskip("benchmarl_mappo_qmix")
    from torchrl.envs.utils import check_env_specs

    game = ttt_envs.load(game_id, **options)
    task = benchmarl.BenchMARLTask(game)
    env = task.get_env_fun(num_envs=1, continuous_actions=False, seed=0, device="cpu")()
    check_env_specs(env)
    assert task.group_map(env) == {f"side_{k}": [f"player_{p}" for p in team] for k, team in enumerate(game.teams)}
    assert task.max_steps(env) == game.max_plies
    assert task.supports_discrete_actions() > task.supports_continuous_actions()
    assert task.state_spec(env) is task.info_spec(env) is None
    for group, team in task.group_map(env).items():
        shape = len(team), game.observation_size
        assert task.observation_spec(env)[group, "observation"].shape == shape
        assert task.action_mask_spec(env)[group, "action_mask"].shape == (len(team), game.num_actions + 1)
        assert task.action_spec(env)[group, "action"].space.n == game.num_actions + 1
    played = env.rollout(game.max_plies + 1)
    assert played["next", "done"][-1].all(), "a game comes to its end"
    returns = {group: played["next", group, "reward"].sum(dim=0).flatten() for group in task.group_map(env)}
    for group in returns:
        masks, actions = played[group, "action_mask"], played[group, "action"]
        assert masks.gather(-1, actions[..., None]).all()
        assert len(set(returns[group].tolist())) == 1, "a side wins or loses together"
    assert sum(float(each.sum()) for each in returns.values()) == pytest.approx(0)


def rllib_game(**config):
    return pytest.importorskip("rllib_self_play").RLlibGame(config)


@pytest.mark.parametrize("game_id", ["operation_tic_tac_toe", "tic_tac_match"])
def test_rllib_s_environment_shows_each_position_to_those_who_act(game_id):
    env = rllib_game(game=game_id)
    generator = np.random.default_rng(0)
    seen, _ = env.reset(seed=0)
    terminated, rewards = {"__all__": False}, {}
    while not terminated["__all__"]:
        for name, each in seen.items():
            assert env.observation_spaces[name].contains(each)
            assert each["action_mask"].any()
        actions = {name: int(generator.choice(np.flatnonzero(each["action_mask"]))) for name, each in seen.items()}
        seen, rewards, terminated, truncated, _ = env.step(actions)
        assert set(seen) == set(rewards) == set(terminated) - {"__all__"} == set(truncated) - {"__all__"}
    assert set(rewards) == set(env.possible_agents)
    assert sum(rewards.values()) == pytest.approx(0)


def test_rllib_s_random_module_keeps_to_the_mask():
    rllib = pytest.importorskip("rllib_self_play")
    env = rllib.RLlibGame({"game": SUPER})
    module = rllib.MaskedRandomRLModule(
        observation_space=env.observation_spaces["player_0"], action_space=env.action_spaces["player_0"]
    )
    masks = np.zeros((200, 81), np.float32)
    masks[:, [3, 5, 80]] = 1
    found = module.forward_inference({"obs": {"observations": np.zeros((200, 191)), "action_mask": masks}})["actions"]
    assert set(np.asarray(found).tolist()) == {3, 5, 80}
