"""The commands that `ttt solve` runs for these games: single layouts, and the table of values of a match."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import joblib
import numpy as np

from ttt_envs.core.batch import Batch
from ttt_envs.core.game import Game
from ttt_envs.core.oracle import SolveCommand, StageProgress
from ttt_envs.core.view import View
from ttt_envs.games.tic_tac_dice import rules
from ttt_envs.games.tic_tac_dice.rules import ROW_POINTS
from ttt_envs.games.tic_tac_dice.solver.match import make_match_values
from ttt_envs.games.tic_tac_dice.solver.oracle import DiceOracle
from ttt_envs.games.tic_tac_dice.solver.rounds import ROUND_PAYOFFS, deal_layouts
from ttt_envs.games.tic_tac_dice.solver.tables import MATCH_VALUES, write_match_values
from ttt_envs.games.tic_tac_dice.text import action_names, check_ranks
from ttt_envs.storage.files import check_writable, locked_file


@dataclass(frozen=True)
class Layout:
    """Solve a single round on one layout of cards, 3x3 or 4x4: its value and the best first claims."""

    ranks: tuple[int, ...] | None = None
    """Ranks of the cards, row by row; without them a layout is dealt at random."""
    seed: int = 0
    """Seed for dealing the layout."""

    def run(self, options: Mapping[str, Any], progress: StageProgress) -> str:
        """Run the command; see `ttt_envs.core.oracle.SolveCommand`."""
        _check_seed(self.seed)
        size, win_length = options["size"], options["win_length"]
        oracle, ranks = DiceOracle(size, win_length), self._ranks(size)
        values = oracle.solution(ranks, ROUND_PAYOFFS, lambda share: progress("solving the layout", share))
        lines = ["  ".join(str(rank) for rank in row) for row in ranks.reshape(size, size)]
        value = values[0, 0]
        lines.append(f"value for the player about to roll: {value:+.6f} (points: {ROW_POINTS * value:+.6f})")
        names = action_names(size)
        states = np.zeros(1, rules.STATE[size])
        states["size"], states["win_length"], states["rank"] = size, win_length, ranks
        for one in range(1, 7):
            for two in range(one, 7):
                states["dice"] = one, two
                if not np.isin(ranks, (one, two, one + two)).any():
                    lines.append(f"{one} {two}: nothing to claim")
                    continue
                after = oracle.action_values(states, 0)[0]
                best = int(np.nanargmax(after))
                lines.append(f"{one} {two}: {names[best]} ({ranks[best]}), {after[best]:+.6f}")
        return "\n".join(lines)

    def regrets(self, game: Game, players: Sequence[Callable[[View], np.ndarray]], games: int) -> np.ndarray:
        """Return each player's mean loss per round against optimal play, float64 (players,), over both seats.

        Args:
            game: the game, with rounds="single".
            players: callbacks with the signature of `Agent.act`; each plays both seats.
            games: number of rounds that each callback plays.

        Raises ValueError for a game with rounds="match", or a layout that the deck cannot deal.
        """
        _check_seed(self.seed)
        if game.options["rounds"] != "single":
            raise ValueError(f"layouts are solved for single rounds, not for {game}")
        size = game.options["size"]
        oracle, ranks = DiceOracle(size, game.options["win_length"]), self._ranks(size)
        lost = np.zeros(len(players))
        for k, act in enumerate(players):
            batch = Batch(game, games, seed=self.seed)
            for state in batch.states:
                state["rank"] = ranks
                rules.roll(state)
            while len(going := np.flatnonzero(~batch.states["done"])):
                values = oracle.action_values(batch.states[going], batch.to_move[going])
                actions = act(batch.view(rows=going))
                lost[k] += (np.nanmax(values, axis=1) - values[np.arange(len(going)), actions]).sum()
                batch.step(actions, going)
        return lost / games / game.num_players

    def _ranks(self, size: int) -> np.ndarray:
        return deal_layouts(1, size**2, self.seed)[0] if self.ranks is None else check_ranks(self.ranks, size)


@dataclass(frozen=True)
class MatchValues:
    """Compute the table of values of a match on the 3x3 board, from a sample of layouts."""

    layouts: int = 4096
    """Number of layouts in the sample."""
    groups: int = 16
    """Number of parts of the sample, from which the standard errors are estimated."""
    seed: int = 0
    """Seed for dealing the sample."""
    threads: int = joblib.cpu_count()
    """Number of threads that share the work."""
    out: Path = Path(MATCH_VALUES.name)
    """File to write the table to."""

    def run(self, options: Mapping[str, Any], progress: StageProgress) -> str:
        """Run the command; see `ttt_envs.core.oracle.SolveCommand`."""
        _check_seed(self.seed)
        if options["size"] != 3:
            raise NotImplementedError(f"no table of a match for size={options['size']}: it is made for size=3")
        if self.groups < 2:
            raise ValueError(f"--groups must be at least 2, not {self.groups}")
        if self.layouts < self.groups or self.layouts % self.groups:
            raise ValueError(f"--layouts must be a multiple of --groups, {self.groups}, not {self.layouts}")
        if self.threads < 1:
            raise ValueError(f"--threads must be at least 1, not {self.threads}")
        check_writable(self.out)
        with locked_file(self.out):
            tables: dict[str, Any] = {}
            for share, table in make_match_values(self.layouts, self.groups, self.seed, threads=self.threads):
                progress("solving layouts", share)
                tables = table
            write_match_values(self.out, tables)
        return f"wrote {self.out}; largest standard error {np.max(tables['standard_errors']):.6f}"


def _check_seed(seed: int) -> None:
    if seed < 0:
        raise ValueError(f"--seed must be at least 0, not {seed}")


#: The commands of `ttt solve` for these games.
COMMANDS: Mapping[str, type[SolveCommand]] = {"layout": Layout, "match-values": MatchValues}
