"""The rules of Tic-Tac Match, and nothing else.

A card is a number, its kind: `2*colour + symbol` for a symbol card, X before O, then Flip, Wipe-Out and Double Play. A
hand, the draw pile, the discards and the covered cards are arrays whose entry k is the number of cards of kind k. The
pile has no order: each draw takes a random card from it, which is equivalent to a shuffled pile and leaves no order to
hide. Source of the rules: the rule sheet of "Tic-Tac Match" by Larry Ashlock (Way Funner Games).

Actions: `9*kind + cell` plays a symbol card. The next numbers are Flip, then Wipe-Out against the player 1, 2, ...
players-1 seats after the mover, then Double Play.
"""

# mypy: disable-error-code="no-untyped-def"

from functools import cache

import numpy as np

from ttt_envs.core import rng
from ttt_envs.core.compile.bits import counted, total, where_above, where_equal, write_set
from ttt_envs.core.compile.jit import allocates_nothing, inlined, kernel
from ttt_envs.core.lines import lines_through
from ttt_envs.core.loops import refuse
from ttt_envs.core.state import between, option, state_dtype

CELLS, CENTRE = 9, 4
NOTHING = -1  # no card on a cell; no winning symbol
NONE = -1
SYMBOL_KINDS = 8  # at most: X and O in four colours
MOST_CARDS = 9  # of a kind

# A set of cells is a number, with bit c for cell c. A set of symbol cards on cells is two such numbers: bit 9*k + c of
# the first stands for kind k on cell c, and bit 9*k + c of the second for kind HALF + k. Either half has two colours.
ALL_CELLS = 2**CELLS - 1
HALF = SYMBOL_KINDS // 2
IN_HALF = CELLS * HALF
BOTH = 1 | 1 << 2 * CELLS  # the X of either colour of a half, on cell 0
EACH = BOTH | BOTH << CELLS  # all four kinds of a half, on cell 0
XS = ALL_CELLS * BOTH
_HALF_OF_KINDS = 2**HALF - 1
#: EVERYWHERE[kinds]: half a set, with each of these kinds on every cell; bit k of `kinds` is the half's k-th kind.
EVERYWHERE = np.array(
    [sum(ALL_CELLS << CELLS * k for k in range(HALF) if kinds >> k & 1) for kinds in range(1 << HALF)]
)

#: FITTING_ON[1 + kind]: the set of kinds that may be laid on a card of this kind, namely those with either the same
#: colour or the same symbol, but not both; see `fitting`. Entry 0, for an empty cell, has all kinds.
FITTING_ON = np.array(
    [2**SYMBOL_KINDS - 1]
    + [
        sum(1 << k for k in range(SYMBOL_KINDS) if (k // 2 == kind // 2) != (k % 2 == kind % 2))
        for kind in range(SYMBOL_KINDS)
    ]
)

#: GAPS[cells]: the cells on which one more card of a kind completes a line, if this kind is on top of `cells`.
_THROUGH = lines_through(3, 3, 3).astype(int)
GAPS = np.array(
    [
        sum(1 << c for c in range(CELLS) if any(cells >> a & cells >> b & 1 for a, b in _THROUGH[c]))
        for cells in range(ALL_CELLS + 1)
    ]
)

# After this many hands in a row without a legal play, the game is a draw: with unusual decks, exchanges might never
# end.
MOST_EXCHANGES = 1000

# How often `resample` deals the mover's hand again until it has a legal play. In a game, a legal play needs at most two
# particular cards of 99, so it comes up long before; only a state that was set from outside can reach the limit.
MOST_DEALS = 1_000_000


@cache
def state_dtype_for(players: int, colours: int) -> np.dtype:
    """Return the dtype of states."""
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
            ("deck", np.int8, (kinds,), option(0, MOST_CARDS)),  # all cards, by the options
            ("hand_size", np.int8, option(1, 9)),  # option of that name
            ("max_turns", np.int32, option(1, 10_000)),  # option of that name
            # Seats 0 and 2 play against 1 and 3; without teams the dealer, seat 0, plays against all others.
            ("team_of", np.int8, (players,), option(0, 1)),  # which side each player is on: 0 the dealer's, 1 the other
        ],
        shown=[
            (
                "last_action",
                np.int16,
                between(NONE, num_actions(players, colours) - 1),
            ),  # the last play, or NONE
            ("last_player", np.int8, between(NONE, players - 1)),  # the player of the last play, or NONE
        ],
    )


def num_actions(players: int, colours: int) -> int:
    """Return the number of actions."""
    return CELLS * 2 * colours + players + 1


# --- kinds of cards ---


