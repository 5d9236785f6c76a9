"""Compiled loops that play many games and look at them in one call, for `Batch(look=True)` and `Batch.rollout`.

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
from ttt_envs.core.loops import Kernels, kernels_of, of_choice
from ttt_envs.core.rng import Purpose, derive
from ttt_envs.core.siphash import siphash
from ttt_envs.core.state import SIMULTANEOUS

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


class Look(NamedTuple):
    """The result of a step of `Batch(look=True)`: always the same arrays, filled anew, which only the Batch writes.

    Attributes:
        observations: int8 (n, observation size), as whoever is to move sees it; in a game in which several may act at
            once int8 (n, players, observation size), as all of them do.
        masks: bool (n, num_actions), or (n, players, num_actions), likewise.
        rewards: float32 (n, players), as `Batch.rewards`.
        done: bool (n,), as `Batch.done`: with `auto_reset` the games that have just ended, whose observations and masks
            are those of the next ones.
    """

    observations: np.ndarray
    masks: np.ndarray
    rewards: np.ndarray
    done: np.ndarray


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
    rollout_rows: Callable[..., Any]


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


def look_at(told: Told, several: bool) -> Look:
    """A read-only `Look` at these arrays; `several`: more than one player may act at once."""
    arrays = (each if several or each.ndim < 3 else each[:, 0] for each in told[:4])
    # Of read-only memory no flag makes a writeable array.
    return Look(*(np.asarray(each.data.toreadonly()) for each in arrays))


@jit.allocates_nothing
def all_allowed(states, actions, masks):
    """Whether all actions int64 (n, players), or (n, 1) for those to move, can be played, by the masks of `Told`.

    False may be wrong, of players who are asked at once with others and have nothing to choose.
    """
    columns, viewers = actions.shape[1], masks.shape[1]
    for i in range(states.shape[0]):
        for column in range(columns):
            if not -1 <= actions[i, column] < masks.shape[2]:
                return False
        if states[i]["done"]:
            continue
        mover = np.int64(states[i]["to_move"])
        first, last = (np.int64(0), np.int64(viewers - 1)) if mover == SIMULTANEOUS else (mover, mover)
        if not SIMULTANEOUS <= mover < states[i]["rewards"].shape[0] or (mover == SIMULTANEOUS and columns < viewers):
            return False
        for player in range(first, last + 1):
            action = actions[i, player if columns > 1 else 0]
            if not (action >= 0 and masks[i, player if viewers > 1 else 0, action]):
                return False
    return True


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


@jit.allocates_nothing
def play_on(state, seed, plies, joint, legal):
    """Play at most so many plies at random, as `agents.random` draws with the episode's seed; gives the plies left."""
    while plies > 0 and not state["done"]:
        mover = np.int64(state["to_move"])
        if mover == SIMULTANEOUS:
            for player in range(joint.shape[0]):
                joint[player] = drawn(state, player, of_choice(state, player, seed), legal)
        else:
            joint[mover] = drawn(state, mover, of_choice(state, mover, seed), legal)
        step(state, joint)
        plies -= 1
    return plies


def rollout_rows(anew, plan, states, rewards, done, episodes):
    """`play_on` in all games; `plan` is the number of plies, whether games start anew, and the number of actions.

    Its last part is bool (1,) or more: the first is set at the end, see `loops.play_rows`.
    rewards float32 (n, players): what all plies have paid; done bool (n,): games that are over, or were in between.
    """
    plies, again, size, played = plan
    joint, legal = np.zeros(rewards.shape[1], np.int64), np.empty(size, np.bool_)
    for i in range(states.shape[0]):
        left = plies
        rewards[i, :] = 0
        done[i] = False
        while True:
            for player in range(joint.shape[0]):
                rewards[i, player] -= states[i]["rewards"][player]
            left = play_on(states[i], episodes.seeds[i], left, joint, legal)
            for player in range(joint.shape[0]):
                rewards[i, player] += states[i]["rewards"][player]
            if not states[i]["done"]:
                break
            done[i] = True
            if not again:
                break
            begin(states, i, episodes, anew)
            if left == 0:
                break
    played[0] = True


@cache
def bound_for(kernels: Kernels) -> Mapping[str, Callable[..., Any]]:
    """What templates about looks may name: those of one game, and the loops here."""
    bound = dict(kernels_of(kernels))
    for template in (see, turn, begin, play_on, all_allowed, see_rows, play_rows, rollout_rows):
        bound[template.__name__] = jit.specialise(template, **bound)
    return MappingProxyType(bound)


@cache
def looks_for(kernels: Kernels) -> Looks:
    """The loops of one game."""
    return Looks(**{name: bound_for(kernels)[name] for name in Looks._fields})
