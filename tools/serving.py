"""`ttt serve` in a process of its own, for what measures it, draws it and tests it."""

import re
import signal
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]


class Served:
    """A server, which keeps its games in the file `data`.

    Attributes:
        address: of its page, without a slash at the end.
        port: its port.
        process: its number as a process.
    """

    def __init__(self, data: Path, *arguments: str, port: int = 0) -> None:
        """Start it. `arguments` are further ones of `ttt serve`; port 0 is any that is free."""
        self._command = [sys.executable, "-m", "ttt_envs", "serve", "--data", str(data), *arguments]
        self.start(port)

    def start(self, port: int) -> None:
        """Start it again, after `stop` or `kill`; raises RuntimeError if it does not say where it is."""
        command = [*self._command, "--port", str(port)]
        self._process = subprocess.Popen(command, cwd=ROOT, stdout=subprocess.PIPE, text=True)
        assert self._process.stdout is not None
        match = re.match(r"Play at (http://[\w.]+:(\d+))/ ", self._process.stdout.readline())
        if match is None:
            raise RuntimeError("the server has not started")
        self.address, self.port, self.process = match[1], int(match[2]), self._process.pid

    def stop(self) -> int:
        """End it as Ctrl-C does; returns its exit status."""
        self._process.send_signal(signal.SIGINT)
        return self._ended()

    def kill(self) -> None:
        """End it without a chance to write anything."""
        self._process.kill()
        self._ended()

    def _ended(self) -> int:
        assert self._process.stdout is not None
        self._process.stdout.close()
        return self._process.wait(20)
