"""Learn the values of actions off-policy: masked double DQN by self-play, on many games at once.

The learner plays one seat of each game; the seat alternates from game to game. The other seats are played by the
current learner, its past snapshots and fixed agents. The learner's decisions go to a replay buffer. The network
Q(observation, action) is regressed on the rewards of the next --n-step decisions, plus the value of the position after
them: the online network chooses the best legal action in that position, and the target network, a slow average, gives
its value. Only legal actions are chosen and used in targets. The policy is greedy, so it is not an equilibrium if
optimal play is mixed. network.safetensors contains the online network; agents.load("network:runs/x") plays with it,
agents.load("lookahead:runs/x") tries every action and rates the next positions with it. The replay buffer is not saved:
a resumed run begins with an empty one.

Sources: Mnih et al., "Human-level control through deep reinforcement learning", Nature 2015; van Hasselt et al., "Deep
reinforcement learning with double Q-learning", AAAI 2016; n-step targets: Hessel et al., "Rainbow", AAAI 2018; the slow
target network: Lillicrap et al., "Continuous control with deep reinforcement learning", ICLR 2016.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Annotated

import numpy as np
import torch
from torch.nn import functional

from ttt_envs.agents import Agent, View
from ttt_envs.agents.base import best_of, uniform
from ttt_envs.agents.network_agents import NetworkAgent
from ttt_envs.agents.networks import Network, NetworkInfo, save_network
from ttt_envs.core.game import Game
from ttt_envs.learning.opponents import OpponentPool
from ttt_envs.learning.optimizers import adam
from ttt_envs.learning.runs import checkpoint
from ttt_envs.learning.runs.loop import Learner, gradient_step, train_rounds
from ttt_envs.learning.runs.settings import Result, SelfPlay, Share, Steps, Within, check_sizes
from ttt_envs.learning.torch_networks import TorchNetwork, load_torch_network
from ttt_envs.wrappers.self_play import PlayerGames

NAME = "dqn"

# Share of all steps over which exploration decreases from 1 to its final value.
_FALLING = 0.1


@dataclass(frozen=True, kw_only=True)
class Config(SelfPlay):
    """Settings of a DQN run; the defaults are tuned for one core."""

    out: Path = Path("runs/dqn")
    """Run folder."""
    num_envs: Annotated[int, Within(1, 2**20)] = 256
    """Games that run side by side."""
    buffer: Annotated[int, Within(1, 10**9)] = 300_000
    """Latest decisions that are learned from."""
    warm_up: Annotated[int, Within(1, 10**9)] = 10_000
    """Decisions to collect before learning begins."""
    batch: Annotated[int, Within(1, 2**24)] = 512
    """Decisions in a gradient step."""
    updates: Annotated[int, Within(1, 10**6)] = 1
    """Gradient steps for each decision in all games."""
    learning_rate: Annotated[float, Within(0.0, 1e3)] = 1e-3
    """Learning rate of Adam, decreased linearly over --steps to a tenth."""
    exploration: Share = 0.05
    """Share of random actions; it decreases to this linearly from 1, over a tenth of --steps."""
    gamma: Share = 0.99
    """Discount factor for each decision."""
    n_step: Annotated[int, Within(1, 1000)] = 3
    """Decisions whose rewards a target sums up before it relies on the target network."""
    hidden: tuple[int, ...] = (256, 256)
    """Sizes of the hidden layers."""
    save_every: Steps = 100_000
    """Decisions between two updates of the run folder."""

    def check(self) -> None:
        """Raise ValueError or TypeError, naming the setting, for an invalid value."""
        super().check()
        if self.buffer < (least := self.num_envs * (self.n_step + 1)):
            raise ValueError(f"buffer must be at least num_envs * (n_step + 1), {least}, not {self.buffer}")
        check_sizes(hidden=self.hidden)


class Replay:
    """The latest decisions of concurrent games: a ring buffer of rounds with one decision per game."""

    def __init__(self, game: Game, rounds: int, num_envs: int) -> None:
        self.observations = np.zeros((rounds, num_envs, game.observation_size), np.int8)
        self.masks = np.zeros((rounds, num_envs, game.num_actions), np.bool_)
        self.actions = np.zeros((rounds, num_envs), np.int64)
        self.rewards = np.zeros((rounds, num_envs), np.float32)
        self.done = np.zeros((rounds, num_envs), np.bool_)
        self.rounds, self.num_envs, self.added = rounds, num_envs, 0

    def add(
        self, observations: np.ndarray, masks: np.ndarray, actions: np.ndarray, rewards: np.ndarray, done: np.ndarray
    ) -> None:
        """Add a round, with a row per game: position, action, reward, and whether the action ended the game."""
        row = self.added % self.rounds
        self.observations[row], self.masks[row], self.actions[row] = observations, masks, actions
        self.rewards[row], self.done[row] = rewards, done
        self.added += 1

    def latest(self) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Return the latest round: observations, masks, actions."""
        row = (self.added - 1) % self.rounds
        return self.observations[row], self.masks[row], self.actions[row]

    def sample(self, n: int, n_step: int, gamma: float, generator: np.random.Generator) -> tuple[np.ndarray, ...]:
        """Return n decisions, drawn with replacement, with their outcomes.

        Returns:
            observations int8 (n, size), actions int64 (n,); returns float32 (n,): the discounted rewards of `n_step`
            decisions, or fewer if the game ended; discounts float32 (n,): weights of the values of the positions after
            these decisions, 0 if the game ended; those positions' observations int8 (n, size) and masks bool (n,
            num_actions).
        """
        start = generator.integers(max(self.added - self.rounds, 0), self.added - n_step, n)
        games = generator.integers(0, self.num_envs, n)
        returns, discounts = np.zeros(n, np.float32), np.ones(n, np.float32)
        for k in range(n_step):
            rows = (start + k) % self.rounds
            returns += discounts * self.rewards[rows, games]
            discounts *= np.float32(gamma) * ~self.done[rows, games]
        first, last = start % self.rounds, (start + n_step) % self.rounds
        chosen = self.observations[first, games], self.actions[first, games]
        return *chosen, returns, discounts, self.observations[last, games], self.masks[last, games]


