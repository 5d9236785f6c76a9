"""Solves any small game of perfect information: finds all reachable positions and their values under optimal play.

Example::

    import ttt_envs
    from ttt_envs.solvers.positions import solve

    positions = solve(ttt_envs.load("my_game"))
    print(len(positions.keys))

A breadth-first search by the game's own rules finds each position once (see `ttt_envs.core.positions.Keys`). Normally a
key contains the ply, so no position recurs: one pass backwards from the last positions gives the values, as expected
values over chance. If `Extras.without_past` removes the ply from the key, positions may recur. Then the n-th sweep over
all positions gives the values of the game that ends as a draw after n plies. Sweeps continue until no value changes, so
endless play is a draw.
"""

from collections.abc import Callable, Iterator
from itertools import count
from typing import NamedTuple

import numpy as np

from ttt_envs.core.chance import chance_of, seek
from ttt_envs.core.compile import jit
from ttt_envs.core.game import Game
from ttt_envs.core.positions import (
    Keys,
    PositionOracle,
    Positions,
    digest_of,
    following,
    oracle_of,
    random_plies,
    read_positions,
    sortable,
    write_positions,
)
from ttt_envs.core.state import States
from ttt_envs.solvers.tree import LIMIT, TooLarge
from ttt_envs.storage.tables import load_or_build, table_folder

__all__ = ["estimate", "solve", "solved_oracle"]

# Number of positions to expand at a time.
_CHUNK = 1 << 14

# `solve` rejects a game whose estimate exceeds _FAR times the limit; `estimate` stops at _ENOUGH times the limit.
_FAR, _ENOUGH = 4, 20

# For how many positions of each chunk `check_closed` tests whether symmetric images have equal keys.
_TRIED = 64

# Sweeps end when no value changes by more than _SETTLED. After _MOST_SWEEPS sweeps, the solver gives up.
_SETTLED, _MOST_SWEEPS = 1e-15, 10_000


class _Edges(NamedTuple):
    """The successors of a chunk of m positions.

    Attributes:
        first: the number of the chunk's first position.
        signs: int8 (m,), 1 if the first side moves, else -1.
        actions: uint16 (m,), each position's number of actions.
        outcomes: uint32 (actions,), each action's number of outcomes; empty without chance.
        chances: float64 (outcomes,), each outcome's probability; empty without chance.
        after: int32 (outcomes,), the number of the next position; -1 - r for a finished game with result number r.
    """

    first: int
    signs: np.ndarray
    actions: np.ndarray
    outcomes: np.ndarray
    chances: np.ndarray
    after: np.ndarray


class _Worth(NamedTuple):
    """Values of positions: `values` float64 (n,) for the first side, and plies int32 (n,) until the result."""

    values: np.ndarray
    plies: np.ndarray


@jit.kernel
def back_up(edges, results, before, after):  # type: ignore[no-untyped-def]
    """Write a chunk's values under optimal play to `after`, computed from the successors' values in `before`.

    Among actions of equal value, a winner chooses the shortest game and a loser the longest. `results`: float64, values
    of finished games.
    """
    most, least, chance = results.max(), results.min(), edges.outcomes.shape[0] > 0
    k, a = 0, 0
    for i in range(edges.signs.shape[0]):
        place, sign = edges.first + i, np.float64(edges.signs[i])
        known = before.values[place]
        if not chance and (known == most > 0 or known == least < 0):
            k += edges.actions[i]  # an earlier sweep found the final result, which no action can improve
            continue
        best, length = -np.inf, np.int32(0)
        for _ in range(edges.actions[i]):
            value, plies, outcomes = 0.0, np.int32(0), 1
            if chance:
                outcomes = edges.outcomes[a]
                a += 1
            for _ in range(outcomes):
                child = edges.after[k]
                worth = results[-1 - child] if child < 0 else before.values[child]
                value += worth * edges.chances[k] if chance else worth
                if child >= 0:
                    plies = max(plies, before.plies[child])
                k += 1
            value *= sign
            if value > best or (value == best and (plies < length) == (value > 0)):
                best, length = value, plies
        after.values[place] = best * sign + 0.0
        after.plies[place] = length + 1 if best != 0 else 0


