"""Workers that are actors on a Ray cluster. A lost node costs nothing but time: its jobs are played elsewhere."""

import logging
import os
import socket
import time
from collections.abc import Callable, Generator, Iterator, Mapping
from concurrent.futures import Future
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import Any, cast

from ttt_envs.evaluation.arena.play import Games
from ttt_envs.evaluation.tournaments.jobs import Agenda, Contest, FinishedJob, Job
from ttt_envs.evaluation.tournaments.workers import (
    STILLBORN,
    Failed,
    GamesFinished,
    Recipe,
    check_sources,
    no_workers,
    sources,
)
from ttt_envs.storage.extras import require

# Seconds in which interrupted tasks save what they have.
_SAVING = 30.0

# Seconds to wait for news before looking for an interrupt again.
_WAIT = 1.0


class RayWorker:
    """The actor. Errors are answered, so that what Ray raises itself is a lost worker's."""

    def __init__(self, recipe: Recipe) -> None:
        self.recipe = recipe
        self.contest: Contest | None = None

    def begin(self) -> Failed | None:
        """Make the contest; the error if that fails."""
        try:
            self.contest = self.recipe.make()
        except Exception as error:
            failed = Failed.of(error)
            return replace(failed, text=f"on the node {socket.gethostname()}: {failed.text}")
        return None

    def play(self, job: Job) -> tuple[Games, float] | Failed:
        """A job's games and the seconds that they took, or an agent's error."""
        assert self.contest is not None
        started = time.perf_counter()
        try:
            games = self.contest.play(job)
        except Exception as error:
            return Failed.of(error)
        return games, time.perf_counter() - started


@contextmanager
def connected(address: str | None, processors: int | None = None) -> Iterator[None]:
    """A context in which this process is connected to Ray, as before if it was already.

    Args:
        address: of a cluster; None for one that is started on this machine and ends with the context.
        processors: of a cluster that is started; None for those of the machine.

    Raises ConnectionError if there is no cluster at the address, and ImportError if Ray is not installed.
    """
    require("distributed", "ray")
    import ray

    ours = not ray.is_initialized()
    quiet = {"log_to_driver": False, "logging_level": logging.ERROR}
    try:
        if ours and address is None:
            ray.init(address="local", num_cpus=processors, include_dashboard=False, **quiet)
        elif ours:
            ray.init(address=address, **quiet)
        yield
    finally:
        if ours:
            ray.shutdown()  # also of what was interrupted while it started


class Tasks:
    """Tasks on a Ray cluster, submitted as to an executor."""

    def __init__(self) -> None:
        """Ray must be connected; see `connected`."""
        import ray

        self._task = ray.remote(num_cpus=1, scheduling_strategy="SPREAD")(_on_node)
        self._running: list[Any] = []

    def submit(self, function: Callable[..., Any], /, *arguments: Any) -> Future[Any]:
        """Begin a task when a processor is free."""
        self._running.append(self._task.remote(function, arguments, os.getcwd(), sources()))
        return cast("Future[Any]", self._running[-1].future())

    def shutdown(self, *, cancel_futures: bool = False) -> None:
        """Interrupt all tasks, and give runs time to save what they have."""
        import ray

        for each in self._running:
            ray.cancel(each)
        ray.wait(self._running, num_returns=len(self._running), timeout=_SAVING)


def _on_node(function: Callable[..., Any], arguments: tuple[Any, ...], place: str, theirs: Mapping[str, str]) -> Any:
    """A task on a node, which must have the same version of all that matters, and the folder of the study."""
    check_sources(theirs)
    os.chdir(place)
    return function(*arguments)


@dataclass
class _Task:
    """The present work of an actor: a job, or None while it begins."""

    number: int
    actor: Any
    job: Job | None = None


class RayCluster:
    """Plays jobs in actors, each with one processor of the cluster, spread over its nodes."""

    def __init__(self, recipe: Recipe, workers: int | None, address: str | None) -> None:
        """`workers`: None for the cluster's processors; `address`: None for a cluster started for the purpose.

        Raises ImportError if Ray is not installed; the message has the command that installs it.
        """
        require("distributed", "ray")
        self.recipe, self.address = recipe, address
        self._wanted = workers

    @property
    def workers(self) -> int:
        """The number of actors; known when Ray is connected, 1 before, unless it was given."""
        import ray

        if self._wanted is None and ray.is_initialized():
            return max(int(ray.cluster_resources().get("CPU", 1)), 1)
        return self._wanted or 1

    def run(self, agenda: Agenda, tally: GamesFinished) -> Generator[FinishedJob]:
        """As `Engine.run`. Connects to Ray, unless this process is connected already.

        Raises ConnectionError if there is no cluster at the address.
        """
        with connected(self.address, self._wanted):
            agenda.workers = self.workers
            yield from self._run(agenda, tally)

    def _run(self, agenda: Agenda, tally: GamesFinished) -> Generator[FinishedJob]:
        import ray
        from ray.exceptions import RayError, RayTaskError

        kind = ray.remote(num_cpus=1, max_restarts=0, scheduling_strategy="SPREAD")(RayWorker)
        tasks: dict[Any, _Task] = {}  # by the reference to what an actor will answer
        idle: list[_Task] = []
        stillborn = 0

        def hire(number: int) -> None:
            actor = kind.remote(self.recipe)
            tasks[actor.begin.remote()] = _Task(number, actor)

        try:
            for number in range(min(self.workers, agenda.left)):
                hire(number)
            while True:
                while idle and (job := agenda.take()) is not None:
                    task = idle.pop()
                    task.job = job
                    tasks[task.actor.play.remote(job)] = task
                if not agenda.left and not any(task.job for task in tasks.values()):
                    return
                ready, _ = ray.wait(list(tasks), num_returns=1, timeout=_WAIT)
                for reference in ready:
                    task = tasks.pop(reference)
                    job, task.job = task.job, None
                    try:
                        answer = ray.get(reference)
                    except RayTaskError:  # a fault of this module's, as the actor answers errors
                        raise
                    except RayError as error:
                        reason = str(error).strip().splitlines()[0]
                        ray.kill(task.actor)  # it may only be out of reach
                        if job is not None:
                            agenda.put_back(job, reason)
                        stillborn = 0 if job is not None else stillborn + 1
                        if stillborn == STILLBORN:
                            raise no_workers(reason) from error
                        if agenda.left:
                            hire(task.number)
                        continue
                    if isinstance(answer, Failed):
                        raise answer.error()
                    idle.append(task)
                    stillborn = 0
                    if job is not None:
                        games, seconds = answer
                        agenda.finished(job, seconds)
                        tally.finished(task.number, job)
                        yield FinishedJob(job, games)
        finally:
            for task in (*idle, *tasks.values()):
                ray.kill(task.actor)
