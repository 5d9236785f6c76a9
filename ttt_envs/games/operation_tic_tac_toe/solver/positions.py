"""A numbering of the positions of a round, for the solver's tables.

A position is described from the Placer's view by nine digits, one per room: empty, or a spy or a specialist of either
player. Boards that are rotations or reflections of each other count as one board. The kind of a specialist on the board
does not matter, because abilities are used once, on placement. Besides the board, a position therefore has only each
player's *standing*: the specialists that the player still holds, and whether the player's hacker is active.
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

#: The digit of each piece in each player's view: int64 (2, 19).
DIGIT = np.zeros((2, 1 + 2 * KINDS), np.int64)
for _player in range(2):
    for _owner in range(2):
        _pieces = slice(1 + KINDS * _owner, 1 + KINDS * (_owner + 1))
        DIGIT[_player, _pieces] = OWN_SPECIALIST if _owner == _player else OTHER_SPECIALIST
        DIGIT[_player, 1 + KINDS * _owner + SPY] = OWN_SPY if _owner == _player else OTHER_SPY

#: A piece for each digit in each player's view: int8 (2, 5). The kind of specialist does not matter.
PIECE = np.array(
    [[EMPTY, *(1 + KINDS * owner + kind for owner in order for kind in (SPY, HACKER))] for order in ((0, 1), (1, 0))],
    np.int8,
)

#: The bit of a standing for an active hacker. The other bits are the specialists in hand.
HACKER_ON = 1 << SPECIALISTS

# The entry in `Book.first` of positions that do not exist: its sum with any board number is negative.
_MISSING = -(1 << 30)


class Book(NamedTuple):
    """The numbering of positions.

    Attributes:
        lookup: int32, one array of `standing`, the number of standings, `first` and `board`, because kernel calls with
            many arrays are slow.
        standing: int32 (512,), the number of each standing; -1 if it is not in this book. A part of `lookup`.
        first: int32 (standings, standings, 9), indexed by [own standing, other player's standing, 3 * own specialists
            on the board + other player's]. The number of a position is this entry plus the number of its board; a
            negative sum means that there is no such position. A part of `lookup`.
        board: int32 (5**9,), the number of the board with these digits; -1 if it has too many specialists. A part of
            `lookup`.
        standings: int64 (standings,), the standing that has each number.
        code: int32 (boards,), the digits of each board as a number in base 5. Of symmetric images, only the one with
            the smallest number is listed.
        group: int8 (boards,), each board's number of specialists, as the last index of `first`.
        over: bool (boards,), whether the board has a line.
        positions: number of positions.
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
    """Number the boards with at most `most` specialists of each player; return the number of boards.

    Args:
        most: see `make_book`.
        turns: int64 (8, 9), the permutations of rooms.
        board: int32 (5**9,), out: see Book.
        code: int32 (5**9,), out: see Book; entries after the last board are not changed.
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
    """Return `board`, `code`, `group`, `over` of a Book: the boards of a group are consecutive, fullest first."""
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
    """Return the standing of a player with these specialists in hand; raise ValueError for wrong or repeated names."""
    for name in names:
        if name not in KIND_NAMES[1:]:
            raise ValueError(unknown("specialist", name, KIND_NAMES[1:]))
        if names.count(name) > 1:
            raise ValueError(f"a player has only one {name}, not {names.count(name)}")
    return sum(1 << (KIND_NAMES.index(name) - 1) for name in names)


def names_of(standing: int) -> tuple[str, ...]:
    """Return the names of the specialists in hand."""
    return tuple(name for s, name in enumerate(KIND_NAMES[1:]) if standing >> s & 1)


def in_hand(standing: int) -> int:
    """Return the number of specialists that a player holds."""
    return (standing & (HACKER_ON - 1)).bit_count()


def lesser_standings(standing: int) -> set[int]:
    """Return all standings that can follow a standing, itself included."""
    standings, new = {standing}, [standing]
    while new:
        held = new.pop()
        for s in range(SPECIALISTS + 1):  # the last bit is HACKER_ON
            if held >> s & 1:
                less = {held ^ 1 << s} | ({held ^ 1 << s | HACKER_ON} if s == HACKER - 1 else set())
                new += less - standings
                standings |= less
    return standings


def height(standing: int) -> int:
    """Return a number that decreases whenever a standing changes in play."""
    return in_hand(standing) + (standing >> (HACKER - 1) & 1) + (standing >> SPECIALISTS)


@cache
def make_book(hands: tuple[int, ...], most: int | None = None, mirrored: bool = True) -> Book:
    """Return a Book of all positions that can arise if each player begins with one of the standings `hands`.

    `most`: the largest number of specialists that a player can have in hand and on the board together; None: the
    largest number in one of `hands`. `mirrored`: whether symmetric images of a board share a number.
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
    """Return three numbers: of the player's standing, the other player's standing, and the board in the player's view.

    A number is -1 if it is not in the Book to which `lookup` belongs.
    """
    code = np.int64(0)
    for room in range(ROOMS - 1, -1, -1):
        code = code * DIGITS + DIGIT[player, state["board"][room]]
    boards = _FIRST + lookup[_STANDINGS] ** 2 * _GROUPS
    own, other = lookup[standing_of(state, player)], lookup[standing_of(state, 1 - player)]
    return np.int64(own), np.int64(other), np.int64(lookup[boards + code])


@kernel
def position_of(state, player, lookup):
    """Return the number of a state's position in the player's view; -1 if it is not in the book."""
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
    """Write a board to all states; `code` has its digits in the player's view, see Book."""
    for room in range(ROOMS):
        for i in range(states.shape[0]):
            states[i]["board"][room] = PIECE[player, code % DIGITS]
        code //= DIGITS


@kernel
def put_standing(states, player, standing):
    """Write the player's standing to all states."""
    for i in range(states.shape[0]):
        states[i]["hacker_on"][player] = standing >> SPECIALISTS
        for specialist in range(SPECIALISTS):
            states[i]["standing"][player, specialist] = IN_HAND if standing >> specialist & 1 else USED


@kernel
def put_positions(states, positions, book):
    """Write the k-th of positions, int64 (n, 3) from `locate` for player 0, to states[2 * k] and states[2 * k + 1]."""
    for k in range(positions.shape[0]):
        both = states[2 * k : 2 * k + 2]
        put_standing(both, 0, book.standings[positions[k, 0]])
        put_standing(both, 1, book.standings[positions[k, 1]])
        put_board(both, 0, book.code[positions[k, 2]])
