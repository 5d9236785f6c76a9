"""Learn an n-tuple network by temporal differences between afterstates, in games with patterns.

The value of a position after a move is the tanh of the sum of its patterns' weights. The learner plays against itself:
it chooses the move with the highest value, except for some random moves. After a game, the values of its positions move
toward TD(lambda) returns. Each weight has its own learning rate, which decreases if the signs of its errors alternate
(temporal coherence). A compiled kernel plays and learns; it processes hundreds of thousands of plies per second. The
method needs perfect information, and no chance after the start. With more than two sides, each player learns from the
positions after the player's own moves. network.safetensors contains the weights;
agents.load("alphabeta:runs/x,depth=5") plays with them by a search of five plies.

Sources: Lucas, "Learning to play Othello with n-tuple systems", 2008; Beal and Smith, "Temporal coherence and
prediction decay in TD learning", IJCAI 1999; Jaskowski, "Mastering 2048 with delayed temporal coherence learning,
multistage weight promotion, redundant encoding, and carousel shaping", IEEE Transactions on Games 10(1), 2018.
"""

# ruff: noqa: F821
# mypy: disable-error-code="name-defined, no-untyped-def"

import math
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Annotated, Any, ClassVar, NamedTuple

import numpy as np
import torch

from ttt_envs.agents.ntuples import NTuples, NTuplesInfo, save_ntuples
from ttt_envs.agents.search.alphabeta import MOST_PLIES, AlphaBeta
from ttt_envs.core import rng
from ttt_envs.core.compile import jit
from ttt_envs.core.game import Game
from ttt_envs.core.loops import Kernels, advance_for
from ttt_envs.learning.runs import checkpoint
from ttt_envs.learning.runs.loop import Learner, train_rounds
from ttt_envs.learning.runs.settings import Result, Settings, Share, Steps, Within

NAME = "ntuple"

#: Number of games per call of the kernel; interrupts and due measurements are only noticed between two calls.
_GAMES = 500


@dataclass(frozen=True, kw_only=True)
class Config(Settings):
    """Settings of a run; the defaults are tuned for one core."""

    UNIT: ClassVar[str] = "plies"

    out: Path = Path("runs/ntuple")
    """Run folder."""
    steps: Steps = 20_000_000
    """Plies to train on, those before --resume included."""
    prior: bool = False
    """Begin with the weights that the game's patterns suggest instead of zeros. This equals shaping the rewards by
    their sum (Wiewiora, "Potential-based shaping and Q-value initialization are equivalent", JAIR 19, 2003)."""
    learning_rate: Annotated[float, Within(0.0, 1e3)] = 0.055
    """The highest learning rate of a weight; about one, divided by the number of patterns in a position."""
    gamma: Share = 1.0
    """Discount factor for each position that is learned from: below 1, sooner wins are worth more."""
    decay: Share = 0.5
    """Lambda of TD(lambda): 0 learns from the next position alone, 1 from the end of the game alone."""
    exploration: Share = 0.1
    """Share of random moves."""
    openings: Annotated[int, Within(0, 10**6)] = 8
    """Largest number of random plies at the start of a game."""
    opening_share: Share = 0.6
    """Share of the games that begin with random plies."""
    simple_share: Share = 0.0
    """Share of the games with one learner: the others win at once where they can, else move at random. Where several
    opponents always block the learner, it would otherwise never see a win."""
    depth: Annotated[int, Within(1, MOST_PLIES)] = 1
    """Plies of alpha-beta search of the agent that is measured."""
    save_every: Steps = 2_000_000
    """Plies between two updates of the run folder."""


class Learning(NamedTuple):
    """The settings for play and learning; see `Config`."""

    learning_rate: float
    gamma: float
    decay: float
    exploration: float
    opening_share: float
    openings: int
    simple_share: float


class Weights(NamedTuple):
    """The learned arrays, float32 (patterns,) each: weights, sums of errors, and sums of absolute errors."""

    weights: np.ndarray
    errors: np.ndarray
    totals: np.ndarray


class Scratch(NamedTuple):
    """Scratch memory for a game.

    Attributes:
        states: (2,), the game, and its state after a move that is tried.
        legal: bool (num_actions,).
        joint: int64 (players,).
        present: int64 (number,), patterns of a position.
        history: int64 (plies, number), the patterns of each position of a game.
        values: float64 (plies,), the values of these positions.
        movers: int64 (plies,), the players whose moves led to these positions.
        free: bool (plies,), whether these moves were random.
        back, stale: float64 and bool (players,), see `learn`.
    """

    states: np.ndarray
    legal: np.ndarray
    joint: np.ndarray
    present: np.ndarray
    history: np.ndarray
    values: np.ndarray
    movers: np.ndarray
    free: np.ndarray
    back: np.ndarray
    stale: np.ndarray


