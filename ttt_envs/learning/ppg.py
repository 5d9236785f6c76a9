"""Train by phasic policy gradient: PPO, interrupted by phases in which the policy network learns the values as well.

    ttt train ppg GAME --steps 3000000 --out runs/x

In the policy phase policy and value network learn apart, by PPO's loss with an entropy bonus. After --phase rounds of
it an auxiliary phase follows: a head on the hidden layers of the policy network learns what the games brought, so that
they know what matters for it, while the policy itself is held where it was. All seats are played by the learner, and
games are played to their end. Where optimal play is mixed, the entropy bonus makes self-play converge toward a quantal
response equilibrium; --entropy-final lets it decrease during the run. It is for two players, who may move at once and
have hidden information. The policy and its value network are in network.safetensors: agents.load("network:runs/x").

Source: Cobbe et al., "Phasic policy gradient", ICML 2021.
"""

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

import torch

from ttt_envs.core.game import Game
from ttt_envs.learning import checkpoint, policy_gradient
from ttt_envs.learning.loop import train_self_play
from ttt_envs.learning.policy_gradient import PolicyGradient, Sample, between, clipped, entropy_of, masked
from ttt_envs.learning.settings import Result, Within
from ttt_envs.learning.whole_games import Rollout

NAME = "ppg"


@dataclass(frozen=True, kw_only=True)
class Config(policy_gradient.Config):
    """Settings of phasic policy gradient."""

    out: Path = Path("runs/ppg")
    """Run folder."""
    entropy: Annotated[float, Within(0.0, 1e6)] = 0.2
    """Weight of the entropy bonus."""
    entropy_final: Annotated[float | None, Within(0.0, 1e6)] = 0.02
    """Weight of the entropy at the end, approached linearly over --steps; None keeps it constant."""
    phase: Annotated[int, Within(1, 10**6)] = 4
    """Rounds of games before each auxiliary phase."""
    auxiliary_epochs: Annotated[int, Within(0, 10**6)] = 6
    """Passes over the decisions of these rounds in the auxiliary phase."""
    clone: Annotated[float, Within(0.0, 1e6)] = 1.0
    """Weight of the divergence of the policy, in the auxiliary phase, from what it was before."""


class PPG(PolicyGradient[Config]):
    """PPO's loss, and the auxiliary phase."""

    def __init__(self, config: Config, game: Game) -> None:
        """The head for the auxiliary phase is no part of the network that plays."""
        super().__init__(config, game)
        self.head = torch.nn.Linear(config.hidden[-1], 1)
        self.head_optimizer = torch.optim.Adam(self.head.parameters(), lr=config.learning_rate, eps=1e-5)
        self.rounds: list[Sample] = []

    @property
    def parts(self) -> checkpoint.Parts:
        """The head as well; a resumed run begins a new phase."""
        return {**super().parts, "head": self.head, "head_optimizer": self.head_optimizer}

    def policy_loss(self, log_probs: torch.Tensor, sample: Sample, done: float) -> torch.Tensor:
        """PPO's surrogate with the entropy bonus."""
        weight = between(self.config.entropy, self.config.entropy_final, done)
        self.numbers["train/entropy"] = float(entropy_of(log_probs.detach()).mean())
        return clipped(log_probs, sample, self.config.clip) - weight * entropy_of(log_probs).mean()

    def learn(self, rollout: Rollout, done: float) -> None:
        """A round of the policy phase, and the auxiliary phase if it is due."""
        super().learn(rollout, done)
        self.rounds.append(self.sample_of(rollout))
        if len(self.rounds) >= self.config.phase:
            self._auxiliary_phase(done)
            self.rounds = []

    def _auxiliary_phase(self, done: float) -> None:
        """Passes over the decisions of the latest rounds, in minibatches as large as those of the policy phase."""
        config, policy = self.config, self.network.bodies["policy"]
        with torch.no_grad():
            before = [masked(self.network(each.observations)["policy"], each.masks) for each in self.rounds]
        for _ in range(config.auxiliary_epochs):
            for sample, old in zip(self.rounds, before, strict=True):
                for part in torch.randperm(len(old)).chunk(config.minibatches):
                    some = sample.take(part)
                    log_probs = masked(self.network(some.observations)["policy"], some.masks)
                    values = self.network(some.observations)["value"][:, 0]
                    auxiliary = self.head(self.network.through(policy, some.observations))[:, 0]
                    clone = (old[part].exp() * (old[part] - log_probs)).sum(dim=1).mean()
                    errors = (auxiliary - some.returns).square().mean() + (values - some.returns).square().mean()
                    self.head.zero_grad(set_to_none=True)
                    self.descend(0.5 * errors + config.clone * clone, done)
                    for group in self.head_optimizer.param_groups:
                        group["lr"] = self.numbers["train/learning_rate"]
                    self.head_optimizer.step()
        self.numbers["train/clone"] = float(clone.detach()) if config.auxiliary_epochs else 0.0


def train(config: Config) -> Result:
    """Train, until `config.steps` or an interrupt (Ctrl-C). Raises as `train_self_play`."""
    return train_self_play(config, NAME, PPG)
