"""Learn values by full-width sampled temporal differences: the rules try every action.

So the method needs no policy gradient, and its results have no variance from the choice of an action. In every visited
position, all legal actions are played once, with chance and hidden information redrawn. A network is regressed on the
results; an average of the network gives the values of the successors. The backup depends on the game:

- If players move one at a time (`ActionValues`), the network is Q(observation, action). The value of an action is the
  reward if it ends the game, and otherwise the best Q of the next position, with its sign changed if the other side
  moves there. The network is regressed on all legal actions at once. If optimal play is mixed, the greedy policy is not
  an equilibrium; a temperature at play makes it less greedy.
- If two players choose simultaneously (`MatrixGames`), the network is V(observation) and a policy. All pairs of actions
  give a matrix of rewards or of V of the next positions. V is regressed on the value of this matrix game, and the
  policy on its equilibrium.

The method needs two sides. Chance is allowed. Hidden information is allowed if players move one at a time.
network.safetensors contains the average of the latest networks; agents.load("network:runs/x") plays with it,
agents.load("lookahead:runs/x") tries every action and rates the next positions with it.

Sources: Sutton and Barto, "Reinforcement learning: an introduction", 2018, section 8.5 (expected updates); van Seijen
et al., "A theoretical and empirical analysis of expected Sarsa", 2009; for simultaneous choices Shapley, "Stochastic
games", 1953, with a fitted V as in Lagoudakis and Parr, "Value function approximation in zero-sum Markov games", 2002.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Annotated, ClassVar

import numpy as np
import torch
from torch.nn import functional

from ttt_envs.agents import Agent
from ttt_envs.agents.matrix_games import check_two_players, equilibria, from_both_seats
from ttt_envs.agents.network_agents import Lookahead, NetworkAgent
from ttt_envs.agents.networks import Network, NetworkInfo, for_all_players, save_network
from ttt_envs.agents.one_ply import action_values
from ttt_envs.core.batch import Batch
from ttt_envs.core.chance import MOST_STRATA
from ttt_envs.core.game import Game
from ttt_envs.core.options import choice
from ttt_envs.learning.on_device import DeviceValues, Ring, check_device
from ttt_envs.learning.optimizers import OPTIMIZERS
from ttt_envs.learning.runs import checkpoint
from ttt_envs.learning.runs.loop import Buffer, Learner, Rows, gradient_step, permutations_of, train_rounds
from ttt_envs.learning.runs.settings import Result, Settings, Share, Steps, Within, check_sizes
from ttt_envs.learning.torch_networks import TorchNetwork

NAME = "value_learning"

# Iterations of predictive regret matching+ in each matrix game.
_ITERATIONS = 150


@dataclass(frozen=True, kw_only=True)
class Config(Settings):
    """Settings of a run of value learning; the defaults are tuned for one core."""

    UNIT: ClassVar[str] = "positions"
    out: Path = Path("runs/value")
    """Run folder."""
    num_envs: Annotated[int, Within(1, 2**20)] = 512
    """Games that run side by side; a round takes one position of each."""
    buffer: Annotated[int, Within(1, 10**9)] = 200_000
    """Latest positions that are learned from; where players choose simultaneously, each player's view counts."""
    warm_up: Annotated[int, Within(1, 10**9)] = 10_000
    """Positions to collect before learning begins."""
    batch: Annotated[int, Within(1, 2**24)] = 1024
    """Positions in a gradient step."""
    updates: Annotated[int | None, Within(1, 10**6)] = None
    """Gradient steps a round; None: 1, or 8 where players choose simultaneously."""
    learning_rate: Annotated[float, Within(0.0, 1e6)] = 2e-3
    """Learning rate, decreased linearly over --steps to a hundredth."""
    optimizer: str = "adam"
    """adam or muon; a step of muon takes longer, and learns more where the network is large."""
    average: Share = 0.005
    """Share by which the average of the networks, which plays and makes the targets, moves at each gradient step."""
    hidden: tuple[int, ...] = (256, 256)
    """Sizes of the hidden layers."""
    residual: bool = False
    """Add the input of a hidden layer to its output where both have the same size."""
    precision: str = "highest"
    """Precision of matrix products: highest (float32), or medium, by bfloat16 where the processor has such instructions
    (AMX): twice as fast."""
    policy_weight: Annotated[float, Within(0.0, 1e6)] = 0.1
    """Simultaneous choices: weight of the policy's loss; that of the value's is 1."""
    extend: bool = False
    """Simultaneous choices: search one ply further where one player alone decides next."""
    outcomes: Annotated[int, Within(1, MOST_STRATA)] = 1
    """Largest number of outcomes of the first chance draws after an action (such as a roll of dice) to enumerate in its
    target; 1 draws one sample. Enumeration removes noise and takes more time. For games in which players take turns."""
    worlds: Annotated[int, Within(0, 10**6)] = 0
    """Measure the network with one ply of search over this number of worlds; 0 measures the network by itself."""
    device: str = "cpu"
    """cpu or cuda: where games and networks are, for games in which players take turns. On a GPU, thousands of
    --num-envs keep it busy."""
    save_every: Steps = 100_000
    """Positions between two updates of the run folder."""

    def check(self) -> None:
        """Raise ValueError or TypeError, naming the setting, for an invalid value."""
        super().check()
        if self.buffer < self.num_envs:
            raise ValueError(f"buffer must be at least num_envs, {self.num_envs}, not {self.buffer}")
        check_sizes(hidden=self.hidden)
        choice("precision", self.precision, ("highest", "medium"))
        choice("optimizer", self.optimizer, tuple(OPTIMIZERS))
        check_device(self.device)
        if self.device == "cuda" and (self.outcomes > 1 or self.load().simultaneous):
            raise ValueError("device='cuda' is for games in which players take turns, and for outcomes=1")


