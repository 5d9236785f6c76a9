"""Expectimax with limited depth, for games of perfect information, with or without chance.

Chance is sampled, with fewer samples at greater depth: Kearns, Mansour and Ng, "A sparse sampling algorithm for
near-optimal planning in large Markov decision processes", Machine Learning 49, 2002. Random playouts value the leaves.

- Any number of players in any order: each takes the action that is best for them (max^n: Luckhardt and Irani, "An
  algorithmic solution of n-person games", AAAI 1986).
- All actions in a position are tried in the same futures, so that luck affects their comparison less.

`guess` and `weigh` are templates, which are compiled for each game; `legal_mask`, `step` and `resample` in them are the
game's kernels. `weigh` looks one ply ahead and calls `deeper`: `weigh` for the next ply, or `guess` at a leaf.
"""

# ruff: noqa: F821
# mypy: disable-error-code="no-untyped-def, name-defined"

from collections.abc import Callable
from functools import cache
from typing import Any, NamedTuple

import numpy as np

from ttt_envs.agents.base import Agent, best_of, by_round, kept, uniform
from ttt_envs.agents.search.mcts import TO_THE_END, playout
from ttt_envs.core import rng
from ttt_envs.core.compile import jit
from ttt_envs.core.loops import Kernels, kernels_of
from ttt_envs.core.options import MOST, within
from ttt_envs.core.view import View

# From each ply to the next, the number of samples is divided by this factor. Luck at the first ply distorts the
# comparison of the player's actions, while luck at later plies averages out.
_FEWER = 8

# The largest depth: a kernel is compiled for each depth, and a deeper search would not end in practice.
_DEEPEST = 32


class Search(NamedTuple):
    """The settings and the memory of a search. The first index of `states`, `legal` and `values` is the ply.

    Attributes:
        playouts: number of random playouts per leaf.
        states: (depth + 2,), the position, and memory for its successors.
        legal: bool (depth + 1, num_actions), the legal actions of each position.
        values: float64 (depth, num_actions, players); after the search, values[0] has the expected rewards of all
            players after each legal action of the position.
        joint: int64 (players,), scratch memory.
    """

    playouts: int
    states: np.ndarray
    legal: np.ndarray
    values: np.ndarray
    joint: np.ndarray


def guess(search, ahead, samples, seed, out):
    """Add each player's mean reward over random playouts from the position to `out`. For the arguments see `weigh`."""
    playouts, states, legal, _, joint = search
    now, then = ahead, ahead + 1
    for k in range(playouts):
        states[then] = states[now]
        if not states[then]["done"]:
            resample(states[then], states[then]["to_move"], rng.fold(seed, 2 * k))
            rng.start(states[then], rng.fold(seed, 2 * k + 1))
            playout(states[then], joint, legal[now], TO_THE_END)
        for player in range(out.shape[0]):
            out[player] += states[then]["rewards"][player] / playouts


def weigh(search, ahead, samples, seed, out):
    """Add each player's expected reward to `out`, if the player to move in the position takes the best action.

    Args:
        search: `Search`.
        ahead: index of the position in search.states, which is the number of plies since the root.
        samples: number of futures in which each action is tried.
        seed: uint64, for all random draws.
        out: float64 (players,).
    """
    _, states, legal, values, joint = search
    now, then = ahead, ahead + 1
    if states[now]["done"]:
        for player in range(out.shape[0]):
            out[player] += states[now]["rewards"][player]
        return
    mover = states[now]["to_move"]
    legal_mask(states[now], mover, legal[now])
    best = -1
    for action in range(legal.shape[1]):
        if not legal[now, action]:
            continue
        expected = values[now, action]
        expected[:] = 0.0
        for sample in range(samples):
            states[then] = states[now]
            resample(states[then], mover, rng.fold(seed, 2 * sample))
            joint[mover] = action
            step(states[then], joint)
            deeper(search, then, max(1, samples // _FEWER), rng.fold(seed, 2 * sample + 1), expected)
        expected /= samples
        if best < 0 or expected[mover] > values[now, best, mover]:
            best = action
    for player in range(out.shape[0]):
        out[player] += values[now, best, player]


@cache
def kernel_for(kernels: Kernels, depth: int) -> Callable[..., Any]:
    """Return `weigh` for one game's rules and `depth`; `guess` for depth 0."""
    bound = kernels_of(kernels)
    if depth == 0:
        return jit.specialise(guess, **bound, playout=jit.specialise(playout, **bound))
    return jit.specialise(weigh, **bound, deeper=kernel_for(kernels, depth - 1))


class Expectimax(Agent):
    """Looks ahead a few plies, with a few samples of chance, and plays the action that is best on average.

    Plays games of perfect information in which one player acts at a time; in a match, it plays for the current round.
    """

    name = "expectimax"
    plays = {"simultaneous": False, "hidden_information": False}
    reaches = {}

    def __init__(self, depth: int = 2, samples: int = 32, playouts: int = 2) -> None:
        """Set the depth and the number of samples.

        Args:
            depth: plies to look ahead, counting all players.
            samples: number of futures in which each action is tried at the first ply. From ply to ply, this number is
                divided by 8. Always 1 in a game without chance.
            playouts: random playouts that value each leaf.
        """
        within(1, _DEEPEST, depth=depth)
        within(1, MOST, samples=samples, playouts=playouts)
        self.depth = depth
        self.samples = samples
        self.playouts = playouts

    def policy(self, view: View) -> np.ndarray:
        """Return the uniform policy over the best actions, float64 (n, num_actions). Raises ValueError as `check`."""
        values = np.nan_to_num(self.action_values(view), nan=-np.inf)
        return uniform(best_of(values, view.masks))

    @kept
    def action_values(self, view: View) -> np.ndarray:
        """Return the expected reward after each legal action, float64 (n, num_actions); NaN for illegal actions.

        A forced action is not searched, so its value is NaN, too. In a match, the reward is that of the current round.
        Raises ValueError as `check`.
        """
        self.check(view.game)
        return by_round(view, self._values)

    def _values(self, view: View) -> np.ndarray:
        game = view.game
        values = np.full((len(view), game.num_actions), np.nan)
        rows = np.flatnonzero(view.masks.sum(axis=1) > 1)
        worlds = view.sample_worlds()
        seeds = rng.stream_seeds(view.seeds, rng.Stream.FUTURE)
        run = kernel_for(game.kernels, self.depth)
        search = Search(
            playouts=self.playouts,
            states=np.empty(self.depth + 2, worlds.dtype),
            legal=np.empty((self.depth + 1, game.num_actions), np.bool_),
            values=np.empty((self.depth, game.num_actions, game.num_players)),
            joint=np.zeros(game.num_players, np.int64),
        )
        samples, out = self.samples if game.stochastic else 1, np.zeros(game.num_players)
        for i in rows:
            search.states[0] = worlds[i]
            run(search, 0, samples, seeds[i], out)
            values[i] = np.where(view.masks[i], search.values[0, :, view.players[i]], np.nan)
        return values
