"""Tianshou: masked DQN against a random opponent, through plain Gymnasium.

    python examples/tianshou_dqn.py [learner's decisions]  # one run: 0.546 (0.530 to 0.565) against random

Tianshou finds masks in observations with the keys `obs` and `mask`. Its PettingZooEnv has these too, but a player
only gets the reward of their own step, so that a loss never arrives (thu-ml/tianshou#399), and n-step returns run
through the other's turns. With the opponent inside `step` both are right.
"""

# /// script
# requires-python = ">=3.11"
# dependencies = ["ttt-envs", "torch==2.13.0", "tianshou==2.0.1"]
# ///

import sys

import gymnasium
import torch
from tianshou.algorithm import DQN
from tianshou.algorithm.modelfree.dqn import DiscreteQLearningPolicy
from tianshou.algorithm.optim import AdamOptimizerFactory
from tianshou.data import Collector, VectorReplayBuffer
from tianshou.env import DummyVectorEnv
from tianshou.trainer import OffPolicyTrainerParams
from tianshou.utils.net.common import Net
from torch import nn

import ttt_envs
from ttt_envs import agents, evaluation

GAMES = 16
STEPS = int(sys.argv[1]) if sys.argv[1:] else 20_000

torch.set_num_threads(1)
torch.manual_seed(0)
game = ttt_envs.load("tic_tac_dice", rounds="single")  # short games: values reach their starts soon
spaces = gymnasium.spaces


def make():
    env = ttt_envs.make_single(game, opponent="random")
    space = spaces.Dict({"obs": env.observation_space["observation"], "mask": env.observation_space["action_mask"]})
    return gymnasium.wrappers.TransformObservation(
        env, lambda seen: {"obs": seen["observation"], "mask": seen["action_mask"]}, space
    )


net = Net(state_shape=game.observation_size, action_shape=game.num_actions, hidden_sizes=[128, 128])
policy = DiscreteQLearningPolicy(model=net, action_space=spaces.Discrete(game.num_actions), eps_training=0.1)
adam = AdamOptimizerFactory(lr=3e-4)
algorithm = DQN(policy=policy, optim=adam, gamma=0.98, n_step_return_horizon=3, target_update_freq=500)
collector = Collector(policy, DummyVectorEnv([make] * GAMES), VectorReplayBuffer(100_000, GAMES))
collector.reset()
algorithm.run_training(
    OffPolicyTrainerParams(
        training_collector=collector,
        max_epochs=1,
        epoch_num_steps=STEPS,
        collection_step_num_env_steps=256,
        update_step_num_gradient_steps_per_sample=0.1,
        batch_size=256,
        verbose=False,
        show_progress=False,
    )
)


class Values(nn.Module):
    def forward(self, observations):
        return net(observations)[0]


agent = agents.from_torch(Values(), temperature=0, name="tianshou")
report = evaluation.tournament(game, [agent, "random", "greedy"], games=2000)
report.show()
print(report.comparison("tianshou", "random"))
