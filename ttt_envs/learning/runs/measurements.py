"""Measurements of a learner while it trains, and their curves. Any learner that can return an `Agent` can use them::

    from ttt_envs.learning.runs.measurements import Measurements, Score

    measurements = Measurements([Score(game, every=1000, agents=["random", "greedy"])], "runs/mine", progress=print)
    for step in range(10_000):
        ...  # learn
        measurements.measure(agent, step)  # those that are due; brings curve.csv up to date
    measurements.measure(agent, step, last=True)  # and draws curve.png

A metric of your own is a subclass of `Measurement` with a method `measure`. To let training runs take a new
measurement, add it to `MEASURES`, and its settings to `MeasuringSettings`.
"""

import csv
import io
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, fields
from pathlib import Path
from typing import Annotated, Any, ClassVar, Self, TypeVar

import numpy as np

from ttt_envs import agents
from ttt_envs.agents import Agent
from ttt_envs.core.game import Game
from ttt_envs.core.options import Within, within
from ttt_envs.evaluation.arena.play import game_seeds, play_games
from ttt_envs.evaluation.exploitability import STARTS, tree_for
from ttt_envs.evaluation.exploitability import measure as measure_exploitability
from ttt_envs.evaluation.judging import knows_most, oracle_of
from ttt_envs.evaluation.mistakes import draw_positions
from ttt_envs.evaluation.mistakes import measure as measure_mistakes
from ttt_envs.evaluation.regret import measure as measure_regret
from ttt_envs.evaluation.regret import over_layouts, regrets
from ttt_envs.evaluation.reports.intervals import mean_interval
from ttt_envs.storage.files import write_whole

Check = Callable[[], None]
Row = TypeVar("Row")

#: Name of a metric -> its measurements, as pairs (steps, value).
Metrics = dict[str, list[tuple[int, float]]]

#: Default number of games of a measurement of regret.
REGRET_GAMES = 100


@dataclass(frozen=True)
class Point:
    """A metric at a step of training, with half the width of its 95 % interval, which is 0 if it is exact."""

    steps: int
    metric: str
    value: float
    half_width: float = 0.0


class Measurement(ABC):
    """A measurement: its schedule, its metrics, and its curve.

    Attributes:
        name: the measurement's key in `Measurements.points`.
        file: name of the measurement's files (a table and a picture), without the ending.
        unit: label of the vertical axis.
        titles: metric, such as "eval/regret" -> its name for display.
        setting: name of the setting in `MeasuringSettings` that requests the measurement, and determines its size or
            schedule.
        in_studies: the value of this setting in tasks of studies; None if the setting determines no size.
        least: the smallest value of this setting, which makes the measurement as short as possible or omits it.
        with_history: whether policies whose observations include a history can be measured.
        every: number of steps between two measurements.
        game: the game.
    """

    name: ClassVar[str]
    file: ClassVar[str]
    unit: ClassVar[str]
    titles: ClassVar[Mapping[str, str]] = {}
    setting: ClassVar[str] = ""
    in_studies: ClassVar[int | None] = None
    least: ClassVar[int] = 0
    with_history: ClassVar[bool] = True

    def __init__(self, game: Game, every: int) -> None:
        within(1, 10**15, every=every)
        self.game, self.every = game, every

    @classmethod
    def asked(cls, settings: Any, game: Game, average: Any) -> Self | None:
        """Return the measurement that a run's settings request, or None; for `average` see `Exploitability`. Raises
        ValueError if the game cannot be measured.
        """
        return None

    @abstractmethod
    def measure(self, agent: Agent, steps: int, check: Check) -> Sequence[Point]:
        """Measure the agent after `steps` steps; return no points if the result is unknown.

        A long measurement calls `check`, which raises an exception after an interrupt.
        """

    def draw(self, axes: Any, points: Sequence[Point]) -> None:
        """Draw all points so far on Matplotlib's axes, with a line per metric."""
        for metric in dict.fromkeys(point.metric for point in points):
            mine = [(each.steps, each.value, each.half_width) for each in points if each.metric == metric]
            steps, values, widths = np.array(mine).T
            draw_line(axes, steps, values, widths, title_of(metric))
        self.scale(axes, np.array([(each.value, each.half_width) for each in points]).T)
        axes.legend(title="with 95 % intervals")

    def scale(self, axes: Any, points: np.ndarray) -> None:
        """Set the vertical axis for points, float (2, n): values and half widths. Most measurements decrease toward 0;
        if the largest value is at least ten times the smallest, the axis is logarithmic, so that the end of the curve
        can be read.
        """
        from matplotlib.ticker import LogLocator, NullFormatter

        values, widths = points
        if not ((values - widths).min() > 0 and values.max() >= 10 * values.min()):  # also with nan
            axes.set_ylim(bottom=0)
            return
        axes.set_yscale("log")
        axes.yaxis.set_major_locator(LogLocator(subs=(1, 2, 5)))
        axes.yaxis.set_major_formatter("{x:g}")
        axes.yaxis.set_minor_formatter(NullFormatter())


