"""Become a program under limits: `python -I -S launch.py PARENT MEMORY PROGRAM [ARGUMENT ...]`.

PARENT is the number of the process that starts it, MEMORY a number of bytes or 0. It is run as a file and imports
nothing of the library, so that it takes a few milliseconds. It needs no function between fork and exec, which is unsafe
in a process with threads.
"""

import ctypes
import os
import resource
import signal
import sys

_PR_SET_PDEATHSIG = 1


def main(parent: int, memory: int, command: list[str]) -> None:
    """Set the limits and become the program."""
    if sys.platform == "linux":
        # Killed with the library, even if that is killed by SIGKILL and the program does not read its input.
        ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)
        if os.getppid() != parent:  # it has ended already
            sys.exit(1)
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    if memory:
        # Private memory that can be written. The address space would be too much: virtual machines such as Node's
        # reserve large parts of it that they never use. Systems other than Linux do not count mapped memory as data.
        what = resource.RLIMIT_DATA if sys.platform == "linux" else resource.RLIMIT_AS
        hard = resource.getrlimit(what)[1]
        most = memory if hard == resource.RLIM_INFINITY else min(memory, hard)
        resource.setrlimit(what, (most, most))
    # Python ignores these; a program expects them as they are by default.
    for each in (signal.SIGPIPE, signal.SIGXFSZ):
        signal.signal(each, signal.SIG_DFL)
    try:
        os.execvp(command[0], command)
    except OSError as error:
        sys.exit(f"{command[0]} cannot be run: {error.strerror}")


if __name__ == "__main__":
    main(int(sys.argv[1]), int(sys.argv[2]), sys.argv[3:])
