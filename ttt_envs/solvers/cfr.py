"""CFR+: an equilibrium of a small two-player zero-sum game, with its exploitability measured exactly.

    python -m ttt_envs.solvers.cfr --target 1e-3 --game tic_tac_match --option max_turns=3 --option colours=1 \\
        --option copies=4 --option flips=1 --option wipe_outs=0 --option double_plays=0 --option hand_size=2

The same in Python:

    import ttt_envs
    from ttt_envs.solvers import cfr, tree

    solver = cfr.Solver(tree.walk(ttt_envs.load("some_game", max_turns=3)))
    solver.run(1000)
    print(solver.exploitability().value)

Counterfactual regret minimisation plus (Tammelin, "Solving large imperfect information games using CFR+", 2014;
Tammelin, Burch, Johanson and Bowling, "Solving heads-up limit Texas hold'em", IJCAI 2015): in each information set
actions are taken in proportion to their regret, which is never let below zero (regret matching+); the players are
updated in turn; the policy of iteration t counts t times in the average. Here it runs on the sequence form (see
`ttt_envs.solvers.tree`), in which an update is one pass over the payoffs and one over the information sets; what it
computes is
the same as on the tree. Nothing is drawn at random: the same game gives the same numbers.

**Exploitability** is the mean over both seats of what a best response wins against the average policy, in units of
reward, NashConv the sum. For an equilibrium, and nothing else, it is 0. The value of the game lies between what the two
best responses say.
"""

import io
import json
import shlex
import sys
import time
import zipfile
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Annotated, Any

import numpy as np
import tyro
from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

import ttt_envs
from ttt_envs.core import jit
from ttt_envs.core.files import write_whole
from ttt_envs.core.game import Game
from ttt_envs.evaluation.report import Table, write_json
from ttt_envs.registry import parse_options
from ttt_envs.solvers import tree
from ttt_envs.solvers.tree import Decisions, Exploitability, Tree

# --- the solver ---


@jit.kernel
def match_regrets(sets, regrets, policy, plan):  # type: ignore[no-untyped-def]
    """Policy and plan by regret matching: all float64 (sequences,), regrets not negative."""
    policy[0] = plan[0] = 1.0
    for k in range(sets.shape[0]):
        first, count, total = sets[k]["first"], sets[k]["count"], 0.0
        before = plan[sets[k]["parent"]]
        for s in range(first, first + count):
            total += regrets[s]
        for s in range(first, first + count):
            policy[s] = regrets[s] / total if total > 0.0 else 1.0 / count
            plan[s] = before * policy[s]


@jit.kernel
def update_regrets(sets, values, policy, regrets):  # type: ignore[no-untyped-def]
    """Add what each action is worth more than the policy, and let no regret fall below 0.

    `values`, float64 (sequences,) by `tree.fill_payoffs`, become what each sequence is worth if the policy goes on.
    """
    for k in range(sets.shape[0] - 1, -1, -1):
        first, end, mean = sets[k]["first"], sets[k]["first"] + sets[k]["count"], 0.0
        for s in range(first, end):
            mean += policy[s] * values[s]
        for s in range(first, end):
            regrets[s] = max(regrets[s] + values[s] - mean, 0.0)
        values[sets[k]["parent"]] += mean


class _Learner:
    """One player's side of CFR+; all arrays float64 (sequences,).

    Attributes:
        regrets: of each action, against the policy, never negative.
        policy, plan: the present ones.
        total: the weighted sum of all plans so far.
    """

    def __init__(self, mine: Decisions) -> None:
        self.mine = mine
        self.regrets, self.policy, self.plan, self.total = (np.zeros(mine.sequences) for _ in range(4))
        match_regrets(mine.sets, self.regrets, self.policy, self.plan)

    def learn(self, plan: np.ndarray) -> None:
        """Meet the other player's plan."""
        update_regrets(self.mine.sets, tree.payoffs(self.mine, plan), self.policy, self.regrets)
        match_regrets(self.mine.sets, self.regrets, self.policy, self.plan)


class Solver:
    """CFR+ on a tree.

    Attributes:
        tree: that is solved.
        iterations: done so far.
    """

    def __init__(self, found: Tree) -> None:
        """Start with the uniform policy."""
        self.tree = found
        self.iterations = 0
        self._learners = [_Learner(mine) for mine in found.players]

    def run(self, iterations: int) -> None:
        """Go on for so many iterations. Who interrupts it loses the last one alone."""
        first, second = self._learners
        for _ in range(iterations):
            first.learn(second.plan)
            second.learn(first.plan)
            weight = self.iterations + 1
            for each in (first, second):
                each.total += weight * each.plan
            self.iterations = weight

    def average(self) -> tuple[np.ndarray, np.ndarray]:
        """The average policy, which converges to an equilibrium; at first, and where it never goes, uniform."""
        first, second = (np.empty_like(each.policy) for each in self._learners)
        for each, policy in zip(self._learners, (first, second), strict=True):
            tree.fill_policy(each.mine.sets, each.total, policy)
        return first, second

    def exploitability(self) -> Exploitability:
        """Of the average policy, exactly."""
        return tree.exploitability(self.tree, self.average())


