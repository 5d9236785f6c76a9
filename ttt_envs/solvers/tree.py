"""Walks once through the whole tree of a small two-player zero-sum game and converts it to sequence form.

Example::

    import ttt_envs
    from ttt_envs.solvers import sequence
    from ttt_envs.solvers.tree import walk

    tree = walk(ttt_envs.load("some_game", max_turns=3))
    print(tree.positions, tree.sets)
    print(sequence.exploitability(tree, tree.uniform()).value)

The walk keeps only the current ply in memory. Its result is the sequence form, see `ttt_envs.solvers.sequence`.

**Information sets** have perfect recall: two positions belong to the same information set if the player has made the
same observations and actions in both, see `ttt_envs.core.information`. Simultaneous choices are modelled as consecutive
ones: each player chooses without seeing the other's choice.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from ttt_envs.core import information
from ttt_envs.core.batch import Batch
from ttt_envs.core.chance import chance_of
from ttt_envs.core.compile import jit
from ttt_envs.core.game import Game
from ttt_envs.core.options import MOST, within
from ttt_envs.solvers.sequence import CHUNK, SET, InformationSets, Tree, plan_of

__all__ = ["LIMIT", "TooLarge", "reaches", "walk"]

#: Default `limit`: the most positions that a tree may have.
LIMIT = 15_000_000

# _PROBES random games estimate a tree's size. An estimate above _FAR times the limit rejects the game immediately.
# By Markov's inequality, this rejects a tree within the limit with a probability of at most 1 / _FAR.
_PROBES, _FAR = 64, 1000

# A game is not zero-sum if the sum of both rewards is further from 0 than this; rounding of float32 is smaller.
_ROUNDING = 1e-6


class TooLarge(ValueError):
    """Raised for a tree with more positions than the limit."""


@dataclass
class _Ply:
    """The n unfinished positions of one ply.

    Attributes:
        states: structured (n,).
        chance: float64 (n,), the product of the probabilities of all random events that led to the position.
        sequence: int32 (n, 2), each player's sequence, see `ttt_envs.solvers.sequence`.
        digest: uint64 (n, 2, 2), digests of what each player knows.
    """

    states: np.ndarray
    chance: np.ndarray
    sequence: np.ndarray
    digest: np.ndarray

    def __len__(self) -> int:
        return len(self.states)

    @classmethod
    def join(cls, parts: Sequence["_Ply"]) -> "_Ply":
        """Join the positions of several parts."""
        return cls(*(np.concatenate([getattr(p, name) for p in parts]) for name in cls.__dataclass_fields__))


@dataclass
class _Sets:
    """A player's information sets so far, ply by ply."""

    sets: list[np.ndarray] = field(default_factory=list)
    actions: list[np.ndarray] = field(default_factory=lambda: [np.array([-1], np.int32)])
    plies: list[np.ndarray] = field(default_factory=list)
    states: list[np.ndarray] = field(default_factory=list)
    digests: list[np.ndarray] = field(default_factory=list)
    sequences: int = 1

    def enter(self, ply: int, here: _Ply, player: int, masks: np.ndarray) -> np.ndarray:
        """Group the positions where `player` acts into information sets; masks bool (n, num_actions).

        Returns the first sequence of each position's information set, int32 (n,); 0 where the player does not act.
        """
        rows = np.flatnonzero(masks.any(axis=1))
        digests = np.ascontiguousarray(here.digest[rows, player])
        group = np.empty(len(rows), np.int64)
        number = group_rows(digests, group, np.zeros(2 << len(rows).bit_length(), np.int64))
        # Groups are numbered in the order in which they appear.
        first_row = rows[np.unique(group, return_index=True)[1]]
        legal = masks[first_row]
        made = np.empty(number, SET)
        made["parent"] = here.sequence[first_row, player]
        made["count"] = legal.sum(axis=1)
        made["first"] = self.sequences + np.cumsum(made["count"]) - made["count"]
        self.sequences += int(made["count"].sum())
        self.sets.append(made)
        self.actions.append(np.nonzero(legal)[1].astype(np.int32))
        self.plies.append(np.full(number, ply, np.int32))
        self.states.append(here.states[first_row])
        self.digests.append(here.digest[first_row, player])
        out = np.zeros(len(here), np.int32)
        out[rows] = made["first"][group]
        return out


def walk(game: Game, *, limit: int = LIMIT, progress: Callable[[int, int], None] = lambda ply, positions: None) -> Tree:
    """Return the sequence form of a game after a walk through its whole tree.

    Args:
        game: two players, zero-sum, with chance that can be enumerated.
        limit: the most positions that the tree may have.
        progress: callback, called now and then with the ply and the number of positions so far.

    Raises:
        ValueError: the game is of another kind.
        TooLarge: more than `limit` positions; a ValueError, raised immediately if random games suggest far more.
    """
    return _walk(game, limit, progress, lambda here, masks, firsts: None)


