"""A best response as a table: each decision is judged by all that may come of it next, by the game's rules.

The learner plays one seat of each game against an agent that stays as it is. At every ply all of the learner's actions
are tried on copies of the position, with each answer that the agent gives at the same time, weighted by the agent's own
probabilities. Dice to come are drawn anew for it, so that nobody chooses by what will really be drawn. All
that came of them is kept: the reward at the end, or else the learner's next observation. An action
is worth the mean of it, an observation as much as its best action, and this is worked out for the whole table at once
(value iteration in the model that experience makes), each time when some more has come in. The agent is asked only in
positions that are really played, so that it may be anything that answers.

The table goes by what the learner observes, without memory: in a game in which the past tells more, a best response
may win more. Sources: Sutton and Barto, "Reinforcement learning", 2nd edition, 2018, chapter 8 (models, planning, and
trajectory sampling); Brafman and Tennenholtz, "R-max: a general polynomial time algorithm for near-optimal
reinforcement learning", JMLR 2002.
"""

from copy import deepcopy

import numpy as np

from ttt_envs.agents import Agent
from ttt_envs.agents.tabular import ActionTable, features_of
from ttt_envs.core.batch import Batch
from ttt_envs.core.game import Game

#: Values in a table, rows times actions: observations beyond are not learned.
LIMIT = 32_000_000

#: How much of what came of actions is kept: the latest.
MEMORY = 8_000_000

_CAME = [("pair", np.int32), ("next", np.int32), ("share", np.float32), ("paid", np.float32)]

# Visits that are judged of a position of which the learner sees all, and in which nothing is drawn: more than one, as
# the agent's own probabilities may be estimates.
_ENOUGH = 8

# The table is worked out anew when so many times as much is known, or before what is new would be forgotten.
_MORE = 1.05

# Sweeps that work it out to the end, each looking one decision further ahead.
_SWEEPS = 30


def at_random(masks: np.ndarray, generator: np.random.Generator) -> np.ndarray:
    """Return a random legal action in each position, int64 (n,); `masks`: bool (n, num_actions)."""
    return np.where(masks, generator.random(masks.shape), -1).argmax(axis=1)


