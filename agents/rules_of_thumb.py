"""Two rules of thumb for Tic-Tac-Dice on 3x3, and an agent that breaks greedy's ties with one of them.

They need no training. `by_place` claims the cell that is in most rows: the centre first, an edge last. For each cell,
`by_chances` adds up the probabilities that dice rolls allow the rest of an open row through the cell, for both players;
it claims the cell with the highest sum. `TieBreak` plays like greedy, and uses one of these rules if greedy rates
actions equally. Measure their regret, or rate them:

    ttt regret tic_tac_dice --option rounds=single --games 1000 --agents greedy agents/rules_of_thumb.py:by_place \\
        agents/rules_of_thumb.py:by_chances agents/rules_of_thumb.py:TieBreak \\
        agents/rules_of_thumb.py:TieBreak:rule=by_chances
    ttt tournament tic_tac_dice --option rounds=single --agents greedy agents/rules_of_thumb.py:by_chances --games 400
"""

from collections.abc import Callable

import numpy as np

from ttt_envs import agents
from ttt_envs.dev import Agent, View, best_of, uniform

LINES = np.array([(0, 1, 2), (3, 4, 5), (6, 7, 8), (0, 3, 6), (1, 4, 7), (2, 5, 8), (0, 4, 8), (2, 4, 6)])

#: For cards of rank 1 to 8: how many of the 36 rolls of two dice allow a player to claim such a card.
ROLLS = np.array([11, 12, 13, 14, 15, 16, 6, 5])


def place(observations: np.ndarray) -> np.ndarray:
    """Return the number of rows through each cell, int64 (n, 9), for observations int8 (n, ...)."""
    return np.tile(np.bincount(LINES.ravel()), (len(observations), 1))


def chances(observations: np.ndarray) -> np.ndarray:
    """Return the worth of each cell, int64 (n, 9): the sum over its open rows of the probability that rolls allow the
    row's other cells, in millionths."""
    ranks = observations[:, :72].reshape(-1, 8, 9)  # see `observation_layout`: a card of rank k + 1 lies in [k, cell]
    own, other = observations[:, 72:81], observations[:, 81:90]
    likely = np.einsum("nkc,k->nc", ranks, ROLLS) / 36
    worth = np.zeros(own.shape)
    for mine, theirs in ((own, other), (other, own)):
        for line in LINES:
            for cell in line:
                rest = line[line != cell]
                allowed = np.where(mine[:, rest], 1.0, likely[:, rest]).prod(axis=1)
                worth[:, cell] += allowed * ~theirs[:, line].any(axis=1)
    return np.rint(worth * 1e6).astype(np.int64)


def by_place(observation: np.ndarray, mask: np.ndarray) -> int:
    """Return the legal cell that is in most rows."""
    return int(np.where(mask, place(observation[None])[0], -1).argmax())


def by_chances(observation: np.ndarray, mask: np.ndarray) -> int:
    """Return the legal cell with the highest worth by `chances`."""
    return int(np.where(mask, chances(observation[None])[0], -1).argmax())


RULES: dict[str, Callable[[np.ndarray], np.ndarray]] = {"by_place": place, "by_chances": chances}


class TieBreak(Agent):
    """Plays like greedy; among actions that greedy rates equally, it plays the best one by a rule of thumb."""

    def __init__(self, rule: str = "by_place") -> None:
        """`rule`: one of `RULES`."""
        if rule not in RULES:
            raise ValueError(f"unknown rule {rule!r}; known: {', '.join(RULES)}")
        self.greedy, self.rule = agents.load("greedy"), RULES[rule]

    def policy(self, view: View) -> np.ndarray:
        """Return float64 (n, 9)."""
        return uniform(best_of(self.rule(view.observations), self.greedy.policy(view) > 0))
