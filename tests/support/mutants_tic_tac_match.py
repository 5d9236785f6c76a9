"""Tic-Tac Match, broken in one place each. The tests of its rules must notice every one of them."""

from collections.abc import Callable
from dataclasses import replace

import numpy as np

from ttt_envs.core import jit, rng
from ttt_envs.core.game import Game
from ttt_envs.games.tic_tac_match import rules


@jit.kernel
def no_line_between(state, board, player, action):
    """No line is looked for between the cards of a Double Play, if a second card can be played."""
    line = rules.lay(state, board, player, action)
    if line and state["pending"] == 2:
        state["pending"] = 1
        line = not rules.can_play(state, player)
        state["pending"] = 2
    return line


@jit.kernel
def mover_wins(state, symbol):
    """A row is for who completes it."""
    rules.end_game(state, state["identity"][state["to_move"]] if symbol != rules.NOTHING else symbol)


@jit.kernel
def same_on_same(state, player, out):
    """A card may lie on one that matches in both, too."""
    rules.legal_mask(state, player, out)
    if player == state["to_move"] and state["pending"] == 0:
        for cell in range(9):
            top = state["top"][cell]
            if top != rules.NOTHING and state["hand"][player, top] > 0:
                out[9 * top + cell] = True


@jit.kernel
def own_flip(state, player, kind):
    """A Flip turns the mover's ID card only. (All are turned once more after this.)"""
    rules.spend(state, player, kind)
    if kind == rules.flip_of(state):
        for other in range(state["identity"].shape[0]):
            if other != player:
                state["identity"][other] = 1 - state["identity"][other]


@jit.kernel
def wipe_out_otherwise(state, actions, victim_first, victim_plays):
    """A Wipe-Out in which the victim draws first, or does not play after it."""
    player, players = state["to_move"], state["identity"].shape[0]
    ahead = actions[player] - rules.CELLS * rules.flip_of(state)
    if ahead < 1 or ahead >= players or state["turn"] + 1 == state["max_turns"]:
        rules.step(state, actions)
        return
    victim = (player + ahead) % players
    rules.remember(state, player, actions[player])
    rules.spend(state, player, rules.flip_of(state) + 1)
    state["turn"] += 1
    if not victim_first:
        rules.refill(state, player)
    rules.exchange_hand(state, victim)
    rules.refill(state, player)
    state["to_move"] = victim if victim_plays else (victim + 1) % players
    rules.begin_turn(state)


@jit.kernel
def replacement_after(state, actions):
    """After a Wipe-Out the victim draws before the mover."""
    wipe_out_otherwise(state, actions, True, True)


@jit.kernel
def victim_skipped(state, actions):
    """After a Wipe-Out the player after the victim plays."""
    wipe_out_otherwise(state, actions, False, False)


@jit.kernel
def covered_stay(state):
    """The new pile is made of the discards alone, if there are any."""
    card = rules.take(state, rules.count(state["pile"]))
    if not state["pile"].any():
        both = not state["discard"].any()
        for kind in range(state["pile"].shape[0]):
            state["pile"][kind] = state["discard"][kind]
            state["discard"][kind] = 0
            if both:
                state["pile"][kind] = state["covered"][kind]
                state["covered"][kind] = 0
    return card


@jit.kernel
def new_pile_late(state):
    """The pile is made anew only when the next card is drawn."""
    if not state["pile"].any():
        for kind in range(state["pile"].shape[0]):
            state["pile"][kind] = state["discard"][kind] + state["covered"][kind]
            state["discard"][kind] = 0
            state["covered"][kind] = 0
    return rules.take(state, rules.count(state["pile"]))


@jit.kernel
def by_kind(state, size):
    """Each kind in the pile is as likely, however many cards there are of it."""
    skip, card = rng.below(state, np.count_nonzero(state["pile"])), -1
    while skip >= 0:
        card += 1
        skip -= state["pile"][card] > 0
    state["pile"][card] -= 1
    return card


@jit.kernel
def hand_kept(state, player):
    """Who cannot play gets only one new card."""
    for kind in range(state["pile"].shape[0]):
        if state["hand"][player, kind] > 0:
            rules.spend(state, player, kind)
            rules.refill(state, player)
            return


@jit.kernel
def dealer_begins(state, seed):
    """The dealer plays first, if he can."""
    rules.reset(state, seed)
    if rules.can_play(state, 0):
        state["to_move"] = 0


@jit.kernel
def any_hand(state, player, seed):
    """Worlds in which the mover cannot play are possible, too."""
    players = state["identity"].shape[0]
    sizes = np.zeros(players, np.int64)
    rng.start(state, seed)
    for other in range(players):
        if other != player:
            sizes[other] = rules.count(state["hand"][other])
            rules.put_back(state, other)
    for other in range(players):
        rules.deal(state, other, sizes[other])


@jit.kernel
def hands_known(state, player, seed):
    """Only the future is hidden."""
    rng.start(state, seed)


#: Caller -> the kernels that it calls, in such an order that what is called comes before its callers.
CALLS = {
    "draw_card": ("take",),
    "refill": ("draw_card",),
    "exchange_hand": ("refill",),
    "begin_turn": ("exchange_hand", "end_game"),
    "reset": ("draw_card", "refill", "begin_turn"),
    "step": ("lay", "spend", "refill", "exchange_hand", "begin_turn", "end_game"),
}


def broken(game: Game, **kernels: Callable) -> Game:
    """The game with some kernels changed, and all that calls them."""
    for caller, called in CALLS.items():
        bound = {name: kernels[name] for name in called if name in kernels}
        if bound and caller not in kernels:
            whole = getattr(rules, caller)
            kernels[caller] = jit.specialise(getattr(whole, "py_func", whole), **bound)
    return replace(game, rules=game.rules._replace(**{n: k for n, k in kernels.items() if n in game.rules._fields}))
