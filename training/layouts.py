"""Regret of agents on single layouts of the dice games' 4x4 board, each solved exactly.

    python -m training.layouts big_tic_tac_dice --agents trained:big_tic_tac_dice greedy --layouts 10 --games 40

`ttt regret` refuses these boards: solving a layout takes some seconds and 0.85 GB. Here few layouts are dealt, and each
agent plays many rounds on each, in both seats. The interval (95 %) takes layouts for independent: by Student's t over
the mean of each.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Annotated, Any

import numpy as np
import tyro

import ttt_envs
from ttt_envs import agents
from ttt_envs.agents import Agent
from ttt_envs.core.game import Game
from ttt_envs.core.options import within
from ttt_envs.evaluation.reports.intervals import t_interval


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
    """Rounds that an agent plays on each."""
    seed: int = 1
    """Seed of the layouts and the dice."""


def regrets(game: Game, given: Sequence[Agent], layouts: int, games: int = 40, seed: int = 1) -> np.ndarray:
    """The regret of a side in a round: float64 (agents, layouts), the mean over the rounds and both seats.

    Args:
        game: one of the dice games with rounds="single", on the board of 3x3 or 4x4.
        given: the agents.
        layouts: how many are dealt and solved.
        games: rounds on each.
        seed: of the first layout and its dice; the next ones follow.

    Raises ValueError for another game, an agent that cannot play it, or a number that is not positive.
    """
    layout: Any = game.solve_commands.get("layout")
    if layout is None:
        raise ValueError(f"the rounds of this game have no layouts to solve: {game!r}")
    within(1, 10**6, layouts=layouts, games=games)
    for agent in given:
        agent.check(game)
    players = [agent.act for agent in given]
    return np.stack([layout(seed=seed + k).regrets(game, players, games) for k in range(layouts)], axis=1)


def main() -> None:
    """Command line."""
    config = tyro.cli(Config, prog="python -m training.layouts", description=__doc__)
    game = ttt_envs.load(config.game, rounds="single")
    losses = regrets(game, [agents.load(each) for each in config.agents], config.layouts, config.games, config.seed)
    for name, row in zip(config.agents, losses, strict=True):
        mean, half_width = t_interval(list(row))
        print(f"{name}: {mean:.4f} ± {half_width:.4f}")


if __name__ == "__main__":
    main()
