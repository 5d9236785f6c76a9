"""The page of a study: tables with intervals, comparisons of methods, and a picture of measures over budgets."""

import io
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations
from pathlib import Path

import numpy as np

from ttt_envs import agents
from ttt_envs.core.options import as_text
from ttt_envs.evaluation import pool
from ttt_envs.evaluation.reports.intervals import of_seeds, shown, t_interval
from ttt_envs.evaluation.reports.report import Table
from ttt_envs.learning.runs import measurements as files
from ttt_envs.storage.files import write_whole
from ttt_envs.studies import grid, statistics
from ttt_envs.studies.plan import Plan, Run
from ttt_envs.studies.tasks import Task, measure, task_of

PICTURE = "![Measures against budgets](study.png)\n"

_COLOURS = (*(f"C{k}" for k in range(10)), "black", "gold")

# The picture's axis is logarithmic: measures below this share of random play's measure are drawn at this share.
_FLOOR = 1e-4


@dataclass(frozen=True)
class Row:
    """A measurement, a line of table.csv.

    Attributes:
        task, version: the task.
        method: the method's name in the plan, or the text of a baseline agent.
        played: "" for the method's own agent; otherwise the name in the plan's `also` of another way to play its
            network.
        budget: seconds of processor time or steps, as in the plan; 0 for a baseline.
        seed: seed of the training and of the measurement.
        steps: number of training steps, in the method's unit; 0 if a function of the user's trains.
        processor_seconds: processor time of the training alone.
        measure: the task's measure; 0 for optimal play.
        score: 1 - measure / measure of random play.
    """

    task: str
    version: int
    method: str
    played: str
    budget: float
    seed: int
    steps: int
    processor_seconds: float
    measure: float
    score: float


def rows_of(plan: Plan, out: Path) -> list[Row]:
    """Return the measurements of the runs that are finished."""
    rows = []
    for run in grid.runs_of(plan, out):
        if (found := grid.result_of(run, out)) is not None:
            task, how = run.task, (run.budget, run.seed, found["steps"], round(found["seconds"], 2))
            for played, value in {"": found["measure"], **found["also"]}.items():
                if value is not None:
                    rows.append(Row(task.name, task.version, run.label, played, *how, value, float(task.score(value))))
    return rows


def baselines(names: Mapping[str, Sequence[str]], seeds: Sequence[int], workers: int | str = 0) -> list[Row]:
    """Measure agents, `names`: task -> agents; raises ValueError for an unknown task or an unfit agent."""
    jobs = [(task_of(task), name) for task, some in names.items() for name in some]

    def measured(job: tuple[Task, str]) -> list[float]:
        agent = agents.load(job[1])  # once, as an agent may learn when it is made
        return [measure(job[0].name, agent, seed) for seed in seeds]

    found = dict(pool.run(measured, jobs, workers=workers))
    return [
        Row(task.name, task.version, name, "", 0, seed, 0, 0.0, value, float(task.score(value)))
        for k, (task, name) in enumerate(jobs)
        for seed, value in zip(seeds, found[k], strict=True)
    ]


def write_page(plan: Plan, out: Path, workers: int | str = 0) -> str:
    """Write the page of what is finished; returns its text. ValueError if no run is finished yet."""
    rows = rows_of(plan, out)
    if not rows:
        raise ValueError("no run is finished yet: the same command goes on")
    planned = plan.seeds * len(plan.budgets) * sum(map(len, plan.methods.values()))
    finished = sum(row.played == "" for row in rows)
    partial = f"**Partial: {finished} of {planned} runs are finished.**" if finished < planned else ""
    seeds = range(plan.first_seed, plan.first_seed + plan.seeds)
    runs = [run for run in grid.runs_of(plan, out) if plan.configurations(run)] if plan.search else []
    rows += baselines(plan.agents, seeds, workers)
    text = page(rows, partial, runs)
    files.write_rows(out / "table.csv", Row, rows)
    write_whole(out / "study.png", picture(rows))
    write_whole(out / "study.md", text)
    return text


