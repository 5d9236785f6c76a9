"""The observation features of Operation Tic-Tac-Toe; all are 0 or 1, from the observer's side.

What was submitted before is left out, since it changes nothing that can still happen: a policy that sees these features
only is a function of the position, so that a best response to it can be computed exactly.
"""

# mypy: disable-error-code="no-untyped-def"

import numpy as np

from ttt_envs.core.blocks import Block
from ttt_envs.core.jit import allocates_nothing, kernel
from ttt_envs.core.state import SIMULTANEOUS
from ttt_envs.games.operation_tic_tac_toe.rules import (
    IN_HAND,
    NOWHERE,
    OFFERED,
    PHASES,
    ROOMS,
    SPECIALISTS,
    UNUSED,
    is_overtime,
    kind_of,
    occupation,
    write_set,
)

# So many rounds before the last possible one are told apart.
LAST_ROUNDS = 8

# Where parts of the observation begin. What the options make longer comes last: a kernel is quicker where it knows.
_PENDING = 4 * ROOMS
_TURN = _PENDING + ROOMS + SPECIALISTS
_IN_HAND = _TURN + 4
_MATCH = _IN_HAND + 2 * SPECIALISTS
_UNUSED = _MATCH
_OFFERED = _UNUSED + 2 * SPECIALISTS
_PHASE = _OFFERED + 2 * SPECIALISTS
_ROUND = _PHASE + len(PHASES)
_MATCH_END = _ROUND + 2 + LAST_ROUNDS

#: Where the blocks begin that have a feature for each room.
ROOM_FEATURES = range(0, _PENDING + 1, ROOMS)


def blocks(is_match: bool, rounds_to_win: int, max_idle_turns: int) -> tuple[Block, ...]:
    """The blocks of an observation with these options."""
    room = np.arange(ROOMS).reshape(1, 3, 3)
    whose = "my (k=0) and the opponent's (k=1)"
    made = [
        Block("own spies", (ROOMS,), "a spy of mine stands in the room", room),
        Block("own specialists", (ROOMS,), "a specialist of mine stands in the room", room),
        Block("opponent's spies", (ROOMS,), "a spy of the opponent's stands in the room", room),
        Block("opponent's specialists", (ROOMS,), "a specialist of the opponent's stands in the room", room),
        Block("pending room", (ROOMS,), "the ability of the specialist in the room is to be decided now", room),
        Block("pending kind", (SPECIALISTS,), "that specialist is the k-th"),
        Block("placer", (1,), "I place in this turn, and do not predict"),
        Block("to move", (1,), "there is something for me to decide"),
        Block("hacker on", (2,), f"{whose} hacker is on"),
        Block("in hand", (2, SPECIALISTS), f"of {whose} specialists, the s-th may be placed in this round: [k, s]"),
    ]
    if is_match:
        made += [
            Block("unused", (2, SPECIALISTS), f"of {whose} specialists, the s-th is still there to be offered: [k, s]"),
            Block("offered", (2, SPECIALISTS), f"of {whose} specialists, the s-th is offered: [k, s]"),
            Block("phase", (len(PHASES),), "roles, specialists, a turn or an ability are decided"),
            Block("first", (1,), "I place or placed first in this round"),
            Block("overtime", (1,), "all specialists have returned, and two are chosen in each round"),
            Block("last rounds", (LAST_ROUNDS,), "at most k rounds can follow this one"),
        ]
    made.append(Block("idle turns", (max_idle_turns,), "at least k+1 turns in a row have changed nothing"))
    if is_match:
        made += [
            Block("own wins", (rounds_to_win,), f"I have won at least k+1 of the {rounds_to_win} rounds that it takes"),
            Block("opponent's wins", (rounds_to_win,), "the opponent has won at least k+1 of them"),
        ]
    return tuple(made)


@kernel
@allocates_nothing
def observe(state, player, out):
    """Fill `out` int8 (observation size,) with the blocks in their order."""
    out[:] = 0
    if not 0 <= player < 2:
        return
    occupied = occupation(state)
    if player == 1:  # own pieces first
        occupied = occupied >> (2 * ROOMS) | occupied << (2 * ROOMS)
    write_set(occupied, 4 * ROOMS, out, 0)
    if state["pending"] != NOWHERE:
        out[_PENDING + state["pending"]] = 1
        out[_PENDING + ROOMS + kind_of(state["board"][state["pending"]]) - 1] = 1
    out[_TURN] = state["placer"] == player
    out[_TURN + 1] = not state["done"] and (state["to_move"] == player or state["to_move"] == SIMULTANEOUS)
    out[_TURN + 2] = state["hacker_on"][player]
    out[_TURN + 3] = state["hacker_on"][1 - player]
    for specialist in range(SPECIALISTS):
        out[_IN_HAND + specialist] = state["standing"][player, specialist] == IN_HAND
        out[_IN_HAND + SPECIALISTS + specialist] = state["standing"][1 - player, specialist] == IN_HAND
    at = _MATCH
    if state["is_match"]:
        observe_match(state, player, out)
        at = _MATCH_END
    at = thermometer(state["idle"], state["max_idle_turns"], out, at)
    if state["is_match"]:
        at = thermometer(state["wins"][player], state["rounds_to_win"], out, at)
        at = thermometer(state["wins"][1 - player], state["rounds_to_win"], out, at)


@kernel
def observe_match(state, player, out):
    """The blocks from "unused" to "last rounds"."""
    for specialist in range(SPECIALISTS):
        own, other = state["standing"][player, specialist], state["standing"][1 - player, specialist]
        out[_UNUSED + specialist] = own == UNUSED
        out[_UNUSED + SPECIALISTS + specialist] = other == UNUSED
        out[_OFFERED + specialist] = own == OFFERED
        out[_OFFERED + SPECIALISTS + specialist] = other == OFFERED
    out[_PHASE + np.int64(state["phase"])] = 1
    out[_ROUND] = state["first"] == player
    out[_ROUND + 1] = is_overtime(state)
    left = np.int64(state["max_rounds"]) - state["round"]
    for k in range(LAST_ROUNDS):
        out[_ROUND + 2 + k] = left <= k


@kernel
def thermometer(count, most, out, at):
    """Set the first `count` of `most` entries from `at` on to 1; returns where they end."""
    for k in range(count):
        out[at + k] = 1
    return at + np.int64(most)
