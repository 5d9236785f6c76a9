"""Conditions that every state in play meets. The oracles reject unfinished states that violate one."""

from collections.abc import Iterator

import numpy as np

from ttt_envs.core.lines import lines
from ttt_envs.core.state import SIMULTANEOUS, States
from ttt_envs.games.operation_tic_tac_toe.rules import (
    ABILITY,
    EMPTY,
    IN_HAND,
    KINDS,
    NO_ABILITY,
    NOBODY,
    NONE,
    NOWHERE,
    OFFER_DRAW,
    OFFERED,
    OFFERS,
    PASS,
    PICK,
    PREDICT,
    REMOVE,
    ROLE,
    ROUNDS_OF_OFFERS,
    SPECIALISTS,
    SPY,
    TURN,
    UNUSED,
)

_LINES = lines(3, 3, 3)


def requirements(states: States) -> Iterator[tuple[np.ndarray, str]]:
    """Yield for each condition whether each of the states, structured (n,), meets it, bool (n,), and its text."""
    yield from _roles(states)
    yield from _standings(states)
    yield from _scores(states)
    yield from _last_turn(states)


def _roles(states: States) -> Iterator[tuple[np.ndarray, str]]:
    """Yield the conditions on phases, roles, pending abilities, lines and idle turns, in the form of `requirements`."""
    phase, placer, to_move, going = states["phase"], states["placer"], states["to_move"], ~states["done"]
    deciding = phase == ROLE
    rule = "nobody is the Placer, or was first, while the roles are decided; after that somebody is"
    yield ((placer == NOBODY) == deciding) & ((states["first"] == NOBODY) == deciding), rule
    yield (phase != PICK) | (placer == states["first"]), "who picks a specialist has not placed anything yet"
    rule = "`to_move` must be SIMULTANEOUS in a turn and when specialists are picked, and else a player"
    yield ~going | ((to_move == SIMULTANEOUS) == ((phase == TURN) | (phase == PICK))), rule
    yield (phase != ABILITY) | (to_move == placer), "the Placer must decide on an ability"
    rule = "roles are decided and specialists picked in matches only, before anything is placed"
    empty = (states["board"] == EMPTY).all(axis=1)
    yield ((phase != ROLE) & (phase != PICK)) | (states["is_match"] & empty & (states["idle"] == 0)), rule
    piece = states["board"][np.arange(len(states)), np.maximum(states["pending"], 0)]
    special = (piece != EMPTY) & ((piece - 1) % KINDS != SPY) & ((piece - 1) // KINDS == placer)
    rule = "`pending` must be the room of a specialist of the Placer's while an ability is decided, and else NOWHERE"
    yield np.where(phase == ABILITY, (states["pending"] != NOWHERE) & special, states["pending"] == NOWHERE), rule
    of = np.where(states["board"] == EMPTY, NOBODY, (states["board"] - 1) // KINDS)[:, _LINES]
    line = ((of == 0).all(axis=2) | (of == 1).all(axis=2)).any(axis=1)
    yield ~going | (phase != TURN) | ~line, "three pieces of one player in a row end the round"
    rule = "`max_idle_turns` idle turns end the round"
    yield ~going | (states["idle"] < states["max_idle_turns"]), rule


def _standings(states: States) -> Iterator[tuple[np.ndarray, str]]:
    """Yield the conditions on the numbers of unused and offered specialists and of those in hand, as `requirements`."""
    standing, phase, number = states["standing"], states["phase"][:, None], states["round"][:, None]
    unused, offered, held = ((standing == each).sum(axis=2) for each in (UNUSED, OFFERED, IN_HAND))
    overtime, match = number > ROUNDS_OF_OFFERS, states["is_match"][:, None]
    chosen = np.where(phase < TURN, 0, np.where(overtime, 2, 1))
    left = np.where(overtime, SPECIALISTS, SPECIALISTS + 1 - number) - chosen
    offers = np.where((phase == PICK) & ~overtime, np.minimum(OFFERS, left), 0)
    rule = "the number of specialists that are unused and offered must fit the round"
    yield np.where(match, (offered == offers) & (unused == left - offers), unused + offered == 0).all(axis=1), rule
    yield np.where(match, held <= chosen, held <= 2).all(axis=1), "no player has more specialists in hand than picked"


def _scores(states: States) -> Iterator[tuple[np.ndarray, str]]:
    wins, number, match, going = states["wins"], states["round"], states["is_match"], ~states["done"]
    yield match | ((number == 1) & ~wins.any(axis=1)), "a single round is round 1, and nobody has won one before"
    over = np.where(going, number - 1, number)
    yield wins.sum(axis=1) <= over, "there must be no more wins than rounds"
    yield ~going | (wins < states["rounds_to_win"][:, None]).all(axis=1), "`rounds_to_win` wins end the match"


def _last_turn(states: States) -> Iterator[tuple[np.ndarray, str]]:
    rows, last, phase = np.arange(len(states)), states["last"], states["phase"]
    known = (last != NONE).all(axis=1)
    rule = "`last` must have both players' submissions in a turn of this round, or none"
    yield known | ((last == NONE).all(axis=1) & (states["last_ability"] == NONE)), rule
    yield ~known | (phase >= TURN), "before the first turn of a round there is no last turn"
    # In phase TURN the roles have been swapped since the last turn, so the other player placed in it.
    swapped = (phase == TURN) & (states["to_move"] == SIMULTANEOUS)
    placer = np.where(swapped, 1 - states["placer"], states["placer"]) % 2
    placement, prediction = last[rows, placer], last[rows, 1 - placer]
    unmet = (placement == PASS) | (placement == OFFER_DRAW)
    yield ~known | (placement < PREDICT) | unmet, "the Placer must have placed something, passed or offered a draw"
    unmet = (prediction == PASS) | (prediction == OFFER_DRAW)
    predicted = ((prediction >= PREDICT) & (prediction < REMOVE)) | unmet
    yield ~known | predicted, "the Predictor must have predicted rooms, passed or offered a draw"
    ability = states["last_ability"]
    rule = "`last_ability` must be the use of an ability"
    yield (ability == NONE) | ((ability >= REMOVE) & (ability <= NO_ABILITY)), rule
