"""Lines of cells on a rectangular board, cells numbered row-major."""

# mypy: disable-error-code="no-untyped-def"

from collections.abc import Sequence

import numpy as np

from ttt_envs.core.compile.jit import allocates_nothing, kernel

_DOWN, _ACROSS = ("top", "middle", "bottom"), ("left", "middle", "right")


def lines(rows: int, columns: int, length: int) -> np.ndarray:
    """Return all straight runs of `length` cells: int8 (lines, length), rows first, then columns, then diagonals."""
    cells = [
        [(r + k * dr) * columns + c + k * dc for k in range(length)]
        for dr, dc in ((0, 1), (1, 0), (1, 1), (1, -1))
        for r in range(rows)
        for c in range(columns)
        if 0 <= r + (length - 1) * dr < rows and 0 <= c + (length - 1) * dc < columns
    ]
    return np.array(cells, np.int8).reshape(-1, length)


def where(row: Sequence[int], size: int) -> str:
    """Return the place of a row on a board of `size` by `size` cells as text: "in the top row", "on the diagonal"."""
    down, across = {cell // size for cell in row}, {cell % size for cell in row}
    for places, names, kind in ((down, _DOWN, "row"), (across, _ACROSS, "column")):
        if len(places) == 1:
            (k,) = places
            return f"in the {names[k]} {kind}" if size == len(names) else f"in {kind} {k + 1}"
    return "on the diagonal" if len(row) == size else "on a diagonal"


def lines_through(rows: int, columns: int, length: int) -> np.ndarray:
    """Return the other cells of each line through each cell: int8 (cells, most lines, length-1).

    A cell with fewer lines repeats its last one, so that a kernel needs no counts.
    """
    every = lines(rows, columns, length)
    through = [
        [[int(x) for x in line if x != cell] for line in every if cell in line] for cell in range(rows * columns)
    ]
    most = max(len(each) for each in through)
    return np.array([each + [each[-1]] * (most - len(each)) for each in through], np.int8)


# The largest square whose cells are the bits of an int64.
_LARGEST = 8


def _starts() -> np.ndarray:
    """Return int64 [size, length, way]: the set of cells from which a line of `length` fits on a board of `size`.

    The directions (ways) are right, down-left, down and down-right.
    """
    starts = np.zeros((_LARGEST + 1, _LARGEST + 1, 4), np.int64)
    for size in range(2, _LARGEST + 1):
        for length in range(2, size + 1):
            few = size - length + 1  # number of columns, or rows, in which a line can start
            left = (1 << few) - 1
            rows = [sum(1 << row * size for row in range(count)) for count in (size, few)]
            right, whole = left << length - 1, (1 << size) - 1
            starts[size, length] = left * rows[0], right * rows[1], whole * rows[1], left * rows[1]
    return starts


_STARTS = _starts()


@kernel
@allocates_nothing
def has_row(cells, size, length):
    """Return whether a set contains `length` cells in a row, on a square of `size` by `size`; length >= 2, size 2 to 8.

    In a set of cells, bit k says whether cell k is a member.
    """
    found = np.int64(0)
    for way in range(4):
        step, line = np.int64(1 if way == 0 else size + way - 2), cells
        for k in range(1, length):
            line &= cells >> k * step  # keeps cells that k more follow, perhaps across the edge
        found |= line & _STARTS[size, length, way]
    return found != 0
