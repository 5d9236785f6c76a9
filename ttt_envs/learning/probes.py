"""Probes measure a learner while it trains. Any learner that gives an `Agent` can use them::

    from ttt_envs.learning.probes import Probes, Score

    probes = Probes([Score(game, every=1000, agents=["random", "greedy"])], "runs/mine", progress=print)
    for step in range(10_000):
        ...  # learn
        probes.measure(agent, step)  # those that are due; curve.csv is brought up to date, curve.png now and then
    probes.measure(agent, step, last=True)

A metric of your own is a subclass of `Probe`: a dataclass for its rows, `measure`, and `draw`.
"""

import time
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Any, ClassVar

import numpy as np

from ttt_envs import agents
from ttt_envs.agents import Agent
from ttt_envs.core.game import Game
from ttt_envs.core.options import within
from ttt_envs.evaluation.arena.play import game_seeds, play_games
from ttt_envs.evaluation.best_play import measure as measure_regret
from ttt_envs.evaluation.best_response import STARTS, tree_for
from ttt_envs.evaluation.best_response import measure as measure_exploitability
from ttt_envs.evaluation.judging import oracle_of
from ttt_envs.evaluation.reports.intervals import mean_interval, percent, t_interval
from ttt_envs.evaluation.solved.layouts import regrets
from ttt_envs.evaluation.solved.positions import draw_positions
from ttt_envs.evaluation.solved.positions import measure as measure_mistakes
from ttt_envs.learning import curves

Check = Callable[[], None]

# Seconds that the first pictures are taken to need: Matplotlib is imported for them.
_FIRST = 0.5


class Probe(ABC):
    """A metric: when it is due, its row in a CSV file, how it is measured, how it is drawn.

    Attributes:
        name: its name in `Probes.rows`.
        file: stem of its files' names, where it is not `name`.
        row: dataclass of a row; its first field is `steps`.
        unit: label of the vertical axis.
        every: steps between two measurements.
        game: the game that is played.
    """

    name: ClassVar[str]
    file: ClassVar[str] = ""
    row: ClassVar[type]
    unit: ClassVar[str]

    def __init__(self, game: Game, every: int) -> None:
        if every < 1:
            raise ValueError(f"a probe's every must be at least 1, not {every}")
        self.game, self.every = game, every

    def due(self, steps: int, before: int) -> bool:
        """Whether to measure at `steps`, if the last time was at `before`, which is negative if there was none."""
        return due(steps, before, self.every)

    @abstractmethod
    def measure(self, agent: Agent, steps: int, check: Check) -> Sequence[Any]:
        """Measure the agent; returns rows. Long work calls the callback `check`, which raises at an interrupt."""

    @abstractmethod
    def draw(self, axes: Any, rows: Sequence[Any]) -> None:
        """Draw all rows so far into Matplotlib's axes."""

    def text(self, rows: Sequence[Any]) -> str:
        """The rows of one measurement as one line for people."""
        numbers = ((each.name, getattr(row, each.name)) for row in rows for each in fields(row)[1:])
        return "   ".join(f"{name}: {value:.3g}" if isinstance(value, float) else f"{value}" for name, value in numbers)

    @classmethod
    def scalars(cls, rows: Sequence[Any]) -> dict[str, float]:
        """The rows of one measurement as named numbers, for a log such as TensorBoard's. By default none."""
        return {}


def _draw(axes: Any, rows: Sequence[Any], means: np.ndarray, widths: np.ndarray, label: str) -> None:
    """A curve of what is good if it is near 0, with the half widths of its intervals."""
    curves.line(axes, [row.steps for row in rows], means, widths, label)
    curves.scale_to_zero(axes, means - widths, means)
    axes.legend(loc="upper right")


def due(now: int, before: int, every: int) -> bool:
    """Whether a multiple of `every` lies in (before, now]; always if `before` is negative."""
    return before < 0 or now // every > before // every