#: A symmetry as permutations of features and of actions.
Permutation = tuple[np.ndarray, np.ndarray]


class ActionValues:
    """The backup for players who move one at a time: Q of all legal actions from the best Q of the next positions.

    `label` and `loss` are the interface of a backup; the constructor defines the network.
    """

    #: Share of random actions in training games.
    exploration = 0.1

    def __init__(self, config: Config, game: Game) -> None:
        self.game = game
        self.outcomes = config.outcomes if game.stochastic else 1
        self.updates = config.updates or 1
        self.info = _info(config, game, "q")

    def label(self, average: TorchNetwork, batch: Batch, generator: np.random.Generator) -> tuple[Rows, np.ndarray]:
        """Return the current positions and the values of their actions as training data, and the actions to play."""
        masks, observations = batch.masks(), batch.observations()

        def worth(observations: np.ndarray, masks: np.ndarray, players: np.ndarray) -> np.ndarray:
            best = np.where(masks, evaluate(average, observations, "q"), -np.inf).max(axis=1, keepdims=True)
            return for_all_players(self.game, best, players)

        seeds = generator.integers(0, 2**64, batch.n, np.uint64)
        values = action_values(self.game, batch.states, masks, seeds, worth, outcomes=self.outcomes)
        best = np.where(masks, evaluate(average, observations, "q"), -np.inf).argmax(axis=1)
        at_random = np.where(masks, generator.random(masks.shape), -1).argmax(axis=1)
        actions = np.where(generator.random(batch.n) < self.exploration, at_random, best)
        return {"observations": observations, "values": values.astype(np.float32)}, actions

    def loss(self, network: TorchNetwork, rows: Rows, permutation: Permutation) -> torch.Tensor:
        """Return the loss of a network on rows that are transformed by a symmetry."""
        features, actions = permutation
        target = torch.from_numpy(rows["values"][:, actions])
        legal = ~target.isnan()
        return functional.mse_loss(network(as_input(rows["observations"][:, features]))["q"][legal], target[legal])


