"""BenchMARL: MAPPO and QMIX with masks on a task of ours, in which two teams of two learn by playing each other.

    python examples/benchmarl_mappo_qmix.py [steps for each]  # one run: MAPPO 0.515 (0.502 to 0.530)

A team is a group of BenchMARL's: MAPPO's critic sees all of it, and QMIX mixes the values of its players. What one team
wins the other loses.
"""

# /// script
# requires-python = ">=3.11"
# dependencies = ["ttt-envs", "torch==2.13.0", "benchmarl==1.5.2", "torchrl==0.11.1", "tensordict==0.11.0"]
# ///

import sys
import tempfile
from collections.abc import Callable
from typing import Any

import numpy as np
import torch
from benchmarl.algorithms import MappoConfig, QmixConfig
from benchmarl.environments.common import TaskClass
from benchmarl.experiment import Experiment, ExperimentConfig
from benchmarl.models.mlp import MlpConfig
from tensordict import TensorDict
from torch import nn
from torchrl.data import Composite
from torchrl.envs import PettingZooWrapper
from torchrl.envs.utils import ExplorationType, set_exploration_type

import ttt_envs
from ttt_envs import evaluation
from ttt_envs.agents import Agent

# Short games of two teams: the wrapper allows a few hundred plies a second.
GAME = ttt_envs.load("tic_tac_match", players=4, hand_size=2, max_turns=16)
BATCH = 1_000


class BenchMARLTask(TaskClass):
    """A game as a task of BenchMARL, whose methods say what its environment is like.

    Attributes:
        game: the game.
        groups: the players of each group, by its name: `side_0` and so on.
    """

    def __init__(self, game: ttt_envs.Game) -> None:
        super().__init__(game.id, dict(game.options))
        self.game = game
        self.groups = {f"side_{k}": tuple(team) for k, team in enumerate(game.teams)}

    def get_env_fun(self, num_envs: int, continuous_actions: bool, seed: int | None, device: Any) -> Callable[[], Any]:
        """Return a function that makes the environment, with observations as float32 for BenchMARL's networks."""

        def make() -> Any:
            # The mask stands in the infos alone: TorchRL fails where it is in both and an info has more (round_reward).
            env = ttt_envs.make_parallel(self.game, mask="info", dtype="float32")
            names = env.possible_agents
            groups = {group: [names[player] for player in team] for group, team in self.groups.items()}
            return PettingZooWrapper(env, use_mask=True, group_map=groups, seed=seed, device=device)

        return make

    def supports_continuous_actions(self) -> bool:
        return False

    def supports_discrete_actions(self) -> bool:
        return True

    def has_render(self, env: Any) -> bool:
        return False

    def max_steps(self, env: Any) -> int:
        return self.game.max_plies

    def group_map(self, env: Any) -> dict[str, list[str]]:
        return dict(env.group_map)

    def state_spec(self, env: Any) -> None:
        return None  # there is no state beside the observations

    def action_spec(self, env: Any) -> Any:
        return env.full_action_spec

    def info_spec(self, env: Any) -> None:
        return None  # there is nothing to learn from in infos

    def observation_spec(self, env: Any) -> Any:
        return self._part(env, "observation")

    def action_mask_spec(self, env: Any) -> Any:
        return self._part(env, "action_mask")

    def _part(self, env: Any, name: str) -> Any:
        specs = {group: env.observation_spec[group].clone() for group in env.group_map}
        for spec in specs.values():
            for other in set(spec.keys()) - {name}:
                del spec[other]
        return Composite(specs)

    @staticmethod
    def env_name() -> str:
        return "ttt_envs"


class BenchMARL(Agent):
    """Plays the policies of an experiment, the best actions alone."""

    def __init__(self, experiment, name):
        self.policy, self.name = experiment.policy, name
        self.groups = [f"side_{k}" for k in range(len(GAME.teams))]
        self.seats = {player: (k, team.index(player)) for k, team in enumerate(GAME.teams) for player in team}

    def act(self, view):
        n, rows = len(view), np.arange(len(view))
        side, seat = np.array([self.seats[player] for player in view.players]).T
        seen = torch.zeros(n, len(GAME.teams), len(GAME.teams[0]), GAME.observation_size)
        masks = torch.zeros(*seen.shape[:3], GAME.num_actions + 1, dtype=torch.bool)
        masks[..., -1] = True  # the others wait
        seen[rows, side, seat] = torch.from_numpy(view.observations.astype(np.float32))
        masks[rows, side, seat] = torch.from_numpy(np.pad(view.masks, ((0, 0), (0, 1))))
        given = {
            group: {"observation": {"observation": seen[:, k]}, "action_mask": masks[:, k]}
            for k, group in enumerate(self.groups)
        }
        with torch.no_grad(), set_exploration_type(ExplorationType.DETERMINISTIC):
            answer = self.policy(TensorDict(given, batch_size=[n]))
        chosen = torch.stack([answer[group, "action"] for group in self.groups], dim=1)
        return chosen[rows, side, seat].numpy().astype(np.int64)


def experiment(algorithm, steps):
    config = ExperimentConfig.get_from_yaml()
    config.max_n_frames, config.lr, config.gamma = steps, 1e-3, 1.0
    config.on_policy_collected_frames_per_batch = config.off_policy_collected_frames_per_batch = min(steps, BATCH)
    config.on_policy_n_envs_per_worker = config.off_policy_n_envs_per_worker = 1
    config.on_policy_minibatch_size, config.on_policy_n_minibatch_iters = 250, 6
    config.off_policy_n_optimizer_steps, config.off_policy_train_batch_size = 100, 256
    config.evaluation, config.loggers, config.create_json = False, [], False
    config.save_folder = tempfile.mkdtemp()
    network = MlpConfig(num_cells=[128, 128], layer_class=nn.Linear, activation_class=nn.Tanh)
    return Experiment(BenchMARLTask(GAME), algorithm, network, critic_model_config=network, seed=0, config=config)


if __name__ == "__main__":
    torch.set_num_threads(1)
    methods = {"mappo": MappoConfig.get_from_yaml(), "qmix": QmixConfig.get_from_yaml()}
    trained = []
    for name, algorithm in methods.items():
        run = experiment(algorithm, int(sys.argv[1]) if sys.argv[1:] else 10_000)
        run.run()
        trained.append(BenchMARL(run, name))

    report = evaluation.tournament(GAME, [*trained, "random"], games=1000, strict=True)
    for agent in trained:
        print(report.comparison(agent.name, "random"))
