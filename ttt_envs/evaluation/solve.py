"""Solve a small game: optimal play with perfect information, otherwise an equilibrium by PCFR+.

from ttt_envs import evaluation

report = evaluation.solve("some_game", max_turns=3, iterations=1000)
print(report.points[-1].exploitability)
"""

import time
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np

from ttt_envs.agents.solved import FILE
from ttt_envs.core.chance import chance_of
from ttt_envs.core.game import Game
from ttt_envs.core.options import MOST, within
from ttt_envs.core.positions import FILE as POSITIONS
from ttt_envs.core.positions import Positions, oracle_of, write_positions
from ttt_envs.evaluation.reports.progress import Work
from ttt_envs.evaluation.reports.report import Arguments, Report, Table
from ttt_envs.registry import game_for
from ttt_envs.solvers import positions, sequence, tree
from ttt_envs.solvers.cfr import Point, Solver
from ttt_envs.solvers.sequence import Tree
from ttt_envs.storage.files import new_folder
from ttt_envs.storage.rows import flat


def walk_shown(game: Game, limit: int = tree.LIMIT, *, quiet: bool = False) -> Tree:
    """Return `tree.walk`, with its progress on the terminal."""
    trees = list[Tree]()
    with Work(trees, "positions", hidden=quiet) as work:

        def progress(ply: int, n: int) -> None:
            work.update(ply, f"walking through the tree: ply {ply}, {n:,} positions")

        trees.append(tree.walk(game, limit=limit, progress=progress))
    return trees[0]


@dataclass(kw_only=True)
class SolveReport(Report):
    """An approximate equilibrium, and the progress of PCFR+.

    Attributes:
        tree: the solved tree.
        policy: the final average policy.
        points: the measured exploitability of the average policy over the iterations, at least one point.
        walk_seconds: time of the walk through the tree.
    """

    tree: Tree
    policy: tuple[np.ndarray, np.ndarray]
    points: list[Point]
    walk_seconds: float

    verb, title, unit = "solve", "Equilibrium by PCFR+", "iterations"
    files = ("report.md", "results.json", FILE)

    @property
    def reached(self) -> bool:
        """Whether the target, if any, was reached."""
        target = self.settings["target"]
        return target is None or self.points[-1].exploitability <= target

    def tables(self) -> list[Table]:
        """Return the tables of the exploitability over the iterations and of the tree."""
        rows = [
            [
                str(each.iteration),
                f"{each.exploitability:.2e}",
                f"{each.nash_conv:.2e}",
                f"{-each.best_response_1:.6f}",
                f"{each.best_response_0:.6f}",
                f"{each.seconds:.1f}",
            ]
            for each in self.points[::-5][::-1]
        ]
        note = (
            "Of the average policy: what a best response wins against it, in units of reward, as the mean over both "
            "seats (exploitability) and as the sum (NashConv). The value of the game for player_0 lies between low and "
            "high, what the two best responses say. Seconds: of the iterations alone."
        )
        header = ["iteration", "exploitability", "NashConv", "low", "high", "seconds"]
        solved = Table("Exploitability", header, rows, note)
        sides = enumerate(self.tree.players)
        sizes = [[f"player_{k}", str(len(mine.sets)), str(mine.sequences - 1)] for k, mine in sides]
        note = (
            f"{self.tree.positions} positions, {self.tree.finished} of them finished games, the longest of "
            f"{self.tree.plies} plies; walked through in {self.walk_seconds:.1f} s."
        )
        return [solved, Table("Tree", ["", "information sets", "actions in them"], sizes, note)]

    def remarks(self) -> list[str]:
        """Return a warning if the target was not reached."""
        if self.reached:
            return []
        last = self.points[-1]
        told = f"after {last.iteration} iterations it is {last.exploitability:.2e}"
        return [f"The target {self.settings['target']:g} was not reached: {told}."]

    def data(self) -> dict[str, Any]:
        """Return the curve and the size of the tree."""
        return {
            "reached": self.reached,
            "positions": self.tree.positions,
            "finished": self.tree.finished,
            "plies": self.tree.plies,
            "information_sets": [len(mine.sets) for mine in self.tree.players],
            "walk_seconds": self.walk_seconds,
            "points": [asdict(each) for each in self.points],
        }

    def rows(self) -> list[dict[str, Any]]:
        """Return one row per measurement."""
        return [flat(asdict(each)) for each in self.points]

    def save_others(self, folder: Path) -> None:
        """Write the policy and report.md."""
        last = self.points[-1]
        facts = {"iterations": last.iteration, "exploitability": last.exploitability}
        sequence.save_policy(folder / FILE, self.tree, self.policy, **facts)
        super().save_others(folder)


