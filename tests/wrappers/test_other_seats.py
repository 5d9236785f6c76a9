"""Who plays the seats that the learner does not have: weights, players, partners; and who was drawn."""

from collections import Counter

import numpy as np
import pytest
import toy_coin

import ttt_envs
from ttt_envs.agents.random import RandomAgent

SUPER = "super_tic_tac_toe"


class Named(RandomAgent):
    """A random agent with a name, which keeps the players that it was asked for."""

    def __init__(self, name: str) -> None:
        self.name = name
        self.players: set[int] = set()

    def act(self, view):
        self.players.update(view.players.tolist())
        return super().act(view)


def finish(env):
    info, done = None, False
    while not done:
        _, _, done, _, info = env.step(int(env.action_masks().argmax()))
    return info


def test_weights_are_a_mapping_of_agents_as_text_or_objects():
    other = Named("other")
    vector = ttt_envs.make_vec(SUPER, 4000, opponent={"random": 1, other: 3})
    _, infos = vector.reset(seed=0)
    counts = Counter(vector.opponent_names[key] for key in infos["opponent"].tolist())
    assert set(counts) == {"random", "other"}
    assert abs(counts["random"] - 1000) < 5 * np.sqrt(4000 * 0.25 * 0.75)
    for wrong in ({}, []):
        with pytest.raises(ValueError, match="at least one opponent"):
            vector.set_opponents(wrong)


def test_an_agent_for_each_player():
    game = toy_coin.make(players=3)
    first, second, third = (Named(name) for name in ("first", "second", "third"))
    env = ttt_envs.make_single(game, opponent={0: first, 1: [second], 2: {third: 2}})
    seats = set()
    for seed in range(12):
        _, info = env.reset(seed=seed)
        seats.add(info["player"])
        named = [env.opponent_names.get(key) for key in info["opponent"]]
        assert named == [None if p == info["player"] else name for p, name in enumerate(("first", "second", "third"))]
        finish(env)
    assert seats == {0, 1, 2}
    assert [each.players for each in (first, second, third)] == [{0}, {1}, {2}]
    with pytest.raises(ValueError, match="opponents by player: player 2 has none"):
        ttt_envs.make_single(game, opponent={0: "random", 1: "random"})
    ttt_envs.make_single(game, player=2, opponent={0: "random", 1: "random"}).reset(seed=0)
    with pytest.raises(ValueError, match="players are 0 to 2, not 3"):
        ttt_envs.make_single(game, opponent={3: "random"})
    env.reset(seed=1)
    with pytest.raises(ValueError, match="player 0 has none"):
        env.set_opponents({1: "random"})
    assert env.reset(seed=2)[1]["opponent"].count(-1) == 1, "who was there before plays on"
