"""skrl: PPO with masks on our vector environment, against random and then against past selves.

    python examples/skrl_ppo.py [learner's decisions]  # one run: 0.826 (0.787 to 0.861) against random

skrl flattens the dict of observations into one row, by the names of its parts: the mask comes first. A model of its
own takes the row apart and gives illegal actions no probability.
"""

# /// script
# requires-python = ">=3.11"
# dependencies = ["ttt-envs", "torch==2.13.0", "skrl==2.1.1"]
# ///

import sys
import tempfile
from copy import deepcopy

import torch
from skrl.agents.torch.ppo import PPO
from skrl.envs.wrappers.torch import wrap_env
from skrl.memories.torch import RandomMemory
from skrl.models.torch import CategoricalMixin, DeterministicMixin, Model
from skrl.trainers.torch import SequentialTrainer
from torch import nn

import ttt_envs
from ttt_envs import agents, evaluation

GAME = ttt_envs.load("super_tic_tac_toe")
GAMES, ROLLOUT, ROUNDS = 256, 32, 6  # games side by side; a past self joins the opponents after each round
STEPS = int(sys.argv[1]) if sys.argv[1:] else 400_000
ACTIONS = GAME.num_actions


def layers(outputs):
    return nn.Sequential(
        nn.Linear(GAME.observation_size, 128), nn.Tanh(), nn.Linear(128, 128), nn.Tanh(), nn.Linear(128, outputs)
    )


class Policy(CategoricalMixin, Model):
    def __init__(self):
        Model.__init__(self, **spaces)
        CategoricalMixin.__init__(self)
        self.net = layers(ACTIONS)

    def compute(self, inputs, role=""):
        masks, seen = inputs["observations"].split([ACTIONS, GAME.observation_size], dim=1)
        return torch.where(masks > 0, self.net(seen), -1e9), {}


class Value(DeterministicMixin, Model):
    def __init__(self):
        Model.__init__(self, **spaces)
        DeterministicMixin.__init__(self)
        self.net = layers(1)

    def compute(self, inputs, role=""):
        return self.net(inputs["observations"][:, ACTIONS:]), {}


torch.set_num_threads(1)
torch.manual_seed(0)
games = ttt_envs.make_vec(GAME, GAMES, opponent="random", dtype="float32")
envs = wrap_env(games, wrapper="gymnasium", verbose=False)
spaces = {"observation_space": envs.observation_space, "action_space": envs.action_space, "device": envs.device}
models = {"policy": Policy(), "value": Value()}
learner = PPO(
    models=models,
    memory=RandomMemory(memory_size=ROLLOUT, num_envs=GAMES, device=envs.device),
    **spaces,
    cfg={
        "rollouts": ROLLOUT,
        "learning_epochs": 4,
        "mini_batches": 4,
        "learning_rate": 1e-3,
        "entropy_loss_scale": 0.01,
        "discount_factor": 0.99,
        "experiment": {"write_interval": 0, "checkpoint_interval": 0, "directory": tempfile.mkdtemp()},
    },
)
steps = max(STEPS // GAMES // ROUNDS, ROLLOUT)
trainer = SequentialTrainer(
    env=envs,
    agents=learner,
    cfg={"timesteps": steps, "headless": True, "disable_progressbar": True, "close_environment_at_exit": False},
)
opponents = [agents.load("random")]
for k in range(ROUNDS):
    trainer.train()
    past = agents.from_torch(deepcopy(models["policy"].net), name=f"past {k}")
    opponents = [*opponents[-4:], past]
    games.set_opponents(opponents)

trained = agents.from_torch(models["policy"].net, name="skrl")
report = evaluation.tournament(GAME, [trained, "random", "greedy"], games=400)
report.show()
print(report.comparison("skrl", "random"))
