"""The learner of n-tuple networks where there are more than two sides: each player learns from their own moves.

The game is a toy: a race to the last stone between three players.
"""

from itertools import pairwise

import numpy as np
import pytest
import toy_race

from ttt_envs.core.compile import jit
from ttt_envs.core.compile.jit import kernel
from ttt_envs.learning.ntuple import Learning, Weights, kernel_for, scratch_for

pytestmark = pytest.mark.skipif(not jit.DISABLED, reason="quick without the JIT alone: make test runs it so")

PLAYERS = 3


@kernel
def find(state, player, out):
    out[0] = state["stones"]


def learned(
    seed: int, exploration: float, simple_share: float = 0.0, gamma: float = 1.0
) -> tuple[np.ndarray, list[int]]:
    """The weights after a game without estimates before it, and its actions; rewards are learned as they are."""
    game = toy_race.make(lucky=False)
    learned, room = Weights(*np.zeros((3, 8), np.float32)), scratch_for(game, 1)
    learning = Learning(0.1, gamma, 1.0, exploration, 0.0, 0, simple_share)
    plies = kernel_for(game.kernels, find)(game.prototype, 1, np.uint64(seed), learning, learned, room)
    stones = [7, *room.history[: plies - 1, 0].tolist(), 0]
    return learned.weights, [before - after for before, after in pairwise(stones)]


def test_each_player_learns_what_they_got_themselves():
    """The winner 1, the next player -1, the third nothing."""
    weights, taken = learned(seed=0, exploration=0.0)
    assert sum(taken) == 7
    winner = (len(taken) - 1) % PLAYERS
    left = 7 - np.cumsum(taken)[:-1]
    rewards = {winner: 1, (winner + 1) % PLAYERS: -1, (winner + 2) % PLAYERS: 0}
    assert [np.sign(weights[stones]) for stones in left] == [rewards[ply % PLAYERS] for ply in range(len(left))]
    assert {0, 1, 2} <= {ply % PLAYERS for ply in range(len(left))}


def test_nothing_is_learned_from_before_a_random_move():
    for seed in range(20):
        weights, taken = learned(seed, exploration=1.0)
        assert not weights.any(), (seed, taken)


def test_one_learner_learns_from_their_own_moves_alone():
    learners = set()
    for seed in range(20):
        weights, taken = learned(seed, exploration=0.0, simple_share=1.0)
        winner = (len(taken) - 1) % PLAYERS
        left = 7 - np.cumsum(taken)[:-1]
        movers = {ply % PLAYERS for ply in range(len(left)) if weights[left[ply]]}
        assert len(movers) <= 1, (seed, taken)
        for learner in movers:
            rewards = {winner: 1, (winner + 1) % PLAYERS: -1, (winner + 2) % PLAYERS: 0}
            learned_from = [stones for ply, stones in enumerate(left) if ply % PLAYERS == learner]
            assert {np.sign(weights[stones]) for stones in learned_from} == {rewards[learner]}
        learners |= movers
        assert weights.any() == bool(movers)
    assert learners == {0, 1, 2}


def test_of_equal_moves_any_is_played():
    assert len({tuple(learned(seed, exploration=0.0)[1]) for seed in range(20)}) > 5


def test_what_comes_later_is_discounted():
    earlier = 0.0
    for seed in range(100):  # few games are long enough for two moves of one who wins or loses
        plain, taken = learned(seed, exploration=0.0)
        weights, same = learned(seed, exploration=0.0, gamma=0.5)
        assert taken == same
        left = 7 - np.cumsum(taken)[:-1]
        # Each player counts their own positions, from the last one back.
        for player in range(PLAYERS):
            own = left[player::PLAYERS][::-1]
            assert weights[own] == pytest.approx(plain[own] * 0.5 ** np.arange(len(own)), rel=1e-5)
            earlier += abs(weights[own[1:]]).sum()
    assert earlier > 0
