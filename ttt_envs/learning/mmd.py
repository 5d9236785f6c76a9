"""Learn an equilibrium by magnetic mirror descent, a policy gradient held near a magnet and its previous policy.

If optimal play is mixed, plain self-play cycles around it. Here the loss has a penalty for the policy's divergence from
a reference policy, the magnet: KL(policy, magnet). It turns the cycles into spirals toward the equilibrium. A second
penalty, for the divergence from the policy that has played the games, KL(policy, behaviour), keeps each update small.
By default the magnet is the uniform policy, and its weight decreases during the run (--magnet-final). The magnet can
also be the policy's own moving average (--magnet-rate), or a copy of the policy that is replaced several times
(--magnet-copies); then its weight may stay constant. The learner plays all seats, and games are played to their ends.
The method needs two players; simultaneous choices and hidden information are allowed. network.safetensors contains the
policy and its value network; agents.load("network:runs/x") plays the policy.

Sources: Sokota et al., "A unified approach to reinforcement learning, quantal response equilibria, and two-player
zero-sum games", ICLR 2023; as an extension of PPO, with its clipping: Rudolph et al., "Reevaluating policy gradient
methods for imperfect-information games", ICLR 2026. The moving average: EMAgnet, arXiv 2606.23995; the copies: NashPG,
Yu et al., arXiv 2510.18183.
"""

import copy
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

import numpy as np
import torch

from ttt_envs.core.game import Game
from ttt_envs.learning import policy_gradient
from ttt_envs.learning.on_device import Rollouts, check_device
from ttt_envs.learning.policy_gradient import PolicyGradient, Sample, between, clipped, entropy_of, masked
from ttt_envs.learning.runs import checkpoint
from ttt_envs.learning.runs.loop import train_self_play
from ttt_envs.learning.runs.settings import Result, Share, Within

NAME = "mmd"

# Relative change of an action's probability beyond which PPO's loss has no gradient.
_CLIP = 0.8

# Weight of the divergence from the policy that generated the games.
_BEHAVIOUR = 0.5


@dataclass(frozen=True, kw_only=True)
class Config(policy_gradient.Config):
    """Settings of magnetic mirror descent."""

    out: Path = Path("runs/mmd")
    """Run folder."""
    magnet: Annotated[float, Within(0.0, 1e6)] = 0.2
    """Weight of the divergence from the magnet."""
    magnet_final: Annotated[float | None, Within(0.0, 1e6)] = 0.02
    """Weight of the divergence at the end, approached linearly over --steps; None keeps it constant."""
    magnet_rate: Share = 0.0
    """Share by which the magnet moves towards the policy after each round of games; 0 for a magnet that stays."""
    magnet_copies: Annotated[int, Within(0, 10**6)] = 0
    """Number of times, evenly over --steps, that the magnet becomes a copy of the policy."""
    device: str = "cpu"
    """cpu or cuda: where games and networks are. On a GPU, thousands of --num-envs keep it busy, and games are learned
    from every 16 plies instead of whole."""

    def check(self) -> None:
        """Raise ValueError or TypeError, naming the setting, for an invalid value."""
        super().check()
        check_device(self.device)
        if self.magnet_rate and self.magnet_copies:
            raise ValueError("magnet_rate and magnet_copies both move the magnet: choose one")


class MMD(PolicyGradient[Config]):
    """The loss of magnetic mirror descent."""

    def __init__(self, config: Config, game: Game) -> None:
        super().__init__(config, game)
        self.network.to(config.device)
        # A magnet that moves begins as the untrained policy, which is nearly uniform; otherwise it is the uniform
        # policy.
        moves = config.magnet_rate > 0 or config.magnet_copies > 0
        self.magnet = copy.deepcopy(self.network) if moves else None
        self.copies: int | None = None

    @property
    def parts(self) -> checkpoint.Parts:
        """The parts of `PolicyGradient`, and the magnet if it moves."""
        return super().parts if self.magnet is None else {**super().parts, "magnet": self.magnet}

    def begin(self, generator: np.random.Generator) -> None:
        """Create the games, on a GPU if the run uses one."""
        if self.config.device == "cpu":
            super().begin(generator)
            return
        torch.manual_seed(int(generator.integers(2**63)))
        seed = int(generator.integers(2**63))
        self.rollouts = Rollouts(self.game, self.config.num_envs, seed, self.config.device)

    def one_round(self, done: float) -> int:
        """Play and learn: from whole games or, on a GPU, from a rollout of 16 plies. Return the number of decisions."""
        if self.config.device == "cpu":
            return super().one_round(done)
        sample, decisions = self.rollouts.play(self.network, self.gae_lambda)
        self.learn_from(sample, done)
        return decisions

    def learn_from(self, sample: Sample, done: float) -> None:
        """Learn as `PolicyGradient.learn_from`, then move the magnet."""
        super().learn_from(sample, done)
        if self.magnet is None:
            return
        copies = int(done * self.config.magnet_copies)
        replaced = self.copies is not None and copies > self.copies
        self.copies = copies
        with torch.no_grad():
            for mine, latest in zip(self.magnet.parameters(), self.network.parameters(), strict=True):
                mine.lerp_(latest, 1.0 if replaced else self.config.magnet_rate)

    def policy_loss(self, log_probs: torch.Tensor, sample: Sample, done: float) -> torch.Tensor:
        """Return PPO's surrogate loss plus the weighted divergences from the magnet and the behaviour policy."""
        probs = log_probs.exp()
        if self.magnet is None:
            of_magnet = -entropy_of(log_probs)  # up to a constant
        else:
            with torch.no_grad():
                magnet = masked(self.magnet(sample.observations.float())["policy"], sample.masks)
            of_magnet = (probs * (log_probs - magnet)).sum(dim=1)
        of_behaviour = (probs * (log_probs - sample.log_probs)).sum(dim=1)
        weight = between(self.config.magnet, self.config.magnet_final, done)
        self.numbers.update({"train/magnet": weight, "train/divergence": float(of_behaviour.detach().mean())})
        penalties = weight * of_magnet.mean() + _BEHAVIOUR * of_behaviour.mean()
        return clipped(log_probs, sample, _CLIP) + penalties


def train(config: Config) -> Result:
    """Train, until `config.steps` or an interrupt (Ctrl-C). Raises the errors of `train_self_play`."""
    return train_self_play(config, NAME, MMD)
