"""Tasks on a Ray cluster, for studies."""

import logging
import os
from collections.abc import Callable, Iterator
from concurrent.futures import Future
from contextlib import contextmanager
from typing import Any, cast

from ttt_envs.storage.extras import require

# Seconds in which interrupted tasks save what they have.
_SAVING = 30.0


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
        self._running.append(self._task.remote(function, arguments, os.getcwd()))
        return cast("Future[Any]", self._running[-1].future())

    def shutdown(self, *, cancel_futures: bool = False) -> None:
        """Interrupt all tasks, and give runs time to save what they have."""
        import ray

        for each in self._running:
            ray.cancel(each)
        ray.wait(self._running, num_returns=len(self._running), timeout=_SAVING)


def _on_node(function: Callable[..., Any], arguments: tuple[Any, ...], place: str) -> Any:
    """A task on a node, which must have the folder of the study."""
    os.chdir(place)
    return function(*arguments)
