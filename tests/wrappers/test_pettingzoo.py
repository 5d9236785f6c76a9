"""Environments as PettingZoo wants them, and what its own tests do not see."""

import inspect
import pickle
from functools import partial
from typing import Any

import numpy as np
import pettingzoo
import pytest
import toy_coin
from changed import changed
from option_sets import OPTIONS
from pettingzoo.test import api_test, parallel_api_test, render_test, seed_test
from small_games import two_games

import ttt_envs
from ttt_envs.agents.random import RandomAgent
from ttt_envs.core.checks import IllegalAction
from ttt_envs.wrappers.aec import AECGame
from ttt_envs.wrappers.common import forfeit
from ttt_envs.wrappers.parallel import ParallelGame
from ttt_envs.wrappers.single import PlayerEnv

GAME_IDS = list(ttt_envs.GAMES)
SUPER = "super_tic_tac_toe"
REGISTRY = hasattr(pettingzoo, "make")  # from PettingZoo 1.27 on


def makers(kind: str) -> list[Any]:
    """Functions that make an environment, as parameters of a test; by PettingZoo's registry it is the same again."""
    own, raw = (ttt_envs.make_aec, AECGame) if kind == "aec" else (ttt_envs.make_parallel, ParallelGame)
    found = {f"toy of {players}": partial(raw, toy_coin.make(players=players)) for players in (2, 3)}
    for game_id in GAME_IDS:
        found[f"{own.__name__} {game_id}"] = partial(own, ttt_envs.load(game_id, **OPTIONS[game_id][0]))
        if REGISTRY:
            found[f"pettingzoo.make {game_id}"] = partial(pettingzoo.make, kind, f"ttt_envs/{game_id}-v0")
    slow = [f"pettingzoo.make {game_id}" for game_id in GAME_IDS if game_id != SUPER]
    return [pytest.param(make, id=name, marks=pytest.mark.slow if name in slow else ()) for name, make in found.items()]


each_aec = pytest.mark.parametrize("make", makers("aec"))
each_parallel = pytest.mark.parametrize("make", makers("parallel"))


@pytest.mark.skipif(not REGISTRY, reason="PettingZoo has a registry from 1.27 on")
@pytest.mark.parametrize("kind", ["aec", "parallel"])
def test_every_game_is_in_the_registry(kind):
    for game_id in GAME_IDS:
        assert pettingzoo.make(kind, f"ttt_envs/{game_id}-v0").unwrapped.game is ttt_envs.load(game_id)


# --- PettingZoo ---


@each_aec
@pytest.mark.parametrize("encoding", ["flat", "planes"])
def test_api(make, encoding):
    env = make(encoding=encoding)
    for seed in range(4):
        env.reset(seed=seed)
        # It resets without a seed, which goes on with the next game of this one.
        api_test(env, num_cycles=10, verbose_progress=False)


@each_aec
def test_seed(make):
    seed_test(make, num_cycles=20)


@each_parallel
@pytest.mark.parametrize("encoding", ["flat", "planes"])
def test_parallel_api(make, encoding):
    env = make(encoding=encoding)
    for seed in range(4):
        env.reset(seed=seed)
        parallel_api_test(env, num_cycles=150)


def test_render(monkeypatch):
    monkeypatch.setenv("SDL_VIDEODRIVER", "dummy")
    render_test(partial(ttt_envs.make_aec, SUPER))


@two_games
def test_pictures_and_text(game, monkeypatch):
    monkeypatch.setenv("SDL_VIDEODRIVER", "dummy")
    shown = {}
    for kind in (AECGame, ParallelGame, partial(PlayerEnv, opponent=RandomAgent())):
        for mode in ("rgb_array", "ansi", "human"):
            env = kind(game, render_mode=mode)
            env.reset(seed=1)
            shown.setdefault((kind, mode), env.render())
            env.close()
            env.close()  # twice does no harm
    image = shown[AECGame, "rgb_array"]
    assert image.ndim == 3
    assert image.shape[2] == 3
    assert image.dtype == np.uint8
    assert len(np.unique(image)) > 1, "a blank picture"
    assert np.array_equal(image, shown[ParallelGame, "rgb_array"])
    assert shown[AECGame, "ansi"] == shown[ParallelGame, "ansi"]
    assert game.parse_state(shown[AECGame, "ansi"]).shape == (1,)
    assert shown[AECGame, "human"] is None


def test_rendering_without_a_mode_says_so():
    env = ttt_envs.make_aec(SUPER)
    env.reset(seed=0)
    with pytest.warns(UserWarning, match="render_mode"):
        assert env.render() is None