def save_policy(path: Path, found: Tree, policy: Sequence[np.ndarray], **facts: Any) -> None:
    """Write a policy as .npz, whole or not at all: numbers and text alone, nothing that could run when it is loaded.

    For each player p the file has, one row an information set, `digests_p` (what the player knows there, see
    `ttt_envs.solvers.tree`), `plies_p` and `counts_p` (of its actions), and, one entry an action of a set, `actions_p`
    and `probabilities_p`. `facts` is JSON: the game, its options, and what is given here.
    """
    given = {"game": found.game.id, "options": dict(found.game.options), **facts}
    arrays: dict[str, Any] = {"facts": np.array(json.dumps(given))}
    for player, (mine, part) in enumerate(zip(found.players, policy, strict=True)):
        arrays |= {
            f"digests_{player}": mine.digests,
            f"plies_{player}": mine.plies,
            f"counts_{player}": mine.sets["count"],
            f"actions_{player}": mine.actions[1:],
            f"probabilities_{player}": part[1:],
        }
    data = io.BytesIO()
    np.savez_compressed(data, **arrays)
    write_whole(path, data.getvalue())


def load_policy(path: Path, found: Tree) -> tuple[np.ndarray, np.ndarray]:
    """A policy written by `save_policy`, for the same game; FileNotFoundError, or ValueError in words."""
    try:
        with np.load(path, allow_pickle=False) as file:
            arrays = {name: file[name] for name in file.files}
        both = [[arrays[f"{name}_{player}"] for name in ("digests", "actions", "probabilities")] for player in (0, 1)]
    except FileNotFoundError:
        raise
    except (OSError, EOFError, KeyError, TypeError, AttributeError, ValueError, zipfile.BadZipFile) as error:
        raise ValueError(f"{path} is damaged, or was not written by ttt_envs.solvers.cfr ({error})") from None
    parts = []
    for mine, (digests, actions, probabilities) in zip(found.players, both, strict=True):
        if not (np.array_equal(digests, mine.digests) and np.array_equal(actions, mine.actions[1:])):
            raise ValueError(f"{path} is no policy for {found.game!r}: its information sets are others")
        parts.append(np.concatenate([[1.0], probabilities]))
    return parts[0], parts[1]


# --- the command ---


@dataclass
class Config:
    """Find an equilibrium of a small two-player zero-sum game. Interrupted (Ctrl-C), it keeps what is done."""

    game: str
    """Id of the game."""
    option: Annotated[tuple[str, ...], tyro.conf.UseAppendAction] = ()
    """An option of the game, as name=value; may be repeated. It takes options that make the game small."""
    iterations: int = 1000
    """Iterations of CFR+ at most."""
    target: float | None = None
    """Stop once the exploitability, in units of reward, is not above this."""
    limit: int = tree.LIMIT
    """Positions of the game's tree at most."""
    out: Path | None = Path("runs/cfr")
    """Folder for report.md, results.json, exploitability.csv, exploitability.png and policy.npz."""


@dataclass(frozen=True)
class Measurement:
    """Of the average policy after so many iterations.

    Attributes:
        iteration: done by then.
        seconds: spent on iterations by then, without the walk through the tree and the measurements.
        exploitability, nash_conv: see `tree.Exploitability`.
        best_response_0, best_response_1: what each player gets at best against the policy.
        expected: what player 0 gets if both follow it.
    """

    iteration: int
    seconds: float
    exploitability: float
    nash_conv: float
    best_response_0: float
    best_response_1: float
    expected: float


