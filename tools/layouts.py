"""Regret of agents on single layouts of the dice games' 4x4 board, each solved exactly.

    python -m tools.layouts big_tic_tac_dice --agents trained:big_tic_tac_dice greedy --layouts 10 --games 40

`ttt regret` refuses these boards: solving a layout takes some seconds and 0.85 GB. Here few layouts are dealt, and each
agent plays many rounds on each, in both seats. The interval (95 %) takes layouts for independent: by Student's t over
the mean of each.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Annotated

import numpy as np
import tyro

import ttt_envs
from training.intervals import t_interval
from ttt_envs import agents
from ttt_envs.agents import Agent
from ttt_envs.core.game import Game
from ttt_envs.core.options import within
from ttt_envs.games.tic_tac_dice import rules
from ttt_envs.games.tic_tac_dice.solver import DiceOracle, deal_layouts


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
        seed: of the layouts and the dice.

    Raises ValueError for another game, an agent that cannot play it, or a number that is not positive.
    """
    if game.options.get("rounds") != "single" or "win_length" not in game.options:
        raise ValueError(f"layouts are solved for single rounds of the dice games, not for {game!r}")
    within(1, 10**6, layouts=layouts, games=games)
    for agent in given:
        agent.check(game)
    oracle = DiceOracle(game.options["size"], game.options["win_length"])
    found = np.zeros((len(given), layouts))
    for k, ranks in enumerate(deal_layouts(layouts, game.options["size"] ** 2, seed)):
        for row, agent in zip(found, given, strict=True):
            row[k] = _regret(game, agent, oracle, ranks, games, seed)
    return found


def _regret(game: Game, agent: Agent, oracle: DiceOracle, ranks: np.ndarray, games: int, seed: int) -> float:
    batch = ttt_envs.Batch(game, games, seed=seed)
    for state in batch.states:
        state["rank"] = ranks
        rules.roll(state, rules.unclaimed_ranks(state))
    lost = 0.0
    while len(rows := np.flatnonzero(~batch.states["done"])):
        values = oracle.action_values(batch.states[rows], batch.to_move[rows])
        actions = agent.act(batch.view(rows=rows))
        lost += float((np.nanmax(values, axis=1) - values[np.arange(len(rows)), actions]).sum())
        batch.step_rows(rows, actions)
    return lost / games / game.num_players


def main() -> None:
    """Command line."""
    config = tyro.cli(Config, prog="python -m tools.layouts", description=__doc__)
    game = ttt_envs.load(config.game, rounds="single")
    found = regrets(game, [agents.load(each) for each in config.agents], config.layouts, config.games, config.seed)
    for name, row in zip(config.agents, found, strict=True):
        mean, half_width = t_interval(list(row))
        print(f"{name}: {mean:.4f} ± {half_width:.4f}")


if __name__ == "__main__":
    main()
