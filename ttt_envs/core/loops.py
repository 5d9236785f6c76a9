"""Compiled loops around a game's kernels, the same for every game.

Rules common to all games are defined here once: a reset starts from the prototype record; a finished game has no legal
action and is not stepped again. The functions below are templates; `loops_for` compiles them for one game's rules. In
the templates `reset`, `legal_mask`, `step`, `observe` and `resample` are the game's kernels. They are called from
Python with (states, i), never with a record: that costs 0.3 us, a record 1.2 us.
"""

# ruff: noqa: F821
# mypy: disable-error-code="no-untyped-def, name-defined"

from collections.abc import Callable, Mapping
from functools import cache
from types import MappingProxyType
from typing import Any, NamedTuple

import numpy as np

from ttt_envs.core.compile import jit
from ttt_envs.core.rng import Purpose, Stream, choose, count, derive, fold, mix
from ttt_envs.core.state import SIMULTANEOUS

_GAME, _DECISION, _CHOICE = int(Purpose.GAME), int(Purpose.DECISION), int(Stream.CHOICE) << 32


class Kernels(NamedTuple):
    """A game's kernels over one state record.

    With the numbers of a player and an action they are total, whatever whole numbers these are: they write to their own
    record and `out` alone, and come to an end. An action that is not legal leaves the position as it is. Kernels rely
    only on the ranges of the record's fields, see `Game.check_states`.

    They draw by `rng.below(state, n)` and `rng.pick(state, mask)` only, after `rng.start`: what else depends on chance
    `core.chance` cannot enumerate.

    Attributes:
        reset: (state, seed uint64): a new game in place; option fields are already filled in, all else is zero.
        legal_mask: (state, player, out bool (num_actions,)): writes every entry; all False if `player` does not act.
        step: (state, actions int (players,)): plays; entries of players who do not act are ignored. If another one is
            not legal, it calls `refuse` and leaves all as it is. `ply` is counted by the caller, see `advance`. It adds
            its payments to `rewards`, see `Game.rewards`.
        observe: (state, player, out int8 (observation size,)): writes every entry.
        resample: (state, player, seed uint64): redraws everything that `player` cannot know, the future included.
        is_legal: (state, player, action): the entry of the legal mask, without the rest; False for numbers that are no
            player's or no action's, and in a finished game. None: looked up in the mask.
        random_action: (state, player, x uint64): the action that `rng.choose` draws by `x` from the legal mask of a
            player who acts, without the mask. None: by the mask.

    A game has its own `is_legal` or `random_action` only if searches become at least 1.3 times as fast by it.
    """

    reset: Callable[..., Any]
    legal_mask: Callable[..., Any]
    step: Callable[..., Any]
    observe: Callable[..., Any]
    resample: Callable[..., Any]
    is_legal: Callable[..., Any] | None = None
    random_action: Callable[..., Any] | None = None


class Loops(NamedTuple):
    """A game's kernels as Python calls them; see the templates of the same names."""

    reset_one: Callable[..., Any]
    mask_one: Callable[..., Any]
    observe_one: Callable[..., Any]
    step_one: Callable[..., Any]
    move_one: Callable[..., Any]
    reply_rows: Callable[..., Any]
    reset_rows: Callable[..., Any]
    mask_rows: Callable[..., Any]
    observe_rows: Callable[..., Any]
    find_illegal: Callable[..., Any]
    step_rows: Callable[..., Any]
    play_rows: Callable[..., Any]
    resample_rows: Callable[..., Any]


@jit.allocates_nothing
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


@jit.inlined
@jit.allocates_nothing
def advance(state, actions):
    """Play, and count the ply. Loops and searches call this instead of a game's `step`."""
    step(state, actions)
    state["ply"] += 1


@jit.kernel
def refuse(state):
    """Leave the position as it is, instead of a step: undo the ply that `advance` will count."""
    state["ply"] -= 1


def step_one(states, i, actions):
    """Play in states[i]; actions int64 (players,)."""
    if not states[i]["done"]:
        step(states[i], actions)


@jit.allocates_nothing
def look(state, player, legal, seen):
    """The player's legal actions, none if the game is over, and observation."""
    if state["done"]:
        legal[:] = False
    else:
        legal_mask(state, player, legal)
    observe(state, player, seen)