def reaches(tree: Tree, policy: Sequence[np.ndarray]) -> tuple[np.ndarray, np.ndarray]:
    """Return the counterfactual reach of each information set under a policy, after another walk through the tree.

    Returns:
        For each player float64 (information sets,): the sum, over the positions of a set, of the probability that
        chance and the other player make the choices that lead there. The player's own choices do not matter.
    """
    plans = [plan_of(mine, part) for mine, part in zip(tree.players, policy, strict=True)]
    found = [np.zeros(mine.sequences) for mine in tree.players]

    def visit(here: _Ply, masks: np.ndarray, firsts: Sequence[np.ndarray]) -> None:
        for player in (0, 1):
            rows = np.flatnonzero(masks[player].any(axis=1))
            likely = here.chance[rows] * plans[1 - player][here.sequence[rows, 1 - player]]
            found[player] += np.bincount(firsts[player][rows], likely, len(found[player]))

    _walk(tree.game, tree.positions, lambda ply, positions: None, visit)
    first, second = (each[mine.sets["first"]] for each, mine in zip(found, tree.players, strict=True))
    return first, second


def _walk(
    game: Game,
    limit: int,
    progress: Callable[[int, int], None],
    visit: Callable[["_Ply", np.ndarray, Sequence[np.ndarray]], None],
) -> Tree:
    """Do what `walk` does and, for each ply, call `visit` with its positions, their masks (2, n, num_actions), and the
    first sequences of both players' information sets, int32 (n,) each."""
    if game.num_players != 2:
        raise ValueError(f"only games of two players can be solved by their tree; {game} has {game.num_players}")
    game.check_rewards("a solver of trees")
    within(1, MOST, limit=limit)
    if (size := _estimate(game, _FAR * limit)) > _FAR * limit:
        raise TooLarge(
            f"the tree of {game} has more than {limit} positions, by far: at least {size:.0e}, as random games "
            "estimate; give it options that make it smaller"
        )
    probabilities, states = chance_of(game).starts()
    here = _Ply(states, probabilities, np.zeros((len(states), 2), np.int32), information.begin(len(states), 2))
    players, ends = (_Sets(), _Sets()), _Ends(game)
    here, ply, positions = ends.take(here), 0, len(states)
    while len(here):
        masks = information.show(game, here.states, here.digest)
        choices = np.maximum(masks.sum(axis=2), 1)
        coming = int(choices.prod(axis=0).sum())
        if positions + coming > limit:
            raise TooLarge(
                f"the tree of {game} has more than {limit} positions: {positions} up to ply {ply}, and at least "
                f"{coming} at the next; give it options that make it smaller, or a higher limit"
            )
        if not masks.any(axis=(0, 2)).all():
            raise ValueError(f"{game} is not finished in a position where nobody has a legal action")
        firsts = [each.enter(ply, here, player, masks[player]) for player, each in enumerate(players)]
        visit(here, masks, firsts)
        following = []
        for first in range(0, len(here), CHUNK):
            some = slice(first, first + CHUNK)
            for part in _expand(game, here, some, masks, firsts):
                positions += len(part)
                following.append(ends.take(part))
                if positions > limit:
                    raise TooLarge(
                        f"the tree of {game} has more than {limit} positions, met at ply {ply + 1}; give it options "
                        "that make it smaller, or a higher limit"
                    )
            progress(ply + 1, positions)
        here = _Ply.join(following)
        ply += 1
    return Tree(game, ends.settle(players), positions, ends.count, ply)


def _estimate(game: Game, enough: float) -> float:
    """Return a low estimate of the tree's number of positions, from random games; stop counting at `enough`.

    A game's estimate is the sum over its plies of the product of the branching factors so far: Knuth, "Estimating the
    efficiency of backtrack programs", Mathematics of Computation 29 (1975). Random events do not count as branches, so
    the expected estimate is at most the tree's size.
    """
    batch, random = Batch(game, _PROBES, seed=0), np.random.default_rng(0)
    ways, positions = np.ones(_PROBES), np.ones(_PROBES)
    while not batch.done.all() and positions.mean() <= enough:
        masks = np.stack([batch.masks(player) for player in (0, 1)], axis=1)
        if not (masks.any(axis=(1, 2)) | batch.done).all():
            break  # the game is invalid, which `walk` reports
        ways *= np.where(batch.done, 0, np.maximum(masks.sum(axis=2), 1).prod(axis=1))
        positions += ways
        batch.step((masks * random.random(masks.shape)).argmax(axis=2))
    return float(positions.mean())


