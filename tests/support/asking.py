"""The positions that agents are asked about, and all that they say of them."""

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


def thoughts(agent: agents.Agent, view: View) -> np.ndarray:
    """More than its policy, if there is more: the visits of a search, or what it takes each action to be worth."""
    if hasattr(agent, "search"):
        return agent.search(view)[0]
    if hasattr(agent, "action_values"):
        return np.nan_to_num(agent.action_values(view), nan=-9)
    return agent.policy(view)
