"""Matrix games for simultaneous choices of two players: try every pair of actions, then solve the matrix.

An entry of the matrix is the reward if the pair of actions ends the game, otherwise the successor's value by a given
value function. The equilibrium gives the position's value and a mixed strategy for each player. If only one player
acts, the matrix has one row or one column. Applied to all positions repeatedly, this is value iteration for zero-sum
stochastic games: Shapley, "Stochastic games", PNAS 39, 1953.

`expand` is a template, which is compiled for each game; `step`, `observe` and `resample` in it are the game's kernels.
"""

# ruff: noqa: F821
# mypy: disable-error-code="no-untyped-def, name-defined"

from collections import defaultdict
from collections.abc import Callable, Iterator
from functools import cache, partial
from typing import Any, NamedTuple

import numpy as np

from ttt_envs.core.compile import jit
from ttt_envs.core.game import Game
from ttt_envs.core.loops import Kernels, advance_for
from ttt_envs.core.state import SIMULTANEOUS
from ttt_envs.core.symmetry import feature_turns, turn_to_first

#: A value function: observations of both players int8 (n, 2, size) -> expected rewards of player 0, float (n,).
Value = Callable[[np.ndarray], np.ndarray]

# The most cached values. The cache helps because many positions have the same successors.
_KNOWN = 1 << 19

# The most successors to expand at once, over all cells of the matrices and all worlds; this limits the memory.
_CELLS = 1 << 16


class Equilibria(NamedTuple):
    """The equilibria of the matrix games of n positions.

    Attributes:
        values: float64 (n,), player 0's expected rewards.
        policies: float64 (n, 2, num_actions), both players' mixed strategies; zeros for a player who does not act.
    """

    values: np.ndarray
    policies: np.ndarray


class Children(NamedTuple):
    """The positions after pairs of actions; positions that look the same to both players are one child.

    Attributes:
        numbers: int64 (cells, worlds), the number of the child after each pair of actions (cell) in each world. Cells
            are ordered by position, then by player 0's action, then by player 1's.
        size: number of features of an observation.
        seen: int8 (children, 2, size padded to a multiple of 8), each player's observation; zeros if the game is over.
        words: `seen` as uint64 (children, -1) in the same memory, for fast comparisons.
        done: bool (children,), whether the game is over.
        rewards: float32 (children,), player 0's rewards.
        states: structured (children,), the positions; empty if no child is searched further.
    """

    numbers: np.ndarray
    size: int
    seen: np.ndarray
    words: np.ndarray
    done: np.ndarray
    rewards: np.ndarray
    states: np.ndarray


#: Cached values: number of plies to search further -> both players' observations -> value.
KnownValues = defaultdict[int, dict[bytes, float]]


def check_two_players(game: Game, name: str) -> None:
    """Raise ValueError unless the game has two players and hides only simultaneous choices."""
    if game.num_players != 2 or game.hidden_information:
        raise ValueError(f"{name} needs, where players choose at once, two players and nothing else hidden: not {game}")


