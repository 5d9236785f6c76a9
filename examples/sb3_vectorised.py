"""Stable-Baselines3: MaskablePPO by self-play on `make_sb3`, against its own past selves.

    python examples/sb3_vectorised.py [learner's decisions]  # one run: 0.809 (0.769 to 0.843) against random

One seat of each game learns; the opponents move inside `step`, are exchanged at resets, and a loss arrives as -1.
"""

# /// script
# requires-python = ">=3.11"
# dependencies = ["ttt-envs", "torch==2.13.0", "stable-baselines3==2.9.2", "sb3-contrib==2.9.2"]
# ///

import sys

import torch
from sb3_contrib import MaskablePPO

import ttt_envs
from ttt_envs import agents, evaluation

GAME = "super_tic_tac_toe"
GAMES, ROUNDS = 256, 8  # games side by side; a past self joins the opponents after each round
STEPS = int(sys.argv[1]) if sys.argv[1:] else 400_000

torch.set_num_threads(1)  # more are slower for small networks


def new_model(games):
    return MaskablePPO(
        "MlpPolicy",
        games,
        learning_rate=1e-3,
        n_steps=32,
        batch_size=2048,
        n_epochs=4,
        ent_coef=0.01,
        policy_kwargs={"net_arch": [128, 128]},
        seed=0,
        device="cpu",
    )


games = ttt_envs.make_sb3(GAME, GAMES, opponent="random")
model, opponents = new_model(games), [agents.load("random")]
for _ in range(ROUNDS):
    model.learn(-(-STEPS // ROUNDS), reset_num_timesteps=False)
    past = new_model(games)  # a deepcopy of a policy fails after learn()
    past.set_parameters(model.get_parameters())
    opponents = [*opponents[-4:], agents.from_sb3(past)]
    games.set_opponents(opponents)

report = evaluation.tournament(GAME, [agents.from_sb3(model), "random", "greedy"], games=400)
report.show()
print(report.comparison("maskableppo", "random"))
