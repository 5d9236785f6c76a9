"""Child processes that answer each line with a line, within time limits.

A process has its own session and process group, no open files except its standard streams, and only a few environment
variables. The library kills the process with its whole group when it breaks a limit, when it is no longer used, and
when Python exits. If Python itself is killed, the child process reaches the end of its input. Standard error is read
continuously, and its last part is kept for error messages.
"""

import os
import selectors
import signal
import subprocess
import time
import weakref
from collections.abc import Mapping, Sequence
from contextlib import suppress

from ttt_envs.storage.untrusted import printable

#: Environment variables that a program receives, if they are set.
ENVIRONMENT = ("PATH", "HOME", "LANG", "LC_ALL", "TMPDIR", "LD_LIBRARY_PATH")

#: The longest answer, in bytes.
LONGEST = 1 << 16

# Bytes of standard error to keep, and seconds for a process to exit.
_TAIL, _MOMENT = 2000, 0.5

# Bytes per read, and the largest default capacity of a pipe on any system.
_CHUNK, _PIPE = 1 << 14, 1 << 16


class Broken(RuntimeError):
    """Raised when a process gives no usable answer.

    Attributes:
        reason: what went wrong, worded as the end of a sentence.
        stderr: the end of the process's standard error.
    """

    def __init__(self, reason: str, stderr: str = "") -> None:
        """Set the attributes."""
        super().__init__(reason)
        self.reason, self.stderr = reason, stderr


class TooSlow(Broken):
    """Raised when a process gives no answer in time."""


def environment(*more: str) -> dict[str, str]:
    """Return the environment variables of `ENVIRONMENT` and `more` that are set."""
    return {name: os.environ[name] for name in (*ENVIRONMENT, *more) if name in os.environ}


class Process:
    """A running program, which answers each question with one line.

    Attributes:
        owner: id of the process that started the program; forks of that process must not use the program.
    """

    def __init__(self, command: Sequence[str], variables: Mapping[str, str]) -> None:
        """Start the program.

        Args:
            command: the program and its arguments.
            variables: the program's complete environment.

        Raises:
            NotImplementedError: the system is Windows.
            OSError: the process cannot be started.
        """
        if os.name != "posix":
            raise NotImplementedError("agents in processes of their own need Linux or macOS")
        self.owner = os.getpid()
        self._process = subprocess.Popen(
            command,
            bufsize=0,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            env=dict(variables),
            start_new_session=True,
        )
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        assert self._process.stderr is not None
        self._in, self._out, self._error = (
            pipe.fileno() for pipe in (self._process.stdin, self._process.stdout, self._process.stderr)
        )
        for pipe in (self._in, self._out, self._error):
            os.set_blocking(pipe, False)
        self._buffer, self._tail = bytearray(), bytearray()
        self._selector = selectors.PollSelector()
        self._selector.register(self._out, selectors.EVENT_READ)
        self._selector.register(self._error, selectors.EVENT_READ)
        # `_end` also runs when Python exits.
        self._end = weakref.finalize(self, _end, self._process, self.owner)

    def ask(self, lines: bytes, seconds: float, longest: int = LONGEST) -> bytes:
        """Write `lines` and return the next line that the process writes, without the line end.

        If there is no line of at most `longest` bytes within `seconds`, kills the process and raises Broken. Any other
        exception, such as an interrupt, also kills the process, because its late answer would be taken for the next
        one.
        """
        try:
            return self._ask(lines, seconds, longest)
        except Broken as broken:
            self.kill()
            broken.stderr = self.stderr
            raise
        except BaseException:
            self.kill()
            raise

    @property
    def stderr(self) -> str:
        """The end of the process's standard error, without control characters."""
        return printable(self._tail.decode(errors="replace"))

    def kill(self) -> None:
        """Kill the process and its group."""
        if self._end.alive and os.getpid() == self.owner:
            _kill(self._process)
            for _ in range(_PIPE // _CHUNK):  # reads all that the pipe can contain
                self._read_error()
        self._end()

    def quit(self, lines: bytes = b"") -> None:
        """Write `lines`, close the standard input and wait briefly for the process to end; then kill its group."""
        if self._end.alive and os.getpid() == self.owner:
            assert self._process.stdin is not None
            with suppress(OSError):
                os.write(self._in, lines)
            self._process.stdin.close()
            self._reap(_MOMENT)
        self.kill()

    def _ask(self, lines: bytes, seconds: float, longest: int) -> bytes:
        deadline = time.monotonic() + seconds
        rest = self._write(memoryview(lines))
        if rest:
            self._selector.register(self._in, selectors.EVENT_WRITE)
        while True:
            line, end, after = self._buffer.partition(b"\n")
            if end:
                self._buffer = after
                return bytes(line)
            if len(self._buffer) > longest:
                raise Broken(f"answered with more than {longest} bytes without an end of line")
            left = deadline - time.monotonic()
            if left <= 0:
                raise TooSlow(f"gave no answer within {seconds:.3g} s")
            for key, _ in self._selector.select(left):
                if key.fd == self._in:
                    rest = self._write(rest)
                    if not rest:
                        self._selector.unregister(self._in)
                elif key.fd == self._error:
                    self._read_error()
                else:
                    self._read_answer()

    def _write(self, data: memoryview) -> memoryview:
        try:
            while data:
                data = data[os.write(self._in, data) :]
        except BlockingIOError:
            pass
        except BrokenPipeError:
            # The process has ended or closed its input; `ask` will report the missing answer.
            return memoryview(b"")
        return data

    def _read_answer(self) -> None:
        data = os.read(self._out, _CHUNK)
        self._buffer += data
        if not data:
            if not self._reap(_MOMENT):
                raise Broken("closed its standard output")
            raise Broken(self._death())

    def _read_error(self) -> None:
        """Read available standard error, because a full pipe would block the process."""
        with suppress(BlockingIOError):
            data = os.read(self._error, _CHUNK)
            self._tail = (self._tail + data)[-_TAIL:]
            if not data and self._error in self._selector.get_map():
                self._selector.unregister(self._error)

    def _reap(self, seconds: float) -> bool:
        deadline = time.monotonic() + seconds
        while self._process.poll() is None:
            if time.monotonic() >= deadline:
                return False
            self._read_error()
            time.sleep(0.002)
        return True

    def _death(self) -> str:
        code = self._process.returncode
        return f"was ended by {_signal_name(-code)}" if code < 0 else f"ended with status {code}"


def _signal_name(number: int) -> str:
    with suppress(ValueError):
        return signal.Signals(number).name
    return f"signal {number}"


def _kill(process: "subprocess.Popen[bytes]") -> None:
    # The id still belongs to this group, because it is not reused before the leader has been waited for.
    with suppress(ProcessLookupError, PermissionError):
        os.killpg(process.pid, signal.SIGKILL)
    process.wait()


def _end(process: "subprocess.Popen[bytes]", owner: int) -> None:
    """Kill the process group and close the pipes. In a fork of the process that started it, only close the pipes."""
    if os.getpid() == owner:
        _kill(process)
    for pipe in (process.stdin, process.stdout, process.stderr):
        if pipe is not None:
            with suppress(OSError):
                pipe.close()
