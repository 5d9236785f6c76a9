"""The whole tree of a small two-player zero-sum game, walked through once and kept in sequence form.

    import ttt_envs
    from ttt_envs.solvers import tree

    found = tree.walk(ttt_envs.load("some_game", max_turns=3))
    print(found.positions, found.sets)
    print(tree.exploitability(found, found.uniform()).value)

**Sequence form** (Koller, Megiddo and von Stengel, "Efficient computation of equilibria for extensive two-person
games", Games and Economic Behavior 14, 1996). A *sequence* of a player is what he has done so far: an information set
and an action in it; sequence 0 is to have done nothing. With perfect recall all that a game can pay is a sparse table
over pairs of sequences: the payoffs of all ends that the pair and chance lead to, times the probability of chance. The
tree itself, mostly chance and ends that pay nothing, is not kept: only its present ply is while it is walked.

**Information sets** are those of perfect recall: two positions are one to a player if all observations and masks that
he was shown, at every ply, whoever acted, and all his own actions were the same. A digest of 128 bits stands for these;
that two different histories share one is as unlikely as one in 2**128 for each pair. Players who act at once choose
one after the other, without seeing the other's choice.

A *policy* here is a pair of float64 (sequences,), the probability of the last action of each sequence in its
information set, 1 for sequence 0. A *plan* is the product of these along each sequence.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from rich.console import Console
from rich.progress import Progress, SpinnerColumn, TextColumn, TimeElapsedColumn

from ttt_envs.core import jit, rng
from ttt_envs.core.chance import chance_of
from ttt_envs.core.game import Game
from ttt_envs.core.view import View

#: One information set: the sequence that leads to it, and its own ones, first, first + 1, ... in order of actions.
SET = np.dtype([("parent", np.int32), ("first", np.int32), ("count", np.int32)])

#: Positions of the largest tree that is walked unless another limit is given.
LIMIT = 10_000_000

# A pair of players' rewards that adds up to more is no rounding of float32.
_ROUNDING = 1e-6

# Rows worked on at once: enough to make Python's share small, few enough to stay in a processor's cache.
_CHUNK = 1 << 14

_OTHER = np.uint64(0xD6E8FEB86659FD93)


class TooLarge(ValueError):
    """A tree with more positions than the limit."""


@dataclass(frozen=True, eq=False)
class Decisions:
    """One player's information sets (m of them) and sequences, each after those that lead to it.

    Attributes:
        sets: SET (m,).
        actions: int32 (sequences,), the last action of each sequence; -1 for sequence 0.
        plies: int32 (m,), when the player is in the set.
        states: structured (m,), one of the positions of each set.
        digests: uint64 (m, 2), of all that the player knows in the set.
        start: int64 (sequences + 1,), the payoffs of sequence s are those from start[s] to start[s + 1].
        other: int32 (payoffs,), sequences of the other player.
        payoff: float64 (payoffs,), reward of this player times the probability of chance.
    """

    sets: np.ndarray
    actions: np.ndarray
    plies: np.ndarray
    states: np.ndarray
    digests: np.ndarray
    start: np.ndarray
    other: np.ndarray
    payoff: np.ndarray

    @property
    def sequences(self) -> int:
        """Number of sequences, the empty one included."""
        return len(self.actions)


@dataclass(frozen=True, eq=False)
class Tree:
    """A game in sequence form.

    Attributes:
        game: that was walked.
        players: the decisions of both players.
        positions: what plays of the game there are, up to any ply: different sequences of actions and of outcomes of
            chance, finished games included.
        finished: how many of them are finished games.
        plies: of the longest game.
    """

    game: Game
    players: tuple[Decisions, Decisions]
    positions: int
    finished: int
    plies: int

    @property
    def sets(self) -> int:
        """Number of information sets."""
        return sum(len(each.sets) for each in self.players)

    def uniform(self) -> tuple[np.ndarray, np.ndarray]:
        """The policy that takes all legal actions alike."""
        first, second = (_spread(each, 1 / each.sets["count"]) for each in self.players)
        return first, second

    def views(self, player: int, seed: int = 0, chunk: int = _CHUNK) -> Iterator[View]:
        """What `player` may know in each of his information sets, in order, some at a time; `seed` is the agents'."""
        states = self.players[player].states
        for first in range(0, len(states), chunk):
            some = states[first : first + chunk]
            seeds = np.empty(len(some), np.uint64)
            rng.fold_rows(
                np.full(len(some), seed, np.uint64), np.arange(first, first + len(some), dtype=np.uint64), seeds
            )
            yield View(self.game, some, np.full(len(some), player), seeds, copy=False)

    def policy(self, tables: Sequence[np.ndarray]) -> tuple[np.ndarray, np.ndarray]:
        """A policy from each player's table, float64 (information sets, num_actions)."""
        first, second = (
            np.concatenate([[1.0], table[np.repeat(np.arange(len(each.sets)), each.sets["count"]), each.actions[1:]]])
            for each, table in zip(self.players, tables, strict=True)
        )
        return first, second

    def table(self, player: int, policy: np.ndarray) -> np.ndarray:
        """float64 (information sets, num_actions), from one player's part of a policy."""
        mine = self.players[player]
        out = np.zeros((len(mine.sets), self.game.num_actions))
        out[np.repeat(np.arange(len(mine.sets)), mine.sets["count"]), mine.actions[1:]] = policy[1:]
        return out


