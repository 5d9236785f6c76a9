"""The engine that a tournament was asked for."""

from collections.abc import Callable

from ttt_envs.core.options import choice, within
from ttt_envs.evaluation.tournaments.jobs import Contest
from ttt_envs.evaluation.tournaments.processes import Processes
from ttt_envs.evaluation.tournaments.ray_cluster import RayCluster
from ttt_envs.evaluation.tournaments.workers import Engine, Inline, Recipe

#: The engines by name.
ENGINES = ("processes", "ray")


def engine_for(
    contest: Contest,
    recipe: Callable[[bool], Recipe],
    *,
    live: bool,
    workers: int | None,
    engine: str | None,
    address: str | None,
) -> Engine:
    """The engine that was asked for.

    Args:
        contest: to be played in this process.
        recipe: gives what other processes make it of; called with whether agents may be objects.
        live: whether a person plays.
        workers: number of workers; None for one, or as many as a Ray cluster has processors.
        engine: one of `ENGINES`, or None for this process, or processes if there are several workers.
        address: of a Ray cluster; None to start one on this machine.

    Raises:
        ValueError: settings that do not fit together.
        TypeError: an agent that cannot be sent to other processes.
        ImportError: the extra is not installed that Ray needs.
    """
    if workers is not None:
        within(1, 10_000, workers=workers)
    if engine is not None:
        choice("engine", engine, ENGINES)
    if address is not None and engine != "ray":
        raise ValueError(f"address {address!r} is that of a Ray cluster: it needs engine ray")
    if engine is None and workers in (None, 1):
        return Inline(contest)
    if live:
        raise ValueError("a person plays in this process: leave workers and engine out")
    if engine == "ray":
        return RayCluster(recipe(False), workers, address)
    return Processes(recipe(True), workers or 1)
