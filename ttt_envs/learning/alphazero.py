"""Learn policy and value from the agent's own tree searches: Gumbel AlphaZero.

Many games run in lockstep. In each position a Gumbel tree search with few simulations, guided by the average of the
latest networks, gives an improved policy, a value for each player, and the action that is played. The policy head
learns the improved policy. The value head learns the TD(lambda) return, which is computed from the search's values and
the final reward. The first plies of a long game are learned from before it ends. Some games start with random plies,
for variety.

The method needs perfect information and two to four players who move one at a time; chance is allowed.
network.safetensors contains the average of the latest networks; agents.load("guided:runs/x") plays with a search,
agents.load("network:runs/x") without.

Sources: Silver et al., "A general reinforcement learning algorithm that masters chess, shogi, and Go through
self-play", Science 362, 2018; Danihelka et al., "Policy improvement by planning with Gumbel", ICLR 2022; Sutton and
Barto, "Reinforcement learning: an introduction", 2018, section 12.1 (the lambda-return).
"""

from dataclasses import dataclass, replace
from pathlib import Path
from typing import Annotated, ClassVar

import numpy as np
import torch
from torch.nn import functional

from ttt_envs.agents import Agent
from ttt_envs.agents.base import uniform_actions
from ttt_envs.agents.networks import Network, NetworkInfo, as_seen, for_all_players, save_network, values_of
from ttt_envs.agents.search.guided import Guided
from ttt_envs.agents.search.gumbel import (
    MOST_SIMULATIONS,
    GumbelSearch,
    ProvingSearch,
    check_gumbel,
    check_proofs,
)
from ttt_envs.agents.search.gumbel_trees import SearchResult
from ttt_envs.core.batch import Batch
from ttt_envs.core.game import Game
from ttt_envs.core.options import choice
from ttt_envs.learning.optimizers import OPTIMIZERS
from ttt_envs.learning.runs import checkpoint
from ttt_envs.learning.runs.loop import Buffer, Learner, Rows, gradient_step, permutations_of, train_rounds
from ttt_envs.learning.runs.settings import Result, Settings, Share, Steps, Within, check_sizes
from ttt_envs.learning.torch_networks import TorchNetwork
from ttt_envs.registry import parse_options

NAME = "alphazero"

#: Simulations of each search in measurements.
EVAL_SIMULATIONS = 32

# The number of actions that a search considers at first, and the weight of the search's values in the improved policy;
# see the agent `guided`.
_CONSIDERED, _C_SCALE = 16, 0.3

#: Lambda of the value targets: 1 learns from the ends of games, 0 from the search's value of the next position.
TD_LAMBDA = 0.9

#: The most plies stored per game. When a game reaches this number, the first half of its plies become training data:
#: the search's value of the last ply stands in for the game's result.
HORIZON = 64

#: A game starts with random plies with the probability OPENING_SHARE; their number is drawn uniformly from 0 to
#: OPENING_PLIES.
OPENING_PLIES, OPENING_SHARE = 8, 0.6

# Weight decay of the parameters that Adam optimises.
_WEIGHT_DECAY = 1e-4

# The buffer's entry for an illegal action, instead of a probability.
_ILLEGAL = -1.0


