"""An agent for tests of workers: it plays at random, and can kill its process or take its time."""

import os
import signal
import time
from pathlib import Path

from ttt_envs.agents.random import RandomAgent


class Deadly(RandomAgent):
    """Does what the files in a folder say: those called kill-* are kills to come, and `slow` lets each move take time.

    A file is deleted by the kill that it stands for.
    """

    def __init__(self, folder: str):
        self.folder = Path(folder)

    def act(self, view):
        for kill in self.folder.glob("kill-*"):
            kill.unlink(missing_ok=True)
            os.kill(os.getpid(), signal.SIGKILL)
        if (self.folder / "slow").exists():
            time.sleep(0.2)  # so that on a busy machine, too, a test ends it before its last game
        if (self.folder / "error").exists():
            raise ZeroDivisionError("as it was told")
        return super().act(view)