class Found:
    """The measurements of one task.

    Attributes:
        task: the task.
        rows: (method, way to play, budget) -> its measurements.
        budgets: ascending.
        played: names of other ways to play.
        longest: the largest budget of each method; 0 for a baseline.
        methods, baselines: their names, the best first.
    """

    def __init__(self, rows: Sequence[Row], task: str) -> None:
        self.task = task_of(task)
        self.rows: dict[tuple[str, str, float], list[Row]] = {}
        for row in rows:
            if row.task == task:
                self.rows.setdefault((row.method, row.played, row.budget), []).append(row)
        self.budgets = sorted({budget for *_, budget in self.rows if budget})
        self.played = list(dict.fromkeys(played for _, played, _ in self.rows if played))
        self.longest: dict[str, float] = {}
        for method, _, budget in self.rows:
            self.longest[method] = max(budget, self.longest.get(method, 0))
        best = sorted(self.longest, key=lambda name: self.measures(name, budget=self.longest[name]).mean())
        self.methods = [name for name in best if self.longest[name]]
        self.baselines = [name for name in best if not self.longest[name]]

    def measures(self, method: str, played: str = "", budget: float = 0) -> np.ndarray:
        """Return float64 (seeds,)."""
        return np.array([row.measure for row in self.rows.get((method, played, budget), ())])

    def scores(self, method: str) -> np.ndarray:
        """Return a method's scores at the task's largest budget, float64 (seeds,); empty if it has no such run."""
        return self.task.score(self.measures(method, budget=self.budgets[-1]))

    def cell(self, method: str, played: str = "", budget: float = 0) -> str:
        """Return the mean measure and its interval by Student's t, as text."""
        found = self.measures(method, played, budget)
        return of_seeds(t_interval(found), len(found), 4) if len(found) else "–"

    def reached(self, method: str) -> str:
        """Return, as text, the smallest budget at which the mean score's whole interval is above 0.9; "–" if none."""
        for budget in self.budgets:
            scores = self.task.score(self.measures(method, budget=budget))
            if len(scores) > 1 and np.subtract(*t_interval(scores)) > 0.9:
                return f"{budget:g}"
        return "–"


def page(rows: Sequence[Row], partial: str = "", runs: Sequence[Run] = ()) -> str:
    """Return the page in Markdown; `runs`: runs whose settings were found by a search."""
    found = [Found(rows, name) for name in dict.fromkeys(row.task for row in rows)]
    tables = [table for each in found for table in (_of_methods(each), _of_agents(each))]
    tables.append(_compared(found))
    settings = {(run.task.name, run.label): run.settings for run in runs}
    tables.append(
        Table(
            "Settings", ["task", "method", "settings"],
            [[*key, ", ".join(f"{name}={as_text(of[name])}" for name in of)] for key, of in settings.items()],
            "The best of the search: all configurations with one seed, the best three with three others.",
        )
    )  # fmt: skip
    texts = [each.markdown() for each in tables if each.rows]
    head = ["# A study of learning methods\n", *([f"{partial}\n"] if partial else [])]
    return "\n".join([*head, *texts, PICTURE])


def _of_methods(found: Found) -> Table:
    budgets, longest = found.budgets, found.budgets[-1] if found.budgets else 0
    rows = [
        [
            *(name, *(found.cell(name, "", budget) for budget in budgets)),
            *(found.cell(name, played, longest) for played in found.played),
            found.reached(name),
            f"{np.mean([row.processor_seconds for row in found.rows[name, '', found.longest[name]]]):.0f} s",
        ]
        for name in found.methods
    ]
    head = ["method", *(f"{budget:g}" for budget in budgets), *found.played, "above 0.9", "processor time"]
    seeds = [len(found.measures(name, "", budget)) for name in found.methods for budget in budgets]
    number = " to ".join(map(str, sorted({min(seeds, default=0), max(seeds, default=0)})))
    task = found.task
    note = (
        f"{task.title} (version {task.version}). Random play has {task.random:.4f}. "
        f"{task.measure.capitalize()} at the end of the runs of each budget, in steps or seconds of processor "
        f"time: mean over {number} training seeds with a 95 % interval by Student's t, which is too narrow if a few "
        "runs fail. Columns with a name: the networks of the largest budget, played in another way. Above 0.9: the "
        "smallest budget at which the whole interval of the score, 1 - measure / measure of random play, is above 0.9."
    )
    return Table(task.name, head, rows, note)