class TableLearner:
    """The learner, and its games side by side; in every second one it is player_1.

    Attributes:
        table: values of the learner's actions.
    """

    def __init__(
        self, game: Game, opponent: Agent, n: int, generator: np.random.Generator, *, folded: bool = False
    ) -> None:
        """`game`: of two players; `n`: games; `folded`: mirror images are taken for one observation."""
        self.game, self.opponent, self.generator = game, opponent, generator
        self.table = ActionTable(game.num_actions, features_of(game, ()), game.symmetries if folded else ())
        # Where a few visits tell all, the unknown is worth a visit: it is taken for a game that is won (R-max).
        told = not game.hidden_information and game.chance != "play"
        self._enough, self._hope = (_ENOUGH, 1.0) if told else (2**62, 0.0)
        # Of each row its visits, and its number among all observations that were met, decided in or not; of these what
        # each is worth. The last one stands for a row that there is not, and for the end.
        self._visits, self._numbers = np.zeros(1, np.int64), np.zeros(1, np.int64)
        self._met, self._worth = ActionTable(0, self.table.features), np.zeros(1)
        self._came, self._kept, self._solved = np.zeros(MEMORY, _CAME), 0, 0
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

    def best(self) -> ActionTable:
        """A copy of the table, worked out to the end, and careful: the unknown is as bad as a game that is lost."""
        self._solve(_SWEEPS, -1.0)
        found = deepcopy(self.table)
        self._solve(_SWEEPS, self._hope)
        return found

    def _judged(self, observations: np.ndarray, mine: np.ndarray, theirs: np.ndarray) -> np.ndarray:
        """Values of the actions `mine`, bool (n, num_actions), against the probabilities `theirs`, learned from."""
        observations, named = self.table.turned(observations, mine.shape[1])
        rows = self.table.find(observations, add=len(self.table) * mine.shape[1] < LIMIT)
        more = np.zeros(len(self.table) + 1 - len(self._visits), np.int64)
        self._visits, self._numbers = np.append(self._visits, more), np.append(self._numbers, more)
        judged = np.flatnonzero(self._visits[rows] < self._enough)
        parents, actions, answers = np.nonzero(mine[judged][:, :, None] & (theirs[judged] > 0)[:, None, :])
        parents = judged[parents]
        states = self._batch.states
        if self.game.chance == "play" and not self.game.hidden_information:
            states = self._redrawn(self._rows)
        following, paid = self._played(states[parents], self._me[parents], actions, answers)
        shares, actions = theirs[parents, answers], named[parents, actions]
        values = np.bincount(
            parents * mine.shape[1] + actions, shares * (paid + self._worth[following]), minlength=mine.size
        ).reshape(mine.shape)

        known = rows >= 0
        first = np.flatnonzero(self._visits[rows] == 0)  # where there is no row, too
        new = first[known[first]]
        self._visits[rows[judged]] += 1
        self._visits[-1] = 0
        if len(new):
            self.table.values[rows[new]] = values[new]
            self._numbers[rows[new]] = numbers = self._number(observations[new])
            own = np.take_along_axis(values[new], named[new], axis=1)
            self._worth[numbers] = np.where(mine[new], own, -np.inf).max(axis=1)
        kept = known[parents]
        self._keep((rows[parents] * mine.shape[1] + actions)[kept], following[kept], shares[kept], paid[kept])
        if self._kept > min(_MORE * self._solved, self._solved + MEMORY / 2):
            self._solve(1, self._hope)
        values[known] = self.table.values[rows[known]]
        if self.game.hidden_information and len(first):
            values[first] = self._guessed(first, mine[first], named[first])
        return np.take_along_axis(values, named, axis=1)

    def _redrawn(self, rows: np.ndarray) -> np.ndarray:
        """These games with all drawn anew that the learner cannot know."""
        states = self._batch.states[rows]
        seeds = self.generator.integers(2**64, size=len(rows), dtype=np.uint64)
        self.game.loops.resample_rows(states, self._me[rows], seeds)
        return states

    def _guessed(self, rows: np.ndarray, mine: np.ndarray, named: np.ndarray) -> np.ndarray:
        """Values by which the learner chooses in these games, with named actions: of a world that may be, for each.

        What the table keeps comes of the others' real cards, which go by how they have played. A choice by it
        would use these cards where an observation is new.
        """
        worlds, me = self._redrawn(rows), self._me[rows]
        legal = self.game.masks(worlds, 1 - me, check=False)
        parents, actions = np.nonzero(mine)
        following, paid = self._played(worlds[parents], me[parents], actions, at_random(legal, self.generator)[parents])
        values = np.zeros(mine.shape)
        values[parents, named[parents, actions]] = paid + self._worth[following]
        return values

    def _played(
        self, states: np.ndarray, me: np.ndarray, actions: np.ndarray, answers: np.ndarray
    ) -> tuple[np.ndarray, np.ndarray]:
        """The outcome of the learners' actions with these answers, of whom `states` become what follows: the next
        observation's number, -1 at the end, and the reward there.
        """
        each, joint = np.arange(len(states)), np.zeros((len(states), 2), np.int64)
        joint[each, me], joint[each, 1 - me] = actions, answers
        self.game.loops.step_rows(states, each, joint)
        going, following = np.flatnonzero(~states["done"]), np.full(len(states), -1)
        if len(going):
            seen = self.game.observations(states[going], me[going], check=False)
            following[going] = self._number(self.table.turned(seen, self.game.num_actions)[0])
        return following, np.where(states["done"], states["rewards"][each, me], 0.0)

    def _number(self, observations: np.ndarray) -> np.ndarray:
        """The number of each observation among all that were met."""
        numbers = self._met.find(observations, add=True)
        if len(self._met) >= len(self._worth):
            self._worth = np.append(self._worth, np.zeros(len(self._met)))
        return numbers

    def _keep(self, pairs: np.ndarray, following: np.ndarray, shares: np.ndarray, paid: np.ndarray) -> None:
        """Keep what came of pairs of a row and an action; the oldest is forgotten."""
        at = (self._kept + np.arange(len(pairs))) % MEMORY
        for name, values in zip(("pair", "next", "share", "paid"), (pairs, following, shares, paid), strict=True):
            self._came[name][at] = values
        self._kept += len(pairs)

    def _solve(self, sweeps: int, unknown: float) -> None:
        """Work the table out anew; `unknown` is what observations are worth in which nothing was decided yet."""
        came, shape = self._came[: self._kept], (len(self.table), self.table.values.shape[1])
        if not len(came):
            return
        total = np.bincount(came["pair"], came["share"], shape[0] * shape[1]).reshape(shape)
        visited = np.zeros(len(self._worth), np.bool_)
        visited[self._numbers[:-1]] = visited[-1] = True
        self._worth[~visited] = unknown
        for _ in range(sweeps):
            found = came["share"] * (came["paid"] + self._worth[came["next"]])
            found = np.bincount(came["pair"], found, shape[0] * shape[1]).reshape(shape)
            values = np.divide(found, total, where=total > 0, out=np.full(shape, -np.inf))
            self.table.values[: shape[0]] = np.where(total > 0, values, self.table.values[: shape[0]])
            known = np.flatnonzero((total > 0).any(axis=1))  # of the others all that came is forgotten
            self._worth[self._numbers[known]] = values[known].max(axis=1)
        self._solved = self._kept
