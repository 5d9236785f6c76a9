"""Environments as PettingZoo, Gymnasium and Stable-Baselines3 want them, and what their tests do not see."""

import warnings
from collections.abc import Callable
from functools import partial
from importlib import import_module

import gymnasium
import numpy as np
import pettingzoo
import pytest
import toy_coin
from gymnasium.utils.env_checker import check_env
from option_sets import OPTIONS
from pettingzoo.test import api_test, parallel_api_test, render_test, seed_test

import ttt_envs
from ttt_envs.agents.random import RandomAgent
from ttt_envs.core.game import Game
from ttt_envs.core.illegal import IllegalAction
from ttt_envs.core.view import View
from ttt_envs.registry import gymnasium_id
from ttt_envs.testing.positions import GAMES as MANY
from ttt_envs.wrappers.aec import AECGame
from ttt_envs.wrappers.common import forfeit
from ttt_envs.wrappers.parallel import ParallelGame
from ttt_envs.wrappers.self_play import PlayerGames
from ttt_envs.wrappers.single import PlayerEnv
from ttt_envs.wrappers.vector import PlayerVectorEnv

GAME_IDS = list(ttt_envs.GAMES)
SUPER = "super_tic_tac_toe"
REGISTRY = hasattr(pettingzoo, "make")  # from PettingZoo 1.27 on


def aec_makers() -> dict[str, Callable[..., AECGame]]:
    makers = {}
    for game_id in GAME_IDS:
        if REGISTRY:
            makers[f"pettingzoo.make {game_id}"] = lambda i=game_id, **arguments: pettingzoo.make(
                "aec", f"ttt_envs/{i}-v0", **arguments
            )
        makers[f"make_aec {game_id}"] = lambda i=game_id, **arguments: ttt_envs.make_aec(
            ttt_envs.load(i, **OPTIONS[i][0]), **arguments
        )
    for players in (2, 3):
        makers[f"toy of {players}"] = lambda p=players, **arguments: AECGame(toy_coin.make(players=p), **arguments)
    return makers


def parallel_makers() -> dict[str, Callable[..., ParallelGame]]:
    makers = {}
    for game_id in GAME_IDS:
        if REGISTRY:
            makers[f"pettingzoo.make {game_id}"] = lambda i=game_id, **arguments: pettingzoo.make(
                "parallel", f"ttt_envs/{i}-v0", **arguments
            )
        makers[f"make_parallel {game_id}"] = lambda i=game_id, **arguments: ttt_envs.make_parallel(
            ttt_envs.load(i, **OPTIONS[i][0]), **arguments
        )
    for players in (2, 3):
        makers[f"toy of {players}"] = lambda p=players, **arguments: ParallelGame(toy_coin.make(players=p), **arguments)
    return makers


each_aec = pytest.mark.parametrize("make", aec_makers().values(), ids=aec_makers())
each_parallel = pytest.mark.parametrize("make", parallel_makers().values(), ids=parallel_makers())


def games() -> list[Game]:
    return [
        *(ttt_envs.load(game_id, **OPTIONS[game_id][0]) for game_id in GAME_IDS),
        toy_coin.make(players=2),
        toy_coin.make(players=3, tosses=2),
    ]


each_game = pytest.mark.parametrize("game", games(), ids=repr)


# --- PettingZoo ---


@each_aec
@pytest.mark.parametrize("encoding", ["flat", "planes"])
def test_api(make, encoding):
    """PettingZoo's test plays one game a call, so that one call proves little."""
    env = make(encoding=encoding)
    for seed in range(20):
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
    for seed in range(10):
        env.reset(seed=seed)
        parallel_api_test(env, num_cycles=150)


@each_parallel
def test_parallel_seed(make):
    """PettingZoo's parallel_seed_test takes a single step: several games of ours, step by step."""
    traces = [list(parallel_trace(make(), seed)) for seed in (3, 3, 4)]
    assert traces[0] == traces[1]
    assert traces[0] != traces[2]
    env = make()
    assert list(parallel_trace(env, 3)) == list(parallel_trace(env, 3))


