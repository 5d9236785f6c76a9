"""A network trained on a set of solved positions, and how much it loses: the baseline of the data set.

    ttt dataset --sets dice-round --out runs/solved
    python -m training.from_dataset runs/solved/dice-round --seeds 3 --out runs/baseline

A perceptron learns the values of all actions by regression (a "q" network, which plays the best one), or where best
play is mixed, the policy by cross-entropy. Each batch is turned by one of the board's symmetries. The epoch counts that
loses least on the validation split. What its answers lose on the test split is the mean regret of a decision; where
the game's oracle knows whole games, the regret in games is measured, too. `network:OUT/seed-0` plays the result.
"""

import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, NamedTuple

import numpy as np
import torch
import tyro
from rich.console import Console

from ttt_envs.agents.base import softmax_rows
from ttt_envs.agents.network_agents import NetworkAgent
from ttt_envs.agents.networks import FILE, Network, NetworkInfo, save_network
from ttt_envs.cli import shell
from ttt_envs.core.game import Game
from ttt_envs.core.options import MOST, within
from ttt_envs.evaluation.best_play import measure
from ttt_envs.evaluation.judging import knows_most
from ttt_envs.evaluation.reports.intervals import t_interval
from ttt_envs.evaluation.reports.progress import Work
from ttt_envs.evaluation.reports.report import Table
from ttt_envs.evaluation.solved.dataset import SPLITS, set_of
from ttt_envs.learning.torch_networks import TorchNetwork
from ttt_envs.storage.extras import require
from ttt_envs.storage.files import new_folder


@dataclass(frozen=True)
class Config:
    """Train a network on a set of solved positions, and measure what it loses."""

    data: Annotated[tyro.conf.Positional[Path], tyro.conf.arg(metavar="FOLDER")]
    """Folder of a set, with train.parquet, validation.parquet and test.parquet."""
    seeds: int = 3
    """Number of training seeds."""
    epochs: int = 40
    """Passes over the training split."""
    batch: int = 256
    """Positions in a gradient step."""
    learning_rate: float = 1e-3
    """Learning rate at the beginning; it falls linearly to 0."""
    hidden: tuple[int, ...] = (256, 256)
    """Sizes of the hidden layers."""
    games: int = 500
    """Games in which the regret is measured, where the oracle knows whole games; 0 for none."""
    out: Path | None = None
    """Folder for the networks."""


class Split(NamedTuple):
    """The columns of a split: float32 (n, size), bool (n, actions), and float32 (n, actions) twice."""

    observations: np.ndarray
    masks: np.ndarray
    values: np.ndarray
    policies: np.ndarray

    @property
    def loss(self) -> np.ndarray:
        """float64 (n, actions): what each action loses against the best one; nan where that is not known."""
        return np.asarray(np.nanmax(self.values, axis=1, keepdims=True) - self.values, np.float64)


def read(folder: Path) -> tuple[Game, dict[str, Split]]:
    """The game of a set, and its splits; raises FileNotFoundError for a folder that is none."""
    require("data", "pyarrow")
    import pyarrow.parquet as pq

    found = {}
    for name in SPLITS:
        table = pq.read_table(folder / f"{name}.parquet")
        columns = (
            np.stack(table.column(column).to_numpy())
            for column in ("observation", "action_mask", "action_values", "policy")
        )
        observations, masks, values, policies = columns
        found[name] = Split(observations.astype(np.float32), masks.astype(np.bool_), values, policies)
    return set_of(table.schema.metadata[b"set"].decode()).load(), found


def lost(played: np.ndarray, split: Split) -> float:
    """The mean loss of a policy, float64 (n, actions), where all that it plays is known."""
    loss = np.where(played > 0, played * split.loss, 0.0).sum(axis=1)
    return float(np.nanmean(loss))


