"""Rows in sets of cells, beside the list of all lines."""

import numpy as np
import pytest

from ttt_envs.core.lines import has_row, lines


@pytest.mark.parametrize("size", [2, 3, 5, 8])
def test_rows_are_found_where_a_line_is_full(size):
    generator = np.random.default_rng(size)
    for length in range(2, size + 1):
        full = [sum(1 << int(cell) for cell in line) for line in lines(size, size, length)]
        for _ in range(50):
            cells = sum(1 << cell for cell in range(size**2) if generator.random() < generator.choice([0.4, 0.8]))
            given = np.uint64(cells).view(np.int64)
            assert has_row(given, size, length) == any(cells & line == line for line in full)
        for line in full:
            assert has_row(np.uint64(line).view(np.int64), size, length)
            missing = line & (line - 1)  # one cell less
            assert not has_row(np.uint64(missing).view(np.int64), size, length)