def _expand(game: Game, here: _Ply, some: slice, masks: np.ndarray, firsts: Sequence[np.ndarray]) -> Iterator[_Ply]:
    """Yield the successors of the positions `some`, one part at a time."""
    masks = masks[:, some]
    choices = np.maximum(masks.sum(axis=2), 1)
    total = int(choices.prod(axis=0).sum())
    rows, joint, ranks = np.empty(total, np.int64), np.empty((total, 2), np.int64), np.empty((total, 2), np.int32)
    joint_rows(masks, rows, joint, ranks)
    rows += some.start
    for first in range(0, total, CHUNK):
        part = slice(first, first + CHUNK)
        row, actions = rows[part], joint[part]
        sequence, digest = here.sequence[row], here.digest[row]
        for player in (0, 1):
            acts = actions[:, player] >= 0
            sequence[acts, player] = (firsts[player][row] + ranks[part, player])[acts]
        information.note(digest, actions)
        owner, chance, states = chance_of(game).outcomes(here.states[row], np.maximum(actions, 0))
        yield _Ply(states, here.chance[row[owner]] * chance, sequence[owner], digest[owner])


class _Ends:
    """The finished games of a walk."""

    def __init__(self, game: Game) -> None:
        self.game = game
        self.count = 0
        self._pairs: list[np.ndarray] = []
        self._payoffs: list[np.ndarray] = []

    def take(self, here: _Ply) -> _Ply:
        """Record the finished games, and return the unfinished positions."""
        done = here.states["done"]
        rewards = here.states["rewards"][done].astype(np.float64)
        wrong = np.flatnonzero(np.abs(rewards.sum(axis=1)) > _ROUNDING)
        if len(wrong):
            raise ValueError(
                f"only zero-sum games can be solved by their tree; {self.game} can pay {rewards[wrong[0]]}"
            )
        self.count += len(rewards)
        paid = rewards[:, 0] != 0
        self._pairs.append(here.sequence[done][paid])
        self._payoffs.append((here.chance[done] * rewards[:, 0])[paid])
        if not done.any():
            return here
        return _Ply(here.states[~done], here.chance[~done], here.sequence[~done], here.digest[~done])

    def settle(self, players: tuple[_Sets, _Sets]) -> tuple[InformationSets, InformationSets]:
        """Return both players' information sets and payoffs."""
        pairs, payoffs = np.concatenate(self._pairs), np.concatenate(self._payoffs)
        key = pairs[:, 0].astype(np.int64) * players[1].sequences + pairs[:, 1]
        key, which = np.unique(key, return_inverse=True)
        payoffs = np.bincount(which, payoffs, len(key))
        ways = np.stack(np.divmod(key, players[1].sequences)).astype(np.int32)
        return self._decisions(players[0], ways, payoffs), self._decisions(players[1], ways[::-1], -payoffs)

    def _decisions(self, sets: _Sets, ways: np.ndarray, payoffs: np.ndarray) -> InformationSets:
        order = np.argsort(ways[0], kind="stable")
        return InformationSets(
            sets=_joined(sets.sets, SET),
            actions=_joined(sets.actions, np.int32),
            plies=_joined(sets.plies, np.int32),
            states=_joined(sets.states, self.game.state_dtype),
            digests=_joined(sets.digests, np.uint64).reshape(-1, 2),
            start=np.concatenate([[0], np.cumsum(np.bincount(ways[0], minlength=sets.sequences))]),
            other=ways[1][order],
            payoff=payoffs[order],
        )


def _joined(parts: Sequence[np.ndarray], dtype: Any) -> np.ndarray:
    return np.concatenate(parts) if parts else np.empty(0, dtype)


@jit.kernel
def group_rows(digests, out, slots):  # type: ignore[no-untyped-def]
    """Number the distinct digests, uint64 (n, 2), in order of appearance: out int64 (n,). Returns their number.

    `slots` int64 (a power of two above n,), all 0, is scratch memory: a hash table of row numbers + 1.
    """
    number, last = 0, slots.shape[0] - 1
    for i in range(digests.shape[0]):
        slot = np.int64(digests[i, 0] & np.uint64(last))
        while True:
            row = slots[slot] - 1
            if row < 0:
                slots[slot] = i + 1
                out[i] = number
                number += 1
                break
            if digests[row, 0] == digests[i, 0] and digests[row, 1] == digests[i, 1]:
                out[i] = out[row]
                break
            slot = (slot + 1) & last
    return number


@jit.kernel
def joint_rows(masks, rows, joint, ranks):  # type: ignore[no-untyped-def]
    """Write all pairs of legal actions in each of n positions, masks bool (2, n, num_actions).

    For each of k pairs, rows int64 (k,) gets the position, joint int64 (k, 2) the actions (-1 for a player who has
    none), and ranks int32 (k, 2) the index of each action among the player's legal actions.
    """
    k, actions = 0, masks.shape[2]
    for i in range(masks.shape[1]):
        rank = 0
        for one in range(-1, actions):
            if not acts(masks[0, i], one):
                continue
            other_rank = 0
            for other in range(-1, actions):
                if acts(masks[1, i], other):
                    rows[k] = i
                    joint[k, 0], joint[k, 1] = one, other
                    ranks[k, 0], ranks[k, 1] = rank, other_rank
                    k += 1
                    other_rank += 1
            rank += 1


@jit.kernel
def acts(mask, action):  # type: ignore[no-untyped-def]
    """Return whether the action is legal; -1 (no action) is legal if no other action is."""
    return mask[action] if action >= 0 else not mask.any()
