"""Environments of a learner, as Gymnasium and Stable-Baselines3 want them, and what their own tests do not see."""

import warnings
from pathlib import Path

import gymnasium
import numpy as np
import pytest
from gymnasium.utils.env_checker import check_env
from small_games import two_games
from stubborn import Stubborn

import ttt_envs
from ttt_envs.agents.random import RandomAgent
from ttt_envs.core.view import View
from ttt_envs.registry import gymnasium_id
from ttt_envs.wrappers.self_play import PlayerGames
from ttt_envs.wrappers.single import PlayerEnv
from ttt_envs.wrappers.vector import PlayerVectorEnv

SUPER = "super_tic_tac_toe"


# --- Gymnasium ---


@pytest.mark.parametrize("game_id", [SUPER, "tic_tac_match"])
@pytest.mark.parametrize("encoding", ["flat", "planes"])
def test_gymnasium_checks(game_id, encoding):
    env = gymnasium.make(gymnasium_id(game_id), encoding=encoding, illegal="lose")
    with warnings.catch_warnings():
        # It plays unmasked actions, and tries render modes by making the environment anew.
        warnings.simplefilter("ignore")
        check_env(env.unwrapped, skip_render_check=True)
    seen, info = env.reset(seed=3)
    assert env.observation_space.contains(seen)
    assert info["action_mask"] is seen["action_mask"]


def learner_choice(masks: np.ndarray, generator: np.random.Generator) -> np.ndarray:
    return (masks * generator.random(masks.shape)).argmax(axis=1)


class Recorder:
    """A random opponent who keeps what he was shown."""

    name = "recorder"

    def __init__(self) -> None:
        self.views: list[View] = []

    def act(self, view: View) -> np.ndarray:
        self.views.append(view)
        return RandomAgent().act(view)


@two_games
def test_seats_alternate_and_opponents_have_the_others(game):
    opponent = Recorder()
    env = PlayerEnv(game, opponent=opponent)
    seats = []
    for episode in range(4 * game.num_players):
        opponent.views.clear()
        _, info = env.reset(seed=0 if episode == 0 else None)
        seats.append(info["player"])
        ended = False
        while not ended:
            _, _, ended, _, info = env.step(int(info["action_mask"].argmax()))
        assert info["player"] == seats[-1]
        shown = {int(player) for view in opponent.views for player in view.players}
        assert seats[-1] not in shown
        assert not info["action_mask"].any()
    assert seats == [(seats[0] + episode) % game.num_players for episode in range(4 * game.num_players)]
    # Seeding every episode shows all seats too.
    assert {env.reset(seed=seed)[1]["player"] for seed in range(40)} == set(range(game.num_players))


@two_games
def test_a_fixed_seat_stays(game):
    for seat in range(game.num_players):
        games = PlayerGames(game, 8, player=seat, seed=1, opponent=RandomAgent())
        games.reset()
        for _ in range(60):
            games.step(learner_choice(games.masks(), np.random.default_rng(0)))
            assert (games.players == seat).all()
            assert games.masks().any(axis=1).all(), "the learner is asked and cannot act"


def test_opponents_change_only_at_resets():
    games = PlayerGames(ttt_envs.load(SUPER), 40, opponent=Stubborn())
    games.reset(0)
    last = Stubborn(last=True)
    generator = np.random.default_rng(0)
    for _ in range(5):
        games.step(learner_choice(games.masks(), generator))
    games.set_opponents(last)
    exchanged = np.zeros(40, bool)
    for _ in range(60):
        games.step(learner_choice(games.masks(), generator))
        exchanged |= games.done
        assert [games.agents.by_key[key] is last for key in games.opponents.tolist()] == exchanged.tolist()
    assert exchanged.all()


def test_a_list_of_seeds_is_refused_where_it_is_none():
    vector = PlayerVectorEnv(ttt_envs.load("tic_tac_dice"), 3, opponent=RandomAgent())
    vector.reset(seed=3)
    before = vector.get_state()
    for wrong in ([1, 2], [1, 2, -1], [1, 2, "3"], [1, 2, 3.0], np.ones((3, 1), int)):
        with pytest.raises((TypeError, ValueError), match="seed"):
            vector.reset(seed=wrong)
        assert vector.get_state() == before
    vector.reset(seed=(8, 2**100, None))
    single = ttt_envs.make_single("tic_tac_dice")
    single.reset(seed=2**100)
    assert vector.get_state()[1] == single.get_state()
    single.reset(seed=9)
    assert vector.reset(seed=np.array([9, 9, 9]))[1]["player"].tolist() == [single.view().players[0]] * 3
    assert vector.get_state() == [single.get_state()] * 3
    vector.reset(seed=3)
    assert vector.get_state() == before, "one seed is for all games again"


