"""The rules of Tic-Tac Match, and nothing else.

Cards are known by their kind: a symbol card by `2*colour + symbol`, X before O, then Flip, Wipe-Out and Double Play. A
hand, the draw pile, the discards and the covered cards are counts of kinds. The pile has no order: a card is drawn at
random from what is in it, which is the same as drawing from a shuffled pile, and leaves no order that could be looked
at. Source of the rules: the rule sheet of "Tic-Tac Match" by Larry Ashlock (Way Funner Games).

Actions: `9*kind + cell` plays a symbol card; then one for Flip, one for Wipe-Out against each other player by the seat
after the mover's (1 to players-1), and the last for Double Play.
"""

# mypy: disable-error-code="no-untyped-def"

from functools import cache

import numpy as np

from ttt_envs.core import rng
from ttt_envs.core.jit import allocates_nothing, inlined, kernel
from ttt_envs.core.lines import lines_through
from ttt_envs.core.loops import refuse
from ttt_envs.core.state import between, option, state_dtype
from ttt_envs.core.words import where_equal, write_set

CELLS, CENTRE = 9, 4
NOTHING = -1  # on a cell
NONE = -1
SYMBOL_KINDS = 8  # at most: X and O in four colours
MOST_CARDS = 9  # of a kind
TOGETHER = 7  # so many kinds are written in one go: a bit for each of their cells is no more than a set holds

