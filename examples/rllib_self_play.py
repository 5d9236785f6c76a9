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
from collections.abc import Mapping
from typing import Any

import gymnasium
import numpy as np
import ray
import torch
from ray.rllib.algorithms.ppo import PPOConfig
from ray.rllib.core.columns import Columns
from ray.rllib.core.rl_module import RLModule
from ray.rllib.core.rl_module.multi_rl_module import MultiRLModuleSpec
from ray.rllib.core.rl_module.rl_module import RLModuleSpec
from ray.rllib.env.multi_agent_env import MultiAgentEnv
from ray.rllib.examples.rl_modules.classes.action_masking_rlm import ActionMaskingTorchRLModule

import ttt_envs
from ttt_envs import evaluation
from ttt_envs.agents import Agent

GAME = ttt_envs.load("tic_tac_dice", rounds="single")  # short games: a few hundred plies a second are played


class RLlibGame(MultiAgentEnv):
    """A game whose agents are `player_0`, `player_1`, ...

    Observations are `{"observations": float32, "action_mask": float32 (num_actions,)}`, as RLlib's own
    `ActionMaskingTorchRLModule` takes them. Only players who act get one, and with it all that they were paid since
    their last; at the end all get one. There the mask is all ones: nothing is chosen, and a mask of zeros would leave a
    distribution without an action.
    """

    def __init__(self, config: Mapping[str, Any]) -> None:
        """`config`: the arguments of `ttt_envs.make_parallel` but `mask`, such as `game`, and the game's options."""
        super().__init__()
        self.env = ttt_envs.make_parallel(**{"dtype": "float32", **config})
        actions = self.env.wait
        space = gymnasium.spaces.Dict(
            {
                "observations": self.env.observation_spaces["player_0"]["observation"],
                "action_mask": gymnasium.spaces.Box(0, 1, (actions,), np.float32),
            }
        )
        self.possible_agents = list(self.env.possible_agents)
        self.agents = self.possible_agents[:]  # RLlib wants all of them there after the end, too
        self.observation_spaces = dict.fromkeys(self.possible_agents, space)
        self.action_spaces = dict.fromkeys(self.possible_agents, gymnasium.spaces.Discrete(actions))

    def reset(
        self, *, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[dict[str, Any], dict[str, Any]]:
        """Start a game; `seed` fixes it and all that follow. There are no options: they are named in a warning."""
        observations, _ = self.env.reset(seed=seed, options=options)
        self._owed = dict.fromkeys(self.possible_agents, 0.0)
        return self._shown(observations), {}

    def step(self, action_dict: dict[str, Any]) -> tuple[Any, Any, Any, Any, Any]:
        """Play the actions of those who were given an observation."""
        actions = {name: action_dict.get(name, self.env.wait) for name in self.possible_agents}
        observations, rewards, terminations, truncations, _ = self.env.step(actions)
        over, cut_off = any(terminations.values()), any(truncations.values())
        for name, reward in rewards.items():
            self._owed[name] += float(reward)
        shown = self._shown(observations)
        terminated = dict.fromkeys([*shown, "__all__"], over)
        truncated = dict.fromkeys([*shown, "__all__"], cut_off)
        paid = {name: self._owed[name] for name in shown}
        self._owed |= dict.fromkeys(shown, 0.0)
        return shown, paid, terminated, truncated, {}

    def _shown(self, observations: dict[str, Any]) -> dict[str, Any]:
        """Return the observations of those who act; after the end of all."""
        shown = {}
        for name, each in observations.items():
            mask = each["action_mask"][:-1].astype(np.float32)
            if not self.env.agents:
                mask[:] = 1
            elif not mask.any():
                continue
            shown[name] = {"observations": each["observation"], "action_mask": mask}
        return shown


class MaskedRandomRLModule(RLModule):
    """Plays random legal actions. It cannot be trained: leave it out of `policies_to_train`."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self._generator = np.random.default_rng()

    def _forward(self, batch: dict[str, Any], **kwargs: Any) -> dict[str, Any]:
        masks = np.asarray(batch[Columns.OBS]["action_mask"])
        # The largest of independent random numbers stands at each legal place equally often.
        return {Columns.ACTIONS: (self._generator.random(masks.shape) * (masks > 0)).argmax(axis=-1)}

    def _forward_train(self, *args: Any, **kwargs: Any) -> Any:
        raise NotImplementedError("MaskedRandomRLModule cannot be trained: leave it out of policies_to_train")

    def compile(self, *args: Any, **kwargs: Any) -> None:
        """Do nothing: there is no network. RLlib calls it on all modules."""


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


if __name__ == "__main__":
    iterations = int(sys.argv[1]) if sys.argv[1:] else 20
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
    for _ in range(iterations):
        result = algorithm.train()
    print("games by node:", dict(result["env_runners"]["games"]))

    report = evaluation.tournament(GAME, [Learned(algorithm.get_module("learner")), "random", "greedy"], games=2000)
    algorithm.stop()
    report.show()
    print(report.comparison("Learned", "random"))
