"""Run many jobs in this process, in several processes or on a Ray cluster, with joblib.

Example::

    for number, result in pool.run(function, jobs, workers=2):
        save(number, result)

Results come in the order in which jobs finish. Split the work into the same jobs for any number of workers and give
each job its own seed, so that the results do not depend on the workers.
"""

import logging
import os
import signal
import sys
import threading
import time
import warnings
from collections.abc import Callable, Generator, Iterable, Iterator, Sequence
from concurrent.futures.process import BrokenProcessPool
from contextlib import closing, contextmanager
from itertools import islice
from pathlib import Path
from typing import Any, TypeVar

import cloudpickle
import joblib

from ttt_envs.core.options import within
from ttt_envs.storage.extras import require

# Jobs per processor in a batch for a Ray cluster; the results of a batch arrive together.
_AHEAD = 4

Job = TypeVar("Job")
Result = TypeVar("Result")


def run(
    function: Callable[[Job], Result],
    jobs: Sequence[Job],
    *,
    workers: int | str = 1,
    goes_on: str = "the same command with --resume goes on",
) -> Generator[tuple[int, Result]]:
    """Call `function(job)` for each job; yield job number and result in the order in which jobs finish.

    The function, jobs and results are pickled (with cloudpickle) for other processes, which have the same current
    folder and Python path, and use one thread each for compiled code and matrix products. Ctrl-C reaches only this
    process, which then ends the others.

    Args:
        function: called with each job.
        jobs: independent jobs.
        workers: number of processes; 1 uses only this process, 0 one process per processor. "ray" starts a Ray cluster
            on this machine, "ray:ADDRESS" joins one.
        goes_on: part of the error's message if a worker was killed: how the user can continue.

    Raises:
        ValueError: `workers` has another value than those above.
        ChildProcessError: a worker was killed.
        ConnectionError: there is no cluster at the address.
        ImportError: Ray is not installed.
        Exception: an error of the function; no further job starts then.
    """
    check(workers)
    if workers == 1:
        yield from ((number, function(job)) for number, job in enumerate(jobs))
        return
    given = os.getcwd(), tuple(sys.path), cloudpickle.dumps(function)
    calls = (joblib.delayed(_call)(*given, number, job) for number, job in enumerate(jobs))
    results = _on_ray(calls, workers) if isinstance(workers, str) else _in_processes(calls, workers)
    try:
        with closing(results):
            yield from results
    except BrokenProcessPool as error:
        raise ChildProcessError(
            f"a worker was killed, or its memory was short: {goes_on}; fewer workers need less memory"
        ) from error


def check(workers: int | str) -> None:
    """Raise ValueError unless `workers` is a number or names a Ray cluster; ImportError if Ray is not installed."""
    if not isinstance(workers, str):
        within(0, 10_000, workers=workers)
    elif workers.partition(":")[0] == "ray":
        require("distributed", "ray")
    else:
        raise ValueError(f"workers must be a number, 'ray' or 'ray:ADDRESS', not {workers!r}")


def _call(folder: str, path: Sequence[str], packed: bytes, number: int, job: Any) -> tuple[int, Any]:
    """Run a job in another process. Unpickled data come from the calling process, never from a file."""
    if Path(folder).is_dir():  # another node may lack the folder
        os.chdir(folder)
    sys.path += [place for place in path if place not in sys.path]
    return number, cloudpickle.loads(packed)(job)


def _in_processes(calls: Iterable[Any], number: int) -> Generator[tuple[int, Any]]:
    # Suppress joblib's advice after an early stop, for example by Ctrl-C.
    warnings.filterwarnings("ignore", r"\d+ tasks which were still being processed", UserWarning)
    begin = {"initializer": _begin, "initargs": (os.getpid(),)}
    with joblib.parallel_config("loky", n_jobs=number or -1, inner_max_num_threads=1, **begin):
        with _ignoring_interrupts():
            results = joblib.Parallel(return_as="generator_unordered", batch_size=1)(calls)
        yield from results


@contextmanager
def _ignoring_interrupts() -> Iterator[None]:
    """Return a context in which this process, and the processes that it starts, ignore Ctrl-C."""
    if threading.current_thread() is not threading.main_thread():  # signals reach only the main thread
        yield
        return
    before = signal.signal(signal.SIGINT, signal.SIG_IGN)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before)


def _begin(parent: int) -> None:
    """Set up a worker process: it ignores Ctrl-C, and ends if its parent was killed."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)

    def watch() -> None:
        while os.getppid() == parent:
            time.sleep(1)
        os._exit(1)

    threading.Thread(target=watch, daemon=True).start()


def _on_ray(calls: Iterable[Any], workers: str) -> Generator[tuple[int, Any]]:
    """Yield results from a Ray cluster in batches, because its backend cannot return single results."""
    import ray
    from ray.util.joblib import register_ray

    address = workers.partition(":")[2]
    register_ray()
    ours = not ray.is_initialized()
    try:
        if ours:
            own = {} if address else {"include_dashboard": False}
            ray.init(address=address or "local", log_to_driver=False, logging_level=logging.ERROR, **own)
        processors = max(int(ray.cluster_resources().get("CPU", 1)), 1)
        with joblib.parallel_config("ray", n_jobs=processors), joblib.Parallel(batch_size=1) as parallel:
            while some := list(islice(calls, _AHEAD * processors)):
                yield from parallel(some)
    finally:
        if ours:
            ray.shutdown()
