"""The charts of a tournament's page."""

from typing import TYPE_CHECKING

import numpy as np

from ttt_envs.core.game import Game
from ttt_envs.evaluation.charts import DRAWN, Shares, Whisker, Whiskers

if TYPE_CHECKING:
    from ttt_envs.evaluation.tournament_report import TournamentReport


def charts(report: "TournamentReport") -> list[Whiskers | Shares]:
    """Ratings with their intervals, results by seat, lengths of games."""
    r = report.ratings
    rows = [
        Whisker(
            report.agents[i], r.elo_low[i], r.elo[i], r.elo_high[i],
            f"{r.elo[i]:+.0f} ({r.elo_low[i]:+.0f} to {r.elo_high[i]:+.0f})",
        )
        for i in report.order
        if not np.isnan(r.elo[i])
    ]  # fmt: skip
    found: list[Whiskers | Shares] = [Whiskers("Elo with 95 % intervals", rows, before="Ratings")]
    names = [f"{report.agents[p.first]} – {report.agents[p.second]}" for p in report.pairings]
    rewards = [p.games.rewards for p in report.pairings]
    every = [("all games", np.concatenate(rewards))] if len(rewards) > 1 else []
    sides = [f"won by {' and '.join(f'player_{p}' for p in team)}" for team in report.game.teams]
    shares = [(name, results_by_side(report.game, each)) for name, each in [*every, *zip(names, rewards, strict=True)]]
    note = "Each agent plays from every seat, so that what differs between the seats is their advantage."
    found.append(Shares("Results by seat", [*sides, DRAWN], shares, note, before="Pairings"))
    rows = []
    for name, p in zip(names, report.pairings, strict=True):
        low, first, middle, third, high = (float(q) for q in np.quantile(p.games.lengths, [0, 0.25, 0.5, 0.75, 1]))
        rows.append(Whisker(name, low, middle, high, f"{middle:g} ({low:g} to {high:g})", (first, third)))
    note = "In plies: the median, the middle half of the games (box), the shortest and the longest game."
    return [*found, Whiskers("Length of games", rows, note, before="Pairings")]


def results_by_side(game: Game, rewards: np.ndarray) -> list[float]:
    """The share of n games that each side won, and last the share that was drawn; sides that win together share it.

    rewards float (n, players).
    """
    sides = np.stack([rewards[:, list(team)].sum(axis=1) for team in game.teams], axis=1)
    won = (sides > 0) / np.maximum((sides > 0).sum(axis=1, keepdims=True), 1)
    shares = won.mean(axis=0)
    return [*map(float, shares), float(1 - shares.sum())]
