"""The policy that MaskablePPO (sb3-contrib) learns, with less work beside its networks."""

from typing import Any

import torch
from sb3_contrib.common.maskable.policies import MaskableActorCriticPolicy

from ttt_envs.learning.policy_gradient import drawn, entropy_of, masked


class MaskedPolicy(MaskableActorCriticPolicy):
    """The same policy and the same losses, by one softmax of the legal logits.

    Its base class makes a distribution that is normalised three times, and draws as many random numbers as there are
    actions. Its optimiser is Adam in one compiled step.
    """

    def __init__(self, *args: Any, **named: Any) -> None:
        """As `MaskableActorCriticPolicy`, for one discrete action."""
        super().__init__(*args, **{"optimizer_kwargs": {"eps": 1e-5, "fused": True}, **named})

    def heads(self, obs: torch.Tensor, action_masks: Any) -> tuple[torch.Tensor, torch.Tensor]:
        """Values float32 (n, 1) and log-probabilities float32 (n, num_actions), about -1e8 where illegal."""
        of_policy, of_value = self.mlp_extractor(self.extract_features(obs))
        return self.value_net(of_value), self.masked(self.action_net(of_policy), action_masks)

    @staticmethod
    def masked(logits: torch.Tensor, action_masks: Any) -> torch.Tensor:
        """The log-probabilities; SB3's masks have the size of the logits float32 (n, num_actions), in any shape."""
        return masked(logits, torch.as_tensor(action_masks, dtype=torch.bool).reshape(logits.shape))

    def forward(
        self, obs: torch.Tensor, deterministic: bool = False, action_masks: Any = None
    ) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
        """Actions int64 (n,), values and log-probabilities of the actions, without gradients."""
        values, log_probs = self.heads(obs, action_masks)
        actions = log_probs.argmax(dim=1) if deterministic else torch.from_numpy(drawn(log_probs))
        return actions, values, log_probs.gather(1, actions[:, None])[:, 0]

    def evaluate_actions(
        self, obs: torch.Tensor, actions: torch.Tensor, action_masks: Any = None
    ) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
        """Values float32 (n, 1), log-probabilities of the actions and the bonus of the policy, both float32 (n,)."""
        values, log_probs = self.heads(obs, action_masks)
        return values, log_probs.gather(1, actions[:, None])[:, 0], self.bonus(obs, log_probs, action_masks)

    def bonus(self, obs: torch.Tensor, log_probs: torch.Tensor, action_masks: Any) -> torch.Tensor:
        """The bonus by which PPO's loss is less, float32 (n,): the entropy."""
        return entropy_of(log_probs)
