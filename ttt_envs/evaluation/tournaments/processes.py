"""Workers that are processes of this machine. One that is killed costs nothing but time: its job is played again.

Each has a pipe of its own, so that a process that is killed while it writes damages nobody else's results, and it is
known what it was playing. (A `concurrent.futures.ProcessPoolExecutor` breaks as a whole when one of its processes is
killed, and a `multiprocessing.Pool` waits for ever for what that process had.) `evaluation.ladders` has workers of the
same kind, each for one game.
"""

import multiprocessing
import os
import signal
import sys
import threading
import time
from collections.abc import Callable, Collection, Generator, Iterable, Iterator
from contextlib import closing, contextmanager, suppress
from multiprocessing import connection, resource_tracker
from multiprocessing.process import BaseProcess
from typing import Any

from ttt_envs.evaluation.tournaments.jobs import Agenda, FinishedJob, Job
from ttt_envs.evaluation.tournaments.workers import STILLBORN, Failed, GamesFinished, Recipe, no_workers

# The first message of a worker.
_READY = "ready"

# Seconds between two messages on how far a job is, and those that a process is given to end by itself.
_EVERY, _GRACE = 0.2, 2.0


class Processes:
    """Plays jobs in processes that are started afresh. They are not forked, as this one may have threads."""

    def __init__(self, recipe: Recipe, workers: int) -> None:
        """`recipe`: what each process makes the contest of; `workers`: number of processes."""
        self.recipe, self.workers = recipe, workers

    def run(self, agenda: Agenda, tally: GamesFinished) -> Generator[FinishedJob]:
        """As `Engine.run`. The processes have ended when it ends, however it ends."""
        team: list[Worker] = []
        stillborn = 0
        try:
            for number in range(min(self.workers, agenda.left)):
                team.append(Worker(_serve, self.recipe, number))
            while True:
                for worker in team:
                    if worker.ready and worker.work is None and (given := agenda.take()) is not None:
                        worker.give(given)
                if not agenda.left and not any(worker.work for worker in team):
                    return
                for worker in with_news(team):
                    message = worker.read()
                    job: Job | None = worker.work
                    if message is None:
                        team.remove(worker)
                        if job is not None:
                            agenda.put_back(job, ending_of(worker.process))
                            tally.at(worker.number, job, 0)
                        stillborn = 0 if worker.ready else stillborn + 1
                        if stillborn == STILLBORN:
                            raise no_workers(ending_of(worker.process))
                        if agenda.left:
                            team.append(Worker(_serve, self.recipe, worker.number))
                    elif isinstance(message, Failed):
                        raise message.error()
                    elif message == _READY:
                        worker.ready = True
                        stillborn = 0
                    elif job is not None and isinstance(message, int):
                        tally.at(worker.number, job, message)
                    elif job is not None:
                        games, seconds = message
                        worker.work = None
                        agenda.finished(job, seconds)
                        tally.finished(worker.number, job)
                        yield FinishedJob(job, games)
        finally:
            end(team)


class Worker:
    """A process, as the one that started it sees it.

    Attributes:
        number: its number in the team.
        ready: whether it can be given work.
        work: what it does now.
    """

    def __init__(self, serve: Callable[[Any, connection.Connection], None], given: Any, number: int = 0) -> None:
        """`serve`: what it does, with what is `given` and its end of the pipe."""
        self.number, self.ready = number, False
        self.work: Any = None
        context = multiprocessing.get_context("spawn")
        self.connection, theirs = context.Pipe()
        self.process = context.Process(target=serve, args=(given, theirs), daemon=True)
        with interrupts_held():
            self.process.start()
        theirs.close()  # now only the process holds it, and its end is the end of the file

    def give(self, work: Any) -> None:
        """Have something done. If the process has died meanwhile, `read` will say so."""
        self.work = work
        self.send(work)

    def send(self, message: Any) -> None:
        """Send something, unless the process has ended."""
        with suppress(OSError):
            self.connection.send(message)

    def read(self) -> Any:
        """The next message; None if the process has ended."""
        try:
            return self.connection.recv() if self.connection.poll() else None
        except (EOFError, OSError):
            return None


def ending_of(process: BaseProcess) -> str:
    """The way a process ended, as text."""
    process.join(_GRACE)
    status = process.exitcode
    if status is None:
        return "it closed its pipe"
    with suppress(ValueError):
        return f"killed by {signal.Signals(-status).name}"
    return f"exit status {status}"


def with_news(team: Iterable[Worker]) -> list[Worker]:
    """The workers that have sent something or have ended; waits for one."""
    places: dict[Any, Worker] = {}
    for worker in team:
        places[worker.connection] = places[worker.process.sentinel] = worker
    return list(dict.fromkeys(places[each] for each in connection.wait(list(places))))


def end(team: Collection[Worker]) -> None:
    """End the processes: those at work at once, by SIGTERM and then by SIGKILL."""
    for worker in team:
        if worker.ready and worker.work is None:
            worker.send(None)
        else:
            worker.process.terminate()
    latest = time.monotonic() + _GRACE
    for worker in team:
        worker.process.join(max(latest - time.monotonic(), 0))
        if worker.process.is_alive():
            worker.process.kill()
            worker.process.join()
        worker.connection.close()


@contextmanager
def interrupts_held() -> Iterator[None]:
    """Processes started meanwhile get no SIGINT: a terminal sends Ctrl-C to all, and it is for the first one alone."""
    if not hasattr(signal, "pthread_sigmask"):
        yield
        return
    resource_tracker.ensure_running()  # else started with the first process, it would let SIGINT through again
    before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


# --- in the other process ---


def _serve(recipe: Recipe, theirs: connection.Connection) -> None:
    """Play the jobs that come through the pipe, until None comes."""
    ending = _Ending()
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    signal.signal(signal.SIGTERM, ending.note)
    threading.Thread(target=_end_with_parent, daemon=True).start()
    with suppress(EOFError, BrokenPipeError, ConnectionResetError):  # the parent has ended
        try:
            contest = recipe.make()
        except Exception as error:
            theirs.send(Failed.of(error))
            return
        theirs.send(_READY)
        with closing(contest):
            ending.check()
            while (job := theirs.recv()) is not None:
                started = time.perf_counter()
                try:
                    games = contest.play(job, _progress_to(theirs, ending))
                except Exception as error:
                    theirs.send(Failed.of(error))
                    return
                theirs.send((games, time.perf_counter() - started))


class _Ending:
    """Ends the process between two plies after SIGTERM, so that agents can end what they have started.

    Raised by the signal itself, SystemExit could fall into a callback from compiled code, where Python drops it.
    """

    def __init__(self) -> None:
        self.asked = False

    def note(self, *_: object) -> None:
        """The handler of the signal."""
        self.asked = True

    def check(self) -> None:
        """Raise SystemExit if the signal came."""
        if self.asked:
            sys.exit(1)


def _progress_to(theirs: connection.Connection, ending: _Ending) -> Callable[[int], None]:
    """A callback for the number of finished games; passes it on as often as a progress bar needs."""
    said_at = time.monotonic()

    def progress(finished: int) -> None:
        nonlocal said_at
        ending.check()
        if time.monotonic() - said_at > _EVERY:
            said_at = time.monotonic()
            theirs.send(finished)

    return progress


def _end_with_parent() -> None:
    """End this process when its parent has ended, even if that was killed and this one is in the middle of a job."""
    parent = multiprocessing.parent_process()
    assert parent is not None
    connection.wait([parent.sentinel])
    os.kill(os.getpid(), signal.SIGTERM)
    time.sleep(_GRACE)
    os._exit(1)
