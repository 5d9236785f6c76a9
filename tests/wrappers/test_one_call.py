"""A move in one call of compiled code is the same move: replies of random opponents, and AEC's looks."""

import copy
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest
from option_sets import OPTIONS

import ttt_envs
from ttt_envs.agents.random import RandomAgent

#: Turns with chance, hidden hands, and choices at once.
SOME = "tic_tac_dice", "tic_tac_match", "operation_tic_tac_toe"
some_games = pytest.mark.parametrize("game_id", SOME)


class Asked(RandomAgent):
    """The random agent, asked by views: no subclass says that it draws uniformly."""


class First(RandomAgent):
    """Plays the first legal action."""

    def act(self, view):
        return view.masks.argmax(axis=1)


def episode(env: Any, seed: int) -> list[Any]:
    """All that a learner is told in three games, with random actions of their own; opponents' names left out."""
    generator, told = np.random.default_rng(seed), []
    for game in range(3):
        observation, info = env.reset(seed=seed if game == 0 else None)
        reward, over = 0.0, False
        while True:
            info.pop("opponent")
            told.append((observation["observation"].tobytes(), observation["action_mask"].tobytes(), reward, over))
            told.append({name: np.asarray(each).tolist() for name, each in info.items()})
            if over:
                break
            legal = np.flatnonzero(observation["action_mask"])
            observation, reward, over, _, info = env.step(int(generator.choice(legal)))
    return told


class Keeps(RandomAgent):
    """Keeps each view that it is given, unread, with one that was made of the same position at once."""

    def act(self, view):
        batch = self.games.batch
        rows = [0] * len(view)
        given = batch.states.take(rows), view.players, batch.episode_seeds[rows]
        same = ttt_envs.View.unchecked(view.game, *given)
        self.kept.append((view, same))
        return same.masks.argmax(axis=1)


@some_games
def test_what_an_opponent_is_shown_stays_the_position_of_its_decision(game_id: str) -> None:
    agent = Keeps()
    env = ttt_envs.make_single(ttt_envs.load(game_id, **OPTIONS[game_id][0]), opponent=agent)
    agent.games, agent.kept = env._games, []
    episode(env, 1)
    assert any(len(view) == 1 for view, _ in agent.kept)
    for view, same in agent.kept:
        for name in ("seeds", "players", "plies", "masks", "observations"):
            array = getattr(view, name)
            assert np.array_equal(array, getattr(same, name)), name
            assert array.dtype == getattr(same, name).dtype
            assert not array.flags.writeable
        assert view.sample_worlds(3).tobytes() == same.sample_worlds(3).tobytes()
        assert view.text() == same.text()
        assert view.episodes.shape == (len(view),)


def steps(env: Any, seed: int, number: int = 40) -> Iterator[list[Any]]:
    """All that the learners of a vector environment are told, with legal random actions."""
    generator = np.random.default_rng(seed)
    (seen, infos), rest = env.reset(seed=seed), []
    for _ in range(number):
        finals = [None if each is None else each["observation"].tobytes() for each in infos.get("final_obs", ())]
        told = {name: np.asarray(infos[name]).tolist() for name in ("action_mask", "player")}
        yield [seen["observation"].tobytes(), seen["action_mask"].tobytes(), told, finals, *rest]
        actions = (generator.random(seen["action_mask"].shape) * seen["action_mask"]).argmax(axis=1)
        if generator.random() < 0.1:
            actions[0] = int(seen["action_mask"][0].argmin())  # loses
        seen, *arrays, infos = env.step(actions)
        rest = [each.tolist() for each in arrays]


@pytest.mark.parametrize("mode", ["same_step", "next_step"])
@some_games
def test_replies_in_many_games_are_those_of_the_agent(game_id: str, mode: str) -> None:
    game = ttt_envs.load(game_id, **OPTIONS[game_id][0])
    quick, asked = (ttt_envs.make_vec(game, 7, opponent=each(), autoreset_mode=mode) for each in (RandomAgent, Asked))
    for told, expected in zip(steps(quick, 3), steps(asked, 3), strict=True):
        assert told == expected
    assert quick._games.at_random
    assert not asked._games.at_random


def test_who_does_not_draw_uniformly_is_asked() -> None:
    replaced = RandomAgent()
    replaced.act = First().act  # type: ignore[method-assign]
    first = ttt_envs.make_single("tic_tac_dice", opponent=First())
    other = ttt_envs.make_single("tic_tac_dice", opponent=replaced)
    mixed = ttt_envs.make_single("tic_tac_dice", opponent=["random", First()])
    assert episode(first, 1) == episode(other, 1) != episode(ttt_envs.make_single("tic_tac_dice"), 1)
    for seed in range(9):
        drawn = mixed.opponent_names[mixed.reset(seed=seed)[1]["opponent"]]
        assert mixed._games.at_random == (drawn == "random")
    late = ttt_envs.make_single("tic_tac_dice", max_plies=4)
    late.reset(seed=0)
    assert not late._games.at_random


@pytest.mark.parametrize("mask", ["both", "info"])
@some_games
def test_infos_and_observations_of_aec_are_those_of_the_position(game_id: str, mask: str) -> None:
    game = ttt_envs.load(game_id, **OPTIONS[game_id][0])
    env, generator = ttt_envs.make_aec(game, mask=mask), np.random.default_rng(0)
    looking = ttt_envs.make_aec(game, mask=mask)  # reads everything at each move
    env.reset(seed=5)
    looking.reset(seed=5)
    for name in env.agent_iter():
        assert list(looking.infos) == looking.agents
        copied = copy.deepcopy(env)
        observation, reward, over, cut, info = env.last()
        twice = env.last()[0]
        for each in (looking.last(), copied.last()):
            assert each[1:4] == (reward, over, cut)
            assert each[4]["action_mask"].tobytes() == info["action_mask"].tobytes()
            shown, mine = (x["observation"] if mask == "both" else x for x in (each[0], observation))
            assert shown.tobytes() == mine.tobytes()
        if mask == "both":
            assert twice["observation"] is not observation["observation"]
            assert observation["action_mask"] is info["action_mask"]
        assert env.infos[name] is info
        for other in env.agents:
            assert looking.infos[other]["action_mask"].any() == (other == name and not over)
        action = None if over else int(generator.choice(np.flatnonzero(info["action_mask"])))
        env.step(action)
        looking.step(action)