def parallel_trace(env: ParallelGame, seed: int):
    """What is seen and paid in three games of random choices; the choices depend on the seed too."""
    generator = np.random.default_rng(seed)
    for episode in range(3):
        observations, _ = env.reset(seed=seed if episode == 0 else None)
        while env.agents:
            yield [each[key].tobytes() for each in observations.values() for key in each]
            answers = {
                name: int(generator.choice(np.flatnonzero(seen["action_mask"]))) for name, seen in observations.items()
            }
            observations, rewards, _, _, _ = env.step(answers)
            yield sorted(rewards.items())


@pytest.mark.parametrize("game_id", GAME_IDS)
def test_render(game_id, monkeypatch):
    monkeypatch.setenv("SDL_VIDEODRIVER", "dummy")
    render_test(partial(ttt_envs.make_aec, game_id))


@each_game
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


FOLDERS = [game_id for game_id in GAME_IDS if ttt_envs.GAMES[game_id].split(":")[0].endswith(f".{game_id}")]


@pytest.mark.parametrize("game_id", FOLDERS)
def test_a_game_s_folder_has_pettingzoo_s_functions(game_id):
    module = import_module(f"ttt_envs.games.{game_id}")
    options = {name: value for name, value in OPTIONS[game_id][0].items() if name != "max_plies"}  # the makers' own
    for make in (module.env, module.raw_env):
        env = make(render_mode="ansi", **options)
        assert isinstance(env, AECGame)
        assert env.game is ttt_envs.load(game_id, **options)
        assert env.render_mode == "ansi"
    env = module.parallel_env(encoding="planes", **options)
    assert isinstance(env, ParallelGame)
    assert env.observation_space("player_0")["observation"].shape == env.game.plane_index.shape
    with pytest.raises(TypeError, match=r"unknown option .nonsense"):
        module.env(nonsense=1)


@each_game
def test_masks_of_aec_are_what_consumers_expect(game):
    env = AECGame(game)
    env.reset(seed=0)
    for name in env.agent_iter():
        observation, _, ended, cut, info = env.last()
        assert observation["action_mask"] is info["action_mask"]
        assert observation["action_mask"].dtype == np.int8
        assert env.observation_space(name).contains(observation)
        assert not cut
        assert type(ended) is bool
        env.step(None if ended else int(env.action_space(name).sample(observation["action_mask"])))
    assert env.agents == []


@each_game
def test_aec_pays_each_agent_once(game):
    """Agents that act rarely get what they are due when they look."""
    for seed in range(20):
        env = AECGame(game)
        env.reset(seed=seed)
        got = dict.fromkeys(env.possible_agents, 0.0)
        generator = np.random.default_rng(seed)
        for name in env.agent_iter():
            observation, reward, ended, _, _ = env.last()
            got[name] += reward
            if ended:
                expected = dict(zip(env.possible_agents, env._states[0]["rewards"].tolist(), strict=True))
            env.step(None if ended else int(generator.choice(np.flatnonzero(observation["action_mask"]))))
        assert got == expected


@each_game
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


def test_without_a_seed_games_differ():
    states = set()
    for _ in range(5):
        env = ttt_envs.make_aec(SUPER, random_opening_plies=6)
        env.reset()
        states.add(env.get_state())
    assert len(states) == 5


# --- illegal actions ---


@each_game
def test_an_illegal_action_loses_in_aec(game):
    env = AECGame(game, illegal="lose")
    env.reset(seed=0)
    name = env.agent_selection
    mask = env.observe(name)["action_mask"].copy()
    wrong = int(np.flatnonzero(mask == 0)[0])
    env.step(wrong)
    others = game.num_players - 1
    for each in env.possible_agents:
        assert env.rewards[each] == (-1 if each == name else 1 / others)
        assert env.terminations[each] is True
        assert env.truncations[each] is False
    assert env.infos[name]["illegal_action"] == wrong
    assert all("illegal_action" not in env.infos[each] for each in env.possible_agents if each != name)
    paid = {}
    for each in env.agent_iter():
        paid[each] = env.last()[1]
        env.step(None)
    assert paid == {each: (-1 if each == name else 1 / others) for each in env.possible_agents}


