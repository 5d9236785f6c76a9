"""A compiled loop that plays many games and looks at them in one call, for GPUs: a thread a game.

All room is handed in, and what is called once a game is compiled without counting references: with arrays of its own,
such a loop would take longer than the calls that it saves. Games that end start anew after the loop, as `reset` may
allocate.
"""

# ruff: noqa: F821
# mypy: disable-error-code="no-untyped-def, name-defined"

from collections.abc import Callable, Mapping
from functools import cache
from types import MappingProxyType
from typing import Any, NamedTuple

import numpy as np

from ttt_envs.core import jit
from ttt_envs.core.game import Game
from ttt_envs.core.loops import Kernels, kernels_of
from ttt_envs.core.rng import Purpose, derive
from ttt_envs.core.siphash import siphash

_GAME = int(Purpose.GAME)


class Told(NamedTuple):
    """Arrays for what a step tells, with an entry a game.

    `viewers` is 1, whoever is to move, or the number of players, where several may act at once.

    Attributes:
        observations: int8 (n, viewers, observation size).
        masks: bool (n, viewers, num_actions).
        rewards: float32 (n, players).
        done: bool (n,).
        joint: int64 (n, players).
        ended: int64 (n,): room for numbers of games that are over.
    """

    observations: np.ndarray
    masks: np.ndarray
    rewards: np.ndarray
    done: np.ndarray
    joint: np.ndarray
    ended: np.ndarray


class Episodes(NamedTuple):
    """The episodes that are played, uint64 (n,): numbers of games and of next episodes, and seeds of this one."""

    games: np.ndarray
    following: np.ndarray
    seeds: np.ndarray


class Anew(NamedTuple):
    """The source of new games: the key of the run, uint64 (2,), and the prototype, structured (1,)."""

    key: np.ndarray
    prototype: np.ndarray


class Looks(NamedTuple):
    """The loops of one game; see the templates of the same names."""

    see_rows: Callable[..., Any]
    play_rows: Callable[..., Any]


def room_to_tell(game: Game, rewards: np.ndarray, done: np.ndarray) -> Told:
    """Room for what steps tell, with these arrays of a Batch."""
    n, players = rewards.shape
    viewers = players if game.simultaneous else 1
    return Told(
        np.zeros((n, viewers, game.observation_size), np.int8),
        np.zeros((n, viewers, game.num_actions), np.bool_),
        rewards,
        done,
        np.zeros((n, players), np.int64),
        np.zeros(n, np.int64),
    )


@jit.allocates_nothing
def see(state, observations, masks):
    """Look as whoever is to move, or as all players; both arrays with an entry a viewer."""
    if observations.shape[0] == 1:
        look(state, np.int64(state["to_move"]), masks[0], observations[0])
    else:
        for player in range(observations.shape[0]):
            look(state, player, masks[player], observations[player])


def see_rows(states, rows, observations, masks):
    """`see` in the games `rows`."""
    for k in range(rows.shape[0]):
        i = rows[k]
        see(states[i], observations[i], masks[i])


@jit.allocates_nothing
def turn(states, actions, told):
    """Play in all games that go on, and look where they still do; gives the number of `told.ended`."""
    over, alone = 0, actions.shape[1] == 1
    for i in range(states.shape[0]):
        state, joint = states[i], told.joint[i]
        for player in range(joint.shape[0]):
            told.rewards[i, player] = state["rewards"][player]
        if not state["done"]:
            if alone:
                joint[state["to_move"]] = actions[i, 0]
                step(state, joint)
            else:
                step(state, actions[i])
        for player in range(joint.shape[0]):
            told.rewards[i, player] = state["rewards"][player] - told.rewards[i, player]
        told.done[i] = state["done"]
        if state["done"]:
            told.ended[over] = i
            over += 1
        else:
            see(state, told.observations[i], told.masks[i])
    return over


def begin(states, i, episodes, anew):
    """The next episode of game i."""
    episodes.seeds[i] = siphash(anew.key[0], anew.key[1], episodes.games[i], episodes.following[i])
    episodes.following[i] += np.uint64(1)
    states[i] = anew.prototype[0]
    reset(states[i], derive(episodes.seeds[i], _GAME, 0))


def play_rows(anew, again, states, actions, told, episodes):
    """Play in all games, start those anew that are over if `again`, and look at all; fills `told`."""
    over = turn(states, actions, told)
    for k in range(over):
        i = told.ended[k]
        if again:
            begin(states, i, episodes, anew)
        see(states[i], told.observations[i], told.masks[i])


@cache
def bound_for(kernels: Kernels) -> Mapping[str, Callable[..., Any]]:
    """What templates about looks may name: those of one game, and the loops here."""
    bound = dict(kernels_of(kernels))
    for template in (see, turn, begin, see_rows, play_rows):
        bound[template.__name__] = jit.specialise(template, **bound)
    return MappingProxyType(bound)


@cache
def looks_for(kernels: Kernels) -> Looks:
    """The loops of one game."""
    return Looks(**{name: bound_for(kernels)[name] for name in Looks._fields})
