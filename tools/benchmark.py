"""Measure speed: environments, batches, search, training, start-up. `make bench` runs this.

    python -m tools.benchmark --games super_tic_tac_toe --only aec batch

Unless the table says otherwise, a measurement runs in one process and one thread. Values are medians of repeated runs.
A peer is measured with the same loop as this library, in alternating runs; the ratio is the median over pairs of
consecutive runs.
"""

import os
import platform
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from dataclasses import asdict, dataclass
from functools import partial
from pathlib import Path
from typing import Any, Literal, get_args

import numpy as np
import tyro
from rich.console import Console
from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn

import ttt_envs
from tools.environments import (
    CARTPOLE,
    TICTACTOE,
    bench_aec,
    bench_cursor,
    bench_wrappers,
    open_spiel,
    search_by_open_spiel,
)
from tools.timings import GOALS, Playing, Timing, alternate, clocked, rate, skipped
from ttt_envs import agents
from ttt_envs.core.options import unknown
from ttt_envs.core.view import View
from ttt_envs.evaluation.reports.report import Table, write_json
from ttt_envs.learning import alphazero, dqn, ntuple, ppo, value_learning
from ttt_envs.registry import parse_options

#: The batch that is also timed without checks of actions: its number of games, and its option ("": none).
UNCHECKED = (1024, "")

BATCHES = (1, 8, 64, 1024, 8192)

_SIMULATIONS = 1000
_WARM_UP = 20_000
PPO = "MaskablePPO self-play"

LEGEND = "\n".join(
    (
        f"make_aec, {TICTACTOE} (PettingZoo's own; raw: without its wrappers), OpenSpiel's game: random play",
        f"make_single, make_vec, make_sb3, {CARTPOLE}: random play, the opponents' moves inside each step",
        "Batch: many games, each step with observation, mask and a random action",
        "/ unchecked: speed with the legality check of each action, divided by the speed without it",
        "cursor: random playouts in Python with Game.start and with OpenSpiel, per CPU second",
        "tree search: from the opening",
        "learners: one process, own settings, without the time for saving and evaluation",
        "first reset: in a fresh process, `import ttt_envs` included",
        "Other work on this machine makes all of this slower.",
    )
)

Section = Literal["aec", "wrappers", "batch", "cursor", "search", "training", "start"]
SECTIONS: tuple[Section, ...] = get_args(Section)


@dataclass(frozen=True)
class Config:
    """Measure speed and compare it with the goals in goals.toml, in about two minutes per game."""

    games: tuple[str, ...] = ("all",)
    """Ids of games, or all."""
    seconds: float = 2.0
    """Seconds per measurement, divided among its repeats."""
    repeats: int = 5
    """Number of runs per measurement; their median is reported."""
    only: tuple[Section, ...] = SECTIONS
    """Parts to measure."""
    out: Path = Path("runs/bench")
    """Folder for benchmark.json."""


# --- batch ---


def bench_batch(game_id: str, config: Config) -> Iterator[Timing]:
    """Yield the speed for all `BATCHES` and for the options in goals.toml; for `UNCHECKED` also without checks."""
    goals = GOALS["games"].get(game_id, {})
    with_options = [name.partition(", ")[2] for name in goals if name.startswith("batch 1024, ")]
    for n, option in [(n, "") for n in BATCHES] + [(1024, option) for option in with_options]:
        game = ttt_envs.load(game_id, **parse_options(game_id, [option] if option else []))
        both = (n, option) == UNCHECKED
        plays = {}
        for checked in (True, False) if both else (True,):
            batch = ttt_envs.Batch(game, n, seed=0, auto_reset=True)
            plays[checked] = partial(clocked, Playing(batch, checked=checked), clock=time.perf_counter)
        runs = alternate(plays, config)
        name = f"{n}, {option}" if option else str(n)
        what = f"Batch of {name}"
        yield rate(game_id, what, runs[True], "steps/s", goals.get(f"batch {name}"))
        if both:
            ratios = [a / b for a, b in zip(runs[True], runs[False], strict=True)]
            yield rate(game_id, f"{what} / unchecked", ratios, "x", goals.get(f"batch {name} / unchecked"))


# --- search ---


def search(game_id: str, spec: str, seconds: float) -> float:
    """Return the simulations per CPU second of the tree search `spec` in a batch of four starting positions."""
    agent: Any = agents.load(spec)
    game = ttt_envs.load(game_id)
    positions = 4
    states = ttt_envs.Batch(game, positions, seed=0).states
    players = np.maximum(states["to_move"], 0).astype(np.int64)
    done, start = 0, time.process_time()
    while (now := time.process_time()) - start < seconds:
        agent.act(View.unchecked(game, states, players, np.arange(done, done + positions).astype(np.uint64)))
        done += positions
    return done * int(agent.simulations) / (now - start)


