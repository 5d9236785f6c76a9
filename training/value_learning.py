"""Learn the values of actions by full-width sampled temporal differences.

    python -m training.value_learning tic_tac_match --steps 2000000 --out runs/x

The network Q(observation, action) estimates what each action is worth to the player to move. In every position that is
met, all legal actions are played once by the rules, chance and hidden information drawn anew; an action is worth the
reward if it ends the game, and otherwise plus or minus the best Q of the position that follows, as its player sees it.
The network is regressed on all of these at once. There is no policy gradient and no variance from the choice of an
action: the rules are exact and fast, and this uses them.

For games of two sides that move one at a time, with any chance and hidden information. Where optimal play is mixed, the
greedy policy of such values is no equilibrium; a temperature at play softens it. The run folder holds:

    config.json            the settings, the command, versions of libraries, wall time so far
    network.safetensors    the average of the latest networks: agents.load("network:runs/x"), "lookahead:runs/x"
    resume.safetensors     what --resume needs: networks, the optimiser, the number of positions
    curve.csv, .png        score against the evaluation agents
    regret.csv, .png       loss of its decisions against best play, with --regret-games
    exploitability.csv, .png   what a best response wins against it, with --exploitability-every
    log.jsonl, tensorboard/    losses and metrics over steps and wall time

Sources: Sutton and Barto, "Reinforcement learning: an introduction", 2018, section 8.5 (expected updates); van Seijen
et al., "A theoretical and empirical analysis of expected Sarsa", 2009.
"""

import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import ClassVar

import numpy as np
import torch
from torch.nn import functional

import ttt_envs
from training import checkpoint, seeds
from training.loop import Buffer, gradient_step, train_rounds, turns_of
from training.nets import Net
from training.settings import Result, Settings, check_sizes
from ttt_envs.agents import Agent
from ttt_envs.agents.full_width import action_values, check_full_width
from ttt_envs.agents.network import Lookahead, NetworkAgent
from ttt_envs.agents.networks import FILE, Network, NetworkInfo, for_all_players, save_network
from ttt_envs.core.files import locked_folder

NAME = "training.value_learning"


@dataclass(frozen=True, kw_only=True)
class Config(Settings):
    """Settings of a run of value learning; the defaults are tuned for one core."""

    UNIT: ClassVar[str] = "positions"
    RANGES: ClassVar[Mapping[str, tuple[float, float]]] = {
        **Settings.RANGES,
        "num_envs": (1, 2**20),
        "buffer": (1, 10**9),
        "warm_up": (1, 10**9),
        "batch": (1, 2**24),
        "updates": (1, 10**6),
        "learning_rate": (0.0, 1e6),
        "exploration": (0.0, 1.0),
        "gamma": (0.0, 1.0),
        "average": (0.0, 1.0),
        "worlds": (0, 10**6),
        "save_every": (1, 10**15),
    }

    out: Path = Path("runs/value")
    """Run folder."""
    num_envs: int = 512
    """Games that run side by side; each round labels a position of each."""
    buffer: int = 200_000
    """Latest positions that are learned from."""
    warm_up: int = 10_000
    """Positions to collect before learning begins."""
    batch: int = 1024
    """Positions in a gradient step."""
    updates: int = 1
    """Gradient steps a round."""
    learning_rate: float = 2e-3
    """Learning rate of Adam, decreased linearly over --steps to a hundredth."""
    exploration: float = 0.1
    """Share of random actions in the games that are learned from."""
    gamma: float = 1.0
    """Discount factor for each ply."""
    average: float = 0.005
    """Share by which the average of the networks, which plays and makes the targets, moves at each gradient step."""
    hidden: tuple[int, ...] = (256, 256)
    """Sizes of the hidden layers."""
    worlds: int = 0
    """Measure the network with one ply of search over so many worlds; 0 measures it by itself."""
    save_every: int = 100_000
    """Positions between two updates of the run folder."""

    def check(self) -> None:
        """Raise ValueError or TypeError, naming the setting, for a value that makes no sense."""
        super().check()
        if self.buffer < self.num_envs:
            raise ValueError(f"buffer must be at least num_envs, {self.num_envs}, not {self.buffer}")
        check_sizes(hidden=self.hidden)