@jit.kernel
def enter(store, slots, ends, out):  # type: ignore[no-untyped-def]
    """Assign numbers to keys; equal keys get the same number.

    Args:
        store: uint64 (room, words), the keys by number, followed by the k keys to enter.
        slots: int32 (power of two, more than twice the keys), the hash table of `seek`.
        ends: two numbers of keys: keys from ends[0] to ends[1] - 1 are entered already, and earlier ones are ignored.
        out: int32 (k,), output: the numbers of the k keys.

    Returns the number of keys that are entered now.
    """
    first, start = ends
    end = start
    for i in range(out.shape[0]):
        store[end] = store[start + i]
        out[i] = seek(store, slots, first, end)
        if out[i] == end:
            end += 1
    return end


class _Search:
    """Finds all positions of a game from its starts."""

    def __init__(self, game: Game, keys: Keys) -> None:
        self.game, self.keys = game, keys
        self.layered = game.extras.without_past is None
        self.store, self.slots = np.empty((0, keys.words), np.uint64), np.zeros(0, np.int32)
        self.first, self.end = 0, 0  # keys from `first` on are compared with new keys; `end` is the number of keys
        self.edges, self.results = list[_Edges](), list[float]()

    def enter(self, states: States) -> np.ndarray:
        """Return the numbers of positions, int32 (k,), and enter new ones; -1 - r if finished, with results[r]."""
        out, done = np.empty(len(states), np.int32), states["done"]
        paid = states["rewards"][:, self.game.teams[0][0]].astype(float)
        for result in np.unique(paid[done]).tolist():
            if result not in self.results:
                self.results.append(result)
            out[done & (paid == result)] = -1 - self.results.index(result)
        keys = self.keys.of(states.take(np.flatnonzero(~done)))
        room = self.end + len(keys)
        if room > len(self.store):
            self.store = np.concatenate([self.store, np.empty((room // 2 + len(keys), self.keys.words), np.uint64)])
        if 2 * (room - self.first) > len(self.slots):
            self.slots = np.zeros(4 << (room - self.first).bit_length(), np.int32)
            enter(self.store, self.slots, (self.first, self.first), np.empty(self.end - self.first, np.int32))
        self.store[self.end : room] = keys
        found = np.empty(len(keys), np.int32)
        self.end = int(enter(self.store, self.slots, (self.first, self.end), found))
        out[~done] = found
        return out

    def run(self, starts: np.ndarray, limit: int) -> Iterator[int]:
        """Find all positions, ply by ply; yield the ply for each chunk. Raises TooLarge and ValueError."""
        self.enter(starts)
        at = 0
        for ply in count():
            layer = self.end
            if self.layered:
                self.first = layer
            while at < layer:
                yield ply
                states: States = self.keys.states(self.store[at : min(at + _CHUNK, layer)])
                self.keys.check_closed(states[:_TRIED])
                owner, action = np.nonzero(self.game.masks(states, check=False))
                rows, chances, after = following(self.game, states.take(owner), action)
                by_chance = self.game.chance == "play"
                self.edges.append(
                    _Edges(
                        at,
                        np.where(np.isin(states["to_move"], self.game.teams[0]), 1, -1).astype(np.int8),
                        np.bincount(owner, minlength=len(states)).astype(np.uint16),
                        np.bincount(rows, minlength=len(owner)).astype(np.uint32)
                        if by_chance
                        else np.empty(0, np.uint32),
                        chances if by_chance else np.empty(0),
                        self.enter(after),
                    )
                )
                at += len(states)
                if self.end > limit:
                    raise TooLarge(f"{self.game} has more than {limit} positions")
            if at == self.end:
                return

    def values(self) -> Iterator[_Worth]:
        """Yield the values of all positions after each sweep; those of the last sweep are final."""
        results, by_chance = np.array(self.results), self.game.chance == "play"
        worth = _Worth(np.zeros(self.end), np.zeros(self.end, np.int32))
        if self.layered:
            for edges in reversed(self.edges):
                back_up(edges, results, worth, worth)
            yield worth
            return
        for sweep in range(1, _MOST_SWEEPS):
            before, worth = worth, _Worth(worth.values.copy(), worth.plies.copy())
            for edges in self.edges:
                back_up(edges, results, before, worth)
            if by_chance:
                worth.plies[:] = sweep
            yield worth
            changes = np.abs(worth.values - before.values).max(initial=0.0)
            if changes <= _SETTLED and (by_chance or (worth.plies == before.plies).all()):
                return
        raise ValueError(f"the values of {self.game} do not settle: keep the ply in the key, without `without_past`")


def _check(game: Game) -> None:
    """Raise ValueError, naming the reason, unless the game is of a kind that `solve` solves."""
    if game.hidden_information or game.simultaneous:
        raise ValueError(f"{game} is no game of perfect information in which one player acts at a time")
    if len(game.teams) != 2:
        raise ValueError(f"positions are solved for two sides; {game} has {len(game.teams)}")
    game.check_rewards("this solver")


def estimate(game: Game, keys: Keys, limit: int) -> float:
    """Return a low estimate of a game's number of positions, from how often random games reach equal positions.

    If n games have k pairs of equal positions at a ply, n(n-1) / 2k is a low estimate of the positions at that ply.
    Enough games are played to detect up to four times the limit; counting stops at 20 times the limit.
    """
    found = 0.0
    for states in random_plies(game, max(64, int((2 * _FAR * limit) ** 0.5))):
        numbers = np.unique(sortable(keys.of(states)), return_counts=True)[1].astype(np.float64)
        pairs = len(states) * (len(states) - 1) / 2
        here = max(len(numbers), pairs / max((numbers * (numbers - 1) / 2).sum(), 1.0))
        found = found + here if game.extras.without_past is None else max(found, here)
        if found > _ENOUGH * limit:
            break
    return found


def solve(
    game: Game,
    *,
    starts: np.ndarray | None = None,
    limit: int = LIMIT,
    progress: Callable[[str], None] = lambda what: None,
) -> Positions:
    """Return all reachable positions of a game with their values under optimal play.

    Args:
        game: a game of perfect information, in which one player acts at a time, with two sides, zero-sum rewards at the
            end, and chance that can be enumerated.
        starts: structured (n,), positions to start from; None for the starts of the game.
        limit: the most positions; symmetric positions count once. Each takes 50 to 300 bytes.
        progress: callback, called now and then with a line about the progress.

    Raises:
        ValueError: the game is of another kind, or a field leaves its declared range.
        TooLarge: more than `limit` positions; a ValueError, raised immediately if random games suggest far more.
    """
    _check(game)
    keys, whole_game = Keys(game), starts is None
    starts = _starts(game) if starts is None else game.check_states(starts)
    if whole_game:
        number = estimate(game, keys, limit)
        if number > _FAR * limit:
            raise TooLarge(
                f"{game} has more than {limit} positions, by far: about {number:.1e} or more, as random games show"
            )
    search = _Search(game, keys)
    for ply in search.run(starts, limit):
        progress(f"ply {ply}: {search.end:,} positions")
    for sweep, worth in enumerate(search.values()):  # noqa: B007 - the last one counts
        progress(f"solving {search.end:,} positions" + f", sweep {sweep}" * (not search.layered))
    whole = np.isin(search.results, np.arange(-127, 128)).all() and game.chance != "play"
    found = search.store[: search.end]
    order = np.lexsort(found.T[::-1])
    values = worth.values[order].astype(np.int8 if whole else np.float64)
    return Positions(found[order], values, worth.plies[order])


def _starts(game: Game) -> np.ndarray:
    try:
        starts = chance_of(game).starts()[1]
        owner, action = np.nonzero(game.masks(starts, check=False))
        following(game, starts.take(owner), action)
    except ValueError as error:
        raise ValueError(
            f"{error}. A roll that fits nothing can be a position of its own, with one action that passes"
        ) from None
    return starts


def solved_oracle(game: Game) -> PositionOracle:
    """Return the oracle of a small game of perfect information, for `Extras(oracle=...)`.

    The first call of the oracle solves the game (see `solve`) and stores the result in the cache folder.
    """
    _check(game)

    def load() -> Positions:
        return load_or_build(
            table_folder() / f"{game.id}-{digest_of(game)}.safetensors",
            lambda path: read_positions(path, game),
            lambda progress: solve(game, progress=lambda what: progress(what, 0.5)),
            lambda path, positions: write_positions(path, game, positions),
        )

    return oracle_of(game, load)
