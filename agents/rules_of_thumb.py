"""Rules of thumb for Tic-Tac-Dice on 3x3: by the rows of a cell, and by the numbers that two dice show.

There is nothing to train. `by_place` claims the cell that most rows go through: the centre first, an edge last.
`by_chances` asks of each row that is still open how likely the rest of it is to be claimed, by how many of the 36 rolls
allow each card, for either player. `TieBreak` plays as greedy, and follows one of the two where greedy
sees no difference. Measure them, or rate them:

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

#: How many of the 36 rolls of two dice allow a card of each rank, from 1 to 8.
ROLLS = np.array([11, 12, 13, 14, 15, 16, 6, 5])


def place(observations: np.ndarray) -> np.ndarray:
    """Return the rows through each cell, int64 (n, 9), for observations int8 (n, ...)."""
    return np.tile(np.bincount(LINES.ravel()), (len(observations), 1))


def chances(observations: np.ndarray) -> np.ndarray:
    """Return the worth of each cell, int64 (n, 9): over its open rows, how likely rolls allow the rest, in
    millionths."""
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
    """Return the legal action that most rows go through."""
    return int(np.where(mask, place(observation[None])[0], -1).argmax())


def by_chances(observation: np.ndarray, mask: np.ndarray) -> int:
    """Return the legal action whose open rows are likeliest to be completed, by either player."""
    return int(np.where(mask, chances(observation[None])[0], -1).argmax())


RULES: dict[str, Callable[[np.ndarray], np.ndarray]] = {"by_place": place, "by_chances": chances}


class TieBreak(Agent):
    """Plays as greedy, and of the actions between which that sees no difference the best one by a rule of thumb."""

    def __init__(self, rule: str = "by_place") -> None:
        """`rule`: one of `RULES`."""
        if rule not in RULES:
            raise ValueError(f"unknown rule {rule!r}; known: {', '.join(RULES)}")
        self.greedy, self.rule = agents.load("greedy"), RULES[rule]

    def policy(self, view: View) -> np.ndarray:
        """Return float64 (n, 9)."""
        return uniform(best_of(self.rule(view.observations), self.greedy.policy(view) > 0))
