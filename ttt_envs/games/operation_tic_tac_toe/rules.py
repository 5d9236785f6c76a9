"""The rules of Operation Tic-Tac-Toe, and nothing else.

A house of nine rooms, numbered row-major. In each turn the Placer secretly chooses a room and a piece, a spy or a
specialist. The Predictor secretly chooses the room in which they expect the piece. Source of the rules: "Operation Tic
Tac Toe", a death match of "The Genius: Tempo Up", after Brandon Beran's "Pocket Ops".

A set of rooms is an int64 whose bit k stands for room k, so most rules are a table look-up and a bitwise and.
"""

# mypy: disable-error-code="no-untyped-def"

from itertools import combinations

import numpy as np

from ttt_envs.core import rng
from ttt_envs.core.compile.bits import nth, set_size, where_equal, write_set
from ttt_envs.core.compile.jit import allocates_nothing, inlined, kernel
from ttt_envs.core.lines import lines
from ttt_envs.core.loops import refuse
from ttt_envs.core.state import SIMULTANEOUS, between, option, state_dtype

ROOMS = 9
ALL_ROOMS = np.int64(0b111_111_111)

#: The pieces that can be placed. A piece on the board is EMPTY or 1 + KINDS * player + kind.
KIND_NAMES = ("spy", "sniper", "ninja", "assassin", "courier", "mole", "pusher", "grappler", "hacker")
KINDS = len(KIND_NAMES)
SPY, SNIPER, NINJA, ASSASSIN, COURIER, MOLE, PUSHER, GRAPPLER, HACKER = range(KINDS)
SPECIALISTS = KINDS - 1  # numbered kind - 1
MOST = 63  # the most actions in one set: an int64 has bits 0 to 62 besides the sign
TOGETHER = 7  # the most kinds whose placements, ROOMS each, fit into one set
EMPTY = 0

#: The status of a specialist. USED also covers one that does not take part in this game.
UNUSED, OFFERED, IN_HAND, USED = range(4)

#: The phases: decide who places first; choose specialists; a turn; decide on the ability of a specialist just placed.
ROLE, PICK, TURN, ABILITY = PHASES = tuple(range(4))

#: How a round ended; NO_ROUND until the first round has ended.
NO_ROUND, LINE_OF_X, LINE_OF_O, BOTH_LINES, NO_ROOM, IDLE, AGREED = ENDS = tuple(range(7))

NOBODY = NOWHERE = NONE = -1
DRAWN = -1  # in the field `given`: a specialist drawn at random

#: In this many rounds the specialists are used up one by one. Later rounds are overtime: each player picks any two.
ROUNDS_OF_OFFERS = SPECIALISTS
OFFERS = 3

PAIRS = np.array(list(combinations(range(ROOMS), 2)), np.int8)
SPECIALIST_PAIRS = np.array(list(combinations(range(SPECIALISTS), 2)), np.int8)
ALL_PAIRS, ALL_SPECIALIST_PAIRS = (np.int64((1 << len(pairs)) - 1) for pairs in (PAIRS, SPECIALIST_PAIRS))
DIRECTIONS = ("north", "east", "south", "west")

# Actions. In the comments, "+ X" means: plus an index X.
PLACE = 0  # + ROOMS * kind + room
PREDICT = PLACE + ROOMS * KINDS  # + room
PREDICT_TWO = PREDICT + ROOMS  # + pair of rooms
REMOVE = PREDICT_TWO + len(PAIRS)  # + room: sniper, ninja
MOVE = REMOVE + ROOMS  # + room: courier
SWAP = MOVE + ROOMS  # + pair of rooms: mole
GRAPPLE = SWAP + len(PAIRS)  # + room
PUSH = GRAPPLE + ROOMS  # + direction
NO_ABILITY = PUSH + len(DIRECTIONS)
PLACE_FIRST = NO_ABILITY + 1
PREDICT_FIRST = PLACE_FIRST + 1
CHOOSE = PREDICT_FIRST + 1  # + specialist
CHOOSE_TWO = CHOOSE + SPECIALISTS  # + pair of specialists
PASS = CHOOSE_TWO + len(SPECIALIST_PAIRS)
OFFER_DRAW = PASS + 1
NUM_ACTIONS = OFFER_DRAW + 1