# --- walking ---


@dataclass
class _Ply:
    """Positions of one ply, n of them, none finished.

    Attributes:
        states: structured (n,).
        chance: float64 (n,), the probability of chance's part in the way there.
        sequence: int32 (n, 2), what each player has done.
        digest: uint64 (n, 2, 2), of what each player knows.
    """

    states: np.ndarray
    chance: np.ndarray
    sequence: np.ndarray
    digest: np.ndarray

    def __len__(self) -> int:
        return len(self.states)

    @classmethod
    def join(cls, parts: Sequence["_Ply"]) -> "_Ply":
        """All of them, in one."""
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
        """Make the sets of the positions where `player` acts (masks bool (n, num_actions)).

        Returns the first sequence of each position's set, int32 (n,), meaningless where he does not act.
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


def walk(game: Game, *, limit: int = LIMIT, tell: Callable[[int, int], None] = lambda ply, positions: None) -> Tree:
    """Walk through all that can happen in a game.

    Args:
        game: two players, zero-sum, with chance that can be enumerated.
        limit: positions of the tree at most.
        tell: told now and then the ply and the number of positions so far.

    Raises:
        ValueError: in words: not such a game.
        TooLarge: a ValueError, in words: more positions than `limit`; before they are made.
    """
    if game.num_players != 2:
        raise ValueError(f"only games of two players can be solved by their tree; {game!r} has {game.num_players}")
    if isinstance(limit, bool) or not isinstance(limit, int) or limit < 1:
        raise ValueError(f"limit must be a whole number of at least 1, not {limit!r}")
    probabilities, states = chance_of(game).starts()
    start = np.broadcast_to(rng.fold(0, 0), (len(states), 2, 2)).copy()
    here = _Ply(states, probabilities, np.zeros((len(states), 2), np.int32), start)
    players, ends = (_Sets(), _Sets()), _Ends(game)
    here, ply, positions = ends.take(here), 0, len(states)
    while len(here):
        masks = _look(game, here)
        choices = np.maximum(masks.sum(axis=2), 1)
        coming = int(choices.prod(axis=0).sum())
        if positions + coming > limit:
            raise TooLarge(
                f"the tree of {game!r} has more than {limit} positions: {positions} up to ply {ply}, and at least "
                f"{coming} at the next; give it options that make it smaller, or a higher limit"
            )
        if not masks.any(axis=(0, 2)).all():
            raise ValueError(f"{game!r} is not finished in a position where nobody has a legal action")
        firsts = [each.enter(ply, here, player, masks[player]) for player, each in enumerate(players)]
        following = []
        for first in range(0, len(here), _CHUNK):
            some = slice(first, first + _CHUNK)
            for part in _expand(game, here, some, masks, firsts):
                positions += len(part)
                following.append(ends.take(part))
                if positions > limit:
                    raise TooLarge(
                        f"the tree of {game!r} has more than {limit} positions, met at ply {ply + 1}; give it options "
                        "that make it smaller, or a higher limit"
                    )
            tell(ply + 1, positions)
        here = _Ply.join(following)
        ply += 1
    return Tree(game, ends.settle(players), positions, ends.count, ply)


def walk_shown(game: Game, limit: int = LIMIT, *, quiet: bool = False) -> Tree:
    """`walk`, with its progress on the terminal."""
    columns = (SpinnerColumn(), TextColumn("{task.description}"), TimeElapsedColumn())
    with Progress(*columns, console=Console(stderr=True), disable=quiet, transient=True) as bar:
        task = bar.add_task("walking through the tree", total=None)

        def tell(ply: int, positions: int) -> None:
            bar.update(task, description=f"walking through the tree: ply {ply}, {positions:,} positions")

        return walk(game, limit=limit, tell=tell)


def _look(game: Game, here: _Ply) -> np.ndarray:
    """Let both players look at all positions; the masks of both, bool (2, n, num_actions)."""
    masks = np.empty((2, len(here), game.num_actions), np.bool_)
    seen = np.empty((min(len(here), _CHUNK), game.observation_size), np.int8)
    for first in range(0, len(here), _CHUNK):
        states = here.states[first : first + _CHUNK]
        for player in (0, 1):
            who, mask = np.full(len(states), player), masks[player, first : first + _CHUNK]
            game.loops.mask_rows(states, who, mask)
            game.loops.observe_rows(states, who, seen[: len(states)])
            digest = here.digest[first : first + _CHUNK, player]
            absorb_rows(digest, seen[: len(states)].view(np.uint8))
            absorb_rows(digest, mask.view(np.uint8))
    return masks


def _expand(game: Game, here: _Ply, some: slice, masks: np.ndarray, firsts: Sequence[np.ndarray]) -> Iterator[_Ply]:
    """What some of the positions lead to, a part at a time."""
    masks = masks[:, some]
    choices = np.maximum(masks.sum(axis=2), 1)
    total = int(choices.prod(axis=0).sum())
    rows, joint, ranks = np.empty(total, np.int64), np.empty((total, 2), np.int64), np.empty((total, 2), np.int32)
    joint_rows(masks, rows, joint, ranks)
    rows += some.start
    for first in range(0, total, _CHUNK):
        part = slice(first, first + _CHUNK)
        row, actions = rows[part], joint[part]
        sequence, digest = here.sequence[row], here.digest[row]
        for player in (0, 1):
            acts = actions[:, player] >= 0
            sequence[acts, player] = (firsts[player][row] + ranks[part, player])[acts]
            done = np.ascontiguousarray(actions[:, player : player + 1]).view(np.uint8)
            absorb_rows(digest[:, player], done)
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
        """Note the finished games, and give the others."""
        done = here.states["done"]
        rewards = here.states["rewards"][done].astype(np.float64)
        wrong = np.flatnonzero(np.abs(rewards.sum(axis=1)) > _ROUNDING)
        if len(wrong):
            raise ValueError(
                f"only zero-sum games can be solved by their tree; {self.game!r} can pay {rewards[wrong[0]]}"
            )
        self.count += len(rewards)
        paid = rewards[:, 0] != 0
        self._pairs.append(here.sequence[done][paid])
        self._payoffs.append((here.chance[done] * rewards[:, 0])[paid])
        if not done.any():
            return here
        return _Ply(here.states[~done], here.chance[~done], here.sequence[~done], here.digest[~done])

    def settle(self, players: tuple[_Sets, _Sets]) -> tuple[Decisions, Decisions]:
        """Both players' decisions, and what they are paid."""
        pairs, payoffs = np.concatenate(self._pairs), np.concatenate(self._payoffs)
        key = pairs[:, 0].astype(np.int64) * players[1].sequences + pairs[:, 1]
        key, which = np.unique(key, return_inverse=True)
        payoffs = np.bincount(which, payoffs, len(key))
        ways = np.stack(np.divmod(key, players[1].sequences)).astype(np.int32)
        return self._decisions(players[0], ways, payoffs), self._decisions(players[1], ways[::-1], -payoffs)

    def _decisions(self, found: _Sets, ways: np.ndarray, payoffs: np.ndarray) -> Decisions:
        order = np.argsort(ways[0], kind="stable")
        return Decisions(
            sets=_joined(found.sets, SET),
            actions=_joined(found.actions, np.int32),
            plies=_joined(found.plies, np.int32),
            states=_joined(found.states, self.game.state_dtype),
            digests=_joined(found.digests, np.uint64).reshape(-1, 2),
            start=np.concatenate([[0], np.cumsum(np.bincount(ways[0], minlength=found.sequences))]),
            other=ways[1][order],
            payoff=payoffs[order],
        )


