"""The positions that agents are asked about, all that they say of them, and what holds of all their answers."""

import time

import numpy as np

import ttt_envs
from ttt_envs import agents
from ttt_envs.core.game import Game
from ttt_envs.core.view import View


def some_view(game: Game, n: int, seed: int) -> View:
    """Positions of random games, from start to end, each seen by a player who acts there, if any does."""
    batch = ttt_envs.Batch(game, n, seed=seed)
    generator = np.random.default_rng(seed)
    stop = generator.integers(0, game.max_plies, n)
    players = np.zeros(n, np.int64)
    states = batch.states.copy()
    while not batch.done.all():
        joint = np.full((n, game.num_players), -1)
        for p in generator.permutation(game.num_players):
            masks = batch.masks(int(p))
            joint[:, p] = np.where(masks.any(axis=1), (generator.random(masks.shape) * masks).argmax(axis=1), -1)
            players = np.where(masks.any(axis=1) & (batch.states["ply"] <= stop), p, players)
        rows = batch.states["ply"] <= stop
        states[rows] = batch.states[rows]
        batch.step(joint)
    return View(game, states, players, batch.episode_seeds)


def view_of(game: Game, n: int = 20, plies: int = 4, seed: int = 3) -> View:
    """Positions after some random plies, without those that are over, each seen by the player to move."""
    batch, player = ttt_envs.Batch(game, n, seed=seed), agents.load("random")
    for _ in range(plies):
        batch.step(player.act(batch.view()))
    return batch.view(rows=np.flatnonzero(~batch.done))


def thoughts(agent: agents.Agent, view: View) -> np.ndarray:
    """More than its policy, if there is more: the visits of a search, or what it takes each action to be worth."""
    if hasattr(agent, "search"):
        return agent.search(view)[0]
    if hasattr(agent, "action_values"):
        return np.nan_to_num(agent.action_values(view), nan=-9)
    return agent.policy(view)


def check_decisions(agent: agents.Agent, view: View, atol: float = 0.0) -> np.ndarray:
    """Actions are legal, the policy is what they come from, and what else is asked does not matter; the policy."""
    masks = view.masks
    has_move = masks.any(axis=1)
    assert has_move.any()
    actions, policy, found = agent.act(view), agent.policy(view), thoughts(agent, view)
    assert (actions.dtype, actions.shape) == (np.int64, (len(view),))
    assert (actions[~has_move] == -1).all()
    assert masks[has_move, actions[has_move]].all()
    assert (policy.dtype, policy.shape) == (np.float64, masks.shape)
    assert (policy >= 0).all()
    assert (policy[~masks] == 0).all()
    assert np.allclose(policy.sum(axis=1), has_move)
    assert (policy[has_move, actions[has_move]] > 0).all()
    for rows in (np.arange(len(view))[::-1], *(np.array([i]) for i in range(0, len(view), 5))):
        part = view.take(rows)
        assert (agent.act(part) == actions[rows]).all()
        assert np.allclose(agent.policy(part), policy[rows], rtol=0, atol=atol)
        assert np.allclose(thoughts(agent, part), found[rows], rtol=0, atol=atol)
    assert agent.act(view.take(np.zeros(0, np.int64))).shape == (0,)
    return policy


def check_time(kind: type[agents.Agent], view: View, seconds: float) -> None:
    """A search ends in time, is that of as many simulations, and loses nothing when its tree outgrows its room."""
    kind(simulations=1).act(view)  # compiles
    start = time.monotonic()
    visits, values = kind(seconds=seconds).search(view)
    assert seconds <= time.monotonic() - start < 10
    assert visits.sum() > 4096
    again = kind(simulations=int(visits.sum())).search(view)
    assert (again[0] == visits).all()
    assert (again[1] == values).all()
