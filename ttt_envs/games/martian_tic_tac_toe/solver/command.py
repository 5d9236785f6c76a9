"""The command that `ttt solve` runs for this game: it builds the table of optimal play."""

# mypy: disable-error-code="no-untyped-def"

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from ttt_envs.core.compile.jit import kernel
from ttt_envs.core.oracle import SolveCommand, StageProgress
from ttt_envs.games.martian_tic_tac_toe import rules
from ttt_envs.games.martian_tic_tac_toe.drawing import draw
from ttt_envs.games.martian_tic_tac_toe.rules import EMPTY, NONE, SIZES, SMALL
from ttt_envs.games.martian_tic_tac_toe.solver.positions import (
    CELLS,
    PIECES,
    check_solved,
    digits_of,
    put_boards,
    weights_of_images,
)
from ttt_envs.games.martian_tic_tac_toe.solver.retrograde import DRAWN
from ttt_envs.games.martian_tic_tac_toe.solver.tables import (
    SHIPPED,
    SolvedTable,
    build_table,
    find,
    read_table,
    table_path,
    write_table,
)
from ttt_envs.games.martian_tic_tac_toe.text import cell_names
from ttt_envs.storage.files import check_writable, locked_file, write_whole


@dataclass(frozen=True)
class BuildTable:
    """Describe the table of optimal play of the 3x3 game with two players; build it if requested. The table of the
    usual rules is in the package.
    """

    out: Path | None = None
    """File to write a newly built table to; without it only same_size_swap=true builds one, for the oracle."""
    picture: Path | None = None
    """File to write a picture of a drawn position with few pieces to, as SVG."""

    def run(self, options: Mapping[str, Any], progress: StageProgress) -> str:
        """Run the command; see `ttt_envs.core.oracle.SolveCommand`."""
        check_solved(options["size"], options["players"])
        same_size_swap = options["same_size_swap"]
        path = self.out or table_path(same_size_swap)
        shipped = self.out is None and path == SHIPPED
        for each in (self.picture, None if shipped else path):
            if each is not None:
                check_writable(each)
        if shipped:
            table = read_table(path, same_size_swap)
            lines = [*facts(table), "the table comes with the package; --out FILE builds it anew"]
        else:
            with locked_file(path):
                table = build_table(same_size_swap, progress)
                write_table(path, table, same_size_swap)
            lines = [*facts(table), f"wrote {path}: {path.stat().st_size:,} bytes"]
        if self.picture is not None:
            write_whole(self.picture, drawn_picture(table) + "\n")
            lines.append(f"wrote {self.picture}")
        return "\n".join(lines)


#: The commands of `ttt solve` for this game.
COMMANDS: Mapping[str, type[SolveCommand]] = {"table": BuildTable}


def facts(table: SolvedTable) -> Iterator[str]:
    """Yield lines of text on the openings, and on the numbers of won, lost and drawn positions."""
    digits = np.zeros(CELLS, np.int8)
    for cell, name in enumerate(cell_names(3)):
        digits[:] = EMPTY
        digits[cell] = SIZES + SMALL
        value = find(digits, weights_of_images(), table)
        result = "drawn" if value == DRAWN else f"{'lost' if value % 2 == 0 else 'won'} in {value} plies"
        yield f"opening on {name}: {result}"
    counts = np.zeros(3, np.int64)
    count_all(table, weights_of_images(), counts)
    won, lost, drawn = counts
    yield f"{won:,} positions won by the player to move, {lost:,} lost, {drawn:,} drawn"
    plies = table.values.astype(np.int64) - 1
    yield f"the longest win takes {plies[plies % 2 == 1].max()} plies, the longest loss {plies[plies % 2 == 0].max()}"


@kernel
def count_all(table, weights, counts):
    """Add to `counts`, int64 (3,), the numbers of won, lost and drawn positions, with all symmetric images."""
    digits, images = np.empty(CELLS, np.int8), np.empty(8, np.int64)
    at = 0
    for word in range(table.present.shape[0]):
        for bit in range(64):
            if not (table.present[word] >> np.uint64(bit)) & np.uint64(1):
                continue
            digits_of(64 * word + bit, digits)
            different = 0
            for symmetry in range(8):
                images[symmetry] = 0
                for cell in range(CELLS):
                    images[symmetry] += digits[cell] * weights[symmetry, cell]
                new = True
                for other in range(symmetry):
                    new = new and images[other] != images[symmetry]
                different += new
            value = np.int64(table.values[at])
            counts[2 if value == DRAWN else value % 2] += different
            at += 1


@kernel
def emptiest_drawn(table, digits):
    """Write to `digits`, int8 (9,), the first of the drawn positions with the fewest pieces."""
    trial, most, at = np.empty(CELLS, np.int8), -1, 0
    for word in range(table.present.shape[0]):
        for bit in range(64):
            if (table.present[word] >> np.uint64(bit)) & np.uint64(1):
                if table.values[at] == DRAWN:
                    digits_of(64 * word + bit, trial)
                    empty = (trial == EMPTY).sum()
                    if empty > most:
                        most = empty
                        digits[:] = trial
                at += 1


def drawn_picture(table: SolvedTable) -> str:
    """Return SVG of the position of `emptiest_drawn`, with red to move."""
    digits = np.empty(CELLS, np.int8)
    emptiest_drawn(table, digits)
    states = np.zeros(1, rules.state_dtype_for(PIECES, 2, False))
    states["size"] = states["line"] = PIECES
    states["ply"], states["last_action"] = CELLS, NONE
    put_boards(states, digits[None], 0)
    return draw(states[0])