# --- Stable-Baselines3 ---


@two_games
def test_sb3_environment(game):
    from stable_baselines3.common.vec_env import VecMonitor

    from ttt_envs.wrappers.sb3 import SB3PlayerEnv

    raw = SB3PlayerEnv(game, 12, opponent=RandomAgent())
    env = VecMonitor(raw)
    env.seed(3)
    observations = env.reset()
    vector = PlayerVectorEnv(game, 12, opponent=RandomAgent())
    expected, _ = vector.reset(seed=3)
    ended = 0
    for _ in range(80):
        assert np.array_equal(observations, expected["observation"])
        assert env.observation_space.contains(observations[0])
        masks = env.env_method("action_masks")
        assert len(masks) == 1
        assert np.array_equal(np.stack(masks)[0], expected["action_mask"].astype(bool))
        actions = masks[0].argmax(axis=1)
        observations, rewards, done, infos = env.step(actions)
        expected, paid, over, _, expected_infos = vector.step(actions)
        assert np.array_equal(rewards, paid)
        assert np.array_equal(done, over)
        for i in range(12):
            assert ("terminal_observation" in infos[i]) == done[i]
            if done[i]:
                final = expected_infos["final_obs"][i]["observation"]
                assert np.array_equal(infos[i]["terminal_observation"], final)
                assert infos[i]["episode"]["r"] == rewards[i]
                assert infos[i]["TimeLimit.truncated"] is False
                ended += 1
    assert ended
    env.close()


@two_games
def test_maskable_ppo_learns(game, tmp_path_factory):
    from sb3_contrib import MaskablePPO
    from stable_baselines3.common.vec_env import VecMonitor

    from ttt_envs.wrappers.sb3 import SB3PlayerEnv

    raw = SB3PlayerEnv(game, 8, illegal="raise", opponent=RandomAgent())  # a mask that fails would be raised
    env = VecMonitor(raw)
    model = MaskablePPO("MlpPolicy", env, n_steps=16, batch_size=64, n_epochs=1, device="cpu", seed=0)
    before = [parameter.clone() for parameter in model.policy.parameters()]
    model.learn(256)
    assert model.num_timesteps == 256
    assert tmp_path_factory.getbasetemp() in Path(model.logger.dir).parents, "no folder is left behind"
    assert any((old != new).any() for old, new in zip(before, model.policy.parameters(), strict=True))
    assert model.ep_info_buffer
    assert {info["r"] for info in model.ep_info_buffer} <= {-1, -0.5, 0, 0.5, 1}


def test_make_sb3_takes_options_and_arguments():
    env = ttt_envs.make_sb3(SUPER, 3, random_opening_plies=4, encoding="planes", player=1, opponent=Stubborn())
    assert env.reset().shape == (3, *env.game.plane_index.shape)
    assert env.game.options["random_opening_plies"] == 4
    assert env._games.players.tolist() == [1, 1, 1]
    assert env.get_attr("game") == [env.game] * 3
    assert env.env_is_wrapped(gymnasium.Wrapper) == [False] * 3
    assert env.env_method("has_attr", "game") == [True] * 3
    assert env.env_method("has_attr", "game", indices=[0, 2]) == [True] * 2
    some = env.env_method("action_masks", indices=[2, 0])
    assert np.array_equal(some, env.action_masks()[[2, 0]])
    assert len(env.env_method("get_images")) == 3
    images = ttt_envs.make_sb3(SUPER, 2, render_mode="rgb_array")
    images.reset()
    assert [each.ndim for each in images.env_method("get_images")] == [3, 3]


def test_a_learner_s_picture_shows_no_other_hand() -> None:
    env = ttt_envs.make_single("tic_tac_match", opponent="random", player=1, render_mode="ansi")
    env.reset(seed=1)
    assert env.render().count("hand 0: 4 hidden") == 1
    assert "hand 1: 4 hidden" not in env.render()
