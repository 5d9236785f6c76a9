"""Learn an equilibrium by neural fictitious self-play: a best response to the average of all best responses so far.

Two networks learn. One network learns action values by masked double DQN and plays a best response. The other network
imitates, from a reservoir, the best response's actions over the whole run. This second network is the average of all
best responses, which converges to an equilibrium in fictitious play; it is measured and saved. The best response plays
one seat of each game. The average plays the other seat, except in a share --anticipation of the games, in which the
best response plays both. The method needs two players; simultaneous choices and hidden information are allowed.
network.safetensors contains the average policy; load it with agents.load("network:runs/x"). The replay buffer is not
saved: a resumed run begins with an empty one.

Source: Heinrich and Silver, "Deep reinforcement learning from self-play in imperfect-information games", 2016. In the
paper both players learn in each game, also in seats that the average plays; here nothing is learned from the average's
decisions.
"""

from dataclasses import dataclass, replace
from pathlib import Path
from typing import Annotated, Any

import numpy as np
import torch

from ttt_envs.agents import Agent
from ttt_envs.agents.networks import NetworkInfo
from ttt_envs.agents.torch_policy import PolicyAgent
from ttt_envs.core.game import Game
from ttt_envs.learning import dqn
from ttt_envs.learning.dqn import EpsilonGreedy, SeatLearner
from ttt_envs.learning.policy_gradient import masked
from ttt_envs.learning.reservoir import Reservoir, of_decisions
from ttt_envs.learning.runs import checkpoint
from ttt_envs.learning.runs.loop import train_self_play
from ttt_envs.learning.runs.settings import Result, Settings, Share, Steps, Within, check_sizes
from ttt_envs.learning.torch_networks import Logits, TorchNetwork
from ttt_envs.wrappers.self_play import PlayerGames

NAME = "nfsp"

# Batch size of both networks, and gradient steps of each network per round of decisions.
_BATCH, _UPDATES = 128, 2

# Learning rate of the average policy, which decreases like that of the best response.
_AVERAGE_RATE = 1e-3

# Initial share of random actions of the best response, which decreases linearly to 0.
_EXPLORATION = 0.1

# Share by which the best response's target network moves to its online network at each gradient step.
_TARGET_SHARE = 0.05


@dataclass(frozen=True, kw_only=True)
class Config(Settings):
    """Settings of neural fictitious self-play."""

    out: Path = Path("runs/nfsp")
    """Run folder."""
    num_envs: Annotated[int, Within(1, 2**20)] = 128
    """Games that run side by side."""
    anticipation: Share = 0.1
    """Share of the games in which the other player is the best response, and not the average."""
    buffer: Annotated[int, Within(1, 10**9)] = 20_000
    """Latest decisions that the best response learns from."""
    reservoir: Annotated[int, Within(1, 10**8)] = 400_000
    """Decisions of all best responses so far that the average learns from, drawn evenly."""
    learning_rate: Annotated[float, Within(0.0, 1e3)] = 3e-3
    """Learning rate of Adam of the best response, decreased linearly over --steps to a tenth."""
    hidden: tuple[int, ...] = (128, 128)
    """Sizes of the hidden layers, of both networks."""
    save_every: Steps = 100_000
    """Decisions between two updates of the run folder."""

    def check(self) -> None:
        """Raise ValueError or TypeError, naming the setting, for an invalid value."""
        super().check()
        self.of_best_response().check()
        check_sizes(hidden=self.hidden)

    def of_best_response(self) -> dqn.Config:
        """Return the settings with which the best response learns by double Q-learning."""
        shared = ("num_envs", "buffer", "learning_rate", "hidden", "seed", "seeds")
        given = {name: getattr(self, name) for name in shared}
        own: dict[str, Any] = {"warm_up": 1000, "batch": _BATCH, "updates": _UPDATES, "gamma": 1.0}
        return dqn.Config(game=self.game, options=self.options, **own, **given)


class NFSP:
    """The best response with its games, and the average network that imitates it."""

    def __init__(self, config: Config, game: Game) -> None:
        """Draw new weights with torch's generator; `begin` creates the games."""
        self.config, self.game = config, game
        size, actions = game.observation_size, game.num_actions
        self.info = NetworkInfo(game.id, dict(game.options), "policy", size, actions, config.hidden, 0)
        self.playing = TorchNetwork(self.info)
        self.best = EpsilonGreedy(TorchNetwork(replace(self.info, kind="q")))
        self.responding = SeatLearner(self.best, config.of_best_response(), _TARGET_SHARE)
        self.reservoir = Reservoir(config.reservoir, of_decisions(game, actions=((), torch.int64)))
        self.optimizer = torch.optim.Adam(self.playing.parameters(), lr=_AVERAGE_RATE)
        self.parts: checkpoint.Parts = {
            **self.responding.parts,
            "average": self.playing,
            "average_optimizer": self.optimizer,
            "reservoir": self.reservoir,
        }
        self.numbers = self.responding.numbers

    def begin(self, generator: np.random.Generator) -> None:
        """Create the games, whose opponents are the average and the best response."""
        self.generator, share = generator, self.config.anticipation
        opponents = {PolicyAgent(Logits(self.playing)): 1 - share, self.best: share}
        weights: dict[Agent, float] = {agent: weight for agent, weight in opponents.items() if weight}
        games = PlayerGames(self.game, self.config.num_envs, opponent=weights, seed=int(generator.integers(2**63)))
        games.reset()
        self.responding.enter(games, generator)

    def one_round(self, done: float) -> int:
        """Make one decision in each game, and train both networks."""
        config, left = self.config, max(1 - done, 0.0)
        played = self.responding.round(_EXPLORATION * left, config.learning_rate * max(left, 0.1))
        observations, masks, actions = self.responding.replay.latest()
        self.reservoir.add({"observations": observations, "masks": masks, "actions": actions}, self.generator)
        for _ in range(_UPDATES):
            some = self.reservoir.sample(_BATCH, self.generator)
            log_probs = masked(self.playing(some["observations"].float())["policy"], some["masks"])
            loss = -log_probs.gather(1, some["actions"][:, None]).mean()
            for group in self.optimizer.param_groups:
                group["lr"] = _AVERAGE_RATE * max(left, 0.1)
            self.optimizer.zero_grad(set_to_none=True)
            loss.backward()
            self.optimizer.step()
        self.numbers["train/average_loss"] = float(loss.detach())
        return played


def train(config: Config) -> Result:
    """Train, until `config.steps` or an interrupt (Ctrl-C). Raises the errors of `train_self_play`."""
    return train_self_play(config, NAME, NFSP)
