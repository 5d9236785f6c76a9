"""A policy that is held near a slowly moving copy of itself, the magnet.

Where optimal play is mixed, self-play runs in circles around it. A penalty on the divergence from a fixed policy makes
the circles a spiral inwards, to an equilibrium of the penalised game; a magnet that follows lets that move on to one of
the game itself.

Source: Sokota et al., "A unified approach to reinforcement learning, quantal response equilibria, and two-player
zero-sum games", ICLR 2023 (magnetic mirror descent), with PPO's clipping in the place of their proximal term.
"""

from copy import deepcopy
from typing import Any

import torch

from ttt_envs.learning.masked_policy import MaskedPolicy
from ttt_envs.learning.policy_gradient import entropy_of


class MagnetPolicy(MaskedPolicy):
    """A policy whose entropy bonus, as PPO's loss takes it, holds the weighted divergence from the magnet too.

    The model's own `ent_coef` must be 1.

    Attributes:
        entropy: weight of the entropy.
        magnet: weight of the divergence KL(policy, magnet).
    """

    def __init__(self, *args: Any, entropy: float, magnet: float, **named: Any) -> None:
        """As `MaskedPolicy`; the magnet is the untrained policy at first."""
        super().__init__(*args, **named)
        self.entropy, self.magnet = entropy, magnet
        # Not among the optimiser's parameters, which were collected before; kept with the policy's.
        self.magnet_net = deepcopy(self._actor()).requires_grad_(False)

    def _actor(self) -> torch.nn.Module:
        return torch.nn.Sequential(self.mlp_extractor.policy_net, self.action_net)

    def follow(self, rate: float) -> None:
        """Move the magnet's parameters towards the policy's, by that share of their difference."""
        with torch.no_grad():
            for own, current in zip(self.magnet_net.parameters(), self._actor().parameters(), strict=True):
                own.lerp_(current, rate)

    def bonus(self, obs: torch.Tensor, log_probs: torch.Tensor, action_masks: Any) -> torch.Tensor:
        """The weighted entropy, less the weighted divergence from the magnet: float32 (n,)."""
        with torch.no_grad():
            magnet = self.masked(self.magnet_net(self.extract_features(obs)), action_masks)
        divergence = (log_probs.exp() * (log_probs - magnet)).sum(dim=1)
        return self.entropy * entropy_of(log_probs) - self.magnet * divergence
