"""The observation features of Operation Tic-Tac-Toe; all are 0 or 1, from the observer's side.

Choices of earlier turns are left out, because they have no effect on later play. A policy that sees only these features
is therefore a function of the position, and a best response to it can be computed exactly.
"""

# mypy: disable-error-code="no-untyped-def"

import numpy as np

from ttt_envs.core.compile.bits import MOST_AT_ONCE, mark_equal, up_to, write_count, write_set
from ttt_envs.core.compile.jit import allocates_nothing, kernel
from ttt_envs.core.observation_layout import Block
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
)

# Number of features for how many more rounds are possible: feature k says that at most k rounds can follow.
LAST_ROUNDS = 8

# Offsets of the parts of the observation. Parts whose length depends on options come last, so that these offsets are
# constants, which makes the kernel faster.
_PENDING = 4 * ROOMS
_TURN = _PENDING + ROOMS + SPECIALISTS
_IN_HAND = _TURN + 4
_MATCH = _IN_HAND + 2 * SPECIALISTS
_UNUSED = _MATCH
_OFFERED = _UNUSED + 2 * SPECIALISTS
_PHASE = _OFFERED + 2 * SPECIALISTS
_ROUND = _PHASE + len(PHASES)
_MATCH_END = _ROUND + 2 + LAST_ROUNDS

#: Offsets of the blocks with one feature per room.
ROOM_FEATURES = range(0, _PENDING + 1, ROOMS)


def blocks(is_match: bool, rounds_to_win: int, max_idle_turns: int) -> tuple[Block, ...]:
    """Return the blocks of an observation with these options."""
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
    """Write the blocks, in their order, to `out`, int8 (observation size,)."""
    if not 0 <= player < 2:
        out[:] = 0
        return
    occupied = occupation(state)
    if player == 1:  # own pieces first
        occupied = occupied >> (2 * ROOMS) | occupied << (2 * ROOMS)
    write_set(occupied, 4 * ROOMS, out, 0)
    write_set(seen_of_turn(state, player), _IN_HAND - _PENDING, out, _PENDING)
    own, other = state["standing"][player], state["standing"][1 - player]
    mark_equal(own, IN_HAND, out, _IN_HAND)
    mark_equal(other, IN_HAND, out, _IN_HAND + SPECIALISTS)
    at = np.int64(_MATCH)
    if state["is_match"]:
        mark_equal(own, UNUSED, out, _UNUSED)
        mark_equal(other, UNUSED, out, _UNUSED + SPECIALISTS)
        mark_equal(own, OFFERED, out, _OFFERED)
        mark_equal(other, OFFERED, out, _OFFERED + SPECIALISTS)
        write_set(seen_of_match(state, player), _MATCH_END - _PHASE, out, _PHASE)
        at = np.int64(_MATCH_END)
    idle, to_win = np.int64(state["max_idle_turns"]), np.int64(state["rounds_to_win"]) * state["is_match"]
    wins, lost = np.int64(state["wins"][player]), np.int64(state["wins"][1 - player])
    if idle + 2 * to_win <= MOST_AT_ONCE:
        counts = up_to(state["idle"], idle) | up_to(wins, to_win) << idle | up_to(lost, to_win) << (idle + to_win)
        write_set(counts, idle + 2 * to_win, out, at)
    else:
        write_count(state["idle"], idle, out, at)
        write_count(wins, to_win, out, at + idle)
        write_count(lost, to_win, out, at + idle + to_win)


@kernel
def seen_of_turn(state, player):
    """Return the features of the blocks from "pending room" to "hacker on" as a bit set; bit 0 is the first feature."""
    seen, pending = np.int64(0), np.int64(state["pending"])
    if pending != NOWHERE:
        seen = np.int64(1) << pending | np.int64(1) << (ROOMS + kind_of(state["board"][pending]) - 1)
    acts = not state["done"] and (state["to_move"] == player or state["to_move"] == SIMULTANEOUS)
    turn = np.int64(state["placer"] == player) | np.int64(acts) << 1
    turn |= np.int64(state["hacker_on"][player]) << 2 | np.int64(state["hacker_on"][1 - player]) << 3
    return seen | turn << (_TURN - _PENDING)


@kernel
def seen_of_match(state, player):
    """Return the features of the blocks from "phase" to "last rounds" as a bit set."""
    left = min(np.int64(state["max_rounds"]) - state["round"], LAST_ROUNDS)
    seen = np.int64(1) << np.int64(state["phase"])
    seen |= np.int64(state["first"] == player) << (_ROUND - _PHASE)
    seen |= np.int64(is_overtime(state)) << (_ROUND - _PHASE + 1)
    return seen | ((1 << LAST_ROUNDS) - (np.int64(1) << left)) << (_ROUND - _PHASE + 2)
