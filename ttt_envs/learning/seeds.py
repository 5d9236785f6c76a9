"""Training with several seeds, one after the other: `--seeds 5` of every learner.

The run of seed K stands in OUT/seed-K. At the end `summary.csv` in OUT has the mean of each metric over the seeds, with
the 95 % interval by Student's t: it says what other seeds would give, which games played by one trained agent cannot.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from ttt_envs.evaluation.reports.intervals import t_interval
from ttt_envs.learning import checkpoint, curves
from ttt_envs.learning.metrics import read_metrics, title_of
from ttt_envs.learning.settings import AnySettings, Result
from ttt_envs.storage.files import locked_folder, write_whole
from ttt_envs.storage.runs import CONFIG

SUMMARY = "summary.csv"


@dataclass
class SummaryRow:
    """A metric at the end of training: its mean over seeds, and the half width of the 95 % interval."""

    metric: str
    seeds: int
    steps: int
    mean: float
    half_width: float


def folders_of(group: Path) -> list[Path]:
    """The run folders of the seeds in a folder, in order of the seeds."""
    folders = [path for path in group.glob("seed-*") if path.name.removeprefix("seed-").isdigit()]
    return sorted(folders, key=lambda path: int(path.name.removeprefix("seed-")))


def train_seeds(config: AnySettings, train: Callable[[AnySettings], Result], method: str) -> list[Result]:
    """Train with each of the seeds `config.seed`, `config.seed + 1`, ..., and write the summary.

    Args:
        config: settings with `seeds`; with `resume`, what is there is continued, and seeds may be added.
        train: the learner's `train`.
        method: name of the method.

    Returns:
        The results so far; the last one is not finished if it was interrupted.

    Raises:
        FileExistsError: the folder holds runs, and `resume` is not set.
        ValueError: the folder holds a run of one seed; or as `train` raises it.
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
        curves.write_rows(config.out / SUMMARY, SummaryRow, rows)
    if not config.quiet:
        print(f"Mean and 95 % interval over {config.seeds} seeds, in {config.out / SUMMARY}:")
        for row in rows:
            print(f"  {title_of(row.metric)}: {row.mean:.3f} ± {row.half_width:.3f}")
    return results


def summary(folders: Sequence[Path]) -> list[SummaryRow]:
    """The metrics of these runs where they were measured last; those that not all of them have are left out."""
    metrics = [read_metrics(folder) for folder in folders]
    rows = []
    for metric in metrics[0]:
        if all(metric in each for each in metrics):
            last = [each[metric][-1] for each in metrics]
            mean, half_width = t_interval([value for _, value in last])
            rows.append(SummaryRow(metric, len(metrics), min(steps for steps, _ in last), mean, half_width))
    return rows


def train_all(config: AnySettings, train: Callable[[AnySettings], Result], method: str) -> bool:
    """Train with the one seed or the several of the settings; False if it was interrupted. Raises as `train` does."""
    results = [train(config)] if config.seeds == 1 else train_seeds(config, train, method)
    return results[-1].finished
