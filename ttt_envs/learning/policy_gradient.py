"""The shared loop of policy gradient methods: whole games, and gradient steps of a policy and a value network.

A method is a subclass of `PolicyGradient` that defines a loss. PPO's loss is the function `clipped`; a test compares an
update with it to an update of MaskablePPO (sb3-contrib) on the same decisions.

Source: Schulman et al., "Proximal policy optimization algorithms", 2017; initial weights as in Stable-Baselines3.
"""

from collections.abc import Iterator
from dataclasses import dataclass, fields, replace
from typing import Annotated, Generic, TypeVar

import numpy as np
import torch

from ttt_envs.agents.networks import NetworkInfo
from ttt_envs.core.game import Game
from ttt_envs.core.rng import sample_rows
from ttt_envs.learning.episodes import Rollout, WholeGames
from ttt_envs.learning.runs import checkpoint
from ttt_envs.learning.runs.settings import Settings, Steps, Within, check_sizes
from ttt_envs.learning.torch_networks import TorchNetwork

#: Weight of the value network's squared error.
VALUE_WEIGHT = 0.5

# Largest norm of a gradient.
_GRADIENT_NORM = 0.5

# The logit of an illegal action; finite, so that 0 times it is 0.
_NEVER = -1e8


@dataclass(frozen=True, kw_only=True)
class Config(Settings):
    """Settings of a policy gradient method."""

    num_envs: Annotated[int, Within(1, 2**20)] = 1024
    """Games that are played to their end between two updates."""
    learning_rate: Annotated[float, Within(0.0, 1e3)] = 3e-4
    """Learning rate of Adam, decreased linearly over --steps to a hundredth."""
    hidden: tuple[int, ...] = (128, 128)
    """Sizes of the hidden layers, of the policy and of the value network alike."""
    save_every: Steps = 100_000
    """Decisions between two updates of the run folder."""

    def check(self) -> None:
        """Raise ValueError or TypeError, naming the setting, for an invalid value."""
        super().check()
        check_sizes(hidden=self.hidden)


@dataclass(frozen=True)
class Sample:
    """Decisions as training data: tensors (b,) or (b, ...).

    Attributes:
        observations: float32 or int8 (b, size).
        masks: bool (b, num_actions).
        actions: int64 (b,).
        log_probs: float32 (b, num_actions), log-probabilities of the policy that played.
        advantages: float32 (b,).
        returns: float32 (b,), targets of the value network.
    """

    observations: torch.Tensor
    masks: torch.Tensor
    actions: torch.Tensor
    log_probs: torch.Tensor
    advantages: torch.Tensor
    returns: torch.Tensor

    def take(self, rows: torch.Tensor) -> "Sample":
        """Return some of the rows."""
        return Sample(*(getattr(self, each.name)[rows] for each in fields(self)))


Settled = TypeVar("Settled", bound=Config)