def equilibria(
    game: Game,
    states: np.ndarray,
    seeds: np.ndarray,
    value: Value,
    iterations: int,
    *,
    known: KnownValues | None = None,
    extend: bool = False,
    depth: int = 1,
    symmetric: bool = False,
) -> Equilibria:
    """Solve the matrix game of each position.

    Args:
        game: a game that passes `check_two_players`.
        states: structured (n,), none finished. They are not changed.
        seeds: uint64 (n, worlds), at least one world. Each seed redraws chance, in the same way for all pairs of
            actions. The matrix is the mean over the worlds.
        value: the value function for successors.
        iterations: iterations of predictive regret matching+, see `solve_matrix`.
        known: cache of values that `value` gave for other positions of this decision; new values are added.
        extend: if simultaneous choices lead to a position in which only one player decides, search that position one
            ply deeper, in a single sampled future.
        depth: plies to look ahead. Above 1, a successor's value is that of its matrix game, solved with `depth` - 1.
        symmetric: whether `value` is invariant under the board's symmetries. If so, `value` is called for only one of
            several symmetric positions.
    """
    known = KnownValues(dict) if known is None else known
    solve = partial(equilibria, game, known=known, extend=extend, symmetric=symmetric)
    n, worlds = seeds.shape
    legal = np.empty((n, 2, game.num_actions), np.bool_)
    for player in range(2):
        legal[:, player] = game.masks(states, player, check=False)
    solved = Equilibria(np.empty(n), np.zeros(legal.shape))
    cells = np.maximum(legal.sum(axis=2), 1).prod(axis=1)
    turns = feature_turns(game.symmetries, game.observation_size)
    for part in _parts(cells * worlds, _CELLS):
        children = _room(game, int(cells[part].sum()), worlds, extend or depth > 1)
        total = kernel_for(game.kernels)(states[part], legal[part], seeds[part], children)
        worth = children.rewards[:total].astype(np.float64)
        going = np.flatnonzero(~children.done[:total])
        if len(going):
            rest = np.full(total, depth - 1)
            if extend:
                parents = np.empty(total, np.int64)
                parents[children.numbers] = np.repeat(np.arange(n)[part], cells[part])[:, None]
                alone = children.states["to_move"][:total] != SIMULTANEOUS
                rest += alone & (states["to_move"][parents] == SIMULTANEOUS)
            if symmetric:
                turn_to_first(children.seen[:total], turns, np.empty(total, np.int64))

            def deeper(some: np.ndarray, depth: int, children: Children = children) -> np.ndarray:
                follows = children.states[some]
                seeds = follows["rng"][:, None]
                return solve(follows, seeds, value, iterations, depth=depth).values

            worth[going] = _valued(value, deeper, children, going, rest[going], known)
        payoffs = worth[children.numbers].mean(axis=1)
        solve_rows(legal[part], payoffs, iterations, Equilibria(solved.values[part], solved.policies[part]))
    return solved


def _valued(
    value: Value,
    deeper: Callable[[np.ndarray, int], np.ndarray],
    children: Children,
    rows: np.ndarray,
    plies: np.ndarray,
    known: KnownValues,
) -> np.ndarray:
    """Return the values of the children numbered `rows`, float64 (k,): by `deeper` where `plies` > 0, else by `value`.

    `known` caches values by observations.
    """
    words = np.ascontiguousarray(children.words[rows])
    keys = words.view(np.dtype((np.void, words.shape[1] * words.itemsize)))[:, 0]
    worth = np.empty(len(rows))
    for rest in np.unique(plies).tolist():
        part = plies == rest

        def find(some: np.ndarray, depth: int = rest) -> np.ndarray:
            if depth:
                return deeper(some, depth)
            return value(np.ascontiguousarray(children.seen[some, :, : children.size]))

        worth[part] = _recalled(keys[part].tolist(), rows[part], find, known[rest])
    return worth


def _recalled(
    keys: list[bytes], rows: np.ndarray, find: Callable[[np.ndarray], np.ndarray], known: dict[bytes, float]
) -> list[float]:
    """Return the cached values of rows by their keys; compute missing values with `find` and add them to the cache."""
    if len(known) + len(keys) > _KNOWN:
        known.clear()
    new = list({key: k for k, key in enumerate(keys) if key not in known}.values())
    if new:
        known.update(zip([keys[k] for k in new], find(rows[new]).tolist(), strict=True))
    return [known[key] for key in keys]


def from_both_seats(values: Callable[[np.ndarray], np.ndarray]) -> Value:
    """Return a value function for player 0 that averages both players' estimates.

    `values`: observations int8 (n, size) -> expected rewards of the observing player, float (n,).
    """

    def value(seen: np.ndarray) -> np.ndarray:
        n, _, size = seen.shape
        expected = np.asarray(values(seen.reshape(2 * n, size)), np.float64).reshape(n, 2)
        return np.asarray((expected[:, 0] - expected[:, 1]) / 2)

    return value


