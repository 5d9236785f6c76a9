"""Martian Tic-Tac-Toe on 3x3: the result that one player can force against all others together.

    python examples/martian_coalition.py --players 3        # 150 seconds of processor time and 1.1 GB

It is found by retrograde analysis.

The others are a coalition: they share what they do, and wish the one player, the hero, as little as possible. A win of
any of them is a loss of the hero's. So the hero forces a win, or the coalition forces one, or the game is drawn by
endless play. Positions are gone through in the order of their distance to the end, from the end backward.

A board is a number: a cell is empty (0) or holds a piece of the hero (1 to 3), of the player behind them in turn order
(4 to 6), and so on. The phase of a position is the number of players from the hero to the one who is to move. Only
boards that are the least of their eight mirror images are kept, so that a move may lead to an image of a board that is
kept. Moves between boards are therefore counted in units of different images: a board with k of them has k times its
moves left, and a successor of j images that is known takes j away for each move that leads to it.

No position that can arise is without a move: a player without one has all their pieces on a full board, so that nobody
else has one there, and the player before them has just put one. Some other boards that are kept cannot arise either.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
import tyro

from ttt_envs.core.compile.bits import lowest_bit, set_size
from ttt_envs.core.compile.jit import kernel
from ttt_envs.core.symmetry import dihedral
from ttt_envs.games.martian_tic_tac_toe.rules import (
    EMPTY,
    SIZES,
    SIZES_FOR,
    SMALL,
    has_line,
    row_length,
    rule_for,
)
from ttt_envs.games.martian_tic_tac_toe.text import cell_names

#: The value of a position that neither side can win. Won and lost ones have 1 + the plies to the end, from 2 on.
DRAWN = 0

#: A position is known by a number below this one, its value: 1 + the plies to the end. Any other has this and its moves
#: that are not known to lead to what the mover shuns: it is drawn if it keeps some, and cannot arise if it has none.
OPEN = 4096

# Words of 64 boards in a block.
_BLOCK = 64


class Setting(NamedTuple):
    """The game, as the kernels need it. A set of cells is a number: bit c stands for cell c.

    Attributes:
        players: how many.
        pieces: of each size, that each player has.
        weights: int64 (8, cells), the amount that a digit in each cell adds to the number of each mirror image.
        lines: bool (2**cells,), whether a set of cells has a line in it.
        sizes: int64 (2**cells,), the number of cells in a set.
        same_size_swap: the game's option of that name.
        may_put: bool (rules, digits - 1, digits), whether digit d + 1 may take the place of each digit, by rule.
    """

    players: int
    pieces: int
    weights: np.ndarray
    lines: np.ndarray
    sizes: np.ndarray
    same_size_swap: bool
    may_put: np.ndarray


class Analysis(NamedTuple):
    """All boards that are kept, and what is known of them.

    Attributes:
        kept: uint64 (words, 2): bit b of kept[w, 0] is set if board 64*w + b is kept; kept[w, 1] is the number of
            boards that are kept before that word.
        known: uint16 (boards, players), by phase; see `OPEN`.
        found: bool (2, blocks), whether a block of words has a position of an even, or an odd, value that was found
            last.
    """

    kept: np.ndarray
    known: np.ndarray
    found: np.ndarray


def setting(players: int, same_size_swap: bool = False, size: int = 3) -> Setting:
    """Return the game's setting for so many players on a board of `size` rows."""
    cells, length, digits = size * size, row_length(size), SIZES * players + 1
    powers = digits ** np.arange(cells, dtype=np.int64)
    turns = np.array(list(dihedral(size).values()))
    sets = (np.arange(1 << cells)[:, None] >> np.arange(cells) & 1).astype(np.int8)
    has_lines = np.array([has_line(each, 1, size, length) for each in sets])
    owners, kinds = np.divmod(np.arange(digits - 1), SIZES)
    return Setting(
        players,
        length,
        powers[np.argsort(turns, axis=1)],
        has_lines,
        sets.sum(axis=1, dtype=np.int64),
        same_size_swap,
        (SIZES_FOR[:, owners, :digits] >> kinds[:, None] & 1).astype(np.bool_),
    )


