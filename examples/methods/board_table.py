"""A baseline for a round of Tic-Tac-Dice: a table of the 3^9 boards by Monte Carlo, which knows no ranks.

An entry is the mean reward of games in which a player left this board, over self-play that tries other cells now and
then. The agent claims the cell that leaves the best entry. It learns when it is made, in seconds:

    ttt regret tic_tac_dice --option rounds=single --games 500 --agents random greedy \\
        agents/rules_of_thumb.py:by_chances examples/methods/board_table.py:BoardTable
"""

import numpy as np

import ttt_envs
from ttt_envs.dev import Agent, View, best_of, uniform


class BoardTable(Agent):
    """Claims the cell that leaves the board with the highest mean reward."""

    def __init__(self, rounds: int = 600, explore: float = 0.1, seed: int = 0) -> None:
        """`rounds` of 1,024 games each; `explore`: the share of cells that are tried at random while it learns."""
        game, random = ttt_envs.load("tic_tac_dice", rounds="single"), np.random.default_rng(seed)
        self.paid, self.visits = np.zeros(3**9), np.ones(3**9)
        for k in range(rounds):
            batch, left = ttt_envs.Batch(game, 1024, seed=seed * rounds + k), []
            while not batch.done.all():
                view = batch.view()
                noise = random.random(view.masks.shape) + (random.random((1024, 1)) < explore)
                actions = np.where(view.masks, np.where(noise >= 1, noise, self.values(view)), -np.inf).argmax(axis=1)
                rows = np.flatnonzero(view.masks.any(axis=1))
                left.append((rows, view.players[rows], self.boards(view)[rows, actions[rows]]))
                batch.step(actions)
            for rows, players, boards in left:
                np.add.at(self.paid, boards, batch.states["rewards"][rows, players])
                np.add.at(self.visits, boards, 1)

    def boards(self, view: View) -> np.ndarray:
        """Return the number of the board that each claim leaves, int64 (n, 9)."""
        own, other = view.observations[:, 72:81].astype(int), view.observations[:, 81:90]  # see `observation_layout`
        return ((own + 2 * other) @ 3 ** np.arange(9))[:, None] + 3 ** np.arange(9)

    def values(self, view: View) -> np.ndarray:
        """Return float64 (n, 9); an occupied cell's is meaningless."""
        return (self.paid / self.visits)[self.boards(view) % 3**9]

    def policy(self, view: View) -> np.ndarray:
        """Return float64 (n, 9)."""
        return uniform(best_of(self.values(view), view.masks))
