"""Compiled loops around a game's kernels, the same for every game.

What all games share is decided here once: a reset starts from the prototype record, a finished game has no legal
action and is not stepped again. The functions below are templates; `loops_for` compiles them for one game's rules.
In them `reset`, `legal_mask`, `step`, `observe` and `resample` stand for the game's kernels. They are called from
Python with (states, i), never with a record: that costs 0.3 us, a record 1.2 us.
"""

# ruff: noqa: F821
# mypy: disable-error-code="no-untyped-def, name-defined"

from collections.abc import Callable
from functools import cache
from typing import Any, NamedTuple

import numpy as np

from ttt_envs.core import jit
from ttt_envs.core.rng import Purpose, derive

_GAME, _DECISION = int(Purpose.GAME), int(Purpose.DECISION)


class Rules(NamedTuple):
    """A game's kernels over one state record. They trust their caller: actions are legal, the game is not finished.

    They draw by `rng.below(state, n)` and `rng.pick(state, mask)` only, after `rng.start`: what else depends on chance
    `core.chance` cannot enumerate.

    Attributes:
        reset: (state, seed uint64): a new game in place; option fields are already filled in, all else is zero.
        legal_mask: (state, player, out bool (num_actions,)): writes every entry; all False if `player` does not act.
        step: (state, actions int (players,)): plays; entries of players who do not act are ignored. `ply` is counted
            by the caller, see `advance`.
        observe: (state, player, out int8 (observation size,)): writes every entry.
        resample: (state, player, seed uint64): redraws everything that `player` cannot know, the future included.
    """

    reset: Callable[..., Any]
    legal_mask: Callable[..., Any]
    step: Callable[..., Any]
    observe: Callable[..., Any]
    resample: Callable[..., Any]


class Loops(NamedTuple):
    """A game's kernels as Python calls them; see the templates of the same names."""

    reset_one: Callable[..., Any]
    mask_one: Callable[..., Any]
    observe_one: Callable[..., Any]
    step_one: Callable[..., Any]
    reset_rows: Callable[..., Any]
    mask_rows: Callable[..., Any]
    observe_rows: Callable[..., Any]
    step_rows: Callable[..., Any]
    resample_rows: Callable[..., Any]
    view_seeds: Callable[..., Any]


def reset_one(states, i, prototype, seed):
    """New game in states[i]."""
    states[i] = prototype[0]
    reset(states[i], derive(seed, _GAME, 0))


@jit.allocates_nothing
def mask_one(states, i, player, out):
    """Legal actions of `player` in states[i]; out bool (num_actions,)."""
    if states[i]["done"]:
        out[:] = False
    else:
        legal_mask(states[i], player, out)


@jit.allocates_nothing
def observe_one(states, i, player, out):
    """Observation of `player` in states[i]; out int8 (observation size,)."""
    observe(states[i], player, out)


def advance(state, actions):
    """Play, and count the ply. Loops and searches have this in the place of a game's `step`."""
    step(state, actions)
    state["ply"] += 1


def step_one(states, i, actions):
    """Play in states[i]; actions int64 (players,)."""
    if not states[i]["done"]:
        step(states[i], actions)


def reset_rows(states, rows, prototype, seeds):
    """New games in states[rows[k]] from the episodes' seeds[k]; rows int64, seeds uint64."""
    for k in range(rows.shape[0]):
        states[rows[k]] = prototype[0]
        reset(states[rows[k]], derive(seeds[k], _GAME, 0))


@jit.allocates_nothing
def mask_rows(states, players, out):
    """Legal actions of players[i] in states[i]; out bool (n, num_actions). A negative player has none."""
    for i in range(states.shape[0]):
        if states[i]["done"] or players[i] < 0:
            out[i, :] = False
        else:
            legal_mask(states[i], players[i], out[i])


@jit.allocates_nothing
def observe_rows(states, players, out):
    """Observation of players[i] in states[i]; out int8 (n, observation size). A negative player sees zeros."""
    for i in range(states.shape[0]):
        if players[i] < 0:
            out[i, :] = 0
        else:
            observe(states[i], players[i], out[i])


def step_rows(states, rows, actions):
    """Play in states[rows[k]]; actions int64 (k, players), or (k, 1) for the player to move."""
    players = states[0]["rewards"].shape[0]
    joint = np.zeros(players, np.int64)
    for k in range(rows.shape[0]):
        state = states[rows[k]]
        if state["done"]:
            continue
        if actions.shape[1] == players:
            step(state, actions[k])
        else:
            joint[state["to_move"]] = actions[k, 0]
            step(state, joint)


def resample_rows(states, players, seeds):
    """Redraw in states[i] what players[i] cannot know, by seeds[i]."""
    for i in range(states.shape[0]):
        resample(states[i], players[i], seeds[i])


@jit.allocates_nothing
def view_seeds(states, players, seeds, out):
    """One seed for each decision: of the episode's seed, the player and the ply. All uint64 (n,)."""
    for i in range(states.shape[0]):
        out[i] = derive(seeds[i], _DECISION + players[i], states[i]["ply"])


@cache
def advance_for(rules: Rules) -> Callable[..., Any]:
    """`advance` for one game."""
    return jit.specialise(advance, step=rules.step)


@cache
def loops_for(rules: Rules) -> Loops:
    """The loops of one game; machine code is kept on disk, and options of one game share it."""
    kernels = {**rules._asdict(), "step": advance_for(rules)}
    return Loops(**{name: jit.specialise(globals()[name], **kernels) for name in Loops._fields})