@each_game
def test_an_illegal_action_loses_in_parallel(game):
    env = ParallelGame(game, illegal="lose")
    observations, _ = env.reset(seed=0)
    answers = {name: int(seen["action_mask"].argmax()) for name, seen in observations.items()}
    name = env.possible_agents[-1]
    mask = observations[name]["action_mask"].copy()
    wrong = int(np.flatnonzero(mask == 0)[0])
    _, rewards, ended, cut, infos = env.step({**answers, name: wrong})
    others = game.num_players - 1
    assert rewards == {each: (-1 if each == name else 1 / others) for each in env.possible_agents}
    assert set(ended.values()) == {True}
    assert set(cut.values()) == {False}
    assert infos[name]["illegal_action"] == wrong
    assert env.agents == []


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


def test_all_who_offend_share_the_loss():
    env = ParallelGame(toy_coin.make(players=3))
    env.reset(seed=0)
    _, rewards, *_ = env.step({"player_0": 0, "player_1": toy_coin.STAY, "player_2": toy_coin.KEEP})
    assert rewards == {"player_0": 1, "player_1": -0.5, "player_2": -0.5}
    env.reset(seed=0)
    _, rewards, ended, _, _ = env.step(dict.fromkeys(env.possible_agents, toy_coin.STAY))
    assert set(rewards.values()) == {0}
    assert all(ended.values())


@each_game
@pytest.mark.parametrize("kind", [AECGame, ParallelGame])
def test_an_illegal_action_is_raised_and_changes_nothing(game, kind):
    env = kind(game, illegal="raise")
    env.reset(seed=0)
    before = env.get_state()
    if kind is AECGame:
        wrong = int(np.flatnonzero(env.observe(env.agent_selection)["action_mask"] == 0)[0])
        with pytest.raises(IllegalAction, match=f"{env.agent_selection} cannot play .*legal: ") as error:
            env.step(wrong)
        selected = env.agent_selection
        assert not any(env.terminations.values())
        env.step(int(np.flatnonzero(env.observe(selected)["action_mask"])[0]))
    else:
        answers = dict.fromkeys(env.agents, env.wait)
        with pytest.raises(IllegalAction, match=r"cannot play 'wait'.*legal: ") as error:
            env.step(answers)
        assert env.get_state() == before
        assert env.agents == env.possible_agents
    assert any(name in str(error.value) for name in game.action_names)


def test_an_illegal_action_of_the_learner():
    env = ttt_envs.make_single(SUPER, player=0)
    _, info = env.reset(seed=0)
    legal = np.flatnonzero(info["action_mask"])
    _, reward, ended, cut, info = env.step(0)
    assert (reward, ended, cut) == (-1, True, False)
    assert info["illegal_action"] == 0
    strict = ttt_envs.make_single(SUPER, player=0, illegal="raise")
    strict.reset(seed=0)
    with pytest.raises(IllegalAction, match="cannot play '0/0'"):
        strict.step(0)
    assert np.array_equal(np.flatnonzero(strict.action_masks()), legal)
    batch = ttt_envs.make_vec(SUPER, 3, player=0)
    batch.reset(seed=0)
    _, rewards, ended, cut, infos = batch.step(np.array([40, 7, 40]))
    assert rewards.tolist() == [0, -1, 0]
    assert ended.tolist() == [False, True, False]
    assert not cut.any()
    assert infos["illegal_action"].tolist() == [0, 7, 0]
    assert infos["_illegal_action"].tolist() == [False, True, False]


# --- Gymnasium ---


@pytest.mark.parametrize("game_id", GAME_IDS)
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


@each_game
def test_gymnasium_checks_other_games(game):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        check_env(PlayerEnv(game, opponent=RandomAgent()), skip_render_check=True)


@pytest.mark.parametrize("game_id", GAME_IDS)
def test_gymnasium_make_vec(game_id):
    env = gymnasium.make_vec(gymnasium_id(game_id), num_envs=6, vectorization_mode="vector_entry_point")
    assert isinstance(env.unwrapped, PlayerVectorEnv)
    observations, infos = env.reset(seed=0)
    assert env.observation_space.contains(observations)
    assert infos["action_mask"].shape == (6, env.unwrapped.game.num_actions)
    generator = np.random.default_rng(0)
    ended = 0
    for _ in range(200):
        actions = learner_choice(observations["action_mask"], generator)
        observations, rewards, done, cut, infos = env.step(actions)
        assert env.observation_space.contains(observations)
        assert not cut.any()
        assert not rewards[~done].any()
        ended += done.sum()
    assert ended > 6