def _joined(parts: Sequence[np.ndarray], dtype: Any) -> np.ndarray:
    return np.concatenate(parts) if parts else np.empty(0, dtype)


@jit.kernel
def absorb_rows(digests, rows):  # type: ignore[no-untyped-def]
    """Let each digest, uint64 (n, 2), take in a row of `rows`, uint8 (n, k)."""
    for i in range(rows.shape[0]):
        first, second, word = digests[i, 0], digests[i, 1], np.uint64(0)
        for k in range(rows.shape[1]):
            word = word << np.uint64(8) | np.uint64(rows[i, k])
            if k % 8 == 7 or k == rows.shape[1] - 1:
                first = rng.mix(first ^ word)
                second = rng.mix(second ^ rng.mix(word ^ _OTHER))
                word = np.uint64(0)
        digests[i, 0], digests[i, 1] = first, second


@jit.kernel
def group_rows(digests, out, slots):  # type: ignore[no-untyped-def]
    """Number the different digests, uint64 (n, 2), as they appear: out int64 (n,). Returns how many there are.

    `slots` int64 (a power of two, more than n), all 0, is room for an index: rows + 1.
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
    """All pairs of legal actions in each of n positions, masks bool (2, n, num_actions).

    For each pair: rows int64 (k,) its position, joint int64 (k, 2) the actions, -1 of who has none, and ranks
    int32 (k, 2), how many legal actions come before them.
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
    """Whether the action is legal; -1, to do nothing, is where no other is."""
    return mask[action] if action >= 0 else not mask.any()