class Probes:
    """The probes of a run: measures those that are due, and keeps each one's curve in the run folder.

    Attributes:
        rows: the rows of each probe, by its name.
    """

    def __init__(
        self,
        probes: Iterable[Probe],
        folder: str | Path,
        *,
        resume: bool = False,
        unit: str = "decisions",
        progress: Callable[[str], None] | None = None,
        log: Callable[[str, float], None] | None = None,
        check: Check | None = None,
    ) -> None:
        """Make the list; nothing is written yet.

        Args:
            probes: each has files of its own in `folder`, NAME.csv and NAME.png.
            folder: run folder.
            resume: go on with the curves in the folder, instead of replacing them.
            unit: what a step of the learner is called.
            progress: gets each measurement as a line of text.
            log: gets each measurement as numbers, by name.
            check: raises if a long measurement is to be given up. The next call of `measure` makes up for it.
        """
        self.probes = list(probes)
        self.folder, self.unit = Path(folder), unit
        self._progress, self._log = progress or (lambda text: None), log or (lambda name, value: None)
        self._check = check or (lambda: None)
        names = [self._stem(probe) for probe in self.probes]
        if len(set(names)) < len(names):
            raise ValueError(f"two probes would write the same files: {', '.join(sorted(names))}")
        self.rows: dict[str, list[Any]] = {
            probe.name: curves.read_rows(self._path(probe, "csv"), probe.row) if resume else [] for probe in self.probes
        }

        self._behind = {name for name, rows in self.rows.items() if rows}  # maybe: a run may have been killed
        self._drawn, self._takes = time.perf_counter(), _FIRST

    def next(self, steps: int) -> int:
        """The number of steps at which the next measurement is due, if `steps` are done."""
        return min(steps // probe.every * probe.every + probe.every for probe in self.probes)

    def measure(self, agent: Agent, steps: int, *, last: bool = False) -> None:
        """Measure what is due after `steps` steps of training; with `last`, at the end of it, all.

        Pictures take a twentieth of the time at most, except the last ones.
        """
        for probe in self.probes:
            earlier = [row for row in self.rows[probe.name] if row.steps <= steps]
            before = max((row.steps for row in earlier), default=-1)
            if before == steps or not (last or probe.due(steps, before)):
                continue
            rows = probe.measure(agent, steps, self._check)
            self.rows[probe.name] = [*earlier, *rows]
            self._write(probe)
            for name, value in probe.scalars(rows).items():
                self._log(name, value)
            self._progress(f"{steps:>11,} {self.unit}   {probe.text(rows)}")
        if last or time.perf_counter() - self._drawn > 20 * self._takes:
            self.draw()

    def _write(self, probe: Probe) -> None:
        """Bring the probe's rows up to date."""
        curves.write_rows(self._path(probe, "csv"), probe.row, self.rows[probe.name])
        self._behind.add(probe.name)

    def draw(self) -> None:
        """Bring the pictures up to date."""
        began = time.perf_counter()
        for probe in self.probes:
            if probe.name in self._behind:
                self._picture(probe)
                self._behind.discard(probe.name)
                self._drawn = time.perf_counter()
                self._takes = self._drawn - began

    def _picture(self, probe: Probe) -> None:
        rows, labels = self.rows[probe.name], (f"{self.unit} trained on", probe.unit)
        title = f"{probe.game.title}: {probe.name}"
        curves.write_picture(self._path(probe, "png"), title, *labels, lambda axes: probe.draw(axes, rows))

    def _stem(self, probe: Probe) -> str:
        return probe.file or probe.name

    def _path(self, probe: Probe, ending: str) -> Path:
        return self.folder / f"{self._stem(probe)}.{ending}"


# --- score ---


@dataclass
class ScoreRow:
    """Results against one agent: shares of games, and the mean score with the half width of its 95 % interval."""

    steps: int
    agent: str
    win: float
    draw: float
    loss: float
    score: float
    half_width: float


class Score(Probe):
    """The score against some agents, from all seats and the same starts each time; a draw counts half."""

    name, file, row = "score", "curve", ScoreRow
    unit = "score, all seats (a draw counts half)"

    def __init__(self, game: Game, *, every: int, agents: Iterable[Any], games: int = 200, seed: int = 0) -> None:
        """`agents`: texts or agents; `games`: to be played against each, shared out over the sides."""
        super().__init__(game, every)
        self.agents = named_agents(game, agents)
        self.games, self.seed = games, seed

    def measure(self, agent: Agent, steps: int, check: Check = lambda: None) -> list[ScoreRow]:
        """The results, one row per opponent."""
        game, rows = self.game, []
        repeats = max(self.games // len(game.teams), 1)
        seats = np.ones((len(game.teams), game.num_players), np.int64)
        for side, team in enumerate(game.teams):
            seats[side, list(team)] = 0
        first = np.repeat([team[0] for team in game.teams], repeats)
        seeds = np.tile(game_seeds(self.seed, repeats), len(game.teams))
        for name, opponent in self.agents.items():
            lineup = np.repeat(seats, repeats, axis=0)
            played = play_games(game, [agent, opponent], seats=lineup, seeds=seeds, progress=lambda *_: check())
            rewards = played.rewards[np.arange(len(first)), first]
            score = (1 + np.sign(rewards)) / 2
            # The games of a seed belong together.
            sides = len(game.teams)
            low, high = mean_interval(score.reshape(sides, repeats).sum(axis=0), np.full(repeats, sides), sides)[1]
            rows.append(
                ScoreRow(
                    steps,
                    name,
                    win=float((rewards > 0).mean()),
                    draw=float((rewards == 0).mean()),
                    loss=float((rewards < 0).mean()),
                    score=float(score.mean()),
                    half_width=(min(high, 1.0) - low) / 2,
                )
            )
        return rows

    def draw(self, axes: Any, rows: Sequence[ScoreRow]) -> None:
        """The curves, one line per opponent."""
        for agent in dict.fromkeys(row.agent for row in rows):
            mine = [row for row in rows if row.agent == agent]
            scores, widths = np.array([row.score for row in mine]), np.array([row.half_width for row in mine])
            curves.line(axes, [row.steps for row in mine], scores, widths, f"against {agent}", low=-np.inf, high=1)
        axes.set_ylim(0, 1.02)
        axes.axhline(0.5, color="grey", linewidth=0.8, linestyle=":")
        axes.legend(loc="lower right")

    def text(self, rows: Sequence[ScoreRow]) -> str:
        """Shares of games won, drawn, lost."""
        return "   ".join(f"{e.agent}: {e.win:.0%} won, {e.draw:.0%} drawn, {e.loss:.0%} lost" for e in rows)

    @classmethod
    def scalars(cls, rows: Sequence[ScoreRow]) -> dict[str, float]:
        """The score against each opponent."""
        return {f"eval/{row.agent}": row.score for row in rows}


def named_agents(game: Game, given: Iterable[Any]) -> dict[str, Agent]:
    """Agents by their names, loaded; ValueError for one that is unknown, listed twice or cannot play the game."""
    named: dict[str, Agent] = {}
    for agent in map(agents.load, given):
        if agent.name in named:
            raise ValueError(f"agent {agent.name!r} is listed twice")
        agent.check(game)
        named[agent.name] = agent
    return named


# --- regret ---


@dataclass
class RegretRow:
    """The regret of the agent's decisions to best play; see `ttt_envs.evaluation.best_play.MeasuredRegret`."""

    steps: int
    per_game: float
    per_game_half_width: float
    per_decision: float
    per_decision_half_width: float
    mistakes: float
    measured: float


class Regret(Probe):
    """The regret to best play, with the agent in all seats."""

    name, row = "regret", RegretRow
    unit = "regret a game (reward)"

    def __init__(self, game: Game, *, every: int, games: int = 200, seed: int = 0) -> None:
        """Raise ValueError for a game without oracle, or one with hidden information."""
        super().__init__(game, every)
        if games < 2:
            raise ValueError(f"regret_games must be 0, or at least 2 for an interval, not {games}")
        oracle_of(game)
        self.games, self.seed = games, seed

    def measure(self, agent: Agent, steps: int, check: Check = lambda: None) -> list[RegretRow]:
        """One row."""
        measured = measure_regret(
            self.game, agent, games=self.games, seed=self.seed, progress=lambda finished, planned: check()
        )
        return [RegretRow(steps, *(getattr(measured, each.name) for each in fields(RegretRow)[1:]))]

    def draw(self, axes: Any, rows: Sequence[RegretRow]) -> None:
        """The regret a game."""
        means, widths = (np.array([getattr(row, f"per_game{end}") for row in rows]) for end in ("", "_half_width"))
        what = "" if all(row.measured == 1 for row in rows) else ", of the measured decisions"
        _draw(axes, rows, means, widths, f"in all seats{what}, with 95 % interval")

    def text(self, rows: Sequence[RegretRow]) -> str:
        """The regret a game, and how much of it is known."""
        (row,) = rows
        if not row.measured:
            return "regret: not known of any decision"
        value = f"{row.per_game:.3f} ± {row.per_game_half_width:.3f}"
        if row.measured < 1:
            return f"regret a game: at least {value}, {row.measured:.1%} of decisions measured"
        return f"regret a game: {value}"

    @classmethod
    def scalars(cls, rows: Sequence[RegretRow]) -> dict[str, float]:
        """The regret a game, if any is known."""
        (row,) = rows
        return {"eval/regret": row.per_game} if row.measured else {}


# --- layouts ---

# The layouts that are dealt do not depend on the run's seed, so that runs are measured on the same ones.
_FIRST_LAYOUT, _LAYOUT_GAMES = 1, 40


@dataclass
class LayoutsRow:
    """The regret in rounds on layouts that are solved, with the half width of its 95 % interval over layouts."""

    steps: int
    regret: float
    half_width: float


class Layouts(Probe):
    """The regret on some layouts, always the same ones with the same dice; each measurement solves them anew."""

    name, row = "layouts", LayoutsRow
    unit = "regret a round on solved layouts (reward)"

    def __init__(self, game: Game, *, every: int, layouts: int = 3) -> None:
        """Raise ValueError for a game that has no layouts to solve."""
        super().__init__(game, every)
        within(2, 1000, regret_layouts=layouts)
        regrets(game, [], 1)
        self.layouts = layouts

    def measure(self, agent: Agent, steps: int, check: Check = lambda: None) -> list[LayoutsRow]:
        """One row."""
        found: list[float] = []
        for k in range(self.layouts):
            check()
            found += regrets(self.game, [agent], 1, _LAYOUT_GAMES, _FIRST_LAYOUT + k)[0].tolist()
        return [LayoutsRow(steps, *t_interval(found))]

    def draw(self, axes: Any, rows: Sequence[LayoutsRow]) -> None:
        """The regret."""
        means, widths = np.array([row.regret for row in rows]), np.array([row.half_width for row in rows])
        _draw(axes, rows, means, widths, f"on {self.layouts} layouts, with 95 % interval")

    def text(self, rows: Sequence[LayoutsRow]) -> str:
        """The regret with its interval."""
        (row,) = rows
        return f"regret on layouts: {row.regret:.3f} ± {row.half_width:.3f}"

    @classmethod
    def scalars(cls, rows: Sequence[LayoutsRow]) -> dict[str, float]:
        """The regret."""
        return {"eval/layouts": rows[0].regret}


# --- mistakes ---


@dataclass
class MistakesRow:
    """The share of solved positions in which the agent's action throws something away, with its 95 % interval."""

    steps: int
    share: float
    low: float
    high: float


class Mistakes(Probe):
    """The share of solved positions in which the agent throws something away: always the same positions."""

    name, row = "mistakes", MistakesRow
    unit = "mistakes in solved positions (share)"

    def __init__(self, game: Game, *, every: int, positions: int = 1000, seed: int = 0) -> None:
        """Draw the positions; raise ValueError as `ttt_envs.evaluation.solved.positions.draw_positions`."""
        super().__init__(game, every)
        self.positions, self.seed = draw_positions(game, positions, seed=seed), seed

    def measure(self, agent: Agent, steps: int, check: Check = lambda: None) -> list[MistakesRow]:
        """One row."""
        check()
        found = measure_mistakes(self.game, agent, self.positions, seed=self.seed)
        return [MistakesRow(steps, found.share, *found.interval)]

    def draw(self, axes: Any, rows: Sequence[MistakesRow]) -> None:
        """The share."""
        shares, widths = np.array([(row.share, (row.high - row.low) / 2) for row in rows]).T
        _draw(axes, rows, shares, widths, f"in {len(self.positions)} positions")

    def text(self, rows: Sequence[MistakesRow]) -> str:
        """The share with its interval."""
        (row,) = rows
        return f"mistakes: {percent(row.share)} ({percent(row.low)} to {percent(row.high)})"

    @classmethod
    def scalars(cls, rows: Sequence[MistakesRow]) -> dict[str, float]:
        """The share."""
        return {"eval/mistakes": rows[0].share}


# --- exploitability ---


@dataclass
class ExploitabilityRow:
    """The gain of a best response, on average over both seats; see `best_response.MeasuredExploitability`.

    Attributes:
        steps: steps trained on.
        policy: the gain against the agent.
        policy_half_width: half width of its 95 % interval; 0 if it is exact.
        average: the gain against the average of the latest half of its snapshots so far; nan if there are none.
        average_half_width: half width of its 95 % interval; 0 if it is exact.
        snapshots: number of snapshots averaged.
    """

    steps: int
    policy: float
    policy_half_width: float
    average: float
    average_half_width: float
    snapshots: int


class Exploitability(Probe):
    """The exploitability of the agent, and of the average of its past."""

    name, row = "exploitability", ExploitabilityRow
    unit = "exploitability (reward)"

    def __init__(
        self,
        game: Game,
        *,
        every: int,
        starts: int = STARTS,
        seed: int = 0,
        average: Callable[[], tuple[Agent, int]] | None = None,
        quiet: bool = True,
    ) -> None:
        """Walk through the game's tree, if it is measured by that.

        Args:
            game: a zero-sum game of two players, small unless its oracle gives best responses.
            every: steps between two measurements.
            starts: drawn starts of the game, always the same ones, where not all can be measured at once.
            seed: for drawing these starts.
            average: gives the average of the learner's past, and of how many snapshots that is; None leaves it out.
            quiet: do not show the progress of the walk.

        Raises:
            ValueError: the game is of another kind, or too large.
        """
        super().__init__(game, every)
        if starts < 2:
            raise ValueError(f"exploitability_starts must be at least 2, for an interval, not {starts}")
        self.starts, self.seed, self.average = starts, seed, average
        self.tree = tree_for(game, quiet=quiet)

    def measure(self, agent: Agent, steps: int, check: Check = lambda: None) -> list[ExploitabilityRow]:
        """One row."""
        of_average, number = (np.nan, np.nan), 0
        if self.average is not None:
            average, number = self.average()
            of_average = self._of(average, check)
        return [ExploitabilityRow(steps, *self._of(agent, check), *of_average, number)]

    def _of(self, agent: Agent, check: Check) -> tuple[float, float]:
        measured = measure_exploitability(
            self.game, agent, starts=self.starts, seed=self.seed, game_tree=self.tree, progress=lambda share: check()
        )
        return measured.exploitability, measured.half_width

    def draw(self, axes: Any, rows: Sequence[ExploitabilityRow]) -> None:
        """The curves of the policy and of the average of its snapshots."""
        steps, lines = [row.steps for row in rows], {"policy": "the policy"}
        if any(row.snapshots for row in rows):
            lines["average"] = "the average of the latest half of its snapshots"
        means, widths = (
            np.array([[getattr(row, f"{name}{end}") for row in rows] for name in lines]) for end in ("", "_half_width")
        )
        for k, label in enumerate(lines.values()):
            curves.line(axes, steps, means[k], widths[k], label)
        curves.scale_to_zero(axes, means - widths, means)
        axes.legend(loc="upper right")

    def text(self, rows: Sequence[ExploitabilityRow]) -> str:
        """Both numbers, with half widths where they are estimates."""
        (row,) = rows

        def value(name: str) -> str:
            half_width = getattr(row, f"{name}_half_width")
            return f"{getattr(row, name):.3f}" + (f" ± {half_width:.3f}" if half_width else "")

        text = f"exploitability: {value('policy')}"
        return f"{text}, of the average of {row.snapshots} snapshots: {value('average')}" if row.snapshots else text

    @classmethod
    def scalars(cls, rows: Sequence[ExploitabilityRow]) -> dict[str, float]:
        """Both numbers."""
        (row,) = rows
        figures = {"eval/exploitability": row.policy}
        return {**figures, "eval/exploitability_of_average": row.average} if row.snapshots else figures
