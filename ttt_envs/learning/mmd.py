"""Learn an equilibrium by magnetic mirror descent: a policy gradient that is held near a magnet, and near itself.

    ttt train mmd GAME --steps 3000000 --out runs/x

Where optimal play is mixed, plain self-play runs in circles around it. Here the policy pays for its divergence from a
magnet, KL(policy, magnet), which makes the circles a spiral inwards, and for that from the policy that has played the
games, KL(policy, behaviour), which keeps each update small. The magnet is the uniform policy, whose weight decreases
during the run (--magnet-final); or, with --magnet-rate, a copy of the policy that follows it slowly. All seats are
played by the learner, and games are played to their end. It is for two players, who may move at once and have hidden
information. The policy and its value network are in network.safetensors: agents.load("network:runs/x").

Source: Sokota et al., "A unified approach to reinforcement learning, quantal response equilibria, and two-player
zero-sum games", ICLR 2023; as an extension of PPO, with its clipping: Rudolph et al., "Reevaluating policy gradient
methods for imperfect-information games", ICLR 2026.
"""

from copy import deepcopy
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

import torch

from ttt_envs.core.game import Game
from ttt_envs.learning import checkpoint, policy_gradient
from ttt_envs.learning.loop import train_self_play
from ttt_envs.learning.policy_gradient import PolicyGradient, Sample, between, clipped, entropy_of, masked
from ttt_envs.learning.settings import Result, Share, Within
from ttt_envs.learning.whole_games import Rollout

NAME = "mmd"


@dataclass(frozen=True, kw_only=True)
class Config(policy_gradient.Config):
    """Settings of magnetic mirror descent."""

    out: Path = Path("runs/mmd")
    """Run folder."""
    clip: Annotated[float, Within(0.0, 1e6)] = 0.8
    """Change of an action's probability, as a share, beyond which PPO's loss gives no gradient."""
    magnet: Annotated[float, Within(0.0, 1e6)] = 0.2
    """Weight of the divergence from the magnet."""
    magnet_final: Annotated[float | None, Within(0.0, 1e6)] = 0.02
    """Weight of the divergence at the end, approached linearly over --steps; None keeps it constant."""
    magnet_rate: Share = 0.0
    """Share of the way to the policy that the magnet moves after each round; 0 keeps the uniform policy."""
    behaviour: Annotated[float, Within(0.0, 1e6)] = 0.5
    """Weight of the divergence from the policy that has played the games."""


class MMD(PolicyGradient[Config]):
    """The loss of magnetic mirror descent, and its magnet."""

    def __init__(self, config: Config, game: Game) -> None:
        """The magnet begins as the policy, which is nearly uniform then."""
        super().__init__(config, game)
        self.magnet = deepcopy(self.network).requires_grad_(False)

    @property
    def parts(self) -> checkpoint.Parts:
        """The magnet as well."""
        return {**super().parts, "magnet": self.magnet}

    def policy_loss(self, log_probs: torch.Tensor, sample: Sample, done: float) -> torch.Tensor:
        """PPO's surrogate, and the two divergences."""
        config, probs = self.config, log_probs.exp()
        if config.magnet_rate:
            with torch.no_grad():
                magnet = masked(self.magnet(sample.observations)["policy"], sample.masks)
            of_magnet = (probs * (log_probs - magnet)).sum(dim=1)
        else:  # up to a constant
            of_magnet = -entropy_of(log_probs)
        of_behaviour = (probs * (log_probs - sample.log_probs)).sum(dim=1)
        weight = between(config.magnet, config.magnet_final, done)
        self.numbers.update({"train/magnet": weight, "train/divergence": float(of_behaviour.detach().mean())})
        penalties = weight * of_magnet.mean() + config.behaviour * of_behaviour.mean()
        return clipped(log_probs, sample, config.clip) + penalties

    def learn(self, rollout: Rollout, done: float) -> None:
        """Learn, and let the magnet follow."""
        super().learn(rollout, done)
        with torch.no_grad():
            for own, current in zip(self.magnet.parameters(), self.network.parameters(), strict=True):
                own.lerp_(current, self.config.magnet_rate)


def train(config: Config) -> Result:
    """Train, until `config.steps` or an interrupt (Ctrl-C). Raises as `train_self_play`."""
    return train_self_play(config, NAME, MMD)
