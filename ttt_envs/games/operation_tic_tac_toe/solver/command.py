"""The commands that `ttt solve` runs for this game."""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from ttt_envs.core.oracle import SolveCommand, StageProgress
from ttt_envs.games.operation_tic_tac_toe.solver.positions import SINGLE_HANDS
from ttt_envs.games.operation_tic_tac_toe.solver.rounds import Rounds
from ttt_envs.games.operation_tic_tac_toe.solver.tables import SHIPPED, make_tables, table_path, write_tables
from ttt_envs.storage.files import check_writable, locked_file


@dataclass(frozen=True)
class RoundValues:
    """Compute the values of rounds with which matches are solved, and write them to a file."""

    overtime: bool = False
    """Include the rounds with two specialists per player, which takes 18 minutes of CPU time and 6.1 GiB."""
    out: Path | None = None
    """File to write the values to; without it, the one in which the oracle looks for them."""

    def run(self, options: Mapping[str, Any], progress: StageProgress) -> str:
        """Run the command; see `ttt_envs.core.oracle.SolveCommand`."""
        idle_turns, allow_pass = options["max_idle_turns"], options["allow_pass"]
        path = self.out or table_path(idle_turns, allow_pass)
        if self.out is None and path == SHIPPED:
            raise ValueError("the values for these options come with the package: give --out to write others")
        check_writable(path)
        with locked_file(path):
            made = make_tables(idle_turns, allow_pass, self.overtime, progress)
            write_tables(path, *made, idle_turns, allow_pass)
        return f"wrote {path}: {path.stat().st_size:,} bytes"


@dataclass(frozen=True)
class Bluffing:
    """Compute the value of a round for a player who does not mix, so that the other player can predict every choice."""

    def run(self, options: Mapping[str, Any], progress: StageProgress) -> str:
        """Run the command; see `ttt_envs.core.oracle.SolveCommand`."""
        rules = SINGLE_HANDS, options["max_idle_turns"], options["allow_pass"]
        mixed, foretold = Rounds(*rules, np.zeros(1)), Rounds(*rules, np.zeros(2), open_hand=True)
        pairs = [(0, 0), *((own, other) for own in SINGLE_HANDS[1:] for other in SINGLE_HANDS[1:])]
        found = []
        for own, other in pairs:
            for rounds in (mixed, foretold):
                rounds.ensure(own, other)
            value, (placing, predicting) = mixed.start_values(own, other)[0], foretold.start_values(own, other)
            found.append((value, placing, -value, -predicting))
            progress("pairs of specialists", len(found) / len(pairs))
        specialists = np.array(found[1:])
        rows = {"spies alone": found[0], "mean of 64 pairs": specialists.mean(axis=0), "best": specialists.max(axis=0)}
        return "\n".join(
            "{}: the first Placer gets {:+.3f}, foretold {:+.3f}; the other {:+.3f}, foretold {:+.3f}".format(
                name, *row
            )
            for name, row in rows.items()
        )


#: The commands of `ttt solve` for this game.
COMMANDS: Mapping[str, type[SolveCommand]] = {"bluffing": Bluffing, "round-values": RoundValues}