@dataclass(frozen=True, kw_only=True)
class Config(Settings):
    """Settings of a run of AlphaZero; the defaults are tuned for one core."""

    UNIT: ClassVar[str] = "positions"

    out: Path = Path("runs/alphazero")
    """Run folder."""
    num_envs: Annotated[int, Within(1, 2**20)] = 512
    """Games that run side by side; a round takes one position of each."""
    also: tuple[str, ...] = ()
    """Options, such as size=3, with which half of the games are played instead; the network learns both."""
    simulations: Annotated[int, Within(1, MOST_SIMULATIONS)] = 16
    """Simulations of each search that is learned from."""
    proofs: bool = False
    """Keep wins and losses that searches prove, in training and in measurements; see `proofs` of the agent `guided`."""
    buffer: Annotated[int, Within(1, 10**9)] = 600_000
    """Latest positions that are learned from."""
    warm_up: Annotated[int, Within(1, 10**9)] = 20_000
    """Positions to collect before learning begins."""
    batch: Annotated[int, Within(1, 2**24)] = 1024
    """Positions in a gradient step."""
    reuse: Annotated[float, Within(0.0, 1e6)] = 2.0
    """Times that each position is learned from, on average."""
    learning_rate: Annotated[float, Within(0.0, 1e6)] = 2e-3
    """Learning rate, decreased linearly over --steps to a hundredth."""
    optimizer: str = "adam"
    """adam or muon; a step of muon takes longer, and learns more where the network is large."""
    average: Share = 0.005
    """Share by which the average of the networks, which plays, moves at each gradient step."""
    hidden: tuple[int, ...] = (256, 256)
    """Sizes of the hidden layers."""
    shared: tuple[int, ...] = ()
    """Sizes of layers that look at each of the like parts of the board by the same weights, before the hidden layers;
    for a game that has such parts."""
    residual: bool = True
    """Add the input of a hidden layer to its output where both have the same size."""
    save_every: Steps = 100_000
    """Positions between two updates of the run folder."""

    def check(self) -> None:
        """Raise ValueError or TypeError, naming the setting, for an invalid value."""
        super().check()
        if self.buffer < (least := self.num_envs * HORIZON):
            raise ValueError(f"buffer must be at least num_envs * {HORIZON}, {least}, not {self.buffer}")
        check_sizes(hidden=self.hidden, **({"shared": self.shared} if self.shared else {}))
        choice("optimizer", self.optimizer, tuple(OPTIMIZERS))
        if self.also and self.num_envs < 2:
            raise ValueError("num_envs must be at least 2 with also, not 1")

    def games(self) -> list[Game]:
        """Return the game and, if `also` is set, the game with those options, too; raise the errors of `load`."""
        game = self.load()
        if not self.also:
            return [game]
        other = replace(self, options={**self.options, **parse_options(self.game, self.also)}).load()
        if (other.observation_size, other.num_actions) != (game.observation_size, game.num_actions):
            raise ValueError(f"also: one network cannot learn {game} and {other}, whose observations or actions differ")
        return [game, other]


class SelfPlayGames:
    """Games in lockstep, some of which start with random plies; stores their plies until they become training data."""

    def __init__(self, game: Game, n: int, generator: np.random.Generator) -> None:
        horizon = HORIZON
        self.game, self.generator = game, generator
        self.batch = Batch(game, n, seed=int(generator.integers(2**63)))
        self.observations = np.zeros((n, horizon, game.observation_size), np.int8)
        self.policies = np.zeros((n, horizon, game.num_actions), np.float16)
        self.values = np.zeros((n, horizon, game.num_players), np.float32)
        self.movers = np.zeros((n, horizon), np.int64)
        self.lengths = np.zeros(n, np.int64)
        self._open(np.arange(n))

    def play(self, searched: SearchResult) -> Rows:
        """Store the search results of the present positions, and play the next plies.

        Returns: The plies that become training data because their game is over or has `HORIZON` stored plies, as arrays
        by name: observations int8 (k, size); policies float16 (k, num_actions), `_ILLEGAL` for illegal actions; values
        float32 (k, `values_of(game)`), the lambda-returns.
        """
        batch, rows, at = self.batch, np.arange(self.batch.n), self.lengths
        self.observations[rows, at] = batch.observations()
        self.policies[rows, at] = np.where(batch.masks(), searched.policy, _ILLEGAL)
        self.values[rows, at] = searched.values
        self.movers[rows, at] = batch.to_move
        self.lengths += 1
        batch.step(searched.actions, check=False)
        over = np.flatnonzero(batch.done)
        full = np.flatnonzero(~batch.done & (self.lengths == HORIZON))
        parts = [self._take(over, self.lengths[over], batch.rewards[over])]
        self.lengths[over] = 0
        self._open(over)
        # The second half of the plies stays stored: their returns become more exact as the game goes on.
        half = HORIZON // 2
        parts.append(self._take(full, np.full(len(full), half), self.values[full, -1], self.lengths[full] - 1))
        for kept in (self.observations, self.policies, self.values, self.movers):
            kept[full, :-half] = kept[full, half:]
        self.lengths[full] -= half
        return {name: np.concatenate([part[name] for part in parts]) for name in parts[0]}

    def _take(self, rows: np.ndarray, counts: np.ndarray, last: np.ndarray, lengths: np.ndarray | None = None) -> Rows:
        """Return as training data the first counts[i] stored plies of each game rows[i], with their lambda-returns."""
        lengths = counts if lengths is None else lengths
        returns = lambda_returns(self.values[rows], lengths, last, TD_LAMBDA)
        game, ply = np.nonzero(np.arange(HORIZON) < counts[:, None])
        seen = as_seen(self.game, returns[game, ply], self.movers[rows[game], ply])
        return {
            "observations": self.observations[rows[game], ply],
            "policies": self.policies[rows[game], ply],
            "values": seen,
        }

    def _open(self, rows: np.ndarray) -> None:
        generator, batch = self.generator, self.batch
        plies = generator.integers(0, OPENING_PLIES + 1, len(rows))
        plies[generator.random(len(rows)) >= OPENING_SHARE] = 0
        if len(rows):
            batch.reset_rows(rows)
        for ply in range(plies.max(initial=0)):
            some = rows[(plies > ply) & ~batch.states["done"][rows]]
            seeds = generator.integers(0, 2**64, len(some), np.uint64)
            batch.step(uniform_actions(batch.view(rows=some).masks, seeds), some, check=False)
        over = rows[batch.states["done"][rows]]
        if len(over):  # nothing is left to be played: from the start
            batch.reset_rows(over)