def train(config: Config) -> Result:
    """Train, until `config.steps` or an interrupt (Ctrl-C). Sets torch's seed and number of threads (one).

    Raises:
        ValueError, TypeError: settings that make no sense or are not those of the run to be resumed; an unknown game,
            option or agent; a game or an agent that does not fit.
        FileExistsError: the folder holds a run, and `resume` is not set.
        FileNotFoundError, BadTensorFile: there is nothing to resume, or it is damaged.
        InUse: another process is writing the folder.
        OSError: a file cannot be written; what was saved before can be resumed.
    """
    config.check()
    with locked_folder(config.out):
        return _train(config)


def _train(config: Config) -> Result:
    """Train in a folder that is locked."""
    this = checkpoint.Run(config, NAME)
    game, folder = config.load(), config.out
    check_full_width(game, NAME)
    if len(game.teams) != 2:
        raise ValueError(f"{NAME} needs a game of two sides; {game!r} does not fit")
    torch.set_num_threads(1)  # small networks get slower with more
    torch.manual_seed(config.seed)
    sizes = game.observation_size, game.num_actions, config.hidden
    info = NetworkInfo(game.id, dict(game.options), "q", *sizes, 0)
    net, average = Net(info), Net(info)
    average.load_state_dict(net.state_dict())
    optimizer = torch.optim.Adam(net.parameters(), lr=config.learning_rate)
    parts: checkpoint.Parts = {"net": net, "average": average, "optimizer": optimizer}
    start = checkpoint.restore(folder, parts) if config.resume else 0
    # Seeds depend on the start, so that a resumed run does not replay the games of its beginning.
    generator = np.random.default_rng([config.seed, start])
    batch = ttt_envs.Batch(game, config.num_envs, seed=int(generator.integers(2**63)), auto_reset=True)
    buffer = Buffer(config.buffer, (np.int8, game.observation_size), (np.float32, game.num_actions))
    turns, latest = turns_of(game), dict[str, float]()

    def q_values(observations: np.ndarray) -> np.ndarray:
        with torch.inference_mode():
            return np.asarray(average(torch.from_numpy(observations).float())["q"].numpy())

    def worth(observations: np.ndarray, masks: np.ndarray, players: np.ndarray) -> np.ndarray:
        best = np.where(masks, q_values(observations), -np.inf).max(axis=1, keepdims=True)
        return for_all_players(game, config.gamma * best, players)

    def one_round(steps: int) -> int:
        """Label the positions that the games have come to, play on, and learn; returns how many they are."""
        view = batch.view()
        masks, observations = view.masks, view.observations
        seeds = generator.integers(0, 2**64, config.num_envs, np.uint64)
        buffer.add(observations, action_values(game, batch.states, masks, seeds, worth))
        best = np.where(masks, q_values(observations), -np.inf).argmax(axis=1)
        at_random = np.where(masks, generator.random(masks.shape), -1).argmax(axis=1)
        batch.step(np.where(generator.random(config.num_envs) < config.exploration, at_random, best))
        for _ in range(config.updates if buffer.added >= config.warm_up else 0):
            learn((steps + config.num_envs) / config.steps)
        return config.num_envs

    def learn(done: float) -> None:
        """One gradient step, on positions turned by a random symmetry; `done`: share of the training that is over."""
        found, values = buffer.sample(config.batch, generator)
        features, actions = turns[generator.integers(len(turns))]
        target = torch.from_numpy(values[:, actions])
        legal = ~target.isnan()
        loss = functional.mse_loss(net(torch.from_numpy(found[:, features]).float())["q"][legal], target[legal])
        rate = config.learning_rate * max(1 - done, 0.01)
        latest.update(gradient_step(loss, net, average, optimizer, rate=rate, share=config.average))

    def network(steps: int) -> tuple[NetworkInfo, dict[str, np.ndarray]]:
        """The average of the networks, as `Network` and `save_network` take it."""
        return replace(info, steps=steps), average.tensors()

    def save(steps: int) -> None:
        """Bring the folder up to date."""
        this.write_config()
        save_network(folder / FILE, *network(steps))
        checkpoint.save(folder, steps, parts)  # last: a resumed run makes again whatever is missing before it

    def agent(steps: int) -> Agent:
        """The agent that is measured."""
        found = Network(*network(steps))
        return Lookahead(found, worlds=config.worlds) if config.worlds else NetworkAgent(found)

    return train_rounds(
        this, game, start, one_round=one_round, save=save, agent=agent, plays_as="lookahead", numbers=lambda: latest
    )


def main(arguments: Sequence[str] | None = None) -> int:
    """The command line; returns the exit status."""
    return seeds.main(Config, train, NAME, __doc__, arguments)


if __name__ == "__main__":
    sys.exit(main())