@kernel
def flip_of(state):
    """Return the kind of Flip, which equals the number of kinds of symbol cards; Wipe-Out and Double Play follow."""
    return state["pile"].shape[0] - 3


@kernel
@inlined
def held(hand):
    """Return the kinds of symbol cards in a hand, as a set."""
    return where_above(hand, 0) & (np.int64(1) << hand.shape[0] - 3) - 1


# --- the game ---


@kernel
def reset(state, seed):
    """Deal; reveal cards until one has a symbol, which becomes the symbol of side 0; player 1 begins."""
    rng.start(state, seed)
    players = state["identity"].shape[0]
    state["last_action"] = state["last_player"] = NONE
    for kind in range(state["pile"].shape[0]):  # an assignment of the array takes over a second to compile
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
    begin_turn(state, read_board(state))


@kernel
@allocates_nothing
def step(state, actions):
    """Play a card and carry out its effect; after the last card of a turn, end the turn."""
    player, flip = np.int64(state["to_move"]), flip_of(state)
    action, players = actions[player], state["identity"].shape[0]
    board = read_board(state)
    if not may_play(state, board, player, action):
        refuse(state)
        return
    state["last_action"], state["last_player"] = action, player
    if action == CELLS * flip + players:  # a Double Play
        spend(state, player, flip + 2)
        state["pending"] = 2
        return
    if action < CELLS * flip:  # a symbol card
        if lay(state, board, player, action):
            end_game(state, action // CELLS % 2)
            return
        board = board_with(board, action // CELLS, action % CELLS)
    elif action == CELLS * flip:  # a Flip
        spend(state, player, flip)
        for each in range(players):
            state["identity"][each] = 1 - state["identity"][each]
    else:  # a Wipe-Out
        spend(state, player, flip + 1)
    state["pending"] = max(state["pending"] - 1, 0)
    if state["pending"] == 0:
        state["turn"] += 1
        if state["turn"] >= state["max_turns"]:
            end_game(state, NOTHING)
            return
        refill(state, player)  # also after a Wipe-Out, before the other player's exchange
        ahead = 1
        if action > CELLS * flip:  # a Wipe-Out
            ahead = action - CELLS * flip
            exchange_hand(state, (player + ahead) % players)
        state["to_move"] = (player + ahead) % players
        begin_turn(state, board)


@kernel
def lay(state, board, player, action):
    """Lay a symbol card from the hand on the board; return whether three top cards of its kind are now in a row."""
    top, kind, cell = state["top"], action // CELLS, action % CELLS
    state["hand"][player, kind] -= 1
    state["covered"][max(top[cell], 0)] += top[cell] != NOTHING  # no branch, which would be mispredicted
    top[cell] = kind
    return completes_line(board, kind, cell)


@kernel
def spend(state, player, kind):
    """Move a card from the hand to the discards."""
    state["hand"][player, kind] -= 1
    state["discard"][kind] += 1


@kernel
def refill(state, player):
    """Draw up to a full hand."""
    for _ in range(state["hand_size"] - total(state["hand"][player])):
        state["hand"][player, draw_card(state)] += 1


@kernel
def draw_card(state):
    """Take a card from the pile; if it was the last one, make the discards and the covered cards the new pile."""
    size = total(state["pile"])
    card = take(state, size)
    if size <= 1:
        for kind in range(state["pile"].shape[0]):
            state["pile"][kind] = state["discard"][kind] + state["covered"][kind]
            state["discard"][kind] = 0
            state["covered"][kind] = 0
    return card


@kernel
@inlined
def take(state, size):
    """Take a random card from the pile of `size` cards and return its kind; from an empty pile, the last kind."""
    card = min(counted(state["pile"], rng.below(state, max(size, 1))), np.int64(state["pile"].shape[0] - 1))
    state["pile"][card] -= 1
    return card


@kernel
def exchange_hand(state, player):
    """Discard the whole hand and draw a new one."""
    for kind in range(state["pile"].shape[0]):
        state["discard"][kind] += state["hand"][player, kind]
        state["hand"][player, kind] = 0
    refill(state, player)


@kernel
def begin_turn(state, board):
    """Exchange the hand of the player to move until it has a legal play; after MOST_EXCHANGES, end the game."""
    player, left = np.int64(state["to_move"]), MOST_EXCHANGES
    while not can_play(state, board, player):
        if left == 0:
            end_game(state, NOTHING)
            return
        exchange_hand(state, player)
        left -= 1


@kernel
def end_game(state, symbol):
    """End the game: the side whose ID cards show the symbol wins, or neither side if `symbol` is NOTHING."""
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
    """Write the legal actions: every playable card of the hand, on every cell where it fits."""
    if player != state["to_move"]:
        out[:] = False
        return
    board, flip = read_board(state), flip_of(state)
    write_cards(playable(state, board, player), flip, out, 0)
    for ahead in range(state["identity"].shape[0] + 1):
        out[CELLS * flip + ahead] = may_play_other(state, board, player, ahead)


@kernel
@allocates_nothing
def is_legal(state, player, action):
    """Return `mask[action]` of `legal_mask` without computing the whole mask: searches are 1.4 times as fast."""
    return may_play(state, read_board(state), player, action)


@kernel
@inlined
@allocates_nothing
def may_play(state, board, player, action):
    """Return what `is_legal` returns, given the `board` from `read_board`."""
    players, ahead = state["identity"].shape[0], action - CELLS * flip_of(state)
    if player != state["to_move"] or state["done"] or action < 0 or ahead > players:
        return False
    if ahead < 0:
        return of_kind(playable(state, board, player), action // CELLS) >> action % CELLS & 1 != 0
    return may_play_other(state, board, player, ahead)


@kernel
@inlined
@allocates_nothing
def may_play_other(state, board, player, ahead):
    """Return whether Flip (`ahead` 0), Wipe-Out against the player `ahead` seats later, or Double Play is legal."""
    hand, flip = state["hand"][player], flip_of(state)
    if ahead == 0:
        return may_flip(state, board, player)
    if ahead < state["identity"].shape[0]:
        return state["pending"] == 0 and hand[flip + 1] > 0
    return state["pending"] == 0 and hand[flip + 2] > 0 and can_begin_double(state, board, player)


@kernel
@inlined
@allocates_nothing
def playable(state, board, player):
    """Return the set of symbol cards of the player's hand on all cells where they may be laid now."""
    cards = laid(board, held(state["hand"][player]))
    if state["pending"] != 2:
        return cards
    return going_on(state, board, player, cards[0], 0), going_on(state, board, player, cards[1], HALF)


@kernel
@allocates_nothing
def may_flip(state, board, player):
    """Return whether the player may play Flip now."""
    hand, flip = state["hand"][player], flip_of(state)
    if state["pending"] != 2:
        return hand[flip] > 0
    return hand[flip] > 1 or (hand[flip] > 0 and can_lay(board, held(hand)))


@kernel
@inlined
@allocates_nothing
def can_play(state, board, player):
    """Return whether the player has any legal play."""
    hand, flip = state["hand"][player], flip_of(state)
    if state["pending"] == 2:
        return can_begin_double(state, board, player)
    # Double Play needs no test here: if it is legal, its first card is also a legal play by itself.
    return can_lay(board, held(hand)) or hand[flip] > 0 or (hand[flip + 1] > 0 and state["pending"] == 0)


@kernel
@inlined
@allocates_nothing
def laid(board, kinds):
    """Return the set of symbol cards of these kinds on all cells where they fit."""
    fits = fitting(board)
    return fits[0] & EVERYWHERE[kinds & _HALF_OF_KINDS], fits[1] & EVERYWHERE[kinds >> HALF & _HALF_OF_KINDS]


@kernel
@allocates_nothing
def can_lay(board, kinds):
    """Return whether a card of one of these symbol kinds fits on any cell."""
    cards = laid(board, kinds)
    return cards[0] | cards[1] != 0


@kernel
@allocates_nothing
def can_begin_double(state, board, player):
    """Return whether the player can play two cards one after the other, or one that ends the game."""
    hand = state["hand"][player]
    flips, cards = hand[flip_of(state)], laid(board, held(hand))
    if flips > 0:
        return flips > 1 or cards[0] | cards[1] != 0
    cells = of_any_kind(cards)
    # At least two cards fit somewhere, and together they fit on at least two cells, so two cards can go on two cells.
    if cells & (cells - 1) != 0 and fitting_cards(hand, cards) > 1:
        return True
    return going_on(state, board, player, cards[0], 0) | going_on(state, board, player, cards[1], HALF) != 0


@kernel
@inlined
def fitting_cards(hand, cards):
    """Return how many symbol cards of the hand fit on some cell; `cards` comes from `laid`."""
    total = np.int64(0)
    for k in range(HALF):  # no branches, which would be mispredicted
        total += hand[k] * (cards[0] >> CELLS * k & ALL_CELLS != 0)
    for k in range(max(hand.shape[0] - 3 - HALF, 0)):
        total += hand[HALF + k] * (cards[1] >> CELLS * k & ALL_CELLS != 0)
    return total


@kernel
@allocates_nothing
def going_on(state, board, player, cards, first):
    """Return those of `cards`, half a set, that as first card of a Double Play leave a legal second or end the game.

    `first` is the first kind of the half.
    """
    hand = state["hand"][player]
    if hand[flip_of(state)] > 0:
        return cards
    going, kinds = np.int64(0), held(hand)
    for k in range(HALF):  # the cells that leave a second card, or complete a line, which ends the game
        if cards >> CELLS * k & ALL_CELLS != 0:
            kind = first + k
            second = leaving(board, kinds ^ np.int64(hand[kind] == 1) << kind, kind)
            going |= (second | GAPS[of_kind(board, kind)]) << CELLS * k
    return going & cards


@kernel
@allocates_nothing
def leaving(board, kinds, kind):
    """Return the cells on which a first card of kind `kind` leaves a place for a second card of one of `kinds`. The
    second card goes on the first one, if it fits there, or on another cell, where the first card changes nothing.
    """
    cells = of_any_kind(laid(board, kinds))
    if FITTING_ON[1 + kind] & kinds != 0 or cells & (cells - 1) != 0:
        return np.int64(ALL_CELLS)
    return ALL_CELLS & ~cells if cells != 0 else np.int64(0)


# --- the board as sets of cells ---


@kernel
@allocates_nothing
def read_board(state):
    """Return the set of the top cards: bit 9*k + cell stands for kind k in the first number, HALF + k in the second."""
    first, others = np.int64(0), np.int64(0)
    for k in range(min(flip_of(state), HALF)):
        first |= where_equal(state["top"], k) << CELLS * k
    for k in range(max(flip_of(state) - HALF, 0)):
        others |= where_equal(state["top"], HALF + k) << CELLS * k
    return first, others


@kernel
def of_kind(board, kind):
    """Return the cells with a card of this kind on top, given the `board` from `read_board`."""
    return (board[0] >> CELLS * kind if kind < HALF else board[1] >> CELLS * (kind - HALF)) & ALL_CELLS


@kernel
@inlined
def of_either_symbol(cards):
    """Return the cells on which a set of symbol cards has an X, as bits 0 to 8, and an O, as bits 9 to 17."""
    both = cards[0] | cards[1]
    return (both | both >> 2 * CELLS) & (2 ** (2 * CELLS) - 1)


@kernel
@inlined
def of_any_kind(cards):
    """Return the cells on which a set of symbol cards has any card."""
    symbols = of_either_symbol(cards)
    return (symbols | symbols >> CELLS) & ALL_CELLS


@kernel
@inlined
def fitting(board):
    """Return all cards on all cells where they fit: empty ones, and cards with the same colour or symbol, not both."""
    symbol, empty = of_either_symbol(board) * BOTH, EACH * (~of_any_kind(board) & ALL_CELLS)
    return empty | (symbol ^ of_colours(board[0])), empty | (symbol ^ of_colours(board[1]))


@kernel
@inlined
def of_colours(cards):
    """Return half a set, `cards`, with the other symbol of the same colour added to each card."""
    return cards | (cards & XS) << CELLS | cards >> CELLS & XS


@kernel
@inlined
def write_cards(cards, kinds, out, at):
    """Write to `out`, from index `at`, which symbol cards of the first `kinds` kinds are in the set `cards`."""
    size = CELLS * kinds
    write_set(cards[0] | cards[1] << IN_HALF, min(size, 64), out, at)
    write_set(cards[1] >> 64 - IN_HALF, max(size - 64, 0), out, at + 64)


@kernel
def board_with(board, kind, cell):
    """Return the board after a symbol card is laid on the cell."""
    others, card = ~(EACH << cell), np.int64(1) << (CELLS * (kind % HALF) + cell)
    return board[0] & others | card * (kind < HALF), board[1] & others | card * (kind >= HALF)


@kernel
def completes_line(board, kind, cell):
    """Return whether a symbol card on the cell is, or would be, the third of its kind in a row."""
    return GAPS[of_kind(board, kind)] >> cell & 1 != 0


# --- what is hidden ---


@kernel
def resample(state, player, seed):
    """Redraw the other hands and the pile from all cards that the player does not see. All combinations are equally
    likely, except that the player to move always has a legal play.
    """
    rng.start(state, seed)
    players, mover = state["identity"].shape[0], np.int64(state["to_move"])
    sizes = np.zeros(players, np.int64)
    for other in range(players):
        if other != player:
            sizes[other] = total(state["hand"][other])
            put_back(state, other)
    if mover != player and not state["done"]:
        deal(state, mover, sizes[mover])
        left = MOST_DEALS
        while left > 0 and not can_play(state, read_board(state), mover):
            put_back(state, mover)
            deal(state, mover, sizes[mover])
            left -= 1
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
    """Draw `cards` cards from the pile into the player's hand, without making a new pile."""
    size = total(state["pile"])
    for k in range(cards):
        state["hand"][player, take(state, size - k)] += 1