def bench_search(game_id: str, config: Config) -> Iterator[Timing]:
    """Yield the speed of a tree search from the opening and, if OpenSpiel has the game, of its MCTS in C++."""
    what = f"{agents.search_for(ttt_envs.load(game_id)) or 'mcts'}:simulations={_SIMULATIONS}"
    goals = GOALS["games"].get(game_id, {})
    spiel, other = open_spiel(goals)
    players = {what: lambda seconds: search(game_id, what, seconds)}
    if other is not None:
        players[spiel] = lambda seconds: search_by_open_spiel(other, _SIMULATIONS, seconds)
    try:
        runs = alternate(players, config)
    except (ValueError, ImportError) as error:
        yield skipped(game_id, what, "playouts/s", str(error))
        return
    yield rate(game_id, what, runs[what], "playouts/s", goals.get("search"))
    if other is not None:
        yield rate(game_id, spiel, runs[spiel], "playouts/s")
        ratios = [a / b for a, b in zip(runs[what], runs[spiel], strict=True)]
        yield rate(game_id, f"search / {spiel}", ratios, "x", goals.get(f"search / {spiel}"))


# --- training ---


@dataclass(frozen=True)
class Learner:
    """A learner to time.

    Attributes:
        what: the learner's name in the table.
        module: the learner's module.
        steps: steps of a measurement, in the module's unit; enough for a few seconds.
    """

    what: str
    module: Any
    steps: int

    def rate(self, game_id: str, steps: int | None = None) -> float:
        """Return training steps per second with the learner's default settings, excluding saving and evaluation."""
        steps = steps or self.steps
        with tempfile.TemporaryDirectory() as folder:
            out = Path(folder) / "run"
            config = self.module.Config(
                game=game_id, steps=steps, eval_games=2, eval_every=10**9, regret_games=0, out=out, quiet=True
            )
            return float(self.module.train(config).steps_per_second)


LEARNERS = (
    Learner(PPO, ppo, 8 * 512 * 16),
    Learner("masked DQN", dqn, 60_000),
    Learner("value learning, all actions labelled", value_learning, 60_000),
    Learner("Gumbel AlphaZero, 16 simulations", alphazero, 40_000),
    Learner("n-tuple TD learning", ntuple, 1_000_000),
)


def bench_training(game_id: str, config: Config) -> Iterator[Timing]:
    """Yield the speed of each learner; a learner that cannot learn the game is reported as skipped."""
    for learner in LEARNERS:
        goal = GOALS["games"].get(game_id, {}).get("training") if learner.what == PPO else None
        unit = f"{learner.module.Config.UNIT}/s"
        try:
            learner.rate(game_id, min(learner.steps, _WARM_UP))
            runs = [learner.rate(game_id) for _ in range(min(config.repeats, 3))]
        except (ImportError, ValueError) as error:
            yield skipped(game_id, learner.what, unit, str(error))
        else:
            yield rate(game_id, learner.what, runs, unit, goal)


# --- start ---


def start_seconds(code: str, cache: Path) -> float:
    """Return the seconds that `code` takes in a new process, excluding Python's start; `cache` is Numba's cache."""
    timed = f"import time; start = time.perf_counter()\n{code}\nprint(time.perf_counter() - start)"
    root = str(Path(__file__).resolve().parent.parent)
    paths = os.pathsep.join(filter(None, [root, os.environ.get("PYTHONPATH")]))
    environment = {**os.environ, "NUMBA_CACHE_DIR": str(cache), "PYTHONPATH": paths}
    done = subprocess.run(
        [sys.executable, "-c", timed],
        env=environment,
        capture_output=True,
        text=True,
        check=False,
        timeout=300,
    )
    if done.returncode:
        raise RuntimeError(f"a fresh process failed:\n{done.stderr}")
    return float(done.stdout.splitlines()[-1])


def bench_import(config: Config) -> Iterator[Timing]:
    """Yield the time of `import ttt_envs` in a new process."""
    with tempfile.TemporaryDirectory() as cache:
        runs = [start_seconds("import ttt_envs", Path(cache)) for _ in range(config.repeats)]
    yield rate("", "import ttt_envs", runs, "s", GOALS["start"]["import"])


def bench_start(game_id: str, config: Config) -> Iterator[Timing]:
    """Yield the time of import and first reset in a new process, without and with compiled kernels in the cache."""
    code = f"import ttt_envs; ttt_envs.make_aec({game_id!r}).reset(seed=0)"
    with tempfile.TemporaryDirectory() as cache:
        cold = start_seconds(code, Path(cache))
        warm = [start_seconds(code, Path(cache)) for _ in range(min(config.repeats, 3))]
    yield rate(game_id, "first reset, empty cache", [cold], "s", GOALS["start"]["cold"])
    yield rate(game_id, "first reset, warm cache", warm, "s", GOALS["start"]["warm"])


