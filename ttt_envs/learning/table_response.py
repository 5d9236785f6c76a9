"""A best response as a table: each decision is judged by all that may come of it next, by the game's rules.

The learner plays one seat of each game against an agent that stays as it is. At every ply all of the learner's actions
are tried on copies of the position, with each answer that the agent gives at the same time, weighted by the agent's own
probabilities. What they lead to is worth the reward at the end, or else what the table has for the learner's
observation there. The agent is asked only in positions that are really played, so that it may be anything that answers.

The table goes by what the learner observes, without memory: in a game in which the past tells more, a best response
may win more. Sources: Sutton and Barto, "Reinforcement learning", 2nd edition, 2018, chapter 8 (expected updates, and
trajectory sampling); Watkins and Dayan, "Q-learning", Machine Learning 1992.
"""

import numpy as np

from ttt_envs.agents import Agent
from ttt_envs.agents.tabular import ActionTable, features_of
from ttt_envs.core.batch import Batch
from ttt_envs.core.game import Game
from ttt_envs.learning.tabular import at_random

#: Rows of a table: observations beyond are not learned.
LIMIT = 1_000_000

# A value moves to what is found at the k-th visit by k to this power.
_POWER = -0.7


class TableLearner:
    """The learner, and its games side by side; in every second one it is player_1.

    Attributes:
        table: values of the learner's actions.
    """

    def __init__(self, game: Game, opponent: Agent, n: int, generator: np.random.Generator) -> None:
        """`game`: of two players; `n`: games."""
        self.game, self.opponent, self.generator = game, opponent, generator
        self.table = ActionTable(game.num_actions, features_of(game, ()))
        self._visits, self._worth = np.zeros(0, np.int64), np.zeros(0)
        self._batch = Batch(game, n, seed=int(generator.integers(2**63)), auto_reset=True)
        self._rows = np.arange(n)
        self._me = self._rows % 2

    @staticmethod
    def suits(agent: Agent) -> bool:
        """Whether the agent goes by the position alone, and not by what it has seen before."""
        return not (agent.remembers or agent.history or agent.observes)

    def round(self, exploration: float, rate: float) -> int:
        """One ply in each game, and what it teaches; returns the learner's decisions. `rate` is for other learners."""
        n, batch, draws = self._batch.n, self._batch, self.generator
        view, other = batch.view(self._me), batch.view(1 - self._me)
        mine, theirs = view.masks.copy(), np.zeros(view.masks.shape)
        deciding, answering = mine.any(axis=1), other.masks.any(axis=1)
        if answering.any():
            answers = np.where(other.masks[answering], self.opponent.policy(other.take(answering)), 0.0)
            if not (total := answers.sum(axis=1, keepdims=True)).all():
                raise ValueError(f"agent {self.opponent.name!r} gave no legal action")
            theirs[answering] = answers / total
        # A player who does not act has one way not to.
        mine[~deciding, 0], theirs[~answering, 0] = True, 1.0
        values = self._judged(view.observations, mine, theirs)

        best = np.where(mine, values + 1e-6 * draws.random(values.shape), -np.inf).argmax(axis=1)
        joint = np.zeros((n, 2), np.int64)
        joint[self._rows, self._me] = np.where(draws.random(n) < exploration, at_random(mine, draws), best)
        cumulated = theirs.cumsum(axis=1)
        joint[self._rows, 1 - self._me] = (cumulated > draws.random((n, 1)) * cumulated[:, -1:]).argmax(axis=1)
        batch.step(joint)
        return int(deciding.sum())

    def _judged(self, observations: np.ndarray, mine: np.ndarray, theirs: np.ndarray) -> np.ndarray:
        """Values of the actions `mine`, bool (n, num_actions), against the probabilities `theirs`, learned from."""
        parents, actions, answers = np.nonzero(mine[:, :, None] & (theirs > 0)[:, None, :])
        children, each = self._batch.states[parents], np.arange(len(parents))
        joint = np.zeros((len(parents), 2), np.int64)
        me = self._me[parents]
        joint[each, me], joint[each, 1 - me] = actions, answers
        self.game.loops.step_rows(children, each, joint)
        results = children["rewards"][each, me].astype(np.float64)
        going = np.flatnonzero(~children["done"])
        if len(going):
            seen = np.empty((len(going), self.game.observation_size), np.int8)
            self.game.loops.observe_rows(children[going], me[going], seen)
            found = self.table.find(seen)
            results[going] = np.where(found >= 0, self._worth[found], 0.0) if len(self._worth) else 0.0
        weighted = np.bincount(
            parents * mine.shape[1] + actions, theirs[parents, answers] * results, minlength=mine.size
        ).reshape(mine.shape)

        rows = self.table.find(observations, add=len(self.table) < LIMIT)
        known = np.flatnonzero(rows >= 0)
        rows, allowed = rows[known], mine[known]
        if (more := len(self.table.values) - len(self._visits)) > 0:
            self._visits, self._worth = (
                np.append(self._visits, np.zeros(more, int)),
                np.append(self._worth, np.zeros(more)),
            )
        # Where several games are at one observation, the last of them counts.
        self._visits[rows] += 1
        moved = self.table.values[rows] + (self._visits[rows] ** _POWER)[:, None] * (
            weighted[known] - self.table.values[rows]
        )
        self.table.values[rows] = np.where(allowed, moved, self.table.values[rows])
        self._worth[rows] = np.where(allowed, moved, -np.inf).max(axis=1)
        values = np.where(mine, weighted, 0.0)
        values[known] = self.table.values[rows]
        return values