@dataclass(kw_only=True)
class PositionsReport(Report):
    """Optimal play in all positions of a game of perfect information.

    Attributes:
        solved: the solved positions; see `ttt_envs.core.positions`.
        value: player_0's expected reward from the start under optimal play by both.
    """

    solved: Positions
    value: float

    verb, title, unit = "solve", "Optimal play", "positions"
    files = ("report.md", "results.json", POSITIONS)

    def tables(self) -> list[Table]:
        """Return one table with the value of the game and the number of its positions."""
        numbers = [[name.replace("_", " "), f"{number:,}"] for name, number in self._numbers().items()]
        note = "Of positions that a symmetry of the board turns into each other, one counts; finished games do not."
        return [
            Table("Optimal play", ["", ""], [["value of the game for player_0", f"{self.value:+.6g}"], *numbers], note)
        ]

    def _numbers(self) -> dict[str, int]:
        values = self.solved.values
        found = {"positions": len(values)}
        if values.dtype == np.int8:
            found |= {"the_first_side_wins": (values > 0).sum(), "draws": (values == 0).sum()}
            found |= {
                "the_second_side_wins": (values < 0).sum(),
                "plies_of_the_longest_win": self.solved.plies.max(),
            }
        return {name: int(number) for name, number in found.items()}

    def data(self) -> dict[str, Any]:
        """Return the figures of `tables`."""
        return {"value": self.value, **self._numbers()}

    def rows(self) -> list[dict[str, Any]]:
        """Return one row."""
        return [self.data()]

    def save_others(self, folder: Path) -> None:
        """Write the positions and report.md."""
        write_positions(folder / POSITIONS, self.game, self.solved)
        super().save_others(folder)


def _solve_positions(game: Game, settings: Arguments, limit: int, quiet: bool) -> PositionsReport:
    found = list[Positions]()
    with Work(found, "positions", hidden=quiet) as work:
        found.append(positions.solve(game, limit=limit, progress=lambda what: work.update(0, what)))
    chances, starts = chance_of(game).starts()
    value = float(chances @ oracle_of(game, lambda: found[0]).value(starts, 0))
    return PositionsReport(game=game, settings=settings, seconds=work.seconds, solved=found[0], value=value)


def solve(
    game: str | Game,
    *,
    iterations: int = 1000,
    target: float | None = None,
    limit: int = tree.LIMIT,
    out: str | Path | None = None,
    quiet: bool = False,
    **options: Any,
) -> SolveReport | PositionsReport:
    """Solve a small zero-sum game of two sides.

    A game of perfect information in which one player acts at a time is solved in every position. For other games PCFR+
    computes an equilibrium on the tree. Its exploitability is measured after each of the first 8 iterations, then
    whenever their number has grown by about an eighth.

    Args:
        game: an id, or a Game.
        iterations: the most iterations of PCFR+.
        target: stop PCFR+ when the exploitability, in reward units, is at most this.
        limit: the most positions: distinct ones with perfect information, else nodes of the game's tree.
        out: folder for report.md, results.json and positions.safetensors or policy.safetensors; None writes nothing.
        quiet: no progress bar.
        options: options of the game, if `game` is an id.

    Raises:
        ValueError, TypeError: wrong settings, or a game that cannot be solved like this.
        FileExistsError, InUse, NotSaved: `out` holds files, is in use, or cannot be written; NotSaved has the report.
        KeyboardInterrupt: interrupted before anything was finished. A later interrupt returns a partial report.
    """
    settings = Arguments(solve, locals())
    within(1, MOST, iterations=iterations)
    if target is not None and not target > 0:
        raise ValueError(f"target must be more than 0, not {target!r}")
    game = game_for(solve, game, options)
    with new_folder(out) as folder:
        if not game.hidden_information and not game.simultaneous:
            return _solve_positions(game, settings, limit, quiet).kept(folder)
        started = time.perf_counter()
        solver, points = Solver(walk_shown(game, limit, quiet=quiet)), list[Point]()
        walk_seconds = time.perf_counter() - started
        with Work(points, "iterations", iterations, hidden=quiet) as work:
            try:
                while solver.iterations < iterations and not (
                    target and points and points[-1].exploitability <= target
                ):
                    for _ in range(min(solver.iterations // 8 + 1, iterations - solver.iterations)):
                        solver.run(1)
                        work.update(solver.iterations)
                    points.append(solver.point())
                    work.update(solver.iterations, f"exploitability {points[-1].exploitability:.1e}")
            finally:
                if solver.iterations > (points[-1].iteration if points else 0):
                    points.append(solver.point())
        return SolveReport(
            game=game,
            settings=settings,
            complete=work.complete,
            seconds=walk_seconds + work.seconds,
            tree=solver.tree,
            policy=solver.average(),
            points=points,
            walk_seconds=walk_seconds,
        ).kept(folder)
