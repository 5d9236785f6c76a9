"""Parts that learners share: a buffer, a gradient step with an average of the networks, the outer loop, and seeds.

With several seeds (`--seeds 5`), the run of seed K is in OUT/seed-K. At the end, `summary.csv` in OUT has the mean of
each metric over the seeds with an interval by Student's t. It shows the variation between training seeds, which games
of a single trained agent cannot show.
"""

import signal
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Protocol

import numpy as np
import torch

from ttt_envs.agents import Agent
from ttt_envs.agents.networks import FILE, SNAPSHOTS, NetworkInfo, save_network
from ttt_envs.agents.torch_policy import PolicyAgent
from ttt_envs.core.game import Game
from ttt_envs.evaluation.reports.intervals import of_seeds, t_interval
from ttt_envs.learning.optimizers import Optimizers
from ttt_envs.learning.runs import checkpoint
from ttt_envs.learning.runs.logs import Bar, Log
from ttt_envs.learning.runs.measurements import Measurements, due, read_metrics, title_of, write_rows
from ttt_envs.learning.runs.settings import AnySettings, Result
from ttt_envs.learning.torch_networks import Logits, TorchNetwork
from ttt_envs.storage.files import locked_folder, reason_of, write_whole
from ttt_envs.storage.runs import CONFIG

#: Name in the log of the CPU time, in seconds, that the process has spent on training, without saving and measurements;
#: a resumed run adds to the last value.
PROCESSOR = "time/processor_seconds"

#: Name of the file with the mean metrics, in a folder of several seeds.
SUMMARY = "summary.csv"

#: Arrays by name.
Rows = dict[str, np.ndarray]


class Buffer:
    """A ring buffer of the latest training data, as arrays by name."""

    def __init__(self, size: int) -> None:
        """`size`: number of rows that are kept."""
        self.rows: Rows = {}
        self.size, self.added = size, 0

    def add(self, rows: Rows) -> None:
        """Add arrays (n, ...) by name, with the same names and shapes at each call."""
        n = len(next(iter(rows.values())))
        places = (self.added + np.arange(n)) % self.size
        for name, values in rows.items():
            if name not in self.rows:
                self.rows[name] = np.zeros((self.size, *values.shape[1:]), values.dtype)
            self.rows[name][places] = values
        self.added += n

    def sample(self, n: int, generator: np.random.Generator) -> Rows:
        """Return n rows, drawn with replacement, as arrays (n, ...) by name."""
        places = generator.integers(0, min(self.added, self.size), n)
        return {name: values[places] for name, values in self.rows.items()}


def permutations_of(game: Game) -> list[tuple[np.ndarray, np.ndarray]]:
    """Return a game's symmetries as permutations of features and of actions; only the identity if it has none."""
    permutations = [(symmetry.features, symmetry.actions) for symmetry in game.symmetries]
    return permutations or [(np.arange(game.observation_size), np.arange(game.num_actions))]


def gradient_step(
    loss: torch.Tensor,
    network: TorchNetwork,
    average: TorchNetwork,
    optimizers: Optimizers,
    *,
    rate: float,
    share: float,
) -> dict[str, float]:
    """Make a gradient step on `loss` at learning rate `rate`, and move `average` toward `network` by `share`.

    Returns figures for the log.
    """
    network.zero_grad(set_to_none=True)
    loss.backward()
    torch.nn.utils.clip_grad_norm_(network.parameters(), 5.0)
    for optimizer in optimizers.values():
        for group in optimizer.param_groups:
            group["lr"] = rate
        optimizer.step()
    with torch.no_grad():
        for mean, latest in zip(average.parameters(), network.parameters(), strict=True):
            mean.lerp_(latest, share)
    return {"train/loss": float(loss.detach()), "train/learning_rate": rate}


class Interrupts:
    """A context that postpones SIGINT and SIGTERM until `check`, which raises KeyboardInterrupt.

    If the signal raised the exception at once, that could happen in the callback of a weak reference, where Python
    drops exceptions. A second signal does not wait for `check`. Only the main thread receives signals; in other threads
    the context does nothing.
    """

    def __init__(self) -> None:
        self.asked = False
        self._previous: dict[signal.Signals, Any] = {}

    def __enter__(self) -> "Interrupts":
        if threading.current_thread() is threading.main_thread():
            self._previous = {number: signal.signal(number, self._note) for number in (signal.SIGINT, signal.SIGTERM)}
        return self

    def __exit__(self, *_: Any) -> None:
        for number, handler in self._previous.items():
            signal.signal(number, handler)

    def _note(self, *_: Any) -> None:
        if self.asked:
            raise KeyboardInterrupt
        self.asked = True

    def check(self) -> None:
        """Raise KeyboardInterrupt if a signal has come."""
        if self.asked:
            raise KeyboardInterrupt


