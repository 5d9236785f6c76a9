"""The positions of a round as numbers, for the solver's tables.

A position is seen by the Placer: a room is empty, or holds a spy or a specialist of either player, which makes nine
digits; boards that mirror or turn into each other are one board. Which specialist is on the board does not matter:
abilities are used once, on placement. Only the *standing* matters: the specialists that a player still holds, and
whether their hacker is active.
"""

# mypy: disable-error-code="no-untyped-def"

from functools import cache
from typing import NamedTuple

import numpy as np

from ttt_envs.core.compile.jit import kernel
from ttt_envs.core.options import unknown
from ttt_envs.core.symmetry import dihedral
from ttt_envs.games.operation_tic_tac_toe.rules import (
    EMPTY,
    HACKER,
    HAS_LINE,
    IN_HAND,
    KIND_NAMES,
    KINDS,
    ROOMS,
    SPECIALISTS,
    SPY,
    USED,
)

DIGITS = 5
CODES = DIGITS**ROOMS

OWN_SPY, OWN_SPECIALIST, OTHER_SPY, OTHER_SPECIALIST = 1, 2, 3, 4

#: The digit of a piece on the board as each player sees it: int64 (2, 19).
DIGIT = np.zeros((2, 1 + 2 * KINDS), np.int64)
for _player in range(2):
    for _owner in range(2):
        _pieces = slice(1 + KINDS * _owner, 1 + KINDS * (_owner + 1))
        DIGIT[_player, _pieces] = OWN_SPECIALIST if _owner == _player else OTHER_SPECIALIST
        DIGIT[_player, 1 + KINDS * _owner + SPY] = OWN_SPY if _owner == _player else OTHER_SPY

#: A piece for each digit as each player sees it: int8 (2, 5). Any specialist will do.
PIECE = np.array(
    [[EMPTY, *(1 + KINDS * owner + kind for owner in order for kind in (SPY, HACKER))] for order in ((0, 1), (1, 0))],
    np.int8,
)

#: In a standing: the player's hacker is on. The other bits are the specialists in hand.
HACKER_ON = 1 << SPECIALISTS

# No such positions: any number of a board added to it stays negative.
_MISSING = -(1 << 30)


class Book(NamedTuple):
    """The numbering of positions.

    Attributes:
        lookup: int32, one array with all that it takes to number a position (kernels are slow to take many arrays): the
            numbers of standings, how many there are, `first`, and the numbers of boards.
        standing: int32 (512,), the number of a standing; -1 if this book has none such. A part of `lookup`.
        first: int32 (standings, standings, 9), [own standing, the other's, 3 * own specialists on the board + the
            other's]: added to the number of a board it is the number of a position; negative if there is none. A part
            of `lookup`.
        board: int32 (5**9,), the number of a board from its digits, -1 if it has too many specialists. A part of
            `lookup`.
        standings: int64 (standings,), what their numbers mean.
        code: int32 (boards,), the digits of the first of a board's mirror images.
        group: int8 (boards,), the last index of `first`.
        over: bool (boards,), there is a line on it.
        positions: how many there are.
    """

    lookup: np.ndarray
    standing: np.ndarray
    first: np.ndarray
    board: np.ndarray
    standings: np.ndarray
    code: np.ndarray
    group: np.ndarray
    over: np.ndarray
    positions: int


_STANDINGS = 2 * HACKER_ON
_FIRST = _STANDINGS + 1
_GROUPS = 9