# Sets of cells are numbers, with bit c for cell c; those of cards of one symbol have bit 9*colour + c.
ALL_CELLS = 2**CELLS - 1
EVERY_COLOUR = sum(1 << CELLS * colour for colour in range(SYMBOL_KINDS // 2))  # of cell 0

#: GAPS[cells]: the cells on which a third card completes a line, if two of its kind or more lie on `cells`.
_THROUGH = lines_through(3, 3, 3).astype(int)
GAPS = np.array(
    [
        sum(1 << c for c in range(CELLS) if any(cells >> a & cells >> b & 1 for a, b in _THROUGH[c]))
        for cells in range(ALL_CELLS + 1)
    ]
)

# So many hands in a row without a legal play, and the game is a draw: with odd decks that could go on for ever.
MOST_EXCHANGES = 1000


@cache
def state_dtype_for(players: int, colours: int) -> np.dtype:
    """The dtype of states."""
    kinds = 2 * colours + 3
    return state_dtype(
        players=players,
        fields=[
            (
                "top",
                np.int8,
                (CELLS,),
                between(NOTHING, 2 * colours - 1),
            ),  # kind of the top card of each cell, or NOTHING
            ("identity", np.int8, (players,), between(0, 1)),  # what each player's ID card shows: 0 for X, 1 for O
            ("hand", np.int8, (players, kinds), between(0, "hand_size")),  # cards of each kind
            ("pile", np.int8, (kinds,), between(0, MOST_CARDS)),  # the draw pile
            ("discard", np.int8, (kinds,), between(0, MOST_CARDS)),
            ("covered", np.int8, (kinds,), between(0, MOST_CARDS)),  # cards on the board under others
            ("pending", np.int8, between(0, 2)),  # cards of a Double Play still to be played: 2, 1 or 0
            ("turn", np.int32, between(0, "max_turns")),  # turns finished
            ("deck", np.int8, (kinds,), option(0, MOST_CARDS)),  # all cards of the game, by the options
            ("hand_size", np.int8, option(1, 9)),  # option of that name
            ("max_turns", np.int32, option(1, 10_000)),  # option of that name
            ("team_of", np.int8, (players,), option(0, 1)),  # which side each player is on: 0 the dealer's, 1 the other
        ],
        shown=[
            (
                "last_action",
                np.int16,
                between(NONE, num_actions(players, colours) - 1),
            ),  # of the newest card played, or NONE
            ("last_player", np.int8, between(NONE, players - 1)),  # the player who played it, or NONE
        ],
    )


def num_actions(players: int, colours: int) -> int:
    """Actions are numbered from 0 to one less."""
    return CELLS * 2 * colours + players + 1


# --- kinds of cards ---


@kernel
def flip_of(state):
    """The kind of Flip, which is also the number of kinds of symbol cards; Wipe-Out and Double Play follow."""
    return state["pile"].shape[0] - 3


@kernel
@inlined
def count(cards):
    """The number of cards; `cards` are counts of kinds."""
    total = 0
    for kind in range(cards.shape[0]):
        total += cards[kind]
    return total


# --- the game ---


@kernel
def reset(state, seed):
    """Deal, reveal cards until a symbol comes, and set the ID cards by it. The player to the dealer's left begins."""
    rng.start(state, seed)
    players = state["identity"].shape[0]
    state["last_action"] = state["last_player"] = NONE
    for kind in range(state["pile"].shape[0]):  # array to array would take Numba a second and more to compile
        state["pile"][kind] = state["deck"][kind]
    state["top"][:] = NOTHING
    for player in range(players):
        refill(state, player)
    card = draw_card(state)
    while card >= flip_of(state):
        state["discard"][card] += 1
        card = draw_card(state)
    state["top"][CENTRE] = card
    for player in range(players):
        state["identity"][player] = card % 2 if state["team_of"][player] == 0 else 1 - card % 2
    state["to_move"] = 1
    begin_turn(state)


@kernel
@allocates_nothing
def step(state, actions):
    """Play a card and resolve it; the last card of a turn ends it."""
    player, flip = np.int64(state["to_move"]), flip_of(state)
    action, players = actions[player], state["identity"].shape[0]
    board = read_board(state)
    if not may_play(state, board, player, action):
        refuse(state)
        return
    state["last_action"], state["last_player"] = action, player
    if action == CELLS * flip + players:
        spend(state, player, flip + 2)
        state["pending"] = 2
        return
    if action < CELLS * flip:
        if lay(state, board, player, action):
            end_game(state, action // CELLS % 2)
            return
    elif action == CELLS * flip:
        spend(state, player, flip)
        for each in range(players):
            state["identity"][each] = 1 - state["identity"][each]
    else:
        spend(state, player, flip + 1)
    state["pending"] = max(state["pending"] - 1, 0)
    if state["pending"] == 0:
        state["turn"] += 1
        if state["turn"] == state["max_turns"]:
            end_game(state, NOTHING)
            return
        refill(state, player)
        ahead = 1
        if action > CELLS * flip:  # a Wipe-Out
            ahead = action - CELLS * flip
            exchange_hand(state, (player + ahead) % players)
        state["to_move"] = (player + ahead) % players
        begin_turn(state)


@kernel
def lay(state, board, player, action):
    """Lay a symbol card from the hand on the board; True if it completes a line of three top cards of its kind."""
    top, kind, cell = state["top"], action // CELLS, action % CELLS
    state["hand"][player, kind] -= 1
    if top[cell] != NOTHING:
        state["covered"][top[cell]] += 1
    top[cell] = kind
    return completes_line(board_with(board, kind, cell), kind, cell)


@kernel
def spend(state, player, kind):
    """Move a card from the hand to the discards."""
    state["hand"][player, kind] -= 1
    state["discard"][kind] += 1


@kernel
def refill(state, player):
    """Draw up to a full hand."""
    for _ in range(state["hand_size"] - count(state["hand"][player])):
        state["hand"][player, draw_card(state)] += 1


@kernel
def draw_card(state):
    """Take a card from the pile; when that was the last one, discards and covered cards become the new pile."""
    size = count(state["pile"])
    card = take(state, size)
    if size == 1:
        for kind in range(state["pile"].shape[0]):
            state["pile"][kind] = state["discard"][kind] + state["covered"][kind]
            state["discard"][kind] = 0
            state["covered"][kind] = 0
    return card


@kernel
def take(state, size):
    """Take a random one of the pile's `size` cards."""
    pile, skip, passed, card = state["pile"], rng.below(state, size), 0, 0
    for kind in range(pile.shape[0]):  # no branch on what is random
        passed += pile[kind]
        card += passed <= skip
    pile[card] -= 1
    return card


@kernel
def exchange_hand(state, player):
    """Discard the whole hand, and draw a new one."""
    for kind in range(state["pile"].shape[0]):
        state["discard"][kind] += state["hand"][player, kind]
        state["hand"][player, kind] = 0
    refill(state, player)


@kernel
def begin_turn(state):
    """Exchange the hand of a player who can play nothing, until something can be played."""
    player = np.int64(state["to_move"])
    for _ in range(MOST_EXCHANGES):
        if can_play(state, player):
            return
        exchange_hand(state, player)
    if not can_play(state, player):
        end_game(state, NOTHING)


@kernel
def end_game(state, symbol):
    """The side whose ID cards show the symbol wins; NOTHING for a draw."""
    players, winners = state["identity"].shape[0], 0
    for player in range(players):
        winners += state["identity"][player] == symbol
    for player in range(players):
        if symbol != NOTHING:
            won = state["identity"][player] == symbol
            state["rewards"][player] = 1 / winners if won else -1 / (players - winners)
    state["done"] = True
    state["to_move"] = 0
    state["pending"] = 0


# --- what may be played ---


@kernel
@allocates_nothing
def legal_mask(state, player, out):
    """Every card in the hand that may be played now, everywhere it may be played."""
    if player != state["to_move"]:
        out[:] = False
        return
    hand, flip, players = state["hand"][player], flip_of(state), state["identity"].shape[0]
    board, free = read_board(state), state["pending"] == 0
    for first in range(0, flip, TOGETHER):
        kinds, cells = min(flip - first, TOGETHER), np.int64(0)
        for k in range(kinds):  # no branch on what is random
            cells |= fitting(board, first + k) * (hand[first + k] > 0) << CELLS * k
        write_set(cells, CELLS * kinds, out, CELLS * first)
    at = CELLS * flip
    out[at] = hand[flip] > 0
    for ahead in range(1, players):
        out[at + ahead] = free & (hand[flip + 1] > 0)
    out[at + players] = free and hand[flip + 2] > 0 and can_begin_double(board, hand)
    if state["pending"] == 2:
        for action in range(at + 1):
            out[action] = out[action] and can_go_on(board, hand, action)


@kernel
@allocates_nothing
def is_legal(state, player, action):
    """Whether the player may play this card so now."""
    return may_play(state, read_board(state), player, action)


@kernel
def may_play(state, board, player, action):
    """`is_legal` where the board has been read."""
    players, flip = state["identity"].shape[0], flip_of(state)
    if player != state["to_move"] or state["done"] or not 0 <= action <= CELLS * flip + players:
        return False
    hand, kind, cell, ahead = state["hand"][player], action // CELLS, action % CELLS, action - CELLS * flip
    if ahead <= 0:
        fits = ahead == 0 or fitting(board, kind) >> cell & 1 != 0
        return hand[kind] > 0 and fits and (state["pending"] != 2 or can_go_on(board, hand, action))
    if ahead < players:
        return state["pending"] == 0 and hand[flip + 1] > 0
    return state["pending"] == 0 and hand[flip + 2] > 0 and can_begin_double(board, hand)


@kernel
def can_play(state, player):
    """Whether the player has any legal play."""
    board, hand, flip = read_board(state), state["hand"][player], flip_of(state)
    if state["pending"] == 2:
        return can_begin_double(board, hand)
    # A Double Play can be played only if another card could be played by itself.
    return hand[flip] > 0 or (hand[flip + 1] > 0 and state["pending"] == 0) or can_lay(board, hand, NOTHING)


@kernel
def can_lay(board, hand, spent):
    """Whether a symbol card of the hand, one of the kind `spent` left out, may be laid anywhere."""
    for kind in range(hand.shape[0] - 3):
        if hand[kind] > (kind == spent) and fitting(board, kind) != 0:
            return True
    return False


@kernel
def can_begin_double(board, hand):
    """Whether two cards can be played one after the other, or one that ends the game."""
    flip = hand.shape[0] - 3
    if hand[flip] > 0 and can_go_on(board, hand, CELLS * flip):
        return True
    for kind in range(flip):
        if hand[kind] > 0:
            cells = fitting(board, kind)
            for cell in range(CELLS):
                if cells >> cell & 1 and can_go_on(board, hand, CELLS * kind + cell):
                    return True
    return False


@kernel
def can_go_on(board, hand, action):
    """Whether the first card of a Double Play, played so, leaves a legal second one, or ends the game."""
    kind, cell, flip = action // CELLS, action % CELLS, hand.shape[0] - 3
    if kind == flip:
        return hand[flip] > 1 or can_lay(board, hand, NOTHING)
    return hand[flip] > 0 or can_lay(board_with(board, kind, cell), hand, kind) or completes_line(board, kind, cell)


# --- the board as sets of cells ---


@kernel
def read_board(state):
    """The top cards: the X's and the O's, each as a number with bit 9*colour + cell."""
    xs, os = np.int64(0), np.int64(0)
    for colour in range(flip_of(state) // 2):
        xs |= where_equal(state["top"], 2 * colour) << CELLS * colour
        os |= where_equal(state["top"], 2 * colour + 1) << CELLS * colour
    return xs, os


@kernel
def of_symbol(board, symbol):
    """The X's or the O's of a board."""
    return board[0] if symbol == 0 else board[1]


@kernel
def of_kind(board, kind):
    """The cells with a symbol card of this kind on top."""
    return of_symbol(board, kind % 2) >> CELLS * (kind // 2) & ALL_CELLS


@kernel
def of_all_colours(cards):
    """The cells with one of these X's, or O's, on top."""
    return (cards | cards >> CELLS | cards >> 2 * CELLS | cards >> 3 * CELLS) & ALL_CELLS


@kernel
def fitting(board, kind):
    """The cells on which a symbol card may be laid: empty, or just one of colour and symbol is that of the top card."""
    empty = ~of_all_colours(board[0] | board[1])
    symbol = of_all_colours(of_symbol(board, kind % 2))
    colour = (board[0] | board[1]) >> CELLS * (kind // 2)
    return (empty | (symbol ^ colour)) & ALL_CELLS


@kernel
def board_with(board, kind, cell):
    """The board after a symbol card is laid on the cell."""
    card = np.int64(1) << (CELLS * (kind // 2) + cell)
    others = ~(EVERY_COLOUR << cell)
    return board[0] & others | card * (kind % 2 == 0), board[1] & others | card * (kind % 2 == 1)


@kernel
def completes_line(board, kind, cell):
    """Whether a symbol card on the cell is, or would be, the third of its kind in a row."""
    return GAPS[of_kind(board, kind)] >> cell & 1 != 0


# --- what is hidden ---


@kernel
def resample(state, player, seed):
    """Redraw the hands of the others and the pile from all the cards that the player does not see.

    All that they may be is equally likely, but for one thing that everybody knows: who is to move can play.
    """
    rng.start(state, seed)
    players, mover = state["identity"].shape[0], np.int64(state["to_move"])
    sizes = np.zeros(players, np.int64)
    for other in range(players):
        if other != player:
            sizes[other] = count(state["hand"][other])
            put_back(state, other)
    if mover != player and not state["done"]:
        deal(state, mover, sizes[mover])
        while not can_play(state, mover):
            put_back(state, mover)
            deal(state, mover, sizes[mover])
        sizes[mover] = 0
    for other in range(players):
        deal(state, other, sizes[other])


@kernel
def put_back(state, player):
    """Put a hand back into the pile."""
    for kind in range(state["pile"].shape[0]):
        state["pile"][kind] += state["hand"][player, kind]
        state["hand"][player, kind] = 0


@kernel
def deal(state, player, cards):
    """Draw so many cards from the pile, which is not made anew."""
    size = count(state["pile"])
    for k in range(cards):
        state["hand"][player, take(state, size - k)] += 1
