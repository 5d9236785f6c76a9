"""AgileRL: masked DQN against a random opponent, on our vector environment.

    python examples/agilerl_dqn.py [learner's decisions]  # one run: 0.535 (0.518 to 0.553) against random

With mask="info" the observation is the plain array that its networks take, and `get_action` is handed the masks. The
target of its Q-learning knows no masks: it takes the best of all actions in the next position.
"""

# /// script
# requires-python = ">=3.11"
# dependencies = ["ttt-envs", "torch==2.13.0", "agilerl==2.58.0", "peft==0.21.2"]
# ///

import sys

import numpy as np
import torch
from agilerl.algorithms import DQN
from agilerl.components.replay_buffer import ReplayBuffer
from tensordict import TensorDict

import ttt_envs
from ttt_envs import evaluation
from ttt_envs.agents import Agent

GAME, GAMES = ttt_envs.load("tic_tac_dice", rounds="single"), 64  # short games: values reach their starts soon
STEPS = int(sys.argv[1]) if sys.argv[1:] else 30_000

torch.set_num_threads(1)
torch.manual_seed(0)
envs = ttt_envs.make_vec(GAME, GAMES, opponent="random", mask="info")
network = {"latent_dim": 128, "encoder_config": {"hidden_size": [128]}, "head_config": {"hidden_size": [128]}}
learner = DQN(
    envs.single_observation_space,
    envs.single_action_space,
    net_config=network,
    batch_size=256,
    lr=5e-4,
    gamma=0.97,
    tau=0.01,
)
buffer = ReplayBuffer(100_000)
observation, info = envs.reset(seed=0)
updates = max(STEPS // GAMES, 5)
for step in range(updates):
    epsilon = max(0.05, 1 - 2 * step / updates)
    action = learner.get_action(observation, epsilon=epsilon, action_mask=info["action_mask"])
    following, reward, ended, _, info = envs.step(action)
    batch = {"obs": observation, "action": action, "reward": reward, "next_obs": following, "done": ended}
    tensors = {name: torch.from_numpy(np.asarray(each, np.float32)) for name, each in batch.items()}
    buffer.add(TensorDict(tensors, batch_size=[GAMES]))
    observation = following
    if len(buffer) >= 256:
        for _ in range(4):
            learner.learn(buffer.sample(256))


class AgileRL(Agent):
    """Plays the legal action of the highest value."""

    def act(self, view):
        return np.asarray(
            learner.get_action(view.observations.copy(), action_mask=view.masks.astype(np.int8)), np.int64
        )


report = evaluation.tournament(GAME, [AgileRL(), "random", "greedy"], games=2000)
report.show()
print(report.comparison("AgileRL", "random"))
