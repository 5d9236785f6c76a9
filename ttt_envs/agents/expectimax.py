"""Expectimax of limited depth, for any game of perfect information, with chance or without it.

Chance is sampled, with fewer samples for each action further ahead: Kearns, Mansour and Ng, "A sparse sampling
algorithm for near-optimal planning in large Markov decision processes", Machine Learning 49, 2002. After the last
action that is looked at, random playouts follow.

- Any number of players in any order: each takes the action that is best for them (max^n: Luckhardt and Irani, "An
  algorithmic solution of n-person games", AAAI 1986).
- All actions in a position meet the same futures, so that luck decides less between them.

`guess` and `weigh` are templates, compiled for one game's rules; in them `legal_mask`, `step` and `resample` stand for
the game's kernels. `weigh` looks one action ahead and asks `deeper`, which is `weigh` again, or at last `guess`.
"""

# ruff: noqa: F821
# mypy: disable-error-code="no-untyped-def, name-defined"

from collections.abc import Callable
from functools import cache
from typing import Any

import numpy as np

from ttt_envs.agents.base import Agent, best_of, uniform
from ttt_envs.agents.search.mcts import TO_THE_END, playout
from ttt_envs.core import jit, rng
from ttt_envs.core.loops import Rules, advance_for
from ttt_envs.core.options import MOST, within
from ttt_envs.core.view import View

# Each action further ahead meets fewer futures, by this factor. The luck of the first ones decides between the player's
# actions; that of later ones evens out over them.
_FEWER = 8

# The largest depth. Each is compiled, and a deeper search would never end.
_DEEPEST = 32


def guess(states, legal, values, joint, samples, playouts, seed, out):
    """Add to `out` each player's mean reward in random games from states[0]; arguments as of `weigh`."""
    for k in range(playouts):
        states[1] = states[0]
        if not states[1]["done"]:
            resample(states[1], states[1]["to_move"], rng.fold(seed, 2 * k))
            rng.start(states[1], rng.fold(seed, 2 * k + 1))
            playout(states[1], joint, legal[0], TO_THE_END)
        for player in range(out.shape[0]):
            out[player] += states[1]["rewards"][player] / playouts


def weigh(states, legal, values, joint, samples, playouts, seed, out):
    """Add to `out` what each player may expect in states[0], if the player to move there takes the best action.

    The first entry of each array belongs to this position, the others to what follows.

    Args:
        states: (depth + 2,), the position, and room for those that follow.
        legal: bool (depth + 1, num_actions), room to work.
        values: float64 (depth, num_actions, players); values[0] is left with the expected rewards of each legal action.
        joint: int64 (players,), room to work.
        samples: futures that each action here meets.
        playouts: random playouts at the end.
        seed: uint64, for everything that is drawn.
        out: float64 (players,).
    """
    if states[0]["done"]:
        for player in range(out.shape[0]):
            out[player] += states[0]["rewards"][player]
        return
    mover = states[0]["to_move"]
    legal_mask(states[0], mover, legal[0])
    best = -1
    for action in range(legal.shape[1]):
        if not legal[0, action]:
            continue
        expected = values[0, action]
        expected[:] = 0.0
        for sample in range(samples):
            states[1] = states[0]
            resample(states[1], mover, rng.fold(seed, 2 * sample))
            joint[mover] = action
            step(states[1], joint)
            below, fewer = rng.fold(seed, 2 * sample + 1), max(1, samples // _FEWER)
            deeper(states[1:], legal[1:], values[1:], joint, fewer, playouts, below, expected)
        expected /= samples
        if best < 0 or expected[mover] > values[0, best, mover]:
            best = action
    for player in range(out.shape[0]):
        out[player] += values[0, best, player]


@cache
def kernel_for(rules: Rules, depth: int) -> Callable[..., Any]:
    """`weigh` for one game's rules and that many actions ahead; `guess` for none."""
    moves: dict[str, Callable[..., Any]] = {"legal_mask": rules.legal_mask, "step": advance_for(rules)}
    if depth == 0:
        return jit.specialise(guess, resample=rules.resample, playout=jit.specialise(playout, **moves))
    return jit.specialise(weigh, **moves, resample=rules.resample, deeper=kernel_for(rules, depth - 1))


class Expectimax(Agent):
    """Looks some actions ahead, over a few samples of chance, and plays the action that is best on average.

    Plays any game of perfect information in which one player acts at a time.
    """

    name = "expectimax"
    plays = {"simultaneous": False, "hidden_information": False}
    reaches = {}

    def __init__(self, depth: int = 2, samples: int = 32, playouts: int = 2) -> None:
        """Set how far and how thoroughly to look.

        Args:
            depth: actions looked ahead, of all players together.
            samples: futures tried for each action in the position itself, and an eighth of these for each action
                further ahead. One is enough, and taken, in a game without chance.
            playouts: random playouts that value each position at the end.
        """
        within(1, _DEEPEST, depth=depth)
        within(1, MOST, samples=samples, playouts=playouts)
        self.depth = depth
        self.samples = samples
        self.playouts = playouts

    def policy(self, view: View) -> np.ndarray:
        """float64 (n, num_actions): the same probability for all of the best actions. ValueError as of `check`."""
        values = np.nan_to_num(self.action_values(view), nan=-np.inf)
        return uniform(best_of(values, view.masks))

    def action_values(self, view: View) -> np.ndarray:
        """float64 (n, num_actions): the reward to expect of each legal action, nan for the others.

        A forced action is not searched, and has nan too. ValueError as of `check`.
        """
        game = view.game
        self.check(game)
        found = np.full((len(view), game.num_actions), np.nan)
        rows = np.flatnonzero(view.masks.sum(axis=1) > 1)
        worlds = view.sample_worlds()
        seeds = rng.stream_seeds(view.seeds, rng.Stream.FUTURE)
        run = kernel_for(game.rules, self.depth)
        states = np.empty(self.depth + 2, worlds.dtype)
        legal = np.empty((self.depth + 1, game.num_actions), np.bool_)
        values = np.empty((self.depth, game.num_actions, game.num_players))
        joint, out = np.zeros(game.num_players, np.int64), np.zeros(game.num_players)
        samples = self.samples if game.stochastic else 1
        for i in rows:
            states[0] = worlds[i]
            run(states, legal, values, joint, samples, self.playouts, seeds[i], out)
            found[i] = np.where(view.masks[i], values[0, :, view.players[i]], np.nan)
        return found
