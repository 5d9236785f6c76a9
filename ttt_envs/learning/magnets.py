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
from sb3_contrib.common.maskable.policies import MaskableActorCriticPolicy

# The logit of an illegal action; finite, so that no difference of two is nan.
_NEVER = -1e8


class MagnetPolicy(MaskableActorCriticPolicy):
    """A policy whose entropy bonus, as PPO's loss takes it, holds the weighted divergence from the magnet too.

    The model's own `ent_coef` must be 1.

    Attributes:
        entropy: weight of the entropy.
        magnet: weight of the divergence KL(policy, magnet).
    """

    def __init__(self, *args: Any, entropy: float, magnet: float, **named: Any) -> None:
        """As `MaskableActorCriticPolicy`; the magnet is the untrained policy at first."""
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

    def evaluate_actions(
        self, obs: torch.Tensor, actions: torch.Tensor, action_masks: torch.Tensor | None = None
    ) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
        """Values, log-probabilities of the actions, and the weighted bonus: three float32 (n,) or (n, 1)."""
        values, log_probabilities, entropy = super().evaluate_actions(obs, actions, action_masks)
        assert entropy is not None
        with torch.no_grad():
            logits = self.magnet_net(self.extract_features(obs))
        if action_masks is not None:
            legal = torch.as_tensor(action_masks, dtype=torch.bool).reshape(logits.shape)
            logits = logits.masked_fill(~legal, _NEVER)
        now: Any = self.action_dist.distribution
        divergence = (now.probs * (now.logits - logits.log_softmax(dim=-1))).sum(dim=-1)
        return values, log_probabilities, self.entropy * entropy - self.magnet * divergence
