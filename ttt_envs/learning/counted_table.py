"""A best response, learned as a table that counts the outcomes of each action and never forgets any.

The learner plays one side of each game against a fixed agent. At every ply, copies of the position try all of the
learner's actions with each simultaneous action of the agent, or all of the agent's actions if only the agent acts. An
action of the agent has the weight that is its probability in the agent's policy. The copies draw new chance events, so
that the table cannot learn the outcomes of the actual ones. An action's outcome is the final reward or the learner's
next observation; the weights of equal outcomes are added up. The value of an action is the weighted mean of its
outcomes' values, and the value of an observation is that of its best action. Whenever the table has grown by a tenth,
these values are recomputed (value iteration in the empirical model). The agent is asked only in the games themselves,
not in the copies, so it may be of any kind.

The table chooses by the learner's current observation alone: in some games, a best response that remembers earlier
observations wins more. Source: Sutton and Barto, "Reinforcement learning", 2nd edition, 2018, chapter 8 (models,
planning, and trajectory sampling).
"""

import numpy as np

from ttt_envs.agents import Agent
from ttt_envs.agents.tabular import ActionTable, keys_of, observation_of, pair_of
from ttt_envs.core.batch import Batch
from ttt_envs.core.game import Game
from ttt_envs.core.view import View
from ttt_envs.evaluation.arena.seating import seatings

#: The largest number of different entries; further ones are dropped.
LIMIT = 12_000_000

# The share of random actions. It can be below 1, because copies of each visited position try all actions.
_RANDOM = 0.3

# Values are recomputed when the waiting entries are more than this share of the earlier ones (plus 1000), or than this
# number.
_MORE, _WAITING = 0.1, 1_000_000

# Sweeps of value iteration, each of which looks one decision further ahead: while learning (_SWEEPS) and for the final
# table (at most _LAST; they stop at changes below _CLOSE).
_SWEEPS, _LAST, _CLOSE = 2, 60, 1e-6

# Without hidden information and chance, a position that was visited this often is not tried again. One visit is not
# enough, because the agent's probabilities can be estimates that differ between calls.
_ENOUGH = 8

# An entry: a digest of the learner's observation and action (`pair`), the digest of the next observation (`next`, 0 at
# the end), the sum of weights (`share`), and the weighted sum of rewards (`paid`).
_ENTRY = [("pair", np.uint64), ("next", np.uint64), ("share", np.float64), ("paid", np.float64)]

# An odd factor with which two digests are combined into one.
_ODD = np.uint64(0x9E3779B97F4A7C15)


