"""The table of optimal play, with a byte per class of eight symmetric positions, and its file."""

# mypy: disable-error-code="no-untyped-def"

import lzma
from pathlib import Path
from typing import NamedTuple

import numpy as np

from ttt_envs.core.compile.jit import kernel
from ttt_envs.core.oracle import StageProgress
from ttt_envs.core.state import read_only
from ttt_envs.games.martian_tic_tac_toe.solver.positions import BOARDS, CELLS, digits_of, least_image, weights_of_images
from ttt_envs.games.martian_tic_tac_toe.solver.retrograde import DRAWN, analyse
from ttt_envs.storage import tables
from ttt_envs.storage.tables import BadTable, load_or_build, table_folder

#: Version of the format and of the contents of a table.
VERSION = 2

#: The package's file, for the rules without same_size_swap.
SHIPPED = Path(__file__).with_name("best_play.table")

_KIND = "martian_tic_tac_toe"
_WORDS = -(-BOARDS // 64)


class SolvedTable(NamedTuple):
    """Values of positions; of eight symmetric positions, only the one with the smallest number is stored.

    Attributes:
        present: uint64 (words,); bit b of word w is set if board 64*w + b is in the table.
        before: uint32 (words,), the number of boards in all earlier words.
        values: uint8 (positions,), by board: DRAWN, or 1 + the plies to the end.
    """

    present: np.ndarray
    before: np.ndarray
    values: np.ndarray


@kernel
def compress(values, live, weights, present, out):
    """Set the bits of the table's boards in `present`, uint64 zeros; write their values to `out`; return how many."""
    digits, end = np.empty(CELLS, np.int8), 0
    for board in range(live.shape[0]):
        if live[board]:
            digits_of(board, digits)
            if least_image(digits, weights) == board:
                present[board // 64] |= np.uint64(1) << np.uint64(board % 64)
                out[end] = values[board]
                end += 1
    return end


@kernel
def bits_set(word):
    """Return the number of bits of a uint64 that are set."""
    word = word - ((word >> np.uint64(1)) & np.uint64(0x5555555555555555))
    word = (word & np.uint64(0x3333333333333333)) + ((word >> np.uint64(2)) & np.uint64(0x3333333333333333))
    word = (word + (word >> np.uint64(4))) & np.uint64(0x0F0F0F0F0F0F0F0F)
    total = np.int64(0)
    for byte in range(8):
        total += np.int64((word >> np.uint64(8 * byte)) & np.uint64(0xFF))
    return total


@kernel
def count_before(present, before):
    """Write to `before`, for each word of `present`, the number of bits set in earlier words; return the total."""
    total = np.int64(0)
    for word in range(present.shape[0]):
        before[word] = total
        total += bits_set(present[word])
    return total


@kernel
def find(digits, weights, table):
    """Return the value of a position in a table; -1 if it is not in the table."""
    board = least_image(digits, weights)
    word, bit = table.present[board // 64], np.uint64(board % 64)
    if not (word >> bit) & np.uint64(1):
        return -1
    below = word & ((np.uint64(1) << bit) - np.uint64(1))
    return np.int64(table.values[table.before[board // 64] + bits_set(below)])


def draw_boards(table: SolvedTable, number: int, rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
    """Return a sample of boards that the player to move wins or draws: plies to the end, -1 for a draw, and boards,
    int64 (n,). All lengths are equally likely, and so are all boards of a length.
    """
    values = np.asarray(table.values)
    kinds = [value for value in np.flatnonzero(np.bincount(values)).tolist() if value == DRAWN or value % 2 == 0]
    kind = rng.integers(0, len(kinds), number)
    plies, boards = np.empty(number, np.int64), np.empty(number, np.int64)
    for k, value in enumerate(kinds):
        rows = np.flatnonzero(kind == k)
        places = rng.choice(np.flatnonzero(values == value), len(rows))
        # `places` are indices of `values`. The word of a place is the last one with at most `place` boards before.
        words = np.searchsorted(table.before, places, side="right") - 1
        bits = np.unpackbits(np.asarray(table.present)[words].view(np.uint8).reshape(-1, 8), axis=1, bitorder="little")
        nth = (places - table.before[words]).astype(np.int64)
        bit = (np.cumsum(bits, axis=1, dtype=np.int64) <= nth[:, None]).sum(axis=1)
        plies[rows] = -1 if value == DRAWN else value - 1
        boards[rows] = 64 * words + bit
    return plies, boards


def table_path(same_size_swap: bool) -> Path:
    """Return the path of the table for games without or with same_size_swap."""
    return table_folder() / "martian_tic_tac_toe-same_size_swap.table" if same_size_swap else SHIPPED


def write_table(path: Path, table: SolvedTable, same_size_swap: bool) -> None:
    """Write a table atomically. Raises OSError if it cannot be written."""
    facts = {"version": VERSION, "same_size_swap": same_size_swap, "positions": len(table.values)}
    tables.write_table(path, _KIND, facts, lzma.compress(table.present.tobytes() + table.values.tobytes()))


def read_table(path: Path, same_size_swap: bool) -> SolvedTable:
    """Return the table of a file. Raises FileNotFoundError, or BadTable naming the fault."""
    facts, body = tables.read_table(path, _KIND, {"version": VERSION, "same_size_swap": same_size_swap})
    reading = lzma.LZMADecompressor()
    try:
        data = np.frombuffer(bytearray(reading.decompress(body.tobytes(), 8 * _WORDS + BOARDS)), np.uint8)
    except lzma.LZMAError as error:
        raise BadTable(f"{path} is damaged: {error}") from None
    present, values = data[: 8 * _WORDS], data[8 * _WORDS :]
    if not reading.eof or len(present) < 8 * _WORDS or facts.get("positions") != len(values):
        raise BadTable(f"{path} is damaged: it has not the bytes of {facts.get('positions')!r} positions")
    return _numbered(present.view(np.uint64), values)


def _numbered(present: np.ndarray, values: np.ndarray) -> SolvedTable:
    before = np.empty(_WORDS, np.uint32)
    if count_before(present, before) != len(values):
        raise BadTable(f"a table of {len(values)} values has other boards")
    return SolvedTable(read_only(present), read_only(before), read_only(values))


def build_table(same_size_swap: bool, progress: StageProgress = lambda what, share: None) -> SolvedTable:
    """Compute the table, which takes half a minute and half a GB."""
    values, live = analyse(same_size_swap, progress)
    present, out = np.zeros(_WORDS, np.uint64), np.empty(BOARDS, np.uint8)
    positions = compress(values, live, weights_of_images(), present, out)
    return _numbered(present, out[:positions].copy())


def load_table(same_size_swap: bool) -> SolvedTable:
    """Return the table of the package or the cache folder; build and keep it if it is missing or damaged."""
    return load_or_build(
        table_path(same_size_swap),
        lambda path: read_table(path, same_size_swap),
        lambda progress: build_table(same_size_swap, progress),
        lambda path, table: write_table(path, table, same_size_swap),
    )