def train(game: Game, splits: dict[str, Split], config: Config, seed: int, mixed: bool) -> Network:
    """One network; `mixed`: it learns the policy, and else the values of the actions."""
    torch.manual_seed(seed)
    generator = np.random.default_rng(seed)
    data = splits["train"]
    kind = "policy" if mixed else "q"
    features, actions = game.observation_size, game.num_actions
    info = NetworkInfo(game.id, dict(game.options), kind, features, actions, tuple(config.hidden), len(data.masks))
    network = TorchNetwork(info)
    steps = config.epochs * -(-len(data.masks) // config.batch)
    optimizer = torch.optim.Adam(network.parameters(), config.learning_rate)
    schedule = torch.optim.lr_scheduler.LambdaLR(optimizer, lambda step: max(0.0, 1 - step / steps))
    images = [(np.arange(features), np.arange(actions)), *((each.features, each.actions) for each in game.symmetries)]
    best, least = network.tensors(), np.inf
    for _ in range(config.epochs):
        order = generator.permutation(len(data.masks))
        for first in range(0, len(order), config.batch):
            rows = order[first : first + config.batch]
            by_feature, by_action = images[generator.integers(len(images))]
            seen, masks, values, policies = (
                torch.from_numpy(np.ascontiguousarray(each[rows][:, by]))
                for each, by in zip(data, (by_feature, by_action, by_action, by_action), strict=True)
            )
            given = network(seen)[kind]
            if mixed:
                logits = torch.where(masks, given, -1e9)
                loss = -(policies * torch.log_softmax(logits, dim=1)).sum(dim=1).mean()
            else:
                known = ~torch.isnan(values)
                loss = torch.nn.functional.mse_loss(given[known], values[known])
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            schedule.step()
        now = lost(answers(network, splits["validation"]), splits["validation"])
        if now < least:
            best, least = network.tensors(), now
    return Network(info, best)


def answers(network: TorchNetwork | Network, split: Split) -> np.ndarray:
    """The policy of a network, float64 (n, actions): its best actions by value, or its probabilities."""
    kind = network.info.kind
    if isinstance(network, TorchNetwork):
        with torch.no_grad():
            given = network(torch.from_numpy(split.observations))[kind].numpy()
    else:
        given = network(split.observations)[kind]
    return softmax_rows(given, split.masks, float(kind == "policy"))


def main(words: list[str] | None = None) -> None:
    """Train, measure and print."""
    config = tyro.cli(Config, args=words, prog="python -m training.from_dataset")
    within(1, MOST, seeds=config.seeds, epochs=config.epochs, batch=config.batch)
    torch.set_num_threads(1)
    game, splits = read(config.data)
    mixed = game.simultaneous or game.hidden_information
    test = splits["test"]
    chance = lost(test.masks / test.masks.sum(axis=1, keepdims=True), test)
    rows: list[float] = []
    regrets: list[float] = []
    in_games = config.games > 0 and not mixed and knows_most(game)
    with new_folder(config.out) as folder, Work(rows, "seeds", float(config.seeds)) as work:
        for seed in range(config.seeds):
            work.update(seed, f"seed {seed}")
            network = train(game, splits, config, seed, mixed)
            rows.append(lost(answers(network, test), test))
            if in_games:
                regrets.append(measure(game, NetworkAgent(network), games=config.games, seed=seed).per_game)
            if folder is not None:
                save_network(folder / f"seed-{seed}" / FILE, network.info, network.tensors)
    shown = [["network", *_with_interval(rows)], ["random", f"{chance:.4f}", ""]]
    note = f"What a decision loses on average in {len(test.masks)} positions of the test split, in units of reward."
    console = Console()
    console.print(Table(f"{game.title}: {config.data.name}", ["agent", "regret", "seeds"], shown, note))
    if regrets:
        console.print(f"regret a game, in {config.games} games: {_with_interval(regrets)[0]}", highlight=False)


def _with_interval(values: list[float]) -> list[str]:
    """The mean of some seeds with its 95 % interval, and all of them."""
    mean, half = t_interval(values)
    return [f"{mean:.4f}" + (f" ± {half:.4f}" if len(values) > 1 else ""), ", ".join(f"{each:.4f}" for each in values)]


if __name__ == "__main__":
    sys.exit(shell.run(main))
