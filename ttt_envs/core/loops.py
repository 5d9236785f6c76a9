"""Compiled loops around a game's kernels, the same for every game.

They define the rules common to all games: a reset starts from the prototype record; a finished game has no legal action
and is not stepped again. The functions below are templates; `loops_for` compiles them for one game's rules. In the
templates `reset`, `legal_mask`, `step`, `observe` and `resample` are the game's kernels. Python passes (states, i)
instead of a record, because a call then takes 0.3 us instead of 1.2 us.
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

    Kernels accept any whole numbers as player and action: they terminate and write only to their own record and to
    `out`. An illegal action leaves the position unchanged. Kernels rely only on the ranges of the record's fields, see
    `Game.check_states`.

    After `rng.start`, they draw only with `rng.below(state, n)` and `rng.pick(state, mask)`: `core.chance` cannot
    enumerate other draws.

    Attributes:
        reset: (state, seed uint64): starts a new game in place; option fields are already filled in, the rest is zero.
        legal_mask: (state, player, out bool (num_actions,)): writes every entry; all False if `player` does not act.
        step: (state, actions int (players,)): plays a ply and adds its payments to `rewards`, see `Game.rewards`.
            Entries of players who do not act are ignored. If another entry is illegal, it calls `refuse` and changes
            nothing. The caller counts `ply`, see `advance`.
        observe: (state, player, out int8 (observation size,)): writes every entry.
        resample: (state, player, seed uint64): redraws hidden information and future chance that `player` cannot know.
        is_legal: (state, player, action): returns one entry of the legal mask; False for an unknown player or action,
            and in a finished game. None reads the mask.
        random_action: (state, player, x uint64): returns the action that `rng.choose` draws with `x` from the legal
            mask of an acting player, without computing the mask. None computes it.

    Write `is_legal` or `random_action` only if they make searches at least 1.3 times as fast.
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
    """Start a new game in states[i]."""
    states[i] = prototype[0]
    reset(states[i], derive(seed, _GAME, 0))


@jit.allocates_nothing
def mask_one(states, i, player, out):
    """Write the legal actions of `player` in states[i] to out bool (num_actions,)."""
    if states[i]["done"]:
        out[:] = False
    else:
        legal_mask(states[i], player, out)


@jit.allocates_nothing
def observe_one(states, i, player, out):
    """Write the observation of `player` in states[i] to out int8 (observation size,)."""
    observe(states[i], player, out)


@jit.inlined
@jit.allocates_nothing
def advance(state, actions):
    """Play, and count the ply. Loops and searches call this instead of a game's `step`."""
    step(state, actions)
    state["ply"] += 1


@jit.kernel
def refuse(state):
    """Cancel a step: undo the ply that `advance` will count."""
    state["ply"] -= 1


def step_one(states, i, actions):
    """Play in states[i] unless the game is over; actions int64 (players,)."""
    if not states[i]["done"]:
        step(states[i], actions)


@jit.allocates_nothing
def look(state, player, legal, seen):
    """Write the player's legal actions (none if the game is over) and observation."""
    if state["done"]:
        legal[:] = False
    else:
        legal_mask(state, player, legal)
    observe(state, player, seen)


@jit.allocates_nothing
@jit.keeps_gil
def move_one(states, actions, play, legal, told, seen):
    """Play in states[0] if `play`, then write masks and observations: an environment's step in one call.

    With arrays of shape (players, ...), all players observe; otherwise only the player to move does, and no player
    after the end. Return the observing players who must act, as a set of bits.

    actions: int64 (players,), reset to -1 after the step. Filled in, with or without a row per player: legal bool
    (num_actions,); told int8 (num_actions or more,), whose first entries equal `legal`; seen int8 (observation size,).
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
    """Play until `player` must act or the game is over; the others play at random.

    The others draw like `agents.random`; `seed` is the episode's seed. actions int64 (players,) contain the first
    choice of `player`, or -1 for none; legal bool (num_actions,) is scratch memory.
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
    """Return the random uint64 with which `agents.random` chooses in this state; `seed` is the episode's seed."""
    return mix(fold(derive(seed, _DECISION + player, np.int64(state["ply"])), _CHOICE))