class CountedTable:
    """The learner and its concurrent games; in every second game, the learner plays the second side.

    Attributes:
        table: values of the learner's actions when they were last recomputed.
        decisions: the learner's decisions so far.
    """

    def __init__(self, game: Game, agent: Agent, n: int = 1024, seed: int = 0) -> None:
        """Begin to learn in `n` games; symmetric positions share an entry if the agent is equivariant.

        Raises ValueError for a game without two sides, or in which several players of a side may act at once.
        """
        self._held = seatings(game)
        if len(game.teams) != 2 or (game.simultaneous and game.num_players > 2):
            raise ValueError(
                f"a table is learned for one of two sides, of which one player acts at a time; not in {game}"
            )
        self.game, self.agent, self._draws = game, agent, np.random.default_rng(seed)
        self._keys, self._worth, self._visits = np.zeros(0, np.uint64), np.zeros(1), np.zeros(0)
        self.table = ActionTable(self._keys, np.zeros(0, np.float32), game.symmetries if agent.equivariant else ())
        self._found, self._new = np.zeros(0, _ENTRY), list[np.ndarray]()
        self.decisions = self._met = self._waiting = 0
        self.enter(n)

    @property
    def games(self) -> int:
        """Number of concurrent games."""
        return self._batch.n

    def enter(self, n: int) -> None:
        """Replace the current games by `n` new ones."""
        seed = int(self._draws.integers(2**63))
        recall, history = self.agent.remembers, self.agent.history
        self._batch = Batch(self.game, n, seed=seed, auto_reset=True, recall=recall, history=history)
        self._rows, self._sides = np.arange(n), np.arange(n) % 2

    def round(self) -> int:
        """Play one ply in each game and learn from it; return the number of the learner's decisions."""
        batch, draws = self._batch, self._draws
        me, them = (self._next_of(batch.states, side) for side in (self._sides, 1 - self._sides))
        view, other, seats = batch.view(me), batch.view(them), self._shown()
        mine, theirs = view.masks.copy(), self._answers(other)
        deciding, answering = mine.any(axis=1), theirs.any(axis=1)
        keys, named = keys_of(view.observations, self.table.turns, mine.shape[1])
        best = self._best(keys, named, mine)
        # A player who does not act has a single choice, to wait, which is stored as action 0.
        mine[~deciding, 0], theirs[~answering, 0] = True, 1.0
        new = mine & ~self._enough(keys)[:, None]
        self._try(new, theirs, (me, them), (keys, np.where(deciding[:, None], named, -1)))

        n = batch.n
        joint = np.zeros((n, self.game.num_players), np.int64)
        at_random = np.where(mine, draws.random(mine.shape), -1).argmax(axis=1)
        joint[self._rows, me] = np.where(draws.random(n) < _RANDOM, at_random, best)
        total = theirs.cumsum(axis=1)
        joint[self._rows, them] = (total > draws.random((n, 1)) * total[:, -1:]).argmax(axis=1)
        batch.step(joint)
        for player, rows, episodes in seats:
            if (over := batch.done[rows]).any():
                self.agent.episodes_over(episodes[over], batch.rewards[rows[over], player])
        if self._waiting > min(_MORE * self._met + 1000, _WAITING):
            self._solve(_SWEEPS)
        self.decisions += (made := int(deciding.sum()))
        return made

    def best(self) -> ActionTable:
        """Return the table with fully computed values."""
        self._solve(_LAST)
        return self.table

    def _next_of(self, states: np.ndarray, sides: np.ndarray) -> np.ndarray:
        """Return for each state the player of side `sides` who acts or, if none does, is next in turn: int64 (n,)."""
        players = self.game.num_players
        plies = (np.arange(players) - states["to_move"][:, None]) % players
        return np.where(self._held[sides], plies, players).argmin(axis=1)

    def _shown(self) -> list[tuple[int, np.ndarray, np.ndarray]]:
        """Show the agent its views; return each player, the games in which the agent plays it, and their episodes."""
        seats = []
        for player in range(self.game.num_players):
            rows = np.flatnonzero(~self._held[self._sides, player])
            view = self._batch.view(player, rows)
            if self.agent.observes:
                self.agent.observe(view)
            assert view.episodes is not None
            seats.append((player, rows, view.episodes))
        return seats

    def _answers(self, view: View) -> np.ndarray:
        answers = np.zeros(view.masks.shape)
        acts = np.flatnonzero(view.masks.any(axis=1))
        if len(acts):
            found = np.where(view.masks[acts], self.agent.policy(view.take(acts)), 0.0)
            if not (total := found.sum(axis=1, keepdims=True)).all():
                raise ValueError(f"agent {self.agent.name!r} gave no legal action")
            answers[acts] = found / total
        return answers

    def _enough(self, keys: np.ndarray) -> np.ndarray:
        if not len(self._keys) or self.game.hidden_information or self.game.chance == "play":
            return np.zeros(len(keys), np.bool_)
        place = np.searchsorted(self._keys, keys)
        known = self._keys.take(place, mode="clip") == keys
        return known & (self._visits.take(place, mode="clip") >= _ENOUGH)

    def _best(self, keys: np.ndarray, named: np.ndarray, mine: np.ndarray) -> np.ndarray:
        values = np.nan_to_num(self.table.at(keys, named, mine), nan=-2.0)
        return np.where(mine, values + 1e-6 * self._draws.random(mine.shape), -np.inf).argmax(axis=1)

    def _try(
        self,
        mine: np.ndarray,
        theirs: np.ndarray,
        seats: tuple[np.ndarray, np.ndarray],
        of: tuple[np.ndarray, np.ndarray],
    ) -> None:
        """Record the outcomes of the learner's actions `mine` against the agent's actions.

        `mine`: bool (n, num_actions); `theirs`: float64 (n, num_actions), the agent's probabilities; `seats`: the
        learner's and the agent's player in each game; `of`: the result of `keys_of` for the learner's observations,
        with -1 for actions of players who wait.
        """
        parents, actions = np.nonzero(mine)
        which, answers = np.nonzero((theirs > 0)[parents])
        parents, actions = parents[which], actions[which]
        states, each = self._batch.states.take(parents), np.arange(len(parents))
        if self.game.chance == "play":
            states["rng"] = self._draws.integers(1, 2**63, self._batch.n, dtype=np.uint64)[parents]
        joint = np.zeros((len(each), self.game.num_players), np.int64)
        joint[each, seats[0][parents]], joint[each, seats[1][parents]] = actions, answers
        self.game.loops.step_rows(states, each, joint)

        new = np.zeros(len(each), _ENTRY)
        new["pair"], new["share"] = pair_of(of[0][parents], of[1][parents, actions]), theirs[parents, answers]
        new["paid"] = new["share"] * np.where(states["done"], states["rewards"][each, seats[0][parents]], 0.0)
        going = np.flatnonzero(~states["done"])
        if len(going):
            states = states.take(going)
            seen = self.game.observations(states, self._next_of(states, self._sides[parents[going]]), check=False)
            new["next"][going] = keys_of(seen, self.table.turns, self.game.num_actions)[0]
        self._new.append(new)
        self._waiting += len(new)

    def _solve(self, sweeps: int) -> None:
        """Add up the entries and recompute the values. Next observations that are not in the table have the value 0."""
        found = np.concatenate([self._found, *self._new])
        self._met, self._new, self._waiting = self._met + self._waiting, [], 0
        if not len(found):
            return
        both = found["pair"] ^ (found["next"] * _ODD)
        order = np.argsort(both)
        first = _changes(both[order])
        summed = found[order[first]]
        for name in ("share", "paid"):
            summed[name] = np.add.reduceat(found[name][order], first)
        # Beyond LIMIT, drop the newest entries: older ones come first in `found` and have the lower indices.
        summed = summed[np.minimum.reduceat(order, first) < max(LIMIT, len(self._found))]
        self._found = found = summed[np.argsort(summed["pair"])]

        first = _changes(found["pair"])
        pairs = found["pair"][first]
        row = _changes(observation_of(pairs))
        keys = observation_of(pairs[row])
        place = np.searchsorted(keys, found["next"])
        place = np.where(keys.take(place, mode="clip") == found["next"], place, len(keys))
        worth = np.zeros(len(keys) + 1)
        worth[np.searchsorted(keys, self._keys)] = self._worth[:-1]
        share, paid = (np.add.reduceat(found[name], first) for name in ("share", "paid"))
        for _ in range(sweeps):
            values = (paid + np.add.reduceat(found["share"] * worth[place], first)) / share
            before, worth[:-1] = worth[:-1].copy(), np.maximum.reduceat(values, row)
            if np.abs(worth[:-1] - before).max() < _CLOSE:
                break
        self._keys, self._worth = keys, worth
        self._visits = np.add.reduceat(share, row) / np.diff(np.append(row, len(pairs)))
        mine = pairs != observation_of(pairs)
        self.table = ActionTable(pairs[mine], values[mine].astype(np.float32), self.table.turns)


def _changes(column: np.ndarray) -> np.ndarray:
    """Return the indices, int64 (k,), at which runs of equal entries of a column, (n,), begin."""
    return np.flatnonzero(np.append(True, column[1:] != column[:-1]))