class Searcher:
    """Self-play games, and the tree search that chooses their moves."""

    def __init__(self, game: Game, n: int, config: Config, generator: np.random.Generator) -> None:
        """Create `n` games and a search with the settings of `config`."""
        self.games, self.generator, self.simulations = SelfPlayGames(game, n, generator), generator, config.simulations
        kind = ProvingSearch if config.proofs else GumbelSearch
        self._search = kind(game, n, self.simulations, _CONSIDERED, c_scale=_C_SCALE)

    def play(self, network: TorchNetwork) -> Rows:
        """Search in each game's position with `network`, play the chosen actions, and return the new training data."""
        games, generator = self.games, self.generator
        game, n = games.game, games.batch.n

        def evaluate(observations: np.ndarray, masks: np.ndarray, players: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
            with torch.inference_mode():
                outputs = network(torch.from_numpy(observations).float())
                return outputs["policy"].numpy(), for_all_players(game, outputs["value"].numpy(), players)

        draws = generator.integers(0, 2**64, n, np.uint64)
        noise = generator.gumbel(size=(n, game.num_actions)).astype(np.float32)
        return games.play(self._search.search(games.batch.states, draws, evaluate, noise, self.simulations))


def lambda_returns(values: np.ndarray, lengths: np.ndarray, last: np.ndarray, td_lambda: float) -> np.ndarray:
    """Return the lambda-returns of plies, the targets of the value head.

    Args:
        values: float (n, plies, players), values of positions.
        lengths: int (n,), number of valid plies in each row.
        last: float (n, players), the reward if the game ended with the last valid ply, otherwise the value of the
            position after it.
        td_lambda: weight of the next position's return in a return; the next position's value has the weight 1 -
            td_lambda.

    Returns: float32 (n, plies, players); entries from `lengths` on have no meaning.
    """
    returns = np.zeros(values.shape, np.float32)
    following = last.astype(np.float32)
    for ply in range(values.shape[1] - 1, -1, -1):
        returns[:, ply] = following
        mixed = td_lambda * following + (1 - td_lambda) * values[:, ply]
        following = np.where((ply < lengths)[:, None], mixed, following)
    return returns


def policy_loss(logits: torch.Tensor, target: torch.Tensor) -> torch.Tensor:
    """Return the mean cross entropy of policies, logits (n, num_actions), and `target`, `_ILLEGAL` if illegal."""
    legal = target != _ILLEGAL
    log_policy = functional.log_softmax(logits.masked_fill(~legal, -torch.inf), dim=1)
    return -(target * log_policy)[legal].sum() / len(target)


def train(config: Config) -> Result:
    """Train, until `config.steps` or an interrupt (Ctrl-C). Sets torch's seed and number of threads (one).

    Raises the errors of `checkpoint.opened`, and ValueError for a game that the method cannot play.
    """
    with checkpoint.opened(config, NAME) as this:
        return _train(this, config)


def _train(this: checkpoint.Run, config: Config) -> Result:
    games, game = config.games(), this.game
    for each in games:
        check_gumbel(each, NAME)
        if config.proofs:
            check_proofs(each, NAME)
    if config.shared and not game.parts:
        raise ValueError(f"shared: {game} has no like parts of the board")
    torch.set_num_threads(1)  # small networks get slower with more
    torch.manual_seed(config.seed)
    sizes = game.observation_size, game.num_actions, config.hidden
    info = NetworkInfo(game.id, dict(game.options), "policy+value", *sizes, 0)
    info = replace(info, residual=config.residual, squash=True, values=values_of(game))
    info = replace(info, also=tuple(dict(other.options) for other in games[1:]))
    info = replace(info, parts=game.parts if config.shared else (), shared=config.shared)
    network, average = TorchNetwork(info), TorchNetwork(info)
    average.load_state_dict(network.state_dict())
    optimizers = OPTIMIZERS[config.optimizer](network, config.learning_rate, _WEIGHT_DECAY)
    parts: checkpoint.Parts = {"net": network, "average": average, **optimizers}
    start = this.restore(parts)
    # The seed includes `start`, the steps so far: a resumed run does not repeat its first games.
    generator = np.random.default_rng([config.seed, start])
    shares = np.array_split(np.arange(config.num_envs), len(games))
    searchers = [Searcher(each, len(share), config, generator) for each, share in zip(games, shares, strict=True)]
    buffer, permutations, owed = Buffer(config.buffer), permutations_of(game), 0.0
    latest: dict[str, float] = {}

    def one_round(steps: int) -> int:
        """Search in the current positions, play the next plies, and learn; return the number of positions."""
        nonlocal owed
        done = this.done(steps + config.num_envs)
        for rows in [searcher.play(average) for searcher in searchers]:
            buffer.add(rows)
            owed += config.reuse * len(rows["values"])
        while buffer.added >= this.warm_up and owed >= config.batch:
            learn(done)
            owed -= config.batch
        return config.num_envs

    def learn(done: float) -> None:
        """Make one gradient step on randomly transformed positions; `done`: the finished share of the training."""
        rows = buffer.sample(config.batch, generator)
        features, actions = permutations[generator.integers(len(permutations))]
        target = torch.from_numpy(rows["policies"][:, actions]).float()
        outputs = network(torch.from_numpy(rows["observations"][:, features]).float())
        loss = policy_loss(outputs["policy"], target)
        loss += functional.mse_loss(outputs["value"], torch.from_numpy(rows["values"]))
        rate = config.learning_rate * max(1 - done, 0.01)
        latest.update(gradient_step(loss, network, average, optimizers, rate=rate, share=config.average))

    def kept(steps: int) -> tuple[NetworkInfo, dict[str, np.ndarray]]:
        """Return the average of the networks as arguments for `Network` and `save_network`."""
        return replace(info, steps=steps), average.tensors()

    def agent(steps: int) -> Agent:
        """Return the agent for measurements."""
        network = Network(*kept(steps))
        return Guided(network, EVAL_SIMULATIONS, considered=_CONSIDERED, proofs=config.proofs)

    learner = Learner(
        one_round=one_round,
        write=lambda path, steps: save_network(path, *kept(steps)),
        agent=agent,
        parts=parts,
        plays_as=f"guided:{config.out},simulations={EVAL_SIMULATIONS}{',proofs=true' if config.proofs else ''}",
        numbers=latest,
    )
    return train_rounds(this, learner)