@jit.allocates_nothing
@jit.keeps_gil
def move_one(states, actions, play, legal, told, seen):
    """Play in states[0] if `play`, and look at what follows: a step of an environment in one call.

    With shape (players, ...) all players observe; otherwise only the player to move, and no one after the game is over.
    Return the set of observing players who must choose, as bits.

    actions int64 (players,), all -1 after they were played; legal bool (num_actions,), which is also in the first
    entries of told int8 (num_actions or more,), and seen int8 (observation size,), all with or without rows.
    """
    state = states[0]
    if play:
        step(state, actions)
        actions[:] = -1
    acting = np.int64(0)
    if legal.ndim > 1:
        for player in range(legal.shape[0]):
            look(state, player, legal[player], seen[player])
            for action in range(legal.shape[1]):
                told[player, action] = legal[player, action]
                if legal[player, action]:
                    acting |= np.int64(1) << np.int64(player)
    elif not state["done"]:
        mover = np.int64(state["to_move"])
        legal_mask(state, mover, legal)
        observe(state, mover, seen)
        for action in range(legal.shape[0]):
            told[action] = legal[action]
        acting = np.int64(1) << mover
    return int(acting)


@jit.allocates_nothing
def reply(state, player, seed, actions, legal):
    """Play on, at random for the others, until `player` has a choice to make or the game is over.

    The others draw as `agents.random` does from its decisions' seeds; `seed` is the episode's. actions int64 (players,)
    hold the choice that `player` makes first, or -1 for none; legal bool (num_actions,) is room for a mask.
    """
    while not state["done"]:
        mover = np.int64(state["to_move"])
        if actions[player] < 0:
            if mover == player:
                return
            if mover == SIMULTANEOUS:
                legal_mask(state, player, legal)
                if count(legal) > 0:
                    return
        if mover == SIMULTANEOUS:
            for other in range(actions.shape[0]):
                if other != player:
                    actions[other] = drawn(state, other, of_choice(state, other, seed), legal)
        elif mover != player:
            actions[mover] = drawn(state, mover, of_choice(state, mover, seed), legal)
        step(state, actions)
        actions[player] = -1


@jit.kernel
@jit.allocates_nothing
def of_choice(state, player, seed):
    """Return the random uint64 by which `agents.random` chooses in this state; `seed` is the episode's."""
    return mix(fold(derive(seed, _DECISION + player, np.int64(state["ply"])), _CHOICE))


@jit.allocates_nothing
def reply_rows(states, players, seeds, actions, legal, seen):
    """Play in all games, the others at random, until players[i] is to act in states[i] or it is over; then look.

    See `reply`; players int64 (n,), seeds uint64 (n,), actions int64 (n, players). legal bool (n, num_actions) and seen
    int8 (n, observation size) are filled as the players see it.
    """
    for i in range(states.shape[0]):
        reply(states[i], players[i], seeds[i], actions[i], legal[i])
        look(states[i], players[i], legal[i], seen[i])


@jit.allocates_nothing
def reset_rows(states, rows, prototype, seeds):
    """New games in states[rows[k]] from the episodes' seeds[k]; rows int64, seeds uint64."""
    for k in range(rows.shape[0]):
        states[rows[k]] = prototype[0]
        reset(states[rows[k]], derive(seeds[k], _GAME, 0))


@jit.allocates_nothing
def mask_rows(states, players, out):
    """Legal actions of players[i] in states[i]; out bool (n, num_actions). A number of no player has none."""
    for i in range(states.shape[0]):
        if states[i]["done"] or not 0 <= players[i] < states[i]["rewards"].shape[0]:
            out[i, :] = False
        else:
            legal_mask(states[i], players[i], out[i])


@jit.allocates_nothing
def observe_rows(states, players, out):
    """Observation of players[i] in states[i]; out int8 (n, observation size). A number of no player sees zeros."""
    for i in range(states.shape[0]):
        if not 0 <= players[i] < states[i]["rewards"].shape[0]:
            out[i, :] = 0
        else:
            observe(states[i], players[i], out[i])


@jit.inlined
@jit.allocates_nothing
def by_rule(state, player, action, mask):
    """Return whether the action is legal, by the game's own `is_legal`."""
    return is_legal(state, player, action)