@dataclass(kw_only=True)
class Learner:
    """The parts of a method that the outer loop uses.

    Attributes:
        one_round: (steps so far) runs a round of training and returns its number of steps.
        write: (path, steps so far) writes the file with which an agent plays.
        agent: (steps so far) -> the agent for measurements.
        parts: the state for a resumed run, see `ttt_envs.learning.runs.checkpoint`.
        plays_as: text for `agents.load` of the agent that plays with the saved file, as it does in measurements.
        file: name in the run folder of the file that `write` writes.
        numbers: figures for the log by name, such as the loss; the loop reads them at each save.
        average: returns the agent's average over its past, see `Exploitability`.
        exchange: replaces the opponents after a snapshot; None for a learner without snapshots.
        interrupts: a long round may check them before it changes anything that is saved.
    """

    one_round: Callable[[int], int]
    write: Callable[[Path, int], None]
    agent: Callable[[int], Agent]
    parts: checkpoint.Parts
    plays_as: str
    file: str = FILE
    numbers: Mapping[str, float] = field(default_factory=dict)
    average: Callable[[], Agent] | None = None
    exchange: Callable[[], None] | None = None
    interrupts: Interrupts = field(default_factory=Interrupts)


def train_rounds(this: checkpoint.Run, learner: Learner) -> Result:
    """Train until `steps` of the settings or an interrupt (Ctrl-C); measure, save, and show the progress.

    Args:
        this: the run. Its settings have the fields of `ttt_envs.learning.runs.settings.Settings`, `save_every`, and
            `snapshot_every` if the learner takes snapshots.
        learner: the method.

    Raises OSError if a file cannot be written; its message has the number of steps that are saved.
    """
    config, folder, unit, interrupts = this.config, this.folder, this.config.UNIT, learner.interrupts
    bar = Bar(config.steps, this.start, unit=unit, quiet=config.quiet)
    log = Log(this)
    this.count_seconds(log.latest("seconds"))
    measurements = Measurements(
        config.measurements(this.game, learner.average),
        folder,
        resume=config.resume,
        unit=unit,
        progress=bar.say,
        log=log.record,
        check=interrupts.check,
    )
    steps, saved, planned = this.start, this.start if config.resume else -1, this.start
    processor = log.latest(PROCESSOR)

    def measure(last: bool = False) -> None:
        nonlocal planned
        planned = measurements.next(steps)
        try:
            measurements.measure(learner.agent(steps), steps, last=last)
        finally:  # also what was measured before an interrupt
            log.write(steps)

    def save() -> None:
        """Update the folder; if a snapshot is due, take it and exchange the opponents."""
        nonlocal saved
        snapshot = learner.exchange is not None and due(steps, saved, config.snapshot_every)
        if snapshot:
            learner.write(folder / SNAPSHOTS / f"{steps:012d}.safetensors", steps)
        learner.write(folder / learner.file, steps)
        # The checkpoint is written last: if a call ends before it, the resumed run starts at the previous checkpoint
        # and writes the files above again.
        checkpoint.save(folder, steps, learner.parts, this.done(steps))
        saved = steps
        if snapshot and learner.exchange is not None:
            learner.exchange()

    try:
        with interrupts, bar:
            this.write_config()
            if not config.resume:
                save()
            elif steps < config.steps and this.done(steps) == 1:
                bar.say("The schedules of this run have ended: learning rates and penalties stay at their last values.")
            while steps < config.steps:
                if steps >= planned:
                    measure()
                until = min(planned, saved + config.save_every, config.steps)
                began = time.process_time()
                with bar.training():
                    while steps < until:
                        interrupts.check()
                        steps += learner.one_round(steps)
                        bar.update(steps)
                processor += time.process_time() - began
                save()
                times = {"time/steps_per_second": bar.speed, PROCESSOR: processor}
                for name, value in {**learner.numbers, **times}.items():
                    log.record(name, value)
                log.write(steps)
            measure(last=True)
            this.write_config()  # with the time that the last measurements took
    except KeyboardInterrupt:
        if steps > saved:
            save()
        this.write_config()
        measurements.draw()
        bar.say(f"Interrupted; {steps:,} {unit} are saved in {folder}. Continue with:\n  {this.resume_command}")
        return Result(folder, steps, bar.speed, False, measurements.points, learner.plays_as)
    except OSError as error:
        if not (folder / checkpoint.RESUME).exists():
            raise
        kept = f"{max(saved, 0):,} {unit} are saved in {folder}. Continue with:\n  {this.resume_command}"
        raise OSError(error.errno, f"{reason_of(error)}\n{kept}") from error
    finally:
        log.close()
    bar.say(f"Trained on {steps:,} {unit}. The run is in {folder}; play against it as {learner.plays_as}")
    return Result(folder, steps, bar.speed, True, measurements.points, learner.plays_as)


class SelfPlayMethod(Protocol):
    """A method with one network that learns to play both seats of a two-player game.

    Attributes:
        info: description of the network `playing`, with 0 steps.
        parts: the state for a resumed run, see `ttt_envs.learning.runs.checkpoint`.
        numbers: figures for the log by name.
        playing: the network that is measured and saved.
    """

    info: NetworkInfo
    numbers: dict[str, float]

    @property
    def parts(self) -> checkpoint.Parts: ...

    @property
    def playing(self) -> TorchNetwork: ...

    def begin(self, generator: np.random.Generator) -> None:
        """Create the games; called after the parts are restored. `generator`: for all later draws."""

    def one_round(self, done: float) -> int:
        """Play and learn; `done`: the finished share of the training. Returns the steps."""


