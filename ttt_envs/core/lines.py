"""Lines of cells on a rectangular board, cells numbered row-major."""

from collections.abc import Sequence

import numpy as np

_DOWN, _ACROSS = ("top", "middle", "bottom"), ("left", "middle", "right")


def lines(rows: int, columns: int, length: int) -> np.ndarray:
    """All straight runs of `length` cells: int8 (lines, length), rows first, then columns, then diagonals."""
    cells = [
        [(r + k * dr) * columns + c + k * dc for k in range(length)]
        for dr, dc in ((0, 1), (1, 0), (1, 1), (1, -1))
        for r in range(rows)
        for c in range(columns)
        if 0 <= r + (length - 1) * dr < rows and 0 <= c + (length - 1) * dc < columns
    ]
    return np.array(cells, np.int8).reshape(-1, length)


def where(row: Sequence[int], size: int) -> str:
    """The place of a row on a board of `size` by `size` cells, for people: "in the top row", "on the diagonal"."""
    down, across = {cell // size for cell in row}, {cell % size for cell in row}
    for places, names, kind in ((down, _DOWN, "row"), (across, _ACROSS, "column")):
        if len(places) == 1:
            (k,) = places
            return f"in the {names[k]} {kind}" if size == len(names) else f"in {kind} {k + 1}"
    return "on the diagonal" if len(row) == size else "on a diagonal"


def lines_through(rows: int, columns: int, length: int) -> np.ndarray:
    """The other cells of each line through each cell: int8 (cells, most lines, length-1).

    A cell with fewer lines repeats its last one, so that a kernel needs no counts.
    """
    every = lines(rows, columns, length)
    through = [
        [[int(x) for x in line if x != cell] for line in every if cell in line] for cell in range(rows * columns)
    ]
    most = max(len(each) for each in through)
    return np.array([each + [each[-1]] * (most - len(each)) for each in through], np.int8)