@jit.inlined
@jit.allocates_nothing
def by_mask(state, player, action, mask):
    """Return whether the action is legal, by the whole mask, which is written to `mask` bool (num_actions,)."""
    if state["done"] or not (0 <= player < state["rewards"].shape[0] and 0 <= action < mask.shape[0]):
        return False
    legal_mask(state, player, mask)
    return mask[action]


@jit.inlined
@jit.allocates_nothing
def drawn_by_rule(state, player, x, mask):
    """Return a random legal action of a player who acts, by the game's own `random_action`."""
    return random_action(state, player, x)


@jit.inlined
@jit.allocates_nothing
def drawn_by_mask(state, player, x, mask):
    """Draw a legal action of a player who acts, by the mask, which is written to `mask` bool (num_actions,)."""
    legal_mask(state, player, mask)
    return choose(mask, x)


@jit.allocates_nothing
def find_illegal(states, rows, actions, mask):
    """Return the first of the games `rows` in which its actions[k] cannot be played, or -1; nothing is changed.

    actions as for `step_rows`, -1 for none; mask bool (num_actions,) is room for one. Numbers that are no action are
    detected also in entries that would be ignored.
    """
    columns = actions.shape[1]
    for k in range(rows.shape[0]):
        state = states[rows[k]]
        players, mover = state["rewards"].shape[0], np.int64(state["to_move"])
        for column in range(columns):
            if not -1 <= actions[k, column] < mask.shape[0]:
                return rows[k]
        if state["done"]:
            continue
        if not SIMULTANEOUS <= mover < players:  # somebody has written into the record
            return rows[k]
        if mover != SIMULTANEOUS:
            if not allowed(state, mover, actions[k, mover if columns == players else 0], mask):
                return rows[k]
        elif columns != players:
            return rows[k]
        else:
            for player in range(players):
                if not allowed(state, player, actions[k, player], mask):
                    legal_mask(state, player, mask)
                    for action in range(mask.shape[0]):
                        if mask[action]:
                            return rows[k]
    return -1


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


def play_rows(states, rewards, done, rows, actions):
    """`step_rows`, with what it pays in rewards float32 (n, players), and whether games are over in done bool (n,)."""
    players = states[0]["rewards"].shape[0]
    joint = np.zeros(players, np.int64)
    for k in range(rows.shape[0]):
        i = rows[k]
        state = states[i]
        for player in range(players):
            rewards[i, player] = state["rewards"][player]
        if not state["done"]:
            if actions.shape[1] == players:
                step(state, actions[k])
            else:
                joint[state["to_move"]] = actions[k, 0]
                step(state, joint)
        for player in range(players):
            rewards[i, player] = state["rewards"][player] - rewards[i, player]
        done[i] = state["done"]


def resample_rows(states, players, seeds):
    """Redraw in states[i] what players[i] cannot know, by seeds[i]."""
    for i in range(states.shape[0]):
        resample(states[i], players[i], seeds[i])


@cache
def advance_for(kernels: Kernels) -> Callable[..., Any]:
    """Return `advance` for one game."""
    return jit.specialise(advance, step=kernels.step)


@cache
def kernels_of(kernels: Kernels) -> Mapping[str, Callable[..., Any]]:
    """Return the meaning of the names of a game's kernels in templates.

    These are the names of `Kernels`, of which `step` counts the ply, and four more: `allowed`, see `by_mask`, `drawn`,
    see `drawn_by_mask`, `look` and `reply`.
    """
    bound = {name: kernel for name, kernel in kernels._asdict().items() if kernel is not None}
    allowed = jit.specialise(by_mask if kernels.is_legal is None else by_rule, **bound)
    drawn = jit.specialise(drawn_by_mask if kernels.random_action is None else drawn_by_rule, **bound)
    bound.update(allowed=allowed, drawn=drawn, step=advance_for(kernels), look=jit.specialise(look, **bound))
    bound.update(reply=jit.specialise(reply, **bound))
    return MappingProxyType(bound)


@cache
def loops_for(kernels: Kernels) -> Loops:
    """Return the loops of one game; machine code is kept on disk, and options of one game share it."""
    return Loops(**{name: jit.specialise(globals()[name], **kernels_of(kernels)) for name in Loops._fields})