def scratch_for(game: Game, number: int) -> Scratch:
    """Return memory for games with `number` patterns in a position."""
    longest = game.max_plies
    return Scratch(
        states=np.repeat(game.prototype, 2),
        legal=np.zeros(game.num_actions, np.bool_),
        joint=np.zeros(game.num_players, np.int64),
        present=np.zeros(number, np.int64),
        history=np.zeros((longest, number), np.int64),
        values=np.zeros(longest),
        movers=np.zeros(longest, np.int64),
        free=np.zeros(longest, np.bool_),
        back=np.zeros(game.num_players),
        stale=np.zeros(game.num_players, np.bool_),
    )


@jit.allocates_nothing
def play(prototype, games, seed, learning, learned, scratch):
    """Play games and learn from each; return the number of plies.

    Args:
        prototype: states (1,), the record before a reset.
        games: number of games.
        seed: uint64, the seed of all random numbers.
        learning: `Learning`.
        learned: `Weights`, which change.
        scratch: `Scratch`.
    """
    states, legal, joint, history = scratch.states, scratch.legal, scratch.joint, scratch.history
    state = states[0]
    plies = 0
    for game in range(games):
        start = rng.fold(seed, game)
        states[0] = prototype[0]
        reset(state, start)
        opening = np.int64(state["ply"])
        if unit(rng.fold(start, 1)) < learning.opening_share:
            opening += rng.scale(rng.fold(start, 2), learning.openings + 1)
        learner = -1  # all are
        if unit(rng.fold(start, 0)) < learning.simple_share:
            learner = rng.scale(rng.mix(rng.fold(start, 0)), joint.shape[0])
        length = 0
        while not state["done"]:
            mover = np.int64(state["to_move"])
            legal_mask(state, mover, legal)
            draw = rng.fold(start, 3 + 2 * np.int64(state["ply"]))
            simple = learner >= 0 and mover != learner
            at_random = state["ply"] < opening or (unit(draw) < learning.exploration and not simple)
            joint[mover] = rng.choose(legal, rng.mix(draw)) if at_random else choose(draw, simple, learned, scratch)
            step(state, joint)
            plies += 1
            scratch.movers[length], scratch.free[length] = mover, at_random
            if not state["done"]:
                find(state, mover, history[length])
                scratch.values[length] = worth(history[length], learned.weights)
                length += 1
        learn(length, learner, learning, learned, scratch)
    return plies


@jit.inlined
@jit.allocates_nothing
def choose(draw, simple, learned, scratch):
    """Return the action of `scratch.legal` after which the position has the highest value for the player to move.

    With `simple`, all unfinished positions have the same value. Ties are broken at random by `draw`; otherwise all
    early games would be equal.
    """
    states, legal, joint, present = scratch.states, scratch.legal, scratch.joint, scratch.present
    after, mover = states[1], np.int64(states[0]["to_move"])
    best, highest, ties = -1, -9.0, 0
    for action in range(legal.shape[0]):
        if legal[action]:
            states[1] = states[0]
            joint[mover] = action
            step(after, joint)
            if after["done"]:
                value = 2.0 * after["rewards"][mover]  # beyond all estimates
            elif simple:
                value = 0.0
            else:
                find(after, mover, present)
                value = worth(present, learned.weights)
            if value > highest:
                best, highest, ties = action, value, 1
            elif value == highest:
                ties += 1
                if rng.scale(rng.fold(draw, ties), ties) == 0:
                    best = action
    return best


@jit.kernel
@jit.allocates_nothing
def learn(length, learner, learning, learned, scratch):
    """Learn from the `length` positions of the last game, last first; for all players if `learner` is -1.

    The value of a position to the player who moved there changes toward `back` of the player, the return after the
    position. If `stale` of the player is set, a random move followed the position, and its value does not change.
    """
    values, movers, free, back, stale = scratch.values, scratch.movers, scratch.free, scratch.back, scratch.stale
    gamma, decay, players = learning.gamma, learning.decay, back.shape[0]
    for player in range(players):
        back[player], stale[player] = scratch.states[0]["rewards"][player], free[length]  # of the last move
    for t in range(length - 1, -1, -1):
        mover, value = movers[t], values[t]
        if learner >= 0 and mover != learner:
            continue  # what the others do is as chance to the learner
        if stale[mover]:
            back[mover], stale[mover] = gamma * value, False
        else:
            correct(scratch.history[t], (back[mover] - value) * (1 - value * value), learning.learning_rate, learned)
            back[mover] = gamma * (decay * back[mover] + (1 - decay) * value)
        if players == 2:  # what one wins the other loses
            back[1 - mover], stale[1 - mover] = -back[mover], False
        if free[t]:
            stale[:] = True


