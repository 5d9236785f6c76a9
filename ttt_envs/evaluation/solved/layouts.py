"""Regret on layouts that are solved one by one, for games that have too many of them to solve all."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from ttt_envs.agents import Agent
from ttt_envs.core.game import Game
from ttt_envs.core.options import within


def regrets(game: Game, given: Sequence[Agent], layouts: int, games: int = 40, seed: int = 1) -> np.ndarray:
    """The regret of a side in a round: float64 (agents, layouts), the mean over the rounds and both seats.

    Args:
        game: of single rounds, with a command to solve a layout.
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