def _of_agents(found: Found) -> Table:
    rows = []
    for name in found.baselines:
        scores = found.task.score(found.measures(name))
        rows.append([name, found.cell(name), of_seeds(t_interval(scores), len(scores))])
    note = "Means with 95 % intervals by Student's t over seeds of the measurement, not of training."
    return Table(f"{found.task.name}: baselines", ["agent", found.task.measure, "score"], rows, note)


def _compared(found: Sequence[Found]) -> Table:
    """Return a table of all pairs of methods of each task, at its largest budget; the better mean comes first."""
    pairs = [(each, one, other) for each in found for one, other in combinations(each.methods, 2)]
    pairs = [(each, one, other) for each, one, other in pairs if len(each.scores(one)) and len(each.scores(other))]
    exact = [statistics.exact_p(each.scores(one), each.scores(other)) for each, one, other in pairs]
    rows = []
    for (each, one, other), p, of_all in zip(pairs, exact, statistics.holm(exact), strict=True):
        probability = shown(*statistics.improvement(each.scores(one), each.scores(other)), 2)
        rows.append([each.task.name, f"{one} over {other}", probability, f"{p:.2g}", f"{of_all:.2g}"])
    note = (
        "At the largest budget: the probability that a run of the first method scores more than one of the second, "
        "with its 95 % interval, and the exact p-value of the rank-sum test (Mann and Whitney), alone and by Holm's "
        "correction for all lines of this table."
    )
    return Table("One method over another", ["task", "methods", "probability", "p", "Holm"], rows, note)


def picture(rows: Sequence[Row]) -> bytes:
    """Return a PNG: measure against budget, a panel for each task and way to play. Tasks stand side by side."""
    from matplotlib.figure import Figure
    from matplotlib.lines import Line2D

    found = [Found(rows, name) for name in dict.fromkeys(row.task for row in rows)]
    ways = ["", *dict.fromkeys(played for each in found for played in each.played)]
    labels = dict.fromkeys(name for each in found for name in each.methods)
    colours = {name: _COLOURS[k % len(_COLOURS)] for k, name in enumerate(labels)}
    pairs = [(way, one) for way in ways for one in found]
    columns = len(found) if len(found) > 1 else min(len(ways), 2)
    lines = -(-len(pairs) // columns)
    figure = Figure(figsize=(4.6 * columns, 3.6 * lines), dpi=110, layout="constrained")
    for k, (way, one) in enumerate(pairs):
        axes = figure.add_subplot(lines, columns, k + 1)
        curves = {}
        for name in one.methods:
            budgets = [budget for budget in one.budgets if len(one.measures(name, way, budget))]
            curves[name] = budgets, [t_interval(one.measures(name, way, budget)) for budget in budgets]
        levels = {} if way else {name: one.measures(name).mean() for name in one.baselines}
        # The axis's lower end: a logarithmic axis cannot show the 0 of an oracle or of an interval's end.
        means = [*levels.values(), *(mean for _, ends in curves.values() for mean, _ in ends)]
        least = one.task.random * _FLOOR
        floor = max(0.3 * min((each for each in means if each > least), default=least), least)
        axes.set(title=f"{one.task.name}{way and f', {way}'}", xlabel="budget", ylabel=one.task.measure)
        axes.set(xscale="log", yscale="log")
        axes.grid(alpha=0.3)
        for name, (budgets, ends) in curves.items():
            if ends:
                mean, half = np.array(ends).T
                axes.plot(budgets, mean.clip(floor), color=colours[name], marker="o", markersize=3, label=name)
                low, high = ((mean + sign * np.nan_to_num(half)).clip(floor) for sign in (-1, 1))
                axes.fill_between(budgets, low, high, color=colours[name], alpha=0.2, linewidth=0)
        for number, (name, level) in enumerate(levels.items()):
            if level > floor:
                axes.axhline(level, color="grey", linewidth=0.8, linestyle=":")
                axes.annotate(name, (0.02 + 0.25 * (number % 4), level), xycoords=("axes fraction", "data"), fontsize=7)
        axes.set_ylim(bottom=floor)
        axes.set_xticks(one.budgets, [f"{budget:g}" for budget in one.budgets], minor=False)
        axes.set_xticks([], minor=True)
    legend = [Line2D([], [], color=colour, label=name) for name, colour in colours.items()]
    figure.legend(handles=legend, loc="outside lower center", ncols=4, fontsize=8)
    out = io.BytesIO()
    figure.savefig(out, format="png")
    return out.getvalue()
