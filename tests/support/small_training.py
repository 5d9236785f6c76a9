"""Settings of training runs that take a second, and positions for what was trained."""

from pathlib import Path
from typing import Any

import ttt_envs
from ttt_envs import agents
from ttt_envs.learning.ppo import Config

GAME = "super_tic_tac_toe"
TINY: dict[str, Any] = {"game": GAME, "num_envs": 16, "rollout": 8, "batch": 64, "hidden": (16,), "eval_games": 4}

#: Of other methods, likewise.
LEARNERS: dict[str, dict[str, Any]] = {
    "alphazero": {
        "num_envs": 8,
        "steps": 512,
        "simulations": 3,
        "buffer": 2000,
        "eval_every": 256,
        "eval_agents": ("random",),
        "save_every": 128,
    },
    "dqn": {"num_envs": 16, "steps": 512, "buffer": 400, "eval_every": 256, "snapshot_every": 256, "save_every": 128},
    "value_learning": {"num_envs": 16, "steps": 512, "eval_every": 256, "save_every": 128},
}
for _settings in LEARNERS.values():
    _settings |= {"game": GAME, "warm_up": 64, "batch": 32, "hidden": (16,), "eval_games": 4, "quiet": True}

#: A game with an oracle, with a measurement of regret.
DICE: dict[str, Any] = {"game": "tic_tac_dice", "options": {"rounds": "single"}, "regret_games": 20}

#: Options that make a game so small that its whole tree is known.
SMALL_DECK = {
    "colours": 1,
    "copies": 4,
    "flips": 0,
    "wipe_outs": 0,
    "double_plays": 0,
    "hand_size": 1,
    "max_turns": 3,
}
EXPLOITED: dict[str, Any] = {"game": "tic_tac_match", "options": SMALL_DECK, "exploitability_every": 256}


def tiny(out: Path, **changes: Any) -> Config:
    """512 decisions, and a snapshot after each rollout of 128."""
    settings = {**TINY, "steps": 512, "eval_every": 256, "snapshot_every": 128, "quiet": True, "out": out}
    return Config(**{**settings, **changes})


def sample_view(n: int = 40) -> ttt_envs.View:
    """Positions after nine random plies."""
    batch = ttt_envs.Batch(ttt_envs.load(GAME), n, seed=5)
    player = agents.load("random")
    for _ in range(9):
        batch.step(player.act(batch.view()))
    return batch.view()


def copy_files(run: Path, folder: Path) -> Path:
    """Copy the files of a run, without its subfolders."""
    folder.mkdir()
    for path in run.glob("*.*"):
        (folder / path.name).write_bytes(path.read_bytes())
    return folder


#: Files of a run's folder, whatever the method.
FILES = {
    "config.json",
    "curve.csv",
    "curve.png",
    "log.jsonl",
    "network.safetensors",
    "resume.safetensors",
    "tensorboard",
}