def q_values(network: TorchNetwork, observations: np.ndarray) -> np.ndarray:
    """Return the values of all actions in positions, observations int8 (n, size): float32 (n, num_actions)."""
    with torch.inference_mode():
        return np.asarray(network(torch.from_numpy(observations.astype(np.float32)))["q"].numpy())


class EpsilonGreedy(Agent):
    """The learner's current policy: the best action or, with probability `exploration`, a random one."""

    def __init__(self, network: TorchNetwork, exploration: float = 0.0) -> None:
        self.network, self.exploration = network, exploration

    def policy(self, view: View) -> np.ndarray:
        """Return the probabilities of the actions: float64 (n, num_actions)."""
        return self.probabilities(view.observations, view.masks)

    def probabilities(self, observations: np.ndarray, masks: np.ndarray) -> np.ndarray:
        """Return `policy` for observations int8 (n, size) and masks bool (n, num_actions)."""
        best = uniform(best_of(q_values(self.network, observations), masks))
        return (1 - self.exploration) * best + self.exploration * uniform(masks)


def targets(network: TorchNetwork, target: TorchNetwork, sampled: Sequence[np.ndarray]) -> torch.Tensor:
    """Return the double-DQN targets, float32 (n,); `sampled`: the last four arrays of `Replay.sample`."""
    returns, discounts, observations, masks = sampled
    values = q_values(target, observations)
    choosing = np.where(masks, q_values(network, observations), -np.inf)
    best = values[np.arange(len(values)), choosing.argmax(axis=1)]
    return torch.from_numpy(returns + discounts * best)