class MatrixGames:
    """The backup for two players who choose simultaneously: the value and the equilibrium of the local matrix game.
    Each position gives two rows, one from each player's view.
    """

    exploration = 0.5

    def __init__(self, config: Config, game: Game) -> None:
        """Raise ValueError for a game that the backup does not support."""
        check_two_players(game, NAME)
        self.game, self.extend, self.policy_weight = game, config.extend, config.policy_weight
        self.updates = config.updates or 8
        self.info = replace(_info(config, game, "policy+value"), squash=True)

    def label(self, average: TorchNetwork, batch: Batch, generator: np.random.Generator) -> tuple[Rows, np.ndarray]:
        """Return positions with values and policies as training data, and both players' actions, int64 (n, 2)."""
        seeds = generator.integers(0, 2**64, (batch.n, 1), np.uint64)

        def values(observations: np.ndarray) -> np.ndarray:
            return evaluate(average, observations, "value")[:, 0]

        value = from_both_seats(values)
        solved = equilibria(self.game, batch.states, seeds, value, _ITERATIONS, extend=self.extend)
        masks = np.stack([batch.masks(player) for player in range(2)], axis=1)
        uniform = masks / np.maximum(masks.sum(axis=2, keepdims=True), 1)
        explores = generator.random((batch.n, 2, 1)) < self.exploration
        reached = np.where(explores, uniform, solved.policies).cumsum(axis=2)
        # The first action whose cumulative probability exceeds the draw; -1 if the player does not act.
        drawn = reached > generator.random((batch.n, 2, 1)) * reached[:, :, -1:]
        actions = np.where(masks.any(axis=2), drawn.argmax(axis=2), -1)
        rows = {
            "observations": np.concatenate([batch.observations(player) for player in range(2)]),
            "values": np.concatenate([solved.values, -solved.values]).astype(np.float32),
            # Nan for illegal actions.
            "policies": np.concatenate(list(np.where(masks, solved.policies, np.nan).swapaxes(0, 1))).astype(
                np.float16
            ),
        }
        return rows, actions

    def loss(self, network: TorchNetwork, rows: Rows, permutation: Permutation) -> torch.Tensor:
        """Return the squared error of the value plus the weighted cross-entropy of the policy."""
        features, actions = permutation
        outputs = network(as_input(rows["observations"][:, features]))
        target = torch.from_numpy(rows["policies"][:, actions]).float()
        # Not -inf: a player who does not act has no legal action, and the softmax of nothing but -inf would be nan.
        logits = outputs["policy"].masked_fill(target.isnan(), -1e9)
        cross_entropy = -(target.nan_to_num() * functional.log_softmax(logits, dim=1)).sum(dim=1).mean()
        squared = functional.mse_loss(outputs["value"][:, 0], torch.from_numpy(rows["values"]))
        return squared + self.policy_weight * cross_entropy


def _info(config: Config, game: Game, kind: str) -> NetworkInfo:
    sizes = game.observation_size, game.num_actions, config.hidden
    return NetworkInfo(game.id, dict(game.options), kind, *sizes, 0, residual=config.residual)


def as_input(observations: np.ndarray) -> torch.Tensor:
    """Return observations, int8, as a float tensor."""
    return torch.from_numpy(observations.astype(np.float32))


def evaluate(network: TorchNetwork, observations: np.ndarray, head: str) -> np.ndarray:
    """Return the output of one head of a network for observations, int8 (n, size)."""
    with torch.inference_mode():
        return np.asarray(network(as_input(observations))[head].numpy())


#: Plays a round: (network, its average) -> the losses of the round's gradient steps. Each loss is computed after the
#: step on the previous one.
Losses = Callable[[TorchNetwork, TorchNetwork], Iterator[torch.Tensor]]


def _rounds(this: checkpoint.Run, backup: ActionValues | MatrixGames, generator: np.random.Generator) -> Losses:
    """Return a function that plays rounds, with games and training data in NumPy arrays."""
    config, warm_up, seed = this.config, this.warm_up, int(generator.integers(2**63))
    batch = Batch(backup.game, config.num_envs, seed=seed, auto_reset=True)
    buffer, permutations = Buffer(config.buffer), permutations_of(backup.game)

    def losses(network: TorchNetwork, average: TorchNetwork) -> Iterator[torch.Tensor]:
        rows, actions = backup.label(average, batch, generator)
        batch.step(actions)
        buffer.add(rows)
        for _ in range(backup.updates if buffer.added >= warm_up else 0):
            permutation = permutations[generator.integers(len(permutations))]
            yield backup.loss(network, buffer.sample(config.batch, generator), permutation)

    return losses


