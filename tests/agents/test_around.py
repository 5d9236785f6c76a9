"""Agents that play by another agent: mixed, rounds, oracle."""

import numpy as np
import pytest
from changed import changed

import ttt_envs
from ttt_envs import agents
from ttt_envs.agents.base import AgentFailed, Fault
from ttt_envs.agents.epsilon_random import Mixed
from ttt_envs.agents.oracle import OracleAgent
from ttt_envs.agents.per_round import Rounds
from ttt_envs.core.view import View


class Inner(agents.Agent):
    """Fails in all positions, naming the seed of each, and keeps what it is told."""

    def __init__(self):
        self.told = []

    def act(self, view):
        faults = {k: Fault(str(view.seeds[k])) for k in range(len(view))}
        raise AgentFailed("inner", np.full(len(view), -1), faults)

    def episodes_over(self, episodes, rewards):
        self.told.append((episodes.tolist(), rewards.tolist()))

    def counts(self):
        return {"told": len(self.told)}

    def close(self):
        self.told.append("closed")


class EvenPlies:
    """An oracle of the positions of even ply, with one action."""

    def covers(self, states):
        return states["ply"] % 2 == 0

    def policy(self, states, player):
        out = np.zeros((len(states), 81))
        out[:, 0] = 1
        return out * self.covers(states)[:, None]


@pytest.mark.parametrize("make", [Mixed, Rounds, OracleAgent])
def test_the_other_agent_is_told_what_an_agent_is_told(make):
    inner = Inner()
    around = make(inner)
    around.episodes_over(np.array([7]), np.array([1.0]))
    assert around.counts() == {"told": 1}
    around.close()
    assert inner.told == [([7], [1.0]), "closed"]


@pytest.mark.parametrize("make", [Mixed, Rounds, OracleAgent])
def test_a_person_is_no_agent_to_play_by(make):
    with pytest.raises(ValueError, match=f"agent {make.name} cannot play as 'human': a person sees and chooses"):
        make("human")


@pytest.mark.parametrize("around", [Mixed(Inner(), random=0.5), OracleAgent(Inner())], ids=lambda each: each.name)
def test_faults_of_the_other_agent_stand_at_their_positions(around):
    game = changed(ttt_envs.load("super_tic_tac_toe"), oracle=EvenPlies)
    batch = ttt_envs.Batch(game, 2, seed=0)
    batch.step(np.array([40, 40]))
    # Of even and of odd plies in turn.
    states = np.tile(np.concatenate([game.new_state(0), batch.states[:1]]), 15)
    view = View(game, states, states["to_move"], np.arange(30, dtype=np.uint64))
    with pytest.raises(AgentFailed) as failed:
        around.act(view)
    faults, actions = failed.value.faults, failed.value.actions
    assert 5 < len(faults) < 25
    assert all(fault.reason == str(view.seeds[row]) for row, fault in faults.items())
    assert set(np.flatnonzero(actions < 0)) == set(faults)
    if around.name == "oracle":
        assert set(faults) == set(range(1, 30, 2))
        assert (actions[::2] == 0).all()