# --- all ---

PARTS: dict[Section, Callable[[str, Config], Iterator[Timing]]] = {
    "aec": lambda game_id, config: bench_aec(game_id, config, GOALS["games"].get(game_id, {})),
    "wrappers": lambda game_id, config: bench_wrappers(game_id, config, GOALS["games"].get(game_id, {})),
    "batch": bench_batch,
    "cursor": lambda game_id, config: bench_cursor(game_id, config, GOALS["games"].get(game_id, {})),
    "search": bench_search,
    "training": bench_training,
    "start": bench_start,
}


def measure(config: Config, progress: Callable[[str, float], None] = lambda what, share: None) -> Iterator[Timing]:
    """Yield the measurements that `config` asks for, one by one. Before each part, `progress` is called with the part's
    name and the completed share.

    Raises ValueError for an unknown game or part, for `seconds` that are not positive, and for `repeats` below 1.
    """
    known = list(ttt_envs.GAMES)
    games = known if config.games == ("all",) else list(config.games)
    for game_id in games:
        if game_id not in known:
            raise ValueError(unknown("game", game_id, [*known, "all"]))
    for part in config.only:
        if part not in PARTS:
            raise ValueError(unknown("part", part, SECTIONS))
    if not (config.seconds > 0 and config.repeats >= 1):
        raise ValueError(f"seconds={config.seconds} must be positive, and repeats={config.repeats} at least 1")
    jobs: list[tuple[str, Callable[[], Iterator[Timing]]]] = []
    if "start" in config.only:
        jobs.append(("import", lambda: bench_import(config)))
    jobs += [
        (f"{game_id}: {part}", lambda g=game_id, p=part: PARTS[p](g, config))  # type: ignore[misc]
        for game_id in games
        for part in SECTIONS
        if part in config.only
    ]
    for k, (what, job) in enumerate(jobs):
        progress(what, k / len(jobs))
        yield from job()
    progress("", 1.0)


def tables(timings: Sequence[Timing]) -> list[Table]:
    """Return one table per game, with values, goals and whether each goal is met."""
    made = []
    for game in dict.fromkeys(m.game for m in timings):
        mine = [m for m in timings if m.game == game]
        rows = [
            [
                m.what,
                "–" if np.isnan(m.value) else _number(m.value, m.unit),
                m.unit,
                "" if m.goal is None else f"{'≤' if m.unit == 's' else '≥'} {_number(m.goal, m.unit)}",
                {True: "met", False: "NOT met", None: ""}[m.met],
            ]
            for m in mine
        ]
        notes = [f"{m.what}: {m.note}" for m in mine if m.note]
        judged = [m.met for m in mine if m.met is not None]
        if judged:
            notes.append(f"{sum(judged)} of {len(judged)} goals met")
        made.append(Table(game or "The package", ["", "value", "unit", "goal", ""], rows, "\n".join(notes)))
    return made


def _number(value: float, unit: str) -> str:
    return f"{value:.2f}" if unit in ("s", "x") else f"{value:,.0f}"


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command line; return the exit status, which is 0 even if goals are missed."""
    config = tyro.cli(Config, args=arguments, prog="python -m tools.benchmark", description=Config.__doc__)
    console, errors = Console(), Console(stderr=True)
    timings: list[Timing] = []
    status = 0
    columns = (TextColumn("{task.description}"), BarColumn(), TimeElapsedColumn())
    try:
        with Progress(*columns, console=errors, transient=True) as progress:
            task = progress.add_task("", total=1.0)
            for measurement in measure(
                config, lambda what, share: progress.update(task, description=what, completed=share)
            ):
                timings.append(measurement)
    except ValueError as error:
        errors.print(f"error: {error}", style="red", markup=False, highlight=False)
        status = 2
        if not timings:
            return status
    except KeyboardInterrupt:
        errors.print("interrupted: only what was measured by then")
        status = 130
    for table in tables(timings):
        console.print()
        console.print(table)
    console.print(f"\n{LEGEND}", highlight=False)
    path = config.out / "benchmark.json"
    machine: dict[str, Any] = {
        "python": platform.python_version(),
        "machine": platform.machine(),
        "cores": os.cpu_count(),
    }
    with suppress(OSError):
        machine["load"] = os.getloadavg()[0]
    lines = [{**asdict(m), "met": m.met} for m in timings]
    write_json(path, {"version": ttt_envs.__version__, **machine, "complete": not status, "measurements": lines})
    console.print(f"The numbers are in {path}", highlight=False)
    return status


if __name__ == "__main__":
    sys.exit(main())