@kernel
def read_board(board, digits, sets):
    """The digits of a board's number, int64 (cells,), and the set of cells of each digit, int64 (digits,)."""
    sets[:] = 0
    for cell in range(digits.shape[0]):
        digit = board % sets.shape[0]
        board //= sets.shape[0]
        digits[cell] = digit
        sets[digit] |= 1 << cell


@kernel
def images_of(digits, weights, images):
    """Return the numbers of the eight mirror images, int64 (8,); gives how many of them differ."""
    same = 0
    for turn in range(8):
        number = np.int64(0)
        for cell in range(digits.shape[0]):
            number += digits[cell] * weights[turn, cell]
        images[turn] = number
        same += number == images[0]
    return 8 // same  # as many are the first one as any other, as they are a group's


@kernel
def mark(setting, kept):
    """Find the boards to keep: bit b of kept[w, 0] is set if 64*w + b is one.

    Those are the least of their images, without a line, and with no more pieces than there are.
    """
    cells, base = setting.weights.shape[1], SIZES * setting.players + 1
    digits, sets = np.empty(cells, np.int64), np.empty(base, np.int64)
    boards = base**cells
    read_board(0, digits, sets)
    for word in range(kept.shape[0]):
        bits = np.uint64(0)
        for bit in range(64):
            if 64 * word + bit >= boards:
                break
            fits = True
            for digit in range(1, base):
                if setting.sizes[sets[digit]] > setting.pieces or setting.lines[sets[digit]]:
                    fits = False
                    break
            if fits and is_least(digits, 64 * word + bit, setting.weights):
                bits |= np.uint64(1) << np.uint64(bit)
            for cell in range(cells):  # count up
                sets[digits[cell]] ^= 1 << cell
                digits[cell] = digits[cell] + 1 if digits[cell] < base - 1 else 0
                sets[digits[cell]] ^= 1 << cell
                if digits[cell] > 0:
                    break
        kept[word, 0] = bits


@kernel
def is_least(digits, board, weights):
    """Return whether no mirror image has a smaller number."""
    for turn in range(8):
        number = np.int64(0)
        for cell in range(digits.shape[0]):
            number += digits[cell] * weights[turn, cell]
        if number < board:
            return False
    return True


@kernel
def number(kept):
    """Write how many boards are kept before each word, and give how many there are."""
    total = np.int64(0)
    for word in range(kept.shape[0]):
        kept[word, 1] = total
        total += np.int64(set_size(kept[word, 0]))
    return total