@jit.kernel
@jit.allocates_nothing
def correct(present, error, rate, learned):
    """Change the weights of the patterns `present` by `error`, each at its own learning rate, at most `rate`."""
    weights, errors, totals = learned
    for k in range(present.shape[0]):
        w = present[k]
        own = rate * abs(errors[w]) / totals[w] if totals[w] > 0 else rate
        weights[w] += own * error
        errors[w] += error
        totals[w] += abs(error)


@jit.kernel
@jit.allocates_nothing
def worth(present, weights):
    """Return the value of a position with the patterns `present`: float64 between -1 and 1."""
    total = 0.0
    for k in range(present.shape[0]):
        total += weights[present[k]]
    return math.tanh(total)


@jit.kernel
@jit.allocates_nothing
def unit(x):
    """Map a random uint64 to a number from 0, included, to 1, not included."""
    return np.float64(rng.scale(x, 1 << 30)) / (1 << 30)


@cache
def kernel_for(kernels: Kernels, find: Callable[..., Any]) -> Callable[..., Any]:
    """Return `play` for one game's rules and patterns."""
    bound = {"reset": kernels.reset, "legal_mask": kernels.legal_mask, "step": advance_for(kernels), "find": find}
    return jit.specialise(play, choose=jit.specialise(choose, **bound), **bound)


class WeightBuffers(torch.nn.Module):
    """The arrays of `Weights` as a module, so that `ttt_envs.learning.runs.checkpoint` can save them."""

    def __init__(self, size: int) -> None:
        super().__init__()
        for name in Weights._fields:
            self.register_buffer(name, torch.zeros(size))

    def arrays(self) -> Weights:
        """Return the buffers as NumPy arrays that share their memory."""
        return Weights(**{name: buffer.numpy() for name, buffer in self.named_buffers()})


def check_game(game: Game, prior: bool = False) -> None:
    """Raise ValueError, with the reason, if n-tuples cannot learn the game."""
    if game.patterns is None:
        raise ValueError(f"{NAME} needs a game that has patterns; {game} has none")
    if prior and game.patterns.prior is None:
        raise ValueError(f"prior: the patterns of {game} suggest no weights to begin with")
    AlphaBeta().check(game)


def train(config: Config) -> Result:
    """Train, until `config.steps` or an interrupt (Ctrl-C).

    Raises the errors of `checkpoint.opened`, and ValueError for a game that the method cannot play.
    """
    with checkpoint.opened(config, NAME) as this:
        return _train(this, config)


def _train(this: checkpoint.Run, config: Config) -> Result:
    game, folder = this.game, this.folder
    check_game(game, config.prior)
    patterns = game.patterns
    assert patterns is not None
    table = WeightBuffers(patterns.size)
    learned = table.arrays()
    if config.prior:
        assert patterns.prior is not None
        learned.weights[:] = patterns.prior()
    this.restore({"table": table})
    kernel = kernel_for(game.kernels, patterns.find)
    # Convert the settings to the types for which the kernel is compiled: a float setting may have been given as the int
    # 1.
    learning = Learning(**{name: kind(getattr(config, name)) for name, kind in Learning.__annotations__.items()})
    scratch = scratch_for(game, patterns.number)

    def one_round(steps: int) -> int:
        """Play some games, with seeds that depend on `steps`, and learn from them; return the number of plies."""
        seed = np.uint64(rng.fold(np.uint64(config.seed), np.uint64(steps)))
        return int(kernel(game.prototype, _GAMES, seed, learning, learned, scratch))

    def network(steps: int) -> NTuples:
        info = NTuplesInfo(game.id, dict(game.options), patterns.size, patterns.number, steps)
        return NTuples(info, learned.weights.copy())

    def write(path: Path, steps: int) -> None:
        """Write the weights."""
        saved = network(steps)
        save_ntuples(path, saved.info, saved.weights)

    def agent(steps: int) -> AlphaBeta:
        """Return the agent for measurements."""
        return AlphaBeta(network(steps), depth=config.depth)

    learner = Learner(
        one_round=one_round,
        write=write,
        agent=agent,
        parts={"table": table},
        plays_as=f"alphabeta:{folder},depth={config.depth}",
    )
    return train_rounds(this, learner)
