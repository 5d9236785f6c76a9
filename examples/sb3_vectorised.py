"""Stable-Baselines3: MaskablePPO on `make_sb3` plays Tic-Tac-Dice against its past selves, and beats greedy.

    python examples/sb3_vectorised.py [learner's decisions]  # one run: 0.601 (0.588 to 0.613) against random

It loses 0.122 (0.108 to 0.142) a round to optimal play, greedy 0.164. One seat of each game learns; the opponents move
inside `step`, are exchanged at resets, and a loss arrives as -1.
"""

# /// script
# requires-python = ">=3.11"
# dependencies = ["ttt-envs", "torch==2.13.0", "stable-baselines3==2.9.2", "sb3-contrib==2.9.2"]
# ///

import sys

import torch
from sb3_contrib import MaskablePPO
from stable_baselines3.common.callbacks import BaseCallback

import ttt_envs
from ttt_envs import agents, evaluation

GAME = "tic_tac_dice"
STEPS = int(sys.argv[1]) if sys.argv[1:] else 400_000
GAMES, SNAPSHOTS = 256, 20  # games side by side; past selves that are made, of which the latest four play

torch.set_num_threads(1)  # more are slower for small networks


def new_model(games):
    # Nearly all of a reward is the next roll's luck: a short horizon for advantages, and a rate that falls to 0.
    return MaskablePPO(
        "MlpPolicy",
        games,
        learning_rate=lambda left: 5e-3 * left,
        n_steps=16,
        batch_size=1024,
        n_epochs=4,
        gamma=1.0,
        gae_lambda=0.3,
        ent_coef=0.0005,
        policy_kwargs={"net_arch": [128, 128]},
        seed=0,
        device="cpu",
    )


class PastSelves(BaseCallback):
    """Adds the learner to its opponents now and then."""

    def __init__(self):
        super().__init__()
        self.opponents = [agents.load("random")]

    def _on_step(self):
        return True

    def _on_rollout_start(self):
        if self.num_timesteps * SNAPSHOTS // STEPS >= len(self.opponents):
            past = new_model(self.training_env)  # a deepcopy of a policy fails after learn()
            past.set_parameters(self.model.get_parameters())
            self.opponents.append(agents.from_sb3(past))
            self.training_env.set_opponents(self.opponents[-5:])


games = ttt_envs.make_sb3(GAME, GAMES, rounds="single", opponent="random")
trained = agents.from_sb3(new_model(games).learn(STEPS, callback=PastSelves()))
evaluation.regret(GAME, ["greedy", trained], rounds="single", games=400).show()
report = evaluation.tournament(GAME, [trained, "random"], rounds="single", games=4000)
print(report.comparison("maskableppo", "random"))
