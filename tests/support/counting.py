"""An actor for tests that learns nothing: it counts its rounds, and can kill its process."""

import os
import signal
from pathlib import Path

import numpy as np

from ttt_envs.agents.networks import NetworkInfo
from ttt_envs.learning.torch_networks import TorchNetwork


class Counter:
    """Tells its round and what it was played with; does what the files in a folder say.

    From the second round on, a file kill-* is deleted by the kill that it stands for; `error` raises.
    """

    info = NetworkInfo("super_tic_tac_toe", {}, "q", 3, 2, (4,), 0)

    def __init__(self, folder: Path | None = None) -> None:
        self.folder, self.rounds, self.generator = folder, 0, np.random.default_rng(3)

    def play(self, net: TorchNetwork, done: float) -> dict[str, np.ndarray]:
        self.rounds += 1
        drawn = self.generator.random(2)
        for kill in self.folder.glob("kill-*") if self.folder and self.rounds > 1 else ():
            kill.unlink()
            os.kill(os.getpid(), signal.SIGKILL)
        if self.folder and (self.folder / "error").exists():
            raise ZeroDivisionError("as it was told")
        weight = float(next(net.parameters()).detach().flatten()[0])
        return {"seen": np.array([[self.rounds, weight, done]]), "drawn": drawn}
