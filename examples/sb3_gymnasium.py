"""Stable-Baselines3: MaskablePPO on plain `gymnasium.make`, with sb3-contrib's ActionMasker and SB3's own vectorising.

    python examples/sb3_gymnasium.py [learner's decisions]  # one run: 0.562 (0.519 to 0.606) against random

This is the usual way with any Gymnasium environment. `sb3_vectorised.py` is many times as fast.
"""

# /// script
# requires-python = ">=3.11"
# dependencies = ["ttt-envs", "torch==2.13.0", "stable-baselines3==2.9.2", "sb3-contrib==2.9.2"]
# ///

import sys

import gymnasium
import torch
from sb3_contrib import MaskablePPO
from sb3_contrib.common.wrappers import ActionMasker
from stable_baselines3.common.env_util import make_vec_env

from ttt_envs import agents, evaluation

GAME = "super_tic_tac_toe"
STEPS = int(sys.argv[1]) if sys.argv[1:] else 120_000

torch.set_num_threads(1)  # more are slower for small networks


def make():
    # With mask="info" the observation is a plain array; "ttt_envs:" imports the package, which registers the games.
    env = gymnasium.make("ttt_envs:ttt_envs/SuperTicTacToe-v0", opponent=["random", "greedy"], mask="info")
    return ActionMasker(env, lambda wrapped: wrapped.unwrapped.action_masks())


model = MaskablePPO(
    "MlpPolicy",
    make_vec_env(make, n_envs=16, seed=0),
    learning_rate=1e-3,
    n_steps=128,
    batch_size=512,
    n_epochs=4,
    ent_coef=0.01,
    policy_kwargs={"net_arch": [128, 128]},
    seed=0,
    device="cpu",
)
model.learn(STEPS)

report = evaluation.tournament(GAME, [agents.from_sb3(model), "random", "greedy"], games=400)
report.show()
print(report.comparison("maskableppo", "random"))