def learner_choice(masks: np.ndarray, generator: np.random.Generator) -> np.ndarray:
    """A random legal action a game."""
    return (masks * generator.random(masks.shape)).argmax(axis=1)


class Recorder:
    """A random opponent who keeps what he was shown."""

    name = "recorder"

    def __init__(self) -> None:
        self.views: list[View] = []

    def act(self, view: View) -> np.ndarray:
        self.views.append(view)
        return RandomAgent().act(view)


class First:
    """Plays the first legal action."""

    name = "first"

    def act(self, view: View) -> np.ndarray:
        return view.masks.argmax(axis=1)


class Last:
    """Plays the last legal action."""

    name = "last"

    def act(self, view: View) -> np.ndarray:
        return view.masks.shape[1] - 1 - view.masks[:, ::-1].argmax(axis=1)


@each_game
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


@each_game
def test_a_fixed_seat_stays(game):
    for seat in range(game.num_players):
        games = PlayerGames(game, 8, player=seat, seed=1, opponent=RandomAgent())
        games.reset()
        for _ in range(60):
            games.step(learner_choice(games.masks(), np.random.default_rng(0)))
            assert (games.players == seat).all()
            assert games.masks().any(axis=1).all(), "the learner is asked and cannot act"


@each_game
@pytest.mark.parametrize("auto_reset", [True, False])
def test_a_loss_arrives(game, auto_reset):
    """Every reward of a finished game reaches the learner with his last action, losses as often as wins."""
    games = PlayerGames(game, MANY, autoreset="same_step" if auto_reset else "disabled", opponent=RandomAgent())
    games.reset(5)
    rewards = []
    generator = np.random.default_rng(5)
    if auto_reset:
        for _ in range(10 * game.max_plies):
            games.step(learner_choice(games.masks(), generator))
            rewards.extend(games.rewards[games.done].tolist())
            assert not games.rewards[~games.done].any()
            if len(rewards) > 2000:
                break
    else:
        single = PlayerGames(game, 1, autoreset="disabled", opponent=RandomAgent())
        for seed in range(MANY):
            single.reset(seed)
            while not single.done[0]:
                single.step(learner_choice(single.masks(), generator))
            rewards.append(float(single.rewards[0]))
            assert single.rewards[0] == single.batch.states[0]["rewards"][single.players[0]]
    rewards = np.array(rewards)
    won, lost = (rewards > 0).mean(), (rewards < 0).mean()
    assert -1 in rewards
    assert 1 in rewards
    assert lost > 0.2
    assert won > 0.2
    if game.num_players == 2 and len(rewards) > 1000 and not game.hidden_information:
        # Both seats played alike by random players: wins and losses balance.
        assert abs(rewards.mean()) < 5 / np.sqrt(len(rewards))


def test_the_winner_of_a_known_game_is_paid():
    """Against a fixed opponent the same actions win or lose as in the game itself."""
    game = ttt_envs.load(SUPER)
    for seat, learner, other in ((0, First(), Last()), (1, First(), Last()), (0, Last(), First())):
        batch = ttt_envs.Batch(game, 1, seed=0)
        while not batch.states["done"][0]:
            mover = learner if batch.to_move[0] == seat else other
            batch.step(mover.act(batch.view()))
        env = PlayerEnv(game, opponent=other, player=seat)
        env.reset(seed=0)
        ended, total = False, 0.0
        while not ended:
            view = View(game, env._games.batch.states, np.array([seat]), np.zeros(1, np.uint64))
            _, reward, ended, _, _ = env.step(int(learner.act(view)[0]))
            total += reward
        assert total == batch.rewards[0, seat]
        assert total != 0


