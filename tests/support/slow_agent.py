"""An agent for tests of workers, which a test ends on the way."""

import time
from pathlib import Path

from ttt_envs.agents.random import RandomAgent


class Slow(RandomAgent):
    """Plays at random, and takes its time while there is a file of this name."""

    def __init__(self, file: str):
        self.file = Path(file)

    def act(self, view):
        if self.file.exists():
            time.sleep(0.2)  # so that on a busy machine, too, a test ends it before its last game
        return super().act(view)