def _rounds_on_device(
    this: checkpoint.Run, backup: ActionValues | MatrixGames, generator: np.random.Generator
) -> Losses:
    """Return the same function for action values, with games and training data on a device."""
    config, warm_up, seed = this.config, this.warm_up, int(generator.integers(2**63))
    games = DeviceValues(backup.game, config.num_envs, seed, config.device)
    ring = Ring(config.buffer, backup.game, games.device)
    permutations = [[torch.tensor(each, device=games.device) for each in pair] for pair in permutations_of(backup.game)]

    def losses(network: TorchNetwork, average: TorchNetwork) -> Iterator[torch.Tensor]:
        ring.add(games.tensor(games.batch.observations()), games.label(average))
        games.play(average, backup.exploration)
        for _ in range(backup.updates if ring.added >= warm_up else 0):
            features, actions = permutations[generator.integers(len(permutations))]
            seen, target = ring.sample(config.batch)
            target = target[:, actions]
            errors = (network(seen[:, features].float())["q"] - target.nan_to_num()) * ~target.isnan()
            yield errors.square().sum() / (~target.isnan()).sum()

    return losses


def train(config: Config) -> Result:
    """Train until `config.steps` or an interrupt (Ctrl-C). Sets torch's seed, precision and number of threads.

    Raises the errors of `checkpoint.opened`, and ValueError for a game that the method cannot play.
    """
    with checkpoint.opened(config, NAME) as this:
        return _train(this, config)


def _train(this: checkpoint.Run, config: Config) -> Result:
    game = this.game
    if len(game.teams) != 2:
        raise ValueError(f"{NAME} needs a game of two sides; {game} does not fit")
    backup = MatrixGames(config, game) if game.simultaneous else ActionValues(config, game)
    torch.set_num_threads(1)  # small networks get slower with more
    torch.set_float32_matmul_precision(config.precision)
    torch.manual_seed(config.seed)
    network, average = (TorchNetwork(backup.info).to(config.device) for _ in range(2))
    average.load_state_dict(network.state_dict())
    optimizers = OPTIMIZERS[config.optimizer](network, config.learning_rate)
    parts: checkpoint.Parts = {"net": network, "average": average, **optimizers}
    start = this.restore(parts)
    # The seed includes `start`, the steps so far: a resumed run does not repeat its first games.
    generator = np.random.default_rng([config.seed, start])
    losses = (_rounds if config.device == "cpu" else _rounds_on_device)(this, backup, generator)
    latest: dict[str, float] = {}

    def learn_in_round(steps: int) -> int:
        """Label the current positions, play the next plies, and learn; return the number of positions."""
        rate = config.learning_rate * max(1 - this.done(steps + config.num_envs), 0.01)
        for loss in losses(network, average):
            latest.update(gradient_step(loss, network, average, optimizers, rate=rate, share=config.average))
        return config.num_envs

    def kept(steps: int) -> tuple[NetworkInfo, dict[str, np.ndarray]]:
        """Return the average of the networks as arguments for `Network` and `save_network`."""
        return replace(backup.info, steps=steps), average.tensors()

    def agent(steps: int) -> Agent:
        """Return the agent for measurements."""
        trained = Network(*kept(steps))
        return Lookahead(trained, worlds=config.worlds) if config.worlds else NetworkAgent(trained)

    learner = Learner(
        one_round=learn_in_round,
        write=lambda path, steps: save_network(path, *kept(steps)),
        agent=agent,
        parts=parts,
        plays_as=f"lookahead:{config.out},worlds={config.worlds}" if config.worlds else f"network:{config.out}",
        numbers=latest,
    )
    return train_rounds(this, learner)
