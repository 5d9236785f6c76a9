"""Tasks: the gate, that pure policies fail where a task is about mixing, and measures of agents."""

import numpy as np
import pytest

import ttt_envs
from ttt_envs import agents
from ttt_envs.agents import Agent
from ttt_envs.evaluation.exploitability import measure as measure_exploitability
from ttt_envs.learning.runs.measurements import MEASURES
from ttt_envs.solvers import cfr, sequence, tree
from ttt_envs.studies.tasks import MIXING, measure, task_of, tasks

LONG = (
    "match-medium",
    "match-flips",
    "operation-spies",
    "operation-sniper-ninja",
    "operation-courier-hacker",
    "operation-mole-pusher",
)


def purified(policy: np.ndarray, sets: np.ndarray) -> np.ndarray:
    """The likeliest action of each information set; a policy in sequence form."""
    out = np.zeros_like(policy)
    out[0] = 1
    for first, count in zip(sets["first"], sets["count"], strict=True):
        out[first + policy[first : first + count].argmax()] = 1
    return out


class Likeliest(Agent):
    """The likeliest actions of the oracle's equilibrium."""

    name = "likeliest"

    def policy(self, view):
        policy = agents.load("oracle").policy(view)
        return np.eye(policy.shape[1])[policy.argmax(axis=1)] * (policy.sum(axis=1, keepdims=True) > 0)


@pytest.mark.parametrize(
    "name",
    [
        pytest.param(each.name, marks=[pytest.mark.slow] if each.name in LONG else [])
        for each in tasks().values()
        if each.pure
    ],
)
def test_the_gate(name):
    task, found = task_of(name), {}
    game = ttt_envs.load(task.game, **task.options)
    if "response" in task.pure:
        whole = tree.walk(game)
        uniform = whole.uniform()
        plans = [sequence.plan_of(mine, part) for mine, part in zip(whole.players, uniform, strict=True)]
        found["response"] = [sequence.best_response(whole, player, plans[1 - player])[1] for player in (0, 1)]
        solver = cfr.Solver(whole)
        solver.run(100)
        average = zip(whole.players, solver.average(), strict=True)
        found["equilibrium"] = [purified(part, mine.sets) for mine, part in average]
        found = {kind: sequence.exploitability(whole, policy).value for kind, policy in found.items()}
        assert sequence.exploitability(whole, uniform).value == pytest.approx(task.random)
    else:
        found["equilibrium"] = measure_exploitability(game, Likeliest()).exploitability
    assert {kind: loss / task.random for kind, loss in found.items()} == pytest.approx(task.pure, abs=0.01)
    assert ("a pure equilibrium" in task.title) == (min(task.pure.values()) < MIXING)


def test_each_task_with_hidden_hands_or_simultaneous_choices_is_gated():
    for task in tasks().values():
        game = ttt_envs.load(task.game, **task.options)
        assert bool(task.pure) == (game.hidden_information or game.simultaneous)


def test_measures_of_games_depend_on_the_seed(monkeypatch):
    monkeypatch.setattr(MEASURES[task_of("dice-round").measure], "in_studies", 20)
    assert measure("dice-round", "random", seed=1) != measure("dice-round", "random", seed=2)
    with pytest.raises(ValueError, match="unknown task 'chess'"):
        measure("chess", "random")