@kernel
def number_boards(most, turns, board, code):
    """Number the boards with at most `most` specialists of each player; return how many there are.

    Args:
        most: a number of specialists.
        turns: int64 (8, 9), the permutations of rooms.
        board: int32 (5**9,), out: see Book.
        code: int32 (5**9,), out: see Book; what is beyond their number stays as it was.
    """
    powers = DIGITS ** np.arange(ROOMS)
    digits = np.empty(ROOMS, np.int64)
    boards = 0
    board[:] = -1
    for number in range(CODES):
        if board[number] >= 0:
            continue
        own, other = 0, 0
        for room in range(ROOMS):
            digits[room] = number // powers[room] % DIGITS
            own += digits[room] == OWN_SPECIALIST
            other += digits[room] == OTHER_SPECIALIST
        if own > most or other > most:
            continue
        for turn in range(turns.shape[0]):
            image = np.int64(0)
            for room in range(ROOMS):
                image += digits[turns[turn, room]] * powers[room]
            board[image] = boards
        code[boards] = number
        boards += 1
    return boards


def digits_of(code: np.ndarray) -> np.ndarray:
    """Return the digits of boards: int64 (..., 9)."""
    return code[..., None].astype(np.int64) // DIGITS ** np.arange(ROOMS) % DIGITS


@cache
def _boards(most: int, mirrored: bool) -> tuple[np.ndarray, ...]:
    """Return `board`, `code`, `group`, `over` of a Book: each group's boards in a row, the fullest first."""
    turns = np.array(list(dihedral(3).values()) if mirrored else [np.arange(ROOMS)])
    board, code = np.empty(CODES, np.int32), np.empty(CODES, np.int32)
    count = number_boards(most, turns, board, code)
    code = code[:count]
    digits = digits_of(code)
    group = 3 * (digits == OWN_SPECIALIST).sum(axis=1) + (digits == OTHER_SPECIALIST).sum(axis=1)
    order = np.lexsort([code, (digits == EMPTY).sum(axis=1), group])
    rank = np.empty(count + 1, np.int32)
    rank[order], rank[-1] = np.arange(count), -1
    bits = 1 << np.arange(ROOMS)
    sides = [((digits == spy) | (digits == spy + 1)) @ bits for spy in (OWN_SPY, OTHER_SPY)]
    over = HAS_LINE[sides[0]] | HAS_LINE[sides[1]]
    return rank[board], code[order], group[order].astype(np.int8), over[order]


def standing_named(*names: str) -> int:
    """Return the standing of a player with these specialists in hand; raises ValueError for unknown or equal ones."""
    for name in names:
        if name not in KIND_NAMES[1:]:
            raise ValueError(unknown("specialist", name, KIND_NAMES[1:]))
        if names.count(name) > 1:
            raise ValueError(f"a player has only one {name}, not {names.count(name)}")
    return sum(1 << (KIND_NAMES.index(name) - 1) for name in names)


def names_of(standing: int) -> tuple[str, ...]:
    """Return the specialists in hand."""
    return tuple(name for s, name in enumerate(KIND_NAMES[1:]) if standing >> s & 1)


def in_hand(standing: int) -> int:
    """Return the number of specialists that a player holds."""
    return (standing & (HACKER_ON - 1)).bit_count()


def lesser_standings(standing: int) -> set[int]:
    """Return all standings that a standing may become, itself included."""
    standings, new = {standing}, [standing]
    while new:
        held = new.pop()
        for s in range(SPECIALISTS + 1):  # the last one is the hacker that is on
            if held >> s & 1:
                less = {held ^ 1 << s} | ({held ^ 1 << s | HACKER_ON} if s == HACKER - 1 else set())
                new += less - standings
                standings |= less
    return standings


def height(standing: int) -> int:
    """Return a number that falls whenever a standing changes in play."""
    return in_hand(standing) + (standing >> (HACKER - 1) & 1) + (standing >> SPECIALISTS)