@kernel
def place_of(board, kept):
    """Return where a board stands among those that are kept; -1 if it is not."""
    word, bit = kept[board // 64, 0], np.uint64(board % 64)
    if not (word >> bit) & np.uint64(1):
        return -1
    return np.int64(kept[board // 64, 1] + set_size(word & ((np.uint64(1) << bit) - np.uint64(1))))


@kernel
def cells_for(sets, digit, setting):
    """Return the set of cells into which the owner of this digit may put a piece of its size."""
    if setting.sizes[sets[digit]] == setting.pieces:
        return 0
    found, rule = 0, rule_of(sets, 0, setting)
    for old in range(sets.shape[0]):
        found |= sets[old] * setting.may_put[rule, digit - 1, old]
    return found


@kernel
def rule_of(sets, fewer, setting):
    """Return the rule for a board with so many fewer pieces than this one: during first turns each ply adds one."""
    placed = setting.weights.shape[1] - setting.sizes[sets[EMPTY]] - fewer
    return rule_for(placed, setting.players, setting.same_size_swap)


@kernel
def completes(sets, digit, cells, lines):
    """Return whether a piece of this digit in one of these cells, a set, makes a line."""
    while cells:
        cell = cells & -cells
        if lines[sets[digit] | cell]:
            return True
        cells ^= cell
    return False


@kernel
def count_moves(setting, analysis):
    """Fill `known`: 2 where the mover can make a line, else the moves."""
    cells, base = setting.weights.shape[1], SIZES * setting.players + 1
    digits, sets, images = np.empty(cells, np.int64), np.empty(base, np.int64), np.empty(8, np.int64)
    for word in range(analysis.kept.shape[0]):
        at, left = np.int64(analysis.kept[word, 1]), analysis.kept[word, 0]
        while left:
            read_board(64 * word + np.int64(lowest_bit(left)), digits, sets)
            left &= left - np.uint64(1)
            units = images_of(digits, setting.weights, images)
            for mover in range(setting.players):
                moves, ends = 0, False
                for digit in range(SIZES * mover + 1, SIZES * mover + SIZES + 1):
                    into = cells_for(sets, digit, setting)
                    moves += setting.sizes[into]
                    ends = ends or completes(sets, digit, into, setting.lines)
                analysis.known[at, mover] = 2 if ends else OPEN + moves * units
            at += 1


@kernel
def hero_wins(value, phase, players):
    """Return whether the hero makes the last move, after value-1 plies of which the first one is of this phase."""
    return (phase + value - 2) % players == 0


@kernel
def predecessors(digits, sets, images, mover, setting, boards):
    """Boards from which a move of the mover leads here, the least of their images each; gives their number.

    `images`: those of this board. Out int64 (k,). Some are no boards that are kept.
    """
    count, rules = 0, (rule_of(sets, 0, setting), rule_of(sets, 1, setting))
    for cell in range(digits.shape[0]):
        digit = digits[cell]
        if not SIZES * mover < digit <= SIZES * mover + SIZES:
            continue
        for old in range(sets.shape[0]):
            if not setting.may_put[rules[np.int64(old == EMPTY)], digit - 1, old]:
                continue
            if old != EMPTY and setting.sizes[sets[old]] == setting.pieces:
                continue
            least = images[0] + (old - digit) * setting.weights[0, cell]
            for turn in range(1, 8):
                least = min(least, images[turn] + (old - digit) * setting.weights[turn, cell])
            boards[count] = least
            count += 1
    return count


@kernel
def take_back(value, phase, units, boards, places, analysis):
    """Note that the positions from which a move leads to one of this value and phase have that move.

    `units`: the different images of the board that the moves lead to. Gives how many positions are found out.
    """
    known, players, found = analysis.known, analysis.known.shape[1], 0
    mover = (phase + players - 1) % players
    good = hero_wins(value, phase, players) == (mover == 0)
    for k in range(boards.shape[0]):
        place = places[k]
        if place < 0 or known[place, mover] < OPEN:
            continue
        if not good:
            known[place, mover] -= units
        if good or known[place, mover] == OPEN:
            known[place, mover] = value + 1
            analysis.found[(value + 1) % 2, boards[k] // (64 * _BLOCK)] = True
            found += 1
    return found


@kernel
def retract(value, setting, analysis):
    """Take back the moves that led to the positions of this value.

    Gives how many positions are thereby found out; their value is one more.
    """
    kept, known, found = analysis.kept, analysis.known, 0
    digits, sets = np.empty(setting.weights.shape[1], np.int64), np.empty(SIZES * setting.players + 1, np.int64)
    images = np.empty(8, np.int64)
    boards = np.empty(digits.shape[0] * sets.shape[0], np.int64)
    places = np.empty(boards.shape[0], np.int64)
    for block in range(analysis.found.shape[1]):
        if not analysis.found[value % 2, block]:
            continue
        analysis.found[value % 2, block] = False
        for word in range(block * _BLOCK, min((block + 1) * _BLOCK, kept.shape[0])):
            at, left = np.int64(kept[word, 1]), kept[word, 0]
            while left:
                board = 64 * word + np.int64(lowest_bit(left))
                left &= left - np.uint64(1)
                some = False
                for phase in range(setting.players):
                    some = some or known[at, phase] == value
                if some:
                    read_board(board, digits, sets)
                    units = images_of(digits, setting.weights, images)
                    for phase in range(setting.players):
                        if known[at, phase] == value:
                            mover = (phase + setting.players - 1) % setting.players
                            count = predecessors(digits, sets, images, mover, setting, boards)
                            # In a loop of its own, so that the processor waits for many places of memory at a time.
                            for k in range(count):
                                places[k] = place_of(boards[k], kept)
                            found += take_back(value, phase, units, boards[:count], places, analysis)
                at += 1
    return found


@kernel
def tally(setting, analysis, counts):
    """Count the positions with moves of each value by phase, mirror images included; counts int64 (players, values).

    Drawn ones have the value DRAWN.
    """
    digits, sets = np.empty(setting.weights.shape[1], np.int64), np.empty(SIZES * setting.players + 1, np.int64)
    images = np.empty(8, np.int64)
    for word in range(analysis.kept.shape[0]):
        at, left = np.int64(analysis.kept[word, 1]), analysis.kept[word, 0]
        while left:
            read_board(64 * word + np.int64(lowest_bit(left)), digits, sets)
            left &= left - np.uint64(1)
            units = images_of(digits, setting.weights, images)
            for phase in range(setting.players):
                value = np.int64(analysis.known[at, phase])
                if value != OPEN:
                    counts[phase, value if value < OPEN else DRAWN] += units
            at += 1


def analyse(setting: Setting) -> Analysis:
    """Work out all positions. Raises OverflowError if some are too far from the end for their numbers."""
    words = -(-((SIZES * setting.players + 1) ** setting.weights.shape[1]) // 64)
    blocks = -(-words // _BLOCK)
    kept = np.zeros((words, 2), np.uint64)
    mark(setting, kept)
    analysis = Analysis(kept, np.empty((number(kept), setting.players), np.uint16), np.ones((2, blocks), np.bool_))
    count_moves(setting, analysis)
    value = 2
    while retract(value, setting, analysis):
        value += 1
        if value == OPEN - 1:
            raise OverflowError(f"some positions are further from the end than {value - 1} plies")
    return analysis


def value_of(pieces: np.ndarray, phase: int, setting: Setting, analysis: Analysis) -> int:
    """Return the value of a board without a line, int (cells,) as the hero sees it: DRAWN, or 1 + plies to the end."""
    least = (setting.weights @ pieces).min()
    value = int(analysis.known[place_of(least, analysis.kept), phase])
    return value if value < OPEN else DRAWN


def forced(setting: Setting, analysis: Analysis) -> Iterator[str]:
    """Lines about the result that each player can force alone, and about all positions."""
    players, cells = setting.players, setting.weights.shape[1]
    names = [f"player_{player}" for player in range(players)]

    def against(pieces: list[int], to_move: int) -> Iterator[str]:
        for hero, name in enumerate(names):
            # As the hero sees it: they are the first in turn order.
            seen = [0 if piece == EMPTY else (piece - 1 - SIZES * hero) % (SIZES * players) + 1 for piece in pieces]
            phase = (to_move - hero) % players
            value = value_of(np.array(seen), phase, setting, analysis)
            if value == DRAWN:
                yield f"{name} alone draws"
            else:
                wins = hero_wins(value, phase, players)
                yield f"{name} alone {'wins' if wins else 'loses'} in {value - 1} plies"

    yield f"from the start: {', '.join(against([EMPTY] * cells, 0))}"
    for cell, name in enumerate(cell_names(3)):
        pieces = [EMPTY] * cells
        pieces[cell] = SMALL
        if cell in (0, 1, 4):  # the others are mirror images
            yield f"after the opening on {name}: {', '.join(against(pieces, 1))}"
    counts = np.zeros((players, OPEN), np.int64)
    tally(setting, analysis, counts)
    for turn, when in enumerate(("on the move", "who moves next", "who moves after next")[:players]):
        phase = -turn % players
        values = np.flatnonzero(counts[phase])
        wins = hero_wins(values, phase, players)
        for name, which in (("won", wins & (values != DRAWN)), ("lost", ~wins & (values != DRAWN))):
            row = counts[phase, values[which]]
            yield f"alone, {when}: {row.sum():,} positions {name}, in up to {values[which].max() - 1} plies"
        yield f"alone, {when}: {counts[phase, DRAWN]:,} positions drawn"


@dataclass(frozen=True, kw_only=True)
class Coalition:
    """Work out what one player of the 3x3 game can force alone against all others together."""

    players: int = 3
    """Players of the game, 2 or 3."""
    same_size_swap: bool = False
    """Whether pieces of one size may be exchanged for each other, see the game's option of that name."""

    def lines(self) -> Iterator[str]:
        """Solve the game and describe the results, a line each; ValueError for a number of players it cannot do."""
        if self.players not in (2, 3):
            raise ValueError(f"players must be 2 or 3, not {self.players}: four have too many positions")
        facts = setting(self.players, self.same_size_swap)
        yield from forced(facts, analyse(facts))


if __name__ == "__main__":
    for line in tyro.cli(Coalition).lines():
        print(line, flush=True)