@jit.allocates_nothing
def reply_rows(states, players, seeds, actions, legal, seen):
    """Call `reply` in each game i until players[i] must act or the game is over; then write masks and observations.

    players int64 (n,), seeds uint64 (n,), actions int64 (n, players). Filled in for `players`: legal bool
    (n, num_actions) and seen int8 (n, observation size).
    """
    for i in range(states.shape[0]):
        reply(states[i], players[i], seeds[i], actions[i], legal[i])
        look(states[i], players[i], legal[i], seen[i])


@jit.allocates_nothing
def reset_rows(states, rows, prototype, seeds):
    """Start new games in states[rows[k]] from the episodes' seeds[k]; rows int64, seeds uint64."""
    for k in range(rows.shape[0]):
        states[rows[k]] = prototype[0]
        reset(states[rows[k]], derive(seeds[k], _GAME, 0))


@jit.allocates_nothing
def mask_rows(states, players, out):
    """Write the legal actions of players[i] in states[i] to out bool (n, num_actions); none for an unknown player."""
    for i in range(states.shape[0]):
        if states[i]["done"] or not 0 <= players[i] < states[i]["rewards"].shape[0]:
            out[i, :] = False
        else:
            legal_mask(states[i], players[i], out[i])


@jit.allocates_nothing
def observe_rows(states, players, out):
    """Write observations of players[i] in states[i] to out int8 (n, observation size); zeros for an unknown player."""
    for i in range(states.shape[0]):
        if not 0 <= players[i] < states[i]["rewards"].shape[0]:
            out[i, :] = 0
        else:
            observe(states[i], players[i], out[i])


@jit.inlined
@jit.allocates_nothing
def by_rule(state, player, action, mask):
    """Return whether the action is legal, from the game's `is_legal`."""
    return is_legal(state, player, action)


@jit.inlined
@jit.allocates_nothing
def by_mask(state, player, action, mask):
    """Return whether the action is legal, from the whole mask, written to `mask` bool (num_actions,)."""
    if state["done"] or not (0 <= player < state["rewards"].shape[0] and 0 <= action < mask.shape[0]):
        return False
    legal_mask(state, player, mask)
    return mask[action]


@jit.inlined
@jit.allocates_nothing
def drawn_by_rule(state, player, x, mask):
    """Draw a legal action of an acting player, with the game's `random_action`."""
    return random_action(state, player, x)


@jit.inlined
@jit.allocates_nothing
def drawn_by_mask(state, player, x, mask):
    """Draw a legal action of an acting player from the mask, which is written to `mask` bool (num_actions,)."""
    legal_mask(state, player, mask)
    return choose(mask, x)


@jit.allocates_nothing
def find_illegal(states, rows, actions, mask):
    """Return the first of the games rows[k] in which actions[k] are illegal, or -1. Nothing is changed.

    actions as for `step_rows`, -1 for none; mask bool (num_actions,) is scratch memory. A number that is no action is
    illegal even in an entry that `step` ignores.
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
        if not SIMULTANEOUS <= mover < players:  # the caller has written to the record
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
    """Call `step_rows`, and write the step's rewards, float32 (n, players), and done, bool (n,)."""
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
    """Call `resample` in states[i] for players[i], with seeds[i]."""
    for i in range(states.shape[0]):
        resample(states[i], players[i], seeds[i])


@cache
def advance_for(kernels: Kernels) -> Callable[..., Any]:
    """Return `advance` for one game."""
    return jit.specialise(advance, step=kernels.step)


@cache
def kernels_of(kernels: Kernels) -> Mapping[str, Callable[..., Any]]:
    """Return the kernels of a game, by the names that templates use.

    These are the names of `Kernels`, where `step` also counts the ply, and four more: `allowed` (see `by_mask`),
    `drawn` (see `drawn_by_mask`), `look` and `reply`.
    """
    bound = {name: kernel for name, kernel in kernels._asdict().items() if kernel is not None}
    allowed = jit.specialise(by_mask if kernels.is_legal is None else by_rule, **bound)
    drawn = jit.specialise(drawn_by_mask if kernels.random_action is None else drawn_by_rule, **bound)
    bound.update(allowed=allowed, drawn=drawn, step=advance_for(kernels), look=jit.specialise(look, **bound))
    bound.update(reply=jit.specialise(reply, **bound))
    return MappingProxyType(bound)


@cache
def loops_for(kernels: Kernels) -> Loops:
    """Return the loops of one game. Machine code is cached on disk and shared by all options of the game."""
    return Loops(**{name: jit.specialise(globals()[name], **kernels_of(kernels)) for name in Loops._fields})
