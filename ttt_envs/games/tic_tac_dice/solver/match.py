"""The value of a match at every score; the payoffs of a round are the match's values after each result of the round.

The table is indexed by the points that each player still needs. Each entry is the mean over a fixed sample of layouts,
which are solved exactly with these payoffs. The sample is the only source of error. The standard error of each entry is
estimated from tables for parts of the sample.
"""

# mypy: disable-error-code="no-untyped-def"

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np

from ttt_envs.core.compile.jit import kernel
from ttt_envs.games.tic_tac_dice.solver.rounds import RESULTS, deal_layouts, rows, solve

#: The largest number of needed points in the table.
MOST_TARGET = 9


def result_values(table: np.ndarray, first: int, second: int) -> np.ndarray:
    """Return the value of each of RESULTS to player 0, if players 0 and 1 need `first` and `second` more points."""
    values = []
    for points in RESULTS:
        mine, other = max(first - max(points, 0), 0), max(second - max(-points, 0), 0)
        values.append(1.0 if mine == 0 else -1.0 if other == 0 else table[mine, other])
    return np.array(values)


@kernel
def start_values(layouts, has_row, payoffs, out):
    """Write to `out` player 0's value of a round on each of layouts, int8 (n, 9), before the roll for the start."""
    values = np.empty((2, 3 ** layouts.shape[1]))
    for i in range(layouts.shape[0]):
        solve(layouts[i], has_row, payoffs, values)
        out[i] = (values[0, 0] + values[1, 0]) / 2


def make_match_values(
    layouts: int, groups: int, seed: int, target: int = MOST_TARGET, threads: int = 1
) -> Iterator[tuple[float, dict[str, Any]]]:
    """Compute the table of a match; yield (finished share, contents of the file) after each entry.

    The layouts are divided into groups, and each group gives a table of its own. The standard error is that of the mean
    of these tables, so it includes the errors that entries inherit from earlier ones.
    """
    sample = deal_layouts(layouts, 9, seed).reshape(groups, -1, 9)
    tables = np.zeros((groups, target + 1, target + 1))
    tables[:, 0, 1:], tables[:, 1:, 0] = 1.0, -1.0
    has_row = rows(3, 3)
    pairs = [(a, b) for a in range(1, target + 1) for b in range(a + 1, target + 1)]  # entries [a, a] are 0
    done = 0
    with ThreadPoolExecutor(threads) as pool:
        # An entry depends on entries in which both players together need fewer points, which therefore come first.
        for a, b in sorted(pairs, key=sum):

            def work(group: int, a: int = a, b: int = b) -> float:
                out = np.empty(sample.shape[1])
                start_values(sample[group], has_row, result_values(tables[group], a, b), out)
                return float(out.mean())

            values = np.array(list(pool.map(work, range(groups))))
            tables[:, a, b], tables[:, b, a] = values, -values
            done += 1
            yield (
                done / len(pairs),
                {
                    "layouts": layouts,
                    "groups": groups,
                    "seed": seed,
                    "values": tables.mean(axis=0).round(6).tolist(),
                    "standard_errors": (tables.std(axis=0, ddof=1) / np.sqrt(groups)).round(6).tolist(),
                },
            )
