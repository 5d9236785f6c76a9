"""Optimal play in any small game of perfect information: every position that can arise, solved backwards.

Example::

    import ttt_envs
    from ttt_envs.solvers.positions import solve

    positions = solve(ttt_envs.load("my_game"))
    print(len(positions.keys))

Positions are found breadth first by the game's own rules, each once (see `ttt_envs.core.positions.Keys`). Each step of
a game counts a ply, so that with the ply in the key none comes back: one pass from the last ones to the first gives the
values, chance by expectation. Where `Extras.without_past` leaves the ply out, positions may come back. Then the n-th
sweep over all of them gives the values of the game that is a draw after n plies, until nothing changes any more: play
without end is a draw.
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

# Positions that are expanded at a time.
_CHUNK = 1 << 14

# A game is refused at once if random games show so many times the limit, and the estimate ends at so many times.
_FAR, _ENOUGH = 4, 20

# Positions of each chunk whose images are looked at for missing symmetries.
_TRIED = 64

# Sweeps end when no value of a game of chance changes by more, or in vain after so many.
_SETTLED, _MOST_SWEEPS = 1e-15, 10_000


class _Edges(NamedTuple):
    """What follows a chunk of m positions.

    Attributes:
        first: the number of the first of them.
        signs: int8 (m,), 1 if the first side moves, else -1.
        actions: uint16 (m,), how many actions each has.
        outcomes: uint32 (actions,), how many outcomes each action has; empty without chance.
        chances: float64 (outcomes,), their probabilities, or empty.
        after: int32 (outcomes,), the number of the position that follows, or -1 less the number of the result.
    """

    first: int
    signs: np.ndarray
    actions: np.ndarray
    outcomes: np.ndarray
    chances: np.ndarray
    after: np.ndarray


class _Worth(NamedTuple):
    """What positions are worth: values float64 (n,) of the first side, and plies int32 (n,) until the result."""

    values: np.ndarray
    plies: np.ndarray


@jit.kernel
def back_up(edges, results, before, after):  # type: ignore[no-untyped-def]
    """Write to `after` what a chunk's positions are worth by optimal play, if their successors are worth `before`.

    Of actions of equal value a winner takes the soonest, and a loser the latest end. `results`: float64, values of
    finished games.
    """
    most, least, chance = results.max(), results.min(), edges.outcomes.shape[0] > 0
    k, a = 0, 0
    for i in range(edges.signs.shape[0]):
        place, sign = edges.first + i, np.float64(edges.signs[i])
        known = before.values[place]
        if not chance and (known == most > 0 or known == least < 0):
            k += edges.actions[i]  # an earlier sweep found the end, and nothing is better or sooner
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
    """Give numbers to keys, equal ones the same.

    Args:
        store: uint64 (room, words), the keys by number; those to be entered stand behind the others.
        slots: int32 (power of two, more than twice the keys), memory for `seek`.
        ends: two numbers: keys before the first are not looked at, those before the second are in.
        out: int32 (k,), out: the numbers of k keys.

    Returns the number of keys that are in now.
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
    """All positions of a game, found from its starts."""

    def __init__(self, game: Game, keys: Keys) -> None:
        self.game, self.keys = game, keys
        self.layered = game.extras.without_past is None
        self.store, self.slots = np.empty((0, keys.words), np.uint64), np.zeros(0, np.int32)
        self.first, self.end = 0, 0  # of the layer that is being filled
        self.edges, self.results = list[_Edges](), list[float]()

    def enter(self, states: States) -> np.ndarray:
        """Return the numbers of positions, int32 (k,), entering new ones; -1 less the result's number at the end."""
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
        """Find all positions, ply by ply; yields the number of plies done. Raises TooLarge, ValueError."""
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
        """Yield what the positions are worth, sweep by sweep; the last one is right."""
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
    """Return about how many positions a game has, or more, by how seldom random games meet.

    Of n games with k pairs of equal positions at a ply, n(n-1) / 2k is a low estimate of the positions at that ply.
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
    """Solve every position that can arise.

    Args:
        game: of perfect information, one player acting at a time, with two sides and zero-sum rewards at the end, and
            chance that can be enumerated.
        starts: structured (n,), positions to start from; None for those of the game. Symmetries save nothing then.
        limit: positions at most, of those that a symmetry turns into each other one. One takes 50 to 300 bytes.
        progress: called now and then with a line about what is done.

    Raises:
        ValueError: the game is of another kind, or leaves the ranges that it declares.
        TooLarge: more positions than `limit`; a ValueError. Where random games show that, it is raised at once.
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

    The first question solves the game, see `solve`, and keeps the result in the cache folder; later processes read it.
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
