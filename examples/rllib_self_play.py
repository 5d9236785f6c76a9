"""RLlib: self-play of PPO with masks on the new API stack, on this machine or on a Ray cluster.

    python examples/rllib_self_play.py [iterations]  # one run: 0.544 (0.526 to 0.561) against random

With RAY_ADDRESS set, as in `RAY_ADDRESS=127.0.0.2:6399`, the games are played on that cluster, whose machines need the
same packages. Both seats learn into one module; in a third of the games a random player has one of them.
"""

# /// script
# requires-python = ">=3.11"
# dependencies = ["ttt-envs", "torch==2.13.0", "ray[rllib]==2.60.0"]
# ///

import os
import sys
import zlib

import numpy as np
import ray
import torch
from ray.rllib.algorithms.ppo import PPOConfig
from ray.rllib.core.rl_module.multi_rl_module import MultiRLModuleSpec
from ray.rllib.core.rl_module.rl_module import RLModuleSpec
from ray.rllib.examples.rl_modules.classes.action_masking_rlm import ActionMaskingTorchRLModule

import ttt_envs
from ttt_envs import evaluation
from ttt_envs.agents import Agent
from ttt_envs.integrations.rllib import MaskedRandomRLModule, RLlibGame

GAME = ttt_envs.load("tic_tac_dice", rounds="single")  # short games: a few hundred plies a second are played
ITERATIONS = int(sys.argv[1]) if sys.argv[1:] else 20


def who_plays(agent, episode, **_):
    number = zlib.crc32(str(episode.id_).encode()) % 6  # 0 and 1: the seat that the random player has
    return "random" if number == int(agent.removeprefix("player_")) else "learner"


def count(metrics_logger, **_):
    metrics_logger.log_value(("games", ray.util.get_node_ip_address()), 1, reduce="lifetime_sum")


class Learned(Agent):
    """Plays the module's most likely action."""

    def __init__(self, module):
        self.module = module

    def act(self, view):
        seen = {"observations": view.observations.astype(np.float32), "action_mask": view.masks.astype(np.float32)}
        with torch.no_grad():
            found = self.module.forward_inference({"obs": {name: torch.from_numpy(x) for name, x in seen.items()}})
        return found["action_dist_inputs"].argmax(dim=1).numpy()


ray.init(os.environ.get("RAY_ADDRESS", "local"), log_to_driver=False)
nodes = sum(node["Alive"] for node in ray.nodes())
network = {"fcnet_hiddens": [128, 128], "fcnet_activation": "tanh"}
learner = RLModuleSpec(module_class=ActionMaskingTorchRLModule, model_config=network)
modules = {"learner": learner, "random": RLModuleSpec(module_class=MaskedRandomRLModule)}
config = (
    PPOConfig()
    .environment(RLlibGame, env_config={"game": GAME})
    .env_runners(num_env_runners=nodes if nodes > 1 else 0, num_envs_per_env_runner=16)
    .multi_agent(policies=set(modules), policy_mapping_fn=who_plays, policies_to_train=["learner"])
    .rl_module(rl_module_spec=MultiRLModuleSpec(rl_module_specs=modules))
    .training(train_batch_size_per_learner=1024, minibatch_size=128, num_epochs=6, lr=1e-3, entropy_coeff=0.01)
    .callbacks(on_episode_end=count)
    .debugging(seed=0)
)
algorithm = config.build_algo()
for _ in range(ITERATIONS):
    result = algorithm.train()
print("games by node:", dict(result["env_runners"]["games"]))

report = evaluation.tournament(GAME, [Learned(algorithm.get_module("learner")), "random", "greedy"], games=2000)
algorithm.stop()
report.show()
print(report.comparison("Learned", "random"))