def test_opponents_change_only_at_resets():
    games = PlayerGames(ttt_envs.load(SUPER), 40, opponent=First())
    games.reset(0)
    first, last = games.opponent_of(0), Last()
    generator = np.random.default_rng(0)
    for _ in range(5):
        games.step(learner_choice(games.masks(), generator))
    games.set_opponents(last)
    exchanged = np.zeros(40, bool)
    for _ in range(60):
        games.step(learner_choice(games.masks(), generator))
        exchanged |= games.done
        for i in range(40):
            assert games.opponent_of(i) is (last if exchanged[i] else first)
    assert exchanged.all()


def test_weights_of_opponents():
    pool = [First(), Last(), RandomAgent()]
    games = PlayerGames(ttt_envs.load(SUPER), 4000, opponent=RandomAgent())
    games.set_opponents(dict(zip(pool, [1, 0, 3], strict=True)))
    games.reset(0)
    drawn = [pool.index(games.opponent_of(i)) for i in range(4000)]
    counts = np.bincount(drawn, minlength=3)
    assert counts[1] == 0
    assert abs(counts[0] - 1000) < 5 * np.sqrt(4000 * 0.25 * 0.75)
    games.set_opponents(pool)
    games.reset(1)
    counts = np.bincount([pool.index(games.opponent_of(i)) for i in range(4000)], minlength=3)
    assert np.abs(counts - 4000 / 3).max() < 5 * np.sqrt(4000 * 2 / 9)


@each_game
def test_learner_games_are_the_same_for_any_number_and_threads(game):
    traces = []
    for n, threads in ((1, 1), (16, 1), (16, 3)):
        games = PlayerGames(game, n, threads=threads, opponent=RandomAgent())
        games.reset(9)
        trace = []
        for _ in range(40):
            actions = games.masks().argmax(axis=1)
            games.step(actions)
            trace.append((games.batch.states[:1].tobytes(), games.rewards[0], games.done[0], games.players[0]))
        traces.append(trace)
    assert traces[0] == traces[1] == traces[2]


@each_game
def test_single_and_vector_agree(game):
    single, vector = PlayerEnv(game, opponent=RandomAgent()), PlayerVectorEnv(game, 5, opponent=RandomAgent())
    seen, info = single.reset(seed=4)
    observations, infos = vector.reset(seed=4)
    for _ in range(3 * game.max_plies):
        assert np.array_equal(seen["observation"], observations["observation"][0])
        assert np.array_equal(seen["action_mask"], observations["action_mask"][0])
        assert info["player"] == infos["player"][0]
        assert np.array_equal(info["action_mask"], infos["action_mask"][0])
        actions = observations["action_mask"].argmax(axis=1)
        seen, reward, ended, _, info = single.step(int(actions[0]))
        observations, rewards, done, _, infos = vector.step(actions)
        assert (reward, ended) == (rewards[0], done[0])
        if ended:
            assert np.array_equal(infos["final_obs"][0]["observation"], seen["observation"])
            assert not infos["final_obs"][0]["action_mask"].any()
            assert infos["final_info"]["player"][0] == info["player"]
            break
    assert ended


@each_game
def test_a_single_environment_goes_on_as_one_of_many(game):
    """The second game after reset() is the one that a vector environment begins by itself."""
    single, vector = PlayerEnv(game, opponent=RandomAgent()), PlayerVectorEnv(game, 2, opponent=RandomAgent())
    seen, _ = single.reset(seed=4)
    observations, _ = vector.reset(seed=4)
    for _ in range(4):
        ended = False
        while not ended:
            actions = observations["action_mask"].argmax(axis=1)
            seen, _, ended, _, _ = single.step(int(actions[0]))
            observations, _, done, _, _ = vector.step(actions)
        assert done[0]
        seen, _ = single.reset()
        assert np.array_equal(seen["observation"], observations["observation"][0])
        assert np.array_equal(seen["action_mask"], observations["action_mask"][0])


# --- Stable-Baselines3 ---


@each_game
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