class SeatLearner:
    """Double Q-learning for one seat in each of many games; `enter` supplies the games.

    Attributes:
        current: the exploring learner, with the online network.
        target: the target network, an average of the latest networks.
        parts: the modules and optimisers that a resumed run needs.
        numbers: figures of the last gradient step, for the log.
    """

    games: PlayerGames
    replay: Replay
    generator: np.random.Generator

    def __init__(self, current: EpsilonGreedy, config: Config, target_share: float = 0.01) -> None:
        """Take the learner and the settings of learning; settings of the run, such as `steps`, are not used.

        `target_share`: share by which the target network moves to the online network at each gradient step.
        """
        self.current, self.config, self.target_share = current, config, target_share
        self.target = TorchNetwork(current.network.info)
        self.target.load_state_dict(current.network.state_dict())
        self.optimizers = adam(current.network, config.learning_rate)
        self.parts: checkpoint.Parts = {"net": current.network, "target": self.target, **self.optimizers}
        self.numbers: dict[str, float] = {}

    def enter(self, games: PlayerGames, generator: np.random.Generator, warm_up: int | None = None) -> None:
        """Play in `games`, which were just reset. `warm_up`: rows before learning begins; None: `config.warm_up`."""
        self.games, self.generator = games, generator
        self.warm_up = self.config.warm_up if warm_up is None else warm_up
        self.replay = Replay(games.game, self.config.buffer // games.n, games.n)

    def round(self, exploration: float, rate: float) -> int:
        """Make one decision in each game and, after the warm-up, gradient steps at learning rate `rate`.

        Returns the number of decisions.
        """
        games, config, self.current.exploration = self.games, self.config, exploration
        observations, masks = games.observations(), games.masks()
        cumulated = self.current.probabilities(observations, masks).cumsum(axis=1)
        draws = self.generator.random((games.n, 1)) * cumulated[:, -1:]
        actions = (cumulated > draws).argmax(axis=1)
        games.step(actions)
        self.replay.add(observations, masks, actions, games.rewards, games.done)
        if self.replay.added * games.n >= self.warm_up and self.replay.added > config.n_step:
            for _ in range(config.updates):
                self._learn(rate)
        return games.n

    def _learn(self, rate: float) -> None:
        config, network = self.config, self.current.network
        observations, actions, *following = self.replay.sample(
            config.batch, config.n_step, config.gamma, self.generator
        )
        values = network(torch.from_numpy(observations.astype(np.float32)))["q"]
        values = values.gather(1, torch.from_numpy(actions)[:, None])[:, 0]
        loss = functional.smooth_l1_loss(values, targets(network, self.target, following))
        numbers = gradient_step(loss, network, self.target, self.optimizers, rate=rate, share=self.target_share)
        self.numbers.update(numbers, **{"train/exploration": self.current.exploration})


def train(config: Config) -> Result:
    """Train, until `config.steps` or an interrupt (Ctrl-C). Sets torch's seed and number of threads (one).

    Raises the errors of `checkpoint.opened`, and ValueError for an agent that cannot play the game.
    """
    with checkpoint.opened(config, NAME) as this:
        return _train(this, config)


def _train(this: checkpoint.Run, config: Config) -> Result:
    game, folder = this.game, this.folder
    torch.set_num_threads(1)  # small networks get slower with more
    torch.manual_seed(config.seed)
    info = NetworkInfo(game.id, dict(game.options), "q", game.observation_size, game.num_actions, config.hidden, 0)
    current = EpsilonGreedy(TorchNetwork(info), 1.0)
    learning = SeatLearner(current, config)
    start = this.restore(learning.parts)
    # The seed includes `start`, the steps so far: a resumed run does not repeat its first games.
    generator = np.random.default_rng([config.seed, start])
    opponents = OpponentPool(game, config, current, lambda path: EpsilonGreedy(load_torch_network(path)))
    games = PlayerGames(game, config.num_envs, opponent=current, seed=int(generator.integers(2**63)))
    games.set_opponents(opponents.pool())
    games.reset()
    learning.enter(games, generator, this.warm_up)

    def one_round(steps: int) -> int:
        """Make one decision in each game, then the gradient steps of a round."""
        done = this.done(steps)
        exploration = max(config.exploration, 1 - done / _FALLING)
        return learning.round(exploration, config.learning_rate * max(1 - done, 0.1))

    def network(steps: int) -> tuple[NetworkInfo, dict[str, np.ndarray]]:
        """Return the online network as arguments for `Network` and `save_network`."""
        return replace(info, steps=steps), current.network.tensors()

    def agent(steps: int) -> Agent:
        """Return the agent for measurements."""
        return NetworkAgent(Network(*network(steps)))

    learner = Learner(
        one_round=one_round,
        write=lambda path, steps: save_network(path, *network(steps)),
        agent=agent,
        parts=learning.parts,
        plays_as=f"network:{folder}",
        numbers=learning.numbers,
        exchange=lambda: games.set_opponents(opponents.pool()),
    )
    return train_rounds(this, learner)