def train_self_play(config: Any, name: str, make: Callable[[Any, Game], SelfPlayMethod]) -> Result:
    """Train with a method until `config.steps` or an interrupt (Ctrl-C). Sets torch's seed and number of threads (one).

    Args:
        config: the settings.
        name: name of the method in `ttt train`.
        make: the method's class; it draws new weights with torch's generator.

    Raises the errors of `checkpoint.opened`, and ValueError unless the game has two players.
    """
    with checkpoint.opened(config, name) as this:
        if (game := this.game).num_players != 2:
            raise ValueError(f"{name} is for games of two players; {game} has {game.num_players}")
        torch.set_num_threads(1)  # small networks get slower with more
        torch.manual_seed(config.seed)
        method = make(config, game)
        # The seed includes `start`, the steps so far: a resumed run does not repeat its first games.
        method.begin(np.random.default_rng([config.seed, this.restore(method.parts)]))
        learner = Learner(
            one_round=lambda steps: method.one_round(this.done(steps)),
            write=lambda path, steps: save_network(path, replace(method.info, steps=steps), method.playing.tensors()),
            agent=lambda steps: PolicyAgent(Logits(method.playing)),
            parts=method.parts,
            plays_as=f"network:{config.out}",
            numbers=method.numbers,
        )
        return train_rounds(this, learner)


# --- several seeds ---


@dataclass
class SummaryRow:
    """A metric at the end of training: its mean over seeds, and half the width of its 95 % interval over seeds."""

    metric: str
    seeds: int
    steps: int
    mean: float
    half_width: float


def folders_of(group: Path) -> list[Path]:
    """Return the folders `seed-K` in a folder of several seeds, ordered by K."""
    folders = [path for path in group.glob("seed-*") if path.name.removeprefix("seed-").isdigit()]
    return sorted(folders, key=lambda path: int(path.name.removeprefix("seed-")))


def train_seeds(config: AnySettings, train: Callable[[AnySettings], Result], method: str) -> list[Result]:
    """Train with each of the seeds `config.seed`, `config.seed + 1`, ..., and write the summary.

    Args:
        config: settings with `seeds`; with `resume`, existing runs are continued, and seeds may be added.
        train: the learner's `train`.
        method: name of the method.

    Returns: The results of the seeds that were trained; after an interrupt, the last one is unfinished.

    Raises:
        FileExistsError: the folder holds runs, and `resume` is not set.
        ValueError: the folder holds a run of one seed; or the errors of `train`.
    """
    config.check()
    if (config.out / checkpoint.RESUME).exists():
        raise ValueError(f"{config.out} holds a run of one seed: choose another folder with --out")
    results: list[Result] = []
    with locked_folder(config.out):
        this = checkpoint.Run(config, method, needs=CONFIG)
        path = config.out / CONFIG
        before = path.read_bytes() if config.resume else None
        this.write_config()
        for seed in range(config.seed, config.seed + config.seeds):
            folder = config.out / f"seed-{seed}"
            resume = config.resume and (folder / checkpoint.RESUME).exists()
            try:
                results.append(train(replace(config, seed=seed, seeds=1, out=folder, resume=resume)))
            except (FileNotFoundError, ImportError, TypeError, ValueError):
                if before is not None and not results:
                    write_whole(path, before)  # settings that were refused are nothing to go on with
                elif not results and not (folder / checkpoint.RESUME).exists():
                    path.unlink()
                raise
            if not results[-1].finished:
                if not config.quiet:
                    print(f"Continue all seeds with:\n  {this.resume_command}")
                return results
        this.write_config()
        rows = summary([result.folder for result in results])
        write_rows(config.out / SUMMARY, SummaryRow, rows)
    if not config.quiet:
        print(f"Mean over {config.seeds} seeds; its interval covers 95 % of normally distributed results ({SUMMARY}):")
        for row in rows:
            print(f"  {title_of(row.metric)}: {of_seeds((row.mean, row.half_width), row.seeds)}")
    return results


def summary(folders: Sequence[Path]) -> list[SummaryRow]:
    """Return the last measured metrics of these runs, without metrics that are missing in some runs."""
    metrics = [read_metrics(folder) for folder in folders]
    rows = []
    for metric in metrics[0]:
        if all(metric in each for each in metrics):
            last = [each[metric][-1] for each in metrics]
            mean, half_width = t_interval([value for _, value in last])
            rows.append(SummaryRow(metric, len(metrics), min(steps for steps, _ in last), mean, half_width))
    return rows


def train_all(config: AnySettings, train: Callable[[AnySettings], Result], method: str) -> bool:
    """Train with each seed of the settings; returns False if it was interrupted. Raises as `train` does."""
    results = [train(config)] if config.seeds == 1 else train_seeds(config, train, method)
    return results[-1].finished