@each_game
@pytest.mark.parametrize("encoding", ["flat", "planes"])
def test_maskable_ppo_learns(game, encoding):
    from sb3_contrib import MaskablePPO
    from stable_baselines3.common.vec_env import VecMonitor

    from ttt_envs.wrappers.sb3 import SB3PlayerEnv

    raw = SB3PlayerEnv(
        game, 8, encoding=encoding, illegal="raise", opponent=RandomAgent()
    )  # a mask that fails would be raised
    env = VecMonitor(raw)
    model = MaskablePPO("MlpPolicy", env, n_steps=16, batch_size=64, n_epochs=1, device="cpu", seed=0)
    before = [parameter.clone() for parameter in model.policy.parameters()]
    model.learn(256)
    assert model.num_timesteps == 256
    assert any((old != new).any() for old, new in zip(before, model.policy.parameters(), strict=True))
    assert model.ep_info_buffer
    assert {info["r"] for info in model.ep_info_buffer} <= {-1, -0.5, 0, 0.5, 1}


def test_make_sb3_and_make_vec_take_options_and_arguments():
    env = ttt_envs.make_sb3(SUPER, 3, random_opening_plies=4, encoding="planes", player=1, opponent=First())
    assert env.reset().shape == (3, *env.game.plane_index.shape)
    assert env.game.options["random_opening_plies"] == 4
    assert env.games.players.tolist() == [1, 1, 1]
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
    vector = ttt_envs.make_vec(SUPER, 2, threads=2, won_boards="closed")
    assert vector.game.options["won_boards"] == "closed"


def test_a_position_brings_the_agents_seeds_with_it():
    """The same position, set into another environment, gets the same answer of a random agent."""
    for make in (ttt_envs.make_aec, ttt_envs.make_parallel):
        env = make("super_tic_tac_toe")
        env.reset(seed=9)
        answer = RandomAgent().act(env.view("player_0"))
        for _ in range(3):
            other = make("super_tic_tac_toe")
            other.set_state(env.get_state())
            assert RandomAgent().act(other.view("player_0")) == answer


def test_a_forfeit_is_the_sides():
    game = toy_coin.make(players=3, tosses=1)
    teams = game.replace(teams=((0, 2), (1,)))
    wanted = [(game, [0], [-1, 0.5, 0.5]), (teams, [0], [-0.5, 1, -0.5]), (teams, [0, 1], [0, 0, 0])]
    for each, offenders, rewards in wanted:
        states = game.new_state(0)
        forfeit(each, states, 0, offenders)
        assert states["rewards"][0].tolist() == rewards


def test_rewards_handed_out_stay():
    venv = ttt_envs.make_sb3("super_tic_tac_toe", 64)
    venv.seed(1)
    venv.reset()
    for _ in range(60):
        _, rewards, done, _ = venv.step(venv.action_masks().argmax(axis=1))
        if done.any():
            break
    kept = rewards.copy(), done.copy()
    venv.reset()
    assert (rewards == kept[0]).all()
    assert (done == kept[1]).all()
    assert done.any()


# --- what a player may see ---


@pytest.mark.parametrize("make", [ttt_envs.make_aec, ttt_envs.make_parallel])
def test_a_viewer_sees_no_other_hand(make) -> None:
    env = make("tic_tac_match", render_mode="ansi")
    env.reset(seed=1)
    everything = env.render()
    assert "hidden" not in everything
    for player, name in enumerate(env.possible_agents):
        text = env.text(name)
        assert env.render(viewer=name) == text
        assert f"hand {1 - player}: 4 hidden" in text
        own = next(line for line in text.splitlines() if line.startswith(f"hand {player}: "))
        assert "hidden" not in own
        assert own in everything
    assert "all hands" in type(env).render.__doc__
    for show in (env.text, lambda name: env.render(viewer=name)):
        with pytest.raises(ValueError, match="unknown agent 'player_2'; known: player_0, player_1"):
            show("player_2")
    image = make("tic_tac_match", render_mode="rgb_array")
    image.reset(seed=1)
    assert (image.render() != image.render(viewer="player_0")).any()
    assert image.text("player_1") == env.text("player_1")


def test_a_learner_s_picture_shows_no_other_hand() -> None:
    env = ttt_envs.make_single("tic_tac_match", opponent="random", player=1, render_mode="ansi")
    env.reset(seed=1)
    assert env.render().count("hand 0: 4 hidden") == 1
    assert "hand 1: 4 hidden" not in env.render()