def due(now: int, before: int, every: int) -> bool:
    """Return whether (before, now] contains a multiple of `every`; True if `before` is negative."""
    return before < 0 or now // every > before // every


class Measurements:
    """Takes a run's measurements when they are due, and keeps their curves in the run folder.

    Attributes:
        points: name of a measurement -> its points.
    """

    def __init__(
        self,
        measurements: Iterable[Measurement],
        folder: str | Path,
        *,
        resume: bool = False,
        unit: str = "decisions",
        progress: Callable[[str], None] = lambda text: None,
        log: Callable[[str, float], None] = lambda name, value: None,
        check: Check = lambda: None,
    ) -> None:
        """Create the list without writing files.

        Args:
            measurements: the measurements; each writes FILE.csv and FILE.png to `folder`.
            folder: run folder.
            resume: whether to continue the curves in the folder instead of replacing them.
            unit: the name of the learner's step.
            progress: called with each measurement as a line of text.
            log: called with each measurement as numbers by name.
            check: raises an exception to abort a long measurement, which the next call of `measure` repeats.
        """
        self.measurements = list(measurements)
        self.folder, self.unit = Path(folder), unit
        self._progress, self._log, self._check = progress, log, check
        files = [each.file for each in self.measurements]
        if len(set(files)) < len(files):
            raise ValueError(f"two measurements would write the same files: {', '.join(sorted(files))}")
        self.points: dict[str, list[Point]] = {
            each.name: read_rows(self.folder / f"{each.file}.csv", Point) if resume else []
            for each in self.measurements
        }

    def next(self, steps: int) -> int:
        """Return the number of steps at which the next measurement after `steps` is due."""
        return min(steps // each.every * each.every + each.every for each in self.measurements)

    def measure(self, agent: Agent, steps: int, *, last: bool = False) -> None:
        """Take the measurements that are due after `steps` steps of training; with `last`, at the end, take all."""
        for each in self.measurements:
            earlier = [point for point in self.points[each.name] if point.steps <= steps]
            before = max((point.steps for point in earlier), default=-1)
            if before == steps or not (last or due(steps, before, each.every)):
                continue
            found = each.measure(agent, steps, self._check)
            self.points[each.name] = [*earlier, *found]
            write_rows(self.folder / f"{each.file}.csv", Point, self.points[each.name])
            for point in found:
                self._log(point.metric, point.value)
            self._progress(f"{steps:>11,} {self.unit}   {text_of(found) or f'{each.name}: nothing known'}")
        if last:
            self.draw()

    def draw(self) -> None:
        """Write the pictures."""
        for each in self.measurements:
            if points := self.points[each.name]:
                labels = f"{each.game.title}: {each.name}", f"{self.unit} trained on", each.unit
                write_picture(self.folder / f"{each.file}.png", *labels, lambda axes: each.draw(axes, points))  # noqa: B023


# --- score ---


class Score(Measurement):
    """The score against some agents, from all seats and always from the same starts; a draw counts half."""

    name, file = "score", "curve"
    unit = "score, all seats (a draw counts half)"
    setting, in_studies, least = "eval_games", 800, 2

    def __init__(self, game: Game, *, every: int, agents: Iterable[Any], games: int = 200, seed: int = 0) -> None:
        """`agents`: texts or agents; `games`: number of games against each, divided among the sides."""
        super().__init__(game, every)
        self.agents = named_agents(game, agents)
        self.games, self.seed = games, seed

    @classmethod
    def asked(cls, settings: Any, game: Game, average: Any) -> Self:
        """Return the measurement, which is always taken; raise ValueError for an unknown or unsuitable agent."""
        every, agents, games = settings.measure_every, settings.eval_agents, settings.eval_games
        return cls(game, every=every, agents=agents, games=games, seed=settings.seed)

    def measure(self, agent: Agent, steps: int, check: Check = lambda: None) -> list[Point]:
        """Measure the mean score against each opponent."""
        game, found = self.game, []
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
            # The games of a seed, one per side, are not independent: they form one cluster.
            sides = len(game.teams)
            low, high = mean_interval(score.reshape(sides, repeats).sum(axis=0), np.full(repeats, sides), sides)[1]
            found.append(Point(steps, f"eval/{name}", float(score.mean()), (min(high, 1.0) - low) / 2))
        return found

    def scale(self, axes: Any, points: np.ndarray) -> None:
        """Set the vertical axis to the range of scores."""
        axes.set_ylim(0, 1.02)
        axes.axhline(0.5, color="grey", linewidth=0.8, linestyle=":")


def named_agents(game: Game, given: Iterable[Any]) -> dict[str, Agent]:
    """Return loaded agents by name; raise ValueError for one that is unknown, listed twice or cannot play the game."""
    named: dict[str, Agent] = {}
    for agent in map(agents.load, given):
        if agent.name in named:
            raise ValueError(f"agent {agent.name!r} is listed twice")
        agent.check(game)
        named[agent.name] = agent
    return named


# --- regret ---


class Regret(Measurement):
    """The regret compared with optimal play, with the agent in all seats."""

    name, file = "regret", "regret"
    unit = "regret per game (reward)"
    titles: ClassVar = {
        "eval/regret": "regret per game",
        "eval/known_regret": "regret per game in the decisions that the oracle knows",
    }
    setting, in_studies = "regret_games", 500

    def __init__(self, game: Game, *, every: int, games: int = 200, seed: int = 0) -> None:
        """Raise ValueError for a game without an oracle or with hidden information."""
        super().__init__(game, every)
        within(2, 10**7, regret_games=games)
        oracle_of(game)
        self.games, self.seed = games, seed

    @classmethod
    def asked(cls, settings: Any, game: Game, average: Any) -> Self | None:
        """Return the measurement if games are requested or, by default (None), if the oracle knows most positions."""
        games = settings.regret_games
        if games is None:
            games = REGRET_GAMES if knows_most(game) else 0
        return cls(game, every=settings.measure_every, games=games, seed=settings.seed) if games else None

    def measure(self, agent: Agent, steps: int, check: Check = lambda: None) -> list[Point]:
        """Measure the regret per game; the metric has another name if the oracle does not know all decisions."""
        found = measure_regret(self.game, agent, games=self.games, seed=self.seed, progress=lambda *_: check())
        metric = "eval/regret" if found.measured == 1 else "eval/known_regret"
        return [Point(steps, metric, found.per_game, found.per_game_half_width)] if found.measured else []


# --- layouts ---

# The layouts do not depend on the run's seed, so that all runs are measured on the same ones.
_FIRST_LAYOUT, _LAYOUT_GAMES = 1, 40


class Layouts(Measurement):
    """The regret on a fixed set of layouts with fixed dice; each measurement solves the layouts again."""

    name, file = "layouts", "layouts"
    unit = "regret per round on solved layouts (reward)"
    titles: ClassVar = {"eval/layouts": "regret on solved layouts"}
    setting, in_studies, with_history = "regret_layouts", 3, False

    def __init__(self, game: Game, *, every: int, layouts: int = 3) -> None:
        """Raise ValueError for a game without layouts."""
        super().__init__(game, every)
        within(2, 1000, regret_layouts=layouts)
        regrets(game, [], 1)
        self.layouts = layouts

    @classmethod
    def asked(cls, settings: Any, game: Game, average: Any) -> Self | None:
        """Return the measurement if layouts are requested."""
        layouts = settings.regret_layouts
        return cls(game, every=settings.measure_every, layouts=layouts) if layouts else None

    def measure(self, agent: Agent, steps: int, check: Check = lambda: None) -> list[Point]:
        """Measure the mean regret over the layouts, and its interval over layouts."""
        found: list[float] = []
        for k in range(self.layouts):
            check()
            found += regrets(self.game, [agent], 1, _LAYOUT_GAMES, _FIRST_LAYOUT + k)[0].tolist()
        mean, (low, high) = over_layouts(np.array(found))
        return [Point(steps, "eval/layouts", mean, (high - low) / 2)]


# --- mistakes ---


class Mistakes(Measurement):
    """The share of a fixed set of solved positions in which the agent makes a mistake."""

    name, file = "mistakes", "mistakes"
    unit = "mistakes in solved positions (share)"
    titles: ClassVar = {"eval/mistakes": "mistakes in solved positions"}
    setting, in_studies, with_history = "mistakes_positions", 1000, False

    def __init__(self, game: Game, *, every: int, positions: int = 1000, seed: int = 0) -> None:
        """Draw the positions; raise the errors of `ttt_envs.evaluation.mistakes.draw_positions`."""
        super().__init__(game, every)
        self.positions, self.seed = draw_positions(game, positions, seed=seed), seed

    @classmethod
    def asked(cls, settings: Any, game: Game, average: Any) -> Self | None:
        """Return the measurement if positions are requested."""
        number = settings.mistakes_positions
        return cls(game, every=settings.measure_every, positions=number) if number else None

    def measure(self, agent: Agent, steps: int, check: Check = lambda: None) -> list[Point]:
        """Measure the share."""
        check()
        found = measure_mistakes(self.game, agent, self.positions, seed=self.seed)
        low, high = found.interval
        return [Point(steps, "eval/mistakes", found.share, (high - low) / 2)]


# --- exploitability ---


class Exploitability(Measurement):
    """Exploitability of the agent and of its average over the past: a best response's mean gain over both seats."""

    name, file = "exploitability", "exploitability"
    unit = "exploitability (reward)"
    titles: ClassVar = {
        "eval/exploitability": "exploitability",
        "eval/exploitability_of_average": "exploitability of the average",
    }
    setting, with_history = "exploitability_every", False

    def __init__(
        self,
        game: Game,
        *,
        every: int,
        seed: int = 0,
        average: Callable[[], Agent] | None = None,
        quiet: bool = True,
    ) -> None:
        """Build the game's tree, if the measurement needs it.

        Args:
            game: a zero-sum game of two players with a small tree or an oracle that computes best responses.
            every: number of steps between two measurements.
            seed: seed of the sample of starts, if there are too many to measure all; every measurement has the same
                starts.
            average: returns the learner's average over its past; None omits it.
            quiet: whether to hide the progress of building the tree.

        Raises:
            ValueError: the game is of another kind, or its tree is too large.
        """
        super().__init__(game, every)
        self.seed, self.average = seed, average
        self.tree = tree_for(game, quiet=quiet)

    @classmethod
    def asked(cls, settings: Any, game: Game, average: Any) -> Self | None:
        """Return the measurement if the number of steps between two measurements is given."""
        every, seed, quiet = settings.exploitability_every, settings.seed, settings.quiet
        return cls(game, every=every, seed=seed, average=average, quiet=quiet) if every else None

    def measure(self, agent: Agent, steps: int, check: Check = lambda: None) -> list[Point]:
        """Measure both."""
        found = [self._of(agent, steps, "eval/exploitability", check)]
        if self.average is not None:
            found.append(self._of(self.average(), steps, "eval/exploitability_of_average", check))
        return found

    def _of(self, agent: Agent, steps: int, metric: str, check: Check) -> Point:
        found = measure_exploitability(
            self.game, agent, starts=STARTS, seed=self.seed, game_tree=self.tree, progress=lambda share: check()
        )
        return Point(steps, metric, found.exploitability, found.half_width)


# --- the registry ---

#: All measurements of runs by name, in the order in which they are taken.
MEASURES: dict[str, type[Measurement]] = {
    kind.name: kind for kind in (Score, Regret, Layouts, Mistakes, Exploitability)
}


@dataclass(frozen=True, kw_only=True)
class MeasuringSettings:
    """The settings that request measurements of a run."""

    eval_games: Annotated[int, Within(2, 10**7)] = 200
    """Games played against each of --eval-agents for a score, shared out over the seats."""
    regret_games: Annotated[int | None, Within(0, 10**7)] = None
    """Games played for a measurement of regret, with the learner in all seats; 0 for none. Needs an oracle. By default
    100 where the oracle knows most of the positions of random play, else none."""
    regret_layouts: Annotated[int, Within(0, 1000)] = 0
    """Layouts to solve for a measurement of regret on them, in a game that can solve single layouts; 0 for none."""
    mistakes_positions: Annotated[int, Within(0, 10**6)] = 0
    """Solved positions for a measurement of the share in which the learner makes a mistake, see `ttt mistakes`; 0 for
    none. Needs an oracle."""
    exploitability_every: Annotated[int, Within(0, 10**15)] = 0
    """Steps between two measurements of exploitability, of the policy and of the average of the latest half of its
    snapshots; 0 for none. Needs a game that `ttt exploitability` can measure."""


#: Settings with which a run measures as little as possible.
LEAST = {kind.setting: kind.least for kind in MEASURES.values()}


# --- files ---


def read_metrics(folder: Path) -> Metrics:
    """Return the metrics of a run folder, finished or not, by name; raise ValueError if a curve is damaged."""
    metrics: Metrics = {}
    for kind in MEASURES.values():
        for point in read_rows(folder / f"{kind.file}.csv", Point):
            metrics.setdefault(point.metric, []).append((point.steps, point.value))
    return metrics


def title_of(metric: str) -> str:
    """Return a metric's name for display."""
    titles = {name: title for kind in MEASURES.values() for name, title in kind.titles.items()}
    score = metric.removeprefix("eval/")
    return titles.get(metric, metric if score == metric else f"score against {score}")


def text_of(points: Sequence[Point]) -> str:
    """Return the points of one measurement as a line of text."""
    return "   ".join(
        f"{title_of(each.metric)}: {each.value:.3f}" + (f" ± {each.half_width:.3f}" if each.half_width > 0 else "")
        for each in points
    )


def write_rows(path: Path, kind: type, rows: Sequence[Any]) -> None:
    """Write rows, dataclasses of type `kind`, as CSV."""
    text = io.StringIO()
    writer = csv.DictWriter(text, fieldnames=[each.name for each in fields(kind)])
    writer.writeheader()
    writer.writerows(asdict(row) for row in rows)
    write_whole(path, text.getvalue())


def read_rows(path: Path, kind: type[Row]) -> list[Row]:
    """Return the rows in a file of `write_rows`, none if there is no file; raise ValueError if it cannot be read."""
    if not path.is_file():
        return []
    convert: dict[str, Any] = {each.name: each.type for each in fields(kind)}  # type: ignore[arg-type]
    try:
        with path.open(newline="", encoding="utf-8") as file:
            header, *lines = csv.reader(file)
        if header != list(convert):
            raise ValueError(f"its columns must be {', '.join(convert)}")
        return [kind(*(of(text) for of, text in zip(convert.values(), line, strict=True))) for line in lines]
    except (csv.Error, ValueError) as error:
        raise ValueError(f"{path} is damaged: {error}") from None


def write_picture(path: Path, title: str, xlabel: str, ylabel: str, draw: Callable[[Any], None]) -> None:
    """Write a PNG of a curve over steps; `draw(axes)` fills Matplotlib's axes."""
    from matplotlib.figure import Figure
    from matplotlib.ticker import EngFormatter

    figure = Figure(figsize=(7, 4), dpi=120, layout="constrained")
    axes = figure.subplots()
    axes.set(title=_plain(title), xlabel=xlabel, ylabel=ylabel)
    axes.xaxis.set_major_formatter(EngFormatter(sep=" "))
    axes.grid(alpha=0.3, which="both")
    draw(axes)
    picture = io.BytesIO()
    figure.savefig(picture, format="png")
    write_whole(path, picture.getvalue())


def draw_line(axes: Any, steps: np.ndarray, values: np.ndarray, half_widths: np.ndarray, label: str) -> None:
    """Draw a curve of values, and a band of plus or minus `half_widths`."""
    axes.plot(steps, values, marker="o", markersize=4, label=_plain(label))
    axes.fill_between(steps, values - half_widths, values + half_widths, alpha=0.2, linewidth=0)


def _plain(text: str) -> str:
    """Escape a text for Matplotlib, which takes text between dollar signs for a formula."""
    return text.replace("$", r"\$")