@dataclass
class Report:
    """What the command found.

    Attributes:
        config: of the run.
        tree: that was solved.
        policy: the last average policy.
        measurements: at least one.
        walk_seconds: of the walk through the tree.
        complete: False if it was interrupted.
        folder: where the files are, or None.
    """

    config: Config
    tree: Tree
    policy: tuple[np.ndarray, np.ndarray]
    measurements: list[Measurement]
    walk_seconds: float
    complete: bool
    folder: Path | None = None

    @property
    def command(self) -> str:
        """The command line that makes this report."""
        config = self.config
        words = ["python", "-m", "ttt_envs.solvers.cfr", "--game", config.game]
        for option in config.option:
            words += ["--option", option]
        words += ["--iterations", str(config.iterations)]
        if config.target is not None:
            words += ["--target", str(config.target)]
        if config.limit != tree.LIMIT:
            words += ["--limit", str(config.limit)]
        if config.out is not None:
            words += ["--out", str(config.out)]
        return shlex.join(words)

    @property
    def reached(self) -> bool:
        """Whether the target, if there is one, was reached."""
        return self.config.target is None or self.measurements[-1].exploitability <= self.config.target

    def tables(self) -> list[Table]:
        """How the exploitability fell, and the tree."""
        shown = [each for k, each in enumerate(self.measurements[::-1]) if k % 5 == 0][::-1]
        rows = [
            [
                str(m.iteration),
                f"{m.exploitability:.2e}",
                f"{m.nash_conv:.2e}",
                f"{-m.best_response_1:.6f}",
                f"{m.best_response_0:.6f}",
                f"{m.seconds:.1f}",
            ]
            for m in shown
        ]
        note = (
            "Of the average policy: what a best response wins against it, in units of reward, as the mean over both "
            "seats (exploitability) and as the sum (NashConv). The value of the game for player_0 lies between low and "
            "high, what the two best responses say. Seconds: of the iterations alone."
        )
        header = ["iteration", "exploitability", "NashConv", "low", "high", "seconds"]
        solved = Table("Exploitability", header, rows, note)
        rows = [
            [f"player_{player}", str(len(mine.sets)), str(mine.sequences - 1)]
            for player, mine in enumerate(self.tree.players)
        ]
        note = (
            f"{self.tree.positions} positions, {self.tree.finished} of them finished games, the longest of "
            f"{self.tree.plies} plies; walked through in {self.walk_seconds:.1f} s."
        )
        return [solved, Table("Tree", ["", "information sets", "actions in them"], rows, note)]

    def remarks(self) -> list[str]:
        """Sentences about what the numbers do not say."""
        if self.reached:
            return []
        wanted, last = self.config.target, self.measurements[-1]
        return [
            f"The target {wanted:g} was not reached: after {last.iteration} iterations it is {last.exploitability:.2e}."
        ]

    def markdown(self) -> str:
        """The report."""
        game = self.tree.game
        lines = [f"# Equilibrium by CFR+: {game.title}", ""]
        if not self.complete:
            lines += ["**Partial: it was interrupted. Only the iterations finished by then count.**", ""]
        options = ", ".join(f"`{name}={value}`" for name, value in game.options.items())
        lines += [f"Options: {options or 'none'}.", "", "```", self.command, "```", ""]
        if self.folder is not None:
            lines += ["![exploitability by iteration](exploitability.png)", ""]
        remarks = [f"- {remark}" for remark in self.remarks()]
        lines += [*remarks, *([""] if remarks else []), *(table.markdown() for table in self.tables())]
        return "\n".join(lines)

    def json(self) -> dict[str, Any]:
        """The results for programs, as in results.json."""
        found = self.tree
        return {
            "game": found.game.id,
            "options": dict(found.game.options),
            "command": self.command,
            "version": ttt_envs.__version__,
            "complete": self.complete,
            "reached": self.reached,
            "positions": found.positions,
            "finished": found.finished,
            "plies": found.plies,
            "information_sets": [len(mine.sets) for mine in found.players],
            "walk_seconds": self.walk_seconds,
            "measurements": [asdict(each) for each in self.measurements],
        }

    def save(self, folder: Path) -> None:
        """Write all files into `folder`, each whole or not at all."""
        self.folder = folder
        last = self.measurements[-1]
        facts = {"iterations": last.iteration, "exploitability": last.exploitability}
        save_policy(folder / "policy.npz", self.tree, self.policy, **facts)
        names = list(Measurement.__dataclass_fields__)
        rows = [",".join(str(getattr(each, name)) for name in names) for each in self.measurements]
        write_whole(folder / "exploitability.csv", "\n".join([",".join(names), *rows]) + "\n")
        draw_curve(folder / "exploitability.png", self)
        write_whole(folder / "report.md", self.markdown())
        write_json(folder / "results.json", self.json())


def draw_curve(path: Path, report: Report) -> None:
    """Exploitability by iteration as PNG, both axes logarithmic."""
    from matplotlib.figure import Figure

    # An equilibrium that is met exactly has no logarithm.
    points = [(m.iteration, m.exploitability) for m in report.measurements if m.exploitability > 1e-12]
    figure = Figure(figsize=(7, 4), dpi=120, layout="constrained")
    axes = figure.subplots()
    title = f"{report.tree.game.title}: CFR+ on {report.tree.positions:,} positions"
    axes.set(title=title, xlabel="iteration", ylabel="exploitability (reward)")
    axes.plot(
        [each[0] for each in points], [each[1] for each in points], marker="o", markersize=3, label="average policy"
    )
    if points:
        axes.set(xscale="log", yscale="log")
    if report.config.target:
        axes.axhline(report.config.target, color="grey", linewidth=0.8, linestyle=":", label="target")
    axes.grid(alpha=0.3, which="both")
    axes.legend(loc="lower left")
    picture = io.BytesIO()
    figure.savefig(picture, format="png")
    write_whole(path, picture.getvalue())


