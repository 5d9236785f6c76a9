"""Positions of random games, and a game's kernels applied to many positions."""

from functools import lru_cache
from typing import NamedTuple

import numpy as np

from ttt_envs.agents.random import RandomAgent
from ttt_envs.core.batch import Batch
from ttt_envs.core.compile import jit
from ttt_envs.core.game import Game
from ttt_envs.core.view import View

#: Numbers of random games and of positions in a check; checks that need an environment per position take `FEW`.
GAMES = 20 if jit.DISABLED else 60
POSITIONS = 100 if jit.DISABLED else 150
FEW = 6 if jit.DISABLED else 12


class Play(NamedTuple):
    """Random games: states structured (steps + 1, n), actions int64 (steps, n, players)."""

    states: np.ndarray
    actions: np.ndarray


def random_joint(batch: Batch) -> np.ndarray:
    """Return a random legal action for every acting player, int64 (n, players); -1 for the others."""
    joint = np.full((batch.n, batch.game.num_players), -1)
    for player in range(batch.game.num_players):
        rows = np.flatnonzero(batch.acting(player))
        if len(rows):
            joint[rows, player] = RandomAgent().act(batch.view(player, rows))
    return joint


def play_batch(batch: Batch, steps: int) -> Play:
    """Play up to `steps` random steps in all games, until all are over."""
    states, actions = [batch.states.copy()], list[np.ndarray]()
    while len(actions) < steps and not batch.states["done"].all():
        actions.append(random_joint(batch))
        batch.step(actions[-1])
        states.append(batch.states.copy())
    return Play(np.stack(states), np.stack(actions))


@lru_cache(maxsize=4)
def random_play(game: Game, n: int = GAMES) -> Play:
    """Return `n` complete random games. All checks of a game share them: do not write to the arrays."""
    play = play_batch(Batch(game, n, seed=7), game.max_plies)
    assert play.states[-1]["done"].all(), f"{game}: a game is longer than max_plies={game.max_plies}"
    return play


@lru_cache(maxsize=16)
def _positions(game: Game, most: int) -> np.ndarray:
    states = random_play(game).states
    fresh = np.ones(states.shape, bool)
    fresh[1:] = ~states[:-1]["done"]
    some = states[fresh]
    ends = states[1:][fresh[1:] & states[1:]["done"]][: max(most // 4, 1)]
    spread = np.unique(np.linspace(0, len(some) - 1, most - len(ends)).astype(int))
    return np.concatenate([some[spread], ends])


def positions(game: Game, most: int = POSITIONS) -> np.ndarray:
    """Return at most `most` positions of random games, structured (k,), starts and ends included."""
    return _positions(game, most).copy()


def players_of(game: Game) -> range:
    """Return the players' numbers: 0 to num_players - 1."""
    return range(game.num_players)


def masks_of(game: Game, states: np.ndarray, player: int) -> np.ndarray:
    """Return the player's masks in n states, bool (n, num_actions)."""
    out = np.ones((len(states), game.num_actions), np.bool_)
    game.loops.mask_rows(states, np.full(len(states), player), out)
    return out


def observations_of(game: Game, states: np.ndarray, player: int) -> np.ndarray:
    """Return the player's observations in n states, int8 (n, observation size)."""
    out = np.full((len(states), game.observation_size), 7, np.int8)
    game.loops.observe_rows(states, np.full(len(states), player), out)
    return out


def worlds_of(game: Game, states: np.ndarray, player: int, seed: int) -> np.ndarray:
    """Return, for each state, a world sampled from the player's view."""
    seeds = np.arange(len(states), dtype=np.uint64) + np.uint64(10**6 * seed)
    return View.unchecked(game, states, np.full(len(states), player), seeds).sample_worlds(seed)


def after(game: Game, states: np.ndarray, joint: np.ndarray) -> np.ndarray:
    """Return the states after a step with the actions `joint`, int64 (n, players)."""
    states = states.copy()
    game.loops.step_rows(states, np.arange(len(states)), np.ascontiguousarray(joint, np.int64))
    return states


def random_actions(game: Game, states: np.ndarray, generator: np.random.Generator) -> np.ndarray:
    """Return random legal actions int64 (n, players), -1 for players who do not act."""
    joint = np.full((len(states), game.num_players), -1)
    for player in range(game.num_players):
        weights = masks_of(game, states, player) * generator.random((len(states), game.num_actions))
        joint[:, player] = np.where(weights.any(axis=1), weights.argmax(axis=1), -1)
    return joint


def some_steps(game: Game, seed: int) -> tuple[np.ndarray, np.ndarray]:
    """Return states (n,) and actions int64 (n, players): random steps from `positions`, and last steps of games."""
    states, play = positions(game), random_play(game)
    last = play.states["done"].argmax(axis=0)[: len(states) // 4] - 1
    games = np.arange(len(last))
    joint = random_actions(game, states, np.random.default_rng(seed))
    return np.concatenate([states, play.states[last, games]]), np.concatenate([joint, play.actions[last, games]])


def difference(first: np.ndarray, second: np.ndarray, but: tuple[str, ...] = ()) -> list[str]:
    """Return the names of the fields in which two structured arrays differ."""
    names = first.dtype.names or ()
    return [name for name in names if name not in but and not np.array_equal(first[name], second[name])]


def without_rng(states: np.ndarray) -> np.ndarray:
    """Return a copy of the states in which all generators are 0."""
    states = states.copy()
    states["rng"] = 0
    return states


def with_random_rng(states: np.ndarray, seed: int) -> np.ndarray:
    """Return a copy in which every state has a different generator, and so a different future."""
    states = states.copy()
    states["rng"] = np.random.default_rng(seed).integers(0, 2**64, len(states), np.uint64)
    return states


def assert_same_distribution(one: np.ndarray, two: np.ndarray, what: str = "") -> None:
    """Compare two samples of states by a chi-square test at 5 sigma for each entry of all fields but the generator."""
    for name in one.dtype.names or ():
        if name == "rng":
            continue
        both = np.concatenate([one[name].reshape(len(one), -1), two[name].reshape(len(two), -1)])
        for entry in np.flatnonzero((both != both[0]).any(axis=0)):
            values, which = np.unique(both[:, entry], return_inverse=True)
            parts = which[: len(one)], which[len(one) :]
            table = np.stack([np.bincount(part, minlength=len(values)) for part in parts])
            expected = table.sum(axis=0) * table.sum(axis=1, keepdims=True) / table.sum()
            free = len(values) - 1
            statistic = ((table - expected) ** 2 / expected).sum()
            assert statistic <= free + 5 * np.sqrt(2 * free) + 10, (
                f"{what}field {name!r}, entry {entry}: the values {values.tolist()} come up {table[0].tolist()} times "
                f"in one sample and {table[1].tolist()} times in the other"
            )