@cache
def make_book(hands: tuple[int, ...], most: int | None = None, mirrored: bool = True) -> Book:
    """Return a book of all that may follow if each player has one of these standings.

    The largest number of a player's specialists, in hand and on the board; None: as many as in hand. `mirrored` False:
    each mirror image of a board is a board of its own.
    """
    if most is None:
        most = max(in_hand(standing) for standing in hands)
    boards, code, group, over = _boards(most, mirrored)
    standings = np.array(sorted(set().union(*(lesser_standings(standing) for standing in hands))))
    n = len(standings)
    lookup = np.empty(_FIRST + n * n * _GROUPS + CODES, np.int32)
    standing, first = lookup[:_STANDINGS], lookup[_FIRST : _FIRST + n * n * _GROUPS].reshape(n, n, _GROUPS)
    board = lookup[_FIRST + n * n * _GROUPS :]
    standing[:], lookup[_STANDINGS], first[:], board[:] = -1, n, _MISSING, boards
    standing[standings] = np.arange(n)
    starts = np.searchsorted(group, np.arange(_GROUPS + 1))
    count = 0
    for own, other, number in np.ndindex(first.shape):
        placed = zip((int(standings[own]), int(standings[other])), divmod(number, 3), strict=True)
        if all(bool(s & HACKER_ON) <= n <= most - in_hand(s) for s, n in placed):
            first[own, other, number] = count - starts[number]
            count += int(starts[number + 1] - starts[number])
    return Book(lookup, standing, first, board, standings, code, group, over, count)


#: The hands of a round with at most one specialist per player.
SINGLE_HANDS = (0, *(1 << specialist for specialist in range(SPECIALISTS)))


@kernel
def standing_of(state, player):
    """Return a player's standing: the specialists in hand as bits, and HACKER_ON."""
    standing = HACKER_ON * np.int64(state["hacker_on"][player])
    for specialist in range(SPECIALISTS):
        standing |= np.int64(state["standing"][player, specialist] == IN_HAND) << specialist
    return standing


@kernel
def locate(state, player, lookup):
    """Return the numbers of both standings, the player's first, and of the board as they see it; -1 if there is none.

    `lookup` as in a Book.
    """
    code = np.int64(0)
    for room in range(ROOMS - 1, -1, -1):
        code = code * DIGITS + DIGIT[player, state["board"][room]]
    boards = _FIRST + lookup[_STANDINGS] ** 2 * _GROUPS
    own, other = lookup[standing_of(state, player)], lookup[standing_of(state, 1 - player)]
    return np.int64(own), np.int64(other), np.int64(lookup[boards + code])


@kernel
def position_of(state, player, lookup):
    """Return the number of a state as a position that the player sees; -1 if the book has none such."""
    code, group = np.int64(0), np.int64(0)
    for room in range(ROOMS - 1, -1, -1):
        digit = DIGIT[player, state["board"][room]]
        code = code * DIGITS + digit
        group += 3 * (digit == OWN_SPECIALIST) + (digit == OTHER_SPECIALIST)
    own, other = lookup[standing_of(state, player)], lookup[standing_of(state, 1 - player)]
    board = np.int64(lookup[_FIRST + lookup[_STANDINGS] ** 2 * _GROUPS + code])
    if own < 0 or other < 0 or board < 0:
        return np.int64(-1)
    return max(lookup[_FIRST + (own * lookup[_STANDINGS] + other) * _GROUPS + group] + board, np.int64(-1))


@kernel
def put_board(states, player, code):
    """Put the board of these digits, as the player sees them, into all states."""
    for room in range(ROOMS):
        for i in range(states.shape[0]):
            states[i]["board"][room] = PIECE[player, code % DIGITS]
        code //= DIGITS


@kernel
def put_standing(states, player, standing):
    """Give the player this standing in all states."""
    for i in range(states.shape[0]):
        states[i]["hacker_on"][player] = standing >> SPECIALISTS
        for specialist in range(SPECIALISTS):
            states[i]["standing"][player, specialist] = IN_HAND if standing >> specialist & 1 else USED


@kernel
def put_positions(states, positions, book):
    """Put the k-th of positions int64 (n, 3), as `locate` gives them for player 0, into states 2k and 2k + 1."""
    for k in range(positions.shape[0]):
        both = states[2 * k : 2 * k + 2]
        put_standing(both, 0, book.standings[positions[k, 0]])
        put_standing(both, 1, book.standings[positions[k, 1]])
        put_board(both, 0, book.code[positions[k, 2]])