def measured(solver: Solver, seconds: float) -> Measurement:
    """The exploitability now."""
    found = solver.exploitability()
    return Measurement(solver.iterations, seconds, found.value, found.nash_conv, *found.best_responses, found.expected)


def solve(
    solver: Solver, iterations: int, target: float | None, tell: Callable[[Measurement | None], None]
) -> tuple[list[Measurement], bool]:
    """Iterate up to `iterations` or to the target; the measurements, and whether it was not interrupted.

    Measured ever less often: after 1, 2, ... 8 iterations, and then about every eighth part more. `tell` is told after
    each iteration, and of each measurement.
    """
    measurements: list[Measurement] = []
    seconds, complete = 0.0, False
    try:
        while solver.iterations < iterations:
            for _ in range(min(solver.iterations // 8 + 1, iterations - solver.iterations)):
                started = time.perf_counter()
                solver.run(1)
                seconds += time.perf_counter() - started
                tell(None)
            measurements.append(measured(solver, seconds))
            tell(measurements[-1])
            if target is not None and measurements[-1].exploitability <= target:
                break
        complete = True
    except (KeyboardInterrupt, SystemExit):
        if not solver.iterations:
            raise
        if not measurements or measurements[-1].iteration < solver.iterations:
            measurements.append(measured(solver, seconds))
    return measurements, complete


def run(config: Config, game: Game | None = None, *, quiet: bool = False) -> Report:
    """Solve the game, and write the files unless `config.out` is None.

    Args:
        config: what to do.
        game: one that exists already, in the place of that in `config`.
        quiet: no progress shown.

    Raises:
        ValueError, TypeError: wrong settings, or a game that cannot be solved like this.
        KeyboardInterrupt: interrupted before anything was finished. Later, an interrupt gives a partial report.
    """
    if isinstance(config.iterations, bool) or not isinstance(config.iterations, int) or config.iterations < 1:
        raise ValueError(f"iterations must be a whole number of at least 1, not {config.iterations!r}")
    if config.target is not None and not config.target > 0:
        raise ValueError(f"target must be more than 0, not {config.target!r}")
    if game is None:
        game = ttt_envs.load(config.game, **parse_options(config.game, config.option))
    started = time.perf_counter()
    solver = Solver(tree.walk_shown(game, config.limit, quiet=quiet))
    walk_seconds = time.perf_counter() - started
    columns = (
        TextColumn("{task.description}"),
        BarColumn(),
        MofNCompleteColumn(),
        TextColumn("iterations"),
        TimeRemainingColumn(),
    )
    with Progress(*columns, console=Console(stderr=True), disable=quiet, transient=True) as bar:
        task = bar.add_task("CFR+", total=config.iterations)

        def tell(measurement: Measurement | None) -> None:
            if measurement is None:
                bar.update(task, completed=solver.iterations)
            else:
                bar.update(task, description=f"exploitability {measurement.exploitability:.1e}")

        measurements, complete = solve(solver, config.iterations, config.target, tell)
    report = Report(config, solver.tree, solver.average(), measurements, walk_seconds, complete)
    if config.out is not None:
        report.save(config.out)
    return report


def main(arguments: Sequence[str] | None = None) -> int:
    """The command line; returns the exit status."""
    config = tyro.cli(Config, args=arguments, prog="python -m ttt_envs.solvers.cfr", description=Config.__doc__)
    console, errors = Console(), Console(stderr=True)
    try:
        report = run(config)
    except (ValueError, TypeError, OSError) as error:
        errors.print(f"error: {error}", style="red", markup=False, highlight=False)
        return 2
    except KeyboardInterrupt:
        errors.print("interrupted before any iteration was finished: nothing is written")
        return 130
    for table in report.tables():
        console.print()
        console.print(table.rich())
    for remark in report.remarks():
        console.print(remark, style="yellow", markup=False, highlight=False)
    if not report.complete:
        console.print("Partial: interrupted; only the iterations finished by then count.", style="yellow")
    if report.folder is not None:
        console.print(
            f"report.md, results.json, exploitability.csv, exploitability.png and policy.npz are in {report.folder}",
            highlight=False,
        )
    return 0 if report.complete else 130


if __name__ == "__main__":
    sys.exit(main())