def _parts(sizes: np.ndarray, most: int) -> Iterator[slice]:
    start, total = 0, 0
    for end, size in enumerate(sizes.tolist()):
        if end > start and total + size > most:
            yield slice(start, end)
            start, total = end, 0
        total += size
    if len(sizes):
        yield slice(start, len(sizes))


def _room(game: Game, cells: int, worlds: int, keep: bool) -> Children:
    """Allocate `Children` for `cells` pairs of actions in `worlds` worlds; the positions only if `keep`."""
    most, size = cells * worlds, game.observation_size
    words = np.empty((most, 2 * -(-size // 8)), np.uint64)
    seen = words.view(np.int8).reshape(most, 2, -1)
    numbers = np.empty((cells, worlds), np.int64)
    states = np.empty(most if keep else 0, game.prototype.dtype)
    return Children(numbers, size, seen, words, np.empty(most, np.bool_), np.empty(most, np.float32), states)


@jit.kernel
def fill_actions(mask, out):
    """Write the actions in `mask` to `out`, int64; return their number. For an empty mask, write 0 and return 1."""
    count = 0
    out[0] = 0
    for action in range(mask.shape[0]):
        if mask[action]:
            out[count] = action
            count += 1
    return max(count, 1)


@jit.kernel
def first_alike(children, first, last):
    """Return the number of the first child, from number `first` on, that equals child `last`, which may be `last`."""
    for other in range(first, last):
        if children.done[other] == children.done[last] and children.rewards[other] == children.rewards[last]:
            same = True
            for word in range(children.words.shape[1]):
                if children.words[other, word] != children.words[last, word]:
                    same = False
                    break
            if same:
                return other
    return last


def expand(states, legal, seeds, children):
    """Play every pair of actions in every world and fill `children`; return the number of children.

    states structured (n,); legal bool (n, 2, num_actions); seeds uint64 (n, worlds).
    """
    world, joint = states[:1].copy(), np.zeros(2, np.int64)
    rows, columns = np.zeros(legal.shape[2], np.int64), np.zeros(legal.shape[2], np.int64)
    cell = total = 0
    for i in range(states.shape[0]):
        first = total
        height, width = fill_actions(legal[i, 0], rows), fill_actions(legal[i, 1], columns)
        for k in range(height * width):
            joint[0], joint[1] = rows[k // width], columns[k % width]
            for draw in range(seeds.shape[1]):
                world[0] = states[i]
                state = world[0]
                resample(state, 0, seeds[i, draw])
                step(state, joint)
                children.done[total] = state["done"]
                children.rewards[total] = state["rewards"][0]
                children.words[total] = 0
                if not state["done"]:
                    for player in range(2):
                        observe(state, player, children.seen[total, player, : children.size])
                like = first_alike(children, first, total)
                children.numbers[cell, draw] = like
                if like == total:
                    if len(children.states):
                        children.states[total] = state
                    total += 1
            cell += 1
    return total


@cache
def kernel_for(kernels: Kernels) -> Callable[..., Any]:
    """Return `expand` for one game's rules."""
    return jit.specialise(expand, step=advance_for(kernels), observe=kernels.observe, resample=kernels.resample)


@jit.kernel
def solve_rows(legal, payoffs, iterations, out):
    """Solve n matrix games; write the results to `out`, an `Equilibria`.

    legal bool (n, 2, num_actions).
    """
    rows, columns = np.zeros(legal.shape[2], np.int64), np.zeros(legal.shape[2], np.int64)
    mix, other_mix = np.zeros(legal.shape[2]), np.zeros(legal.shape[2])
    start = 0
    for i in range(legal.shape[0]):
        height, width = fill_actions(legal[i, 0], rows), fill_actions(legal[i, 1], columns)
        matrix = payoffs[start : start + height * width].reshape(height, width)
        out.values[i] = solve_matrix(matrix, iterations, mix[:height], other_mix[:width])
        for x in range(height):
            if legal[i, 0, rows[x]]:
                out.policies[i, 0, rows[x]] = mix[x]
        for y in range(width):
            if legal[i, 1, columns[y]]:
                out.policies[i, 1, columns[y]] = other_mix[y]
        start += height * width


@jit.kernel
def solve_matrix(payoffs, iterations, mix, other_mix):
    """Return a zero-sum matrix game's value to the row player; write nearly optimal strategies to `mix`, `other_mix`.

    Predictive regret matching+ with alternating updates and quadratic averaging (the t-th strategy has weight t * t):
    Farina, Kroer and Sandholm, "Faster game solving via predictive Blackwell approachability", AAAI 2021. A matrix with
    a saddle point, such as one with a single row, needs no iterations: both players mix their safest actions uniformly.

    Args:
        payoffs: float64 (m, n), the row player's rewards.
        iterations: at least 1.
        mix, other_mix: float64 (m,) and (n,), outputs: the strategies of the row player and the column player.
    """
    height, width = payoffs.shape
    if share_saddle(payoffs, mix, other_mix):
        return payoffs[mix.argmax(), other_mix.argmax()]
    mix[:] = 0.0
    other_mix[:] = 0.0
    now, other = np.full(height, 1.0 / height), np.full(width, 1.0 / width)
    regrets, other_regrets = np.zeros(height), np.zeros(width)
    gains, losses = np.empty(height), np.empty(width)
    for t in range(1, iterations + 1):
        for x in range(height):
            gain = 0.0
            for y in range(width):
                gain += payoffs[x, y] * other[y]
            gains[x] = gain
        match_regrets(gains, regrets, now)
        for y in range(width):
            losses[y] = 0.0
        for x in range(height):
            for y in range(width):
                losses[y] -= payoffs[x, y] * now[x]
        match_regrets(losses, other_regrets, other)
        for x in range(height):
            mix[x] += t * t * now[x]
        for y in range(width):
            other_mix[y] += t * t * other[y]
    mix /= mix.sum()
    other_mix /= other_mix.sum()
    value = 0.0
    for x in range(height):
        for y in range(width):
            value += mix[x] * payoffs[x, y] * other_mix[y]
    return value


@jit.kernel
def share_saddle(payoffs, mix, other_mix):
    """Return whether there is a saddle point; if so, write uniform mixes of safest actions to `mix` and `other_mix`."""
    # worst: the lowest payoff in each row; best: the highest payoff in each column. All are the row player's payoffs.
    worst, best = np.full(payoffs.shape[0], np.inf), np.full(payoffs.shape[1], -np.inf)
    for x in range(payoffs.shape[0]):
        for y in range(payoffs.shape[1]):
            worst[x] = min(worst[x], payoffs[x, y])
            best[y] = max(best[y], payoffs[x, y])
    if worst.max() < best.min():
        return False
    share_best(worst, 1.0, mix)
    share_best(best, -1.0, other_mix)
    return True


@jit.kernel
def match_regrets(gains, regrets, strategy):
    """Update `regrets` and `strategy`, in place, by one step of predictive regret matching+.

    `gains`, float64 (n,): each action's reward in this step, which also predicts the reward in the next step.
    """
    expected = 0.0
    for k in range(gains.shape[0]):
        expected += gains[k] * strategy[k]
    total = 0.0
    for k in range(gains.shape[0]):
        regrets[k] = max(regrets[k] + gains[k] - expected, 0.0)
        strategy[k] = max(regrets[k] + gains[k] - expected, 0.0)
        total += strategy[k]
    for k in range(gains.shape[0]):
        strategy[k] = strategy[k] / total if total > 0 else 1.0 / gains.shape[0]


@jit.kernel
def share_best(payoffs, sign, mix):
    """Write the uniform mix of the actions with the largest sign * payoff to `mix`; float64 (n,)."""
    best = payoffs[0]
    for k in range(payoffs.shape[0]):
        if sign * payoffs[k] > sign * best:
            best = payoffs[k]
    for k in range(payoffs.shape[0]):
        mix[k] = payoffs[k] == best
    mix /= mix.sum()