# --- playing the game in sequence form ---


@jit.kernel
def fill_plan(sets, policy, plan):  # type: ignore[no-untyped-def]
    """The plan of a policy: all float64 (sequences,)."""
    plan[0] = 1.0
    for k in range(sets.shape[0]):
        before = plan[sets[k]["parent"]]
        for s in range(sets[k]["first"], sets[k]["first"] + sets[k]["count"]):
            plan[s] = before * policy[s]


@jit.kernel
def fill_policy(sets, plan, policy):  # type: ignore[no-untyped-def]
    """The policy of a plan, or of a sum of plans; uniform where the plan does not go."""
    policy[0] = 1.0
    for k in range(sets.shape[0]):
        first, count, total = sets[k]["first"], sets[k]["count"], 0.0
        for s in range(first, first + count):
            total += plan[s]
        for s in range(first, first + count):
            policy[s] = plan[s] / total if total > 0.0 else 1.0 / count


@jit.kernel
def fill_payoffs(start, other, payoff, plan, out):  # type: ignore[no-untyped-def]
    """out[s] = what ends right after sequence s pay, if the other player follows `plan`; see Decisions."""
    for s in range(out.shape[0]):
        total = 0.0
        for k in range(start[s], start[s + 1]):
            total += payoff[k] * plan[other[k]]
        out[s] = total


@jit.kernel
def respond(sets, values, policy):  # type: ignore[no-untyped-def]
    """Best actions against payoffs by `fill_payoffs`, the first ones of equal value: policy float64 (sequences,).

    `values` become what each sequence is worth with best play from there on; values[0] is that of the game.
    """
    policy[0] = 1.0
    for k in range(sets.shape[0] - 1, -1, -1):
        first, best = sets[k]["first"], sets[k]["first"]
        for s in range(first, first + sets[k]["count"]):
            policy[s] = 0.0
            if values[s] > values[best]:
                best = s
        policy[best] = 1.0
        values[sets[k]["parent"]] += values[best]


def plan_of(mine: Decisions, policy: np.ndarray) -> np.ndarray:
    """The plan of one player's policy."""
    plan = np.empty(mine.sequences)
    fill_plan(mine.sets, policy, plan)
    return plan


def payoffs(mine: Decisions, plan: np.ndarray) -> np.ndarray:
    """What ends right after each sequence pay against the other player's plan: float64 (sequences,)."""
    out = np.empty(mine.sequences)
    fill_payoffs(mine.start, mine.other, mine.payoff, plan, out)
    return out


def best_response(tree: Tree, player: int, plan: np.ndarray) -> tuple[float, np.ndarray]:
    """What `player` gets at best against the other's plan, and a policy that gets it."""
    mine = tree.players[player]
    values, policy = payoffs(mine, plan), np.empty(mine.sequences)
    respond(mine.sets, values, policy)
    return float(values[0]), policy


@dataclass(frozen=True)
class Exploitability:
    """How far a policy is from an equilibrium.

    Attributes:
        value: the mean of both best responses: what a policy loses on average against opponents who know it, if seats
            are drawn. 0 for an equilibrium, and for nothing else.
        nash_conv: twice that, the sum of both.
        best_responses: the expected reward of each player who plays best against the policy. The value of the game for
            player 0 lies from -best_responses[1] to best_responses[0].
        expected: the expected reward of player 0 if both follow the policy.
    """

    value: float
    nash_conv: float
    best_responses: tuple[float, float]
    expected: float


def exploitability(tree: Tree, policy: Sequence[np.ndarray]) -> Exploitability:
    """Of a policy, exactly."""
    plans = [plan_of(mine, part) for mine, part in zip(tree.players, policy, strict=True)]
    first, second = (best_response(tree, player, plans[1 - player])[0] for player in (0, 1))
    expected = float(payoffs(tree.players[0], plans[1]) @ plans[0])
    # Adding 0 turns -0 into 0.
    return Exploitability((first + second) / 2 + 0.0, first + second + 0.0, (first, second), expected)


def _spread(mine: Decisions, values: np.ndarray) -> np.ndarray:
    """One value an information set, at each of its sequences; 1 for sequence 0."""
    return np.concatenate([[1.0], np.repeat(values, mine.sets["count"])])
