"""Learn an equilibrium by regularised Nash dynamics, the method of DeepNash.

Rewards are transformed: each player pays the other an amount in proportion to the divergence of the payer's policy from
a regularisation policy. The transformed game has a single equilibrium, to which the policy converges. The policy then
becomes the new regularisation policy, 20 times in a run, and the sequence of these policies converges to an equilibrium
of the original game. The policy learns by neural replicator dynamics (NeuRD): the logit of each action moves by its
advantage, however seldom the action is played. The policy that is measured and saved is a slow average of the networks.
The learner plays all seats, games are played to their ends, and each game is used once. The importance weights of
v-trace correct for games of an earlier policy; here they would be 1 and are left out. The method needs two players;
simultaneous choices and hidden information are allowed. network.safetensors contains this average, a policy and its
value network; agents.load("network:runs/x") plays the policy.

Sources: Perolat et al., "Mastering the game of Stratego with model-free multiagent reinforcement learning", Science
2022; Hennes et al., "Neural replicator dynamics", AAMAS 2020.
"""

from copy import deepcopy
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

import numpy as np
import torch

from ttt_envs.core.game import Game
from ttt_envs.learning import policy_gradient
from ttt_envs.learning.episodes import Rollout
from ttt_envs.learning.policy_gradient import VALUE_WEIGHT, PolicyGradient, masked
from ttt_envs.learning.runs import checkpoint
from ttt_envs.learning.runs.loop import train_self_play
from ttt_envs.learning.runs.settings import Result, Share, Within
from ttt_envs.learning.torch_networks import TorchNetwork

NAME = "rnad"

#: Number of regularisation policies in a run.
ITERATIONS = 20

# Limit of a logit's distance from the mean of the logits; a logit beyond it is not moved further away.
_BETA = 2.0

# Limit at which advantages are clipped.
_LARGEST = 10_000.0


@dataclass(frozen=True, kw_only=True)
class Config(policy_gradient.Config):
    """Settings of regularised Nash dynamics."""

    out: Path = Path("runs/rnad")
    """Run folder."""
    learning_rate: Annotated[float, Within(0.0, 1e3)] = 1e-3
    """Learning rate of Adam, decreased linearly over --steps to a hundredth."""
    eta: Annotated[float, Within(0.0, 1e6)] = 0.2
    """Weight of the divergence from the regularisation policy, in units of reward."""
    target_share: Share = 0.02
    """Share by which the slow average moves to the network after each round."""


class RNaD(PolicyGradient[Config]):
    """NeuRD with transformed rewards and a sequence of regularisation policies."""

    def __init__(self, config: Config, game: Game) -> None:
        """Take the untrained policy, which is nearly uniform, as the first regularisation policy."""
        super().__init__(config, game)
        self.target, self.regular, self.former = (deepcopy(self.network).requires_grad_(False) for _ in range(3))
        self._iteration: int | None = None

    @property
    def parts(self) -> checkpoint.Parts:
        """Include the average and the regularisation policies."""
        return {**super().parts, "target": self.target, "regular": self.regular, "former": self.former}

    @property
    def playing(self) -> TorchNetwork:
        """The slow average."""
        return self.target

    def learn(self, rollout: Rollout, done: float) -> None:
        """Make one gradient step with each part of a round's decisions."""
        share = self._next_iteration(done)
        observations = torch.from_numpy(rollout.observations.astype(np.float32))
        masks = torch.from_numpy(rollout.masks)
        with torch.no_grad():
            log_probs = torch.from_numpy(rollout.log_probs)
            # The regularisation policy changes gradually from `former` to `regular`: `share` grows from 0 to 1.
            latest, former = (masked(network(observations)["policy"], masks) for network in (self.regular, self.former))
            log_ratio = log_probs - (share * latest + (1 - share) * former)
            values = self.target(observations)["value"][:, 0]
            action_values, returns = self.estimates(rollout, log_ratio.numpy(), values.numpy())
            probs = log_probs.exp()
            advantages = action_values - (probs * action_values).sum(dim=1, keepdim=True)
            advantages = advantages.clamp(-_LARGEST, _LARGEST) * masks
        for part in torch.randperm(len(rollout)).chunk(self.minibatches):
            heads = self.network(observations[part])
            of_policy = neurd_loss(heads["policy"], masks[part], advantages[part], _BETA)
            of_value = (heads["value"][:, 0] - returns[part]).square().mean()
            self.descend(of_policy + VALUE_WEIGHT * of_value, done)
        self.numbers.update(
            {"train/policy_loss": float(of_policy.detach()), "train/value_loss": float(of_value.detach())}
        )
        with torch.no_grad():
            for own, current in zip(self.target.parameters(), self.network.parameters(), strict=True):
                own.lerp_(current, self.config.target_share)

    def estimates(
        self, rollout: Rollout, log_ratio: np.ndarray, values: np.ndarray
    ) -> tuple[torch.Tensor, torch.Tensor]:
        """Return the values of actions float32 (d, num_actions), and of positions (d,), in the transformed game.

        Args:
            rollout: decisions of the learning policy.
            log_ratio: float32 (d, num_actions), the policy's log-probabilities minus those of the regularisation
                policy.
            values: float32 (d,), estimates of the slow average.
        """
        eta, probs = self.config.eta, np.exp(rollout.log_probs)
        divergence = eta * (probs * log_ratio).sum(axis=1)
        others = rollout.rewards + rollout.of_others(divergence)
        targets = np.zeros(len(rollout) + 1, np.float32)  # the last row is that after a game
        following = np.zeros(len(rollout), np.float32)
        for ply in reversed(rollout.plies):
            after = rollout.following[ply]
            following[ply] = others[ply] + targets[after]
            targets[ply] = following[ply] - divergence[ply]
        # The penalty, eta * log_ratio, is known for every action. The later rewards are known only for the action
        # taken, so their difference from the baseline is divided by the action's probability.
        base, rows = values + divergence, np.arange(len(rollout))
        action_values = base[:, None] - eta * log_ratio
        action_values[rows, rollout.actions] += (following - base) / probs[rows, rollout.actions]
        return torch.from_numpy(action_values), torch.from_numpy(targets[:-1])

    def _next_iteration(self, done: float) -> float:
        """Replace the regularisation policy if it is due; return the weight of the latest one in the penalty."""
        at = done * ITERATIONS
        if self._iteration is not None and int(at) > self._iteration:
            self.former.load_state_dict(self.regular.state_dict())
            self.regular.load_state_dict(self.target.state_dict())
        self._iteration = int(at)
        return min(1.0, 2 * (at - int(at)))


def neurd_loss(logits: torch.Tensor, masks: torch.Tensor, advantages: torch.Tensor, beta: float) -> torch.Tensor:
    """Return a loss that moves legal logits by their advantages, but not further away if beyond `beta`."""
    legal = masks.float()
    centred = logits - (logits * legal).sum(dim=1, keepdim=True) / legal.sum(dim=1, keepdim=True)
    free = ((advantages > 0) & (centred < beta)) | ((advantages < 0) & (centred > -beta))
    return -(centred * (advantages * free * legal).detach()).sum(dim=1).mean()


def train(config: Config) -> Result:
    """Train, until `config.steps` or an interrupt (Ctrl-C). Raises the errors of `train_self_play`."""
    return train_self_play(config, NAME, RNaD)
