"""Measure the regret of agents on a few layouts of the dice games' 4x4 boards, which are solved exactly.

    python -m training.layouts big_tic_tac_dice --agents trained:big_tic_tac_dice greedy --layouts 10 --games 40

`ttt regret` refuses these boards, because solving one layout takes some seconds and 0.85 GB. This script deals a few
layouts, and each agent plays many rounds on each layout, in both seats. The 95 % interval treats layouts as independent
samples.
"""

import sys
from dataclasses import dataclass
from typing import Annotated

import tyro

import ttt_envs
from ttt_envs import agents
from ttt_envs.cli import shell
from ttt_envs.evaluation.regret import over_layouts, regrets
from ttt_envs.evaluation.reports.intervals import shown


@dataclass(frozen=True)
class Config:
    """Settings."""

    game: Annotated[tyro.conf.Positional[str], tyro.conf.arg(metavar="GAME")]
    """Id of one of the dice games."""
    agents: tuple[str, ...]
    """Agents to measure; each plays both seats."""
    layouts: int = 10
    """Layouts to deal and solve."""
    games: int = 40
    """Rounds that each agent plays on each layout."""
    seed: int = 1
    """Seed of the layouts and the dice."""


def main() -> None:
    """Run the command line."""
    config = tyro.cli(Config, prog="python -m training.layouts", description=__doc__)
    game = ttt_envs.load(config.game, rounds="single")
    losses = regrets(game, [agents.load(each) for each in config.agents], config.layouts, config.games, config.seed)
    for name, row in zip(config.agents, losses, strict=True):
        print(f"{name}: {shown(*over_layouts(row))}")


if __name__ == "__main__":
    sys.exit(shell.run(main))