#: By kind: the first action of its ability, and whether using the ability is optional. (The mole must use it if it
#: can.) The entries of spy, assassin and hacker are never used, because these have no choice.
ABILITY_ACTION = np.array([REMOVE, REMOVE, REMOVE, REMOVE, MOVE, SWAP, PUSH, GRAPPLE, REMOVE], np.int64)
OPTIONAL = np.isin(np.arange(KINDS), (SNIPER, NINJA, PUSHER, GRAPPLER))


def _near(near):
    """Return for each room the set of other rooms for whose distance near(rows, columns) is true: int64 (ROOMS,)."""
    apart = [[(abs(a // 3 - b // 3), abs(a % 3 - b % 3)) for b in range(ROOMS)] for a in range(ROOMS)]
    return np.array([sum(1 << b for b in range(ROOMS) if a != b and near(*apart[a][b])) for a in range(ROOMS)])


def _next():
    """Return each room's neighbour in each of the DIRECTIONS, or NOWHERE: int8 (ROOMS, 4)."""
    steps = ((-1, 0), (0, 1), (1, 0), (0, -1))
    inside = [[0 <= r // 3 + dr < 3 and 0 <= r % 3 + dc < 3 for dr, dc in steps] for r in range(ROOMS)]
    rooms = [[r + 3 * dr + dc for dr, dc in steps] for r in range(ROOMS)]
    return np.where(inside, rooms, NOWHERE).astype(np.int8)


def _contains_line():
    sets = [sum(1 << int(room) for room in line) for line in lines(3, 3, 3)]
    return np.array([any(rooms & line == line for line in sets) for rooms in range(1 << ROOMS)])


def _beside():
    """Return for each set of rooms the set of rooms orthogonally adjacent to one of them: int64 (512,)."""
    return np.array(
        [np.bitwise_or.reduce([0] + [ORTHOGONAL[k] for k in range(ROOMS) if s >> k & 1]) for s in range(1 << ROOMS)]
    )


def _predicted():
    """Return the set of rooms that each action predicts, empty for a pass or an offer: int64 (NUM_ACTIONS,)."""
    sets = np.zeros(NUM_ACTIONS, np.int64)
    sets[PREDICT:PREDICT_TWO] = 1 << np.arange(ROOMS)
    sets[PREDICT_TWO:REMOVE] = (1 << PAIRS.astype(np.int64)).sum(axis=1)
    return sets


ORTHOGONAL = _near(lambda rows, columns: rows + columns == 1)
ADJACENT = _near(lambda rows, columns: max(rows, columns) == 1)
SAME_ROW_OR_COLUMN = _near(lambda rows, columns: rows * columns == 0)
NEXT = _next()
HAS_LINE = _contains_line()
BESIDE = _beside()
PREDICTED = _predicted()

# For each piece, the bit that it sets in `occupation` if it is in room 0.
_OCCUPIES = np.array(
    [0] + [1 << (2 * ROOMS * player + ROOMS * (kind != SPY)) for player in (0, 1) for kind in range(KINDS)]
)

STATE = state_dtype(
    players=2,
    fields=[
        # Each player's action in the last turn of this round; NONE before the first turn.
        ("last", np.int16, (2,), between(NONE, NUM_ACTIONS - 1)),
        # The decision on the ability of the piece placed in the last turn, or NONE.
        ("last_ability", np.int16, between(NONE, NUM_ACTIONS - 1)),
        ("board", np.int8, (ROOMS,), between(EMPTY, 2 * KINDS)),
        ("standing", np.int8, (2, SPECIALISTS), between(UNUSED, USED)),  # the standing of each player's specialists
        # 1: this player predicts two rooms. (Numba has no arrays of bool in records.)
        ("hacker_on", np.int8, (2,), between(0, 1)),
        ("phase", np.int8, between(ROLE, ABILITY)),
        # The player who places in this turn, or who placed in the last one; NOBODY in phase ROLE.
        ("placer", np.int8, between(NOBODY, 1)),
        ("first", np.int8, between(NOBODY, 1)),  # the player who placed first in this round; NOBODY in phase ROLE
        ("pending", np.int8, between(NOWHERE, ROOMS - 1)),  # in phase ABILITY the room of the specialist, else NOWHERE
        # Number of turns in a row that changed neither the board nor a specialist's status.
        ("idle", np.int8, between(0, "max_idle_turns")),
        ("wins", np.int8, (2,), between(0, "rounds_to_win")),  # rounds that each player has won in the match
        ("round", np.int8, between(1, "max_rounds")),  # from 1
        # How the previous round, or in a finished game the last one, ended: one of ENDS.
        ("ended", np.int8, between(NO_ROUND, AGREED)),
        ("is_match", np.bool_, option(0, 1)),  # option mode
        ("rounds_to_win", np.int8, option(1, 99)),  # option of that name
        ("max_rounds", np.int8, option(1, 99)),  # option of that name
        ("max_idle_turns", np.int8, option(1, 99)),  # option of that name
        ("allow_pass", np.bool_, option(0, 1)),  # option of that name
        ("draw_offers", np.bool_, option(0, 1)),  # option of that name
        # Option `specialists` as two kinds per player: SPY stands for no specialist, DRAWN for one drawn at random.
        ("given", np.int8, (2, 2), option(DRAWN, HACKER)),
        ("given_first", np.int8, option(NOBODY, 1)),  # option first_placer, or NOBODY
    ],
)


def most_plies(state) -> int:
    """Return the largest possible number of plies of a game with the options of this state.

    A turn is idle, places a spy, or uses up a specialist or an active hacker. Placing a spy fills an empty room, and
    placing a specialist and using its ability never leaves more rooms empty than before, so at most ROOMS spies are
    placed in a round. There may be idle turns before each of the other turns, and at the end of a round.
    """
    given = state["given"][state["given"] != SPY]
    rounds = [(1, len(given), np.isin(given, (HACKER, DRAWN)).sum(), 0)]
    if state["is_match"]:
        offers = min(int(state["max_rounds"]), ROUNDS_OF_OFFERS)
        rounds = [(offers, 2, 2, 2), (int(state["max_rounds"]) - offers, 4, 2, 2)]
    # `rounds` lists: the number of rounds and, in each of them, specialists, hackers, and plies before the first turn.
    return sum(
        number * (int(ROOMS + held + hackers + 1) * int(state["max_idle_turns"]) + held + before)
        for number, held, hackers, before in rounds
    )


@kernel
def reset(state, seed):
    """Begin a match, in which player 0 decides who places first; or begin the single round."""
    rng.start(state, seed)
    state["round"] = 1
    clear_table(state)
    if state["is_match"]:
        decide_roles(state, 0)
        return
    for player in range(2):
        state["standing"][player] = USED
        for kind in state["given"][player]:
            held = kind if kind != DRAWN else 1 + rng.below(state, SPECIALISTS)
            if held != SPY:
                state["standing"][player, held - 1] = IN_HAND
    state["first"] = state["given_first"] if state["given_first"] != NOBODY else rng.below(state, 2)
    begin_turn(state, state["first"])


@kernel
@allocates_nothing
def legal_mask(state, player, out):
    """Write the legal actions of this player in the present phase; see `choices`."""
    out[:] = False
    if not 0 <= player < 2:
        return
    first, some, second, others, ending = choices(state, player)
    at = min(first, NUM_ACTIONS - MOST)
    write_set(some << first - at, MOST, out, at)
    write_set(others, ROOMS * (KINDS - TOGETHER), out, second)
    out[PASS] = ending & 1
    out[OFFER_DRAW] = ending >> 1


@kernel
@inlined
@allocates_nothing
def choices(state, player):
    """Return legal actions as sets: bit k of `some` is action first + k; `others`: second + k; `ending`: PASS + k."""
    first, some, second, others, ending = PLACE, np.int64(0), PLACE, np.int64(0), np.int64(0)
    if not acts(state, player):
        return first, some, second, others, ending
    if state["phase"] == TURN:
        may_pass = state["allow_pass"]
        if player == state["placer"]:  # a placement, or a pass if none is possible
            second = PLACE + ROOMS * TOGETHER
            some, others = placements(state, player)
            may_pass = may_pass or some | others == 0
        elif state["hacker_on"][player]:
            first, some = PREDICT_TWO, ALL_PAIRS
        else:  # any room can be predicted, even an occupied one
            first, some = PREDICT, ALL_ROOMS
        ending = np.int64(may_pass) | np.int64(state["draw_offers"]) << 1
    elif state["phase"] == PICK:  # one of the specialists offered; in overtime any two
        first, some = CHOOSE, where_equal(state["standing"][player], OFFERED)
        if picks_two(state, player):
            first, some = CHOOSE_TWO, ALL_SPECIALIST_PAIRS
    elif state["phase"] == ABILITY:  # the uses of the ability, and NO_ABILITY if it is optional
        kind = kind_of(state["board"][state["pending"]])
        first, some = ABILITY_ACTION[kind], ability_choices(state, np.int64(state["pending"]))
        second, others = NO_ABILITY, np.int64(OPTIONAL[kind])
    else:
        first, some = PLACE_FIRST, np.int64(0b11)
    return first, some, second, others, ending


@kernel
def acts(state, player):
    """Return whether the player has a decision; no player has one in a state whose fields contradict its phase."""
    phase = state["phase"]
    if phase in (TURN, PICK):
        player = SIMULTANEOUS
    known = (phase == ROLE) | ((state["placer"] != NOBODY) & (state["first"] != NOBODY))
    return known & (state["to_move"] == player) & ((phase != ABILITY) | (state["pending"] != NOWHERE))


@kernel
def placements(state, player):
    """Return the legal placements as two sets, in which bit ROOMS * k + room stands for the set's k-th kind of piece.

    The first set covers the first TOGETHER kinds, the second set the others.
    """
    occupied, in_hand = occupation(state), where_equal(state["standing"][player], IN_HAND)
    in_hand = in_hand << 1 | 1  # bit 0: spies never run out
    some, others = np.int64(0), np.int64(0)
    for kind in range(TOGETHER):  # no branches, which would be mispredicted
        some |= rooms_to_enter(occupied, player, kind) * (in_hand >> kind & 1) << ROOMS * kind
    for kind in range(TOGETHER, KINDS):
        others |= rooms_to_enter(occupied, player, kind) * (in_hand >> kind & 1) << ROOMS * (kind - TOGETHER)
    return some, others


@kernel
@allocates_nothing
def is_legal(state, player, action):
    """Return `mask[action]` of `legal_mask` without computing the whole mask: searches are about 1.3 times as fast."""
    if state["done"] or not (0 <= player < 2 and 0 <= action < NUM_ACTIONS):
        return False
    first, some, second, others, ending = choices(state, player)
    return has(some, action - first) or has(others, action - second) or has(ending, action - PASS)


@kernel
def has(members, k):
    """Return whether the bit set `members` of numbers from 0 to MOST - 1 contains k."""
    return 0 <= k < MOST and members >> k & 1 == 1


@kernel
@allocates_nothing
def random_action(state, player, x):
    """Return `rng.choose(mask, x)` without computing the legal mask: searches are about 1.3 times as fast."""
    first, some, second, others, ending = choices(state, player)
    here, there = np.int64(set_size(some)), np.int64(set_size(others))
    skip = rng.scale(x, here + there + np.int64(set_size(ending)))
    if skip < here:
        return first + nth(some, skip)
    if skip < here + there:
        return second + nth(others, skip - here)
    return PASS + nth(ending, skip - here - there) if ending != 0 else np.int64(NONE)


@kernel
@allocates_nothing
def step(state, actions):
    """Carry out the choices of this phase; then begin the next phase, turn or round."""
    if are_legal(state, actions):
        resolve(state, actions)
    else:
        refuse(state)


@kernel
def are_legal(state, actions):
    """Return whether each acting player has chosen a legal action."""
    if state["to_move"] == SIMULTANEOUS:
        return is_legal(state, 0, actions[0]) and is_legal(state, 1, actions[1])
    return is_legal(state, np.int64(state["to_move"]), actions[state["to_move"]])


@kernel
def resolve(state, actions):
    """Carry out choices without checking that they are legal: the solver also tries turns without a prediction."""
    if state["phase"] == TURN:
        play_turn(state, actions)
    elif state["phase"] == ABILITY:
        use_ability(state, actions[state["to_move"]])
        end_turn(state)
    elif state["phase"] == PICK:
        pick_specialists(state, actions)
    else:
        take_role(state, actions[state["to_move"]])


# --- the match ---


@kernel
def decide_roles(state, player):
    """Let the player decide who places first in this round."""
    state["placer"] = state["first"] = NOBODY
    state["phase"], state["to_move"] = ROLE, player


@kernel
def take_role(state, action):
    """Set who places first, and offer specialists, except in overtime, when all of them may be picked."""
    decider = state["to_move"]
    state["placer"] = state["first"] = decider if action == PLACE_FIRST else 1 - decider
    if not is_overtime(state):
        for player in range(2):
            offer(state, player)
    state["phase"], state["to_move"] = PICK, SIMULTANEOUS


@kernel
def is_overtime(state):
    """Return whether all specialists are available again, so that each player picks any two."""
    return state["round"] > ROUNDS_OF_OFFERS


@kernel
def picks_two(state, player):
    """Return whether the player picks any two: in overtime, or in a state without an offer, which no game reaches."""
    return is_overtime(state) or where_equal(state["standing"][player], OFFERED) == 0


@kernel
def offer(state, player):
    """Offer the player up to OFFERS random ones of the player's unused specialists."""
    standing = state["standing"][player]
    unused = 0
    for specialist in range(SPECIALISTS):
        unused += standing[specialist] == UNUSED
    for _ in range(min(OFFERS, unused)):
        skip = rng.below(state, unused)
        unused -= 1
        for specialist in range(SPECIALISTS):
            if standing[specialist] == UNUSED:
                if skip == 0:
                    standing[specialist] = OFFERED
                    break
                skip -= 1


@kernel
def pick_specialists(state, actions):
    """Move the picked specialists to the hands; those offered but not picked can be offered again."""
    for player in range(2):
        for specialist in range(SPECIALISTS):
            if state["standing"][player, specialist] == OFFERED:
                state["standing"][player, specialist] = UNUSED
        if actions[player] >= CHOOSE_TWO:
            for specialist in SPECIALIST_PAIRS[actions[player] - CHOOSE_TWO]:
                state["standing"][player, specialist] = IN_HAND
        else:
            state["standing"][player, actions[player] - CHOOSE] = IN_HAND
    begin_turn(state, state["first"])


@kernel
def end_round(state, how):
    """Score the round, which ended in the way `how`, one of ENDS; then begin the next round or end the game."""
    state["ended"] = how
    winner = how - LINE_OF_X if how in (LINE_OF_X, LINE_OF_O) else NOBODY
    if not state["is_match"]:
        end_game(state, winner)
        return
    wins = state["wins"]
    if winner != NOBODY:
        wins[winner] += 1
    if winner != NOBODY and wins[winner] >= state["rounds_to_win"]:
        end_game(state, winner)
    elif state["round"] >= state["max_rounds"]:
        end_game(state, NOBODY if wins[0] == wins[1] else 0 if wins[0] > wins[1] else 1)
    else:
        # The loser decides; after a draw, the player who did not place first.
        decider = 1 - (winner if winner != NOBODY else state["first"])
        begin_round(state, decider)


@kernel
def begin_round(state, decider):
    """Begin the next round: use up the specialists still in hand or, in overtime, make all available again."""
    state["round"] += 1
    clear_table(state)
    for player in range(2):
        for specialist in range(SPECIALISTS):
            if is_overtime(state):
                state["standing"][player, specialist] = UNUSED
            elif state["standing"][player, specialist] == IN_HAND:
                state["standing"][player, specialist] = USED
    decide_roles(state, decider)


@kernel
def clear_table(state):
    """Begin the turns of a round with empty rooms, inactive hackers and no earlier choices."""
    state["board"][:] = EMPTY
    state["hacker_on"][:] = False
    state["last"][:] = NONE
    state["last_ability"] = NONE
    state["pending"] = NOWHERE
    state["idle"] = 0


@kernel
def end_game(state, winner):
    """End the game and leave the board as it is; `winner` is NOBODY for a draw."""
    state["done"] = True
    state["phase"], state["to_move"] = TURN, 0
    if winner != NOBODY:
        state["rewards"][winner] = 1
        state["rewards"][1 - winner] = -1


@kernel
def round_rewards(states, out):
    """Write each player's sum of rewards for rounds, +1 per win and -1 per loss: see `core.game.Extras`."""
    for i in range(states.shape[0]):
        for player in range(2):
            out[i, player] = np.int64(states[i]["wins"][player]) - np.int64(states[i]["wins"][1 - player])


# --- a turn ---


@kernel
def begin_turn(state, placer):
    """Begin a turn, in which both players choose simultaneously."""
    state["placer"] = placer
    state["phase"] = TURN
    state["to_move"] = SIMULTANEOUS


@kernel
def play_turn(state, actions):
    """Carry out a turn: block the piece if its room was predicted; otherwise place it."""
    placer = np.int64(state["placer"])
    placement, prediction = actions[placer], actions[1 - placer]
    state["last"][placer], state["last"][1 - placer] = placement, prediction
    state["last_ability"] = NONE
    if placement == OFFER_DRAW and prediction == OFFER_DRAW:
        end_round(state, AGREED)
        return
    kind, room = placement // ROOMS, placement % ROOMS
    if placement >= PREDICT:  # a pass, or a draw offer by one player only
        state["idle"] += 1
    elif PREDICTED[prediction] >> room & 1:  # the prediction is one room, or two with a hacker
        block(state, kind)
    else:
        place(state, kind, room)
        if kind != SPY and ability_choices(state, room) != 0:
            state["phase"], state["pending"], state["to_move"] = ABILITY, room, placer
            return
    end_turn(state)


@kernel
def block(state, kind):
    """Block the placement: use up a specialist or return a spy to the supply, and deactivate the Predictor's hacker."""
    placer = state["placer"]
    if kind == SPY and not state["hacker_on"][1 - placer]:
        state["idle"] += 1
        return
    state["idle"] = 0
    state["hacker_on"][1 - placer] = False
    if kind != SPY:
        state["standing"][placer, kind - 1] = USED


@kernel
def place(state, kind, room):
    """Put the piece into the room, replacing any piece there."""
    placer = state["placer"]
    state["idle"] = 0
    state["board"][room] = 1 + KINDS * placer + kind
    if kind != SPY:
        state["standing"][placer, kind - 1] = USED
    if kind == HACKER:
        state["hacker_on"][placer] = True


@kernel
def end_turn(state):
    """End the round if there is a line or a reason for a draw; otherwise swap the roles and begin the next turn."""
    state["pending"] = NOWHERE
    occupied = occupation(state)
    line_of_x, line_of_o = HAS_LINE[pieces(occupied, 0)], HAS_LINE[pieces(occupied, 1)]
    if line_of_x and line_of_o:
        end_round(state, BOTH_LINES)
    elif line_of_x:
        end_round(state, LINE_OF_X)
    elif line_of_o:
        end_round(state, LINE_OF_O)
    elif has_no_room(state, occupied):
        end_round(state, NO_ROOM)
    elif state["idle"] >= state["max_idle_turns"]:
        end_round(state, IDLE)
    else:
        begin_turn(state, 1 - state["placer"])


@kernel
def has_no_room(state, occupied):
    """Return whether at most one room is empty and no specialist in hand can enter an occupied room."""
    empty = empty_rooms(occupied)
    if empty & (empty - 1):  # two or more rooms are empty
        return False
    for player in range(2):
        for kind in (ASSASSIN, COURIER):  # the two that enter occupied rooms
            if state["standing"][player, kind - 1] == IN_HAND and rooms_to_enter(occupied, player, kind):
                return False
    return True


# --- abilities ---


@kernel
def rooms_to_enter(occupied, player, kind):
    """Return the set of rooms in which the player may place a piece of this kind."""
    if kind == ASSASSIN:
        return spies(occupied, 1 - player)
    if kind == COURIER:
        return spies(occupied, player) & BESIDE[empty_rooms(occupied)]
    return empty_rooms(occupied)


@kernel
def ability_choices(state, room):
    """Return the targets of the specialist just placed in the room: a set of rooms, pairs of rooms or directions."""
    kind = kind_of(state["board"][room])
    occupied = occupation(state)
    enemies = spies(occupied, 1 - state["placer"])  # specialists may not affect specialists
    if kind == SNIPER:
        return enemies & SAME_ROW_OR_COLUMN[room]
    if kind == NINJA:
        return enemies & ADJACENT[room]
    if kind == COURIER:
        return empty_rooms(occupied) & ORTHOGONAL[room]
    if kind == MOLE:
        return pairs_between(spies(occupied, state["placer"]) & ADJACENT[room], enemies & ADJACENT[room])
    if kind == PUSHER:
        return directions_to_push(state, room)
    if kind == GRAPPLER:
        return enemies & ORTHOGONAL[room]
    return np.int64(0)  # assassin and hacker have nothing to decide


@kernel
def pairs_between(some, others):
    """Return all pairs of a room of the one set and a room of the other set, as a set of PAIRS."""
    pairs = np.int64(0)
    for k in range(len(PAIRS)):
        a, b = PAIRS[k]
        pairs |= ((some >> a & others >> b | some >> b & others >> a) & 1) << k
    return pairs


@kernel
def directions_to_push(state, room):
    """Return the set of DIRECTIONS in which the pusher may move: a room is there, and no specialist would be pushed."""
    directions = np.int64(0)
    for direction in range(len(DIRECTIONS)):
        at = NEXT[room, direction]
        allowed = at != NOWHERE
        while at != NOWHERE and state["board"][at] != EMPTY:
            allowed &= kind_of(state["board"][at]) == SPY
            at = NEXT[at, direction]
        directions |= np.int64(allowed) << direction
    return directions


@kernel
def use_ability(state, action):
    """Carry out the Placer's decision on the ability of the specialist just placed."""
    state["last_ability"] = action
    board, room = state["board"], state["pending"]
    if action == NO_ABILITY:
        return
    if action >= PUSH:
        push(state, room, action - PUSH)
    elif action >= GRAPPLE:
        swap(state, room, action - GRAPPLE)
    elif action >= SWAP:
        swap(state, PAIRS[action - SWAP, 0], PAIRS[action - SWAP, 1])
    elif action >= MOVE:
        board[action - MOVE] = 1 + KINDS * state["placer"] + SPY  # the spy that the courier has displaced
    else:
        board[action - REMOVE] = EMPTY  # the target of a sniper or a ninja


@kernel
def swap(state, a, b):
    """Exchange the contents of the two rooms."""
    board = state["board"]
    board[a], board[b] = board[b], board[a]


@kernel
def push(state, room, direction):
    """Move the piece in the room, and each piece in its way, by one room; remove a piece that leaves the board."""
    board = state["board"]
    carried, board[room] = board[room], EMPTY
    at = NEXT[room, direction]
    while carried != EMPTY and at != NOWHERE:
        carried, board[at] = board[at], carried
        at = NEXT[at, direction]


# --- pieces and sets ---


@kernel
def kind_of(piece):
    """Return the kind of a piece that is not EMPTY: SPY or a specialist."""
    return (piece - 1) % KINDS


@kernel
def owner_of(piece):
    """Return the owner of a piece that is not EMPTY."""
    return (piece - 1) // KINDS


@kernel
def occupation(state):
    """Return four sets of rooms as one number, ROOMS bits each: spies and specialists of X, then those of O."""
    occupied = np.int64(0)
    for room in range(ROOMS):
        occupied |= _OCCUPIES[np.uint8(state["board"][room])] << room
    return occupied


@kernel
def spies(occupied, player):
    """Return the set of rooms with one of the player's spies."""
    return occupied >> (2 * ROOMS * player) & ALL_ROOMS


@kernel
def pieces(occupied, player):
    """Return the set of rooms with one of the player's spies or specialists."""
    own = occupied >> (2 * ROOMS * player)
    return (own | own >> ROOMS) & ALL_ROOMS


@kernel
def empty_rooms(occupied):
    """Return the set of empty rooms."""
    return ~(pieces(occupied, 0) | pieces(occupied, 1)) & ALL_ROOMS


@kernel
def resample(state, player, seed):
    """Replace the random future offers by those of another seed; nothing else is hidden."""
    rng.start(state, seed)