def test_an_environment_s_docstring_says_the_rules():
    game = ttt_envs.load(SUPER)
    for make in (ttt_envs.make_aec, ttt_envs.make_parallel):
        env = make(game)
        told = inspect.getdoc(env.unwrapped)
        assert inspect.cleandoc(game.rules_text) in told
        assert f"from 0 to {game.num_actions - 1}" in told
        assert pickle.loads(pickle.dumps(env)).__doc__ == env.__doc__
    single = ttt_envs.make_single(game, opponent="random")
    assert game.rules_text in single.unwrapped.__doc__


@two_games
def test_what_a_user_writes_into_given_arrays_changes_nothing(game):
    aec, parallel = AECGame(game, illegal="raise"), ParallelGame(game, illegal="raise")
    aec.reset(seed=3)
    before, name = aec.get_state(), aec.agent_selection
    mask = aec.observe(name)["action_mask"].copy()
    observations, infos = parallel.set_state(before)
    for given in (aec.observe(name), aec.infos[name], observations[name], infos[name]):
        for array in given.values():
            if isinstance(array, np.ndarray):
                array[:] = 1
    assert aec.get_state() == parallel.get_state() == before
    for action in np.flatnonzero(mask == 0)[:1].tolist():
        with pytest.raises(IllegalAction):
            aec.step(action)


@two_games
def test_another_environment_is_not_touched_by_a_reset_or_by_global_seeds(game):
    env, other = AECGame(game), AECGame(game)
    np.random.seed(0)  # noqa: NPY002 - that it makes no difference is the point
    before = np.random.get_state()[1].copy()  # noqa: NPY002
    env.reset(seed=3)
    here = env.get_state()
    other.reset(seed=4)
    other.step(int(np.flatnonzero(other.observe(other.agent_selection)["action_mask"])[0]))
    assert env.get_state() == here
    assert np.array_equal(np.random.get_state()[1], before)  # noqa: NPY002
    np.random.seed(1)  # noqa: NPY002
    again = AECGame(game)
    again.reset(seed=3)
    assert again.get_state() == here


def test_agents_of_the_library_play_in_a_parallel_environment():
    """They answer -1 where a player does not act, which is waiting."""
    for game in (SUPER, toy_coin.make(players=3)):
        env, agent = ttt_envs.make_parallel(game, illegal="raise"), RandomAgent()
        env.reset(seed=1)
        answers = []
        while env.agents:
            answers.append({name: agent.act(env.view(name))[0] for name in env.agents})
            env.step(answers[-1])
        assert any(-1 in each.values() for each in answers)
    env.reset(seed=1)
    with pytest.raises(IllegalAction, match="player_0 cannot play 'wait'"):
        env.step(dict.fromkeys(env.agents, -1))
    with pytest.raises(ValueError, match="must be from -1 to"):
        env.step(dict.fromkeys(env.agents, -2))


def test_a_forfeit_is_the_sides():
    game = toy_coin.make(players=3, tosses=1)
    teams = changed(game, teams=((0, 2), (1,)))
    wanted = [(game, [0], [-1, 0.5, 0.5]), (teams, [0], [-0.5, 1, -0.5]), (teams, [0, 1], [0, 0, 0])]
    for each, offenders, rewards in wanted:
        states = game.new_state(0)
        states["rewards"] = 0.25
        forfeit(each, states, 0, offenders)
        assert (states["rewards"][0] - 0.25).tolist() == rewards, "it comes on top of what was paid before"


@pytest.mark.parametrize("make", [ttt_envs.make_aec, ttt_envs.make_parallel])
def test_a_viewer_sees_no_other_hand(make) -> None:
    env = make("tic_tac_match", render_mode="ansi")
    env.reset(seed=1)
    everything = env.render()
    assert "hidden" not in everything
    for player, name in enumerate(env.possible_agents):
        text = env.render(viewer=name)
        assert text == env.view(name).text()
        assert f"hand {1 - player}: 4 hidden" in text
        own = next(line for line in text.splitlines() if line.startswith(f"hand {player}: "))
        assert "hidden" not in own
        assert own in everything
    assert "all hands" in type(env).render.__doc__
    with pytest.raises(ValueError, match="unknown agent 'player_2'; known: player_0, player_1"):
        env.render(viewer="player_2")
    image = make("tic_tac_match", render_mode="rgb_array")
    image.reset(seed=1)
    assert (image.render() != image.render(viewer="player_0")).any()
