"""Train sb3-contrib's MaskablePPO against fixed opponents, and play the model as an agent. Needs the extra `train`.

Train it (a minute), then rate it:

    python agents/sb3_model.py super_tic_tac_toe --out runs/sb3_model.zip
    ttt tournament super_tic_tac_toe --agents random greedy agents/sb3_model.py:Model --games 100

Loading a Stable-Baselines3 file can run code, so load only files that you trust. Policies of `ttt train ppo`, which
learns by self-play, run no code when they are loaded.
"""

from pathlib import Path
from typing import Annotated

import numpy as np
import tyro
from sb3_contrib import MaskablePPO

import ttt_envs
from ttt_envs.agents import from_sb3
from ttt_envs.dev import Agent, Game, View

OUT = "runs/sb3_model.zip"


class Model(Agent):
    """Plays a trained MaskablePPO model."""

    def __init__(self, path: str = OUT) -> None:
        """`path`: a file that `train` wrote."""
        self.model = from_sb3(MaskablePPO.load(path, device="cpu"))

    def policy(self, view: View) -> np.ndarray:
        """Return the model's policy, float64 (n, num_actions)."""
        return self.model.policy(view)

    def check(self, game: Game) -> None:
        """Raise ValueError for a game whose observations or actions do not fit the model."""
        self.model.check(game)


def train(
    game: Annotated[str, tyro.conf.Positional] = "super_tic_tac_toe",
    steps: int = 200_000,
    seed: int = 0,
    out: str = OUT,
) -> None:
    """Train against random and greedy opponents, and save the model.

    Args:
        game: Id of the game.
        steps: Number of the learner's decisions.
        seed: Seed of the games and of learning.
        out: File to write.
    """
    games = ttt_envs.make_sb3(game, 64, opponent=["random", "greedy"])
    model = MaskablePPO("MlpPolicy", games, n_steps=64, batch_size=1024, ent_coef=0.01, seed=seed, device="cpu")
    model.learn(steps)
    Path(out).parent.mkdir(parents=True, exist_ok=True)
    model.save(out)


if __name__ == "__main__":
    tyro.cli(train, description=train.__doc__)
