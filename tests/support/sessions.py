"""The processes that a command has started, its own session's: `subprocess.Popen(..., start_new_session=True)`."""

import os
import signal
from contextlib import suppress
from pathlib import Path


def session_of(pid: int) -> list[int]:
    """The processes of the session that a process has begun, those left that have not ended."""
    found = []
    for place in Path("/proc").glob("[0-9]*"):
        with suppress(FileNotFoundError, ProcessLookupError):
            state, _, _, session = (place / "stat").read_text().rpartition(")")[2].split()[:4]
            if int(session) == pid and state != "Z":
                found.append(int(place.name))
    return found


def kill_session(pid: int) -> None:
    """Kill them all, also those in process groups of their own."""
    while members := session_of(pid):
        for member in members:
            with suppress(ProcessLookupError):
                os.kill(member, signal.SIGKILL)