class PolicyGradient(Generic[Settled]):
    """A policy and a value network that learn by self-play. A subclass defines `policy_loss`.

    Attributes:
        config, game: the settings and the game.
        network: the networks.
        optimizer: Adam for all parameters.
        numbers: figures for the log, by name.
        passes: number of passes over the decisions of a round.
        minibatches: number of gradient steps per pass.
        gae_lambda: lambda of generalised advantage estimation.
    """

    passes = 2
    minibatches = 4
    gae_lambda = 0.95

    def __init__(self, config: Settled, game: Game) -> None:
        """Draw new weights with torch's generator."""
        self.config, self.game = config, game
        size, actions = game.observation_size, game.num_actions
        self.info = NetworkInfo(game.id, dict(game.options), "policy+value", size, actions, config.hidden, 0)
        self.info = replace(self.info, separate=True)
        self.network = orthogonal(TorchNetwork(self.info))
        self.optimizer = torch.optim.Adam(self.network.parameters(), lr=config.learning_rate, eps=1e-5)
        self.numbers: dict[str, float] = {}

    @property
    def parts(self) -> checkpoint.Parts:
        """The parts that a resumed run needs."""
        return {"net": self.network, "optimizer": self.optimizer}

    @property
    def playing(self) -> TorchNetwork:
        """The network that is measured and saved."""
        return self.network

    def begin(self, generator: np.random.Generator) -> None:
        """Create the games; torch's generator draws the actions."""
        torch.manual_seed(int(generator.integers(2**63)))
        self.games = WholeGames(self.game, self.config.num_envs, int(generator.integers(2**63)))

    def one_round(self, done: float) -> int:
        """Play whole games and learn from them; return the number of decisions."""
        rollout = self.games.play(self.act)
        self.learn(rollout, done)
        return len(rollout)

    def act(
        self, observations: np.ndarray, masks: np.ndarray, games: np.ndarray, players: np.ndarray
    ) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Draw actions from the policy, one network for all games and players; see `episodes.Act`."""
        with torch.inference_mode():
            outputs = self.network(torch.from_numpy(observations.astype(np.float32)))
            log_probs = masked(outputs["policy"], torch.from_numpy(masks))
        return drawn(log_probs), log_probs.numpy(), outputs["value"][:, 0].numpy()

    def sample_of(self, rollout: Rollout) -> Sample:
        """Return the decisions with their advantages and returns."""
        advantages = rollout.advantages(1.0, self.gae_lambda)
        return Sample(
            torch.from_numpy(rollout.observations.astype(np.float32)),
            torch.from_numpy(rollout.masks),
            torch.from_numpy(rollout.actions),
            torch.from_numpy(rollout.log_probs),
            torch.from_numpy(advantages),
            torch.from_numpy(advantages + rollout.values),
        )

    def learn(self, rollout: Rollout, done: float) -> None:
        """Learn from the decisions of a round; `done`: the finished share of the training."""
        self.learn_from(self.sample_of(rollout), done)

    def learn_from(self, sample: Sample, done: float) -> None:
        """Learn from training data; `done`: the finished share of the training."""
        for part in self.parts_of(sample.actions):
            some = sample.take(part)
            heads = self.network(some.observations.float())
            log_probs = masked(heads["policy"], some.masks)
            of_policy = self.policy_loss(log_probs, some, done)
            of_value = (heads["value"][:, 0] - some.returns).square().mean()
            self.descend(of_policy + VALUE_WEIGHT * of_value, done)
            self.numbers.update(
                {"train/policy_loss": float(of_policy.detach()), "train/value_loss": float(of_value.detach())}
            )

    def parts_of(self, actions: torch.Tensor) -> Iterator[torch.Tensor]:
        """Yield the indices of each gradient step's decisions; their order differs between passes."""
        for _ in range(self.passes):
            yield from torch.randperm(len(actions), device=actions.device).chunk(self.minibatches)

    def policy_loss(self, log_probs: torch.Tensor, sample: Sample, done: float) -> torch.Tensor:
        """Return the policy's loss on one part of the training data, as a scalar.

        Args:
            log_probs: float32 (b, num_actions), log-probabilities of the current network.
            sample: the decisions of the part.
            done: the finished share of the training.
        """
        raise NotImplementedError

    def descend(self, loss: torch.Tensor, done: float) -> None:
        """Make a gradient step."""
        self.network.zero_grad(set_to_none=True)
        loss.backward()
        torch.nn.utils.clip_grad_norm_(self.network.parameters(), _GRADIENT_NORM)
        rate = self.config.learning_rate * max(1 - done, 0.01)
        for group in self.optimizer.param_groups:
            group["lr"] = rate
        self.optimizer.step()
        self.numbers["train/learning_rate"] = rate


def orthogonal(network: TorchNetwork) -> TorchNetwork:
    """Return the network with orthogonal weights, as in Stable-Baselines3: a nearly uniform policy, no biases."""
    for name, each in network.named_modules():
        if isinstance(each, torch.nn.Linear):
            gain = {"heads.policy": 0.01, "heads.value": 1.0}.get(name, 2**0.5)
            torch.nn.init.orthogonal_(each.weight, gain)
            torch.nn.init.zeros_(each.bias)
    return network


def masked(logits: torch.Tensor, masks: torch.Tensor) -> torch.Tensor:
    """Return log-probabilities float32 (n, num_actions) among legal actions; about -1e8 where illegal."""
    return torch.log_softmax(logits.masked_fill(~masks, _NEVER), dim=1)


def drawn(log_probs: torch.Tensor) -> np.ndarray:
    """Draw an action per row of log-probabilities, with one random number of torch per row: int64 (n,)."""
    out, seeds = np.empty(len(log_probs), np.int64), torch.randint(2**63 - 1, (len(log_probs),)).numpy()
    sample_rows(log_probs.double().exp().numpy(), seeds.view(np.uint64), out)
    return out


def entropy_of(log_probs: torch.Tensor) -> torch.Tensor:
    """Return the entropy of each row, float32 (n,)."""
    return -(log_probs.exp() * log_probs).sum(dim=1)


def clipped(log_probs: torch.Tensor, sample: Sample, clip: float) -> torch.Tensor:
    """Return PPO's clipped surrogate as a loss; the advantages are normalised over the sample."""
    chosen = sample.actions[:, None]
    ratio = (log_probs.gather(1, chosen) - sample.log_probs.gather(1, chosen))[:, 0].exp()
    advantages = sample.advantages
    if len(advantages) > 1:
        advantages = (advantages - advantages.mean()) / (advantages.std() + 1e-8)
    return -torch.min(advantages * ratio, advantages * ratio.clamp(1 - clip, 1 + clip)).mean()


def between(first: float, last: float | None, done: float) -> float:
    """Interpolate a setting linearly between its first and its last value; if `last` is None, return the first."""
    return first if last is None else first + min(done, 1.0) * (last - first)
