"""Measure from which size on several workers play a tournament faster than one process.

    python -m tools.scale tic_tac_dice --option rounds=single --agents random greedy --ray

It needs an idle machine: the load average at the beginning stands below the table.
"""

import os
import statistics
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Annotated, Any

import tyro
from rich.console import Console

from ttt_envs.evaluation import tournament
from ttt_envs.evaluation.reports.report import Table
from ttt_envs.registry import parse_options

#: The engines by name, each with its arguments of `tournament`; "one" is this process.
ENGINES: dict[str, dict[str, Any]] = {"one": {}, "processes": {"engine": "processes"}, "ray": {"engine": "ray"}}


@dataclass(frozen=True)
class Config:
    """Measure from which size on several workers play a tournament faster than one process."""

    game: tyro.conf.Positional[str] = "super_tic_tac_toe"
    """Id of the game."""
    option: Annotated[tuple[str, ...], tyro.conf.arg(metavar="[NAME=VALUE ...]")] = ()
    """Options of the game."""
    agents: tuple[str, ...] = ("random", "greedy")
    """Agents, named as for `ttt tournament`."""
    games: tuple[int, ...] = (1_000, 4_000, 16_000, 64_000, 256_000)
    """Games of a pairing, size after size."""
    workers: int = os.cpu_count() or 1
    """Workers of each engine but one process."""
    ray: bool = False
    """Measure a Ray cluster on this machine, too; needs the extra distributed."""
    repeats: int = 3
    """Runs of each size and engine, alternating; the median counts."""


def measure(config: Config) -> Iterator[tuple[int, dict[str, float]]]:
    """Each size with the median seconds of each engine, on the clock, the start of the workers included."""
    options = parse_options(config.game, config.option)
    engines = {name: how for name, how in ENGINES.items() if name != "ray" or config.ray}

    def seconds(games: int, how: Mapping[str, Any]) -> float:
        workers: dict[str, Any] = {"workers": config.workers} if how else {}
        started = time.perf_counter()
        tournament(config.game, config.agents, **options, games=games, resamples=0, quiet=True, **how, **workers)
        return time.perf_counter() - started

    for how in engines.values():
        seconds(min(config.games), how)  # compiles
    for games in sorted(config.games):
        runs = [{name: seconds(games, how) for name, how in engines.items()} for _ in range(config.repeats)]
        yield games, {name: statistics.median(run[name] for run in runs) for name in engines}


def gains_from(rows: Sequence[tuple[int, Mapping[str, float]]], engine: str) -> int | None:
    """The least size from which on the engine was always faster than one process; None if it was slower at the last."""
    least = None
    for games, seconds in reversed(rows):
        if seconds[engine] >= seconds["one"]:
            break
        least = games
    return least


def main(arguments: Sequence[str] | None = None) -> None:
    """The command line."""
    config = tyro.cli(Config, args=arguments, prog="python -m tools.scale", description=Config.__doc__)
    load, rows = os.getloadavg()[0], list(measure(config))
    engines = list(rows[0][1])
    table = [[f"{games:,}", *(f"{seconds[name]:.1f} s" for name in engines)] for games, seconds in rows]
    said = []
    for name in engines[1:]:
        least = gains_from(rows, name)
        said.append(f"{name}: faster from {least:,} games on" if least else f"{name}: never faster for good")
    note = f"{'; '.join(said)}. {config.workers} workers; load average before: {load:.1f}."
    Console().print(Table("A tournament on the clock", ["games", *engines], table, note))


if __name__ == "__main__":
    main()
