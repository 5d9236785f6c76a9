"""Shapes that other frameworks need: plain observations, actions of any kind, truncation, states, autoreset."""

from functools import partial

import gymnasium
import numpy as np
import pytest
from gymnasium.vector import AutoresetMode
from toy_coin import make as make_coin

import ttt_envs

SUPER = "super_tic_tac_toe"


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


def test_a_rule_of_the_same_name_is_asked_back_about():
    name = "martian_tic_tac_toe"
    with pytest.raises(ValueError, match="has a rule max_plies, too: give the maker load"):
        ttt_envs.make_aec(name, max_plies=200)
    assert ttt_envs.make_aec(ttt_envs.load(name, max_plies=200)).max_plies is None
    cut = ttt_envs.make_aec(ttt_envs.load(name), max_plies=5)
    assert (cut.max_plies, cut.game.options["max_plies"]) == (5, ttt_envs.load(name).options["max_plies"])


def test_environments_say_that_they_have_no_options():
    vector = partial(ttt_envs.make_vec, num_envs=2)
    for make in (ttt_envs.make_aec, ttt_envs.make_parallel, ttt_envs.make_single, vector):
        with pytest.warns(UserWarning, match="reset\\(\\) has no options here: colour changes nothing"):
            make(SUPER).reset(options={"colour": 1})


def test_gymnasium_s_own_vectors_start_games_in_the_next_step():
    """docs/environments.md says so: the default of `make_vec` is another one than that of Gymnasium's."""
    name = "ttt_envs/SuperTicTacToe-v0"
    own = gymnasium.make_vec(name, 2)
    sync = gymnasium.make_vec(name, 2, vectorization_mode="sync")
    assert own.metadata["autoreset_mode"] is AutoresetMode.SAME_STEP
    assert sync.metadata["autoreset_mode"] is AutoresetMode.NEXT_STEP
    alike = gymnasium.make_vec(name, 2, autoreset_mode="next_step")
    assert alike.metadata["autoreset_mode"] is AutoresetMode.NEXT_STEP
    with pytest.raises(ValueError, match="autoreset_mode='disabled' must be one of 'same_step', 'next_step'"):
        ttt_envs.make_vec(SUPER, 4, autoreset_mode=AutoresetMode.DISABLED)


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
